"""What lies around the entries of a ledger file: its marks, indexes, checkpoint and card.

Trust: kernel.

Entries are read in their own order, without an index.  Whoever answers questions finds them through
indexes, and a row that its index does not name is asked and paid for again.  So SQLite compares
every index with its table, and the statements that made them are known by their digests.
A checkpoint names an entry, and so does the card beside the file (``-turn``): there is room for two
cards, a card counts if its checksum is right, and the newer one tells which entry was the last.
Both are read before the entries: a ledger in use goes on meanwhile.
A copy of a ledger has no card, and may be verified.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, final

__all__ = ["NamedEntries", "file_problems"]

_LEDGER: Final = 0x44504C31
_UNMARKED: Final = 0  # entries in a database that somebody made by hand
_LATEST: Final = 3
_SCHEMA: Final = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL"
_MADE: Final = frozenset(
    {
        "c074f2c4a15aec5e02b6592d92271365",  # the table of entries
        "7d5ed7770c43620180e93f0c5b0f8598",  # one charge a key
        "5283619ef39cbf7e90ce3b0164565153",  # starts by key
        "47cc73dcbfbc42a5060d18ff2b9d781e",  # one release a key
        "4a99bed19b6fde99fa2c283935a68d5f",  # charges by question
        "80f5e81cf2045e639147edaf10cfaed3",  # entries are appended
        "abb9cf05b298068f0dbbddbe0ce06ca7",  # entries are never changed
        "13d68791abeb409181b8dc6d226426ee",  # entries are never deleted
    }
)
_WITH_CHECKPOINT: Final = 2
_CHECKPOINT: Final = "dd2fc5063f5fe57fa212980975396432"
_SLOT: Final = 512
_LONGEST: Final = 4096
_CARD: Final = re.compile(
    rb"(discreet (?:1|2 [0-9]{20}) [0-9]{20} ([0-9]{18}) ([0-9a-f]{64})) ([0-9a-f]{32})\n"
)


@final
@dataclass(frozen=True, slots=True)
class NamedEntries:
    """The entries that must be there: by number in the checkpoint, by number and head on the card.

    >>> NamedEntries(7, (9, "f" * 64)).last
    9
    """

    kept: int
    card: tuple[int, str]
    torn: bool = False

    @classmethod
    def of(cls, database: sqlite3.Connection, place: Path) -> Self:
        """Read checkpoint and card; what cannot be read names nothing."""
        beside = place.with_name(f"{place.name}-turn")
        data = b""
        if beside.is_file():
            with beside.open("rb") as file:
                data = file.read(_LONGEST)
        cards = [card for card in map(_card, (data[:_SLOT], data[_SLOT:])) if card is not None]
        card = max(cards, key=lambda card: card[0], default=(0, ""))
        return cls(_kept(database), card, torn=bool(data) and not cards)

    @property
    def last(self) -> int:
        """The number of the last of them; 0 if there are none."""
        return max(self.kept, self.card[0])


def _card(data: bytes) -> tuple[int, str] | None:
    """Return number and head of a card that is whole."""
    match = _CARD.match(data)
    if match is None or hashlib.sha256(match[1]).hexdigest()[:32] != match[4].decode("ascii"):
        return None
    return int(match[2]), match[3].decode("ascii")


def _kept(database: sqlite3.Connection) -> int:
    """Return the number of the entry that the checkpoint covers; 0 without one."""
    try:
        (last,) = database.execute("SELECT max(seq) FROM checkpoint").fetchone()
    except (sqlite3.Error, UnicodeDecodeError):  # no such table, or one that the check below names
        return 0
    return last if type(last) is int else 0


def file_problems(
    database: sqlite3.Connection, named: NamedEntries, entries: int
) -> Iterator[tuple[str, str]]:
    """Yield kind and message of what is wrong around so many entries."""
    ((mark,),) = database.execute("PRAGMA application_id")
    ((version,),) = database.execute("PRAGMA user_version")
    if mark not in (_LEDGER, _UNMARKED) or version > _LATEST:
        yield "file", "it is marked as another kind of file, or as one of a later version."
    due = _MADE | {_CHECKPOINT} if version >= _WITH_CHECKPOINT else _MADE
    if mark == _LEDGER and not due <= {_digest(text) for (text,) in database.execute(_SCHEMA)}:
        yield "tables", "its tables, indexes or triggers are not those that a ledger is made with."
    if named.last > entries:
        yield "file", "entries at its end are missing: something beside them names more."
    seq, head = named.card
    if 0 < seq <= entries:
        found = database.execute("SELECT head FROM entry WHERE seq = ?", (seq,)).fetchall()
        if found != [(head,)]:
            yield "file", f"entry {seq} is not the one that the card beside the file names."
    if named.torn:
        yield "card", "the card beside the file is torn, and cannot tell which entry was the last."
    if database.execute("PRAGMA integrity_check(1)").fetchall() != [("ok",)]:
        yield "index", "its pages are damaged, or an index does not agree with its table."


def _digest(statement: str) -> str:
    """Identify a statement, however it is spaced."""
    text = " ".join(statement.split())
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]
