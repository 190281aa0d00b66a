"""Probabilities of the form exp(-h) times a moderate factor.

Trust: kernel.

Tails of noise are astronomically small, and their factors are not.  Keeping the two apart gives
logarithms at any depth and relative precision at every depth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from discreet.certified import exp_neg, log
from discreet.exact import Interval
from discreet.noise.distribution import log_of

__all__ = ["Scaled", "ratio"]

_DEEPEST: Final = 1 << 16
_FAR: Final = 512


@final
@dataclass(frozen=True, slots=True)
class Scaled:
    """The number exp(-exponent) * factor, with a positive enclosed factor."""

    exponent: Fraction
    factor: Interval

    def bounds(self, bits: int) -> Interval:
        """Enclose the number, to a relative 2**-bits or so unless it is astronomically small.

        Below exp(-65536), and below exp(-64 bits), an upper bound is all that is computed.

        >>> half = Interval(Fraction(1, 2), Fraction(1, 2))
        >>> Scaled(Fraction(1), half).bounds(64).nearest()
        0.18393972058572117
        """
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
        """Enclose the logarithm of the number.

        >>> Scaled(Fraction(1000), Interval(Fraction(1), Fraction(1))).log_bounds(64).nearest()
        -1000.0
        """
        rest = log_of(self.factor, bits)
        return Interval(rest.low - self.exponent, rest.high - self.exponent)


def _halved(x: Fraction, bits: int) -> tuple[int, int, int]:
    """Enclose exp(-x) for large x at a scale that is returned too: 2**-n exp(-(x - n ln 2)).

    With ln 2 to as many more bits as x has, what is left of x is known to a relative 2**-bits.

    >>> low, high, scale = _halved(Fraction(1000), 64)
    >>> (high - low) << 64 < low, abs(math.log(low) - scale * math.log(2) + 1000) < 1e-9
    (True, True)
    """
    fine = bits + 16 + math.ceil(2 * x).bit_length()
    two_low, two_high = log(Fraction(2), fine)
    n = (x.numerator << fine) // (x.denominator * two_high)
    most, least = (x - Fraction(n * two, 1 << fine) for two in (two_low, two_high))
    precise = bits + 16
    return exp_neg(most, precise)[0], exp_neg(least, precise)[1], precise + n


def ratio(scale: Fraction, bits: int) -> Interval:
    """Enclose a = exp(-1/scale), so finely that 1 - a too has a relative precision of 2**-bits.

    >>> ratio(Fraction(1), 64).nearest()
    0.36787944117144233
    """
    fine = bits + 16 + 2 * math.ceil(scale).bit_length()
    low, high = exp_neg(1 / scale, fine)
    return Interval(Fraction(low, 1 << fine), Fraction(high, 1 << fine))
