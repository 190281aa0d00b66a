"""A connection: the writer of one process to one ledger, and a second store to read from.

Trust: kernel.

Requests go through the writer.  What is only looked up is read from a store of its own, by one
thread at a time; whatever can be read there is durable (:mod:`discreet.ledger.store`), and belongs
to the same ledger (:mod:`discreet.ledger.seen`).
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Final, TypeVar, final

from discreet.accounting.tariff import Tariff
from discreet.errors import DamagedLedger
from discreet.ledger.entry import Row
from discreet.ledger.management import LookRequest, OpenRequest
from discreet.ledger.pricing import Pricer
from discreet.ledger.seen import Seen
from discreet.ledger.store import Store
from discreet.ledger.terms import Terms
from discreet.ledger.values import Account
from discreet.ledger.writer import Request, Writer, closed
from discreet.noise import SYSTEM

__all__ = ["Connection"]

_PAGE: Final = 500

Result = TypeVar("Result")


@final
class Connection:
    """What a process needs to use a ledger."""

    __slots__ = (
        "_closed",
        "_lock",
        "_make",
        "_reader",
        "_resting",
        "_seen",
        "_timeout",
        "_writer",
        "accounts",
        "opening",
        "pricer",
    )

    def __init__(
        self, make: Callable[[], Store], terms: Terms, *, timeout: float, seen: Seen
    ) -> None:
        """Connect, and open the ledger on these terms."""
        self._make = make
        self._seen = seen
        self._lock = threading.Lock()
        self._reader: Store | None = None
        self._closed = False
        self._resting = False
        self._timeout = timeout
        first = (terms.first_row(f"{SYSTEM.bits(128):032x}"),) if terms.enough else None
        self._writer = Writer(make(), first=first, timeout=timeout, seen=seen)
        try:
            look = self._writer.call(OpenRequest(terms))
        except BaseException:
            self._writer.stop(wait=1)
            raise
        self.opening = look.opening
        self.accounts = look.accounts
        self.pricer = Pricer(
            Tariff(
                unit=look.opening.unit,
                constant=look.opening.constant,
                contribution=look.opening.contribution,
            )
        )
        for each in look.descriptions:
            self.pricer.learn(each)

    def call(self, request: Request[Result]) -> Result:
        """Have a request served by the writer."""
        return self._writer.call(request)

    def known(self, path: str) -> Mapping[str, Account]:
        """Return the accounts, looking again if one is not among them."""
        if path not in self.accounts:
            self.accounts = self.call(LookRequest()).accounts
        return self.accounts

    def read(self, verb: Callable[[Store], Result]) -> Result:
        """Read from the second store; what it says counts if it is still the same ledger."""
        with self._lock:
            if self._closed:
                raise closed()
            if self._reader is None:
                reader = self._make()
                reader.open()
                self._reader = reader
            found = verb(self._reader)
            try:
                self._seen.check(self._reader)
            except DamagedLedger:  # it is opened anew, and found to be the right one or not
                reader, self._reader = self._reader, None
                reader.close()
                raise
            return found

    def rows(self, after: int, *, answers: bool) -> Iterator[Row]:
        """Read rows, a page at a time; others may read in between."""
        while True:
            page = self.read(functools.partial(_page, after=after, answers=answers))
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1].seq

    def rest(self) -> bool:
        """Let go of both stores until ``wake``; say whether that came about in time."""
        if not self._lock.acquire(timeout=self._timeout):
            return False
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()
        self._resting = True
        return self._writer.rest()

    def wake(self) -> None:
        """Go on; stores are opened again when they are needed."""
        if self._resting:
            self._resting = False
            self._writer.wake()
            self._lock.release()

    def close(self, *, wait: float | None = None) -> None:
        """Serve what waits, and let go of everything; closing twice does nothing."""
        with self._lock:
            reader, self._reader, self._closed = self._reader, None, True
        if reader is not None:
            reader.close()
        self._writer.stop(wait=wait)


def _page(store: Store, *, after: int, answers: bool) -> list[Row]:
    return list(islice(store.rows(after, answers=answers), _PAGE))
