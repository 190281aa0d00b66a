"""The record as pages see it: to be read, and for those who may not read the ledger, as it is told.

Trust: kernel.

An entry is recorded as soon as an answer is ready, which is before its tick.  Whoever saw it at
once could tell when each answer was ready, also those of others, and ticks would hide nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import final

from discreet.ledger.ledger_view import LedgerView
from discreet.ledger.values import Receipt, StoredAnswer


@final
class WholeRecord(LedgerView):
    """All of a ledger, for those who may read it: no verb of it adds an entry."""

    __slots__ = ()

    def __init__(self, ledger: LedgerView) -> None:
        """Look into a ledger that is open."""
        self._link, self._place = ledger._link, ledger._place  # noqa: SLF001  of the same family


@final
class PublishedLedger(LedgerView):
    """A ledger up to a receipt; what is left is that of now, since charges come before data."""

    __slots__ = ("_until",)

    def __init__(self, ledger: LedgerView, until: Receipt) -> None:
        """Look into a ledger that is open."""
        self._link, self._place = ledger._link, ledger._place  # noqa: SLF001  of the same family
        self._until = until

    @property
    def receipt(self) -> Receipt:
        """Where what is published ends."""
        return self._until

    def entries(self, after: int = 0) -> Iterator[dict[str, object]]:
        """Return the contents of the entries after a number that are published."""
        for row in self._link.rows(after, answers=False):
            if row.seq > self._until.seq:
                return
            yield row.fields()

    def find(self, question: str) -> StoredAnswer | None:
        """Return the first answer to a question, if there is one that is published."""
        found = super().find(question)
        return found if found is not None and found.receipt.seq <= self._until.seq else None

    def answers_of(self, keys: Collection[str]) -> tuple[StoredAnswer, ...]:
        """Return the published answers that are stored under some keys."""
        found = super().answers_of(keys)
        return tuple(each for each in found if each.receipt.seq <= self._until.seq)

    @property
    def closed(self) -> tuple[str, ...]:
        """The keys of questions that a published failure has closed, the oldest first."""
        keys: dict[str, None] = {}
        for entry in self.entries():
            if entry["kind"] == "fail":
                keys[str(entry["key"])] = None
            elif entry["kind"] == "reopen":
                keys.pop(str(entry["key"]), None)
        return tuple(keys)


__all__ = ["PublishedLedger", "WholeRecord"]
