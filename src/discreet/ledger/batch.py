"""Batches: requests that wait for the writer, are checked in turn, and recorded in one go.

Trust: kernel.

Definition.  A ledger object opens stores more than once: for the writer and the reader, after a
fork, and after a failed write.  Each time its address may lead to something else.  So it keeps the
number and head of the last entry that the writer knew to be durable, and a store counts only if it
holds that entry.
Theorem (key ``one-ledger``).  All that one ledger object reads and writes, in a process and in its
forks, is one chain of entries.
    Proof.  Heads are chained from the first entry on, which names the ledger: a store that holds
    an entry with this head holds everything before it, and is the same ledger.  The writer checks
    while nobody else can append, before it serves anybody; the reader after it has read, before
    anything is told.  A child process inherits what its parent has seen.

Definition.  A batch is a list of requests that are checked and recorded one after another and
become durable together.  It works on the state after all existing entries, while nobody else can
append.  A request inspects the state and the history of its key and appends what follows; the next
request sees that.  Rows are written once all requests have been served.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar, final

from discreet.errors import DiscreetError, LedgerUnavailable
from discreet.ledger.canonical_lines import NO_HEAD, EntryRow, now
from discreet.ledger.entry_kinds import Entry, row_of
from discreet.ledger.stores.failures import exchanged_ledger_error
from discreet.ledger.values import Receipt

if TYPE_CHECKING:  # both are handed in
    from discreet.ledger.state import LedgerState
    from discreet.ledger.stores.store import LedgerStore


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
        """Keep the end of a state whose entries are all durable."""
        self._last = (state.seq, state.head)

    @property
    def last(self) -> tuple[int, str]:
        """Its number and head."""
        return self._last

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
    """The history of a key: its charge, its attempts, its release."""

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
    """The state of a ledger, the history of some keys, and the rows to be written."""

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
        """Return the history of a key."""
        return self._keys.get(key) or KeyHistory()

    def append(self, entry: Entry, answer: bytes | None = None) -> EntryRow:
        """Record an entry that was checked; if that fails, the whole batch is lost."""
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


Result_co = TypeVar("Result_co", covariant=True)


class LedgerRequest(Protocol[Result_co]):
    """Something to check and record."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys whose rows it has to know."""
        ...

    def act(self, batch: Batch) -> Result_co:
        """Check, and only then append; an error before the first append changes nothing."""
        ...


@final
class Ticket:
    """A request that waits; whoever acquires ``claim`` decides what becomes of it."""

    __slots__ = ("claim", "done", "error", "request", "result")

    def __init__(self, request: LedgerRequest[object]) -> None:
        """Take the request."""
        self.request = request
        self.claim = threading.Lock()
        self.done = threading.Lock()
        self.done.acquire()
        self.result: object = None
        self.error: BaseException | None = None


@final
class RestOrder:
    """An order to close the store until further notice."""

    __slots__ = ("over", "resting")

    def __init__(self) -> None:
        """Begin with both locks closed."""
        self.resting = threading.Lock()
        self.over = threading.Lock()
        self.resting.acquire()
        self.over.acquire()


def copy_of_error(error: DiscreetError) -> DiscreetError:
    """Return an error like another, for one more caller."""
    return type(error)(what=error.what, why=error.why, do=error.do)


def explain_failure(error: BaseException) -> DiscreetError:
    """Return the error that callers get for whatever ended a batch."""
    if isinstance(error, DiscreetError):
        return copy_of_error(error)
    failure = LedgerUnavailable(
        what=f"the writer of the ledger was stopped by a {type(error).__name__}.",
        why="nothing is told before it is durable, so nobody was told anything.",
        do="ask again with the same key: what was recorded is not paid twice.",
    )
    failure.__cause__ = error
    return failure


def late_error(known: str) -> LedgerUnavailable:
    """Return the error for a caller whose time is up, with what is known of its request."""
    return LedgerUnavailable(
        what=f"the ledger did not answer in time; {known}.",
        why="another process holds the ledger, or the disk is slow; nothing is answered before "
        "its charge is on disk.",
        do="ask again with the same key: what was recorded is not paid twice.",
    )


def closed_ledger_error() -> LedgerUnavailable:
    """Return the error for a ledger that was closed."""
    return LedgerUnavailable(
        what="the ledger is closed.",
        why="what is asked of it can no longer be recorded.",
        do="open it again.",
    )
