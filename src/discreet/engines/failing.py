"""The one sentence that engines fail with.

Trust: kernel.  What an engine says when it fails may quote values of the data, and whether and how
it fails may depend on them: whoever asks is told the same each time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from discreet.errors import DiscreetError, EngineFailed, EngineStopped

__all__ = ["in_one_sentence", "stopped"]

T = TypeVar("T")


def in_one_sentence(compute: Callable[[], T]) -> T:
    """Compute something; errors of ours, which are about the question, go through as they are.

    >>> in_one_sentence(lambda: 1 / 0)
    Traceback (most recent call last):
    discreet.errors.EngineFailed: ...
    """
    found: T | None = None
    try:
        found = compute()
    except DiscreetError:
        raise
    except Exception:  # noqa: BLE001, S110 (its text may quote the data; replaced below)
        pass
    if found is None:  # raised here, where the other error is out of sight
        raise EngineFailed(
            what="the engine could not compute the answer.",
            why="what it says about the reason may hold values of the data.",
            do="ask the owner of the table to look; what was charged stays charged.",
        )
    return found


def stopped() -> EngineStopped:
    """Return the error for work that ended for a reason that no row can bring about.

    >>> stopped().code
    'E704'
    """
    return EngineStopped(
        what="the answer was stopped before it was computed.",
        why="it was interrupted, or the server with the data cannot be reached.",
        do="ask again, which costs nothing more.",
    )
