"""Reading a ledger from a file: a SQLite database, or an export in JSON lines.

Trust: kernel.

A database is opened read-only, with Python's driver alone, and may be in use meanwhile.  (Not even
its first bytes are read in another way: closing the file would release locks that this process may
have on it.)  Bytes that are not text stay as they are; where SQLite quotes some in an error, the
driver raises UnicodeDecodeError.
Whatever cannot be read is a problem in the report; only a missing file is an error.
"""

from __future__ import annotations

import base64
import json
import operator
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from discreet.errors import NotALedger
from discreet.ledger.verify.audit import Audit
from discreet.ledger.verify.charges import safely
from discreet.ledger.verify.file_checks import NamedEntries, file_problems
from discreet.ledger.verify.report import Report

__all__ = ["connect_read_only", "is_database", "verify", "verify_file"]

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
