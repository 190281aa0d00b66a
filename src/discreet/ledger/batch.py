"""A batch: requests that are checked and recorded one after another, and become durable together.

Trust: kernel.

Definition.  A batch works on the state of the ledger as of all entries that there are, while nobody
else can append.  A request looks at the state and at what its key has come to, and then appends
what follows; the next request sees that.  Rows are written when all requests have been served.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from discreet.ledger.entry import Row, now
from discreet.ledger.kinds import Entry, row_of
from discreet.ledger.state import State
from discreet.ledger.values import Receipt

__all__ = ["Batch", "History"]


@final
@dataclass(slots=True)
class History:
    """What a key has come to: charged, started so many times, released."""

    charge: Row | None = None
    attempts: int = 0
    release: Row | None = None

    def follow(self, row: Row) -> None:
        """Take one more row of the key."""
        match row.kind:
            case "charge":
                self.charge = row
            case "start":
                self.attempts += 1
            case "release":
                self.release = row


@final
class Batch:
    """The state of a ledger, what is known of some keys, and the rows to be written."""

    __slots__ = ("_at", "_keys", "rows", "spoiled", "state")

    def __init__(self, state: State, known: Iterable[Row]) -> None:
        """Take the state, and all rows of the keys that requests will ask for."""
        self.state = state
        self.rows: list[Row] = []
        self.spoiled = False
        self._at = now()
        self._keys: dict[str, History] = {}
        for row in known:
            self._follow(row)

    def history(self, key: str) -> History:
        """Return what a key has come to."""
        return self._keys.get(key) or History()

    def append(self, entry: Entry, answer: bytes | None = None) -> Row:
        """Record an entry that was checked; if that fails the whole batch is spoiled."""
        state = self.state
        row = row_of(entry, (state.seq, state.head), self._at, answer)
        self.spoiled = True
        state.apply(entry, row.seq, row.head)
        self.spoiled = False
        self.rows.append(row)
        self._follow(row)
        return row

    def receipt(self, row: Row) -> Receipt:
        """Return the receipt of an entry."""
        return Receipt(self.state.opening.ledger, row.seq, row.head)

    def _follow(self, row: Row) -> None:
        if row.key is not None:
            self._keys.setdefault(row.key, History()).follow(row)
