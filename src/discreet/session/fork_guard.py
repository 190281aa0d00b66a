"""Forks during a question: the child neither waits for ever, nor keeps all its garbage.

Trust: public.
"""

from __future__ import annotations

import gc
import threading
from typing import Final, final

from discreet.errors import EngineStopped
from discreet.ledger.forks import ForkAware, never_finalize


@final
class ForkGuard(ForkAware):
    """Knows whether threads use an engine, and refuses it to a child that is forked meanwhile.

    Locks that another thread holds during a fork, ours and the engine's, are never released in the
    child.  A child that is forked while nobody asks may go on asking.

    >>> guard = ForkGuard(object())
    >>> with guard:
    ...     guard.after_fork_in_child()
    >>> guard.broken
    True
    """

    __slots__ = ("_engine", "_users", "broken")

    def __init__(self, engine: object) -> None:
        """Take the engine; nobody uses it yet."""
        self._engine = engine
        self._users: list[None] = []  # appending and removing are one step each for threads
        self.broken = False
        self.watch_forks()

    def __enter__(self) -> None:
        """Use the engine until the block ends."""
        if self.broken:
            raise EngineStopped(
                what="this process was forked while another thread was asking.",
                why="the locks that it held then are closed for ever here; nothing was charged.",
                do="open the tables again in this process, or fork before asking.",
            )
        self._users.append(None)

    def __exit__(self, *_: object) -> None:
        """Stop using it."""
        if self._users:
            self._users.pop()

    def after_fork_in_child(self) -> None:
        """Leave an engine that was in use to the parent."""
        if self._users:
            self.broken = True
            self._users = []
            never_finalize(self._engine)


_SELDOM: Final = 2_000_000
"""New objects until Python's garbage collector looks for garbage among them."""


@final
class CollectorPause(ForkAware):
    """Lets Python's garbage collector work seldom while something is planned, by whatever threads.

    A plan of many sums is tens of thousands of objects that stay.  Looking through all objects of
    the process again and again, while these come, takes half of the time and finds nothing.  The
    collector is never switched off: whoever is interrupted at the wrong moment, or forked, is left
    with one that works seldom until the next plan ends, and no process keeps all its garbage.

    >>> pause, before = CollectorPause(), gc.get_threshold()
    >>> with pause, pause:
    ...     gc.isenabled(), gc.get_threshold()[0]
    (True, 2000000)
    >>> gc.get_threshold() == before
    True
    """

    __slots__ = ("_before", "_lock", "_planning")

    def __init__(self) -> None:
        """Begin with nobody planning."""
        self._lock = threading.Lock()
        self._planning = 0
        self._before = gc.get_threshold()
        self.watch_forks()

    def __enter__(self) -> None:
        """Let the collector work seldom until the last block ends."""
        with self._lock:
            found = gc.get_threshold()
            if 0 < found[0] < _SELDOM:
                self._before = found
                gc.set_threshold(_SELDOM, *found[1:])
            self._planning += 1

    def __exit__(self, *_: object) -> None:
        """Let it work as before, if nobody else is planning, and nobody has set it otherwise."""
        with self._lock:
            self._planning = max(self._planning - 1, 0)
            if self._planning == 0:
                self._restore()

    def after_fork_in_child(self) -> None:
        """Let it work as before in the child, where those who were planning are not."""
        self._lock = threading.Lock()
        self._planning = 0
        self._restore()

    def _restore(self) -> None:
        if gc.get_threshold()[0] == _SELDOM:
            gc.set_threshold(*self._before)


COLLECTOR_PAUSE: Final = CollectorPause()
"""The one of this process, as there is one collector."""
