"""The files of a ledger: making a new one as a whole, and looking at one before it is used.

Trust: kernel.

A new ledger is written under another name, with its first entries, synced, and then moved to its
place: whatever happens, there is a ledger with its entries, or none.  It replaces nothing.
A file that nobody uses is looked at before anything is written: SQLite would copy the log beside it
into the file when it lets go, whatever that log is.
"""

from __future__ import annotations

import glob
import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import quote

from discreet.ledger.birth import birth_of
from discreet.ledger.card import Card
from discreet.ledger.entry import NO_HEAD, Row
from discreet.ledger.failures import copied, emptied, lost, newer, not_a_ledger, orphaned
from discreet.ledger.layout import APPLICATION, STEPS
from discreet.ledger.turns import Turn

__all__ = [
    "address",
    "beside",
    "examine",
    "make",
    "recognize",
    "refuse_empty",
    "refuse_leftovers",
    "sync",
    "write_card",
]

_WITH_CARD: Final = 3  # the first version of a file that has a card
_SIDES: Final = ("-wal", "-shm", "-turn")
_HEAD: Final = "SELECT head FROM entry WHERE seq = ?"


def make(path: Path, rows: Iterable[Row], turn: Turn) -> None:
    """Make a ledger with its first rows where nothing is; the caller has the turn."""
    for each in path.parent.glob(f".{glob.escape(path.name)}.*.new*"):
        each.unlink()  # of somebody who died while making one
    place = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        os.close(os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        with closing(sqlite3.connect(address(place, "rw"), uri=True)) as database:
            seq, head = _fill(database, rows)
        sync(str(place))
        card = Card(place.stat().st_ino, birth_of(place))
        write_card(turn, card, sync=True)
        place.rename(path)
    except BaseException:
        for name in ("", "-journal", "-wal", "-shm"):
            with suppress(OSError):
                place.with_name(place.name + name).unlink()
        raise
    sync(str(path.parent))
    write_card(turn, replace(card, seq=seq, head=head), sync=True)


def _fill(database: sqlite3.Connection, rows: Iterable[Row]) -> tuple[int, str]:
    """Lay out the tables and append rows in one transaction; return where they end."""
    database.isolation_level = None
    database.execute("PRAGMA synchronous = FULL")
    database.execute("BEGIN IMMEDIATE")
    for step in STEPS:
        for statement in step:
            database.execute(statement)
    database.execute(f"PRAGMA application_id = {APPLICATION}")
    database.execute(f"PRAGMA user_version = {len(STEPS)}")
    seq, head = 0, NO_HEAD
    for row in rows:
        cells = (row.seq, row.kind, row.key, row.question, row.line, row.head, row.answer)
        database.execute("INSERT INTO entry VALUES (?,?,?,?,?,?,?)", cells)
        seq, head = row.seq, row.head
    database.execute("COMMIT")
    database.execute("PRAGMA journal_mode = WAL")
    return seq, head


def write_card(turn: Turn, card: Card, *, sync: bool = False) -> None:
    """Write a card over the older one of two; over both, one after the other, to be synced."""
    data = turn.read()
    turn.write(card.written(), at=Card.place_for_next(data))
    if sync:
        turn.sync()
        turn.write(card.written(), at=Card.place_for_next(turn.read()))
        turn.sync()


def refuse_leftovers(path: Path, turn: Turn) -> None:
    """Refuse a place at which a ledger was, and where its file is missing."""
    found, data = beside(path, ("-wal", "-shm")), turn.read()
    card = Card.read(data)
    if found or (data and (card is None or card.seq)):
        raise orphaned()


def refuse_empty(path: Path, turn: Turn) -> None:
    """Refuse an empty file; it is no place for a new ledger, because one may have been there."""
    raise emptied() if beside(path, ("-wal", "-shm")) or turn.read() else not_a_ledger()


def recognize(path: Path) -> None:
    """Refuse a file that is not one of a ledger, before anything beside it is touched."""
    with closing(_looking(path)) as database:
        _version(database)


def examine(path: Path, inode: int, birth: int, turn: Turn) -> int:
    """Look at a file that nobody uses, and return its version; refuse it if entries are missing."""
    with closing(_looking(path)) as database:
        version = _version(database)
        if version < _WITH_CARD:
            return version
        data = turn.read()
        card = Card.read(data)
        if card is None:
            raise lost() if data else copied()
        if not card.is_of(inode, birth):
            raise copied()
        if card.seq and database.execute(_HEAD, (card.seq,)).fetchall() != [(card.head,)]:
            raise lost()
    return version


def _looking(path: Path) -> sqlite3.Connection:
    """Connect in a way that changes nothing; only a change that was interrupted is undone first.

    The file counts by itself where there is no log; with a log, only both together.
    """
    log = path.with_name(f"{path.name}-wal")
    mode = "ro" if log.exists() and log.stat().st_size else "ro&immutable=1"
    if path.with_name(f"{path.name}-journal").exists():
        mode = "rw"
    return sqlite3.connect(address(path, mode), uri=True)


def _version(database: sqlite3.Connection) -> int:
    """Return the version of a ledger; refuse another database, and later versions."""
    ((application,),) = database.execute("PRAGMA application_id")
    ((version,),) = database.execute("PRAGMA user_version")
    if application != APPLICATION:
        raise not_a_ledger()
    if version > len(STEPS):
        raise newer(version, len(STEPS))
    return int(version)


def beside(path: Path, names: Iterable[str] = _SIDES) -> tuple[tuple[int, int], ...]:
    """Return device and inode of those side files that are there."""
    found = []
    for name in names:
        with suppress(FileNotFoundError):
            each = os.stat(f"{path}{name}", follow_symlinks=False)  # noqa: PTH116  on every charge
            found.append((each.st_dev, each.st_ino))
    return tuple(found)


def address(path: Path, mode: str) -> str:
    """Return the address of a file for SQLite."""
    return f"file:{quote(str(path))}?mode={mode}"


def sync(path: str) -> None:
    """Sync a file or a folder."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
