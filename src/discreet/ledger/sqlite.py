"""A ledger in a file: SQLite in WAL mode, every commit on disk before it counts.

Trust: kernel.

Theorem (key ``sqlite-durable``).  What is read from the file is on disk.
    Proof.  With ``synchronous=FULL`` SQLite shows a commit to others only after its log has been
    synced.  A commit that was not synced, because its process died, can be seen only by whoever
    opens the file after all others have let go of it; the log is synced on every opening, before
    an entry is read.  After a commit that failed nothing is read before all that can be seen has
    been copied from the log to the file, and synced there.
Entries cannot be changed or deleted through SQL, there is one charge and one release a key, and no
head occurs twice.  Beside the file lie ``-wal`` and ``-shm`` (SQLite's log) and ``-next`` and
``-turn`` (:mod:`discreet.ledger.turns`), all of them for its owner alone.
A connection does not cross a fork: SQLite counts the locks of a process in memory, and a child that
inherits the count writes to a log which others take for abandoned.  A child process whose parent
had the file open is refused it (see :mod:`discreet.ledger.link`, which closes it in time).
Assumes: a local disk that keeps what it has synced.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import weakref
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, final
from urllib.parse import quote

from discreet.errors import LedgerError, LedgerUnavailable
from discreet.ledger.entry import Row, canonical, damaged
from discreet.ledger.failures import (
    absent,
    file_failure,
    forked,
    newer,
    not_a_ledger,
    replaced,
    sqlite_failure,
)
from discreet.ledger.forks import leave_alone
from discreet.ledger.layout import APPLICATION, STEPS
from discreet.ledger.turns import Turn

__all__ = ["SQLiteStore"]

_OLDEST: Final = (3, 37, 0)  # the first with STRICT tables
_SMALLEST: Final = 512  # bytes; SQLite overwrites what is smaller than any database
_PAGE: Final = 500
_AT_ONCE: Final = 64
_COLUMNS: Final = "seq, kind, key, question, line, head"
_TEXTS: Final = (str, type(None))
_SETTINGS: Final = (
    "PRAGMA synchronous = FULL",
    "PRAGMA fullfsync = ON",
    "PRAGMA checkpoint_fullfsync = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
)
_ROWS: Final = f"SELECT {_COLUMNS}, %s FROM entry WHERE seq > ? ORDER BY seq LIMIT {_PAGE}"  # noqa: S608
_OF_KEYS: Final = " UNION ALL ".join(
    f"SELECT {_COLUMNS}, answer FROM entry "  # noqa: S608  words of ours
    f"WHERE kind = '{kind}' AND key IN (SELECT value FROM json_each(?1))"
    for kind in ("charge", "start", "release")
)
_ANSWERED: Final = """
    SELECT r.seq, r.kind, r.key, r.question, r.line, r.head, r.answer
    FROM entry AS c JOIN entry AS r ON r.kind = 'release' AND r.key = c.key
    WHERE c.kind = 'charge' AND c.question = ? AND c.question <> ''
    ORDER BY r.seq LIMIT 1
