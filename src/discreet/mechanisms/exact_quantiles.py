"""Exact quantiles, decided on enclosures of growing precision.

Trust: kernel.

The chances compared here are transcendental wherever the noise is not constant, and the limits are
rational or algebraic, so the two are never equal and every search ends.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from discreet.certified import exp_neg, log
from discreet.exact import Interval
from discreet.noise import Distribution

BITS = 64


def decide_at_most(enclose: Callable[[int], Interval], limit: Fraction) -> bool:
    """Decide whether a number, enclosed ever more finely, is at most a rational limit.

    >>> decide_at_most(lambda bits: Interval(Fraction(1, 3), Fraction(1, 3)), Fraction(1, 2))
    True
    """
    bits = BITS
    while True:
        chance = enclose(bits)
        if chance.high <= limit:
            return True
        if chance.low > limit:
            return False
        bits *= 2


def first_true(
    enough: Callable[[int], bool], *, high: int | None = None, near: int = 1, step: int = 1
) -> int:
    """Return the smallest r >= 0 for which a rising condition holds; it holds at ``high``.

    Without ``high``, the search goes out from ``near``, by a ``step`` that doubles each time.

    >>> first_true(lambda r: r * r > 50)
    8
    """
    outside, inside = (-1, high) if high is not None else _around(enough, max(near, 0), step)
    while inside - outside > 1:
        middle = (inside + outside) // 2
        outside, inside = (outside, middle) if enough(middle) else (middle, inside)
    return inside


def _around(enough: Callable[[int], bool], point: int, step: int) -> tuple[int, int]:
    """Return two numbers: the condition fails at the first and holds at the second."""
    if enough(point):
        while step <= point and enough(point - step):
            point, step = point - step, 2 * step
        return max(point - step, -1), point
    while not enough(point + step):
        point, step = point + step, 2 * step
    return point, point + step


def two_sided_quantile(law: Distribution, chance: Fraction, count: int) -> int:
    """Return the smallest r with P[all of ``count`` draws of a symmetric law within r] >= chance.

    >>> from discreet.noise import DiscreteLaplace
    >>> two_sided_quantile(DiscreteLaplace(scale=2), Fraction(19, 20), 1)
    6
    """
    if count == 1:
        return max(0, law.quantile((1 + chance) / 2))
    bits = BITS
    while True:
        tail = root_complement(chance, count, bits)
        if tail.low > 0:
            reach = law.quantile(1 - tail.high / 2)
            if reach == law.quantile(1 - tail.low / 2):
                return max(0, reach)
        bits *= 2


def root_complement(chance: Fraction, count: int, bits: int) -> Interval:
    """Enclose 1 - chance**(1/count).

    >>> root_complement(Fraction(3, 4), 2, 64).nearest()
    0.13397459621556135
    """
    scale = bits + 2 * count.bit_length()
    low, high = log(1 / chance, scale)
    one = 1 << scale
    root_low = exp_neg(Fraction(high, count << scale), scale)[0]
    root_high = min(one, exp_neg(Fraction(max(0, low), count << scale), scale)[1])
    return Interval(1 - Fraction(root_high, one), 1 - Fraction(root_low, one))


def enclosed_power(low: int, high: int, exponent: int, scale: int) -> tuple[int, int]:
    """Enclose a power of a number in [0, 1] that is enclosed at scale 2**scale.

    >>> enclosed_power(1 << 7, 1 << 7, 3, 8)
    (32, 32)
    """
    power_low = power_high = 1 << scale
    for digit in f"{exponent:b}":
        power_low, power_high = power_low * power_low >> scale, -(-power_high * power_high >> scale)
        if digit == "1":
            power_low, power_high = power_low * low >> scale, -(-power_high * high >> scale)
    return power_low, power_high
