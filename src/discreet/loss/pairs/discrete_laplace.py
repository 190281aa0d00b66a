"""The pair of two-sided geometric noise at an integer distance.

Trust: kernel.

Definition.  With a = e**(-1/scale) and distance d, the loss is (d - 2j)/scale for j = 0..d: with
mass 1/(1+a) at j = 0, (1-a) a**j / (1+a) in between, and a**d / (1+a) at j = d.

Theorem (key ``discrete-laplace-loss``).  This is the loss of integer x + Z against x + d + Z when
P[Z = k] is proportional to e**(-|k|/scale); at distance 1 it is randomized response with
epsilon = 1/scale.

Consequence.  Let e = d/scale, w = 1/scale and r = e**(-(2t+1) w).  Then
ln E e**(tL) = t e + ln(1 + y) with y = -(1 - e**(-2tw)) a/(1 + a) (1 - r**d)/(1 - r) > -1/2.
Proof.  The loss is (d - 2J)/scale with P[J > j] = a**(j+1)/(1+a) for j < d, and
E[q**J] = 1 - (1 - q) sum of P[J > j] q**j, where q = e**(-2tw), so that a q = r.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Self, final

import numpy as np

from discreet.errors import OutOfRange
from discreet.exact import float_down, float_up
from discreet.loss.bracket import Bracket
from discreet.loss.engine.rounding import UNIT
from discreet.loss.pairs.atoms import Atoms, AtomTransform
from discreet.loss.pairs.pair import Curve, Law
from discreet.loss.pairs.response import ResponsePair

__all__ = ["DiscreteLaplacePair"]

_MOST: Final = 1 << 16
_THIN: Final = 1e-290  # a rate near the least floats


@final
@dataclass(frozen=True, slots=True)
class DiscreteLaplacePair:
    """Two-sided geometric noise around two integers.

    >>> DiscreteLaplacePair(Fraction(2), 3).largest()
    1.5
    """

    scale: Fraction
    distance: int

    spread: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse a distance at which there is no pair."""
        if self.scale <= 0 or self.distance < 1:
            raise OutOfRange(
                what="the distance of a pair is below one, or its scale is not above zero.",
                why="a loss is defined between two different integers.",
                do="give a scale above zero and a distance of at least one.",
            )

    def reverse(self) -> DiscreteLaplacePair:
        """The pair is symmetric."""
        return self

    def group(self, k: int) -> DiscreteLaplacePair:
        """The integers move k times as far apart."""
        return DiscreteLaplacePair(self.scale, self.distance * k)

    def cumulant(self, t: float) -> float:
        """Evaluate the closed form and add its error bound, for t > 0.

        y errs by at most 80 units of its size, besides w units in the exponent of a, which change
        it by less than t e units since |y| <= 2 t w a; log1p at most doubles that.
        """
        top, bottom = self.scale.as_integer_ratio()
        w, e = bottom / top, self.distance * bottom / top
        if w < _THIN:
            return ResponsePair(self.distance / self.scale).cumulant(t)
        small = math.exp(-w)
        share = math.expm1(-(2 * t + 1) * e) / math.expm1(-(2 * t + 1) * w)
        y, straight = math.expm1(-2 * t * w) * small / (1 + small) * share, t * e
        return straight + math.log1p(y) + UNIT * (8 * straight - 256 * y)

    def log_moment(self, t: float) -> float:
        """Evaluate the closed form and add its error bound."""
        return self.cumulant(t)

    def infinity(self) -> Bracket:
        """No loss is infinite."""
        return Bracket(0.0, 0.0)

    def largest(self) -> float:
        """The loss is at most distance / scale."""
        return float_up(self.distance / self.scale)

    def reached(self) -> float:
        """All answers beyond the farther integer lose that much."""
        return float_down(self.distance / self.scale)

    def closed(self, count: int) -> Curve | None:
        """Sum over the atoms, for one run."""
        return self.atoms().profile if count == 1 and self.distance <= _MOST else None

    def grain(self) -> Fraction | None:
        """All losses are multiples of 1/scale, of the parity of the distance."""
        return 1 / self.scale if self.distance % 2 else 2 / self.scale

    def atoms(self) -> Atoms:
        """The distance + 1 losses."""
        d, width = self.distance, float(1 / self.scale)
        j = np.arange(d + 1)
        mass = np.exp(-j * width) / (1 + math.exp(-width))
        mass[1:d] *= -math.expm1(-width)
        index = (d - 2 * j).astype(np.float64)
        even = d % 2 == 0
        return Atoms(index / 2 if even else index, mass, self.grain(), UNIT * (64 + 8 * d * width))

    def above(self, step: Fraction) -> Law | None:
        """Spread the atoms over the lattice."""
        return self.atoms().above(step) if self.distance <= _MOST else None

    def below(self, step: Fraction) -> Law | None:
        """Move the atoms down to the lattice."""
        return self.atoms().below(step) if self.distance <= _MOST else None

    @classmethod
    def bundle(cls, pairs: Sequence[tuple[Self, int]]) -> AtomTransform | None:
        """Gather the atoms."""
        if sum(pair.distance for pair, _ in pairs) > _MOST:
            return None
        return AtomTransform(tuple((pair.atoms(), count) for pair, count in pairs))
