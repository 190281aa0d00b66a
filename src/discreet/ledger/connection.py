"""The connection of a process to a ledger: requests are served in turn, with one commit for all.

Trust: kernel.

Definition.  Callers add their request to those that wait.  One of them leads: it serves all that
wait as one batch.  It locks out other processes, reads the entries that they have appended, serves
the requests one after another, and commits; then all these callers return, and one that has come
meanwhile leads.  So nothing is told before it is durable, refusals included, since they may rest on
charges of the same batch.  A request inspects the state and the history of its key and appends what
follows; the next request of the batch sees that.

Where a batch fails or is interrupted, each of its requests gets an error; the state is discarded
and rebuilt from the store, so that memory and disk agree whichever way the commit went (T3).  What
became of a request is found by asking again with its key.

Theorem (key ``one-ledger``).  All that one ledger object reads and writes is one chain of entries.
    Proof.  It keeps the number and head of the last entry that it knew to be durable, and a store
    counts only if it holds that entry, which is checked after each opening and each reading, and
    under the lock before each writing.  Heads are chained from the first entry on, which names the
    ledger: a store that holds an entry with this head holds everything before it.
A connection belongs to the process that made it: SQLite counts its locks in memory, and a server
tells sessions apart by their sockets.  A forked process is refused it.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Protocol, TypeVar, cast, final

from discreet.accounting.requests import RequestPricer
from discreet.errors import DiscreetError, LedgerUnavailable
from discreet.ledger.entries import NO_HEAD, Entry, EntryRow, now, row_of
from discreet.ledger.failures import exchanged_ledger_error, forked_error
from discreet.ledger.requests import LookingRequest, OpenRequest, Pricer, Snapshot, SnapshotRequest
from discreet.ledger.state import LedgerState, restore_state
from discreet.ledger.store import LedgerStore
from discreet.ledger.values import Account, OpeningTerms, Receipt
from discreet.noise import SYSTEM

_PAGE: Final = 500
_MOST: Final = 512
_KEPT_EVERY: Final = 1000
_MOMENT: Final = 0.5

Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


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
class _Ticket:
    """A request that waits, and what came of it."""

    __slots__ = ("error", "over", "request", "result")

    def __init__(self, request: LedgerRequest[object]) -> None:
        self.request = request
        self.over = False
        self.result: object = None
        self.error: BaseException | None = None


class LedgerConnection:
    """The store and the state through which the threads of one process use a ledger."""

    def __init__(self, store: LedgerStore, terms: OpeningTerms, *, timeout: float) -> None:
        """Open the ledger of a store on these terms, and make it first if there is none."""
        self._store = store
        self._timeout = timeout
        self._process = os.getpid()
        self._turn = threading.Lock()  # of whoever uses the store
        self._guard = threading.RLock()  # of whoever changes the next two
        self._line = threading.Condition(self._guard)
        self._waiting: deque[_Ticket] = deque()
        self._leader: _Ticket | None = None
        self._state: LedgerState | None = None
        self._seen: tuple[int, str] = (0, NO_HEAD)
        self._open = self.closed = False
        self._kept = 0
        if terms.can_create:
            store.create((terms.first_row(f"{SYSTEM.bits(128):032x}"),))
        try:
            snapshot = self.call(OpenRequest(terms))
        except BaseException:
            self.close()
            raise
        self.opening, self.accounts = snapshot.opening, snapshot.accounts
        self.pricer = pricer_of(snapshot)

    # --- requests -----------------------------------------------------------------------------

    def call(self, request: LedgerRequest[Result]) -> Result:
        """Have a request served, and return its result once that is durable."""
        if isinstance(request, LookingRequest):
            return cast("Result", self._looked(request))
        self.check_process()
        ticket = _Ticket(request)
        try:
            self._wait(ticket)
            if not ticket.over:
                self._in_turn(lambda: self._serve(self._batched(ticket)))
        finally:
            ticket.over = True  # whoever leads passes it over from now on
            if self._leader is ticket:
                with self._guard:
                    self._line.notify_all()
        if ticket.error is not None:
            raise ticket.error.with_traceback(None)
        return cast("Result", ticket.result)

    def _wait(self, ticket: _Ticket) -> None:
        """Return when a request is over, or when it is to lead.

        A leader that an interrupt has stopped amid handing over is missed after a moment.
        """
        until = time.monotonic() + self._timeout
        with self._guard:
            self._waiting.append(ticket)
            while not ticket.over and self._leader is not None and not self._leader.over:
                if time.monotonic() > until:
                    raise late_error()
                self._line.wait(_MOMENT)
            if not ticket.over:
                self._leader = ticket

    def check_process(self) -> None:
        """Refuse a process that was forked from the one that has opened the ledger."""
        if os.getpid() != self._process:
            raise forked_error()

    def _in_turn(self, work: Callable[[], Result]) -> Result:
        """Use the store while no other thread does.

        An interrupt may come as soon as the lock is taken, before its result is seen; so that is
        noted within one step of the interpreter, and the lock is never left behind (T3).
        """
        self.check_process()
        taken: list[bool] = []
        try:
            taken.extend(map(self._turn.acquire, (True,), (self._timeout,)))
            if not taken[0]:
                raise late_error()
            if self.closed:
                raise closed_ledger_error()
            return work()
        finally:
            if True in taken:
                self._turn.release()

    def _batched(self, own: _Ticket) -> list[_Ticket]:
        """Return those that wait, the first to come first, and a ticket among them."""
        tickets: list[_Ticket] = []
        with self._guard:
            while self._waiting and len(tickets) < _MOST:
                ticket = self._waiting.popleft()
                if not ticket.over:
                    tickets.append(ticket)
        return tickets if own in tickets else [*tickets, own]

    def _serve(self, tickets: list[_Ticket]) -> None:
        try:
            self._record(tickets)
        except BaseException as error:
            self._let_go()
            for ticket in tickets:
                ticket.result, ticket.error = None, explain_failure(error)
            if not isinstance(error, Exception):  # an interrupt of the caller whose turn it is
                raise
        finally:
            for ticket in tickets:
                ticket.over = True

    def _record(self, tickets: list[_Ticket]) -> None:
        """Serve requests, and return when everything is durable."""
        store = self._opened()
        known = self._state
        state = known or self._rebuilt()
        with store.exclusive():
            self._state = None  # until it is known that memory and disk agree
            if known is None:
                self._check_seen()  # otherwise the state that is known has to be continued
            deque(catch_up(state, store), maxlen=0)
            keys = {key for ticket in tickets for key in ticket.request.keys}
            batch = Batch(state, store.rows_of(keys) if keys else ())
            for ticket in tickets:
                try:
                    ticket.result = ticket.request.act(batch)
                except Exception as error:
                    if batch.failed_midway:
                        raise
                    ticket.error = error
            if batch.rows:
                store.append(batch.rows)
                if state.seq >= self._kept + _KEPT_EVERY:
                    self._checkpoint(state)
        self._state = state
        self._seen = (state.seq, state.head)

    def _opened(self) -> LedgerStore:
        if not self._open:
            self._store.open()
            self._open = True
        return self._store

    def _rebuilt(self) -> LedgerState:
        """Build the state from what is stored, before others are locked out."""
        state = restore_state(self._store)
        self._kept = state.seq
        deque(catch_up(state, self._store), maxlen=0)
        return state

    def _check_seen(self) -> None:
        """Refuse a store that does not hold the last entry that was seen."""
        seq, head = self._seen
        if seq:
            row = next(self._store.rows(after=seq - 1), None)
            if row is None or (row.seq, row.head) != (seq, head):
                raise exchanged_ledger_error(seq)

    def _checkpoint(self, state: LedgerState) -> None:
        self._store.keep_checkpoint(state.seq, state.written())
        self._kept = state.seq

    def _let_go(self) -> None:
        """Discard the state and close the store; both are built anew when they are needed."""
        self._state = None
        self._open = False
        self._store.close()

    # --- looking ------------------------------------------------------------------------------

    def _looked(self, request: LookingRequest[Result]) -> Result:
        """Answer a request that changes nothing from what is stored, without locking others out."""
        return self._in_turn(lambda: request.act(Batch(self._caught_up(), ())))

    def _caught_up(self) -> LedgerState:
        """Return the state after all entries that are stored."""
        try:
            store, known = self._opened(), self._state
            state = known or self._rebuilt()
            if known is None:
                self._check_seen()
            self._state = None
            deque(catch_up(state, store), maxlen=0)
        except BaseException:
            self._let_go()
            raise
        self._state = state
        self._seen = (state.seq, state.head)
        return state

    def last_seen(self) -> Receipt:
        """Return the last entry that is known to be durable, without looking."""
        return Receipt(self.opening.ledger, *self._seen)

    def known(self, path: str) -> Mapping[str, Account]:
        """Return the accounts, asking the ledger again if one is missing."""
        if path not in self.accounts:
            self.accounts = self.call(SnapshotRequest()).accounts
        return self.accounts

    def read(self, verb: Callable[[LedgerStore], Result]) -> Result:
        """Read what is stored, all of which is durable."""
        return self._in_turn(lambda: self._checked(verb))

    def _checked(self, verb: Callable[[LedgerStore], Result]) -> Result:
        try:
            result = verb(self._opened())
            self._check_seen()
        except DiscreetError:
            self._let_go()
            raise
        return result

    def rows(self, after: int, *, answers: bool) -> Iterator[EntryRow]:
        """Read rows, a page at a time; others may write in between."""
        while True:
            page = self.read(functools.partial(_page, after=after, answers=answers))
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1].seq

    def close(self) -> None:
        """Keep a checkpoint, and close the store; closing twice does nothing."""
        if self.closed or os.getpid() != self._process:
            return
        in_time = self._turn.acquire(timeout=self._timeout)
        try:
            self.closed = True
            if in_time:
                self._keep()
        finally:
            if in_time:
                self._let_go()
                self._turn.release()

    def _keep(self) -> None:
        """Keep a checkpoint at the end; it is a convenience, and may fail."""
        state = self._state
        if state is not None and state.seq > self._kept:
            with suppress(DiscreetError), self._store.exclusive():
                deque(catch_up(state, self._store), maxlen=0)
                self._checkpoint(state)


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


def pricer_of(snapshot: Snapshot) -> Pricer:
    """Return the prices of requests to a ledger."""
    opening = snapshot.opening
    pricer = Pricer(
        RequestPricer(
            unit=opening.unit, constant=opening.constant, contribution=opening.contribution
        )
    )
    for description in snapshot.descriptions:
        pricer.add_shared_columns(description)
    return pricer


def _page(store: LedgerStore, *, after: int, answers: bool) -> list[EntryRow]:
    return list(islice(store.rows(after, answers=answers), _PAGE))


def explain_failure(error: BaseException) -> DiscreetError:
    """Return the error that one more caller gets for what ended a batch."""
    if isinstance(error, DiscreetError):
        given: Any = type(error)
        return cast("DiscreetError", given(what=error.what, why=error.why, do=error.do))
    failure = LedgerUnavailable(
        what=f"the writing of the ledger was stopped by a {type(error).__name__}.",
        why="nothing is told before it is durable, so nobody was told anything.",
        do="ask again with the same key: what was recorded is not paid twice.",
    )
    failure.__cause__ = error
    return failure


def late_error() -> LedgerUnavailable:
    """Return the error for a caller whose time is up."""
    return LedgerUnavailable(
        what="the ledger did not answer in time.",
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
