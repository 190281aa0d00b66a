"""Optimal partition selection: show as many groups as epsilon and delta allow.

Trust: kernel.  Proofs are in docs/proofs/mechanisms.md.

Definition.  p(n) is the probability that a group of n units is shown, p(0) = 0.  One unit more is
(epsilon, delta)-private for this one answer if and only if for all n

    p(n + 1) <= e**eps p(n) + delta,    1 - p(n) <= e**eps (1 - p(n + 1)) + delta,

and the same with n and n + 1 exchanged, which holds anyway if p does not fall.
Theorem (key ``optimal-keys``; Desfontaines, Voss, Gipson and Mandayam 2022).  The recursion:

    p(n + 1) = min(e**eps p(n) + delta, 1 - e**-eps (1 - p(n) - delta), 1)

gives the largest of all such p(n), for every n at once.  Every rounding lowers both bounds.

Definition.  A group of n units is shown with probability p(n - fewest + 1), each by its own coin.
Theorem (key ``optimal-keys-loss``).  A unit in at most g groups loses at most g-fold (epsilon,
delta), and 2 g-fold if units are replaced.  k units at once lose at most (k epsilon, delta_k),
delta_k = delta (1 + e**eps + ... + e**((k - 1) eps)), w-fold, with the w of ``key-moves``.
Assumes: all coins come from ``entropy``.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Self, final

import numpy as np
from numpy.typing import NDArray

from discreet.certified import exp_neg
from discreet.errors import OutOfRange
from discreet.exact import Interval, decimal, freeze, probability, whole
from discreet.loss import Approximate, PrivacyLoss, Pure, least_scale
from discreet.loss.parameters import checked_epsilon
from discreet.mechanisms.mechanism import Number, ReferenceLaw, at_confidence, root_complement
from discreet.mechanisms.partition_selection import (
    Counts,
    PartitionSelectionMechanism,
    read_counts,
    read_delta,
    read_selection,
    worst_move,
)
from discreet.noise import SYSTEM, Entropy
from discreet.noise.bernoulli import SIZES, Enclosure, enclosed, flip
from discreet.noise.entropy import checked_entropy
from discreet.units import Relation

_MOST_UNITS: Final = 1 << 20  # probabilities are listed up to this many units
_STEEP: Final = 30.0  # beyond, tanh(epsilon / 2) is 1 as a float
_TINY: Final = 1e-300  # a smaller delta would underflow in the estimate


@final
@dataclass(frozen=True, slots=True, eq=False)
class Chances:
    """The probabilities of 0, 1, 2, ... units in steps of 2**-bits; all are 1 from the last on.

    >>> few = optimal_chances(Fraction(1), Fraction(1, 8))
    >>> [round(float(few.at(n)), 4) for n in range(6)]
    [0.0, 0.125, 0.4648, 0.8491, 0.9905, 1.0]
    """

    parts: tuple[int, ...]
    bits: int
    estimates: NDArray[np.float64]

    @property
    def last(self) -> int:
        """The number of units from which on a group is always shown."""
        return len(self.parts) - 1

    def at(self, units: int) -> Fraction:
        return Fraction(self.parts[min(max(units, 0), self.last)], 1 << self.bits)


@functools.lru_cache(maxsize=8)
def optimal_chances(epsilon: Fraction, delta: Fraction) -> Chances:
    """Follow the recursion until a group is always shown."""
    bits = 64 + (delta.denominator // delta.numerator).bit_length()
    one = 1 << bits
    step = (delta.numerator << bits) // delta.denominator
    fine = bits + 64
    shrink = min(exp_neg(epsilon, fine)[1], 1 << fine)  # e**-eps, or a little more
    parts = [0]
    while parts[-1] < one:
        before = parts[-1]
        grown = (before << fine) // shrink + step
        left = one - before - step
        parts.append(one if left <= 0 else min(grown, one + (-left * shrink >> fine)))
    return Chances(tuple(parts), bits, np.array([part / one for part in parts]))


def halfway(epsilon: Fraction, delta: Fraction) -> float:
    """Estimate the number of units from which on a group is shown more often than not.

    >>> round(halfway(Fraction(1), Fraction(1, 10**6)), 2)
    13.04
    """
    loss, chance = min(float(epsilon), _STEEP), max(float(delta), _TINY)
    rise = math.tanh(loss / 2) * (1 - chance)
    return math.log1p(rise / chance) / loss if rise else 1 / (2 * chance)


def checked_length(epsilon: Fraction, delta: Fraction) -> None:
    """Refuse an epsilon and a delta so small that groups would almost never be shown.

    >>> checked_length(Fraction(1, 100), Fraction(1, 10**9))
    """
    if halfway(epsilon, delta) > _MOST_UNITS / 2:
        raise OutOfRange(
            "epsilon and delta are too small to surely show even a group of "
            f"{_MOST_UNITS} units; give the keys more of the budget, each unit fewer groups, or "
            "list the keys."
        )


_CHUNK: Final = 1 << 19  # groups at a time, to bound memory
_BITS: Final = 128
_MARGIN: Final = 1 - Fraction(1, 1 << 30)  # sums of shares stay below delta in floats too


@final
@dataclass(frozen=True, slots=True, init=False)
class OptimalKeys(PartitionSelectionMechanism[NDArray[np.bool_]]):
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
        """Take the loss of a unit in each of its groups, at most ``groups``.

        A group of ``fewest`` units is shown with probability ``delta``, a smaller one never.
        """
        plan = read_selection(groups=groups, relation=relation, fewest=fewest)
        loss, chance = checked_epsilon(epsilon), read_delta(delta)
        checked_length(loss, chance)
        freeze(self, epsilon=loss, delta=chance, **plan)

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
        """Return the selection that spends a total epsilon and delta on all groups of a unit.

        It shows the smaller groups of two splits: both in equal shares; or half of delta for units
        seen alone, and half for the sum of the losses, which then costs epsilon at this delta.

        >>> keys = OptimalKeys.within(epsilon=1, delta=1e-6, groups=4, relation="add_remove")
        >>> keys.epsilon, keys.loss().epsilon(delta=1e-6) <= 1
        (Fraction(1, 4), True)
        """
        total, chance = checked_epsilon(epsilon), read_delta(delta)
        kind = Relation.read(relation)
        _, places = worst_move(
            distance=1, groups=whole(groups, name="groups", low=1), relation=kind
        )
        half = root_complement(1 - chance / 2, places, _BITS).low

        def loss_at(scale: Fraction) -> PrivacyLoss:
            return Approximate(epsilon=1 / scale, delta=half).power(places)

        splits = [(total / places, chance * _MARGIN / places)]
        if places > 1 and total:
            splits.append((1 / least_scale(loss_at, epsilon=total, delta=chance), half))

        share, part = min(splits, key=lambda split: halfway(*split))
        return cls(epsilon=share, delta=part, groups=groups, relation=relation, fewest=fewest)

    def loss(self, *, distance: Number = 1) -> PrivacyLoss:
        """Return the loss of one selection, ``distance`` steps of the relation apart."""
        steps, places = worst_move(distance=distance, groups=self.groups, relation=self.relation)
        if steps == 0:
            return Pure(epsilon=0)
        once = Approximate(epsilon=self.epsilon, delta=self.delta)
        loss = once if steps == 1 else once.group(steps)
        return loss if places == 1 else loss.profile().power(places).as_one()

    def error(self, *, confidence: Number) -> int:
        """Return r: a group of more than r units is shown with this probability, at least."""
        return self.smallest(at_confidence(confidence)) - 1

    def kept(self, units: int) -> Interval:
        chance = optimal_chances(self.epsilon, self.delta).at(
            whole(units, name="units", low=0) - self.fewest + 1
        )
        return Interval(chance, chance)

    def smallest(self, chance: Number) -> int:
        wanted = probability(decimal(chance, name="chance"), name="chance")
        known = optimal_chances(self.epsilon, self.delta)
        steps = math.ceil(wanted * (1 << known.bits))
        return self.fewest - 1 + bisect.bisect_left(known.parts, steps) if steps else 0

    def run(self, value: Counts, *, entropy: Entropy = SYSTEM) -> NDArray[np.bool_]:
        counts, known = read_counts(value), optimal_chances(self.epsilon, self.delta)
        checked_entropy(entropy)
        hidden = self.fewest - 1
        units = np.clip(counts, hidden, hidden + known.last) - hidden
        shown = np.empty(units.size, np.bool_)
        for start in range(0, units.size, _CHUNK):
            part = units[start : start + _CHUNK]
            shown[start : start + _CHUNK] = _flipped(part, known, entropy)
        return shown

    def reference_pmf(self, value: Counts) -> ReferenceLaw:
        """Return the probability of each tuple of answers, for few groups."""
        chances = [self.kept(max(units, 0)).low for units in read_counts(value).tolist()]
        law: dict[tuple[bool, ...], Interval] = {}
        for answer in itertools.product((False, True), repeat=len(chances)):
            parts = (p if shown else 1 - p for p, shown in zip(chances, answer, strict=True))
            product = math.prod(parts, start=Fraction(1))
            law[answer] = Interval(product, product)
        return law


def _flipped(units: NDArray[np.int64], known: Chances, entropy: Entropy) -> NDArray[np.bool_]:

    def chance(index: int) -> Enclosure:
        return functools.partial(enclosed, known.at(int(units[index])))

    return flip(known.estimates[units], chance, entropy, SIZES)
