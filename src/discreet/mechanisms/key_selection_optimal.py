"""Show as many groups as epsilon and delta allow, and nothing else about them.

Trust: kernel.

Definition.  A group of n units is shown with the chance p(n - fewest + 1) of ``optimal-keys``, each
by a coin of its own.
Theorem (key ``optimal-keys-loss``).  A unit in at most g groups loses at most g-fold (epsilon,
delta), and 2 g-fold where units are replaced.  k units at once lose at most (k epsilon, delta_k),
delta_k = delta (1 + e**eps + ... + e**((k - 1) eps)), w-fold, with the w of ``key-moves``.
Proof.  max(n - fewest + 1, 0) moves no more than n.  The coins are independent, and each group that
moves by j is (j epsilon, delta_j)-private (keys ``optimal-keys``, ``group-approximate``), so that
randomized response with these parameters dominates it, and a product of such the product (keys
``randomized-response``, ``dominating-pair``).  Two groups that move by i and j are together
((i + j) epsilon, delta_(i + j))-private, since delta_i + delta_j <= delta_(i + j); so ``key-moves``
applies.
Assumes: all coins come from ``entropy``.
"""

from __future__ import annotations

import bisect
import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Self, final

import numpy as np
from numpy.typing import NDArray

from discreet.exact import Interval, decimal, probability, whole
from discreet.loss import Approximate, PrivacyLoss, Pure
from discreet.loss.limits import checked_epsilon
from discreet.mechanisms.arguments import Number, at_confidence
from discreet.mechanisms.key_selection import (
    Counts,
    KeyMechanism,
    counts_of,
    open_delta,
    read_plan,
    worst_move,
)
from discreet.mechanisms.mechanism import ReferenceLaw
from discreet.mechanisms.quantiles import root_complement
from discreet.noise import SYSTEM, Entropy, Ratio
from discreet.noise.coins import SIZES, Enclosure, flip
from discreet.noise.entropy import checked_entropy
from discreet.units import Relation

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from discreet.mechanisms.key_selection_chances import Chances

__all__ = ["OptimalKeys"]

_CHUNK: Final = 1 << 19
_BITS: Final = 128
_MARGIN: Final = 1 - Fraction(1, 1 << 30)


