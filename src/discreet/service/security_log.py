"""The security log: who did what, appended to a file that only grows, without data values.

Trust: kernel.

Each line is a JSON object with the fields below and no others: what happened (a word from this
package), when, who, about whom, which dataset, the prefix of a token, and a detail (roles,
scopes, a budget).  Neither questions nor answers nor texts of errors are written.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import final


@final
class SecurityLog:
    """A file of lines, opened for appending alone."""

    __slots__ = ("_file", "_lock", "_path")

    def __init__(self, path: Path) -> None:
        """Open the file, or make it."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._lock = threading.Lock()

    def write(  # noqa: PLR0913  the fields of a line
        self,
        event: str,
        *,
        by: str | None = None,
        person: str | None = None,
        dataset: str | None = None,
        token: str | None = None,
        detail: str | None = None,
    ) -> None:
        """Append one line, durably."""
        given = {"by": by, "person": person, "dataset": dataset, "token": token, "detail": detail}
        line = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "event": event,
            **{name: value for name, value in given.items() if value is not None},
        }
        text = json.dumps(line, ensure_ascii=True, separators=(",", ":")) + "\n"
        with self._lock:
            os.write(self._file, text.encode("ascii"))
            os.fsync(self._file)

    def lines(self) -> Iterator[dict[str, str]]:
        """Return all lines, the oldest first."""
        with self._path.open(encoding="ascii") as file:
            for line in file:
                yield json.loads(line)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)
