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

Between what a count lies that is shown only because it reached a threshold.

Intervals are functions of what is released.

Definition.  y = n + Z is shown if y >= threshold, for n >= fewest.  The interval of y holds every n
that y does not contradict: neither P[n + Z >= y | shown] nor P[n + Z <= y | shown] is at most
(1 - confidence) / 2.  It is then widened to hold y itself.
Theorem (key ``shown-interval``).  Given that a group of n units is shown, its interval holds n with
at least the confidence, whatever n is.  From some y on it reaches from y - r to y + r, where r is
the error of the noise alone.
Proof.  Under a law an outcome whose tail has chance at most t occurs with chance at most t, on
either side.  Log-concave noise, cut off at the threshold, has likelihood ratios that rise with y
for larger n; so the first tail rises with n, the second falls, and what remains is an interval.
With n = y - d the tails are quotients by P[Z >= threshold - y + d], which rises to 1 with y.

The empty ones among very many groups whose noise alone reaches a threshold.

Whoever could tell a sampled group from a computed one would know that it is empty.

Definition.  There are N groups.  Some are *touched*: an engine has computed their counts.
All others count 0.  Every group gets noise Z of its own, and those with n + Z >= t are shown.
Theorem (key ``zero-groups``; the idea is that of Cormode, Procopiuc, Srivastava and Tran 2012,
Differentially Private Summaries for Sparse Data).  Let p = P[Z >= t].  Flip a coin of chance p for
each of the N groups (key ``rare-coins``), leave out touched groups, and give each other one whose
coin shows heads noise that is drawn beyond t (key ``noise-beyond``).  Together with the touched
groups whose own noisy count reaches t, that has the law of all N noisy counts, of which those
below t are left out.  So it loses what the noise loses, and nothing more (key
``post-processing``).  Whatever else is drawn for a group, independently of its Z, may be drawn
after.
Proof.  Noise is independent across groups.  A group that counts 0 is shown with chance p,
and its count then has the law of Z given Z >= t.  Coins of touched groups are independent of all
others, so that leaving them out changes no other group. Assumes: t >= 1; all coins come from
``entropy``.

The number of coins that are looked at, and of draws beyond t, depends on N and p alone, and not on
which groups are touched.  Touched groups take time each, here as in an engine: that tells about
how many there are to whoever can measure it, as it does where groups are private.
"""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Generic, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import INT64_MAX, saturating_add
from discreet.errors import OutOfRange
from discreet.exact import Interval, decimal, float_up, whole
from discreet.mechanisms.additive import Gaussian, Laplace, checked_integer_noise, integers
from discreet.mechanisms.exact_quantiles import decide_at_most, first_true, two_sided_quantile
from discreet.mechanisms.mechanism import Answer, Mechanism, Number, steps_at
from discreet.noise import SYSTEM, Entropy
from discreet.noise.chance import log_of
from discreet.noise.rare_events import rare_heads
from discreet.noise.tablefree import SIZES, FreeSizes
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


def shown_confidence_intervals(
    counts: NDArray[np.int64],
    *,
    law: TwoSidedLaw,
    threshold: int,
    fewest: int,
    confidence: Fraction,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ends of the intervals of noisy counts that are shown.

    >>> from discreet.noise import DiscreteLaplace
    >>> low, high = shown_confidence_intervals(
    ...     np.array([10, 15, 90]),
    ...     law=DiscreteLaplace(scale=2),
    ...     threshold=10,
    ...     fewest=1,
    ...     confidence=Fraction(9, 10),
    ... )
    >>> low.tolist(), high.tolist()
    ([1, 1, 85], [13, 19, 95])
    """
    shown = ThresholdedLaw(law, threshold, fewest, (1 - confidence) / 2)
    reach = two_sided_quantile(law, confidence, 1)
    spread = np.full(counts.shape, reach, np.int64)
    low, high = saturating_add(counts, -spread), saturating_add(counts, spread)
    settled = threshold + first_true(lambda extra: shown.settled(threshold + extra, reach))
    near = counts < settled
    values, places = np.unique(counts[near], return_inverse=True)
    ends = np.array([shown.interval(count) for count in values.tolist()], np.int64).reshape(-1, 2)
    low[near], high[near] = ends[places].T
    return np.maximum(low, fewest), np.maximum(high, fewest)


