"""Partition selection: which groups may be shown if their keys are private, and empty groups.

Trust: kernel.  Proofs are in docs/proofs/mechanisms.md.

Definition.  After contribution bounding, each group holds an integer number n of units; a unit is
counted once in each of at most ``groups`` groups.  A selection shows some groups and hides the
others.  A group with fewer than ``fewest`` units is never shown, whatever is drawn; so one without
units, whose key may be anything, is not even looked at.  A selection may count something else than
units, such as rows, of which a unit has up to some number M = ``most`` in each of its groups.

Theorem (key ``key-moves``).  Let tables be k steps of the relation apart, g = ``groups``, s = 1, or
s = 2 if a step can replace a unit.  No more than k units move a count, each by at most M, and
over all groups there are at most k s g such moves.  If moving two groups by a and b costs at most
as much as moving one by a + b, and a longer move no less than a shorter, then every such move costs
at most as much as moving w groups by k M each, for w = s g if k <= 2, and
w = floor(2 k s g / (k + 1)) beyond.

Theorem (key ``threshold-leak``).  Let k units be in at most g groups each, on top of groups that
counted too little to be shown.  A group that j of them enter is seen with probability at most
q(j) = P[Z >= distance + 1 - j M], where ``distance`` is that from the least count that may be shown
to the threshold.  Any of the groups is seen with probability at most

    max(1 - (1 - q(1))**(k g), 1 - (1 - q(k))**g).

Definition.  ``NoisyKeys``: if n >= ``fewest``, noise Z of its own is added, and the group is shown
with n + Z, an estimate of n, if n + Z >= ``threshold``.
Theorem (key ``threshold-keys``; the threshold is that of Korolova, Kenthapadi, Mishra and Ntoulas
2009, Releasing Search Queries and Clicks Privately).  Between tables one step apart the loss is at
most that of the noise on g counts that move by M (2 g counts if units are replaced), and of a leak
that reveals everything with the probability of ``threshold-leak`` and nothing otherwise,
independently.  k steps apart it is the noise on w counts that move by k M, with the w of
``key-moves``, and the leak of k units.

Definition.  The interval of y = n + Z holds every n that y does not contradict: neither
P[n + Z >= y | shown] nor P[n + Z <= y | shown] is at most (1 - confidence) / 2.  It is then widened
to hold y itself.
Theorem (key ``shown-interval``).  Given that a group of n units is shown, its interval holds n with
at least the confidence, whatever n is.  From some y on it reaches from y - r to y + r, where r is
the error of the noise alone.

Definition.  There are N groups.  An engine has computed the counts of the *touched* ones; all
others count 0.  Every group gets noise Z of its own, and those with n + Z >= t are shown.
Theorem (key ``zero-groups``; the idea is that of Cormode, Procopiuc, Srivastava and Tran 2012,
Differentially Private Summaries for Sparse Data).  Let p = P[Z >= t], t >= 1.  Flip a coin of
probability p for each of the N groups (key ``rare-coins``), leave out touched groups, and give each
other one whose coin shows heads noise that is drawn beyond t (key ``noise-beyond``).  Together with
the touched groups whose own noisy count reaches t, that has the distribution of all N noisy counts
from t on.  So it loses what the noise loses, and nothing more (key ``post-processing``).

Assumes: all coins come from ``entropy``.
"""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, Generic, Self, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import INT64_MAX, int64_range, saturating_add
from discreet.errors import OutOfRange
from discreet.exact import Interval, decimal, float_up, freeze, whole
from discreet.loss import Approximate, PrivacyLoss, Pure
from discreet.mechanisms.additive import Gaussian, Laplace, checked_integer_noise, integers
from discreet.mechanisms.mechanism import (
    Answer,
    Mechanism,
    Number,
    ReferenceLaw,
    at_confidence,
    steps_at,
    two_sided_quantile,
)
from discreet.noise import SYSTEM, Distribution, Entropy
from discreet.noise.decay import log_of
from discreet.noise.distribution import decide_at_most, first_true
from discreet.noise.laplace import TwoSidedLaw
from discreet.noise.tablefree import SIZES, FreeSizes, rare_heads
from discreet.units import Relation