@final
@dataclass(frozen=True, slots=True, init=False)
class OptimalKeys(KeyMechanism[NDArray[np.bool_]]):
    """Show each group or hide it.

    >>> keys = OptimalKeys(epsilon=1, delta="1e-6", groups=1, relation="add_remove")
    >>> keys.loss()
    Approximate(epsilon=Fraction(1, 1), delta=Fraction(1, 1000000))
    >>> keys.smallest("1/2"), keys.smallest("0.99"), keys.smallest(1)
    (14, 18, 28)
    >>> keys.run([0, 1000, 0, 28])
    array([False,  True, False,  True])
    """

    epsilon: Fraction
    delta: Fraction
    groups: int
    relation: Relation
    fewest: int

    def __init__(
        self,
        *,
        epsilon: Number,
        delta: Number,
        groups: int,
        relation: Relation | str,
        fewest: int = 1,
    ) -> None:
        """Take the loss of a unit in each one of its groups, and in how many it can be.

        Args:
            epsilon: the loss in one group, apart from delta.
            delta: the chance that a group of ``fewest`` units is shown.
            groups: in how many groups a unit is counted, at most.
            relation: who counts as a neighbor.
            fewest: a group with fewer units than this is never shown.
        """
        plan = read_plan(groups=groups, relation=relation, fewest=fewest)
        loss, chance = checked_epsilon(epsilon), open_delta(delta)
        from discreet.mechanisms.key_selection_chances import checked_length  # noqa: PLC0415  rare

        checked_length(loss, chance)
        for name, value in ({"epsilon": loss, "delta": chance} | plan).items():
            object.__setattr__(self, name, value)

    @classmethod
    def within(
        cls,
        *,
        epsilon: Number,
        delta: Number,
        groups: int,
        relation: Relation | str,
        fewest: int = 1,
    ) -> Self:
        """Return the choice of keys that spends a total epsilon and delta on all groups of a unit.

        Of two ways to split them the one that shows smaller groups is taken: epsilon in equal
        shares, with all of delta for units seen alone; or half of delta for the sum of the losses.

        >>> keys = OptimalKeys.within(epsilon=1, delta=1e-6, groups=4, relation="add_remove")
        >>> keys.epsilon, keys.loss().epsilon(delta=1e-6) <= 1
        (Fraction(1, 4), True)
        """
        total, chance = checked_epsilon(epsilon), open_delta(delta)
        kind = Relation.read(relation)
        _, places = worst_move(
            distance=1, groups=whole(groups, name="groups", low=1), relation=kind
        )
        equal = root_complement(1 - chance * _MARGIN, places, _BITS).low
        half = root_complement(1 - chance / 2, places, _BITS).low

        def loss_at(scale: Fraction) -> PrivacyLoss:
            return Approximate(epsilon=1 / scale, delta=half).power(places)

        splits = [(total / places, equal)]
        if places > 1 and total:
            from discreet.loss import least_scale  # noqa: PLC0415  rare

            splits.append((1 / least_scale(loss_at, epsilon=total, delta=chance), half))
        from discreet.mechanisms.key_selection_chances import halfway  # noqa: PLC0415  rare

        share, part = min(splits, key=lambda split: halfway(*split))
        return cls(epsilon=share, delta=part, groups=groups, relation=relation, fewest=fewest)

    def loss(self, *, distance: Number = 1) -> PrivacyLoss:
        """Return the loss between tables so many steps of the relation apart.

        It bounds one choice of keys: which groups move, and how far, is decided for all of them.
        """
        steps, places = worst_move(distance=distance, groups=self.groups, relation=self.relation)
        if steps == 0:
            return Pure(epsilon=0)
        once = Approximate(epsilon=self.epsilon, delta=self.delta)
        each = once if steps == 1 else once.group(steps)
        return each if places == 1 else each.profile().power(places).as_one()

    def error(self, *, confidence: Number) -> int:
        """Return r: a group of more than r units is shown with this probability, at least."""
        return self.smallest(at_confidence(confidence)) - 1

    def kept(self, units: int) -> Interval:
        """Return the chance that a group of so many units is shown, exactly."""
        chance = self._chances().at(whole(units, name="units", low=0) - self.fewest + 1)
        return Interval(chance, chance)

    def smallest(self, chance: Number) -> int:
        """Return how many units a group needs to be shown with at least this chance, exactly."""
        wanted = probability(decimal(chance, name="chance"), name="chance")
        known = self._chances()
        steps = math.ceil(wanted * (1 << known.bits))
        return self.fewest - 1 + bisect.bisect_left(known.parts, steps) if steps else 0

    def run(self, value: Counts, *, entropy: Entropy = SYSTEM) -> NDArray[np.bool_]:
        """Return which groups are shown, given the number of units in each."""
        counts, known = counts_of(value), self._chances()
        checked_entropy(entropy)
        hidden = self.fewest - 1
        units = np.clip(counts, hidden, hidden + known.last) - hidden
        shown = np.empty(units.size, np.bool_)
        for start in range(0, units.size, _CHUNK):
            part = units[start : start + _CHUNK]
            shown[start : start + _CHUNK] = _flipped(part, known, entropy)
        return shown

    def reference_pmf(self, value: Counts) -> ReferenceLaw:
        """Return the chance of each tuple of answers, for few groups."""
        chances = [self.kept(max(units, 0)).low for units in counts_of(value).tolist()]
        law: dict[tuple[bool, ...], Interval] = {}
        for answer in itertools.product((False, True), repeat=len(chances)):
            parts = (p if shown else 1 - p for p, shown in zip(chances, answer, strict=True))
            product = math.prod(parts, start=Fraction(1))
            law[answer] = Interval(product, product)
        return law

    def _chances(self) -> Chances:
        from discreet.mechanisms.key_selection_chances import optimal_chances  # noqa: PLC0415  rare

        return optimal_chances(self.epsilon, self.delta)


def _flipped(units: NDArray[np.int64], known: Chances, entropy: Entropy) -> NDArray[np.bool_]:
    """Flip one coin for each group."""

    def chance(at: int) -> Enclosure:
        return Ratio(known.at(int(units[at]))).enclose

    return flip(known.estimates[units], chance, entropy, SIZES)
