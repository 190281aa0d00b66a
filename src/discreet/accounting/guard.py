"""What a budget in memory is guarded by: one thread at a time, one process, and no copies.

Trust: kernel.  Two threads that look before either spends, or a budget and its copy, spend twice.
"""

from __future__ import annotations

import threading
from typing import NoReturn, final

from discreet.errors import WrongKind
from discreet.noise.entropy import process_stamp

__all__ = ["Guard", "refuse_copy"]


@final
class Guard:
    """A lock that a thread may take again, and the process in which it was made.

    A forked process gets a lock of its own, since its parent's may be closed there for ever.

    >>> guard = Guard()
    >>> with guard:
    ...     guard.check_process()
    """

    __slots__ = ("_lock", "_made", "_stamp")

    def __init__(self) -> None:
        """Begin in this process."""
        self._made = self._stamp = process_stamp()
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        """Wait until no other thread is inside."""
        if self._stamp != (here := process_stamp()):
            self._lock, self._stamp = threading.RLock(), here
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        """Let another thread in."""
        self._lock.release()

    def check_process(self) -> None:
        """Refuse to spend in a forked process."""
        if self._made != process_stamp():
            raise WrongKind(
                what="a budget in memory is spent in a forked process.",
                why="parent and child would each spend the whole of it.",
                do="spend it in the process that made it, or keep it in a ledger, which processes "
                "can share.",
            )


def refuse_copy(what: str) -> NoReturn:
    """Refuse to copy a budget, or to store it behind its own back."""
    raise WrongKind(
        what=f"{what} cannot be pickled or copied.",
        why="each copy could be spent by itself, and together they would lose more than was "
        "promised.",
        do="share the one that there is between threads, or keep the budget in a ledger.",
    )
