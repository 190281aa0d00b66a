"""The parts of a release, and how noisy each is for its share of the price.

Trust: kernel.

Definition.  A part is what is released of one measure: its noisy totals, one level of a histogram,
or which keys are shown.  For a share epsilon, or a share rho, of the price it gives the mechanism
that spends no more.
Theorem (key ``part-prices``).  Let d and D be the L1 distance and the squared L2 distance of one
step of the relation (key ``plan-distances``), g the groups of a unit, w = g, or 2 g where units are
replaced.  Then a share is kept by

    Laplace noise of scale d / epsilon          epsilon, as d / scale
    Gaussian noise of variance D / (2 rho)      rho, as D / (2 variance)
    Laplace noise of scale d / sqrt(2 rho)      rho, as e tanh(e / 2) <= e**2 / 2, e = d / scale
    g choices of scale 2 g q / epsilon          epsilon, as each has a range of 2 q / scale
    g choices of scale q sqrt(g / (2 rho))      rho, as g (2 q / scale)**2 / 8
    keys with epsilon / w and delta / w in each of w groups, or sqrt(2 rho / w) and delta / w

where q bounds how far a unit moves the scores of one of g groups: ``rows`` times
max(level, 1 - level), twice that if units are replaced, and ``rows`` if there is only one group.
Proof.  The first five are ``laplace-mechanism``, ``gaussian-mechanism``, ``pure-to-concentrated``
and ``exponential-mechanism``, and the last is ``optimal-keys-loss`` or ``threshold-keys``.  Where a
unit is replaced, its g groups and the g of the other are at most 2 g; choices in two of them, in
each of which only one of the units has rows, have together twice the range of one of them, as if
one group had moved twice as far.  Scales and variances are rounded up, shares down.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Final, final

from discreet.mechanisms import Exponential, Gaussian, Laplace, NoisyKeys, OptimalKeys
from discreet.plan.distances import TWO_SIDED, Distances, steps_up
from discreet.plan.noises import Choice, Noise
from discreet.units import Relation

__all__ = [
    "GAUSSIAN",
    "LAPLACE",
    "OPTIMAL",
    "SMALLEST",
    "Keys",
    "Level",
    "Part",
    "Totals",
    "dyadic_up",
    "root_down",
    "shorter_tail",
]

LAPLACE: Final = "LAPLACE"
GAUSSIAN: Final = "GAUSSIAN"
OPTIMAL: Final = "OPTIMAL"
SMALLEST: Final = "SMALLEST"

_BITS: Final = 40
_LARGEST: Final = Fraction(50)  # more hides nobody and shows nothing more
_SURE: Final = 20


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The noisy totals of a measure, or the noisy number of units."""

    measure: str
    distances: Distances

    def within_epsilon(self, epsilon: Fraction, relation: Relation) -> Noise:
        """Return Laplace noise for a share of epsilon."""
        scale = steps_up(self.distances.moved(relation)) / epsilon
        return self._noise(Laplace(scale=scale))

    def within_rho(self, rho: Fraction, relation: Relation, law: str) -> Noise:
        """Return noise for a share of rho."""
        if law == LAPLACE:
            return self.within_epsilon(root_down(2 * rho), relation)
        square = self.distances.moved_squared(relation)
        return self._noise(Gaussian(variance=dyadic_up(square / (2 * rho))))

    def _noise(self, mechanism: Laplace | Gaussian) -> Noise:
        return Noise(measure=self.measure, mechanism=mechanism, distances=self.distances)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One value of each group, chosen by its rank."""

    measure: str
    level: Fraction
    leaves: int
    rows: int
    groups: int
    available: int | None

    def moved(self, relation: Relation) -> Fraction:
        """Return how far a unit moves the scores of one of its groups."""
        if relation not in TWO_SIDED:
            return self._weight
        return Fraction(self.rows) if self.available == 1 else 2 * self._weight

    def within_epsilon(self, epsilon: Fraction, relation: Relation) -> Choice:
        """Return choices for a share of epsilon."""
        return self._choice(2 * self.groups * self.moved(relation) / epsilon)

    def within_rho(self, rho: Fraction, relation: Relation) -> Choice:
        """Return choices for a share of rho."""
        return self._choice(self.moved(relation) / root_down(2 * rho / self.groups))

    @property
    def _weight(self) -> Fraction:
        return self.rows * max(self.level, 1 - self.level)

    def _choice(self, scale: Fraction) -> Choice:
        return Choice(
            measure=self.measure,
            level=self.level,
            offset=self._offset(scale),
            mechanism=Exponential(candidates=self.leaves, scale=scale),
            rows=self.rows,
            groups=self.groups,
            available=self.available,
        )

    def _offset(self, scale: Fraction) -> int:
        """Aim a little inside of the ends, where every value beyond would do as well."""
        if 0 < self.level < 1:
            return 0
        ranks = math.ceil(float(scale) * math.log(_SURE * self.leaves))
        return ranks if self.level == 0 else -ranks


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """Which groups are shown, by the chance that their number of units gives them.

    ``law`` is that of the noise on the number of units, or ``OPTIMAL`` for none; None is the same
    law as that of totals.  ``SMALLEST`` is the one that shows smaller groups: without noise for a
    share of epsilon, and with Gaussian noise for a share of rho, whose tails are shorter.
    """

    law: str | None
    groups: int
    fewest: int

    def places(self, relation: Relation) -> int:
        """Return how many groups one step of a relation changes."""
        return 2 * self.groups if relation in TWO_SIDED else self.groups

    def within_epsilon(
        self, epsilon: Fraction, relation: Relation, delta: Fraction
    ) -> OptimalKeys | NoisyKeys:
        """Return a choice of keys for a share of epsilon, and a delta."""
        return self._keys(epsilon / self.places(relation), relation, delta)

    def within_rho(
        self, rho: Fraction, relation: Relation, delta: Fraction, law: str
    ) -> OptimalKeys | NoisyKeys:
        """Return a choice of keys for a share of rho, and a delta."""
        places = self.places(relation)
        if (self.law or law) in {GAUSSIAN, SMALLEST}:
            variance = dyadic_up(places / (2 * rho))
            return _noisy(Gaussian(variance=variance), delta, self.groups, self.fewest)
        return self._keys(root_down(2 * rho / places), relation, delta)

    def _keys(
        self, epsilon: Fraction, relation: Relation, delta: Fraction
    ) -> OptimalKeys | NoisyKeys:
        if self.law not in {OPTIMAL, SMALLEST}:
            return _noisy(Laplace(scale=1 / epsilon), delta, self.groups, self.fewest)
        return OptimalKeys(
            epsilon=min(epsilon, _LARGEST),
            delta=delta / self.places(relation),
            groups=self.groups,
            relation=Relation.ADD_REMOVE,
            fewest=self.fewest,
        )


Part = Totals | Level | Keys


def shorter_tail(delta: Fraction) -> float:
    """Estimate how many units a Gaussian threshold needs, over those of an optimal choice.

    With a share rho of one group, the deviation of the noise is 1 / sqrt(2 rho) = 1 / epsilon for
    the epsilon of the same rho, and about ln(1 / delta) / epsilon units are shown optimally.

    >>> shorter_tail(Fraction(1, 10**9)) < 1
    True
    """
    chance = max(float(delta), 1e-300)
    return -NormalDist().inv_cdf(chance) / -math.log(chance)


@functools.lru_cache(maxsize=256)
def _noisy(noise: Laplace | Gaussian, delta: Fraction, groups: int, fewest: int) -> NoisyKeys:
    return NoisyKeys.for_delta(
        delta=delta, noise=noise, groups=groups, relation=Relation.ADD_REMOVE, fewest=fewest
    )


def root_down(value: Fraction) -> Fraction:
    """Return a number whose square is at most a positive one, to twelve digits.

    >>> root_down(Fraction(1, 4)), 0 < 2 - root_down(Fraction(2)) ** 2 < 1e-11
    (Fraction(1, 2), True)
    """
    size = value.numerator.bit_length() - value.denominator.bit_length()
    shift = _BITS - size // 2
    scaled = value * Fraction(4) ** shift
    return math.isqrt(math.floor(scaled)) / Fraction(2) ** shift


def dyadic_up(value: Fraction) -> Fraction:
    """Round a positive number up, to twelve digits.

    >>> dyadic_up(Fraction(3, 2)), 0 < dyadic_up(Fraction(1, 3)) - Fraction(1, 3) < 1e-12
    (Fraction(3, 2), True)
    """
    shift = _BITS - (value.numerator.bit_length() - value.denominator.bit_length())
    return math.ceil(value * Fraction(2) ** shift) / Fraction(2) ** shift
