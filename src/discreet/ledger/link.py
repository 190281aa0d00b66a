"""A link: the connection of a ledger in whichever process it is used.

Trust: kernel.

A connection must not cross a fork: SQLite keeps count of its locks in memory, and a child process
that inherits the count takes locks that it does not have for its own.  So connections are let go of
before a process forks, and made again afterwards, in the parent and in the child, when they are
needed.  Where that fails, because another process keeps the ledger for too long, the child is
refused the ledger (:mod:`discreet.ledger.sqlite`).
Every connection of a link is to the ledger that the first one found, or is refused: what was seen
of it goes along (:mod:`discreet.ledger.seen`).
A ledger that nobody holds any more, or whose process ends, is closed.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Final, final

from discreet.ledger.connection import Connection
from discreet.ledger.forks import leave_alone
from discreet.ledger.seen import Seen
from discreet.ledger.store import Store
from discreet.ledger.terms import Terms
from discreet.ledger.writer import closed

__all__ = ["Link"]

_AT_EXIT: Final = 5.0


@final
class Link:
    """A connection that is made when it is needed, once in every process."""

    __slots__ = (
        "__weakref__",
        "_closed",
        "_connection",
        "_finish",
        "_lock",
        "_make",
        "_seen",
        "_terms",
        "_timeout",
    )

    def __init__(self, make: Callable[[], Store], terms: Terms, *, timeout: float) -> None:
        """Connect, and open the ledger on these terms."""
        self._make = make
        self._terms = terms
        self._timeout = timeout
        self._seen = Seen()
        self._lock = threading.Lock()
        self._closed = False
        self._connection: Connection | None = None
        self._finish: weakref.finalize[[], Link] | None = None
        self.live()
        _LINKS.add(self)

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    def live(self) -> Connection:
        """Return the connection of this process."""
        connection = self._connection
        if connection is not None:
            return connection
        with self._lock:
            if self._closed:
                raise closed()
            if self._connection is None:
                connection = Connection(
                    self._make, self._terms, timeout=self._timeout, seen=self._seen
                )
                self._terms = Terms()  # they are on record now
                self._finish = weakref.finalize(self, connection.close, wait=_AT_EXIT)
                self._connection = connection
            return self._connection

    def close(self) -> None:
        """Serve what waits, and let go; closing twice does nothing."""
        with self._lock:
            self._closed = True
            connection, self._connection = self._connection, None
        if connection is not None:
            if self._finish is not None:
                self._finish.detach()
            connection.close()

    # --- around a fork ------------------------------------------------------------------------

    def rest(self) -> None:
        """Let go of the connection, as far as that is possible in time."""
        if self._connection is not None:
            self._connection.rest()

    def wake(self) -> None:
        """In the parent: go on."""
        if self._connection is not None:
            self._connection.wake()

    def leave(self) -> None:
        """In the child: leave to the parent what is the parent's, and connect when needed."""
        self._lock = threading.Lock()
        if self._finish is not None:
            self._finish.detach()
        if self._connection is not None:
            leave_alone(self._connection)
            self._connection = None


_LINKS: Final[weakref.WeakSet[Link]] = weakref.WeakSet()
_FORKING = threading.Lock()


def _before_fork() -> None:
    _FORKING.acquire()
    for link in list(_LINKS):
        link.rest()


def _after_in_parent() -> None:
    for link in list(_LINKS):
        link.wake()
    _FORKING.release()


def _after_in_child() -> None:
    global _FORKING  # noqa: PLW0603  a lock that was held elsewhere is of no use here
    _FORKING = threading.Lock()
    for link in list(_LINKS):
        link.leave()


os.register_at_fork(
    before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child
)
