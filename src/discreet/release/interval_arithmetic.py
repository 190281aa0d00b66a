"""Interval arithmetic on arrays of floats, rounded outward: operations, and functions of numbers.

Trust: public.

Definition.  An interval is a pair of arrays of floats, low <= high, perhaps infinite.  Each
function returns an interval that holds f(x, y) for all x, y in the intervals given, as a real
number and as a float.  Where f is not defined for some of them, the others count.

Definition.  The *range* of a function of numbers holds every result for arguments in their ranges,
rounded outward, and says where a result may be NULL: because an argument is, because of a division
by zero or a root of a negative number, or because it may need more than 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from discreet.release.value_arrays import Floats, Mask, half_away

Ends = tuple[Floats, Floats]
"""The lower and the upper ends of intervals."""


def everything(size: int) -> Ends:
    """Return intervals that hold all numbers.

    >>> everything(1)[1].tolist()
    [inf]
    """
    return np.full(size, -np.inf), np.full(size, np.inf)


def widened(low: Floats, high: Floats) -> Ends:
    """Move both ends outward by one unit in the last place; what is no number has no end.

    >>> low, high = widened(np.array([1.0]), np.array([np.nan]))
    >>> low.tolist(), high.tolist()
    ([0.9999999999999999], [inf])
    """
    bottom = np.where(np.isnan(low), -np.inf, np.nextafter(low, -np.inf))
    top = np.where(np.isnan(high), np.inf, np.nextafter(high, np.inf))
    return bottom, top


def hull(first: Ends, second: Ends) -> Ends:
    """Return the smallest intervals that hold both.

    >>> one, two = np.array([1.0]), np.array([2.0])
    >>> [end.tolist() for end in hull((one, one), (two, two))]
    [[1.0], [2.0]]
    """
    return np.minimum(first[0], second[0]), np.maximum(first[1], second[1])


def negated(ends: Ends) -> Ends:
    """Return the numbers with the other sign."""
    return 0.0 - ends[1], 0.0 - ends[0]


def added(first: Ends, second: Ends) -> Ends:
    """Return all sums.

    >>> one = np.array([1.0]), np.array([2.0])
    >>> [float(end[0].round(6)) for end in added(one, one)]
    [2.0, 4.0]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return widened(first[0] + second[0], first[1] + second[1])


def multiplied(first: Ends, second: Ends) -> Ends:
    """Return all products; zero times anything is zero."""
    with np.errstate(over="ignore", invalid="ignore"):
        corners = [_product(left, right) for left in first for right in second]
    return widened(np.minimum.reduce(corners), np.maximum.reduce(corners))


def divided(first: Ends, second: Ends) -> Ends:
    """Return all quotients; divisors on both sides of zero give everything.

    >>> one = np.array([1.0]), np.array([2.0])
    >>> [float(end[0].round(6)) for end in divided(one, one)]
    [0.5, 2.0]
    """
    low, high = second
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        # a divisor that ends at zero has an inverse that ends at infinity, on its own side
        inverse = (
            np.where(high == 0.0, -np.inf, 1.0 / high),
            np.where(low == 0.0, np.inf, 1.0 / low),
        )
    bottom, top = multiplied(first, widened(*inverse))
    both = (low < 0.0) & (high > 0.0) | ((low == 0.0) & (high == 0.0))
    return np.where(both, -np.inf, bottom), np.where(both, np.inf, top)


def _product(left: Floats, right: Floats) -> Floats:
    product = left * right
    return np.where((left == 0.0) | (right == 0.0), 0.0, product)


_LARGEST: Final = 2.0**63


@final
@dataclass(frozen=True, slots=True, eq=False)
class Range:
    """The bounds of a number that is not NULL, and where it may be NULL.

    Where it must be NULL, the lower bound is above the upper one.
    """

    low: Floats
    high: Floats
    null: Mask

    @property
    def ends(self) -> Ends:
        """The lower and the upper ends."""
        return self.low, self.high


def fitting(ends: Ends, *parts: Range) -> Range:
    """Return a range that may be NULL where a part is, or where it needs more than 64 bits."""
    large = (ends[0] <= -_LARGEST) | (ends[1] >= _LARGEST)
    return Range(*ends, np.logical_or.reduce([large, *(part.null for part in parts)]))


def _add(left: Range, right: Range) -> Range:
    return fitting(added(left.ends, right.ends), left, right)


def _subtract(left: Range, right: Range) -> Range:
    return fitting(added(left.ends, negated(right.ends)), left, right)


def _multiply(left: Range, right: Range) -> Range:
    return fitting(multiplied(left.ends, right.ends), left, right)


def _divide(left: Range, right: Range) -> Range:
    zero = (right.low <= 0.0) & (right.high >= 0.0)
    return Range(*divided(left.ends, right.ends), left.null | right.null | zero)


def _div(left: Range, right: Range) -> Range:
    quotient = _divide(left, right)
    return fitting((np.floor(quotient.low), np.ceil(quotient.high)), quotient)


