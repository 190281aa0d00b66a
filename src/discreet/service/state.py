"""The state of a server apart from its ledgers: log-ins, tokens, requests, idempotency keys.

Trust: kernel.  It holds hashes of secrets, and nothing of any data.  Nothing is written into a file
before it is known to be one of ours.

One server at a time uses a state folder: a second one would take the sockets of the first one's
workers.  One SQLite file in the folder, which its owner alone may read.  Every change is one
transaction.  It is durable before its call returns, but for idempotency keys and the list of
questions: a power cut may forget the last of them.  No charge rests on these, since the key of a
charge follows from its plan.  A full disk, and a file that was taken away under the server, are
reported as such: no decision relies on a state that would be lost.

The security log is a file of its own: each line says what happened (a word from this package),
when, who, about whom, which dataset, the prefix of a token, and a detail (roles, scopes, a budget),
and nothing else.  Neither questions nor answers nor texts of errors are written.  A change of
permissions is logged before it takes effect, so if the log cannot be written nothing changes.
A file that was moved away, as programs that rotate logs do, is begun anew, and says so.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, final

from discreet.errors import LedgerUnavailable, NotALedger

_TABLES: Final = """
CREATE TABLE logins (
  hash TEXT PRIMARY KEY, person TEXT NOT NULL, groups TEXT NOT NULL, csrf TEXT NOT NULL,
  mark TEXT NOT NULL, expires REAL NOT NULL
) STRICT;
CREATE TABLE tokens (
  prefix TEXT PRIMARY KEY, hash TEXT NOT NULL, person TEXT NOT NULL, groups TEXT NOT NULL,
  scope TEXT NOT NULL, note TEXT NOT NULL, mark TEXT NOT NULL,
  created REAL NOT NULL, expires REAL NOT NULL, revoked INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE requests (
  id INTEGER PRIMARY KEY, dataset TEXT NOT NULL, account TEXT NOT NULL, budget TEXT NOT NULL,
  reason TEXT NOT NULL, by TEXT NOT NULL, at REAL NOT NULL, state TEXT NOT NULL,
  decided_by TEXT
) STRICT;
CREATE TABLE questions (
  id INTEGER PRIMARY KEY, person TEXT NOT NULL, dataset TEXT NOT NULL, forms TEXT NOT NULL,
  entry INTEGER NOT NULL, at REAL NOT NULL, UNIQUE (person, dataset, forms)
) STRICT;
CREATE TABLE keys (
  person TEXT NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL, at REAL NOT NULL,
  PRIMARY KEY (person, key)
) STRICT;
CREATE INDEX keys_by_age ON keys (at);
"""


@final
class StateStore:
    """One file, one connection, one thread at a time."""

    __slots__ = ("_connection", "_held", "_lock", "_path", "_place")

    def __init__(self, path: Path) -> None:
        """Open the file, or make it."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._held = _held_alone(path.with_name(LOCK_NAME))
        try:
            os.close(open_state_file(path, os.O_RDWR))
        except LedgerUnavailable:
            os.close(self._held)
            raise
        self._path, self._place = path, _place(path)
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.row_factory = sqlite3.Row
        try:
            with self._told():
                self._prepare()
        except sqlite3.DatabaseError:
            self.close()
            raise foreign_state_error(path) from None
        except BaseException:
            self.close()
            raise

    def _prepare(self) -> None:
        """Create missing tables."""
        run = self._connection.execute
        state_format(self._connection, self._path)  # before anything is written into it
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = FULL")
        run("PRAGMA busy_timeout = 10000")
        with self.transaction() as within:
            if not state_format(within, self._path):
                for statement in _TABLES.split(";"):
                    within.execute(statement)
            within.execute(f"PRAGMA application_id = {APPLICATION}")
            within.execute(f"PRAGMA user_version = {STATE_FORMAT}")

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """Change several things at once, or none of them; a killed process loses none."""
        with self._lock, self._told():
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def row(self, sql: str, *values: object) -> sqlite3.Row | None:
        """Return the first row that a query finds."""
        with self._lock, self._told():
            found: sqlite3.Row | None = self._connection.execute(sql, values).fetchone()
            return found

    def rows(self, sql: str, *values: object) -> list[sqlite3.Row]:
        """Return all rows that a query finds."""
        with self._lock, self._told():
            return self._connection.execute(sql, values).fetchall()

    def is_there(self) -> bool:
        """Say whether the file is still the one that was opened."""
        return _place(self._path) == self._place

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Refuse to work on a file that is gone, and say so when nothing can be written."""
        if not self.is_there():
            raise LedgerUnavailable(
                what="the state of this server is gone: its file was removed or replaced.",
                why="tokens and keys that are known no more must not be guessed.",
                do="tell the owner: stop the server, bring state.sqlite back from a backup, start.",
            )
        try:
            yield
        except sqlite3.OperationalError as error:
            raise state_error(error, self._path) from None

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()
            if self._held >= 0:
                os.close(self._held)
                self._held = -1


def _held_alone(path: Path) -> int:
    """Return an open file that no other process holds until this one closes it, or ends."""
    held = open_state_file(path, os.O_RDWR)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        raise LedgerUnavailable(
            what="another server uses this state folder.",
            why="two would take each other's workers, and know nothing of each other's log-ins.",
            do="stop the other one first, or name another state folder.",
        ) from None
    return held


def _place(path: Path) -> tuple[int, int] | None:
    """Return the identity of the file at a path, if one exists."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


STATE_NAME: Final = "state.sqlite"
LOG_NAME: Final = "security.log"
LOCK_NAME: Final = "server.lock"
"""The file that a running server holds."""
APPLICATION: Final = 0x64735276
STATE_FORMAT: Final = 1
_REASONS: Final = {
    sqlite3.SQLITE_FULL: "its disk is full or fails",
    sqlite3.SQLITE_IOERR: "its disk is full or fails",
    sqlite3.SQLITE_BUSY: "another program holds its file",
    sqlite3.SQLITE_LOCKED: "another program holds its file",
    sqlite3.SQLITE_READONLY: "its file or its folder may only be read",
    sqlite3.SQLITE_CANTOPEN: "its file cannot be opened, or its folder cannot be written",
    sqlite3.SQLITE_PERM: "its file may not be opened",
    sqlite3.SQLITE_NOMEM: "there is not enough memory",
}
_PRIMARY: Final = 0xFF
"""The bits of a SQLite code that give its kind."""


def socket_path(folder: Path, dataset: str) -> Path:
    """Return where the workers of a dataset reach its ledger."""
    return folder / f"{dataset}.sock"


def open_state_file(path: Path, flags: int) -> int:
    """Open a file of a state folder, or make it, for this user alone."""
    try:
        number = os.open(path, flags | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    except OSError as error:
        raise _unusable_error(path, os.strerror(error.errno or 0)) from None
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise _unusable_error(path, "Not a file")
    return number


def check_state_file(path: Path) -> None:
    """Refuse a file that cannot be the state of a server, and neither change nor make any.

    No server may run with it.  SQLite would create files next to one with a log of changes, unless
    the file is opened as immutable; so it is, if no such log was left behind.
    """
    still = "" if path.with_name(f"{path.name}-wal").exists() else "&immutable=1"
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro{still}", uri=True)) as connection:
            state_format(connection, path)
    except sqlite3.DatabaseError as error:
        raise state_error(error, path) from None


def state_format(connection: sqlite3.Connection, path: Path) -> int:
    """Return the format of a state file, which is 0 if nothing is in it yet."""
    application, version = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("application_id", "user_version")
    )
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    ours = "tokens" in tables if version else not tables
    if not ours or application not in {0, APPLICATION}:
        raise foreign_state_error(path)
    if version not in range(STATE_FORMAT + 1):
        raise NotALedger(
            what=f"the state file {path.name} has the format {version}.",
            why="another version of this package wrote it, or it is something else.",
            do="use that version, or name another state folder.",
        )
    return int(version)


def state_error(error: sqlite3.Error, path: Path) -> LedgerUnavailable | NotALedger:
    """Return the message for a SQLite failure: the obstacle, or the actual kind of file."""
    reason = _REASONS.get(getattr(error, "sqlite_errorcode", 0) & _PRIMARY)
    if reason is None:
        return foreign_state_error(path)
    return LedgerUnavailable(
        what="the state of this server cannot be written now.",
        why=f"{reason}, and nothing is done that could not be kept.",
        do="tell the owner, who mends this; then send the same call again.",
    )


def foreign_state_error(path: Path) -> NotALedger:
    """Return the message for a file that is not the state of a server."""
    return NotALedger(
        what=f"the state file {path.name} is not one of this package.",
        why="something else is at its path, or it is damaged.",
        do="bring it back from a backup, or name another state folder.",
    )


def _unusable_error(path: Path, reason: str) -> LedgerUnavailable:
    return LedgerUnavailable(
        what=f"{path.name} in the state folder cannot be opened: {reason}.",
        why="the server keeps tokens and the trace of what they do in files there.",
        do="move away what lies there, or let this user write it; or name another state folder.",
    )


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
