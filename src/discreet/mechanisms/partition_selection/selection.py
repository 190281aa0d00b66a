"""Partition selection: what units can move, what every choice offers, what a threshold leaks.

Trust: kernel.

Definition.  After bounding, each group holds a whole number n of units; a unit is counted once in
each of at most ``groups`` groups.  A choice of keys shows some of the groups and hides the others.
A group with fewer than ``fewest`` units is never shown, whatever is drawn; so one without units,
whose key may be anything, is not even looked at.  A choice may count something else in place of
units, such as rows, of which a unit has up to some number M in each of its groups.

Theorem (key ``key-moves``).  Let tables be k steps of the relation apart, g = ``groups``, s = 1, or
s = 2 where a step can replace a unit.  No more than k units move a count, each by at most M, and
over all groups there are at most k s g such moves.  If moving two groups by a and b costs at most
as much as moving one by a + b, and a longer move no less than a shorter, then every such move costs
at most as much as moving w groups by k M each, for w = s g where k <= 2, and
w = floor(2 k s g / (k + 1)) beyond.
Proof.  A group that j units move, moves by at most j M.  Put these j, none above k, into boxes of
size k, each into the first where it fits.  Any two boxes hold more than k together, or one of them
would not have been opened; so all w of them hold at least w (k + 1) / 2, if there are two, and that
is at most k s g.  Up to k = 2 all boxes but one are full.
Moving s g groups by k would not do: three groups that move by 2 can cost more than two that move by
3, though their sums are equal.

Theorem (key ``threshold-leak``).  Let k units be in at most g groups each, on top of groups that
counted too little to be shown, and let each add up to M = ``most`` to a group.  A group that j of
them enter is seen with chance at most q(j) = P[Z >= distance + 1 - j M], where ``distance`` is that
from the least count that may be shown to the threshold.  Any of the groups is seen with chance at
most

    max(1 - (1 - q(1))**(k g), 1 - (1 - q(k))**g).

Proof.  The noises are independent, so none is seen with the product of 1 - q(j) over all groups,
where the j are at most k and add up to at most k g.  1 - q(j) = F(distance - j M) with the
distribution function F of Z, which is log-concave because the noise is.  So -ln(1 - q(j)) is convex
in j >= 1 and lies below its chord from 1 to k; divided by j, it is largest at one of the two ends.
The sum over all groups is at most k g times that.
"""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, Generic

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange
from discreet.exact import Interval, decimal, float_up, whole
from discreet.mechanisms.additive import integers
from discreet.mechanisms.mechanism import Answer, Mechanism, Number, steps_at
from discreet.noise.two_sided import TwoSidedLaw
from discreet.units import Relation

Counts = Sequence[int] | NDArray[np.integer[Any]]
"""How many units each group holds."""

_MOST_GROUPS: Final = 10**9
_MOST_UNITS: Final = 1 << 62


class PartitionSelectionMechanism(Mechanism[Counts, Answer], Generic[Answer]):
    """A choice of the groups that are shown.

    ``loss(distance=k)`` is that of k steps of the relation, each of which is a unit in at most
    ``groups`` groups.  ``error(confidence=c)`` is about a single group.
    """

    __slots__ = ()

    groups: int
    relation: Relation
    fewest: int

    @abstractmethod
    def kept(self, units: int) -> Interval:
        """Enclose the chance that a group of this many units is shown."""

    @abstractmethod
    def smallest(self, chance: Number) -> int:
        """Return how many units a group needs to be shown with at least this chance, exactly."""

    def expected(self, sizes: Mapping[int, int]) -> Interval:
        """Enclose how many groups are shown on average, given how many there are of each size."""
        low = high = Fraction(0)
        for units, count in sizes.items():
            times, chance = whole(count, name="count", low=0), self.kept(units)
            low, high = low + times * chance.low, high + times * chance.high
        return Interval(low, high)


def read_selection(*, groups: object, relation: object, fewest: object) -> dict[str, object]:
    """Read the parameters that every choice of keys has.

    >>> read_selection(groups=2, relation="add_remove", fewest=1)
    {'groups': 2, 'relation': <Relation.ADD_REMOVE: 'add_remove'>, 'fewest': 1}
    """
    return {
        "groups": whole(groups, name="groups", low=1, high=_MOST_GROUPS),
        "relation": Relation.read(relation),
        "fewest": whole(fewest, name="fewest", low=1, high=_MOST_UNITS),
    }


