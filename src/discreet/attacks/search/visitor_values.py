"""Values of a column: ordinary ones, those at its bounds, and those beyond.

Trust: public.
"""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any, Final

import pyarrow as pa

from discreet.query.types import Type
from discreet.requests.table_schema import ColumnFacts

ARROW: Final = {
    Type.INTEGER: pa.int64(),
    Type.FLOAT: pa.float64(),
    Type.TEXT: pa.string(),
    Type.BOOLEAN: pa.bool_(),
    Type.DATE: pa.date32(),
    Type.TIMESTAMP: pa.timestamp("us"),
}
"""How values of each type are stored."""

_LARGEST: Final = (1 << 63) - 1
_MANY: Final = 1000
_FIRST_DAY: Final = date(2024, 1, 1)


def ordinary(column: ColumnFacts, number: int) -> Any:
    """Return one of several values within the bounds, or among the categories.

    >>> age = ColumnFacts(name="age", type=Type.INTEGER, low=Fraction(0), high=Fraction(110))
    >>> [ordinary(age, number) for number in range(4)]
    [27, 55, 82, 27]
    """
    if column.categories:
        return typed(column, column.categories[number % len(column.categories)])
    if column.type.is_number:
        low, high = _ends(column)
        return typed(column, low + (high - low) * Fraction(1 + number % 3, 4))
    return fresh(column, number % 3)


def fresh(column: ColumnFacts, number: int) -> Any:
    """Return a value that differs for each number, for any bounds.

    >>> fresh(ColumnFacts(name="city", type=Type.TEXT), 7)
    'city 7'
    """
    match column.type:
        case Type.INTEGER | Type.FLOAT:
            return typed(column, Fraction(number))
        case Type.BOOLEAN:
            return number % 2 == 0
        case Type.DATE:
            return _FIRST_DAY + timedelta(days=number)
        case Type.TIMESTAMP:
            return datetime.combine(_FIRST_DAY, datetime.min.time()) + timedelta(days=number)
        case _:
            return f"{column.name} {number}"


def at_bounds(column: ColumnFacts) -> list[Any]:
    """Return the largest and the smallest number, and one with the largest size if none is bounded.

    >>> at_bounds(ColumnFacts(name="cost", type=Type.FLOAT, low=Fraction(0), high=Fraction(9)))
    [9.0, 0.0]
    """
    low, high = _ends(column)
    return [typed(column, high), typed(column, low)]


def beyond_bounds(column: ColumnFacts) -> list[Any]:
    """Return numbers that are outside of the bounds: by one, and by a thousand times their range.

    >>> beyond_bounds(ColumnFacts(name="age", type=Type.INTEGER, low=Fraction(0), high=Fraction(9)))
    [10, -1, 9009, -9000]
    """
    low, high = _ends(column)
    far = _MANY * max(high - low, Fraction(1))
    values = (high + 1, low - 1, high + far, low - far)
    return list(dict.fromkeys(typed(column, value) for value in values))


def odd_values(column: ColumnFacts) -> list[Any]:
    """Return unusual values: NULL, and for floats NaN and infinities.

    >>> odd_values(ColumnFacts(name="city", type=Type.TEXT))
    [None, '', 'city of nobody else']
    """
    values: list[Any] = [None] if column.nullable else []
    if column.type is Type.FLOAT:
        values += [math.nan, math.inf, -math.inf]
    if column.type is Type.TEXT:
        values += ["", f"{column.name} of nobody else"]
    return values


def typed(column: ColumnFacts, value: Any) -> Any:
    """Return a value as the column stores it; integers stay within 64 bits."""
    match column.type:
        case Type.INTEGER:
            return max(-_LARGEST, min(math.floor(value), _LARGEST))
        case Type.FLOAT:
            return float(value)
        case _:
            return value


def _ends(column: ColumnFacts) -> tuple[Fraction, Fraction]:
    """Return the bounds; for a missing one, a distant value."""
    low = column.low if column.low is not None else min(Fraction(0), column.high or Fraction(0))
    high = column.high if column.high is not None else max(low, Fraction(0)) + 10**6
    return low, high
