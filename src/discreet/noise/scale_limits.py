"""The ranges in which noise is offered, and when tables pay off.

Trust: kernel.

Scales up to 2**57 leave room for 64 bits of tail inside int64: a draw beyond its ends has a chance
below exp(-63), and stops there.  Scales down to 2**-200 keep every float estimate away from
underflow.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import INT64_MAX
from discreet.errors import OutOfRange, TooLarge
from discreet.exact import ExactNumber, positive, whole

__all__ = ["TABLE_FROM", "checked_least", "checked_scale", "empty"]

TABLE_FROM: Final = 1 << 16
"""Draws of one call from which on a table is used.

The choice depends on nothing but the count, so that a keyed stream repeats its noise.  Between
machines whose exp or log differ in the last place, a close call may read more words on one of them,
with a chance below 2**-38 a draw; what follows in the stream then differs.
"""

_LARGEST: Final = 1 << 57
_SMALLEST: Final = Fraction(1, 1 << 200)


def checked_scale(value: ExactNumber, *, name: str, power: int = 1) -> Fraction:
    """Read a scale, or a scale raised to a power, that the samplers support.

    >>> checked_scale("1.5", name="scale")
    Fraction(3, 2)
    """
    number = positive(value, name=name)
    if number > _LARGEST**power:
        raise TooLarge(
            what=f"{name} is above 2**{57 * power}.",
            why="noise of that width does not fit in 64-bit integers.",
            do="measure in a coarser unit, so that values and noise both get smaller.",
        )
    if number < _SMALLEST**power:
        raise OutOfRange(
            what=f"{name} is below 2**-{200 * power}.",
            why="noise that narrow is zero in practice and protects nothing.",
            do=f"check the {name}; for an exact answer, add no noise at all.",
        )
    return number


def checked_least(least: object) -> int:
    """Read the number that noise is to reach, which is not on its lower half."""
    return whole(least, name="least", low=0, high=INT64_MAX)


def empty(count: int) -> NDArray[np.int64]:
    """Allocate an array of ``count`` integers, or say that memory is short."""
    try:
        return np.empty(count, np.int64)
    except MemoryError:
        raise TooLarge(
            what="so many values do not fit in memory.",
            why="a sample is one array.",
            do="draw in parts.",
        ) from None
