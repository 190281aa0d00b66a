"""What happened to analysts, written down outside the ledger before anything else is done.

Each line is one event, appended with a single write, so that a killed process leaves whole lines.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

What = Literal["asked", "read", "told", "refused"]


@dataclass(frozen=True, slots=True)
class Event:
    """A question was asked, data was read for it, its answer was told, or it was refused."""

    what: What
    key: str
    answer: str = ""
    receipt: str = ""


class Diary:
    """A file that events are appended to."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it."""
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)

    def note(self, what: What, key: str, answer: bytes = b"", receipt: object = "") -> None:
        """Write an event down."""
        line = json.dumps(asdict(Event(what, key, answer.hex(), str(receipt)))) + "\n"
        os.write(self._file, line.encode("ascii"))

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def events(lines: Iterable[str]) -> Iterator[Event]:
    """Read events."""
    return (Event(**json.loads(line)) for line in lines)


def diary(path: Path) -> list[Event]:
    """Read a whole diary; there is none before the first event."""
    return list(events(path.read_text("ascii").splitlines())) if path.exists() else []
