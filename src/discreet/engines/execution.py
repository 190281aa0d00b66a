"""Execution: errors become one sentence that quotes no data, and interrupts are heard.

Trust: kernel.

The one sentence that engines fail with.

 What an engine says when it fails may quote values of the data, and whether and how
it fails may depend on them: whoever asks is told the same each time.

Work in a thread of its own, while this one listens to the keyboard.

An interrupt reaches Python only between two steps of its main thread.  A library that waits there
for other threads of its own may hear of it when these are done, which can take minutes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Final, TypeVar

from discreet.errors import DiscreetError, EngineFailed, EngineStopped

__all__ = [
    "done_after_pause",
    "run_interruptibly",
    "run_sanitized",
    "settle_future",
    "stopped_error",
]

T = TypeVar("T")


def run_sanitized(compute: Callable[[], T]) -> T:
    """Compute something; errors of ours, which are about the question, go through as they are.

    >>> run_sanitized(lambda: 1 / 0)
    Traceback (most recent call last):
    discreet.errors.EngineFailed: ...
    """
    found: T | None = None
    try:
        found = compute()
    except DiscreetError:
        raise
    except Exception:  # noqa: BLE001, S110 (its text may quote the data; replaced below)
        pass
    if found is None:  # raised here, where the other error is out of sight
        raise EngineFailed(
            what="the engine could not compute the answer.",
            why="what it says about the reason may hold values of the data.",
            do="ask the owner of the table to look; what was charged stays charged.",
        )
    return found


def stopped_error() -> EngineStopped:
    """Return the error for work that ended for a reason that no row can bring about.

    >>> stopped_error().code
    'E704'
    """
    return EngineStopped(
        what="the answer was stopped before it was computed.",
        why="it was interrupted, or the server with the data cannot be reached.",
        do="ask again, which costs nothing more.",
    )


_PAUSE: Final = 0.2
_TRIES: Final = 50

Outcome = TypeVar("Outcome")


def run_interruptibly(action: Callable[[], Outcome], stop: Callable[[], object]) -> Outcome:
    """Do something that may take long; an interrupt calls ``stop`` until it has ended.

    >>> run_interruptibly(lambda: 6 * 7, stop=lambda: None)
    42
    """
    if threading.current_thread() is not threading.main_thread():
        return action()  # no interrupt comes here
    done: Future[Outcome] = Future()
    threading.Thread(target=lambda: settle_future(done, action), daemon=True).start()
    try:
        while not done_after_pause(done):
            pass
    except BaseException:
        for _ in range(_TRIES):  # it may be about to start
            stop()
            if done_after_pause(done):
                break
        raise
    return done.result()


def done_after_pause(done: Future[Outcome]) -> bool:
    """Wait for a moment, and say whether something has ended.

    Threads themselves do not tell: one that was waited for, when an interrupt came, may pass for
    dead while it runs.
    """
    return bool(wait([done], _PAUSE).done)


def settle_future(done: Future[Outcome], action: Callable[[], Outcome]) -> None:
    """Keep what comes out of something, or what went wrong."""
    try:
        done.set_result(action())
    except BaseException as error:  # noqa: BLE001 (raised again by whoever waits)
        done.set_exception(error)
