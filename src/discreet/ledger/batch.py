"""Batches: requests that are checked one after another, and recorded in one go.

Trust: kernel.

Definition.  Stores are opened more than once in the life of a ledger object: by the writer and by
the reader, after a fork, and after a write that failed.  Each time the address is looked up anew,
and something else may lie there by then.  So the number and head of the last entry that the writer
knew to be durable are kept, and a store counts only if it holds that entry.
Theorem (key ``one-ledger``).  All that one ledger object reads and writes, in a process and in its
forks, is one chain of entries.
    Proof.  Heads are chained from the first entry on, which names the ledger: a store that holds
    an entry with this head holds everything before it, and is the same ledger.  The writer looks
    while nobody else can append, before it serves anybody; the reader after it has read, before
    anything is told.  A child process inherits what its parent has seen.

Definition.  A batch is a list of requests that are checked and recorded one after another, and
become durable together.  It works on the state of the ledger as of all entries that there are,
while nobody else can append.  A request looks at the state and at what its key has come to, and
then appends what follows; the next request sees that.  Rows are written when all requests have been
served.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from discreet.ledger.canonical_lines import NO_HEAD, EntryRow, now
from discreet.ledger.entry_kinds import Entry, row_of
from discreet.ledger.stores.failures import exchanged_ledger_error
from discreet.ledger.values import Receipt

if TYPE_CHECKING:  # both are handed in
    from discreet.ledger.state import LedgerState
    from discreet.ledger.stores.store import LedgerStore

__all__ = ["Batch", "KeyHistory", "LastSeenEntry", "catch_up"]


def catch_up(state: LedgerState, store: LedgerStore) -> Iterator[int]:
    """Apply all entries that a state does not know yet, and yield their numbers."""
    rows = store.rows(after=max(state.seq - 1, 0))
    if state.seq:
        last = next(rows, None)
        if last is None or (last.seq, last.head) != (state.seq, state.head):
            raise exchanged_ledger_error(state.seq)
    for row in rows:
        state.apply_row(row)
        yield row.seq


@final
class LastSeenEntry:
    """The last entry that is known to be durable; none before a ledger was opened."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        """Begin with no entry."""
        self._last: tuple[int, str] = (0, NO_HEAD)  # one value, so that threads see all of it

    def remember(self, state: LedgerState) -> None:
        """Keep where a state stands, whose entries are all durable."""
        self._last = (state.seq, state.head)

    def check(self, store: LedgerStore) -> None:
        """Refuse a store that does not hold the entry."""
        seq, head = self._last
        if seq:
            row = next(store.rows(after=seq - 1), None)
            if row is None or (row.seq, row.head) != (seq, head):
                raise exchanged_ledger_error(seq)


@final
@dataclass(slots=True)
class KeyHistory:
    """What a key has come to: charged, started so many times, released."""

    charge: EntryRow | None = None
    attempts: int = 0
    release: EntryRow | None = None

    def follow(self, row: EntryRow) -> None:
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

    __slots__ = ("_at", "_keys", "failed_midway", "rows", "state")

    def __init__(self, state: LedgerState, known: Iterable[EntryRow]) -> None:
        """Take the state, and all rows of the keys that requests will ask for."""
        self.state = state
        self.rows: list[EntryRow] = []
        self.failed_midway = False
        self._at = now()
        self._keys: dict[str, KeyHistory] = {}
        for row in known:
            self._follow(row)

    def history(self, key: str) -> KeyHistory:
        """Return what a key has come to."""
        return self._keys.get(key) or KeyHistory()

    def append(self, entry: Entry, answer: bytes | None = None) -> EntryRow:
        """Record an entry that was checked; if that fails the whole batch is spoiled."""
        state = self.state
        row = row_of(entry, (state.seq, state.head), self._at, answer)
        self.failed_midway = True
        state.apply(entry, row.seq, row.head)
        self.failed_midway = False
        self.rows.append(row)
        self._follow(row)
        return row

    def receipt(self, row: EntryRow) -> Receipt:
        """Return the receipt of an entry."""
        return Receipt(self.state.opening.ledger, row.seq, row.head)

    def _follow(self, row: EntryRow) -> None:
        if row.key is not None:
            self._keys.setdefault(row.key, KeyHistory()).follow(row)
