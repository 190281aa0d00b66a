"""A ledger in a file: SQLite in WAL mode, every commit on disk before it counts.

Trust: kernel.

Theorem (key ``sqlite-durable``).  What is read from the file is on disk.
    Proof.  With ``synchronous=FULL`` SQLite shows a commit to others only after syncing its log.  A
    commit that was not synced, because its process died, is visible only to whoever opens the file
    after all others have closed it; the log is synced on every opening, before an entry is read.
    After a failed commit nothing is read before all that is visible has been copied from the log
    to the file, and synced there.
Entries cannot be changed or deleted through SQL, a key has one charge and one release, and no head
occurs twice.  Beside the file are ``-wal`` and ``-shm`` (SQLite's log) and ``-next`` and ``-turn``
(:mod:`discreet.ledger.stores.file_locks`), all readable by its owner alone.
A connection does not cross a fork: SQLite counts the locks of a process in memory, and a child that
inherits the count writes to a log which others take for abandoned.  A child process whose parent
had the file open is refused it (:mod:`discreet.ledger.connection` closes it in time).
Assumes: a local disk that keeps what it has synced.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, final

from discreet.errors import LedgerError, LedgerUnavailable
from discreet.ledger.canonical_lines import NO_HEAD, EntryRow
from discreet.ledger.forks import never_finalize
from discreet.ledger.stores import failures, sqlite_files
from discreet.ledger.stores.file_identity import WitnessCard, birth_time
from discreet.ledger.stores.file_locks import FairLock, InodeLock, inode_lock_of
from discreet.ledger.stores.sqlite_files import sync as _sync
from discreet.ledger.stores.sqlite_rows import AT_ONCE, SQLiteRows, result_code

_OLDEST: Final = (3, 37, 0)  # the first with STRICT tables
_SMALLEST: Final = 512  # bytes; SQLite overwrites what is smaller than any database
_SETTINGS: Final = (
    "PRAGMA synchronous = FULL",
    "PRAGMA fullfsync = ON",
    "PRAGMA checkpoint_fullfsync = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
)


@final
class SQLiteStore(SQLiteRows):
    """The rows of one ledger in one file."""

    __slots__ = (
        "_birth",
        "_doubtful",
        "_hold",
        "_joined",
        "_path",
        "_sides",
        "_size",
        "_timeout",
        "_turn",
    )

    def __init__(self, path: str | os.PathLike[str], *, timeout: float) -> None:
        """Take the path; nothing is opened yet."""
        super().__init__()
        self._path = Path(path).resolve()
        self._timeout = timeout
        self._turn = FairLock(str(self._path))
        self._hold: InodeLock | None = None
        self._joined = False
        self._sides: tuple[tuple[int, int], ...] = ()
        self._birth = 0
        self._size = 0
        self._doubtful = False
        self.watch_forks()

    # --- opening ------------------------------------------------------------------------------

    def create(self, rows: Iterable[EntryRow]) -> bool:
        """Make a ledger with its first rows; return whether there was none."""
        _check_library()
        try:
            if os.path.lexists(self._path):
                return False
            with self._turn.held():  # else a card would be seen that somebody is about to need
                if os.path.lexists(self._path):
                    return False
                sqlite_files.refuse_leftovers(self._path, self._turn)
                sqlite_files.create_file(self._path, rows, self._turn)
                return True
        except sqlite3.Error as failure:
            code = result_code(failure)
        except OSError as failure:
            raise failures.file_failure(failure) from None
        finally:
            self._turn.close()
        raise failures.sqlite_failure(code)

    def open(self) -> None:
        """Connect to an existing ledger."""
        _check_library()
        self.close()
        code: int | None = None
        try:
            self._enter()
        except (sqlite3.Error, UnicodeDecodeError) as failure:
            self.close()
            code = result_code(failure)
        except OSError as failure:
            self.close()
            raise failures.file_failure(failure) from None
        except BaseException:
            self.close()
            raise
        else:
            return
        raise failures.sqlite_failure(code)

    def _enter(self) -> None:
        """Lock the file, inspect it if nobody uses it, and connect."""
        status = self._file()
        if (status.st_dev, status.st_ino) in _OF_PARENT:
            raise failures.forked_error()
        sqlite_files.check_is_ledger(self._path)
        self._hold = hold = inode_lock_of(self._path)
        self._birth = birth_time(self._path)  # an overlay has copied the file by now
        with hold.entering(self._timeout):
            first = not hold.in_use()
            if first:
                version = sqlite_files.check_unused_file(
                    self._path, hold.file[1], self._birth, self._turn
                )
                with suppress(FileNotFoundError):
                    _sync(f"{self._path}-wal")
            elif hold.used_with_other_sides(sqlite_files.side_files_of(self._path)):
                raise failures.side_files_error()
            self._turn.open()
            self._connect()
            if first:
                self._take_into_use(version)
            self._size = self._path.stat().st_size
            self._sides = sqlite_files.side_files_of(self._path)
            hold.join(self._sides)
            self._joined = True

    def _file(self) -> os.stat_result:
        """Return the status of the file; refuse what cannot be a ledger.

        It is not opened: closing it would release the locks that this process has on it.
        """
        try:
            status = self._path.stat()
        except FileNotFoundError:
            sqlite_files.refuse_leftovers(self._path, self._turn)
            raise failures.absent_ledger_error() from None
        if not stat.S_ISREG(status.st_mode) or 0 < status.st_size < _SMALLEST:
            raise failures.not_a_ledger_error()
        if not status.st_size:
            sqlite_files.refuse_empty(self._path, self._turn)
        if status.st_nlink != 1:
            raise failures.hard_link_error()
        return status

    def _connect(self) -> None:
        self._connection = sqlite3.connect(
            sqlite_files.sqlite_uri(self._path, "rw"),
            uri=True,
            timeout=self._timeout,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=2 * AT_ONCE,
        )
        for setting in _SETTINGS:
            self._do(setting)
        self._do("SELECT max(seq) FROM entry")  # opens the log, and what lies beside it

    def _take_into_use(self, version: int) -> None:
        """Write a new card and apply missing migrations while nobody else uses the file."""
        if self._do("PRAGMA journal_mode = WAL") != [("wal",)]:
            raise failures.file_failure(OSError())
        last = self._do("SELECT seq, head FROM entry ORDER BY seq DESC LIMIT 1")
        self._write_card(*(last[0] if last else (0, NO_HEAD)), sync=True)
        if version < len(sqlite_files.MIGRATIONS):
            self._do("BEGIN IMMEDIATE")
            for step in sqlite_files.MIGRATIONS[version:]:
                for statement in step:
                    self._do(statement)
            self._do(f"PRAGMA user_version = {len(sqlite_files.MIGRATIONS)}")
            self._do("COMMIT")
            self._copy_log()

    def _write_card(self, seq: int, head: str, *, sync: bool = False) -> None:
        if self._hold is not None:
            card = WitnessCard(self._hold.file[1], self._birth, seq, head)
            sqlite_files.write_card(self._turn, card, sync=sync)

    def _check_place(self) -> None:
        """Refuse to write to a file, or beside files, other than those that were opened."""
        try:
            status = self._path.stat()
        except FileNotFoundError:
            raise failures.replaced_file_error() from None
        file = self._hold.file if self._hold is not None else None
        if (status.st_dev, status.st_ino) != file or status.st_size < self._size:
            raise failures.replaced_file_error()
        if status.st_nlink != 1:
            raise failures.hard_link_error()
        if sqlite_files.side_files_of(self._path) != self._sides:
            raise failures.side_files_error()
        self._size = status.st_size

    # --- writing ------------------------------------------------------------------------------

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Be the only writer until the block ends; then everything appended is on disk."""
        try:
            with self._turn.held():
                if self._doubtful:
                    self._settle()
                self._check_place()
                self._appended = None
                self._do("BEGIN IMMEDIATE")
                try:
                    yield
                except BaseException:
                    self._roll_back()
                    raise
                self._commit()
        except OSError as failure:
            raise failures.file_failure(failure) from None

    def _commit(self) -> None:
        self._doubtful = True
        try:
            self._do("COMMIT")
        except LedgerError:
            self._roll_back()
            raise
        self._doubtful = False
        if self._appended is not None:
            self._write_card(self._appended.seq, self._appended.head)

    def _roll_back(self) -> None:
        try:
            self._do("ROLLBACK")
        except LedgerError:  # SQLite has done so itself, or the connection is of no use any more
            self._doubtful = True

    def _settle(self) -> None:
        """After a failed commit: put on disk whatever of it is visible."""
        self._leave()
        self._enter()
        self._copy_log()
        self._doubtful = False

    def _copy_log(self) -> None:
        """Copy the log to the file, and sync both."""
        blocked, *_ = self._do("PRAGMA wal_checkpoint(FULL)")[0]
        if blocked:
            raise failures.sqlite_failure(sqlite3.SQLITE_BUSY)

    # --- ending -------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the files."""
        self._leave()
        self._turn.close()

    def _leave(self) -> None:
        """Disconnect while nobody comes or goes, and release the file."""
        hold, self._hold = self._hold, None
        if hold is None:
            self._disconnect()
            return
        try:
            with hold.entering(self._timeout):
                self._part(hold)
        except LedgerError:  # somebody else keeps coming or going, and will see that this one left
            self._part(hold)
        hold.release()

    def _part(self, hold: InodeLock) -> None:
        self._disconnect()
        if self._joined:
            self._joined = False
            hold.leave()

    def after_fork_in_child(self) -> None:
        """Neither use nor close the parent's connection or file."""
        if self._connection is not None:
            never_finalize(self._connection)
            self._connection = None
            if self._hold is not None:
                _OF_PARENT.add(self._hold.file)
        self._hold = None
        self._joined = False


_OF_PARENT: Final[set[tuple[int, int]]] = set()
"""Files that a parent process had open when it forked."""


def _check_library() -> None:
    if sqlite3.sqlite_version_info < _OLDEST:
        raise LedgerUnavailable(
            what="the SQLite library of this Python is older than 3.37.",
            why="a ledger relies on tables that keep their types.",
            do="use a Python with a later SQLite, or keep the ledger in PostgreSQL.",
        )
