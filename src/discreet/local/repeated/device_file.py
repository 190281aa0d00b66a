"""A small file on a device that survives a crash at any moment.

Trust: kernel.  What a device has spent, and which answer it keeps, must not be forgotten.

A new state is written beside the old one, forced to disk, and put in its place in one step; then
the folder is forced to disk.  So a reader sees the old state or the new one, and ``write`` returns
only after the new one would survive a power cut.  One process at a time changes a file: ``held``
waits for a lock beside it.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from discreet.errors import DamagedLedger, LedgerUnavailable, NewerFormat

_FORMAT: Final = 1
_LARGEST: Final = 1 << 24


@final
@dataclass(frozen=True, slots=True)
class DeviceFile:
    """A JSON object that is replaced as a whole.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = DeviceFile(Path(folder, "memo.json"), kind="memo")
    ...     with file.held():
    ...         before = file.read()
    ...         file.write({"cell": 1})
    ...     before, file.read()
    (None, {'cell': 1})
    """

    path: Path
    kind: str

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep all other processes out until the block ends."""
        try:
            lock = os.open(f"{self.path}-lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as failure:
            raise self._unavailable() from failure
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def read(self) -> dict[str, Any] | None:
        """Return the state that was written last, or None if there is no file."""
        try:
            with self.path.open("rb") as file:
                content = file.read(_LARGEST + 1)
        except FileNotFoundError:
            return None
        except OSError as failure:
            raise self._unavailable() from failure
        try:
            stored = json.loads(content)
            known = stored["kind"] == self.kind and isinstance(stored["state"], dict)
            number = stored["format"]
        except (ValueError, TypeError, KeyError, RecursionError):
            known, number = False, _FORMAT
        if known and type(number) is int and number > _FORMAT:
            raise NewerFormat(
                what=f"the {self.kind} was written by a later version of this package.",
                why="read as an old one, it could mean something else.",
                do="update the package on this device.",
            )
        if not known or number != _FORMAT:
            raise self.damaged()
        state: dict[str, Any] = stored["state"]
        return state

    def write(self, state: dict[str, Any]) -> None:
        """Put a new state in place of the old one, durably."""
        text = json.dumps({"format": _FORMAT, "kind": self.kind, "state": state}, sort_keys=True)
        beside = f"{self.path}-new"
        try:
            number = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(number, "wb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, self.path)  # noqa: PTH105  beside fsync, which has no twin in Path
            folder = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as failure:
            raise self._unavailable() from failure

    def damaged(self) -> DamagedLedger:
        """Return the error about a file whose content makes no sense."""
        return DamagedLedger(
            what=f"the file is not a {self.kind}, or it is damaged.",
            why="what was spent or kept before cannot be known from it, and to guess could tell "
            "more than was promised.",
            do=f"restore the {self.kind} from a copy; without one, start a new file and count "
            "what was reported before as spent.",
        )

    def _unavailable(self) -> LedgerUnavailable:
        return LedgerUnavailable(
            what=f"the {self.kind} cannot be read or written.",
            why="a report may leave only after its price is on disk.",
            do="check that the folder exists, is writable and has room; nothing was reported.",
        )
