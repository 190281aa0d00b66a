"""The file of a ledger: its tables, creating it as a whole, and checking it before it is used.

Trust: kernel.

The application id marks a file as a ledger; its version counts the migrations it has taken.
Opening applies missing ones; no migration touches an entry.
A new ledger is written under another name, with its first entries, synced, and then moved to its
place: whatever happens, there is a ledger with its entries, or none.  It replaces nothing, and
removes nothing but what it made itself.
A file that nobody uses is inspected before anything is written: SQLite would copy the log beside it
into the file on closing, whatever that log is.  Every index must agree with its
table: an answer that its index does not name would be drawn a second time.
"""

from __future__ import annotations

import glob
import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import quote

from discreet.ledger.canonical_lines import NO_HEAD, EntryRow
from discreet.ledger.stores import failures
from discreet.ledger.stores.file_identity import WitnessCard, birth_time
from discreet.ledger.stores.file_locks import FairLock

APPLICATION_ID: Final = 0x44504C31
"""The application id of a ledger file: the letters DPL1."""

MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    (
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
    ),
    (
        """
        CREATE TABLE checkpoint (
            only INTEGER PRIMARY KEY CHECK (only = 1),
            seq INTEGER NOT NULL,
            state TEXT NOT NULL
        ) STRICT
        """,
    ),
    (),  # no new table: from here on a card lies beside the file (file_identity.py)
)
"""What each version of the file adds to the one before."""


_WITH_CARD: Final = 3  # the first version of a file that has a card
_SIDES: Final = ("-wal", "-shm", "-turn")
_HEAD: Final = "SELECT head FROM entry WHERE seq = ?"
_WHOLE: Final = "PRAGMA integrity_check(1)"


def create_file(path: Path, rows: Iterable[EntryRow], turn: FairLock) -> None:
    """Make a ledger with its first rows where there is nothing; the caller holds the lock."""
    _remove_half_made(path, WitnessCard.read(turn.read()))
    number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".new")
    os.close(number)
    place = Path(name)
    try:
        card = WitnessCard(place.stat().st_ino, birth_time(place))
        write_card(turn, card, sync=True)
        with closing(sqlite3.connect(sqlite_uri(place, "rw"), uri=True)) as database:
            seq, head = _fill(database, rows)
        sync(name)
        place.rename(path)
    except BaseException:
        _remove(place)
        raise
    sync(str(path.parent))
    write_card(turn, replace(card, seq=seq, head=head), sync=True)


def _remove_half_made(path: Path, card: WitnessCard | None) -> None:
    """Remove what somebody left who died while making a ledger here.

    Only the file that the card names is removed, and only where it has no card of its own.  No name
    would tell: any file may bear it, a ledger or a copy of one.  A file that is no ledger yet has
    this inode and birth time and no card beside it; a ledger has one, and a copy another inode.
    """
    if card is None or card.seq:
        return
    for place in path.parent.glob(f".{glob.escape(path.name)}.*.new"):
        with suppress(FileNotFoundError):  # of a ledger beside, which has its place by now
            status = place.lstat()
            named = stat.S_ISREG(status.st_mode) and card.is_of(status.st_ino, birth_time(place))
            if named and not os.path.lexists(f"{place}-turn"):
                _remove(place)


def _remove(place: Path) -> None:
    """Remove a file that is no ledger yet, after what SQLite keeps beside it."""
    for name in ("-journal", "-wal", "-shm", ""):
        with suppress(OSError):
            place.with_name(place.name + name).unlink()


def _fill(database: sqlite3.Connection, rows: Iterable[EntryRow]) -> tuple[int, str]:
    """Create the tables and append rows in one transaction; return where they end."""
    database.isolation_level = None
    database.execute("PRAGMA synchronous = FULL")
    database.execute("BEGIN IMMEDIATE")
    for step in MIGRATIONS:
        for statement in step:
            database.execute(statement)
    database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    database.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    seq, head = 0, NO_HEAD
    for row in rows:
        cells = (row.seq, row.kind, row.key, row.question, row.line, row.head, row.answer)
        database.execute("INSERT INTO entry VALUES (?,?,?,?,?,?,?)", cells)
        seq, head = row.seq, row.head
    database.execute("COMMIT")
    database.execute("PRAGMA journal_mode = WAL")
    return seq, head


