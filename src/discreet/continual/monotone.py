"""Counts up to a threshold do not fall: the nearest rising sequence.

Trust: public.  It sees noisy counts only; a bug here costs accuracy, not privacy.

Definition.  Pool neighbors that fall into their mean until none do.  The result is the
non-decreasing sequence with the least squared distance (Ayer, Brunk, Ewing, Reid and Silverman
1955).
Theorem (key ``isotonic-contraction``).  The largest distance from any non-decreasing truth does not
grow.  Proof.  Entry i of the result is the largest over a <= i of the smallest over b >= i of the
mean of entries a to b; so it does not fall where entries rise, it moves along where all entries do,
and it leaves non-decreasing sequences as they are.  Entries within r of the truth lie between the
truth minus r and the truth plus r, and so does the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import WrongKind

__all__ = ["monotone"]


def monotone(values: Sequence[float] | NDArray[Any]) -> NDArray[np.float64]:
    """Return the nearest sequence that does not fall.

    >>> monotone([1, 4, 2, 3, 9]).tolist()
    [1.0, 3.0, 3.0, 3.0, 9.0]
    """
    numbers = np.asarray(values, dtype=float)
    if numbers.ndim != 1:
        raise WrongKind(
            what="the values are not a list of numbers.",
            why="only a sequence can rise or fall.",
            do="give a list, or a one-dimensional array, of numbers.",
        )
    pools: list[tuple[float, int]] = []  # means and sizes
    for number in numbers.tolist():
        mean, size = number, 1
        while pools and pools[-1][0] >= mean:
            before, count = pools.pop()
            mean = (before * count + mean * size) / (count + size)
            size += count
        pools.append((mean, size))
    means, counts = zip(*pools, strict=True) if pools else ((), ())
    return np.repeat(np.array(means, float), np.array(counts, int))
