"""Signals that stop a server: it closes what it has opened, and a second one ends it at once.

Trust: kernel.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Have signals end what is within as if it were done, so that it closes what it has opened.

    Uvicorn stops at a signal and then raises it again, which by itself would end the process on the
    spot.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: signal.signal(each, _stop) for each in _SIGNALS}
    try:
        yield
    except _StoppedBySignal:
        pass
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


class _StoppedBySignal(BaseException):
    """A signal has come; nothing on the way takes it for an error."""


def _stop(*_: object) -> None:
    raise _StoppedBySignal


def let_signals_end_it() -> None:
    """Have the next signal end the process: somebody does not want to wait any longer."""
    if threading.current_thread() is threading.main_thread():
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_DFL)


__all__ = ["let_signals_end_it", "stopped_by_signals"]