@final
@dataclass(frozen=True, slots=True)
class ThresholdedLaw:
    """The law of what is shown, and the chance on either side that is left out."""

    law: TwoSidedLaw
    threshold: int
    fewest: int
    tail: Fraction

    def interval(self, count: int) -> tuple[int, int]:
        """Return the interval of one noisy count."""
        top = max(count, self.fewest)
        low = self.fewest + first_true(
            lambda more: not self._too_few(self.fewest + more, count), high=top - self.fewest
        )
        more = first_true(lambda more: self._too_many(top + more, count))
        return low, max(top, top + more - 1)

    def settled(self, count: int, reach: int) -> bool:
        """Say whether the interval is that of the noise alone, from this count on."""
        return self._too_few(count - reach - 1, count) and not self._too_many(count + reach, count)

    def _too_few(self, units: int, count: int) -> bool:
        """Say whether so few units hardly ever give such a count, or a larger one."""
        return self._rarely(count - units, units, self.tail)

    def _too_many(self, units: int, count: int) -> bool:
        """Say whether this many units hardly ever give such a count, or a smaller one."""
        return not self._rarely(count + 1 - units, units, 1 - self.tail)

    def _rarely(self, least: int, units: int, share: Fraction) -> bool:
        """Say whether P[Z >= least] <= share * P[shown]; by logarithms, at any depth."""

        def enclose(bits: int) -> Interval:
            upper = _log_tail(self.law, least, bits)
            shown = _log_tail(self.law, self.threshold - units, bits)
            part = log_of(Interval(share, share), bits)
            low, high = upper.low - shown.high - part.high, upper.high - shown.low - part.low
            return Interval(low, high)

        return decide_at_most(enclose, Fraction(0))


@functools.lru_cache(maxsize=1 << 14)
def _log_tail(law: TwoSidedLaw, least: int, bits: int) -> Interval:
    return law.log_survival_bounds(least - 1, bits)


_MOST: Final = 1 << 62  # numbers of groups are integers of 64 bits
_BITS: Final = 64


@final
@dataclass(frozen=True, slots=True, eq=False)
class ShownEmptyGroups:
    """The numbers of empty groups that are shown, from the lowest on, and their noisy counts."""

    places: NDArray[np.int64]
    counts: NDArray[np.int64]


@final
@dataclass(frozen=True, slots=True, init=False)
class EmptyGroups:
    """Show empty groups whose noise reaches a threshold.

    >>> zeros = EmptyGroups(noise=Laplace(scale=2), threshold=40, groups=10**9)
    >>> round(float(zeros.expected().high), 3), zeros.least(10)
    (1.283, 36)
    >>> shown = zeros.run(np.array([5, 10**9 - 1]))
    >>> bool((shown.counts >= 40).all()), shown.places.shape == shown.counts.shape
    (True, True)
    """

    noise: Laplace | Gaussian
    threshold: int
    groups: int

    def __init__(self, *, noise: Laplace | Gaussian, threshold: int, groups: int) -> None:
        """Take the noise of every group, what it has to reach, and how many groups there are."""
        least = whole(threshold, name="threshold", low=1, high=INT64_MAX)
        count = whole(groups, name="groups", low=1, high=_MOST)
        object.__setattr__(self, "noise", checked_integer_noise(noise))
        object.__setattr__(self, "threshold", least)
        object.__setattr__(self, "groups", count)

    def chance(self, bits: int = _BITS) -> Interval:
        """Enclose the chance that one empty group is shown."""
        return self._law().survival_bounds(self.threshold - 1, bits)

    def expected(self) -> Interval:
        """Enclose how many groups are shown on average, if all of them are empty."""
        chance = self.chance()
        return Interval(self.groups * chance.low, self.groups * chance.high)

    def least(self, most: int) -> int:
        """Return the exact least threshold at which at most ``most`` are shown on average."""
        if most >= self.groups:
            return 1
        return max(1, self._law().quantile(1 - Fraction(most, self.groups)) + 1)

    def run(
        self,
        touched: NDArray[np.int64],
        *,
        entropy: Entropy = SYSTEM,
        sizes: FreeSizes = SIZES,
    ) -> ShownEmptyGroups:
        """Return the groups that are shown though they are empty: none of those touched."""
        places = rare_heads(coins=self.groups, chance=self.chance, entropy=entropy, sizes=sizes)
        counts = self._law().beyond(self.threshold, places.size, entropy, sizes=sizes)
        empty = ~np.isin(places, touched)
        return ShownEmptyGroups(places[empty], counts[empty])

    def _law(self) -> TwoSidedLaw:
        return self.noise.law
