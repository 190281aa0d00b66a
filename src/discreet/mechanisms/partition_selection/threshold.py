"""Show the groups whose noisy count reaches a threshold, together with that count.

Trust: kernel.

Definition.  A group has a count n, its number of units or of rows, and a unit adds at most ``most``
to it.  Where n >= ``fewest``, noise Z of its own is added, and the group is shown with n + Z, an
estimate of n, if n + Z >= ``threshold``.  Groups that count less than ``fewest`` are hidden,
whatever is drawn.

Theorem (key ``threshold-keys``; the threshold is that of Korolova, Kenthapadi, Mishra and Ntoulas
2009, Releasing Search Queries and Clicks Privately).  Let units be in at most g groups, and M =
``most``.  Between tables one step apart the loss is at most that of the noise on g counts that
move by M, and of a leak that tells everything with the chance of ``threshold-leak`` and nothing
otherwise, independently.  Where units are replaced it is the noise on 2 g counts, and the same
leak.  k steps apart it is the noise on w counts that move by k M, with the w of ``key-moves``, and
the leak of k units.
Proof.  A group that counts ``fewest`` in both tables is a function of n + Z;
one that does in neither is hidden.  Let A be the groups that do only in the first table, B only in
the second.  A is hidden with some chance a in the first table and for sure in the second, B for
sure in the first and with chance b in the second.  So the loss of A and B is infinite with chance
1 - a, where anything of A is seen, and otherwise ln(a / b).  For every e >= 0 their divergence is
1 - a + max(a - e**e b, 0) <= 1 - min(a, b), with the same bound in the other order.  A leak with
that chance has this divergence at every e; and the chance is bounded, since k units at most are in
one of the tables alone, and a group of A or B counts at most ``fewest`` - 1 without those that are
in its own. Noises are independent, so the product dominates (key ``dominating-pair``).
Log-concave noise costs what ``key-moves`` asks (key ``log-concave-moves``). Assumes: all coins
come from ``entropy``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import int64_range
from discreet.errors import OutOfRange
from discreet.exact import Interval, decimal, whole
from discreet.loss import Approximate, PrivacyLoss, Pure
from discreet.mechanisms.additive import Gaussian, Laplace, checked_integer_noise
from discreet.mechanisms.exact_quantiles import decide_at_most, first_true
from discreet.mechanisms.mechanism import Number, ReferenceLaw, at_confidence
from discreet.mechanisms.partition_selection.selection import (
    Counts,
    PartitionSelectionMechanism,
    estimated_distance,
    leak_probability,
    read_counts,
    read_delta,
    read_selection,
    shown_confidence_intervals,
    worst_move,
)
from discreet.noise import SYSTEM, Distribution, Entropy
from discreet.units import Relation

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

    Rows decide, where a unit has up to five of them in a group:

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
        """Take the noise of one count, and from which noisy count on a group is shown.

        Args:
            noise: Laplace or Gaussian noise on integers.
            threshold: the least noisy count that is shown.
            groups: in how many groups a unit is counted, at most.
            relation: who counts as a neighbor.
            fewest: a group that counts less than this is never shown.
            most: how much a unit adds to the count of a group, at most.
        """
        plan = read_selection(groups=groups, relation=relation, fewest=fewest)
        least = int64_range(whole(threshold, name="threshold"), name="threshold")
        share = int64_range(whole(most, name="most", low=1), name="most")
        plan |= {"noise": checked_integer_noise(noise), "threshold": least, "most": share}
        for name, value in plan.items():
            object.__setattr__(self, name, value)

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
        """Return the choice with the smallest threshold, from ``fewest`` on, that leaks no more.

        ``delta`` is the chance that a unit is seen because groups would hardly count without it.
        """
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
        """Bound the chance that this many units show in groups that hardly count without them."""
        distance = self.threshold - self.fewest
        return leak_probability(
            self.noise.law, distance=distance, groups=self.groups, steps=steps, most=self.most
        )

    def loss(self, *, distance: Number = 1) -> PrivacyLoss:
        """Return the loss between tables ``distance`` steps of the relation apart.

        It bounds one choice of keys: noise and leak are not two releases, and the leak of two units
        is more than that of one, twice.
        """
        steps, places = worst_move(distance=distance, groups=self.groups, relation=self.relation)
        if steps == 0:
            return Pure(epsilon=0)
        seen = Approximate(epsilon=0, delta=self.leak(steps=steps))
        noise = self.noise.loss(distance=steps * self.most).power(places)
        return noise.compose(seen).profile().as_one()

    def error(self, *, confidence: Number) -> int:
        """Return the smallest r such that a count is off by at most r, with this probability.

        The count of a hidden group is taken to be 0.  The worst group counts r + 1: it must be
        shown, by noise of at most r.
        """
        missed, law = 1 - at_confidence(confidence), self.noise.law

        def enough(reach: int) -> bool:
            if reach + 1 < self.fewest:
                return False
            least = max(self.threshold - reach - 1, -reach)
            return least <= reach and decide_at_most(_outside(law, least, reach), missed)

        return first_true(enough)

    def kept(self, units: int) -> Interval:
        """Enclose the chance that a group of this count is shown."""
        size = whole(units, name="units", low=0)
        if size < self.fewest:
            return _NONE
        return self.noise.law.survival_bounds(self.threshold - size - 1)

    def smallest(self, chance: Number) -> int:
        """Return how much a group must count to be shown with at least this chance, exactly."""
        above = self.noise.law.quantile(decimal(chance, name="chance"))
        return max(self.fewest, self.threshold + above)  # P[n + Z >= t] = P[Z <= n - t]

    def intervals(
        self, counts: Counts, *, confidence: Number
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return what the true counts of shown groups lie between, each with this probability.

        The probability is that of a group of any given size, given that it is shown.
        """
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
        """Return which groups are shown, and their noisy counts."""
        counts = read_counts(value)
        noisy: NDArray[np.int64] = self.noise.run(counts, entropy=entropy)
        shown = (counts >= self.fewest) & (noisy >= self.threshold)
        return ShownKeys(shown, noisy[shown])

    def reference_pmf(self, value: Counts) -> ReferenceLaw:
        """Return the chance of a tuple of noisy counts, with None for each hidden group."""
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
    """Enclose the chance of less than low, or more than high."""

    def enclose(bits: int) -> Interval:
        below, above = law.cdf_bounds(low - 1, bits), law.survival_bounds(high, bits)
        return Interval(below.low + above.low, below.high + above.high)

    return enclose
