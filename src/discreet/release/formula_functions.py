"""Functions of released values; none fails, whatever the values are.

Trust: public.

The meaning of each is that of :mod:`discreet.query.signatures`.  Functions of numbers take whole
columns at a time: INTEGER is NULL outside 64 bits, FLOAT is NULL if it is not finite, and what is
divided by zero is NULL.  Functions of texts and days take one value at a time, and compute it as
all engines do (:mod:`discreet.query.scalar_functions` and its neighbors).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import INT64_MIN
from discreet.query.scalar_functions import DATE_FUNCTIONS, TEXT_FUNCTIONS
from discreet.query.types import Type
from discreet.release.value_arrays import Mask, Vector, half_away, vector

Array = NDArray[Any]
Computed = tuple[Array, Mask]
"""Results, and where they are NULL for reasons of their own."""

_EDGE: Final = 2.0**63


def as_float(column: Vector) -> Vector:
    """Return whole numbers as the nearest floats, and truth as 0 and 1.

    >>> as_float(vector(Type.INTEGER, np.array([1, 2]))).to_list()
    [1.0, 2.0]
    """
    return vector(Type.FLOAT, column.values.astype(np.float64), column.null)


def as_integer(column: Vector) -> Vector:
    """Return the nearest whole numbers, halves away from zero; NULL outside 64 bits.

    >>> as_integer(vector(Type.FLOAT, np.array([2.5, -2.5, 1e30]))).to_list()
    [3, -3, None]
    """
    if column.type is Type.BOOLEAN:
        return Vector(Type.INTEGER, column.values.astype(np.int64), column.null)
    nearest = half_away(column.values)
    outside = (nearest < -_EDGE) | (nearest >= _EDGE)
    whole = np.where(outside, 0.0, nearest).astype(np.int64)
    return Vector(Type.INTEGER, whole, column.null | outside)


def _never(values: Array) -> Mask:
    return np.zeros(values.shape, np.bool_)


def _plus(left: Array, right: Array) -> Computed:
    total = left + right
    if total.dtype != np.int64:
        return total, _never(total)
    return total, ((left ^ total) & (right ^ total)) < 0


def _minus(left: Array, right: Array) -> Computed:
    rest = left - right
    if rest.dtype != np.int64:
        return rest, _never(rest)
    return rest, ((left ^ right) & (left ^ rest)) < 0


def _times(left: Array, right: Array) -> Computed:
    product = left * right
    if product.dtype != np.int64:
        return product, _never(product)
    flipped = ((left == -1) & (right == INT64_MIN)) | ((right == -1) & (left == INT64_MIN))
    divisor = np.where((left == 0) | flipped, 1, left)
    exact = (product // divisor == right) & (product % divisor == 0)
    return product, flipped | ((left != 0) & ~exact)


def _divided(left: Array, right: Array) -> Computed:
    zero = right == 0
    return left / np.where(zero, 1.0, right), zero


def _div(left: Array, right: Array) -> Computed:
    missing = (right == 0) | ((left == INT64_MIN) & (right == -1))
    below, rest = np.divmod(left, np.where(missing, 1, right))
    return below + ((rest != 0) & (below < 0)), missing


def _mod(left: Array, right: Array) -> Computed:
    zero = right == 0
    divisor = np.where(zero | (right == -1), 1, right)
    return np.fmod(left, divisor), zero


def _negate(value: Array) -> Computed:
    lowest = value == INT64_MIN if value.dtype == np.int64 else _never(value)
    return 0 - np.where(lowest, 0, value), lowest


def _abs(value: Array) -> Computed:
    lowest = value == INT64_MIN if value.dtype == np.int64 else _never(value)
    return np.abs(np.where(lowest, 0, value)), lowest


def _whole(compute: Callable[[Array], Array]) -> Callable[[Array], Computed]:
    """Apply a rounding; an integer is whole already."""

    def kept(value: Array) -> Computed:
        return (value if value.dtype == np.int64 else compute(value)), _never(value)

    return kept


def _square_root(value: Array) -> Computed:
    negative = value < 0.0
    return np.sqrt(np.where(negative, 0.0, value)), negative


def _logarithm(compute: Callable[[Array], Array]) -> Callable[[Array], Computed]:
    def above_zero(value: Array) -> Computed:
        outside = value <= 0.0
        return compute(np.where(outside, 1.0, value)), outside

    return above_zero


def _exponential(value: Array) -> Computed:
    return np.exp(value), _never(value)


def _power(base: Array, exponent: Array) -> Computed:
    value = np.power(base, exponent)
    return value, np.isnan(value)


def _range_bucket(value: Array, *edges: Array) -> Computed:
    return np.sum([edge <= value for edge in edges], axis=0).astype(np.int64), _never(value)


NUMBERS: Final[dict[str, Callable[..., Computed]]] = {
    "+": _plus,
    "-": _minus,
    "*": _times,
    "/": _divided,
    "DIV": _div,
    "MOD": _mod,
    "NEGATE": _negate,
    "ABS": _abs,
    "SIGN": lambda value: (np.sign(value).astype(np.int64), _never(value)),
    "FLOOR": _whole(np.floor),
    "CEIL": _whole(np.ceil),
    "ROUND": _whole(half_away),
    "SQRT": _square_root,
    "RANGE_BUCKET": _range_bucket,
    "EXP": _exponential,
    "LN": _logarithm(np.log),
    "LOG10": _logarithm(np.log10),
    "LOG2": _logarithm(np.log2),
    "POWER": _power,
}
"""Functions of numbers that are not NULL."""


VALUES: Final[dict[str, Callable[..., Any]]] = {**TEXT_FUNCTIONS, **DATE_FUNCTIONS}
"""Functions that are computed one value at a time."""
