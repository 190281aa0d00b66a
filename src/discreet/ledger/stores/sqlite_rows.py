"""The rows of a ledger file: how they are appended, and how they are found again.

Trust: kernel.  No message of the driver is passed on: it could quote what is stored.

A lookup by key trusts an index, which can be damaged after the file was opened.  So the history of
a key must begin with a charge, and where a key was started and no answer is found, the rows since
are read without an index: no answer that is stored is drawn a second time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

from discreet.ledger.canonical_lines import EntryRow, canonical, damaged_entry_error
from discreet.ledger.forks import ForkAware
from discreet.ledger.stores.failures import file_failure, sqlite_failure, torn_file_error

AT_ONCE: Final = 64
"""How many rows one statement appends at most."""

_PAGE: Final = 500
_COLUMNS: Final = "seq, kind, key, question, line, head"
_TEXTS: Final = (str, type(None))
_ROWS: Final = f"SELECT {_COLUMNS}, %s FROM entry WHERE seq > ? ORDER BY seq LIMIT {_PAGE}"  # noqa: S608
_OF_A_QUESTION: Final = ("charge", "start", "release")
_OF_KEYS: Final = " UNION ALL ".join(
    f"SELECT {_COLUMNS}, answer FROM entry "  # noqa: S608  words of ours
    f"WHERE kind = '{kind}' AND key IN (SELECT value FROM json_each(?))"
    for kind in _OF_A_QUESTION
)
_MISSED: Final = """
    SELECT seq FROM entry NOT INDEXED
    WHERE seq > ? AND kind = 'release' AND key IN (SELECT value FROM json_each(?)) LIMIT 1
"""
_ANSWERED: Final = """
    SELECT r.seq, r.kind, r.key, r.question, r.line, r.head, r.answer
    FROM entry AS c JOIN entry AS r ON r.kind = 'release' AND r.key = c.key
    WHERE c.kind = 'charge' AND c.question = ? AND c.question <> ''
    ORDER BY r.seq LIMIT 1
"""


class SQLiteRows(ForkAware):
    """Rows and checkpoint of a ledger, behind a connection to its file."""

    __slots__ = ("_appended", "_connection")

    def __init__(self) -> None:
        """Begin without a connection."""
        self._connection: sqlite3.Connection | None = None
        self._appended: EntryRow | None = None

    def append(self, rows: Sequence[EntryRow]) -> None:
        """Add rows at the end; only inside ``exclusive``."""
        self._appended = rows[-1] if rows else self._appended
        for start in range(0, len(rows), AT_ONCE):
            part = rows[start : start + AT_ONCE]
            cells: list[object] = []
            for row in part:
                cells += (row.seq, row.kind, row.key, row.question, row.line, row.head, row.answer)
            marks = ",".join(["(?,?,?,?,?,?,?)"] * len(part))
            self._do(f"INSERT INTO entry VALUES {marks}", cells)  # noqa: S608  only marks

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
        rows = self._rows(_OF_KEYS, (canonical(sorted(keys)),) * len(_OF_A_QUESTION))
        self._check_found(rows)
        return sorted(rows, key=lambda row: row.seq)

    def _check_found(self, rows: Sequence[EntryRow]) -> None:
        """Look a second time, without an index, for answers that were not found."""
        charged, answered = (
            {row.key for row in rows if row.kind == kind} for kind in ("charge", "release")
        )
        if any(row.key not in charged for row in rows):
            raise torn_file_error()
        begun = [row for row in rows if row.kind == "start" and row.key not in answered]
        if begun:
            first = min(row.seq for row in begun)
            keys = canonical(sorted({row.key or "" for row in begun}))
            if self._do(_MISSED, (first, keys)):
                raise torn_file_error()

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

    def keep_checkpoint(self, seq: int, state: str) -> None:
        """Replace the kept state; only inside ``exclusive``."""
        self._do("INSERT OR REPLACE INTO checkpoint VALUES (1, ?, ?)", (seq, state))

    def _rows(self, statement: str, values: Sequence[Any]) -> list[EntryRow]:
        return [_row(cells) for cells in self._do(statement, values)]

    def _do(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        if self._connection is None:
            raise file_failure(OSError())
        try:
            return self._connection.execute(statement, values).fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as failure:
            code = result_code(failure)
        raise sqlite_failure(code)

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()


def result_code(failure: sqlite3.Error | UnicodeDecodeError) -> int | None:
    """Return SQLite's extended result code, if the driver tells it.

    It raises UnicodeDecodeError where the message of SQLite quotes bytes that are not text.
    """
    return getattr(failure, "sqlite_errorcode", None)


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
