"""A ledger in a file: SQLite with a rollback journal, every commit on disk before it counts.

Trust: kernel.  No message of the driver is passed on: it could quote what is stored.

Theorem (key ``sqlite-durable``).  What is read from the file is on disk.
    Proof.  With ``synchronous=EXTRA`` SQLite syncs the journal, then the file, then the end of the
    journal, and only then tells its caller.  If a process dies before that, either its journal is
    hot, and whoever reads next takes its changes back, or the end of the journal is written and may
    not be synced: so the journal is synced here before anything is returned that another
    connection has written.
Theorem (key ``one-place``).  Whoever uses a ledger file, by whatever path, uses one budget.
    Proof.  Everything that was committed is in the file itself; its locks are those of the inode,
    so two who use it exclude each other.  A journal is named after the path: a file with a second
    hard link, and one that is mounted by itself, could have two, and both are refused.  A copy has
    another inode than the one recorded in it, and is refused.
Entries cannot be changed or deleted through SQL, a key has one charge and one release, and no head
occurs twice.  The journal stays beside the file as ``-journal``: where it lies without a file there
was a ledger, and no new one is made.
Assumes: a local disk that keeps what it has synced, and a ledger that nobody removes: ext4 gives
its inode number to the next file, which may be an older copy.  An older state of the file in the
same inode is known by its witness (:mod:`discreet.ledger.witness`).
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import stat
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, final
from urllib.parse import quote

from discreet.errors import LedgerUnavailable
from discreet.ledger import failures
from discreet.ledger.entries import EntryRow, canonical, damaged_entry_error

_ENDINGS: Final = ("", "-backups", "-journal")
_PAUSE: Final = 0.002


def is_own_file(address: str, path: str | os.PathLike[str]) -> bool:
    """Say whether a path is that of a file of the ledger at an address, there or still to be made.

    The address of a ledger on a server is the path of no file.

    >>> is_own_file("clinic.ledger", "clinic.ledger-backups")
    True
    >>> is_own_file("clinic.ledger", "monday.jsonl")
    False
    """
    return any(same_file(f"{address}{ending}", path) for ending in _ENDINGS)


def same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Say whether two paths lead to the same place, or two names are those of one file.

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
    """Lock an open file against others, and say whether that was possible in time.

    Whoever may open a file may lock it for as long as they like.  So nobody else's answer may wait
    for such a lock without an end.
    """
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
    "CREATE INDEX starts ON entry (key) WHERE kind = 'start'",
    "CREATE UNIQUE INDEX one_release ON entry (key) WHERE kind = 'release'",
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
    """
    CREATE TABLE checkpoint (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        seq INTEGER NOT NULL,
        state TEXT NOT NULL
    ) STRICT
    """,
    "CREATE TABLE card (inode INTEGER NOT NULL) STRICT",
)

_OLDEST: Final = (3, 37, 0)  # the first with STRICT tables
_SMALLEST: Final = 512  # bytes; SQLite overwrites what is smaller than any database
_SETTINGS: Final = (
    "PRAGMA journal_mode = PERSIST",
    "PRAGMA fullfsync = ON",
    "PRAGMA trusted_schema = OFF",
)
_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_TURN: Final = 0.1  # seconds that SQLite waits, so that an interrupt is heard
_AT_ONCE: Final = 64
_PAGE: Final = 500
_COLUMNS: Final = "seq, kind, key, question, line, head"
_ROWS: Final = f"SELECT {_COLUMNS}, %s FROM entry WHERE seq > ? ORDER BY seq LIMIT {_PAGE}"  # noqa: S608
_OF_KEYS: Final = " UNION ALL ".join(
    f"SELECT {_COLUMNS}, answer FROM entry "  # noqa: S608  words of ours
    f"WHERE kind = '{kind}' AND key IN (SELECT value FROM json_each(?))"
    for kind in ("charge", "start", "release")
)
_ANSWERED: Final = """
    SELECT r.seq, r.kind, r.key, r.question, r.line, r.head, r.answer
    FROM entry AS c JOIN entry AS r ON r.kind = 'release' AND r.key = c.key
    WHERE c.kind = 'charge' AND c.question = ? AND c.question <> ''
    ORDER BY r.seq LIMIT 1
