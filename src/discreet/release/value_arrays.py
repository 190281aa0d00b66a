"""Arrays of exact numbers, and columns of values that may be NULL.

Trust: public.  Everything here is computed from what is released already.

Definition.  Exact numbers of an array have one denominator.  In a column INTEGER is held as int64,
FLOAT as float64 (always finite), BOOLEAN as bool, and all other types as Python objects.  Where a
value is NULL, what stands in the array means nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arrays import INT64_MAX, INT64_MIN
from discreet.query.types import Scalar, Type
from discreet.requests.raw_totals import (
    ARROW_TYPES,
    Integers,
    arrow_numbers,
    arrow_values,
    nulls,
    numbers,
)

Floats = NDArray[np.float64]

_SAFE: Final = 1 << 62
_EXACT: Final = 1 << 53


@final
@dataclass(frozen=True, slots=True, eq=False)
class Rationals:
    """Numbers ``tops / bottom``; the tops are int64, or Python integers where these overflow.

    >>> half = weighted([(Fraction(1, 2), np.array([3, 4, -5]))])
    >>> half.nearest().tolist(), half.rounded().tolist(), half.floor().tolist()
    ([1.5, 2.0, -2.5], [2, 2, -2], [1, 2, -3])
    """

    tops: NDArray[Any]
    bottom: int

    def within(self, far: Fraction) -> tuple[Floats, Floats]:
        """Enclose all multiples of 1 / bottom that are at most ``far`` away, between floats.

        Such a multiple is within ``far`` if it is within the last multiple before that.

        >>> [end.tolist() for end in weighted([(Fraction(1, 2), np.array([3]))]).within(
        ...     Fraction(4, 3))]
        [[0.5], [2.5]]
        """
        step, ones = Fraction(1, self.bottom), np.ones(self.tops.shape, np.int64)
        move = math.floor(far * self.bottom) * step
        low, high = (weighted([(step, self.tops), (end, ones)]) for end in (-move, move))
        return low.down(), high.up()

    def nearest(self) -> Floats:
        """Return floats, each within one unit in the last place."""
        if self.tops.dtype == np.int64 and self.bottom < _EXACT:
            return self.tops / np.float64(self.bottom)
        return np.array([_float(int(top), self.bottom) for top in self.tops], np.float64)

    def down(self) -> Floats:
        """Return floats that are at most the numbers."""
        return self._toward(-np.inf)

    def up(self) -> Floats:
        """Return floats that are at least the numbers."""
        return self._toward(np.inf)

    def floor(self) -> Integers:
        """Return the whole numbers below, within 64 bits."""
        return _int64(self.tops // self.bottom)

    def ceil(self) -> Integers:
        """Return the whole numbers above, within 64 bits."""
        return _int64(-(-self.tops // self.bottom))

    def rounded(self) -> Integers:
        """Return the nearest whole numbers; halves go to the even one, so they cancel out."""
        below, rest = self.tops // self.bottom, self.tops % self.bottom
        up = (rest > self.bottom - rest) | ((rest == self.bottom - rest) & (below % 2 == 1))
        return _int64(below + up)

    def _toward(self, end: float) -> Floats:
        near = self.nearest()
        dyadic = self.bottom & (self.bottom - 1) == 0
        exact = (np.abs(self.tops) < _EXACT) & dyadic & (self.bottom < _EXACT)
        moved = np.nextafter(np.nextafter(near, end), end)
        return np.where(exact.astype(np.bool_), near, moved)


def weighted(terms: Sequence[tuple[Fraction, NDArray[Any]]]) -> Rationals:
    """Add up integers with exact weights.

    >>> weighted([(Fraction(1, 4), np.array([2**62])), (Fraction(50), np.array([2**62]))]).bottom
    4
    """
    bottom = math.lcm(*(weight.denominator for weight, _ in terms))
    whole = [(int(weight * bottom), array) for weight, array in terms]
    largest = sum(abs(weight) * _largest(array) for weight, array in whole)
    factors = (abs(weight) for weight, _ in whole)
    kind = np.int64 if max(largest, bottom, *factors) < _SAFE else object
    parts = [array.astype(kind) * weight for weight, array in whole]
    return Rationals(sum(parts[1:], start=parts[0]), bottom)


def _largest(array: NDArray[Any]) -> int:
    return max(int(array.max(initial=0)), -int(array.min(initial=0)))


def _float(top: int, bottom: int) -> float:
    try:
        return top / bottom
    except OverflowError:
        return math.inf if top > 0 else -math.inf


def _int64(values: NDArray[Any]) -> Integers:
    if values.dtype == np.int64:
        return values
    return np.array([min(max(int(value), INT64_MIN), INT64_MAX) for value in values], np.int64)


def half_away(values: Floats) -> Floats:
    """Round to whole numbers, halves away from zero.

    >>> half_away(np.array([2.5, -2.5, 0.4])).tolist()
    [3.0, -3.0, 0.0]
    """
    size = np.abs(values)
    below = np.floor(size)
    with np.errstate(invalid="ignore"):
        nearest: Floats = np.copysign(below + (size - below >= 0.5), values)
    return nearest


Mask = NDArray[np.bool_]

_KINDS: Final[dict[Type | None, Any]] = {
    Type.INTEGER: np.int64,
    Type.FLOAT: np.float64,
    Type.BOOLEAN: np.bool_,
}
_BLANKS: Final[dict[Type | None, Any]] = {Type.INTEGER: 0, Type.FLOAT: 0.0, Type.BOOLEAN: False}


@final
@dataclass(frozen=True, slots=True, eq=False)
class Vector:
    """Values, and which of them are NULL; the type is None for a bare NULL.

    >>> Vector.read(pa.array([3, None]), Type.INTEGER).to_list()
    [3, None]
    """

    type: Type | None
    values: NDArray[Any]
    null: Mask

    @classmethod
    def read(cls, array: pa.Array, kind: Type) -> Vector:
        """Read an Arrow array."""
        if kind in _KINDS:
            return cls(kind, numbers(array).astype(_KINDS[kind]), nulls(array))
        return cls(kind, _objects(array.to_pylist()), nulls(array))

    def arrow(self) -> pa.Array:
        """Return an Arrow array."""
        kind = pa.null() if self.type is None else ARROW_TYPES[self.type]
        if self.type in _KINDS:
            return arrow_numbers(self.values, kind, self.null)
        return arrow_values(self.to_list(), kind)

    def to_list(self) -> list[Any]:
        """Return values, None for NULL."""
        pairs = zip(self.values.tolist(), self.null.tolist(), strict=True)
        return [None if null else value for value, null in pairs]

    def taken(self, places: NDArray[np.int64]) -> Vector:
        """Return the values at these places."""
        return Vector(self.type, self.values[places], self.null[places])


def vector(kind: Type | None, values: NDArray[Any], null: Mask | None = None) -> Vector:
    """Make a vector; floats that are not finite are NULL, and there is one zero.

    >>> vector(Type.FLOAT, np.array([1.0, np.inf, -0.0])).to_list()
    [1.0, None, 0.0]
    """
    missing = np.zeros(values.shape, np.bool_) if null is None else null
    if kind is Type.FLOAT:
        missing = missing | ~np.isfinite(values)
        values = np.where(missing, 0.0, values) + 0.0
    return Vector(kind, values, missing)


def constant(value: Scalar | float, kind: Type | None, size: int) -> Vector:
    """Return a value ``size`` times; a fraction becomes the nearest float.

    >>> constant(Fraction(1, 10), Type.FLOAT, 2).to_list()
    [0.1, 0.1]
    """
    if value is None or kind is None:
        blank = np.full(size, _BLANKS.get(kind), _KINDS.get(kind, object))
        return Vector(kind, blank, np.ones(size, np.bool_))
    if isinstance(value, Fraction):
        value = _nearest_float(value)
    if kind in _KINDS:
        return vector(kind, np.full(size, value, _KINDS[kind]))
    return Vector(kind, _objects([value] * size), np.zeros(size, np.bool_))


def _nearest_float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    objects = np.empty(len(values), object)
    objects[:] = values
    return objects
