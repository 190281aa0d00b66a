"""Forks: what a child process inherits and must leave to its parent.

Trust: kernel.

A child inherits connections, descriptors and locks that its parent goes on using.  Closing such a
connection would write to files, or end sessions, of the parent; a descriptor left open keeps the
parent's locks after the parent has died; and a lock that another thread held during the fork is
never released in the child.  So whatever owns one of these is notified of every fork.
"""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from collections.abc import Callable
from typing import Final

_LIVING: Final[weakref.WeakValueDictionary[int, ForkAware]] = weakref.WeakValueDictionary()
_forking = threading.Lock()


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


def _before() -> None:
    _forking.acquire()
    _tell(lambda living: living.before_fork())


def _in_parent() -> None:
    _tell(lambda living: living.after_fork_in_parent())
    _forking.release()


def _in_child() -> None:
    global _forking  # noqa: PLW0603  the lock of the parent is of no use here
    _forking = threading.Lock()
    _tell(lambda living: living.after_fork_in_child())


os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