def read_delta(value: object) -> Fraction:
    """Read the chance that a unit alone in a group may be seen: strictly between zero and one.

    >>> read_delta("1e-6")
    Fraction(1, 1000000)
    """
    chance = decimal(value, name="delta")
    if not 0 < chance < 1:
        raise OutOfRange(
            "delta is not strictly between 0 and 1; give a delta such as 1e-8, far below one over "
            "the number of units."
        )
    return chance


def worst_move(*, distance: Number, groups: int, relation: Relation) -> tuple[int, int]:
    """Return k and b: no move of ``distance`` steps costs more than moving b groups by k each.

    >>> worst_move(distance=1, groups=5, relation=Relation.ADD_REMOVE)
    (1, 5)
    >>> worst_move(distance=3, groups=2, relation=Relation.ADD_REMOVE)
    (3, 3)
    """
    steps = steps_at(distance)
    if relation is Relation.LOCAL:  # any two single units are neighbors
        steps = min(steps, 1)
    places = relation.sides * groups
    return steps, places if steps <= 2 else 2 * steps * places // (steps + 1)


def read_counts(value: object) -> NDArray[np.int64]:
    """Read the number of units of each group.

    >>> read_counts([3, 0, 5])
    array([3, 0, 5])
    """
    counts = integers(value, name="count")
    if isinstance(counts, int) or counts.ndim != 1:
        raise OutOfRange(
            "the counts are not a list; give a list, or a one-dimensional array, of whole numbers."
        )
    return counts


_SPARE: Final = 128
_SURE: Final = 1 - 2.0**-50
_FAINT: Final = 1e-300


def leak_probability(
    law: TwoSidedLaw,
    *,
    distance: int,
    groups: int,
    steps: int = 1,
    most: int = 1,
) -> Fraction:
    """Bound the chance that any group is seen: a float, rounded up.

    >>> from discreet.noise import DiscreteLaplace
    >>> noise = DiscreteLaplace(scale=1)
    >>> float(leak_probability(noise, distance=14, groups=1))
    6.07896203477883e-07
    >>> (leak_probability(noise, distance=14, groups=1, steps=2)
    ...  == leak_probability(noise, distance=13, groups=1))
    True
    >>> (leak_probability(noise, distance=14, groups=1, most=5)
    ...  == leak_probability(noise, distance=10, groups=1))
    True
    """
    units, share = whole(steps, name="steps", low=1), whole(most, name="most", low=1)
    one = _from(law, distance + 1 - share)
    if units == 1:
        return _any_of(groups, one)
    all_ = _from(law, distance + 1 - units * share)
    return max(_any_of(units * groups, one), _any_of(groups, all_))


@functools.lru_cache(maxsize=1024)
def _from(law: TwoSidedLaw, least: int) -> Fraction:
    """Bound the chance of at least this much noise."""
    return law.survival_bounds(least - 1).high


def estimated_distance(law: TwoSidedLaw, *, chance: Fraction, groups: int, most: int = 1) -> int:
    """Estimate the least distance at which no more than a chance leaks, by continuous formulas.

    >>> from discreet.noise import DiscreteLaplace
    >>> estimated_distance(DiscreteLaplace(scale=1), chance=Fraction(1, 10**6), groups=1)
    14
    """
    rare = -math.expm1(math.log1p(-min(float(chance), _SURE)) / groups) or _FAINT
    return max(math.ceil(law.estimated_quantile(max(rare, _FAINT))), 0) + most - 1


def _any_of(count: int, chance: Fraction) -> Fraction:
    """Return 1 - (1 - chance)**count, rounded up to a float."""
    bits = _SPARE + (chance.denominator // chance.numerator).bit_length()
    one = 1 << bits
    result, power, rest = one, one - math.ceil(chance * one), count
    while rest:  # every product is rounded down
        if rest & 1:
            result = result * power >> bits
        power = power * power >> bits
        rest >>= 1
    return Fraction(float_up(Fraction(one - result, one)))
