"""A ledger whose writer is another process: requests go there, and looking is done here.

Trust: kernel.

Whatever changes the ledger is sent to the process that writes (:mod:`.writer_socket`), which
decides and makes it durable before it answers; the way there is :mod:`.writer_channel`.  Looking
needs no lock: a state of our own follows the entries that are stored, all of which are durable.  It
may be behind, so what it says of a budget is a preview; only the writer decides.

A fork leaves the connection to the parent.  The store is closed before it, and opened when needed
in both processes, as :mod:`discreet.ledger.connection` does.  What nobody holds any more is closed.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar, cast, final

from discreet.accounting.budgets.price_cache import PriceCache
from discreet.ledger import Ledger
from discreet.ledger.batch import Batch, LastSeenEntry, LedgerRequest, catch_up, closed_ledger_error
from discreet.ledger.canonical_lines import EntryRow
from discreet.ledger.charge import Pricer
from discreet.ledger.forks import ForkAware
from discreet.ledger.ledger_requests import SnapshotRequest
from discreet.ledger.opening_terms import checked_timeout
from discreet.ledger.shared.messages import read_result, request_message
from discreet.ledger.shared.writer_channel import WriterChannel
from discreet.ledger.state import LedgerState
from discreet.ledger.stores.store import LedgerAddress, LedgerStore, resolve_address, store_for
from discreet.ledger.values import Account, Receipt

_PAGE: Final = 500
_TIMEOUT: Final = 60.0

Result = TypeVar("Result")


@final
class RemoteWriter(ForkAware):
    """The connection of this process to the writer, and its own view of the entries."""

    __slots__ = (
        "_channel",
        "_finish",
        "_look",
        "_opened",
        "_seen",
        "_state",
        "_store",
        "_suspended",
        "_timeout",
        "accounts",
        "closed",
        "opening",
        "pricer",
    )

    def __init__(self, store: LedgerStore, channel: WriterChannel, *, timeout: float) -> None:
        """Take a store and a channel, and open both; or neither, whatever goes wrong."""
        self._store, self._channel, self._timeout = store, channel, timeout
        self._look = threading.Lock()
        self._seen = LastSeenEntry()
        self._state: LedgerState | None = None
        self._opened = self._suspended = self.closed = False
        self._finish = weakref.finalize(self, _let_go, store, channel)
        try:
            snapshot = self._looked(SnapshotRequest())
            channel.open(snapshot.opening.ledger)
        except BaseException:  # a store that stays open locks out all others
            self.close()
            raise
        self.opening, self.accounts = snapshot.opening, snapshot.accounts
        self.pricer = Pricer(
            PriceCache(
                unit=self.opening.unit,
                constant=self.opening.constant,
                contribution=self.opening.contribution,
            )
        )
        for description in snapshot.descriptions:
            self.pricer.add_shared_columns(description)
        self.watch_forks()

    def current(self) -> RemoteWriter:
        """Return the connection, which is that of whatever process asks."""
        if self.closed:
            raise closed_ledger_error()
        return self

    def call(self, request: LedgerRequest[Result]) -> Result:
        """Have a request served: by the writer if it changes anything, or else here."""
        message = request_message(request)
        if message is None:
            return self._looked(request)
        return cast("Result", read_result(self._channel.ask(message)))

    def last_seen(self) -> Receipt:
        """Return the last entry that is known to be durable, without looking."""
        return Receipt(self.opening.ledger, *self._seen.last)

    def known(self, path: str) -> Mapping[str, Account]:
        """Return the accounts, looking again if one is missing."""
        if path not in self.accounts:
            self.accounts = self._looked(SnapshotRequest()).accounts
        return self.accounts

    def read(self, verb: Callable[[LedgerStore], Result]) -> Result:
        """Read from the store."""
        with self._look:
            self._open_store()
            result = verb(self._store)
            self._seen.check(self._store)
            return result

    def rows(self, after: int, *, answers: bool) -> Iterator[EntryRow]:
        """Read rows, a page at a time."""
        while True:
            page = self.read(functools.partial(_page, after=after, answers=answers))
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1].seq

    def close(self) -> None:
        """Let go of the socket and the store; closing twice does nothing."""
        with self._look:
            if not self.closed:
                self.closed = True
                self._finish()

    def _looked(self, request: LedgerRequest[Result]) -> Result:
        with self._look:
            self._open_store()
            return request.act(Batch(self._caught_up(), ()))

    def _open_store(self) -> None:
        if self.closed:
            raise closed_ledger_error()
        if not self._opened:
            self._store.open()
            self._opened = True

    def _caught_up(self) -> LedgerState:
        """Return the state after all entries; one that was left halfway is built anew."""
        state, self._state = self._state, None
        if state is None:
            self._seen.check(self._store)
            state = LedgerState()
        for _ in catch_up(state, self._store):
            pass
        self._seen.remember(state)
        self._state = state
        return state

    # --- around a fork ------------------------------------------------------------------------

    def before_fork(self) -> None:
        """Close the store, if that works in time; otherwise the child is refused it."""
        self._suspended = self._look.acquire(timeout=self._timeout)
        if self._suspended and self._opened:
            self._opened = False
            self._store.close()

    def after_fork_in_parent(self) -> None:
        """Go on."""
        if self._suspended:
            self._suspended = False
            self._look.release()

    def after_fork_in_child(self) -> None:
        """Leave what is open to the parent."""
        self._channel.after_fork_in_child()
        self._look = threading.Lock()
        if not self._suspended:  # another thread was looking
            self._state, self._opened = None, False
        self._suspended = False


def _let_go(store: LedgerStore, channel: WriterChannel) -> None:
    channel.close()
    store.close()


def _page(store: LedgerStore, *, after: int, answers: bool) -> list[EntryRow]:
    return list(islice(store.rows(after, answers=answers), _PAGE))


def shared_ledger(
    address: LedgerAddress, writer: Path, *, name: str = "", timeout: float = _TIMEOUT
) -> Ledger:
    """Open a ledger whose writer is the process behind a socket.

    Args:
        address: the ledger, which exists already; it is only read here.
        writer: the path of the socket.
        name: how the writer calls this process.
        timeout: how many seconds a call may wait.
    """
    wait = checked_timeout(timeout)
    place = resolve_address(address)
    ledger = object.__new__(Ledger)
    ledger._place = place
    ledger._link = RemoteWriter(
        store_for(place, timeout=wait),
        WriterChannel(writer, name=name, timeout=wait),
        timeout=wait,
    )
    return ledger
