"""Arrays of exact numbers with one denominator, and of intervals between floats, rounded outward.

Trust: public.  Everything here is computed from what is released already.

Definition.  An interval is a pair of arrays of floats, low <= high, perhaps infinite.  Each
function returns an interval that holds f(x, y) for all x, y in the intervals given, as a real
number and as a float.  Where f is not defined for some of them, the others count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import INT64_MAX, INT64_MIN
from discreet.requests.raw_totals import Integers

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


Ends = tuple[Floats, Floats]
"""The lower and the upper ends of intervals."""


def everything(size: int) -> Ends:
    """Return intervals that hold all numbers.

    >>> everything(1)[1].tolist()
    [inf]
    """
    return np.full(size, -np.inf), np.full(size, np.inf)


def widened(low: Floats, high: Floats) -> Ends:
    """Move both ends outward by one unit in the last place; what is not a number has no end.

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
