"""The pair of discrete Gaussian noise at an integer distance.

Trust: kernel.

Definition.  With P[Z = j] proportional to e**(-j**2 / (2v)) and distance d, the loss of j is
d (2j + d) / (2v), where j is drawn from the same law.

Theorem (key ``discrete-gaussian-renyi``).  ln E e**(tL) <= t (t+1) d**2 / (2v): discrete Gaussian
noise has the Renyi curve of continuous noise of the same variance parameter, at integer distances
(Canonne, Kamath and Steinke 2020, proposition 5).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Self, final

import numpy as np

from discreet.errors import OutOfRange
from discreet.loss.bracket import Bracket
from discreet.loss.engine.rounding import UNIT, quotient_up
from discreet.loss.pairs.atoms import Atoms
from discreet.loss.pairs.pair import Curve, Law, Transform

__all__ = ["DiscreteGaussianPair"]

_MOST: Final = 1 << 18
_DEEP: Final = 39.0  # standard deviations on each side; beyond lies less than e**-760


@final
@dataclass(frozen=True, slots=True)
class DiscreteGaussianPair:
    """Discrete Gaussian noise around two integers.

    >>> DiscreteGaussianPair(Fraction(4), 2).log_moment(1.0)
    1.0
    """

    variance: Fraction
    distance: int

    spread: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse a distance at which there is no pair."""
        if self.variance <= 0 or self.distance < 1:
            raise OutOfRange(
                what="the distance of a pair is below one, or its variance is not above zero.",
                why="a loss is defined between two different integers.",
                do="give a variance above zero and a distance of at least one.",
            )

    def reverse(self) -> DiscreteGaussianPair:
        """The pair is symmetric."""
        return self

    def group(self, k: int) -> DiscreteGaussianPair:
        """The integers move k times as far apart."""
        return DiscreteGaussianPair(self.variance, self.distance * k)

    def cumulant(self, t: float) -> float:
        """Round t (t + 1) d**2 / (2v) up."""
        top, bottom = t.as_integer_ratio()
        far, variance = self.distance**2, self.variance
        return quotient_up(
            top * (top + bottom) * far * variance.denominator,
            2 * bottom * bottom * variance.numerator,
        )

    def log_moment(self, t: float) -> float:
        """Round t (t + 1) d**2 / (2v) up."""
        return self.cumulant(t)

    def infinity(self) -> Bracket:
        """No loss is infinite."""
        return Bracket(0.0, 0.0)

    def largest(self) -> float:
        """The loss has no largest value."""
        return math.inf if self.distance else 0.0

    def reached(self) -> float:
        """Every value is exceeded."""
        return self.largest()

    def closed(self, count: int) -> Curve | None:  # noqa: ARG002  (there is none)
        """There is no closed form."""
        return None

    def grain(self) -> Fraction | None:
        """All losses are multiples of d/(2v), of the parity of d."""
        whole = self.distance / self.variance
        return whole / 2 if self.distance % 2 else whole

    def _reach(self) -> int:
        return math.ceil(_DEEP * math.sqrt(float(self.variance))) + 1

    @property
    def listed(self) -> bool:
        """Whether there are few enough losses to list; wider noise is for ``SmoothedGaussianPair``.

        >>> DiscreteGaussianPair(Fraction(10**6), 1).listed
        True
        >>> DiscreteGaussianPair(Fraction(10**8), 1).listed
        False
        """
        return 2 * self._reach() + 1 <= _MOST

    def atoms(self) -> Atoms | None:
        """The losses within 39 standard deviations; None if there are too many."""
        if not self.listed:
            return None
        reach = self._reach()
        j = np.arange(-reach, reach + 1, dtype=np.float64)
        weight = np.exp(-j * j / (2 * float(self.variance)))
        mass = weight / weight.sum()
        index = j + self.distance // 2 if self.distance % 2 == 0 else 2 * j + self.distance
        error = UNIT * (8 * _DEEP**2 + 2 * reach + 64)
        return Atoms(index, mass, self.grain(), error)

    def above(self, step: Fraction) -> Law | None:
        """Spread the atoms over the lattice; what lies beyond them counts as infinite."""
        atoms = self.atoms()
        return None if atoms is None else atoms.above(step, 1e-300)

    def below(self, step: Fraction) -> Law | None:
        """Move the atoms down to the lattice; what lies beyond them is dropped."""
        atoms = self.atoms()
        return None if atoms is None else atoms.below(step)

    @classmethod
    def bundle(cls, pairs: Sequence[tuple[Self, int]]) -> Transform | None:  # noqa: ARG003
        """The lattice serves this family; a line of orders does not."""
        return None
