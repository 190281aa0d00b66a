"""Exponential weights, enclosed: exp(-h) times a factor, and runs of such weights.

Trust: kernel.

Tails of noise are astronomically small: exp(-h) times a moderate factor.  Keeping the two apart
gives logarithms at any depth and relative precision at every depth.

Definition.  ``Decay`` is h(a) = linear * a + quadratic * a**2 with rational coefficients: h(a) =
a / scale for discrete Laplace noise, a**2 / (2 variance) for discrete Gaussian noise.  Along an
arithmetic progression each weight exp(-h) is the previous one times a ratio, and each ratio the
previous one times a constant.  Both recurrences run on integer enclosures (key ``enclosure``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from discreet.certified import exp_neg, log
from discreet.errors import OutOfRange
from discreet.exact import Interval

_DEEPEST: Final = 1 << 16  # smaller numbers are enclosed from above only
_FAR: Final = 512  # from here on, dividing by a power of two first is faster


def complement(tail: Interval) -> Interval:
    """Enclose one minus a number."""
    return Interval(1 - tail.high, 1 - tail.low)


def log_of(value: Interval, bits: int) -> Interval:
    """Enclose the logarithm of a probability that is not zero."""
    if value.low == 0:
        raise OutOfRange("nothing is above this value; ask for a value inside the support.")
    one = 1 << bits
    return Interval(Fraction(log(value.low, bits)[0], one), Fraction(log(value.high, bits)[1], one))


@final
@dataclass(frozen=True, slots=True)
class ScaledExponential:
    """The number exp(-exponent) * factor, with a positive enclosed factor."""

    exponent: Fraction
    factor: Interval

    def bounds(self, bits: int) -> Interval:
        """Enclose the number to a relative 2**-bits or so; tiny ones from above alone."""
        deepest = max(_DEEPEST, 64 * bits)
        if self.exponent > deepest:  # exp(-x) < 2**-x
            return Interval(Fraction(0), Fraction(1, 1 << deepest) * self.factor.high)
        if self.exponent > _FAR:
            low, high, scale = _halved(self.exponent, bits)
        else:
            scale = bits + 8 + math.ceil(self.exponent * Fraction(3, 2))
            low, high = exp_neg(self.exponent, scale)
        one = 1 << scale
        return Interval(
            Fraction(low, one) * self.factor.low, Fraction(high, one) * self.factor.high
        )

    def log_bounds(self, bits: int) -> Interval:
        rest = log_of(self.factor, bits)
        return Interval(rest.low - self.exponent, rest.high - self.exponent)


def _halved(x: Fraction, bits: int) -> tuple[int, int, int]:
    """Enclose exp(-x) = 2**-n exp(-(x - n ln 2)) for large x, and return at which scale."""
    fine = bits + 16 + math.ceil(2 * x).bit_length()
    two_low, two_high = log(Fraction(2), fine)
    n = (x.numerator << fine) // (x.denominator * two_high)
    most, least = (x - Fraction(n * two, 1 << fine) for two in (two_low, two_high))
    precise = bits + 16
    return exp_neg(most, precise)[0], exp_neg(least, precise)[1], precise + n


def ratio(scale: Fraction, bits: int) -> Interval:
    """Enclose a = exp(-1/scale), so finely that 1 - a too has a relative precision of 2**-bits."""
    fine = bits + 16 + 2 * math.ceil(scale).bit_length()
    low, high = exp_neg(1 / scale, fine)
    return Interval(Fraction(low, 1 << fine), Fraction(high, 1 << fine))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Decay:
    """The exponent h of a weight exp(-h(a)), a >= 0."""

    linear: Fraction = Fraction(0)
    quadratic: Fraction = Fraction(0)

    def exponent(self, a: int) -> Fraction:
        return a * (self.linear + a * self.quadratic)

    def reach(self, bits: int) -> int:
        """Return some a from which on every weight is below 2**-bits; ln 2 < 7/10."""
        need = Fraction(7 * bits, 10)
        if self.quadratic:
            return math.isqrt(math.ceil(need / self.quadratic)) + 1
        return math.ceil(need / self.linear)

    def progression(
        self, *, start: int, step: int, count: int, bits: int, origin: int = 0
    ) -> tuple[list[int], list[int]]:
        """Enclose ``count`` weights from ``start`` on, relative to ``origin``, at scale 2**bits."""
        drop = self.exponent(start + step) - self.exponent(start)
        bend = 2 * self.quadratic * step * step
        low, high = exp_neg(self.exponent(start) - self.exponent(origin), bits)
        ratio_low, ratio_high = exp_neg(drop, bits)
        bend_low, bend_high = exp_neg(bend, bits)
        lows, highs = [], []
        for _ in range(count):
            lows.append(low)
            highs.append(high)
            low = low * ratio_low >> bits
            high = (high * ratio_high >> bits) + 1
            if bend:
                ratio_low = ratio_low * bend_low >> bits
                ratio_high = (ratio_high * bend_high >> bits) + 1
        return lows, highs

    def beyond(self, *, start: int, step: int, bits: int, origin: int = 0) -> int:
        """Bound the sum of weights from ``start`` on by a geometric series, at scale 2**bits."""
        first = exp_neg(self.exponent(start) - self.exponent(origin), bits)[1]
        drop = self.exponent(start + step) - self.exponent(start)
        fine = bits
        while (ratio := exp_neg(drop, fine)[1]) >= 1 << fine:
            fine *= 2
        return -(-(first << fine) // ((1 << fine) - ratio))
