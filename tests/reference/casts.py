"""Casts, and how values of a source are read: never an exception, NULL for what has no meaning.

Trust: kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, datetime
from typing import Final

from discreet.query.functions import CAST_VALUES
from discreet.query.types import LARGEST, SMALLEST, Type
from tests.reference.order import Value

__all__ = ["cast", "finite", "fitting", "read", "rounded"]


def fitting(value: int) -> int | None:
    """Return an integer of 64 bits, or NULL.

    >>> fitting(2**63 - 1), fitting(2**63)
    (9223372036854775807, None)
    """
    return value if SMALLEST <= value <= LARGEST else None


def finite(value: float) -> float | None:
    """Return a finite number with one zero, or NULL.

    >>> finite(-0.0), finite(float("inf")), finite(float("nan"))
    (0.0, None, None)
    """
    return value + 0.0 if math.isfinite(value) else None


def rounded(value: float) -> int:
    """Return the nearest whole number; halves go away from zero.

    >>> rounded(2.5), rounded(-2.5), rounded(0.49999999999999994)
    (3, -3, 0)
    """
    low = math.floor(abs(value))
    size = low + (abs(value) - low >= 0.5)
    return size if value >= 0 else -size


_CASTS: Final[dict[tuple[Type, Type], Callable[..., Value]]] = {
    **CAST_VALUES,
    (Type.INTEGER, Type.FLOAT): float,
    (Type.INTEGER, Type.BOOLEAN): bool,
    (Type.FLOAT, Type.INTEGER): lambda value: fitting(rounded(value)),
    (Type.BOOLEAN, Type.INTEGER): int,
}


def cast(value: Value, start: Type | None, to: Type) -> Value:
    """Turn a value of one type into another; a type of None is that of a bare NULL.

    >>> cast("12", Type.TEXT, Type.INTEGER), cast("twelve", Type.TEXT, Type.INTEGER)
    (12, None)
    """
    if value is None or start is None or start is to:
        return value
    return _CASTS[start, to](value)


def read(value: object, to: Type) -> Value:  # noqa: PLR0911 (one for each type)
    """Read a value of a source as a type of ours; what does not fit is NULL.

    >>> read(2**70, Type.INTEGER), read(float("nan"), Type.FLOAT), read("7", Type.INTEGER)
    (None, None, 7)
    """
    match value:
        case bool():
            return cast(value, Type.BOOLEAN, to)
        case int():
            return cast(fitting(value), Type.INTEGER, to)
        case float():
            return cast(finite(value), Type.FLOAT, to)
        case str():
            return cast(value, Type.TEXT, to)
        case datetime():
            return cast(value, Type.TIMESTAMP, to)
        case date():
            return cast(value, Type.DATE, to)
        case _:
            return None
