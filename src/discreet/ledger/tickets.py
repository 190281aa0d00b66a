"""Tickets: requests that wait for the writer, and what their callers get back.

Trust: kernel.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol, TypeVar, final

from discreet.errors import DiscreetError, LedgerUnavailable

if TYPE_CHECKING:  # a batch is handed in
    from discreet.ledger.batch import Batch

__all__ = [
    "LedgerRequest",
    "RestOrder",
    "Ticket",
    "closed_ledger_error",
    "copy_of_error",
    "explain_failure",
    "late_error",
]

Result_co = TypeVar("Result_co", covariant=True)


class LedgerRequest(Protocol[Result_co]):
    """Something to be checked and recorded."""

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
    """An order to let go of the store until somebody is done."""

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
    found = LedgerUnavailable(
        what=f"the writer of the ledger was stopped by a {type(error).__name__}.",
        why="nothing is told before it is durable, so nobody was told anything.",
        do="ask again with the same key: what was recorded is not paid twice.",
    )
    found.__cause__ = error
    return found


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
