"""Forks: what a child process inherits and must leave to its parent.

Trust: kernel.

A child inherits connections, descriptors and locks that its parent goes on using.  Closing such a
connection would write to files, or end sessions, of the parent; a descriptor left open keeps the
parent's locks after the parent has died; and a lock that another thread held during the fork is
never released in the child.  So whatever owns one of these is notified of every fork.

Python ignores an exception in a hook of a fork.  An interrupt there would be lost, and so would
the rest of the hook: what was suspended would stay so.  So signals with handlers in Python, which
run in the main thread alone, are withheld while that thread forks, and come when all is resumed.
One that comes before the first line of the first hook is lost, and then nothing is suspended.
"""

from __future__ import annotations

import ctypes
import functools
import os
import signal
import threading
import weakref
from _thread import interrupt_main
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final, cast

_LIVING: Final[weakref.WeakValueDictionary[int, ForkAware]] = weakref.WeakValueDictionary()
_HANDLERS: Final[dict[int, Callable[[int, FrameType | None], Any]]] = {}
_CAME: Final[list[tuple[int, int]]] = []
_forking = threading.Lock()
_forker: int | None = None  # the thread that holds the lock


class ForkAware:
    """Something that is notified of every fork of its process, once ``watch_forks`` was called."""

    __slots__ = ("__weakref__",)

    def watch_forks(self) -> None:
        """Begin to be notified."""
        _LIVING[id(self)] = self

    def before_fork(self) -> None:
        """In the parent, before it forks: bring what is shared to a state that can be left."""

    def after_fork_in_parent(self) -> None:
        """In the parent: resume."""

    def after_fork_in_child(self) -> None:
        """In the child: drop what belongs to the parent."""


def never_finalize(thing: object) -> None:
    """Keep an object until the process ends, and do not close it even then."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _tell(step: Callable[[ForkAware], None]) -> None:
    for reference in _LIVING.valuerefs():  # a list of its own: other threads may add to them
        living = reference()
        if living is not None:
            step(living)


def _note(number: int, _: FrameType | None) -> None:
    _CAME.append((os.getpid(), number))


def _in_main_thread() -> bool:
    return threading.get_ident() == threading.main_thread().ident


def _despite_interrupts(step: Callable[[], None]) -> None:
    """Do something that can be repeated, until no interrupt comes in between."""
    while True:
        try:
            return step()
        except KeyboardInterrupt:
            _note(signal.SIGINT, None)


def _withhold_signals() -> None:
    for number in signal.valid_signals():
        handler = signal.getsignal(number)
        if callable(handler) and handler is not _note:
            _HANDLERS[number] = handler
            signal.signal(number, _note)


def _restore_handlers() -> None:
    for number in tuple(_HANDLERS):
        signal.signal(number, _HANDLERS[number])
        del _HANDLERS[number]


class _SignalsThatCame:
    """What came to this process meanwhile; a list of it has each come again.

    Python handles a signal at the next line in Python, which is not in a hook any more if whatever
    lets it come again, as ``list`` and ``map`` do, is written in C.
    """

    def __iter__(self) -> Iterator[None]:
        if not _in_main_thread():
            return iter(())
        _despite_interrupts(_restore_handlers)
        came = [number for process, number in _CAME if process == os.getpid()]
        _CAME.clear()
        return map(cast("Callable[[int], None]", interrupt_main), came)


def _before() -> None:
    global _forker  # noqa: PLW0603
    if _in_main_thread():
        _despite_interrupts(_withhold_signals)
    _forking.acquire()
    _forker = threading.get_ident()
    _tell(lambda living: living.before_fork())


def _in_parent() -> None:
    global _forker  # noqa: PLW0603
    if _forker != threading.get_ident():
        return  # the first hook was lost
    try:
        _tell(lambda living: living.after_fork_in_parent())
    finally:
        _forker = None
        _forking.release()


def _in_child() -> None:
    global _forking, _forker  # noqa: PLW0603  the lock of the parent is of no use here
    _forking = threading.Lock()
    _forker = None
    _tell(lambda living: living.after_fork_in_child())


os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
_come_again: Final[functools.partial[list[None]]] = functools.partial(list, _SignalsThatCame())
os.register_at_fork(after_in_parent=_come_again, after_in_child=_come_again)
