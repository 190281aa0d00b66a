"""A ledger in a file: SQLite with a rollback journal, every commit on disk before it counts.

Trust: kernel.

Theorem (key ``sqlite-durable``).  What is read from the file is on disk.
    Proof.  With ``synchronous=EXTRA`` SQLite syncs the journal, then the file, then the end of the
    journal, and only then tells its caller.  If a process dies before that, either its journal is
    hot, and anyone who reads next takes its changes back, or the end of the journal is written and
    may not be synced: so the journal is synced here before anything is returned that another
    connection has written.
Theorem (key ``one-place``).  All users of a ledger file, by any path, share one budget.
    Proof.  Everything that was committed is in the file itself; its locks are those of the inode,
    so two who use it exclude each other.  A journal is named after the path: a file that is mounted
    by itself could have two, and is refused.  A copy has another inode than the one recorded in it,
    and is refused.
Entries cannot be changed or deleted through SQL, and a key has one charge and one release.  The
journal stays beside the file: where it lies without a file, no new ledger is made.
Assumes: a local disk that keeps what it has synced; one name for the file; and a ledger that nobody
removes: ext4 gives its inode number to the next file, which may be an older copy.  An older state
of the file in the same inode is known by its witness (:mod:`discreet.ledger.witness`).
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Final, final
from urllib.parse import quote

from discreet.errors import LedgerError, LedgerUnavailable
from discreet.ledger import failures
from discreet.ledger.entries import EntryRow
from discreet.ledger.table import EntryTable, cells_of

_ENDINGS: Final = ("", "-backups", "-journal")
_PAUSE: Final = 0.002

# --- files ------------------------------------------------------------------------------------


def is_own_file(address: str, path: str | os.PathLike[str]) -> bool:
    """Return whether a path is that of a file of the ledger at an address, there or not yet.

    The address of a ledger on a server is the path of no file.

    >>> is_own_file("clinic.ledger", "clinic.ledger-backups")
    True
    >>> is_own_file("clinic.ledger", "monday.jsonl")
    False
    """
    return any(same_file(f"{address}{ending}", path) for ending in _ENDINGS)


def same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Return whether two paths lead to the same place, or two names are those of one file.

    >>> same_file("policy.toml", "./policy.toml")
    True
    """
    try:
        if Path(one).resolve() == Path(other).resolve():
            return True
        return os.path.samefile(one, other)  # noqa: PTH121  texts
    except (OSError, RuntimeError, ValueError):  # not there, a loop of links, or no path
        return False


def lock_within(file: int, seconds: float) -> bool:
    """Lock an open file against others, and return whether that was possible in time."""
    end = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(_PAUSE)
        else:
            return True