Counts = Sequence[int] | NDArray[np.integer[Any]]
"""How many units each group holds."""

_MOST_GROUPS: Final = 10**9
_MOST_UNITS: Final = 1 << 62  # counts are integers of 64 bits


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
        """Enclose the probability that a group of this many units is shown."""

    @abstractmethod
    def smallest(self, chance: Number) -> int:
        """Return the fewest units with which a group is shown with this probability, exactly."""


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
    """Read the probability that a unit alone in a group may be seen: strictly between zero and one.

    >>> read_delta("1e-6")
    Fraction(1, 1000000)
    """
    chance = decimal(value, name="delta")
    if not 0 < chance < 1:
        raise OutOfRange(
            "delta must be strictly between 0 and 1, and far below one over the number of units."
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
        raise OutOfRange("counts must be a list, or a one-dimensional array, of integers.")
    return counts


_SPARE: Final = 128  # bits of precision below the first digit of a probability
_SURE: Final = 1 - 2.0**-50  # keeps log1p of its negative finite
_FAINT: Final = 1e-300  # keeps the estimate of a quantile finite


def leak_probability(
    law: TwoSidedLaw, *, distance: int, groups: int, steps: int = 1, most: int = 1
) -> Fraction:
    """Bound the probability that any group is seen: a float, rounded up.

    >>> from discreet.noise import DiscreteLaplace
    >>> noise = DiscreteLaplace(scale=1)
    >>> float(leak_probability(noise, distance=14, groups=1))
    6.07896203477883e-07
    >>> (leak_probability(noise, distance=14, groups=1, steps=2)
    ...  == leak_probability(noise, distance=13, groups=1))
    True
    """
    units, share = whole(steps, name="steps", low=1), whole(most, name="most", low=1)
    one = _from(law, distance + 1 - share)
    if units == 1:
        return any_of(groups, one)
    all_ = _from(law, distance + 1 - units * share)
    return max(any_of(units * groups, one), any_of(groups, all_))


@functools.lru_cache(maxsize=1024)
def _from(law: TwoSidedLaw, least: int) -> Fraction:
    """Bound the probability of at least this much noise."""
    return law.survival_bounds(least - 1).high


def estimated_distance(law: TwoSidedLaw, *, chance: Fraction, groups: int, most: int = 1) -> int:
    """Estimate the least distance at which at most ``chance`` leaks, by continuous formulas.

    >>> from discreet.noise import DiscreteLaplace
    >>> estimated_distance(DiscreteLaplace(scale=1), chance=Fraction(1, 10**6), groups=1)
    14
    """
    rare = -math.expm1(math.log1p(-min(float(chance), _SURE)) / groups) or _FAINT
    return max(math.ceil(law.estimated_quantile(max(rare, _FAINT))), 0) + most - 1


def any_of(count: int, chance: Fraction) -> Fraction:
    """Return 1 - (1 - chance)**count, rounded up to a float.

    >>> any_of(2, Fraction(1, 2))
    Fraction(3, 4)
    """
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
    """The distribution of what is shown, and the probability on either side that is left out."""

    law: TwoSidedLaw
    threshold: int
    fewest: int
    tail: Fraction

    def interval(self, count: int) -> tuple[int, int]:
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
        """Return True if this few units rarely give such a count, or a larger one."""
        return self._rarely(count - units, units, self.tail)

    def _too_many(self, units: int, count: int) -> bool:
        """Return True if this many units rarely give such a count, or a smaller one."""
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


_MOST_EMPTY: Final = 1 << 62  # numbers of groups are integers of 64 bits
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
        count = whole(groups, name="groups", low=1, high=_MOST_EMPTY)
        freeze(self, noise=checked_integer_noise(noise), threshold=least, groups=count)

    def chance(self, bits: int = _BITS) -> Interval:
        """Enclose the probability that one empty group is shown."""
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
        self, touched: NDArray[np.int64], *, entropy: Entropy = SYSTEM, sizes: FreeSizes = SIZES
    ) -> ShownEmptyGroups:
        """Return the groups that are shown though they are empty: none of those touched."""
        places = rare_heads(coins=self.groups, chance=self.chance, entropy=entropy, sizes=sizes)
        counts = self._law().beyond(self.threshold, places.size, entropy, sizes=sizes)
        empty = ~np.isin(places, touched)
        return ShownEmptyGroups(places[empty], counts[empty])

    def _law(self) -> TwoSidedLaw:
        return self.noise.law