def _mod(left: Range, right: Range) -> Range:
    size = np.minimum(_size(left), _size(right))
    zero = (right.low <= 0.0) & (right.high >= 0.0)
    low, high = np.where(left.low >= 0.0, 0.0, -size), np.where(left.high <= 0.0, 0.0, size)
    return Range(low, high, left.null | right.null | zero)


def _size(part: Range) -> Floats:
    return np.maximum(np.abs(part.low), np.abs(part.high))


def _absolute(part: Range) -> Range:
    near = np.minimum(np.abs(part.low), np.abs(part.high))
    near = np.where((part.low <= 0.0) & (part.high >= 0.0), 0.0, near)
    return fitting((near, _size(part)), part)


def _rising(compute: Callable[[Any], Any]) -> Callable[[Range], Range]:
    return lambda part: Range(compute(part.low), compute(part.high), part.null)


def _root(part: Range) -> Range:
    low, high = np.sqrt(np.maximum(part.low, 0.0)), np.sqrt(np.maximum(part.high, 0.0))
    low, high = widened(low, high)
    return Range(np.maximum(low, 0.0), high, part.null | (part.low < 0.0))


def _extreme(compute: np.ufunc) -> Callable[..., Range]:
    return lambda *parts: Range(
        compute.reduce([part.low for part in parts]),
        compute.reduce([part.high for part in parts]),
        np.logical_or.reduce([part.null for part in parts]),
    )


def _bucket(value: Range, *edges: Range) -> Range:
    low = np.sum([edge.high <= value.low for edge in edges], axis=0).astype(np.float64)
    high = np.sum([edge.low <= value.high for edge in edges], axis=0).astype(np.float64)
    return Range(low, high, value.null)


_LAST_DIGITS: Final = 2.0**-48
"""So much of a result is allowed for what libraries round exponentials, logarithms and powers."""


def _spread(low: Floats, high: Floats) -> Ends:
    """Move both ends outward by more than the last digits of a library's function."""
    with np.errstate(over="ignore", invalid="ignore"):
        return widened(low - np.abs(low) * _LAST_DIGITS, high + np.abs(high) * _LAST_DIGITS)


def _exponential(part: Range) -> Range:
    with np.errstate(over="ignore", under="ignore"):
        low, high = _spread(np.exp(part.low), np.exp(part.high))
    return Range(np.maximum(low, 0.0), high, part.null | (high == np.inf))


def _logarithm(compute: np.ufunc) -> Callable[[Range], Range]:
    def above_zero(part: Range) -> Range:
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high = (compute(np.maximum(end, 0.0)) for end in part.ends)
        return Range(*_spread(low, high), part.null | (part.low <= 0.0))

    return above_zero


def _power(base: Range, exponent: Range) -> Range:
    """Bound a power: of bases from zero on at the corners, of others for one exponent alone.

    For a base above zero, a power rises or falls with each argument alone.  For a whole exponent it
    does so with the base on each side of zero, and has its end, or a pole, between them; for
    another one the power of a base below zero is NULL.
    """
    single = exponent.low == exponent.high
    whole = single & (exponent.low == np.rint(exponent.low))
    below, across = base.low < 0.0, (base.low <= 0.0) & (base.high >= 0.0)
    start = np.where(whole, base.low, np.maximum(base.low, 0.0))
    with np.errstate(all="ignore"):
        corners = [np.power(end, to) for end in (start, base.high) for to in exponent.ends]
    low, high = _spread(np.minimum.reduce(corners), np.maximum.reduce(corners))
    even = np.fmod(exponent.low, 2.0) == 0.0
    pole = across & (exponent.low < 0.0)
    low = np.where(whole & across & even & ~pole, np.minimum(low, 0.0), low)
    low, high = np.where(pole & below & ~even, -np.inf, low), np.where(pole, np.inf, high)
    anything = ~single & below
    low, high = np.where(anything, -np.inf, low), np.where(anything, np.inf, high)
    never = single & ~whole & (base.high < 0.0)
    low, high = np.where(never, np.inf, low), np.where(never, -np.inf, high)
    missing = pole | (below & ~whole) | np.isinf(low) | np.isinf(high)
    return Range(low, high, base.null | exponent.null | missing)


rounded: Final = _rising(half_away)

RANGES: Final[dict[str, Callable[..., Range]]] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "DIV": _div,
    "MOD": _mod,
    "NEGATE": lambda part: fitting(negated(part.ends), part),
    "ABS": _absolute,
    "SIGN": _rising(np.sign),
    "FLOOR": _rising(np.floor),
    "CEIL": _rising(np.ceil),
    "ROUND": rounded,
    "SQRT": _root,
    "LEAST": _extreme(np.minimum),
    "GREATEST": _extreme(np.maximum),
    "RANGE_BUCKET": _bucket,
    "EXP": _exponential,
    "LN": _logarithm(np.log),
    "LOG10": _logarithm(np.log10),
    "LOG2": _logarithm(np.log2),
    "POWER": _power,
}
"""Functions by their names."""
