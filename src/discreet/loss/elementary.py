"""Exponentials, logarithms and roots of rationals, enclosed between rationals.

Trust: kernel.  Every closed form of this room rounds through these functions.

Definition.  Each function returns an ``Interval`` that contains the true value; its width is about
2**-BITS (for ``exp``: relative to the value, or 2**-BITS where the value is smaller than that).

Theorem key: ``enclosure``.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Final

from discreet import certified
from discreet.exact import Interval

__all__ = ["BITS", "exp", "log", "log1p_scaled", "reciprocal", "sqrt", "tanh_half"]

BITS: Final = 160


@functools.lru_cache(maxsize=1024)
def exp(x: Fraction) -> Interval:
    """Enclose e**x; far below zero the lower end is 0.

    >>> from fractions import Fraction
    >>> exp(Fraction(1)).nearest()
    2.718281828459045
    """
    if x <= 0:
        return _scaled(certified.exp_neg(-x, BITS), BITS)
    bits = BITS + 2 * math.ceil(x)
    low, high = certified.exp_neg(x, bits)
    return Interval(Fraction(1 << bits, high), Fraction(1 << bits, low))


@functools.lru_cache(maxsize=1024)
def log(x: Fraction) -> Interval:
    """Enclose the natural logarithm of a positive rational.

    >>> from fractions import Fraction
    >>> log(Fraction(10)).nearest()
    2.302585092994046
    """
    return _scaled(certified.log(x, BITS), BITS)


def sqrt(x: Fraction) -> Interval:
    """Enclose the square root of a rational that is not negative.

    >>> from fractions import Fraction
    >>> sqrt(Fraction(2)).nearest()
    1.4142135623730951
    """
    return _scaled(certified.sqrt(x, BITS), BITS)


def tanh_half(x: Fraction) -> Interval:
    """Enclose tanh(x / 2) = (1 - e**-x) / (1 + e**-x) for x >= 0.

    >>> from fractions import Fraction
    >>> tanh_half(Fraction(1)).nearest()
    0.46211715726000974
    """
    decay = exp(-x)
    return Interval((1 - decay.high) / (1 + decay.high), (1 - decay.low) / (1 + decay.low))


def log1p_scaled(rate: Fraction, x: Fraction) -> Interval:
    """Enclose log(1 + rate (e**x - 1)) for x >= 0 and a rate in [0, 1].

    It equals x + log(e**-x + rate (1 - e**-x)), which does not overflow.

    >>> from fractions import Fraction
    >>> log1p_scaled(Fraction(1, 100), Fraction(1)).nearest()
    0.01703686323617655
    """
    decay = exp(-x)
    low = log(rate + (1 - rate) * decay.low).low if rate or decay.low else -x
    return Interval(max(x + low, Fraction(0)), x + log(rate + (1 - rate) * decay.high).high)


def reciprocal(x: Interval) -> Interval:
    """Enclose 1 / x for an enclosure above zero.

    >>> from fractions import Fraction
    >>> reciprocal(Interval(Fraction(2), Fraction(4)))
    Interval(low=Fraction(1, 4), high=Fraction(1, 2))
    """
    return Interval(1 / x.high, 1 / x.low)


def _scaled(ends: tuple[int, int], bits: int) -> Interval:
    low, high = ends
    return Interval(Fraction(low, 1 << bits), Fraction(high, 1 << bits))
