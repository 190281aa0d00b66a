"""Certified weights of two-sided laws that decay like exp(-h(|k|)).

Trust: kernel.

Definition.  ``Decay`` stands for h(a) = linear * a + quadratic * a**2 with rational coefficients:
the discrete Laplace law has h(a) = a / scale, the discrete Gaussian h(a) = a**2 / (2 variance).

Along an arithmetic progression start, start + step, ... the first differences of h form an
arithmetic progression too, so each weight is the previous one times a ratio, and each ratio the
previous one times a constant.  Both recurrences run on integer enclosures (key ``enclosure``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from discreet.certified import exp_neg


@final
@dataclass(frozen=True, slots=True)
class Progression:
    """Enclosures of the weights along a progression."""

    low: list[int]
    high: list[int]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Decay:
    """The exponent h of a weight exp(-h(a)), a >= 0."""

    linear: Fraction = Fraction(0)
    quadratic: Fraction = Fraction(0)

    def exponent(self, a: int) -> Fraction:
        """Return h(a).

        >>> Decay(quadratic=Fraction(1, 8)).exponent(3)
        Fraction(9, 8)
        """
        return a * (self.linear + a * self.quadratic)

    def reach(self, bits: int) -> int:
        """Return some a from which on every weight is below 2**-bits; ln 2 < 7/10.

        >>> Decay(linear=Fraction(1)).reach(10)
        7
        """
        need = Fraction(7 * bits, 10)
        if self.quadratic:
            return math.isqrt(math.ceil(need / self.quadratic)) + 1
        return math.ceil(need / self.linear)

    def progression(
        self, *, start: int, step: int, count: int, bits: int, origin: int = 0
    ) -> Progression:
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
        return Progression(lows, highs)

    def beyond(self, *, start: int, step: int, bits: int, origin: int = 0) -> int:
        """Bound the sum of all weights from ``start`` on, relative to ``origin``, at scale 2**bits.

        Ratios of successive weights do not grow, so the sum is below a geometric series.
        """
        first = exp_neg(self.exponent(start) - self.exponent(origin), bits)[1]
        drop = self.exponent(start + step) - self.exponent(start)
        fine = bits
        while (ratio := exp_neg(drop, fine)[1]) >= 1 << fine:
            fine *= 2
        return -(-(first << fine) // ((1 << fine) - ratio))
