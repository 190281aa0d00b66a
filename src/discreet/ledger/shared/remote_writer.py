"""A ledger whose writer is another process: requests go there, and looking is done here.

Trust: kernel.

Whatever changes the ledger is sent to the process that writes (:mod:`.writer_socket`), which
decides and makes it durable before it answers.  Looking needs no lock: a state of our own follows
the entries that are stored, all of which are durable.  It may be behind, so what it says of a
budget is a preview; only the writer decides.
"""

from __future__ import annotations

import functools
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar, cast, final

from discreet.accounting.budgets.price_cache import PriceCache
from discreet.errors import LedgerUnavailable
from discreet.ledger import Ledger
from discreet.ledger.batch import Batch, LastSeenEntry, LedgerRequest, catch_up, closed_ledger_error
from discreet.ledger.canonical_lines import EntryRow
from discreet.ledger.charge import Pricer
from discreet.ledger.ledger_requests import SnapshotRequest
from discreet.ledger.shared.messages import (
    read_result,
    receive_message,
    request_message,
    send_message,
)
from discreet.ledger.state import LedgerState
from discreet.ledger.stores.store import LedgerAddress, LedgerStore, resolve_address, store_for
from discreet.ledger.values import Account, Receipt

_PAGE: Final = 500
_TIMEOUT: Final = 60.0

Result = TypeVar("Result")


@final
class RemoteWriter:
    """The connection of this process to the writer, and its own view of the entries."""

    __slots__ = (
        "_channel",
        "_lock",
        "_look",
        "_seen",
        "_state",
        "_store",
        "accounts",
        "closed",
        "opening",
        "pricer",
    )

    def __init__(self, store: LedgerStore, channel: socket.socket, *, name: str) -> None:
        """Take an opened store and a socket; ``name`` is how the writer will call us."""
        self._store, self._channel = store, channel
        self._lock, self._look = threading.Lock(), threading.Lock()
        self._seen = LastSeenEntry()
        self._state = LedgerState()
        self.closed = False
        self._send({"verb": "hello", "name": name})
        snapshot = self._looked(SnapshotRequest())
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

    def current(self) -> RemoteWriter:
        """Return the connection, as a connection that outlives forks does."""
        if self.closed:
            raise closed_ledger_error()
        return self

    def call(self, request: LedgerRequest[Result]) -> Result:
        """Have a request served: by the writer if it changes anything, or else here."""
        message = request_message(request)
        if message is None:
            return self._looked(request)
        return cast("Result", self._send(message))

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
            if self.closed:
                raise closed_ledger_error()
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
                self._channel.close()
                self._store.close()

    def _looked(self, request: LedgerRequest[Result]) -> Result:
        with self._look:
            if self.closed:
                raise closed_ledger_error()
            for _ in catch_up(self._state, self._store):
                pass
            self._seen.remember(self._state)
            return request.act(Batch(self._state, ()))

    def _send(self, message: Mapping[str, object]) -> object:
        with self._lock:
            try:
                send_message(self._channel, message)
                reply = receive_message(self._channel)
            except (OSError, ValueError):
                reply = None
            if reply is None:  # a late reply would be taken for that of the next request
                self._channel.close()
        if reply is None:
            raise LedgerUnavailable(
                what="the process that writes the ledger does not answer.",
                why="it was stopped; what was recorded stays recorded.",
                do="ask again with the same key once it runs: nothing is paid twice.",
            )
        return read_result(reply)


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
    place = resolve_address(address)
    store = store_for(place, timeout=timeout)
    store.open()
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    channel.settimeout(timeout)
    try:
        channel.connect(str(writer))
        link = RemoteWriter(store, channel, name=name)
    except OSError:
        channel.close()
        store.close()
        raise LedgerUnavailable(
            what="no process writes the ledger.",
            why="its socket cannot be reached.",
            do="start the server that writes it.",
        ) from None
    ledger = object.__new__(Ledger)
    ledger._link, ledger._place = link, place
    return ledger
