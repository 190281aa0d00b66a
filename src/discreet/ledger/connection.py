"""The connection of a process to a ledger: steps are taken in turn, with one commit for many.

Trust: kernel.

Definition.  Callers add their step to those that wait.  One of them leads: it takes all that wait
as one batch.  It locks out other processes, reads the entries that they have appended, takes the
steps one after another, and commits; then all these callers return, and one that has come
meanwhile leads.  So nothing is told before it is durable, refusals included, since they may rest on
charges of the same batch.  A step inspects the state and the history of its key and appends what
follows; the next step of the batch sees that.
Those whose steps became durable together come back together: a leader that finds fewer than the
last commit served waits for the others, for a fraction of the time that a commit takes.

If a batch fails or is interrupted, each of its steps gets an error; the state is discarded and
rebuilt from the store, so that memory and disk agree whichever way the commit went (T3).  What
became of a step is found by asking again with its key.

Theorem (key ``one-ledger``).  All that one ledger object reads and writes is one chain of entries.
    Proof.  It keeps the number and head of the last entry that it knew to be durable, and a store
    counts only if it holds that entry, which is checked after each opening and each reading, and
    under the lock before each writing.  Heads are chained from the first entry on, which names the
    ledger: a store that holds an entry with this head holds everything before it.
A connection belongs to the process that made it: SQLite counts its locks in memory, and a server
distinguishes sessions by their sockets.  A forked process is refused it.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, TypeVar, cast, final

from discreet.accounting.box import shared_columns
from discreet.errors import DiscreetError
from discreet.ledger.entries import NO_HEAD, DescriptionEntry, EntryRow, Opening, now
from discreet.ledger.failures import (
    closed_ledger_error,
    exchanged_ledger_error,
    forked_error,
    late_error,
    unavailable_error,
)
from discreet.ledger.requests import Batch, check_terms
from discreet.ledger.state import LedgerState
from discreet.ledger.table import EntryTable
from discreet.ledger.values import Account, OpeningTerms, Receipt
from discreet.noise import SYSTEM

_PAGE: Final = 500
_MOST: Final = 512
_MOMENT: Final = 0.5
_FRACTION: Final = 0.25

Result = TypeVar("Result")


@final
class _Ticket:
    """A step that waits, and what came of it."""

    __slots__ = ("act", "error", "key", "over", "result")

    def __init__(self, act: Callable[[Batch], object], key: str | None) -> None:
        self.act, self.key = act, key
        self.over = False
        self.result: object = None
        self.error: BaseException | None = None


class LedgerConnection:
    """The store and the state through which the threads of one process use a ledger."""

    def __init__(self, store: EntryTable, terms: OpeningTerms, *, timeout: float) -> None:
        """Open the ledger of a store on these terms, and make it first if there is none."""
        self._store = store
        self._timeout = timeout
        self._process = os.getpid()
        self._turn = threading.Lock()  # of anyone who uses the store
        self._guard = threading.RLock()  # held to change the next two; an interrupt leaves it
        self._line = threading.Condition(self._guard)
        self._waiting: deque[_Ticket] = deque()
        self._leader: _Ticket | None = None
        self._state: LedgerState | None = None
        self._seen: tuple[int, str] = (0, NO_HEAD)
        self._open = self.closed = False
        self._served, self._spent = 1, 0.0  # how many the last commit was for, and its time
        if terms.unit is not None and terms.budget is not None and terms.ledger is None:
            opening = Opening(
                ledger=f"{SYSTEM.bits(128):032x}",
                unit=terms.unit,
                constant=tuple(terms.constant or ()),
                contribution=terms.contribution,
                account=terms.account or "data",
                budget=terms.budget,
            )
            store.create((EntryRow.of(opening.entry(), (0, NO_HEAD), now()),))
        try:
            self.opening = self.look(lambda state: state.opening)
            self.look(lambda state: check_terms(terms, state))
            self.accounts, self.prices = self.look(lambda state: (state.accounts, state.prices))
        except BaseException:
            self.close()
            raise

    # --- steps --------------------------------------------------------------------------------

    def call(self, step: Callable[..., Result], key: str | None, *given: object) -> Result:
        """Have a step of :mod:`discreet.ledger.requests` taken; return its result once durable."""
        self.check_process()
        ticket = _Ticket(lambda batch: step(batch, key, *given), key)
        try:
            self._wait(ticket)
            if not ticket.over:
                self._in_turn(lambda: self._serve(self._batched(ticket)))
        finally:
            ticket.over = True  # anyone who leads passes it over from now on
            if self._leader is ticket:
                with self._guard:
                    self._line.notify_all()
        if ticket.error is not None:
            raise ticket.error.with_traceback(None)
        return cast("Result", ticket.result)

    def _wait(self, ticket: _Ticket) -> None:
        """Return when a step is over, or when it is to lead.

        A leader that an interrupt has stopped amid handing over is missed after a moment.
        """
        until = time.monotonic() + self._timeout
        with self._guard:
            self._waiting.append(ticket)
            if self._leader is not None and len(self._waiting) == self._served:
                self._line.notify_all()  # perhaps the leader waits for this one
            while not ticket.over and self._leader is not None and not self._leader.over:
                if time.monotonic() > until:
                    raise late_error()
                self._line.wait(_MOMENT)
            if not ticket.over:
                self._leader = ticket

    def known(self, path: str) -> Mapping[str, Account]:
        """Return the accounts, looking again if one is missing."""
        if path not in self.accounts:
            self.accounts = self.look(lambda state: state.accounts)
        return self.accounts

    def learn(self, description: DescriptionEntry) -> None:
        """Learn from the description of a table which columns all rows of a unit share."""
        if description.what == "schema":
            self.prices = self.prices.sharing(shared_columns(description.content()))

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
            if len(self._waiting) < self._served:
                self._line.wait_for(
                    lambda: len(self._waiting) >= self._served, self._spent * _FRACTION
                )
            while self._waiting and len(tickets) < _MOST:
                ticket = self._waiting.popleft()
                if not ticket.over:
                    tickets.append(ticket)
        return tickets if own in tickets else [*tickets, own]

    def _serve(self, tickets: list[_Ticket]) -> None:
        begun = time.monotonic()
        try:
            self._record(tickets)
        except BaseException as error:
            self._let_go()
            for ticket in tickets:
                ticket.result, ticket.error = None, _explained(error)
            if not isinstance(error, Exception):  # an interrupt of the caller whose turn it is
                raise
        finally:
            for ticket in tickets:
                ticket.over = True
            self._served, self._spent = len(tickets), time.monotonic() - begun

    def _record(self, tickets: list[_Ticket]) -> None:
        """Take steps, and return when everything is durable."""
        store = self._opened()
        known = self._state
        state = known or self._rebuilt()
        with store.exclusive():
            self._state = None  # until it is known that memory and disk agree
            if known is None:
                self._check_seen()  # otherwise the state that is known has to be continued
            state.catch_up(store)
            keys = {ticket.key for ticket in tickets if ticket.key is not None}
            batch = Batch(state, store.rows_of(keys) if keys else ())
            for ticket in tickets:
                try:
                    ticket.result = ticket.act(batch)
                except Exception as error:
                    if batch.failed_midway:
                        raise
                    ticket.error = error
            if batch.rows:
                store.append(batch.rows)
        self._state = state
        self._seen = (state.seq, state.head)

    def _opened(self) -> EntryTable:
        if not self._open:
            self._store.open()
            self._open = True
        return self._store

    def _rebuilt(self) -> LedgerState:
        """Build the state from what is stored, before others are locked out."""
        state = LedgerState()
        state.catch_up(self._store)
        return state

    def _check_seen(self) -> None:
        """Refuse a store that does not hold the last entry that was seen."""
        seq, head = self._seen
        if seq:
            row = next(self._store.rows(after=seq - 1), None)
            if row is None or (row.seq, row.head) != (seq, head):
                raise exchanged_ledger_error(seq)

    def _let_go(self) -> None:
        """Discard the state and close the store; both are built anew when they are needed."""
        self._state = None
        self._open = False
        self._store.close()

    # --- looking ------------------------------------------------------------------------------

    def look(self, view: Callable[[LedgerState], Result]) -> Result:
        """Return a view of the state after all stored entries, without a lock."""
        return self._in_turn(lambda: view(self._caught_up()))

    def _caught_up(self) -> LedgerState:
        try:
            store, known = self._opened(), self._state
            state = known or self._rebuilt()
            if known is None:
                self._check_seen()
            self._state = None
            state.catch_up(store)
        except BaseException:
            self._let_go()
            raise
        self._state = state
        self._seen = (state.seq, state.head)
        return state

    def last_seen(self) -> Receipt:
        """Return the last entry that is known to be durable, without looking."""
        return Receipt(self.opening.ledger, *self._seen)

    def read(self, verb: Callable[[EntryTable], Result]) -> Result:
        """Read what is stored, all of which is durable."""
        return self._in_turn(lambda: self._checked(verb))

    def _checked(self, verb: Callable[[EntryTable], Result]) -> Result:
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
            last = after
            page = self.read(
                lambda store: list(islice(store.rows(last, answers=answers), _PAGE))  # noqa: B023
            )
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1].seq

    # --- closing ------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the store once it is no longer in use; closing twice does nothing."""
        if self.closed or os.getpid() != self._process:
            return
        in_time = self._turn.acquire(timeout=self._timeout)
        try:
            self.closed = True
        finally:
            if in_time:
                self._let_go()
                self._turn.release()


def _explained(error: BaseException) -> DiscreetError:
    """Return the error that one more caller gets for what ended a batch."""
    if isinstance(error, DiscreetError):
        given: Any = type(error)
        return cast("DiscreetError", given(what=error.what, why=error.why, do=error.do))
    failure = unavailable_error(f"its writing was stopped by a {type(error).__name__}.")
    failure.__cause__ = error
    return failure
