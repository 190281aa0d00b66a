"""What a counter reads: a public length, a public bound, and one small integer at a time.

Trust: kernel.

Definition.  A stream has a public length n; the value at each position is an integer from 0 to a
public bound.  A position at which nothing happened holds 0.  Two streams are neighbors if they
differ at one position: whatever happened there, however much it was, is hidden.  Sums that contain
the position then differ by at most the bound.  In the words of ``discreet.units``, a stream is a
table with at most one row for each position, and its neighbors are those of ``replace_null``; a
change from one value to another, two steps there, is one step here, because no two values are
further apart than the larger one is from 0.
Values from ``low`` to ``high`` are counted as value - low, and t * low is added to each sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import listed
from discreet.errors import NotExact, OutOfRange, TooLarge
from discreet.exact import whole
from discreet.mechanisms import Gaussian, Laplace

__all__ = [
    "LONGEST",
    "Noise",
    "Stream",
    "checked_length_and_bound",
    "read_stream",
    "read_value",
]

Stream = Sequence[int] | NDArray[np.integer[Any]]
Noise = Laplace | Gaussian

LONGEST: Final = 1 << 24
_LARGEST_SUM: Final = 1 << 62


def checked_length_and_bound(length: object, bound: object) -> tuple[int, int]:
    """Read how many values come, and how large each can be.

    >>> checked_length_and_bound(1024, 1)
    (1024, 1)
    """
    size = whole(length, name="length", low=1, high=LONGEST)
    most = whole(bound, name="bound", low=1)
    if size * most > _LARGEST_SUM:
        raise TooLarge(
            what="length times bound does not fit in 62 bits.",
            why="sums are 64-bit integers, and wrapping around would corrupt them.",
            do="count in a coarser unit.",
        )
    return size, most


def read_value(value: object, bound: int) -> int:
    """Read one value of a stream.

    >>> read_value(1, bound=1)
    1
    """
    if isinstance(value, float | np.floating):
        raise NotExact(
            what="a value of the stream is a float.",
            why="rounding moves a value by more than the bound promises, and integer noise does "
            "not hide the digits of a float.",
            do="count in whole units, and give an int.",
        )
    number = whole(value, name="a value of the stream")
    if not 0 <= number <= bound:
        raise OutOfRange(
            what=f"a value of the stream is not between 0 and the bound, {bound}.",
            why="the noise hides changes up to the bound and no more.",
            do="plan the counter with a larger bound, or clamp values by a public rule.",
        )
    return number


def read_stream(values: object, *, length: int, bound: int) -> list[int]:
    """Read a stream that is known in advance.

    >>> read_stream([1, 0, 1], length=3, bound=1)
    [1, 0, 1]
    """
    numbers = [read_value(value, bound) for value in listed(values, name="values of the stream")]
    if len(numbers) != length:
        raise OutOfRange(
            what=f"the stream does not have {length} values.",
            why="its length is public: one sum is released for each position.",
            do="give one value for each position, 0 where nothing happened.",
        )
    return numbers