"""
_MOUNTS: Final = Path("/proc/self/mountinfo")


@final
class SQLiteStore:
    """The rows of one ledger in one file."""

    __slots__ = ("_connection", "_file", "_path", "_settled", "_timeout")

    def __init__(self, path: str | os.PathLike[str], *, timeout: float) -> None:
        """Take the path; nothing is opened yet."""
        self._path = Path(path).resolve()
        self._timeout = timeout
        self._connection: sqlite3.Connection | None = None
        self._file = (0, 0)
        self._settled = -1

    # --- opening ------------------------------------------------------------------------------

    def create(self, rows: Iterable[EntryRow]) -> bool:
        """Make a ledger with its first rows; return whether there was none.

        It is written under another name, synced, and moved to its place under a lock on the folder:
        whatever happens, there is a ledger with its entries or none, and nothing is replaced.
        """
        _check_library()
        if os.path.lexists(self._path):
            return False
        try:
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
        except sqlite3.Error as failure:
            code = failure.sqlite_errorcode
        except OSError as failure:
            raise failures.file_failure(failure) from None
        raise failures.sqlite_failure(code)

    def _publish(self, name: str) -> bool:
        """Give a finished file its name, unless something has it."""
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if not lock_within(folder, self._timeout):
                raise failures.sqlite_failure(sqlite3.SQLITE_BUSY)
            if os.path.lexists(self._path):
                return False
            Path(name).rename(self._path)
            os.fsync(folder)
        finally:
            os.close(folder)
        return True

    def open(self) -> None:
        """Connect to an existing ledger, and inspect it."""
        _check_library()
        self.close()
        try:
            status = _checked_file(self._path)
            self._connection, self._settled = self._connected(), -1
            self._do("PRAGMA synchronous = EXTRA")  # before a journal is taken back
            self._check_whole(status.st_ino)
            for setting in _SETTINGS:
                self._do(setting)
            self._file = (status.st_dev, status.st_ino)
        except OSError as failure:
            self.close()
            raise failures.file_failure(failure) from None
        except BaseException:
            self.close()
            raise

    def _connected(self) -> sqlite3.Connection:
        try:
            return sqlite3.connect(
                sqlite_uri(self._path),
                uri=True,
                timeout=_TURN,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=2 * _AT_ONCE,
            )
        except sqlite3.Error as failure:
            code = failure.sqlite_errorcode
        raise failures.sqlite_failure(code)

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

    def _check_place(self) -> None:
        """Refuse to write to a file other than the one that was opened (T5)."""
        try:
            status = self._path.stat()
        except FileNotFoundError:
            raise failures.replaced_file_error() from None
        if (status.st_dev, status.st_ino) != self._file:
            raise failures.replaced_file_error()
        if status.st_nlink != 1:
            raise failures.hard_link_error()

    def close(self) -> None:
        """Close the file; closing twice does nothing."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    # --- writing ------------------------------------------------------------------------------

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Be the only writer until the block ends; then everything appended is on disk."""
        try:
            self._check_place()
        except OSError as failure:
            raise failures.file_failure(failure) from None
        self._do("BEGIN IMMEDIATE")
        try:
            yield
            self._do("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        """Take the transaction back; where that fails, the next opening does."""
        if self._connection is not None and self._connection.in_transaction:
            try:
                self._connection.execute("ROLLBACK")
            except sqlite3.Error:
                self.close()

    def append(self, rows: Sequence[EntryRow]) -> None:
        """Add rows at the end; only inside ``exclusive``."""
        for start in range(0, len(rows), _AT_ONCE):
            part = rows[start : start + _AT_ONCE]
            marks = ",".join(["(?,?,?,?,?,?,?)"] * len(part))
            cells = [cell for row in part for cell in _cells(row)]
            self._do(f"INSERT INTO entry VALUES {marks}", cells)  # noqa: S608  only marks

    def keep_checkpoint(self, seq: int, state: str) -> None:
        """Replace the kept state; only inside ``exclusive``."""
        self._do("INSERT OR REPLACE INTO checkpoint VALUES (1, ?, ?)", (seq, state))

    # --- reading ------------------------------------------------------------------------------

    def rows(self, after: int, *, answers: bool = False) -> Iterator[EntryRow]:
        """Yield the rows after a number, in order, read a page at a time."""
        statement = _ROWS % ("answer" if answers else "NULL")
        while True:
            page = self._rows(statement, (after,))
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1].seq

    def rows_of(self, keys: Collection[str]) -> list[EntryRow]:
        """Return all charges, starts and releases of some keys, with answers, in order."""
        rows = self._rows(_OF_KEYS, (canonical(sorted(keys)),) * 3)
        return sorted(rows, key=lambda row: row.seq)

    def first_answer(self, question: str) -> EntryRow | None:
        """Return the first release, with its answer, whose key was charged for a question."""
        rows = self._rows(_ANSWERED, (question,))
        return rows[0] if rows else None

    def checkpoint(self) -> tuple[int, str] | None:
        """Return the last kept state and the number of its entry, if there is one."""
        match self._do("SELECT seq, CAST(state AS BLOB) FROM checkpoint"):
            case [(int(seq), bytes(state))]:  # torn text is one whose digest is wrong
                return seq, state.decode("utf-8", "replace")
        return None

    def _rows(self, statement: str, values: Sequence[Any]) -> list[EntryRow]:
        found = [_row(cells) for cells in self._do(statement, values)]
        self._settle()
        return found

    def _settle(self) -> None:
        """Sync the journal if another connection has written since the last time (T3)."""
        ((version,),) = self._do("PRAGMA data_version")
        if version != self._settled:
            try:
                sync(f"{self._path}-journal")
            except FileNotFoundError:
                pass
            except OSError as failure:
                raise failures.file_failure(failure) from None
            self._settled = version

    def _do(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Run a statement; wait for others, but not for longer than the timeout."""
        until = time.monotonic() + self._timeout
        while True:
            if self._connection is None:
                raise failures.file_failure(OSError())
            try:
                return self._connection.execute(statement, values).fetchall()
            except (sqlite3.Error, UnicodeDecodeError) as failure:
                # UnicodeDecodeError: the message of SQLite quotes bytes that are not text
                code = getattr(failure, "sqlite_errorcode", None)
            if code is None or code & 0xFF not in _BUSY or time.monotonic() > until:
                break
        raise failures.sqlite_failure(code)


