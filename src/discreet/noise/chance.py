"""Chances that are known exactly: rationals, exp(-x), and 1 / (1 + exp(x)).

Trust: kernel.

Each encloses itself between integers at any scale: ``low <= 2**bits * p <= high``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from discreet.certified import exp_neg
from discreet.errors import OutOfRange
from discreet.exact import ExactNumber, Interval, probability, rational
from discreet.noise.exponential import Scaled
from discreet.noise.limits import checked_bits

__all__ = ["Chance", "ExpNeg", "Logistic", "Ratio"]


@final
@dataclass(frozen=True, slots=True, init=False)
class Ratio:
    """A rational chance.

    >>> Ratio("0.25").enclose(4)
    (4, 4)
    """

    p: Fraction

    def __init__(self, p: ExactNumber) -> None:
        """Take an exact chance from 0 to 1."""
        object.__setattr__(self, "p", probability(p, name="p"))

    def enclose(self, bits: int) -> tuple[int, int]:
        """Enclose the chance at scale 2**bits."""
        checked_bits(bits)
        floor, rest = divmod(self.p.numerator << bits, self.p.denominator)
        return floor, floor + (rest != 0)


@final
@dataclass(frozen=True, slots=True, init=False)
class ExpNeg:
    """The chance exp(-x), x >= 0.

    >>> ExpNeg(0).enclose(4)
    (16, 16)
    """

    x: Fraction

    def __init__(self, x: ExactNumber) -> None:
        """Take an exact exponent, not negative."""
        object.__setattr__(self, "x", _exponent(x))

    def enclose(self, bits: int) -> tuple[int, int]:
        """Enclose the chance at scale 2**bits."""
        low, high = exp_neg(self.x, checked_bits(bits))
        return low, min(high, 1 << bits)


@final
@dataclass(frozen=True, slots=True, init=False)
class Logistic:
    """The chance 1 / (1 + exp(x)), x >= 0: how often randomized response of loss x lies.

    >>> Logistic(0).enclose(4)
    (8, 8)
    """

    x: Fraction

    def __init__(self, x: ExactNumber) -> None:
        """Take an exact exponent, not negative."""
        object.__setattr__(self, "x", _exponent(x))

    def enclose(self, bits: int) -> tuple[int, int]:
        """Enclose the chance at scale 2**bits: e / (1 + e) for e = exp(-x)."""
        one = 1 << (checked_bits(bits) + 32)
        low, high = exp_neg(self.x, bits + 32)
        return (low << bits) // (one + low), -((-high << bits) // (one + high))


Chance = Ratio | ExpNeg | Logistic


def chance_scaled(chance: ExpNeg | Logistic, bits: int) -> Scaled:
    """Write an irrational chance as exp(-x) times a moderate factor.

    >>> chance_scaled(ExpNeg(3), 64).exponent
    Fraction(3, 1)
    """
    if isinstance(chance, ExpNeg):
        return Scaled(chance.x, Interval(Fraction(1), Fraction(1)))
    one = 1 << (bits + 8)
    low, high = exp_neg(chance.x, bits + 8)
    return Scaled(chance.x, Interval(Fraction(one, one + high), Fraction(one, one + low)))


def _exponent(x: ExactNumber) -> Fraction:
    number = rational(x, name="x")
    if number < 0:
        raise OutOfRange(
            what="x is negative.",
            why="exp(-x) would be above 1, which is no chance.",
            do="give x >= 0.",
        )
    return number
