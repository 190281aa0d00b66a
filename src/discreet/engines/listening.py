"""Work in a thread of its own, while this one listens to the keyboard.

Trust: public.

An interrupt reaches Python only between two steps of its main thread.  A library that waits there
for other threads of its own may hear of it when these are done, which can take minutes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Final, TypeVar

__all__ = ["ended", "listening", "settled"]

_PAUSE: Final = 0.2
_TRIES: Final = 50

T = TypeVar("T")


def listening(action: Callable[[], T], stop: Callable[[], object]) -> T:
    """Do something that may take long; an interrupt calls ``stop`` until it has ended.

    >>> listening(lambda: 6 * 7, stop=lambda: None)
    42
    """
    if threading.current_thread() is not threading.main_thread():
        return action()  # no interrupt comes here
    done: Future[T] = Future()
    threading.Thread(target=lambda: settled(done, action), daemon=True).start()
    try:
        while not ended(done):
            pass
    except BaseException:
        for _ in range(_TRIES):  # it may be about to start
            stop()
            if ended(done):
                break
        raise
    return done.result()


def ended(done: Future[T]) -> bool:
    """Wait for a moment, and say whether something has ended.

    Threads themselves do not tell: one that was waited for, when an interrupt came, may pass for
    dead while it runs.
    """
    return bool(wait([done], _PAUSE).done)


def settled(done: Future[T], action: Callable[[], T]) -> None:
    """Keep what comes out of something, or what went wrong."""
    try:
        done.set_result(action())
    except BaseException as error:  # noqa: BLE001 (raised again by whoever waits)
        done.set_exception(error)
