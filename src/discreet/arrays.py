"""Exact arrays: 64-bit integers that never wrap around, and sequences read with care.

Trust: kernel (T6).

An integer that wraps around, or that NumPy turns into a float, moves an answer by
more than any noise can hide.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import TooLarge, WrongKind

__all__ = ["INT64_MAX", "INT64_MIN", "array_of", "int64_range", "listed", "saturating_add"]

INT64_MAX: Final = 2**63 - 1
INT64_MIN: Final = -(2**63)


def saturating_add(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """Add two int64 arrays; sums outside int64 stop at its ends instead of wrapping around.

    Clamping is a function of the exact sum, so it is post-processing of whatever was added.

    >>> saturating_add(np.array([INT64_MAX, 1]), np.array([5, 2])).tolist()
    [9223372036854775807, 3]
    """
    arrays = isinstance(left, np.ndarray) and isinstance(right, np.ndarray)
    if not (arrays and left.dtype == right.dtype == np.int64):
        raise WrongKind(
            "cannot add what is not a pair of int64 arrays; convert both to int64 arrays first."
        )
    if left.shape != right.shape:
        raise WrongKind("cannot add arrays of different shapes; give two arrays of one shape.")
    total = left + right  # wraps around; repaired below
    wrapped = ((left ^ total) & (right ^ total)) < 0
    if wrapped.any():
        ends = np.where(left < 0, np.int64(INT64_MIN), np.int64(INT64_MAX))
        total = np.where(wrapped, ends, total)
    return total


def array_of(values: object) -> NDArray[Any]:
    """Read values as an array; a ragged list becomes one object, for the caller to refuse.

    >>> array_of([[1, 2], [3]]).dtype
    dtype('O')
    """
    try:
        return np.asarray(values)
    except ValueError:
        return np.array(None)


def int64_range(value: int, *, name: str) -> int:
    """Pass an integer through if it fits in int64.

    >>> int64_range(5, name="score")
    5
    """
    if not INT64_MIN <= value <= INT64_MAX:
        raise TooLarge(
            f"{name} does not fit in 64 bits; use a coarser unit, so that {name} stays within "
            "±2**63."
        )
    return value


def listed(values: object, *, name: str) -> list[Any]:
    """Read an ordered sequence: a list, a tuple, a range or a one-dimensional array.

    >>> listed((1, 2), name="weights")
    [1, 2]
    """
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return list(values)
    if isinstance(values, Sequence) and not isinstance(values, str | bytes | bytearray):
        return list(values)
    raise WrongKind(
        f"the {name} are not a sequence; give the {name} as a list, a tuple or a one-dimensional "
        "array."
    )
