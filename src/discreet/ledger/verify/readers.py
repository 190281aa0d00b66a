"""Reading a ledger from a file: a SQLite database, or an export in JSON lines.

Trust: kernel.

A database is opened read-only, with Python's driver alone, and may be in use meanwhile.  (Not even
its first bytes are read in another way: closing the file would release locks that this process may
have on it.)  Bytes that are not text stay as they are; where SQLite quotes some in an error, the
driver raises UnicodeDecodeError.
Whatever cannot be read is a problem in the report; only a missing file is an error.

Entries are read in their own order, without an index.  Whoever answers questions finds them through
indexes, and a row that its index does not name is asked and paid for again.  So SQLite compares
every index with its table, and the statements that made them are known by their digests.
A checkpoint names an entry, and so does the card beside the file (``-turn``): there is room for two
cards, a card counts if its checksum is right, and the newer one tells which entry was the last.
Both are read before the entries: a ledger in use goes on meanwhile.
A copy of a ledger has no card, and may be verified.
"""

from __future__ import annotations

import base64
import hashlib
import json
import operator
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self, final
from urllib.parse import quote

from discreet.errors import NotALedger
from discreet.ledger.verify.audit import Audit
from discreet.ledger.verify.charges import safely
from discreet.ledger.verify.report import Report

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
        heads = database.execute("SELECT head FROM entry WHERE seq = ?", (seq,)).fetchall()
        if heads != [(head,)]:
            yield "file", f"entry {seq} is not the one that the card beside the file names."
    if named.torn:
        yield "card", "the card beside the file is torn, and cannot tell which entry was the last."
    if database.execute("PRAGMA integrity_check(1)").fetchall() != [("ok",)]:
        yield "index", "its pages are damaged, or an index does not agree with its table."


def _digest(statement: str) -> str:
    """Identify a statement, however it is spaced."""
    text = " ".join(statement.split())
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]


_COLUMNS: Final = ("seq", "kind", "key", "question", "line", "head", "answer")
_ROWS: Final = f"SELECT {', '.join(_COLUMNS)} FROM entry ORDER BY seq"  # noqa: S608
_EXPORT: Final = 1

_named = operator.attrgetter(*_COLUMNS)


def verify(rows: Iterable[object], *, receipts: Iterable[object] = ()) -> Report:
    """Check a record from its entries alone.

    Args:
        rows: the number, kind, key, question, line, head and answer of each entry, in order, as
            tuples or as values with fields called seq, kind, key, question, line, head, answer.
        receipts: texts ``ledger:seq:head`` that the ledger once gave, or values that print so.

    >>> print(verify([]).problems[0])
    the record, file: it has no entries.
    """
    audit = Audit(receipts)
    _take(audit, rows)
    return audit.report()


def verify_file(path: str | Path, *, receipts: Iterable[object] = ()) -> Report:
    """Check a SQLite ledger, or an export, without the rest of this package's ledger.

    >>> verify_file("nowhere.ledger")
    Traceback (most recent call last):
    discreet.errors.NotALedger
    """
    place = Path(path)
    if not place.is_file():
        raise NotALedger(
            what="there is no file to read at the given path.",
            why="what is not read is not verified.",
            do="give the path of a ledger, or of an export of one.",
        )
    audit = Audit(receipts)
    try:
        if is_database(place):
            _take_database(audit, place)
        else:
            _take_export(audit, place)
    except OSError:
        audit.add_file_problem("it cannot be read to its end.")
    return audit.report()


def is_database(place: Path) -> bool:
    """Whether a file is for SQLite to read, damaged or not.

    >>> is_database(Path(__file__))
    False
    """
    try:
        connect_read_only(place).close()
    except sqlite3.Error as failure:
        return failure.sqlite_errorcode != sqlite3.SQLITE_NOTADB
    except UnicodeDecodeError:  # SQLite quotes a damaged schema
        return True
    return True


def _take_database(audit: Audit, place: Path) -> None:
    try:
        with closing(connect_read_only(place)) as database:
            named = NamedEntries.of(database, place)
            _take(audit, database.execute(_ROWS))
            for kind, message in file_problems(database, named, audit.entries):
                audit.add_file_problem(message, kind)
        if place.stat().st_nlink > 1:
            audit.add_file_problem("it has more than one name, by each of which it could be spent.")
    except (sqlite3.Error, OverflowError, UnicodeDecodeError):
        audit.add_file_problem("it is a damaged database, or not one of a ledger.")


def _take(audit: Audit, rows: Iterable[object]) -> None:
    for row in rows:
        cells = safely(_cells, row)
        if cells is None or len(cells) != len(_COLUMNS):
            audit.add_entry(None, None, None)
        else:
            seq, kind, key, question, line, head, answer = cells
            audit.add_entry(line, head, answer, (seq, kind, key, question))


def _cells(row: Any) -> tuple[object, ...]:
    return tuple(row) if isinstance(row, tuple | list) else _named(row)


def connect_read_only(place: Path) -> sqlite3.Connection:
    """Open for reading; where SQLite cannot write beside the file, as one not in use."""
    address = f"file:{quote(bytes(place.absolute()))}"
    log = place.with_name(f"{place.name}-wal")
    database = sqlite3.connect(f"{address}?mode=ro", uri=True)
    database.text_factory = _text
    try:
        database.execute("PRAGMA schema_version").fetchone()
    except sqlite3.OperationalError:
        database.close()
        if log.exists() and log.stat().st_size:
            raise
        database = sqlite3.connect(f"{address}?mode=ro&immutable=1", uri=True)
        database.text_factory = _text
    except (sqlite3.Error, UnicodeDecodeError):
        database.close()
        raise
    return database


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _take_export(audit: Audit, place: Path) -> None:
    with place.open("rb") as file:
        head = _object(next(file, b""), {"export", "ledger"})
        if head is None or head["export"] != _EXPORT:
            audit.add_file_problem(
                "it is neither a database nor an export in a form that is known."
            )
            return
        for text in file:
            entry = _object(text, {"line", "head", "answer"})
            answer = None if entry is None else safely(_answer, entry["answer"])
            if entry is None or (answer is None and entry["answer"] is not None):
                audit.add_entry(None, None, None)
            else:
                audit.add_entry(entry["line"], entry["head"], answer)
        audit.check_name(head["ledger"])


def _object(text: bytes, names: set[str]) -> dict[str, Any] | None:
    """Read a line of an export: an object with certain names, up to the end of the line."""
    value = safely(json.loads, text) if text.endswith(b"\n") else None
    return value if isinstance(value, dict) and value.keys() == names else None


def _answer(data: str | None) -> bytes | None:
    return None if data is None else base64.b64decode(data, validate=True)