def is_original(card: list[tuple[object]], inode: int) -> bool:
    """Return whether a file is the one whose inode was recorded when it was made."""
    return card == [(inode,)]


def sqlite_uri(path: Path, mode: str = "rw") -> str:
    """Return the address of a file for SQLite."""
    return f"file:{quote(bytes(path))}?mode={mode}"


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
    if status.st_nlink != 1:  # T5
        raise failures.hard_link_error()
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
        insert = "INSERT INTO entry VALUES (?,?,?,?,?,?,?)"
        database.executemany(insert, map(_cells, rows))
        database.execute("COMMIT")


def _cells(row: EntryRow) -> tuple[object, ...]:
    return row.seq, row.kind, row.key, row.question, row.line, row.head, row.answer


def _row(cells: tuple[Any, ...]) -> EntryRow:
    """Make a row; a torn file can hold other types than its table says."""
    match cells:
        case (int(seq), str(kind), key, question, str(line), str(head), answer) if (
            isinstance(key, str | None)
            and isinstance(question, str | None)
            and isinstance(answer, bytes | None)
        ):
            return EntryRow(seq, kind, key, question, line, head, answer)
    raise damaged_entry_error(cells[0])


def _check_library() -> None:
    if sqlite3.sqlite_version_info < _OLDEST:
        raise LedgerUnavailable(
            what="the SQLite library of this Python is older than 3.37.",
            why="a ledger relies on tables that keep their types.",
            do="use a Python with a later SQLite, or keep the ledger in PostgreSQL.",
        )
