"""The rows of a ledger file: how they are appended, and how they are found again.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

from discreet.ledger.canonical_lines import EntryRow, canonical, damaged_entry_error

__all__ = ["AT_ONCE", "append_rows", "read_first_answer", "read_rows", "read_rows_of"]

AT_ONCE: Final = 64
"""How many rows one statement appends at most."""

_PAGE: Final = 500
_COLUMNS: Final = "seq, kind, key, question, line, head"
_TEXTS: Final = (str, type(None))
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

Execute = Callable[[str, Sequence[Any]], list[Any]]
"""Runs a statement with values, and returns all its rows."""


def append_rows(execute: Execute, rows: Sequence[EntryRow]) -> None:
    """Add rows at the end."""
    for start in range(0, len(rows), AT_ONCE):
        part = rows[start : start + AT_ONCE]
        cells: list[object] = []
        for row in part:
            cells += (row.seq, row.kind, row.key, row.question, row.line, row.head, row.answer)
        marks = ",".join(["(?,?,?,?,?,?,?)"] * len(part))
        execute(f"INSERT INTO entry VALUES {marks}", cells)  # noqa: S608  only marks


def read_rows(execute: Execute, after: int, *, answers: bool) -> Iterator[EntryRow]:
    """Yield the rows after a number, in order, read a page at a time."""
    statement = _ROWS % ("answer" if answers else "NULL")
    while True:
        page = _found(execute, statement, (after,))
        yield from page
        if len(page) < _PAGE:
            return
        after = page[-1].seq


def read_rows_of(execute: Execute, keys: Collection[str]) -> list[EntryRow]:
    """Return all charges, starts and releases of some keys, with answers, in order."""
    rows = _found(execute, _OF_KEYS, (canonical(sorted(keys)),))
    return sorted(rows, key=lambda row: row.seq)


def read_first_answer(execute: Execute, question: str) -> EntryRow | None:
    """Return the first release, with its answer, whose key was charged for a question."""
    rows = _found(execute, _ANSWERED, (question,))
    return rows[0] if rows else None


def _found(execute: Execute, statement: str, values: Sequence[Any]) -> list[EntryRow]:
    return [_row(cells) for cells in execute(statement, values)]


def _row(cells: tuple[Any, ...]) -> EntryRow:
    """Make a row; a torn file can hold other types than its table says."""
    match cells:
        case (int(seq), str(kind), key, question, str(line), str(head), answer) if (
            isinstance(key, _TEXTS)
            and isinstance(question, _TEXTS)
            and (answer is None or isinstance(answer, bytes))
        ):
            return EntryRow(seq, kind, key, question, line, head, answer)
    raise damaged_entry_error(cells[0])
