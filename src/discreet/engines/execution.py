"""Execution: errors become one sentence that quotes no data, and interrupts are heard.

Trust: kernel (T2).

The error of a library may quote values of the data, and whether and how it fails may depend on
them.  So every failure reads the same.

Python handles an interrupt only between two steps of its main thread; a library that blocks there
can delay it for minutes.  So long work runs in another thread, while the main thread listens to the
keyboard.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Final, TypeVar

from discreet.errors import DiscreetError, EngineFailed, EngineStopped

T = TypeVar("T")

PAUSE: Final = 0.2
"""Seconds between two looks."""


def failed_error(_: Exception) -> EngineFailed:
    """Return the error for any failure once rows are read; it does not say why."""
    return EngineFailed(
        what="the engine could not compute the answer.",
        why="what it says about the reason may hold values of the data.",
        do="ask the owner of the table to look; the charge stays.",
    )


def run_sanitized(
    compute: Callable[[], T], error: Callable[[Exception], DiscreetError] = failed_error
) -> T:
    """Run ``compute``; replace any failure by one error that does not lead to the cause.

    Our own errors, which quote no data, pass unchanged.

    >>> run_sanitized(lambda: 1 / 0)
    Traceback (most recent call last):
    discreet.errors.EngineFailed: ...
    """
    try:
        return compute()
    except DiscreetError:
        raise
    except Exception as cause:  # noqa: BLE001 (its text may quote the data)
        replacement = error(cause)
    raise replacement  # here, where the cause is out of sight


def stopped_error() -> EngineStopped:
    """Return the error for work that was stopped for a reason that no row can cause.

    >>> stopped_error().code
    'E704'
    """
    return EngineStopped(
        what="the answer was stopped before it was computed.",
        why="it was interrupted, or the server with the data cannot be reached.",
        do="ask again, which costs nothing more.",
    )


_TRIES: Final = 50


def run_interruptibly(action: Callable[[], T], stop: Callable[[], object]) -> T:
    """Run an action that may take long; an interrupt calls ``stop`` until it has ended.

    >>> run_interruptibly(lambda: 6 * 7, stop=lambda: None)
    42
    """
    if threading.current_thread() is not threading.main_thread():
        return action()  # no interrupt comes here
    return run_in_thread(action, stop, _daemon).result()


def run_in_thread(
    action: Callable[[], T],
    stop: Callable[[], object],
    thread: Callable[[Callable[[], None]], threading.Thread],
    tick: Callable[[], object] = lambda: None,
) -> Future[T]:
    """Run an action in a thread and wait until it has ended; call ``tick`` meanwhile.

    The future says when: after an interrupted ``join``, a thread that still runs may look dead.
    """
    done: Future[T] = Future()
    worker = thread(lambda: _settle(done, action))
    try:
        worker.start()
        while not _has_ended(done):
            tick()
    except BaseException:
        for _ in range(_TRIES):  # it may be about to start
            stop()
            if _has_ended(done):
                break
        raise
    return done


def _daemon(work: Callable[[], None]) -> threading.Thread:
    return threading.Thread(target=work, daemon=True)


def _has_ended(done: Future[T]) -> bool:
    return bool(wait([done], PAUSE).done)


def _settle(done: Future[T], action: Callable[[], T]) -> None:
    """Store the result of an action, or its error."""
    try:
        done.set_result(action())
    except BaseException as error:  # noqa: BLE001 (raised again by anyone who waits)
        done.set_exception(error)
