"""Connections: a writer and a reader for each process, made anew after a fork.

Trust: kernel.

Requests go through the writer.  Lookups read a second store, one thread at a time; whatever can be
read there is durable (:mod:`discreet.ledger.stores.store`).

A connection must not cross a fork: SQLite counts its locks in memory, and a child process that
inherits the count mistakes its parent's locks for its own.  So connections are closed before a
process forks and reopened when needed, in the parent and in the child.  Where that fails because
another process keeps the ledger for too long, the child is refused the ledger
(:mod:`discreet.ledger.stores.sqlite`).
Every connection of a ledger object must lead to the ledger that the first one found, by the last
entry seen there (:mod:`discreet.ledger.batch`).
A ledger that nobody holds any more, or whose process ends, is closed.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Final, TypeVar, final

from discreet.accounting.budgets.price_cache import PriceCache
from discreet.errors import DamagedLedger
from discreet.ledger.batch import LastSeenEntry, LedgerRequest, closed_ledger_error
from discreet.ledger.canonical_lines import EntryRow
from discreet.ledger.charge import Pricer
from discreet.ledger.forks import ForkAware, never_finalize
from discreet.ledger.ledger_requests import OpenRequest, SnapshotRequest
from discreet.ledger.opening_terms import OpeningTerms
from discreet.ledger.stores.store import LedgerStore
from discreet.ledger.values import Account, Receipt
from discreet.ledger.writer import Writer
from discreet.noise import SYSTEM

_PAGE: Final = 500

Result = TypeVar("Result")


@final
class LedgerConnection:
    """The writer, the reader and the prices through which one process uses a ledger."""

    __slots__ = (
        "_closed",
        "_lock",
        "_make",
        "_reader",
        "_seen",
        "_suspended",
        "_timeout",
        "_writer",
        "accounts",
        "opening",
        "pricer",
    )

    def __init__(
        self,
        make: Callable[[], LedgerStore],
        terms: OpeningTerms,
        *,
        timeout: float,
        seen: LastSeenEntry,
    ) -> None:
        """Connect, and open the ledger on these terms."""
        self._make = make
        self._seen = seen
        self._lock = threading.Lock()
        self._reader: LedgerStore | None = None
        self._closed = False
        self._suspended = False
        self._timeout = timeout
        first = (terms.first_row(f"{SYSTEM.bits(128):032x}"),) if terms.can_create else None
        self._writer = Writer(make(), first=first, timeout=timeout, seen=seen)
        try:
            look = self._writer.call(OpenRequest(terms))
        except BaseException:
            self._writer.stop(wait=1)
            raise
        self.opening = look.opening
        self.accounts = look.accounts
        self.pricer = Pricer(
            PriceCache(
                unit=look.opening.unit,
                constant=look.opening.constant,
                contribution=look.opening.contribution,
            )
        )
        for description in look.descriptions:
            self.pricer.add_shared_columns(description)

    def call(self, request: LedgerRequest[Result]) -> Result:
        """Have a request served by the writer."""
        return self._writer.call(request)

    def last_seen(self) -> Receipt:
        """Return the last entry that is known to be durable, without looking."""
        return Receipt(self.opening.ledger, *self._seen.last)

    def known(self, path: str) -> Mapping[str, Account]:
        """Return the accounts, asking the ledger again if one is missing."""
        if path not in self.accounts:
            self.accounts = self.call(SnapshotRequest()).accounts
        return self.accounts

    def read(self, verb: Callable[[LedgerStore], Result]) -> Result:
        """Read from the second store; the result counts if it is still the same ledger."""
        with self._lock:
            if self._closed:
                raise closed_ledger_error()
            if self._reader is None:
                reader = self._make()
                reader.open()
                self._reader = reader
            result = verb(self._reader)
            try:
                self._seen.check(self._reader)
            except DamagedLedger:  # it is opened anew, and found to be the right one or not
                reader, self._reader = self._reader, None
                reader.close()
                raise
            return result

    def rows(self, after: int, *, answers: bool) -> Iterator[EntryRow]:
        """Read rows, a page at a time; others may read in between."""
        while True:
            page = self.read(functools.partial(_page, after=after, answers=answers))
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1].seq

    def suspend(self) -> bool:
        """Close both stores until ``resume``; return whether that worked in time."""
        if not self._lock.acquire(timeout=self._timeout):
            return False
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()
        self._suspended = True
        return self._writer.suspend()

    def resume(self) -> None:
        """Resume; stores are opened again when they are needed."""
        if self._suspended:
            self._suspended = False
            self._writer.resume()
            self._lock.release()

    def close(self, *, wait: float | None = None) -> None:
        """Finish the requests that wait, and close everything; closing twice does nothing."""
        with self._lock:
            reader, self._reader, self._closed = self._reader, None, True
        if reader is not None:
            reader.close()
        self._writer.stop(wait=wait)


def _page(store: LedgerStore, *, after: int, answers: bool) -> list[EntryRow]:
    return list(islice(store.rows(after, answers=answers), _PAGE))


_AT_EXIT: Final = 5.0


@final
class ForkSafeConnection(ForkAware):
    """A connection that is made on demand, once in every process."""

    __slots__ = (
        "_closed",
        "_connection",
        "_finish",
        "_lock",
        "_make",
        "_seen",
        "_terms",
        "_timeout",
    )

    def __init__(
        self, make: Callable[[], LedgerStore], terms: OpeningTerms, *, timeout: float
    ) -> None:
        """Connect, and open the ledger on these terms."""
        self._make = make
        self._terms = terms
        self._timeout = timeout
        self._seen = LastSeenEntry()
        self._lock = threading.Lock()
        self._closed = False
        self._connection: LedgerConnection | None = None
        self._finish: weakref.finalize[[], ForkSafeConnection] | None = None
        self.current()
        self.watch_forks()

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    def current(self) -> LedgerConnection:
        """Return the connection of this process."""
        connection = self._connection
        if connection is not None:
            return connection
        with self._lock:
            if self._closed:
                raise closed_ledger_error()
            if self._connection is None:
                connection = LedgerConnection(
                    self._make, self._terms, timeout=self._timeout, seen=self._seen
                )
                self._terms = OpeningTerms()  # they are on record now
                self._finish = weakref.finalize(self, connection.close, wait=_AT_EXIT)
                self._connection = connection
            return self._connection

    def close(self) -> None:
        """Finish the requests that wait, and close; closing twice does nothing."""
        with self._lock:
            self._closed = True
            connection, self._connection = self._connection, None
        if connection is not None:
            if self._finish is not None:
                self._finish.detach()
            connection.close()

    # --- around a fork ------------------------------------------------------------------------

    def before_fork(self) -> None:
        """Suspend the connection, if that works in time."""
        if self._connection is not None:
            self._connection.suspend()

    def after_fork_in_parent(self) -> None:
        """Resume."""
        if self._connection is not None:
            self._connection.resume()

    def after_fork_in_child(self) -> None:
        """Leave the parent's connection alone, and connect when needed."""
        self._lock = threading.Lock()
        if self._finish is not None:
            self._finish.detach()
        if self._connection is not None:
            never_finalize(self._connection)
            self._connection = None
