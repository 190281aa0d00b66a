"""Forks: an engine belongs to the process that opened it.

Trust: public.
"""

from __future__ import annotations

from typing import final

from discreet.errors import EngineStopped
from discreet.noise.entropy import process_stamp


@final
class ForkGuard:
    """Refuses an engine to a process that was forked from the one that opened it.

    >>> guard = ForkGuard()
    >>> with guard:
    ...     guard.broken
    False
    """

    __slots__ = ("_stamp",)

    def __init__(self) -> None:
        """Begin in this process."""
        self._stamp = process_stamp()

    @property
    def broken(self) -> bool:
        """Whether this is another process."""
        return self._stamp != process_stamp()

    def __enter__(self) -> None:
        """Use the engine until the block ends."""
        if self.broken:
            raise EngineStopped(
                what="the tables were opened before this process was forked from another.",
                why="locks that another thread of the parent held then are closed for ever here; "
                "nothing was charged.",
                do="open the tables again in this process.",
            )

    def __exit__(self, *_: object) -> None:
        """Stop using it."""
