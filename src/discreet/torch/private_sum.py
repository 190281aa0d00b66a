"""The price of a noisy sum of clipped contributions, the only data-dependent release of a step.

Trust: kernel (T6).

Theorem (key ``gradient-sum``; Higham 2002, Accuracy and Stability, lemma 3.1).  Let unit i
contribute the real vector v_i, which depends on its own rows and on public values alone, and let
c_i be its scale (:mod:`discreet.torch.clipping`).  Add up c_i v_i over at most B units in
float64, with at most n roundings between any product and the total; floor the total to a dyadic
grid; add discrete Gaussian noise.  For two batches that differ by one additional unit, the totals
on the grid differ by less than
    (C + 2 g k B C) / step + sqrt(d)  steps in L2,    g = n u / (1 - n u), u = 2**-53,
so the release is a Gaussian mechanism at that distance (keys ``grid-distance``,
``gaussian-mechanism``).  Proof in docs/proofs/learning.md.  :mod:`discreet.torch.noisy_sum` adds up
and releases.

Further coordinates (:mod:`discreet.torch.side_counts`) make C the root of C**2 + ``beside``.
The part of the distance in excess of C is called slack.

A run releases ``steps`` noisy sums.  For each, every unit enters a fresh sample by itself with
probability ``rate``, a sample is cut to a public cap, and the contributions of the sample are
clipped and added up.  The next step may depend on all sums so far.
Theorem (keys ``poisson-sampling``, ``dominating-pair``, ``capped-batch``).  The run loses no more
than ``steps`` copies of the leaf on a Poisson sample, composed with one release that reveals all
data with probability ``overflow``: the probability that a cap cuts anything in any step.
The leaf is certified for a unit that is added or removed, because a sample has no public size;
the accountant prices ``replace`` from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, final

from discreet.accounting import (
    Contribution,
    Leaf,
    Node,
    Repeat,
    Sampled,
    Sequential,
    Statement,
    account,
)
from discreet.certified import sqrt
from discreet.exact import positive, whole
from discreet.extend import checked_count, checked_rate
from discreet.loss import Approximate
from discreet.mechanisms import Gaussian
from discreet.noise import DiscreteGaussian, DyadicGrid
from discreet.torch.clipping import (
    SINGLE,
    Clipping,
    rounding,
)
from discreet.units import PrivacyUnit, Relation

_MOST_UNITS: Final = 1 << 34
_FLUSHED: Final = Fraction(1, 1 << 50)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateSum:
    """A sum of clipped contributions, and the noise that it is released with.

    Args:
        clipping: what one unit adds at most.
        sigma: the standard deviation of the noise, in the units of the sum.
        coordinates: how many numbers the sum has.
        units: how many units a batch has at most.
        operations: the number of roundings between any product and the total.
        short: how many roundings in float32 come before them, if a contribution has one product in
            each coordinate; none by default (key ``short-sums``).
        beside: the squared L2 norm of what one unit adds to coordinates other than its
            contribution, such as noisy counts that are bought in the same sample.

    >>> one = PrivateSum(clipping=Clipping(bound=1, spread=1), sigma=Fraction(4), coordinates=3,
    ...                  units=100, operations=102)
    >>> 1 < one.distance < 1 + 1e-11
    True
    """

    clipping: Clipping
    sigma: Fraction
    coordinates: int
    units: int
    operations: int
    short: int = 0
    beside: Fraction = field(default=Fraction(0))

    def __post_init__(self) -> None:
        """Refuse sizes that cannot be added up exactly."""
        positive(self.sigma, name="sigma")
        whole(self.coordinates, name="coordinates", low=1)
        whole(self.units, name="units", low=1, high=_MOST_UNITS)
        whole(self.short, name="short", low=0)

    @property
    def grid(self) -> DyadicGrid:
        """At least 2**24 steps in the clipping bound."""
        return DyadicGrid.fine(distance=self.clipping.bound)

    @property
    def slack(self) -> Fraction:
        """What rounding adds to the distance."""
        error = self.clipping.error(units=self.units, operations=self.operations)
        if self.beside:
            error *= self.length / self.clipping.bound
        if self.short:
            error += self._short_error()
        return 2 * error + Fraction(1, 1 << 200)

    def _short_error(self) -> Fraction:
        """Bound what sums in float32 add to the error (key ``short-sums``)."""
        share = rounding(self.short, SINGLE) + 2 * rounding(self.operations)
        flushed = _root_up(Fraction(self.coordinates)) * _FLUSHED
        return self.units * (share * self.clipping.bound + flushed)

    @property
    def distance(self) -> Fraction:
        """How far adding one unit moves the total, before it is floored."""
        return self.length + self.slack

    @property
    def length(self) -> Fraction:
        """The largest norm of a contribution with its side quantities (key ``side-counts``)."""
        if not self.beside:
            return self.clipping.bound
        return _root_up(self.clipping.bound**2 + self.beside)

    @property
    def squared(self) -> int:
        """How far it moves it on the grid: the square, in steps."""
        return self.grid.distance_l2_squared(self.distance, coordinates=self.coordinates)

    @property
    def mechanism(self) -> Gaussian:
        """Discrete Gaussian noise on the grid."""
        return Gaussian(sigma=self.sigma, grid=self.grid)

    @property
    def law(self) -> DiscreteGaussian:
        """The distribution of the noise, in steps."""
        return self.mechanism.law

    def leaf(self, unit: PrivacyUnit) -> Leaf:
        """Return one release, for a composition."""
        return one_sum(
            self.mechanism, distance=self.distance, coordinates=self.coordinates, unit=unit
        )


def _root_up(value: Fraction) -> Fraction:
    """Return the root, rounded up."""
    return Fraction(sqrt(value, 64)[1], 1 << 64)


def one_sum(
    mechanism: Gaussian, *, distance: Fraction, coordinates: int, unit: PrivacyUnit
) -> Leaf:
    """Return the leaf of one noisy sum, which adding a unit to the sample moves by ``distance``.

    >>> from discreet.units import row
    >>> one_sum(Gaussian(sigma=2), distance=Fraction(1), coordinates=5, unit=row()).title()
    'one noisy sum: Gaussian(variance=4)'
    """
    return Leaf(
        mechanism,
        name="one noisy sum",
        unit=_added(unit),
        added=distance,
        coordinates=coordinates,
    )


def tree_of_run(
    leaf: Leaf, *, rate: object, steps: int, unit: PrivacyUnit, overflow: Fraction = Fraction(0)
) -> Node:
    """Return the tree of a run.

    Args:
        leaf: one noisy sum of clipped contributions, as ``one_sum`` makes it.
        rate: the probability with which a unit enters the sample of a step; 1 takes all of them.
        steps: how many sums are released.
        unit: who is protected, and drawn together.
        overflow: the probability that any sample exceeds its cap.

    >>> from discreet.units import person
    >>> patient = person("patient")
    >>> leaf = one_sum(Gaussian(sigma=1), distance=Fraction(1), coordinates=9, unit=patient)
    >>> print(tree_of_run(leaf, rate="0.01", steps=100, unit=patient, overflow=Fraction(1, 10**9)))
    Sequential
    ├── 100 times
    │   └── Sampled at rate 1/100, by person
    │       └── one noisy sum: Gaussian(variance=1)
    └── a batch above its cap: Approximate(epsilon=0, delta=1/1000000000)
    """
    chance = checked_rate(rate)
    one: Node = leaf
    if chance != 1:
        one = Sampled(leaf, rate=chance, unit=unit if unit.columns else None)
    every = Repeat(one, checked_count(steps, name="steps"))
    if not overflow:
        return every
    told = Leaf(
        Approximate(epsilon=0, delta=overflow), name="a batch above its cap", unit=_added(unit)
    )
    return Sequential(every, told)


def statement_of(tree: Node, unit: PrivacyUnit) -> Statement:
    """Account for a run: the largest loss of one unit, for any rows.

    >>> from discreet.units import row
    >>> leaf = one_sum(Gaussian(sigma=10), distance=Fraction(1), coordinates=1, unit=row())
    >>> run = tree_of_run(leaf, rate=1, steps=4, unit=row())
    >>> round(statement_of(run, row()).epsilon(delta=1e-6), 4)
    0.8342
    """
    limits = Contribution(rows=1) if unit.columns else None  # a unit enters as one
    return account(tree, unit=unit, contribution=limits)


def _added(unit: PrivacyUnit) -> PrivacyUnit:
    """Return the unit under add/remove."""
    return PrivacyUnit(name=unit.name, columns=unit.columns, relation=Relation.ADD_REMOVE)
