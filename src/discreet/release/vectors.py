"""Columns of values of one type, some of them NULL.

Trust: public.

Definition.  INTEGER is held as int64, FLOAT as float64 (always finite), BOOLEAN as bool, and all
other types as Python objects.  Where a value is NULL, what stands in the array means nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.plan.arrow_arrays import arrow_numbers, arrow_values, nulls, numbers
from discreet.plan.raw import ARROW_TYPES
from discreet.query.types import Scalar, Type

__all__ = ["ARROW", "Mask", "Vector", "constant", "vector"]

Mask = NDArray[np.bool_]

ARROW: Final[dict[Type, pa.DataType]] = {**ARROW_TYPES, Type.FLOAT: pa.float64()}
"""How columns are handed out."""

_KINDS: Final[dict[Type | None, Any]] = {
    Type.INTEGER: np.int64,
    Type.FLOAT: np.float64,
    Type.BOOLEAN: np.bool_,
}
_BLANKS: Final[dict[Type | None, Any]] = {Type.INTEGER: 0, Type.FLOAT: 0.0, Type.BOOLEAN: False}


@final
@dataclass(frozen=True, slots=True, eq=False)
class Vector:
    """Values, and which of them are NULL; the type is None if all are, and nothing else is known.

    >>> Vector.read(pa.array([3, None]), Type.INTEGER).listed()
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
        kind = pa.null() if self.type is None else ARROW[self.type]
        if self.type in _KINDS:
            return arrow_numbers(self.values, kind, self.null)
        return arrow_values(self.listed(), kind)

    def listed(self) -> list[Any]:
        """Return values, None for NULL."""
        pairs = zip(self.values.tolist(), self.null.tolist(), strict=True)
        return [None if null else value for value, null in pairs]

    def taken(self, places: NDArray[np.int64]) -> Vector:
        """Return the values at these places."""
        return Vector(self.type, self.values[places], self.null[places])


def vector(kind: Type | None, values: NDArray[Any], null: Mask | None = None) -> Vector:
    """Make a vector; floats that are not finite are NULL, and there is one zero.

    >>> vector(Type.FLOAT, np.array([1.0, np.inf, -0.0])).listed()
    [1.0, None, 0.0]
    """
    missing = np.zeros(values.shape, np.bool_) if null is None else null
    if kind is Type.FLOAT:
        missing = missing | ~np.isfinite(values)
        values = np.where(missing, 0.0, values) + 0.0
    return Vector(kind, values, missing)


def constant(value: Scalar | float, kind: Type | None, size: int) -> Vector:
    """Return the same value so many times; a fraction becomes the nearest float.

    >>> constant(Fraction(1, 10), Type.FLOAT, 2).listed()
    [0.1, 0.1]
    """
    if value is None or kind is None:
        blank = np.full(size, _BLANKS.get(kind), _KINDS.get(kind, object))
        return Vector(kind, blank, np.ones(size, np.bool_))
    if isinstance(value, Fraction):
        value = _float(value)
    if kind in _KINDS:
        return vector(kind, np.full(size, value, _KINDS[kind]))
    return Vector(kind, _objects([value] * size), np.zeros(size, np.bool_))


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    found = np.empty(len(values), object)
    found[:] = values
    return found