def write_card(turn: FairLock, card: WitnessCard, *, sync: bool = False) -> None:
    """Write a card over the older of two; to sync it, over both, one after the other."""
    data = turn.read()
    turn.write(card.written(), at=WitnessCard.place_for_next(data))
    if sync:
        turn.sync()
        turn.write(card.written(), at=WitnessCard.place_for_next(turn.read()))
        turn.sync()


def refuse_leftovers(path: Path, turn: FairLock) -> None:
    """Refuse a place where a ledger was and its file is missing."""
    sides, data = side_files_of(path, ("-wal", "-shm")), turn.read()
    card = WitnessCard.read(data)
    if sides or (data and (card is None or card.seq)):
        raise failures.orphaned_files_error()


def refuse_empty(path: Path, turn: FairLock) -> None:
    """Refuse an empty file; a new ledger must not replace one that may have been there."""
    raise (
        failures.empty_file_error()
        if side_files_of(path, ("-wal", "-shm")) or turn.read()
        else failures.not_a_ledger_error()
    )


def check_is_ledger(path: Path) -> None:
    """Refuse a file that is not a ledger, before anything beside it is touched."""
    with closing(_looking(path)) as database:
        _version(database)


def check_unused_file(path: Path, inode: int, birth: int, turn: FairLock) -> int:
    """Inspect a file that nobody uses and return its version; refuse it if it is not whole."""
    with closing(_looking(path)) as database:
        version = _version(database)
        if version >= _WITH_CARD:
            _check_card(database, inode, birth, turn)
        if database.execute(_WHOLE).fetchall() != [("ok",)]:
            raise failures.torn_file_error()
    return version


def _check_card(database: sqlite3.Connection, inode: int, birth: int, turn: FairLock) -> None:
    """Refuse a file without its card, and one that lacks entries."""
    data = turn.read()
    card = WitnessCard.read(data)
    if card is None:
        raise failures.missing_entries_error() if data else failures.copied_file_error()
    if not card.is_of(inode, birth):
        raise failures.copied_file_error()
    if card.seq and database.execute(_HEAD, (card.seq,)).fetchall() != [(card.head,)]:
        raise failures.missing_entries_error()


def _looking(path: Path) -> sqlite3.Connection:
    """Connect without changing anything; only an interrupted change is undone first.

    The file counts by itself where there is no log; with a log, only both together.
    """
    log = path.with_name(f"{path.name}-wal")
    mode = "ro" if log.exists() and log.stat().st_size else "ro&immutable=1"
    if path.with_name(f"{path.name}-journal").exists():
        mode = "rw"
    return sqlite3.connect(sqlite_uri(path, mode), uri=True)


def _version(database: sqlite3.Connection) -> int:
    """Return the version of a ledger; refuse another database, and later versions."""
    ((application,),) = database.execute("PRAGMA application_id")
    ((version,),) = database.execute("PRAGMA user_version")
    if application != APPLICATION_ID:
        raise failures.not_a_ledger_error()
    if version > len(MIGRATIONS):
        raise failures.newer_version_error(version, len(MIGRATIONS))
    return int(version)


def side_files_of(path: Path, names: Iterable[str] = _SIDES) -> tuple[tuple[int, int], ...]:
    """Return device and inode of the side files that exist."""
    identities = []
    for name in names:
        with suppress(FileNotFoundError):
            status = os.stat(f"{path}{name}", follow_symlinks=False)  # noqa: PTH116  on every charge
            identities.append((status.st_dev, status.st_ino))
    return tuple(identities)


def sqlite_uri(path: Path, mode: str) -> str:
    """Return the address of a file for SQLite."""
    return f"file:{quote(str(path))}?mode={mode}"


def sync(path: str) -> None:
    """Sync a file or a folder."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
