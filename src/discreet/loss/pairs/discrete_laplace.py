"""The pair of two-sided geometric noise at an integer distance.

Trust: kernel.

Definition.  With a = e**(-1/scale) and distance d, the loss is (d - 2j)/scale for j = 0..d: with
mass 1/(1+a) at j = 0, (1-a) a**j / (1+a) in between, and a**d / (1+a) at j = d.

Theorem (key ``discrete-laplace-loss``).  This is the loss of integer x + Z against x + d + Z when
P[Z = k] is proportional to e**(-|k|/scale); at distance 1 it is randomized response with
epsilon = 1/scale.
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
        """Sum over the atoms; with very many of them, fall back on the pure bound."""
        if self.distance > _MOST:
            return ResponsePair(self.distance / self.scale).cumulant(t)
        value, error = AtomTransform(((self.atoms(), 1),)).real(np.array([t]))
        return float(value[0] + 2 * error[0])

    def log_moment(self, t: float) -> float:
        """Sum over the atoms."""
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
