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
A copy of a ledger may be verified.  A journal that a crash has left is taken back, as whoever opens
the ledger next would.
"""

from __future__ import annotations

import base64
import hashlib
import json
import operator
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from discreet.errors import NotALedger
from discreet.ledger.verify.audit import Audit
from discreet.ledger.verify.charges import safely
from discreet.ledger.verify.report import Report

_LEDGER: Final = 0x44504C31
_UNMARKED: Final = 0  # entries in a database that somebody made by hand
_VERSION: Final = 1
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
        "dd2fc5063f5fe57fa212980975396432",  # the checkpoint
        "c4c3f2491fe96d7b12a32183c01f30dc",  # the card
    }
)


def file_problems(database: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Yield kind and message of what is wrong around the entries."""
    ((mark,),) = database.execute("PRAGMA application_id")
    ((version,),) = database.execute("PRAGMA user_version")
    if mark not in (_LEDGER, _UNMARKED) or version > _VERSION:
        yield "file", "it is marked as another kind of file, or as one of a later version."
    if mark == _LEDGER and not {_digest(text) for (text,) in database.execute(_SCHEMA)} >= _MADE:
        yield "tables", "its tables, indexes or triggers are not those that a ledger is made with."
    if database.execute("PRAGMA integrity_check(1)").fetchall() != [("ok",)]:
        yield "index", "its pages are damaged, or an index does not agree with its table."


def _digest(statement: str) -> str:
    """Identify a statement, however it is spaced."""
    text = " ".join(statement.split())
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]


_COLUMNS: Final = ("seq", "kind", "key", "question", "line", "head", "answer")
_PAGE: Final = 500
_ROWS: Final = (
    f"SELECT rowid, {', '.join(_COLUMNS)} FROM entry"  # noqa: S608
    f" WHERE rowid > ? ORDER BY rowid LIMIT {_PAGE}"
)
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
            _take(audit, _paged(database))
            for kind, message in file_problems(database):
                audit.add_file_problem(message, kind)
        if place.stat().st_nlink > 1:
            audit.add_file_problem("it has more than one name, by each of which it could be spent.")
    except (sqlite3.Error, OverflowError, UnicodeDecodeError):
        audit.add_file_problem("it is a damaged database, or not one of a ledger.")


def _paged(database: sqlite3.Connection) -> Iterator[tuple[object, ...]]:
    """Read the entries a page at a time: whoever writes meanwhile waits for a page alone."""
    last = -(2**63)
    while page := database.execute(_ROWS, (last,)).fetchall():
        if page[-1][0] <= last:  # torn pages could go round for ever
            raise sqlite3.DatabaseError
        last = page[-1][0]
        yield from (cells[1:] for cells in page)


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
    """Open for reading; write only to take back what a crash has left half-written."""
    address = f"file:{quote(bytes(place.absolute()))}"
    for mode in ("ro", "rw"):
        database = sqlite3.connect(f"{address}?mode={mode}", uri=True)
        database.text_factory = _text
        try:
            database.execute("PRAGMA schema_version").fetchone()
        except (sqlite3.Error, UnicodeDecodeError) as failure:
            database.close()
            if mode == "rw" or not isinstance(failure, sqlite3.OperationalError):
                raise
        else:
            break
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
