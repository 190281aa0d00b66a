"""Sums of floats that do not depend on the order of rows, and need no list of them.

Trust: kernel.  What a unit adds to an answer must follow from its own rows, in whatever order an
engine meets them, and rounding depends on the order in which floats are added.

Definition.  Let m be the largest absolute value, and s the least power of 2**16 above it.  Every
value is rounded down to a multiple of s 2**-80, the multiples are added up exactly, and the sum is
rounded to a float.  So n values are added with an error of at most n s 2**-80 before that rounding,
and values of at most 64 bits below s, such as whole numbers, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

__all__ = ["float_sum"]

_SCALE: Final = 2.0**80
_TINIEST: Final = 5e-324
_WORD: Final = 2**64


def float_sum(values: Sequence[float], *, distinct: bool = False) -> float:
    """Return the sum of finite floats; it may be infinite.

    >>> float_sum([0.1, 1e16, -1e16]) == float_sum([1e16, 0.1, -1e16])
    True
    >>> float_sum([21.0, 0.5])
    21.5
    """
    power = math.floor(math.log2(max(*map(abs, values), _TINIEST)) / 16) + 1
    root = 2.0 ** (-8 * power)  # its square is 1 / s, which may be no float
    parts = [math.floor(value * root * root * _SCALE) for value in values]
    return _rounded(sum(set(parts) if distinct else parts)) / _SCALE / root / root


def _rounded(total: int) -> float:
    """Return a whole number of 128 bits as a float, rounded as DuckDB does."""
    high, low = divmod(total, _WORD)
    return -float(_WORD - 1 - low) - 1 if high == -1 else float(low) + float(high) * _WORD
