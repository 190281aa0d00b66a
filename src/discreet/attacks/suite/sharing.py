"""Sharing work among processes: pieces that do not need each other.

Trust: public.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

from discreet.exact import whole

__all__ = ["shared"]

Result = TypeVar("Result")


def shared(work: Sequence[Callable[[], Result]], *, jobs: int) -> Iterator[Result]:
    """Yield what each piece of work returns, in their order, from so many processes.

    Other processes start afresh, so pieces of work have to be such that can be pickled.

    >>> from functools import partial
    >>> list(shared([partial(int, "1"), partial(int, "2")], jobs=1))
    [1, 2]
    """
    if whole(jobs, name="jobs", low=1, high=1024) == 1:
        yield from (piece() for piece in work)
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(_done, work)


def _done(piece: Callable[[], Result]) -> Result:
    return piece()
