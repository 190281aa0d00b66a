"""The writer: one thread that records what many callers request, with one commit per batch.

Trust: kernel.

Definition.  Callers queue requests and wait.  The writer takes all that are queued as one batch:
it locks out other processes, reads the entries that they have appended, serves the requests one
after another, commits, and only then tells each caller its result.  So nothing is told before it
is durable, refusals included, since they may rest on charges of the same batch.

If a commit fails, every request of the batch gets the error, and the state is discarded and rebuilt
from the store: memory and disk agree again, whichever way the commit went.  The store must then
still hold the last entry that was seen (:mod:`discreet.ledger.batch`).
A caller waits for a limited time, not counting the replay of old entries.  A request that was not
taken by then is withdrawn; the fate of one that was taken is found by asking again with its key.
An interrupt (a signal) can end a caller's wait, never a batch: the writer is a thread of its own.
It is a daemon: a process that ends takes it along, which is as safe as any other crash.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, TypeVar, cast, final

from discreet.errors import DiscreetError
from discreet.ledger.batch import (
    Batch,
    LastSeenEntry,
    LedgerRequest,
    RestOrder,
    Ticket,
    catch_up,
    closed_ledger_error,
    copy_of_error,
    explain_failure,
    late_error,
)
from discreet.ledger.canonical_lines import EntryRow
from discreet.ledger.state import LedgerState, restore_state
from discreet.ledger.stores.store import LedgerStore

_MOST: Final = 512
_KEPT_EVERY: Final = 1000

Result = TypeVar("Result")


@final
class Writer:
    """The only thread of this process that writes to one ledger."""

    __slots__ = (
        "_ended",
        "_kept",
        "_open",
        "_order",
        "_queue",
        "_replayed",
        "_rest",
        "_seen",
        "_state",
        "_store",
        "_thread",
        "_timeout",
    )

    def __init__(
        self,
        store: LedgerStore,
        *,
        first: Sequence[EntryRow] | None,
        timeout: float,
        seen: LastSeenEntry,
    ) -> None:
        """Open a store in the thread that will use it, made with its first rows if need be."""
        self._store = store
        self._seen = seen
        self._timeout = timeout
        self._state: LedgerState | None = None
        self._kept = 0
        self._open = False
        self._replayed = 0
        self._queue: queue.SimpleQueue[Ticket | RestOrder | None] = queue.SimpleQueue()
        self._order: list[RestOrder | None] = []
        self._rest: RestOrder | None = None
        self._ended: DiscreetError | None = None
        self._thread = threading.Thread(
            target=self._run, args=(first,), name="discreet-ledger", daemon=True
        )
        self._thread.start()

    # --- callers ------------------------------------------------------------------------------

    def call(self, request: LedgerRequest[Result]) -> Result:
        """Have a request served, and return its result once that is durable."""
        ticket = Ticket(request)
        self._queue.put(ticket)
        if self._ended is not None and ticket.claim.acquire(blocking=False):
            raise copy_of_error(self._ended)
        try:
            done = self._wait(ticket)
        except BaseException:
            ticket.claim.acquire(blocking=False)
            raise
        if not done:
            if ticket.claim.acquire(blocking=False):
                raise late_error("it was not recorded")
            if not ticket.done.acquire(blocking=False):
                raise late_error("whether it was recorded will be seen when you ask again")
        if ticket.error is not None:
            raise ticket.error.with_traceback(None)
        return cast("Result", ticket.result)

    def _wait(self, ticket: Ticket) -> bool:
        """Wait for the result; time spent on replaying old entries does not count."""
        while True:
            replayed = self._replayed
            if ticket.done.acquire(timeout=self._timeout):
                return True
            if self._replayed == replayed:
                return False

    def suspend(self) -> bool:
        """Have the store closed until ``resume``; return whether that worked in time."""
        self._rest = RestOrder()
        self._queue.put(self._rest)
        return self._ended is not None or self._rest.resting.acquire(timeout=self._timeout)

    def resume(self) -> None:
        """Let the writer go on."""
        if self._rest is not None:
            self._rest.over.release()
            self._rest = None

    def stop(self, *, wait: float | None = None) -> None:
        """Serve what is queued, keep a checkpoint, and close the store."""
        self._queue.put(None)
        if self._thread is not threading.current_thread():
            self._thread.join(self._timeout if wait is None else wait)

    # --- the thread ---------------------------------------------------------------------------

    def _run(self, first: Sequence[EntryRow] | None) -> None:
        ended: DiscreetError = closed_ledger_error()
        try:
            if first is not None:
                self._store.create(first)
            self._store.open()
            self._open = True
            self._work()
            self._keep()
        except BaseException as error:  # noqa: BLE001  whatever it is, nobody may wait for ever
            ended = explain_failure(error)
        finally:
            self._store.close()
            self._end(ended)

    def _work(self) -> None:
        """Serve batches until it is time to stop."""
        while True:
            tickets = self._take()
            if tickets:
                self._serve(tickets)
            if self._order:
                order = self._order.pop()
                if order is None:
                    return
                self._sleep(order)

    def _take(self) -> list[Ticket]:
        """Return all that is queued, waiting for the first, up to an order to rest or to stop."""
        tickets: list[Ticket] = []
        item = self._queue.get()
        while isinstance(item, Ticket):
            if item.claim.acquire(blocking=False):
                tickets.append(item)
            if len(tickets) == _MOST:
                return tickets
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return tickets
        self._order.append(item)
        return tickets

    def _sleep(self, order: RestOrder) -> None:
        """Close the store; it is opened again for the next batch."""
        self._store.close()
        self._open = False
        order.resting.release()
        order.over.acquire()

    def _serve(self, tickets: list[Ticket]) -> None:
        try:
            self._record(tickets)
        except BaseException as error:  # noqa: BLE001  every caller is told
            for ticket in tickets:
                ticket.result, ticket.error = None, explain_failure(error)
            if self._state is None:  # whatever is wrong with the store, it is opened anew
                self._store.close()
                self._open = False
        for ticket in tickets:
            ticket.done.release()

    def _record(self, tickets: list[Ticket]) -> None:
        """Serve requests, and return when everything is durable."""
        store = self._store
        if not self._open:
            store.open()
            self._open = True
        known = self._state
        state = known or self._rebuilt()
        with store.exclusive():
            self._state = None  # until it is known that memory and disk agree
            if known is None:
                self._seen.check(store)  # otherwise the state that is known has to be continued
            batch = self._batch(state, {key for waiting in tickets for key in waiting.request.keys})
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
        self._seen.remember(state)

    def _rebuilt(self) -> LedgerState:
        """Build the state from what is stored, before others are locked out."""
        state = restore_state(self._store)
        self._kept = state.seq
        self._catch_up(state)
        return state

    def _batch(self, state: LedgerState, keys: set[str]) -> Batch:
        """Begin a batch: nobody else can append any more."""
        self._catch_up(state)
        return Batch(state, self._store.rows_of(keys) if keys else ())

    def _catch_up(self, state: LedgerState) -> None:
        for seq in catch_up(state, self._store):
            self._replayed = seq

    def _checkpoint(self, state: LedgerState) -> None:
        self._store.keep_checkpoint(state.seq, state.written())
        self._kept = state.seq

    def _keep(self) -> None:
        """Keep a checkpoint at the end; it is a convenience, and may fail."""
        state = self._state
        if state is None or state.seq == self._kept or not self._open:
            return
        with suppress(DiscreetError), self._store.exclusive():
            self._checkpoint(self._batch(state, set()).state)

    def _end(self, error: DiscreetError) -> None:
        """Turn away whoever waits, and whoever comes."""
        self._ended = error
        with suppress(queue.Empty):
            while True:
                item = self._queue.get_nowait()
                if isinstance(item, RestOrder):
                    item.resting.release()
                elif item is not None and item.claim.acquire(blocking=False):
                    item.error = copy_of_error(error)
                    item.done.release()
