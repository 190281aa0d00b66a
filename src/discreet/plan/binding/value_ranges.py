"""The range of an expression, from the ranges of its parts.

Trust: kernel.

Theorem (key ``fact-rules``).  If arguments lie within their facts, what a function returns lies
within the facts derived here.  Bounds of FLOAT results are widened by what rounding can move them.
Proof.  Sums, differences, products and quotients by what cannot be zero rise or fall with each
argument alone, so their extremes over a box lie in its corners; roundings, roots and casts rise.
DIV cuts a quotient toward zero, which rises with it, and MOD has the sign of the first argument and
is smaller than both.  A mean lies between the bounds of what it is the mean of.  Parts of a date
count from a first one up to a last one, and years and truncated days rise with the day.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from discreet.query.expressions import Call, Case, Cast, Expression, Literal
from discreet.query.scalar_functions import DATE_FUNCTIONS
from discreet.query.types import Type

if TYPE_CHECKING:  # a range is a part of the facts
    from discreet.plan.binding.value_facts import Facts

Range = tuple[Fraction | None, Fraction | None, bool]
"""The bounds of a value, and whether it may be NULL."""

DATE_PARTS: Final = {
    "MONTH": range(1, 13),
    "DAY": range(1, 32),
    "QUARTER": range(1, 5),
    "DAYOFWEEK": range(1, 8),
    "DAYOFYEAR": range(1, 367),
    "HOUR": range(24),
    "MINUTE": range(60),
    "SECOND": range(60),
}
"""All that a part of a date can be; a year is not bounded."""

_LOGIC: Final = frozenset({"=", "<>", "<", "<=", ">", ">=", "IN", "AND", "OR", "NOT"})
"""Conditions that are true or false where nothing that they look at is NULL."""

_ROUNDING_BITS: Final = 52
_SMALLEST_BITS: Final = 1074
_HALF_OF_LARGEST: Final = 2**1023 - 2**969
_ROOT_BITS: Final = 64
_SUM_ROUNDING: Final = Fraction(1, 2**20)
"""How far the sum of the rows of one unit, fewer than 2^32 of them, can be moved by rounding."""


def value_range(  # noqa: C901, PLR0911, PLR0912  one for each kind of node
    expression: Expression, kind: Type, below: list[Facts]
) -> Range:
    """Return bounds, and whether the value may be NULL; without a rule anything may happen.

    ``below`` has the facts of the parts, in the order of ``expression.children()``.

    >>> value_range(Literal(7), Type.INTEGER, [])
    (Fraction(7, 1), Fraction(7, 1), False)
    """
    match expression:
        case Literal(value=None):
            return None, None, True
        case Literal(value=int() | Fraction() as value) if kind.is_number:
            return _widened(Fraction(value), Fraction(value), kind, False)
        case Literal():
            return None, None, False
        case Case():
            parts = [value for _, value in expression.branches]
            values = [*below[1::2][: len(parts)]]
            values += below[-1:] if expression.default is not None else []
            parts += [] if expression.default is None else [expression.default]
            low, high = _hull(_written(parts, values))
            missing = expression.default is None or any(value.nullable for value in values)
            return low, high, missing
        case Cast(to=Type.FLOAT) if below[0].type is Type.INTEGER and below[0].bounds:
            return _widened(*below[0].bounds, Type.FLOAT, below[0].nullable)
        case Cast(to=Type.INTEGER) if below[0].type is Type.BOOLEAN:
            return Fraction(0), Fraction(1), below[0].nullable
        case Cast(to=Type.INTEGER) if below[0].type is Type.FLOAT and below[0].bounds:
            low, high = below[0].bounds
            return Fraction(math.floor(low)), Fraction(math.ceil(high)), True
        case Call(function="EXTRACT", arguments=(Literal(value=str() as part), _)):
            known: Sequence[int] | None = DATE_PARTS.get(part)
            if known is None and below[1].days is not None:
                known = [day.year for day in below[1].days]
            ends = (None, None) if known is None else (Fraction(known[0]), Fraction(known[-1]))
            return *ends, below[1].nullable
        case Call(function="DATE_DIFF") if below[0].days and below[1].days:
            days = [[day.toordinal() for day in part.days or ()] for part in below[:2]]
            least, most = days[0][0] - days[1][1], days[0][1] - days[1][0]
            return Fraction(least), Fraction(most), any(part.nullable for part in below[:2])
        case Call(function="COALESCE", arguments=parts):
            low, high = _hull(_written(parts, below))
            return low, high, all(part.nullable for part in below)
        case Call(function=name):
            return _called(name, kind, below)
        case _:
            return None, None, True


def day_range(expression: Expression, below: list[Facts]) -> tuple[date, date] | None:
    """Return the days between which a date or a moment lies, if they are known.

    >>> day_range(Literal(date(2025, 1, 31)), [])
    (datetime.date(2025, 1, 31), datetime.date(2025, 1, 31))
    """
    match expression:
        case Literal(value=datetime() as moment):
            return moment.date(), moment.date()
        case Literal(value=date() as day):
            return day, day
        case Cast(to=Type.DATE | Type.TIMESTAMP):
            return below[0].days
        case Call(function="DATE_TRUNC" | "DATE_ADD" as name, arguments=(_, Literal(value=how))):
            ends = [DATE_FUNCTIONS[name](day, how) for day in below[0].days or ()]
            return (ends[0], ends[1]) if ends and None not in ends else None
        case _:
            return None


def _called(  # noqa: C901, PLR0911, PLR0912  one rule a function
    name: str, kind: Type, below: list[Facts]
) -> Range:
    if name in {"IS NULL", "IS TRUE", "IS FALSE"}:
        return None, None, False
    if name in _LOGIC:
        return None, None, any(part.nullable for part in below)
    if name == "RANGE_BUCKET":
        return Fraction(0), Fraction(len(below) - 1), below[0].nullable
    if name == "/" and (mean := _mean(*below)) is not None:
        return mean
    if not kind.is_number or not below or any(part.bounds is None for part in below):
        return None, None, True
    bounds = [_in_type(part, kind) for part in below]
    nullable = any(part.nullable for part in below)
    pairs = [pair for pair in bounds if pair is not None]
    if len(pairs) != len(bounds):
        return None, None, True
    match name, pairs:
        case "+", [(a, b), (c, d)]:
            return _widened(a + c, b + d, kind, True)
        case "-", [(a, b), (c, d)]:
            return _widened(a - d, b - c, kind, True)
        case "*", [(a, b), (c, d)]:
            return _widened(*_product(a, b, c, d), kind, True)
        case "/", [(a, b), (c, d)] if c > 0 or d < 0:
            corners = (a / c, a / d, b / c, b / d)
            return _widened(min(corners), max(corners), kind, True)
        case "DIV", [(a, b), (c, d)] if c > 0 or d < 0:
            cut = [math.trunc(end / divisor) for end in (a, b) for divisor in (c, d)]
            return Fraction(min(cut)), Fraction(max(cut)), nullable or d < 0
        case "MOD", [(a, b), (c, d)] if c > 0 or d < 0:
            most, zero = max(abs(c), abs(d)) - 1, Fraction(0)
            return max(min(a, zero), -most), min(max(b, zero), most), nullable
        case "SIGN", [(a, b)]:
            return Fraction((a > 0) - (a < 0)), Fraction((b > 0) - (b < 0)), nullable
        case "SQRT", [(a, b)] if b >= 0:
            return _widened(_root(max(a, Fraction(0))), _root(b, 1), kind, True)
        case "NEGATE", [(a, b)]:
            return _widened(-b, -a, kind, True)
        case "ABS", [(a, b)]:
            least = Fraction(0) if a <= 0 <= b else min(abs(a), abs(b))
            return _widened(least, max(abs(a), abs(b)), kind, True)
        case "FLOOR" | "CEIL" | "ROUND", [(a, b)]:
            return Fraction(math.floor(a)), Fraction(math.ceil(b)), True
        case "LEAST", pairs:
            return min(a for a, _ in pairs), min(b for _, b in pairs), nullable
        case "GREATEST", pairs:
            return max(a for a, _ in pairs), max(b for _, b in pairs), nullable
        case _:
            return None, None, True


def _in_type(part: Facts, kind: Type) -> tuple[Fraction, Fraction] | None:
    """Return the bounds of an argument, once it is turned into the type of the result."""
    if part.bounds is None or part.type is kind or kind is not Type.FLOAT:
        return part.bounds
    low, high, _ = _widened(*part.bounds, kind, False)
    return None if low is None or high is None else (low, high)


def _mean(total: Facts, count: Facts) -> Range | None:
    """Return the range of a sum of values over their number; None if it is another quotient."""
    if total.total is None or count.total is None or total.total.values != count.total.values:
        return None
    bounds = total.total.bounds
    if (total.total.function, count.total.function) != ("SUM", "COUNT") or bounds is None:
        return None
    wide = max(abs(end) for end in bounds) * _SUM_ROUNDING
    return _widened(bounds[0] - wide, bounds[1] + wide, Type.FLOAT, True)


def _written(parts: Sequence[Expression], values: list[Facts]) -> list[Facts]:
    """Return the facts of parts that are not a written NULL, which has no value to bound."""
    pairs = zip(parts, values, strict=True)
    return [facts for part, facts in pairs if part != Literal(None)]


def _hull(values: list[Facts]) -> tuple[Fraction | None, Fraction | None]:
    """Return bounds on all values."""
    low = [value.low for value in values]
    high = [value.high for value in values]
    if not values or None in low or None in high:
        return None, None
    return min(a for a in low if a is not None), max(b for b in high if b is not None)


def _widened(low: Fraction, high: Fraction, kind: Type, nullable: bool) -> Range:  # noqa: FBT001
    """Widen exact bounds by what rounding to a FLOAT can move them."""
    if kind is not Type.FLOAT:
        return low, high, nullable
    if any(abs(end.numerator) > _HALF_OF_LARGEST * end.denominator for end in (low, high)):
        return None, None, True
    return _moved(low, -1), _moved(high, 1), nullable


def _moved(end: Fraction, way: int) -> Fraction:
    """Move a number up or down by 2**-52 of itself and by 2**-1074, in one division."""
    above, below = end.numerator, end.denominator
    scaled = (above << _ROUNDING_BITS) + way * abs(above)
    shift = _SMALLEST_BITS - _ROUNDING_BITS
    return Fraction((scaled << shift) + way * below, below << _SMALLEST_BITS)


def _product(a: Fraction, b: Fraction, c: Fraction, d: Fraction) -> tuple[Fraction, Fraction]:
    """Return the range of a product of numbers from a to b and from c to d."""
    if c.numerator >= 0:  # signs alone say which corners are the ends
        return a * (c if a.numerator >= 0 else d), b * (d if b.numerator >= 0 else c)
    corners = (a * c, a * d, b * c, b * d)
    return min(corners), max(corners)


def _root(square: Fraction, above: int = 0) -> Fraction:
    """Return a number that is just below the square root, or just above it."""
    scaled = square.numerator * square.denominator * 4**_ROOT_BITS
    return Fraction(math.isqrt(scaled) + above, square.denominator * 2**_ROOT_BITS)