def sync(path: str) -> None:
    """Sync a file or a folder."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


# --- the tables -------------------------------------------------------------------------------

APPLICATION_ID: Final = 0x44504C31
"""The application id of a ledger file: the letters DPL1."""

VERSION: Final = 1
TABLES: Final = (
    """
    CREATE TABLE entry (
        seq INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        key TEXT,
        question TEXT,
        line TEXT NOT NULL,
        head TEXT NOT NULL UNIQUE CHECK (length(head) = 64),
        answer BLOB,
        CHECK ((answer IS NOT NULL) = (kind = 'release'))
    ) STRICT
    """,
    "CREATE UNIQUE INDEX one_charge ON entry (key) WHERE kind = 'charge'",
    "CREATE UNIQUE INDEX one_release ON entry (key) WHERE kind = 'release'",
    "CREATE INDEX of_key ON entry (key) WHERE key IS NOT NULL",
    "CREATE INDEX asked ON entry (question) WHERE kind = 'charge' AND question <> ''",
    """
    CREATE TRIGGER at_the_end BEFORE INSERT ON entry
    WHEN NEW.seq <> (SELECT ifnull(max(seq), 0) + 1 FROM entry)
    BEGIN SELECT RAISE(ABORT, 'entries are appended'); END
    """,
    """
    CREATE TRIGGER never_changed BEFORE UPDATE ON entry
    BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END
    """,
    """
    CREATE TRIGGER never_deleted BEFORE DELETE ON entry
    BEGIN SELECT RAISE(ABORT, 'entries are never deleted'); END
    """,
    "CREATE TABLE card (inode INTEGER NOT NULL) STRICT",
)

_SMALLEST: Final = 512  # bytes; SQLite overwrites what is smaller than any database
_SETTINGS: Final = (
    "PRAGMA journal_mode = PERSIST",
    "PRAGMA fullfsync = ON",
    "PRAGMA trusted_schema = OFF",
)
_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_PASSING: Final = _BUSY | {
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_AUTH,
}
_TURN: Final = 0.1  # seconds that SQLite waits, so that an interrupt is heard
_MOUNTS: Final = Path("/proc/self/mountinfo")


@final
class SQLiteStore(EntryTable):
    """The rows of one ledger in one file."""

    __slots__ = ("_connection", "_file", "_path", "_settled", "_timeout")

    _EACH: ClassVar[str] = "SELECT value FROM json_each(?)"

    def __init__(self, path: str | os.PathLike[str], *, timeout: float) -> None:
        """Take the path; nothing is opened yet."""
        self._path = Path(path).resolve()
        self._timeout = timeout
        self._connection: sqlite3.Connection | None = None
        self._file = (0, 0)
        self._settled = -1

    def create(self, rows: Iterable[EntryRow]) -> bool:
        """Make a ledger with its first rows; return whether there was none.

        It is written under another name, synced, and moved to its place under a lock on the folder.
        """
        if os.path.lexists(self._path):
            return False
        with _explained():
            _refuse_leftovers(self._path)
            number, name = tempfile.mkstemp(dir=self._path.parent, prefix=f".{self._path.name}.")
            os.close(number)
            try:
                _fill(name, rows)
                sync(name)
                return self._publish(name)
            finally:
                with suppress(FileNotFoundError):
                    Path(name).unlink()

    def _publish(self, name: str) -> bool:
        """Give a finished file its name, unless something has it."""
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if not lock_within(folder, self._timeout):
                raise _unusable("another program keeps its folder locked")
            if os.path.lexists(self._path):
                return False
            Path(name).rename(self._path)
            os.fsync(folder)
        finally:
            os.close(folder)
        return True

    def open(self) -> None:
        """Connect to an existing ledger, and inspect it."""
        self.close()
        try:
            with _explained():
                status = _checked_file(self._path)
                self._settled, self._connection = (
                    -1,
                    sqlite3.connect(
                        f"file:{quote(bytes(self._path))}?mode=rw",
                        uri=True,
                        timeout=_TURN,
                        isolation_level=None,
                        check_same_thread=False,
                    ),
                )
            self._do("PRAGMA synchronous = EXTRA")  # before a journal is taken back
            self._check_whole(status.st_ino)
            for setting in _SETTINGS:
                self._do(setting)
            self._file = (status.st_dev, status.st_ino)
        except BaseException:
            self.close()
            raise

    def _check_whole(self, inode: int) -> None:
        """Refuse another database, a copy of a ledger, and a file that is not whole."""
        ((application,),) = self._do("PRAGMA application_id")
        ((version,),) = self._do("PRAGMA user_version")
        if application != APPLICATION_ID:
            raise failures.not_a_ledger_error()
        if version != VERSION:
            raise failures.newer_version_error(version, VERSION)
        if not is_original(self._do("SELECT inode FROM card"), inode):  # T5
            raise failures.copied_file_error()
        if self._do("PRAGMA integrity_check(1)") != [("ok",)]:
            raise failures.torn_file_error()

    def close(self) -> None:
        """Close the file; closing twice does nothing."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Be the only writer until the block ends; then everything appended is on disk."""
        self._check_place()
        self._do("BEGIN IMMEDIATE")
        try:
            yield
            self._do("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    def _check_place(self) -> None:
        """Refuse to write to a file other than the one that was opened (T5)."""
        try:
            status = self._path.stat()
        except OSError:
            raise failures.replaced_file_error() from None
        if (status.st_dev, status.st_ino) != self._file:
            raise failures.replaced_file_error()

    def _roll_back(self) -> None:
        """Take the transaction back; if that fails, the next opening does."""
        if self._connection is not None and self._connection.in_transaction:
            try:
                self._connection.execute("ROLLBACK")
            except sqlite3.Error:
                self.close()

    def _ask(self, text: str, *values: object) -> list[Any]:
        """Run a statement; what it returns is on disk."""
        found = self._do(text.replace("@entry", "entry"), *values)
        ((version,),) = self._do("PRAGMA data_version")
        if version != self._settled:  # another connection has written since (T3)
            with _explained(), suppress(FileNotFoundError):
                sync(f"{self._path}-journal")
            self._settled = version
        return found

    def _do(self, statement: str, *values: object) -> list[Any]:
        """Run a statement; wait for others, but not for longer than the timeout."""
        until = time.monotonic() + self._timeout
        while True:
            if self._connection is None:
                raise failures.closed_ledger_error()
            try:
                return self._connection.execute(statement, values).fetchall()
            except (
                sqlite3.Error,
                UnicodeDecodeError,
            ) as error:  # it quotes undecodable bytes
                failure = error
            code = getattr(failure, "sqlite_errorcode", 0)
            if code & 0xFF not in _BUSY or time.monotonic() > until:
                break
        raise _sqlite_failure(failure)


def is_original(card: list[tuple[object]], inode: int) -> bool:
    """Return whether a file is the one whose inode was recorded when it was made."""
    return card == [(inode,)]


def _checked_file(path: Path) -> os.stat_result:
    """Return the status of a file; refuse what cannot be a ledger, or have one journal.

    It is not opened: closing it would release the locks that this process has on it.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        _refuse_leftovers(path)
        raise failures.absent_ledger_error() from None
    if not stat.S_ISREG(status.st_mode) or status.st_size < _SMALLEST:
        raise failures.not_a_ledger_error()
    if _is_mounted(path):  # T5
        raise failures.mounted_file_error()
    return status


def _is_mounted(path: Path) -> bool:
    """Return whether a file is mounted by itself, apart from its folder."""
    try:
        mounts = _MOUNTS.read_bytes().splitlines()
    except OSError:  # not Linux
        return False
    escaped = bytes(path)
    for sign in b"\\ \t\n":
        escaped = escaped.replace(bytes([sign]), b"\\%03o" % sign)
    return any(line.split(b" ")[4] == escaped for line in mounts)


def _refuse_leftovers(path: Path) -> None:
    """Refuse a place where a ledger was and its file is missing (T5)."""
    if os.path.lexists(f"{path}-journal"):
        raise failures.orphaned_files_error()


def _fill(name: str, rows: Iterable[EntryRow]) -> None:
    """Make the tables and the first rows in a new file, which counts once it has its name."""
    with closing(sqlite3.connect(name, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("BEGIN")
        for statement in TABLES:
            database.execute(statement)
        database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        database.execute(f"PRAGMA user_version = {VERSION}")
        database.execute("INSERT INTO card VALUES (?)", (Path(name).stat().st_ino,))
        database.executemany("INSERT INTO entry VALUES (?,?,?,?,?,?,?)", map(cells_of, rows))
        database.execute("COMMIT")


# --- failures ---------------------------------------------------------------------------------


@contextmanager
def _explained() -> Iterator[None]:
    """Translate errors of SQLite and of the system."""
    error: LedgerError | None = None
    try:
        yield
    except sqlite3.Error as failure:
        error = _sqlite_failure(failure)
    except OSError as failure:
        error = _unusable(os.strerror(failure.errno or 0))
    if error is not None:
        raise error


def _sqlite_failure(failure: Exception) -> LedgerError:
    """Return the error for one of SQLite, by its result code."""
    code = getattr(failure, "sqlite_errorcode", sqlite3.SQLITE_IOERR_SHORT_READ)
    if code & 0xFF == sqlite3.SQLITE_NOTADB:
        return failures.not_a_ledger_error()
    if code == sqlite3.SQLITE_IOERR_SHORT_READ or code & 0xFF not in _PASSING:
        return failures.torn_file_error()
    return _unusable(getattr(failure, "sqlite_errorname", ""))


def _unusable(reason: str) -> LedgerUnavailable:
    return failures.unavailable_error(
        f"the ledger cannot be used now ({reason}).",
        "make sure that the file and its folder can be written and have room, and that no program "
        f"keeps the file locked; then {failures.RETRY}",
    )
