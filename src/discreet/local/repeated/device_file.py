"""A small file on a device that survives a crash at any moment: one state in a SQLite database.

Trust: kernel.  What a device has spent, and which answer it keeps, must not be forgotten.

``held`` begins an exclusive transaction, so one process at a time reads and writes (T4), and
commits with every byte forced to disk when its block ends (T3): afterwards the file holds the old
state or the new one, and a report that leaves after the block has its price on disk.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from discreet.errors import DamagedLedger, LedgerUnavailable, NewerFormat, WrongKind

_FORMAT: Final = 1
_PATIENCE: Final = 30.0  # seconds


@final
@dataclass(frozen=True, slots=True)
class DeviceFile:
    """A JSON object that is replaced as a whole.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = DeviceFile(Path(folder, "memo"), kind="memo")
    ...     with file.held() as held:
    ...         before = held.read()
    ...         held.write({"cell": 1})
    ...         before, held.read()
    (None, {'cell': 1})
    """

    path: Path
    kind: str

    def __post_init__(self) -> None:
        """Resolve the path once: a change of the working folder changes nothing."""
        try:
            path = Path(self.path).resolve()
        except (TypeError, ValueError):
            message = f"the path of a {self.kind} must name a file."
            raise WrongKind(
                what=message, why="its price is kept there.", do="give a path."
            ) from None
        object.__setattr__(self, "path", path)

    @contextmanager
    def held(self) -> Iterator[HeldFile]:
        """Keep all others out until the block ends; a file that is missing is begun."""
        try:
            with closing(self._connected()) as connection:
                connection.execute("BEGIN EXCLUSIVE")
                yield HeldFile(self, connection)
                connection.execute("COMMIT")  # an error in the block closes without it
        except (sqlite3.OperationalError, OSError) as failure:
            raise LedgerUnavailable(
                what=f"the {self.kind} cannot be read or written.",
                why="a report may leave only after its price is on disk.",
                do="check that the folder exists, is writable and has room, and that no other "
                "process holds the file; nothing was reported.",
            ) from failure
        except sqlite3.DatabaseError:
            raise self.damaged() from None

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = EXTRA")
        except BaseException:
            connection.close()
            raise
        return connection

    def damaged(self) -> DamagedLedger:
        """Return the error about a file whose content makes no sense."""
        return DamagedLedger(
            what=f"the file is not a {self.kind}, or it is damaged.",
            why="what was spent or kept before cannot be known from it, and to guess could tell "
            "more than was promised.",
            do=f"restore the {self.kind} from a copy; without one, start a new file and count "
            "what was reported before as spent.",
        )


@final
@dataclass(frozen=True, slots=True)
class HeldFile:
    """A device file inside its transaction."""

    file: DeviceFile
    connection: sqlite3.Connection

    def read(self) -> dict[str, Any] | None:
        """Return the state that was written last, or None if there is none yet."""
        (tables,) = self.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables == 0:
            return None
        try:
            found = self.connection.execute("SELECT kind, format, state FROM discreet").fetchall()
            ((kind, number, text),) = found
            state = json.loads(text)
        except (sqlite3.OperationalError, ValueError, TypeError):
            raise self.file.damaged() from None
        if kind == self.file.kind and isinstance(number, int) and number > _FORMAT:
            raise NewerFormat(
                what=f"the {kind} was written by a later version of this package.",
                why="read as an old one, it could mean something else.",
                do="update the package on this device.",
            )
        if kind != self.file.kind or number != _FORMAT or not isinstance(state, dict):
            raise self.file.damaged()
        return state

    def write(self, state: dict[str, Any]) -> None:
        """Put a new state in place of the old one; it is durable when the block ends."""
        run = self.connection.execute
        run("CREATE TABLE IF NOT EXISTS discreet (kind TEXT, format INTEGER, state TEXT)")
        run("DELETE FROM discreet")
        row = (self.file.kind, _FORMAT, json.dumps(state, sort_keys=True))
        run("INSERT INTO discreet VALUES (?, ?, ?)", row)
