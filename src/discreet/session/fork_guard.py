"""Forks during a question: the child is refused the session before it would wait for ever.

Trust: public.
"""

from __future__ import annotations

from typing import final

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
