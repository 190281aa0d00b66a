"""The table of entries: what stores in SQLite and in PostgreSQL have in common.

Trust: kernel.  A store that loses what it called durable gives spent privacy back.

Definition.  A store keeps rows, which are only appended.  It has one writer at a time: inside
``exclusive`` nobody else appends, what it appends is durable once it ends normally, and none of it
stays if it ends with an error that says so.  An error while it ends may leave either; the rows say
which.
Every failure is one of ``NotALedger``, ``NewerFormat``, ``DamagedLedger`` and
``LedgerUnavailable``; no text of a driver, which could hold stored values, is passed on.
A store is used by one thread at a time, and by the process that opened it.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any, ClassVar, Final

from discreet.ledger.entries import EntryRow, damaged_entry_error

_COLUMNS: Final = "seq, kind, key, question, line, head, "
_PAGE: Final = 500
_PAGE_OF_ANSWERS: Final = 64
_AT_ONCE: Final = 64
_MARKS: Final = "(?,?,?,?,?,?,?)"


class EntryTable(ABC):
    """Rows of one ledger, kept for good.

    In the text of a statement ``?`` stands for a value, and ``@entry`` for the table.
    """

    __slots__ = ()

    _EACH: ClassVar[str]
    """A query for the elements of a JSON list."""

    @abstractmethod
    def create(self, rows: Iterable[EntryRow]) -> bool:
        """Make a store with its first rows; return whether there was nothing yet.

        It exists with all of these rows, or not at all.  An existing store is left alone, and what
        is left of one that is gone raises DamagedLedger.
        """

    @abstractmethod
    def open(self) -> None:
        """Connect to an existing store; raise NotALedger if there is none."""

    @abstractmethod
    def exclusive(self) -> AbstractContextManager[None]:
        """Be the only writer until the block ends; then everything appended is durable.

        If the block raises, nothing that it appended stays.  It waits for other writers, and
        raises LedgerUnavailable after its timeout.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of everything; closing twice does nothing."""

    @abstractmethod
    def _ask(self, text: str, *values: object) -> list[Any]:
        """Run a statement; what it returns is durable."""

    def rows(self, after: int, *, answers: bool = False) -> Iterator[EntryRow]:
        """Yield the rows after a number, in order; with the answers of releases if asked.

        It may be read slowly, or only in part, also outside ``exclusive``.
        """
        size = _PAGE_OF_ANSWERS if answers else _PAGE
        text = f"SELECT {_COLUMNS}{'answer' if answers else 'NULL'} FROM @entry"  # noqa: S608
        while True:
            page = self._ask(f"{text} WHERE seq > ? ORDER BY seq LIMIT {size}", after)
            yield from map(_row, page)
            if len(page) < size:
                return
            after = page[-1][0]

    def rows_of(self, keys: Collection[str]) -> list[EntryRow]:
        """Return all charges, starts and releases of some keys, with answers, in order."""
        text = (
            f"SELECT {_COLUMNS}answer FROM @entry WHERE key IN ({self._EACH})"  # noqa: S608
            " AND kind IN ('charge', 'start', 'release') ORDER BY seq"
        )
        return list(map(_row, self._ask(text, json.dumps(sorted(keys)))))

    def first_answer(self, question: str) -> EntryRow | None:
        """Return the first release, with its answer, whose key was charged for a question.

        An empty question has no answer.
        """
        text = (
            f"SELECT {_COLUMNS}answer FROM @entry WHERE seq = (SELECT min(r.seq)"  # noqa: S608
            " FROM @entry c JOIN @entry r ON r.key = c.key AND r.kind = 'release'"
            " WHERE c.kind = 'charge' AND c.question = ? AND c.question <> '')"
        )
        found = self._ask(text, question)
        return _row(found[0]) if found else None

    def append(self, rows: Iterable[EntryRow]) -> None:
        """Add rows at the end; only inside ``exclusive``."""
        waiting = iter(rows)
        while part := list(islice(waiting, _AT_ONCE)):
            marks = ",".join([_MARKS] * len(part))
            cells = [cell for row in part for cell in cells_of(row)]
            self._ask(f"INSERT INTO @entry VALUES {marks}", *cells)  # noqa: S608  only marks


def cells_of(row: EntryRow) -> tuple[object, ...]:
    """Return the cells of a row, in the order of the columns."""
    return row.seq, row.kind, row.key, row.question, row.line, row.head, row.answer


def _row(cells: tuple[Any, ...]) -> EntryRow:
    """Make a row; a torn file can hold other types than its table says."""
    match cells:
        case (int(seq), str(kind), key, question, str(line), str(head), answer) if (
            isinstance(key, str | None)
            and isinstance(question, str | None)
            and isinstance(answer, bytes | None)
        ):
            return EntryRow(seq, kind, key, question, line, head, answer)
    raise damaged_entry_error(cells[0])
