"""Forks: what a child process inherits and must leave to its parent.

Trust: kernel.

A child inherits connections, descriptors and locks that its parent goes on using.  Closing such a
connection would write to files, or end sessions, of the parent; a descriptor left open keeps the
parent's locks after the parent has died; and a lock that another thread held during the fork is
never released in the child.  So whatever owns one of these is notified of every fork.

Python ignores an exception in a hook of a fork.  What a handler of a signal raises there would be
lost, and so would the rest of the hook: what was suspended would stay so.  So handlers in Python,
which run in the main thread alone, are replaced while that thread forks: signals are noted, and
come again when all is resumed.  What handlers raise while they are being replaced or restored is
kept, and raised then, too.  A mask of signals would not do: it leaves them to other threads, and
their handlers to the main thread all the same.  Only an exception that comes before the first line
of the first hook is lost, and nothing else is.
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
from itertools import chain
from operator import call, itemgetter
from types import FrameType
from typing import Any, Final, cast, final

_LIVING: Final[weakref.WeakValueDictionary[int, ForkAware]] = weakref.WeakValueDictionary()
_HANDLERS: Final[dict[int, Callable[[int, FrameType | None], Any]]] = {}
_CAME: Final[list[tuple[int, Callable[[], object]]]] = []
"""What has come to which process amid a fork, as functions in C that let it come again."""
_interrupt: Final = cast("Callable[[int], None]", interrupt_main)  # also numbers without a name
_TURNS: Final = range(8)
_NUMBERS: Final = tuple(signal.valid_signals())
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
    _CAME.append((os.getpid(), functools.partial(_interrupt, number)))


@final
class _Raised:
    """What a handler has raised; it is raised again when Python asks whether this is true."""

    __slots__ = ("_raised",)

    def __init__(self, raised: BaseException) -> None:
        self._raised: BaseException | None = raised
        never_finalize(self)  # Python is told its address alone

    def __bool__(self) -> bool:
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised
        return False

    def asking(self) -> Callable[[], object]:
        """Return what has Python ask, at the next line in Python of the main thread."""
        python = ctypes.pythonapi
        return functools.partial(
            python.Py_AddPendingCall, python.PyObject_IsTrue, ctypes.py_object(self)
        )


def _in_main_thread() -> bool:
    return threading.get_ident() == threading.main_thread().ident


def _despite_handlers(step: Callable[[], None], *, deep: int = 3) -> None:
    """Do something that can be repeated, until no handler raises in between; keep what they raise.

    What a second handler raises before the first exception is kept is caught one level above.
    """
    for _ in _TURNS:  # a step that fails of itself is given up
        try:
            _despite_handlers(step, deep=deep - 1) if deep else step()
        except BaseException as raised:  # noqa: BLE001  it is raised after the fork
            _CAME.append((os.getpid(), _Raised(raised).asking()))
        else:
            return


def _replace_handlers() -> None:
    for number in _NUMBERS if _in_main_thread() else ():
        handler = signal.getsignal(number)
        if callable(handler) and handler is not _note:
            _HANDLERS[number] = handler
            signal.signal(number, _note)


def _restore_handlers() -> None:
    for number, handler in tuple(_HANDLERS.items()):
        if signal.getsignal(number) is _note:
            signal.signal(number, handler)
        _HANDLERS.pop(number, None)


class _ComeAgain:
    """Restores all handlers; a list of it lets come again what came to this process meanwhile.

    Python handles a signal at the next line in Python, which is not in a hook any more if whatever
    lets it come again, as ``list`` and ``map`` do, is written in C.
    """

    def __iter__(self) -> Iterator[object]:
        if not _in_main_thread():
            return iter(())
        while _CAME and _CAME[0][0] != os.getpid():  # the parent's, which came before
            del _CAME[0]
        again = map(call, chain(map(itemgetter(1), _CAME), [_CAME.clear]))
        _despite_handlers(_restore_handlers)
        return again


def _before() -> None:
    global _forker  # noqa: PLW0603
    _forking.acquire()
    _forker = threading.get_ident()
    _tell(lambda living: living.before_fork())


def _in_parent() -> None:
    global _forker  # noqa: PLW0603
    if _forker != threading.get_ident():
        return  # the hook before the fork was lost
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


# Hooks before a fork are called from the last to the first, all others from the first to the last.
# The second of two equal ones replaces handlers where a signal that came ahead has ended the first.
# A child may have been forked by another thread, which is its main thread.
_hold: Final[functools.partial[None]] = functools.partial(_despite_handlers, _replace_handlers)
os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_hold)
os.register_at_fork(before=_hold, after_in_child=_hold)
os.register_at_fork(before=_hold, after_in_child=_in_child)
_come_again: Final[functools.partial[list[object]]] = functools.partial(list, _ComeAgain())
os.register_at_fork(after_in_parent=_come_again, after_in_child=_come_again)
