"""Interval arithmetic on arrays of floats, rounded outward.

Trust: public.

Definition.  An interval is a pair of arrays of floats, low <= high, perhaps infinite.  Each
function returns an interval that holds f(x, y) for all x, y in the intervals given, as a real
number and as a float.  If f is not defined for some of them, the others count.

"""

from __future__ import annotations

import numpy as np

from discreet.aggregates.rationals import Floats

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