"""


@final
class SQLiteStore:
    """The rows of one ledger in one file.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = SQLiteStore(pathlib.Path(folder, "study.ledger"), timeout=60)
    ...     store.open(create=True)
    ...     with store.exclusive():
    ...         store.append([Row(1, "start", "k", None, "{}", "a" * 64)])
    ...     [row.seq for row in store.rows(after=0)]
    ...     store.close()
    [1]
    """

    __slots__ = ("__weakref__", "_connection", "_doubtful", "_file", "_path", "_timeout", "_turn")

    def __init__(self, path: str | os.PathLike[str], *, timeout: float) -> None:
        """Take the path; nothing is opened yet."""
        self._path = Path(path).resolve()
        self._timeout = timeout
        self._turn = Turn(str(self._path))
        self._connection: sqlite3.Connection | None = None
        self._file = (0, 0)
        self._doubtful = False
        _STORES.add(self)

    # --- opening ------------------------------------------------------------------------------

    def open(self, *, create: bool) -> None:
        """Connect, and lay out the tables of a new ledger if that is allowed."""
        if sqlite3.sqlite_version_info < _OLDEST:
            raise LedgerUnavailable(
                what="the SQLite library of this Python is older than 3.37.",
                why="a ledger relies on tables that keep their types.",
                do="use a Python with a later SQLite, or keep the ledger in PostgreSQL.",
            )
        try:
            self._open(create=create)
        except OSError as failure:
            self.close()
            raise file_failure(failure) from None
        except BaseException:
            self.close()
            raise

    def _open(self, *, create: bool) -> None:
        if not self._there():
            if not create:
                raise absent()
            self._lay_out()
        else:
            self._connect()
            if not self._ready(create=create):
                self._disconnect()
                self._lay_out()
        with suppress(FileNotFoundError):
            _sync(f"{self._path}-wal")

    def _there(self) -> bool:
        """Say whether there is a file with something in it.

        It is not opened: closing it would take away the locks that this process has on it.
        """
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return False
        if not stat.S_ISREG(found.st_mode) or 0 < found.st_size < _SMALLEST:
            raise not_a_ledger()
        return found.st_size > 0

    def _connect(self) -> None:
        self._file = self._identity()
        if self._file in _OF_PARENT:
            raise forked()
        try:
            self._connection = sqlite3.connect(
                f"file:{quote(str(self._path))}?mode=rw",
                uri=True,
                timeout=self._timeout,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=2 * _AT_ONCE,
            )
        except sqlite3.Error as failure:
            code = _code(failure)
        else:
            for setting in _SETTINGS:
                self._do(setting)
            return
        raise sqlite_failure(code)

    def _ready(self, *, create: bool) -> bool:
        """Say whether the file is a ledger that has taken all steps; refuse what is none."""
        application, version = self._number("application_id"), self._number("user_version")
        tables = self._do("SELECT 1 FROM sqlite_schema LIMIT 1")
        if not (application or version or tables):
            if not create:
                raise absent()
            return False
        if application != APPLICATION:
            raise not_a_ledger()
        if version > len(STEPS):
            raise newer(version, len(STEPS))
        return version == len(STEPS) and self._do("PRAGMA journal_mode") == [("wal",)]

    def _lay_out(self) -> None:
        """Take the missing steps, in one transaction, while nobody else does."""
        with self._turn.taken():
            if not self._there():
                with suppress(FileExistsError):
                    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                    os.close(os.open(self._path, flags, 0o600))
            self._connect()
            self._do("BEGIN IMMEDIATE")
            if not self._ready(create=True):
                for step in STEPS[self._number("user_version") :]:
                    for statement in step:
                        self._do(statement)
                self._do(f"PRAGMA application_id = {APPLICATION}")
                self._do(f"PRAGMA user_version = {len(STEPS)}")
            self._do("COMMIT")
            if self._do("PRAGMA journal_mode = WAL") != [("wal",)]:
                raise file_failure(OSError())
            _sync(str(self._path.parent))

    def _identity(self) -> tuple[int, int]:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            raise replaced() from None
        return found.st_dev, found.st_ino

    # --- writing ------------------------------------------------------------------------------

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Be the only writer until the block ends; then everything appended is on disk."""
        try:
            with self._turn.taken():
                if self._identity() != self._file:
                    raise replaced()
                if self._doubtful:
                    self._settle()
                self._do("BEGIN IMMEDIATE")
                try:
                    yield
                except BaseException:
                    self._roll_back()
                    raise
                self._commit()
        except OSError as failure:
            raise file_failure(failure) from None

    def _commit(self) -> None:
        self._doubtful = True
        try:
            self._do("COMMIT")
        except LedgerError:
            self._roll_back()
            raise
        self._doubtful = False

    def _roll_back(self) -> None:
        try:
            self._do("ROLLBACK")
        except LedgerError:  # SQLite has done so itself, or the connection is of no use any more
            self._doubtful = True

    def _settle(self) -> None:
        """After a commit that failed: put on disk whatever of it can be seen."""
        self._disconnect()
        self._connect()
        blocked, *_ = self._do("PRAGMA wal_checkpoint(FULL)")[0]
        if blocked:
            raise sqlite_failure(sqlite3.SQLITE_BUSY)
        self._doubtful = False

    def append(self, rows: Sequence[Row]) -> None:
        """Add rows at the end."""
        for start in range(0, len(rows), _AT_ONCE):
            part = rows[start : start + _AT_ONCE]
            cells: list[object] = []
            for row in part:
                cells += (row.seq, row.kind, row.key, row.question, row.line, row.head, row.answer)
            marks = ",".join(["(?,?,?,?,?,?,?)"] * len(part))
            self._do(f"INSERT INTO entry VALUES {marks}", cells)  # noqa: S608  only marks

    def keep_checkpoint(self, seq: int, state: str) -> None:
        """Replace the kept state."""
        self._do("INSERT OR REPLACE INTO checkpoint VALUES (1, ?, ?)", (seq, state))

    # --- reading ------------------------------------------------------------------------------

    def rows(self, after: int, *, answers: bool = False) -> Iterator[Row]:
        """Return the rows after a number, in order, read a page at a time."""
        statement = _ROWS % ("answer" if answers else "NULL")
        while True:
            page = self._found(statement, (after,))
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1].seq

    def rows_of(self, keys: Collection[str]) -> list[Row]:
        """Return all charges, starts and releases of some keys, with answers, in order."""
        found = self._found(_OF_KEYS, (canonical(sorted(keys)),))
        return sorted(found, key=lambda row: row.seq)

    def answered(self, question: str) -> Row | None:
        """Return the first release, with its answer, whose key was charged for a question."""
        found = self._found(_ANSWERED, (question,))
        return found[0] if found else None

    def checkpoint(self) -> tuple[int, str] | None:
        """Return the last kept state and the number of its entry, if there is one."""
        match self._do("SELECT seq, state FROM checkpoint"):
            case [(int(seq), str(state))]:
                return seq, state
        return None

    def close(self) -> None:
        """Let go of the files."""
        self._disconnect()
        self._turn.close()

    def leave(self) -> None:
        """In a child process: neither use nor close a connection of the parent, or the file."""
        if self._connection is not None:
            leave_alone(self._connection)
            self._connection = None
            _OF_PARENT.add(self._file)

    # --- the driver ---------------------------------------------------------------------------

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    def _do(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        if self._connection is None:
            raise file_failure(OSError())
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as failure:
            code = _code(failure)
        raise sqlite_failure(code)

    def _number(self, pragma: str) -> int:
        return int(self._do(f"PRAGMA {pragma}")[0][0])

    def _found(self, statement: str, values: Sequence[Any]) -> list[Row]:
        return [_row(cells) for cells in self._do(statement, values)]


_STORES: Final[weakref.WeakSet[SQLiteStore]] = weakref.WeakSet()
_OF_PARENT: Final[set[tuple[int, int]]] = set()
"""Files that a parent process had open when it forked."""


def _leave_to_parent() -> None:
    for store in list(_STORES):
        store.leave()


os.register_at_fork(after_in_child=_leave_to_parent)


def _row(cells: tuple[Any, ...]) -> Row:
    """Make a row; a torn file can hold other types than its table says."""
    match cells:
        case (int(seq), str(kind), key, question, str(line), str(head), answer) if (
            isinstance(key, _TEXTS)
            and isinstance(question, _TEXTS)
            and (answer is None or isinstance(answer, bytes))
        ):
            return Row(seq, kind, key, question, line, head, answer)
    raise damaged(cells[0])


def _code(failure: sqlite3.Error) -> int | None:
    return getattr(failure, "sqlite_errorcode", None)


def _sync(path: str) -> None:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