_NONE = Interval(Fraction(0), Fraction(0))


@final
@dataclass(frozen=True, slots=True, eq=False)
class ShownKeys:
    """Which groups are shown, and the noisy counts of those, in the same order."""

    shown: NDArray[np.bool_]
    counts: NDArray[np.int64]


@final
@dataclass(frozen=True, slots=True, init=False)
class NoisyKeys(PartitionSelectionMechanism[ShownKeys]):
    """Show the groups whose noisy count reaches a threshold.

    >>> noise = Laplace(scale=1)
    >>> keys = NoisyKeys.for_delta(delta="1e-6", noise=noise, groups=1, relation="add_remove")
    >>> keys.threshold, keys.leak() <= Fraction(1, 10**6)
    (15, True)
    >>> keys.loss().epsilon(delta="1e-6") <= 1, keys.smallest("0.99")
    (True, 19)
    >>> answer = keys.run([0, 1000, 0])
    >>> answer.shown, answer.counts.shape
    (array([False,  True, False]), (1,))

    Rows decide, if a unit has up to five of them in a group:

    >>> rows = NoisyKeys.for_delta(
    ...     delta="1e-6", noise=Laplace(scale=5), groups=1, relation="add_remove", most=5)
    >>> rows.threshold, rows.loss().epsilon(delta="1e-6") <= 1
    (72, True)
    """

    noise: Laplace | Gaussian
    threshold: int
    groups: int
    relation: Relation
    fewest: int
    most: int

    def __init__(  # noqa: PLR0913  what is counted, and how it is hidden
        self,
        *,
        noise: Laplace | Gaussian,
        threshold: int,
        groups: int,
        relation: Relation | str,
        fewest: int = 1,
        most: int = 1,
    ) -> None:
        """Take the noise of one count, and the least noisy count that is shown.

        A unit is counted in at most ``groups`` groups and adds at most ``most`` to each; a group
        that counts less than ``fewest`` is never shown.
        """
        plan = read_selection(groups=groups, relation=relation, fewest=fewest)
        least = int64_range(whole(threshold, name="threshold"), name="threshold")
        share = int64_range(whole(most, name="most", low=1), name="most")
        plan |= {"noise": checked_integer_noise(noise), "threshold": least, "most": share}
        freeze(self, **plan)

    @classmethod
    def for_delta(  # noqa: PLR0913  as above
        cls,
        *,
        delta: Number,
        noise: Laplace | Gaussian,
        groups: int,
        relation: Relation | str,
        fewest: int = 1,
        most: int = 1,
    ) -> Self:
        """Return the selection with the smallest threshold that leaks with probability delta."""
        chance = read_delta(delta)
        plan = {"groups": groups, "relation": relation, "fewest": fewest, "most": most}
        start = cls(noise=noise, threshold=0, **plan)  # type: ignore[arg-type]
        law = start.noise.law
        distance = first_true(
            lambda d: (
                leak_probability(law, distance=d, groups=start.groups, most=start.most) <= chance
            ),
            near=estimated_distance(law, chance=chance, groups=start.groups, most=start.most),
        )
        return replace(start, threshold=start.fewest + distance)

    def leak(self, *, steps: int = 1) -> Fraction:
        """Bound the probability that this many units show in groups too small without them."""
        distance = self.threshold - self.fewest
        return leak_probability(
            self.noise.law, distance=distance, groups=self.groups, steps=steps, most=self.most
        )

    def loss(self, *, distance: Number = 1) -> PrivacyLoss:
        """Return the loss between tables ``distance`` steps of the relation apart, as one release.

        The leak of two units is more than twice that of one.
        """
        steps, places = worst_move(distance=distance, groups=self.groups, relation=self.relation)
        if steps == 0:
            return Pure(epsilon=0)
        seen = Approximate(epsilon=0, delta=self.leak(steps=steps))
        noise = self.noise.loss(distance=steps * self.most).power(places)
        return noise.compose(seen).profile().as_one()

    def error(self, *, confidence: Number) -> int:
        """Return the smallest r such that a count is off by at most r, with this probability.

        A hidden group counts 0.  The worst group counts r + 1, and must be shown by noise up to r.
        """
        missed, law = 1 - at_confidence(confidence), self.noise.law

        def enough(reach: int) -> bool:
            if reach + 1 < self.fewest:
                return False
            least = max(self.threshold - reach - 1, -reach)
            return least <= reach and decide_at_most(_outside(law, least, reach), missed)

        return first_true(enough)

    def kept(self, units: int) -> Interval:
        size = whole(units, name="units", low=0)
        if size < self.fewest:
            return _NONE
        return self.noise.law.survival_bounds(self.threshold - size - 1)

    def smallest(self, chance: Number) -> int:
        """Return the least count with which a group is shown with this probability, exactly."""
        above = self.noise.law.quantile(decimal(chance, name="chance"))
        return max(self.fewest, self.threshold + above)  # P[n + Z >= t] = P[Z <= n - t]

    def intervals(
        self, counts: Counts, *, confidence: Number
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return confidence intervals of the counts of shown groups, given that they are shown."""
        noisy = read_counts(counts)
        if noisy.min(initial=self.threshold) < self.threshold:
            raise OutOfRange("a count is below the threshold; give the counts that run returned.")
        return shown_confidence_intervals(
            noisy,
            law=self.noise.law,
            threshold=self.threshold,
            fewest=self.fewest,
            confidence=at_confidence(confidence),
        )

    def run(self, value: Counts, *, entropy: Entropy = SYSTEM) -> ShownKeys:
        counts = read_counts(value)
        noisy: NDArray[np.int64] = self.noise.run(counts, entropy=entropy)
        shown = (counts >= self.fewest) & (noisy >= self.threshold)
        return ShownKeys(shown, noisy[shown])

    def reference_pmf(self, value: Counts) -> ReferenceLaw:
        """Return the probability of a tuple of noisy counts, with None for each hidden group."""
        units, law = read_counts(value).tolist(), self.noise.law

        def chance(outcome: Sequence[int | None]) -> Interval:
            pairs = zip(outcome, units, strict=True)
            return Interval.product(self._chance(y, n, law) for y, n in pairs)

        return chance

    def _chance(self, outcome: int | None, units: int, law: Distribution) -> Interval:
        if outcome is None:
            shown = self.kept(max(units, 0))
            return Interval(1 - shown.high, 1 - shown.low)
        if units < self.fewest or outcome < self.threshold:
            return _NONE
        return law.pmf_bounds(outcome - units)


def _outside(law: Distribution, low: int, high: int) -> Callable[[int], Interval]:
    """Enclose the probability of less than low, or more than high."""

    def enclose(bits: int) -> Interval:
        below, above = law.cdf_bounds(low - 1, bits), law.survival_bounds(high, bits)
        return Interval(below.low + above.low, below.high + above.high)

    return enclose
