"""The security log: who did what, appended to a file that only grows, without data values.

Trust: kernel.

Each line is a JSON object with the fields below and no others: what happened (a word from this
package), when, who, about whom, which dataset, the prefix of a token, and a detail (roles,
scopes, a budget).  Neither questions nor answers nor texts of errors are written.

What changes who may do what is written down before it takes effect, so where the log cannot be
written nothing changes.  A file that was moved away, as programs that rotate logs do, is begun
anew, and says so in its first line.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import final

from discreet.errors import LedgerUnavailable
from discreet.service.state import open_state_file


@final
class SecurityLog:
    """A file of lines, opened for appending alone."""

    __slots__ = ("_file", "_lock", "_path")

    def __init__(self, path: Path) -> None:
        """Open the file, or make it."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = path
        self._file = _opened(path)
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
        with self._lock:
            try:
                if not self._is_there():
                    moved, self._file = self._file, _opened(self._path)
                    os.close(moved)
                    self._append({"at": line["at"], "event": "log begun anew"})
                self._append(line)
            except OSError:
                raise LedgerUnavailable(
                    what="the security log cannot be written now.",
                    why="its disk is full or fails, and nothing is done that leaves no trace.",
                    do="tell the owner, who makes room; then send the same call again.",
                ) from None

    def _append(self, line: dict[str, str]) -> None:
        """Write a whole line, or nothing of it."""
        data = (json.dumps(line, ensure_ascii=True, separators=(",", ":")) + "\n").encode("ascii")
        before = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, data)
            while written < len(data):  # the next one says why
                written += os.write(self._file, data[written:])
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, before)
            raise

    def _is_there(self) -> bool:
        """Say whether the file at the path is still the one that is open."""
        held = os.fstat(self._file)
        try:
            found = self._path.stat()
        except OSError:
            return False
        return (held.st_dev, held.st_ino) == (found.st_dev, found.st_ino)

    def lines(self) -> Iterator[dict[str, str]]:
        """Return all lines, the oldest first; one that a power cut has torn is named as such."""
        with self._path.open(encoding="ascii", errors="replace") as file:
            for line in file:
                try:
                    yield json.loads(line)
                except ValueError:
                    yield {"at": "", "event": "torn line"}

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def _opened(path: Path) -> int:
    """Open a file for appending; what a power cut has torn ends where it is."""
    file = open_state_file(path, os.O_RDWR | os.O_APPEND)
    size = os.fstat(file).st_size
    if size and os.pread(file, 1, size - 1) != b"\n":
        os.write(file, b"\n")
    return file
