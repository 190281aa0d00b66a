"""A limit by the clock for one row of a benchmark: what takes longer is broken off and reported."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator


class TookTooLong(Exception):
    """A row was broken off; the words say after how long."""


@contextlib.contextmanager
def within(seconds: int) -> Iterator[None]:
    """Break off what runs inside after so many seconds, wherever it waits or computes.

    Limits do not nest, and work in the main thread alone.
    """

    def stop(*_: object) -> None:
        raise TookTooLong(f"broken off after {seconds} s by the clock")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
