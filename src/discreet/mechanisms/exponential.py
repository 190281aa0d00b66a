"""The exponential mechanism, and its better twin permute-and-flip.

Trust: kernel.

Definition.  The exponential mechanism selects candidate i with probability proportional to
exp(u_i / scale), where u_i is its score.
Theorem (key ``exponential-mechanism``; McSherry and Talwar 2007; Dong, Durfee and Rogers 2020).
If no score moves by more than d, the log-ratio of two laws has a range of at most
epsilon = 2 d / scale, or d / scale if the scores are monotone.  So the selection is epsilon-DP; as
a mechanism of bounded range it is dominated by one pair of laws (key ``bounded-range-pair``), and
satisfies (epsilon**2 / 8)-zCDP (Cesar and Rogers 2021).  The loss knows both, and a composition
costs no more than either says (key ``two-bounds``).
No smaller pure epsilon holds for all scores; no single pair of score vectors attains it.
Accuracy.  With k candidates and integer scores, the selected score is more than r below the best
with the largest probability when all others are exactly r + 1 below: (k-1) x / (1 + (k-1) x) with
x = exp(-(r+1) / scale).  It grows with k: more candidates cost accuracy.

Definition.  Permute-and-flip visits the candidates in random order, and returns the first whose
coin of chance exp((u_i - u*) / scale) shows heads, where u* is the best score.
Theorem (key ``permute-and-flip-privacy``; McKenna and Sheldon 2020).  If no score moves by more
than d, the selection is epsilon-DP with epsilon = 2 d / scale, or d / scale if the scores are
monotone; and its expected error is never above that of the exponential mechanism at the same loss.
Accuracy.  With k candidates and integer scores, the selected score is more than r below the best
with the largest probability when all others are exactly r + 1 below.  The best then wins with
probability E[1 / (1 + H)] for H heads among k - 1 coins of chance x = exp(-(r+1) / scale), which is
the average of (1 - x)**j over j = 0, ..., k - 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from discreet.certified import exp_neg, log
from discreet.exact import Interval
from discreet.loss import Profile, Pure, ZeroConcentrated
from discreet.loss.pairs.bounded_range import BoundedRangePair
from discreet.mechanisms.candidates import Scores, SelectionMechanism, exact_scores
from discreet.mechanisms.exact_quantiles import BITS, decide_at_most, enclosed_power, first_true
from discreet.mechanisms.mechanism import Number, ReferenceLaw, at_confidence
from discreet.noise import SYSTEM, Entropy, exponential_weights, permute_and_flip


@final
@dataclass(frozen=True, slots=True, init=False)
class Exponential(SelectionMechanism[int]):
    """Select a candidate, better ones exponentially more often.

    >>> choose = Exponential(candidates=4, scale=2)
    >>> choose.loss(distance=1).epsilon(delta=0)
    1.0
    >>> round(choose.loss(distance=1).power(10).epsilon(delta=1e-6), 3)
    8.116
    >>> round(Exponential(candidates=4, scale=20).loss().power(100).epsilon(delta=1e-6), 3)
    2.419
    >>> choose.concentrated(distance=1)
    ZeroConcentrated(rho=Fraction(1, 8))
    >>> choose.error(confidence=0.95)
    8
    >>> choose.run([3, 2, 10**6, -1])
    2
    """

    def loss(self, *, distance: Number = 1) -> Profile:
        """Return the loss between scores that differ by at most this much each."""
        return Profile.of_symmetric(BoundedRangePair(self._range(distance)))

    def concentrated(self, *, distance: Number = 1) -> ZeroConcentrated:
        """Return the zCDP loss of a mechanism of bounded range, which ``loss`` knows as well."""
        return ZeroConcentrated(rho=self._range(distance) ** 2 / 8)

    def error(self, *, confidence: Number) -> int:
        """Return how far the selected score is below the best, at most, for integer scores."""
        chance = at_confidence(confidence)
        odds = chance * (self.candidates - 1) / (1 - chance)
        return max(0, _ceil_log(odds, self.scale) - 1) if odds > 1 else 0

    def run(self, value: Scores, *, entropy: Entropy = SYSTEM) -> int:
        """Return the index of the selected candidate."""
        scores = exact_scores(value, candidates=self.candidates)
        return exponential_weights(scores=scores, rate=1 / self.scale, entropy=entropy)

    def reference_pmf(self, value: Scores) -> ReferenceLaw:
        """Return the chance of each candidate."""
        scores = exact_scores(value, candidates=self.candidates)
        best = max(scores)
        scaled = [exp_interval((best - score) / self.scale) for score in scores]
        zero = Fraction(0)
        total = Interval(sum((w.low for w in scaled), zero), sum((w.high for w in scaled), zero))
        return {
            index: Interval(
                w.low / (w.low + total.high - w.high), w.high / (w.high + total.low - w.low)
            )
            for index, w in enumerate(scaled)
        }


def exp_interval(exponent: Fraction) -> Interval:
    """Enclose exp(-x) for x >= 0, closely even where it is tiny.

    >>> exp_interval(Fraction(0))
    Interval(low=Fraction(1, 1), high=Fraction(1, 1))
    """
    bits = 2 * BITS + math.ceil(2 * exponent)
    low, high = exp_neg(exponent, bits)
    return Interval(Fraction(low, 1 << bits), min(Fraction(1), Fraction(high, 1 << bits)))


def _ceil_log(odds: Fraction, scale: Fraction) -> int:
    """Return the smallest integer that is at least scale * ln(odds), for odds above 1."""
    bits = BITS
    while True:
        low, high = (math.ceil(scale * Fraction(end, 1 << bits)) for end in log(odds, bits))
        if low == high:
            return low
        bits *= 2


@final
@dataclass(frozen=True, slots=True, init=False)
class PermuteAndFlip(SelectionMechanism[int]):
    """Select a candidate, better ones exponentially more often, and the best more often still.

    >>> choose = PermuteAndFlip(candidates=4, scale=2)
    >>> choose.loss(distance=1)
    Pure(epsilon=Fraction(1, 1))
    >>> choose.error(confidence=0.95)
    6
    >>> choose.run([3, 2, 10**6, -1])
    2
    """

    def loss(self, *, distance: Number = 1) -> Pure:
        """Return the pure loss between scores that differ by at most this much each."""
        return Pure(epsilon=self._range(distance))

    def error(self, *, confidence: Number) -> int:
        """Return how far the selected score is below the best, at most, for integer scores."""
        chance = at_confidence(confidence)
        if self.candidates == 1:
            return 0
        never_above = Exponential(candidates=self.candidates, scale=self.scale)
        return first_true(
            lambda r: decide_at_most(lambda bits: self._miss(r, bits), 1 - chance),
            high=never_above.error(confidence=chance),
        )

    def run(self, value: Scores, *, entropy: Entropy = SYSTEM) -> int:
        """Return the index of the selected candidate."""
        scores = exact_scores(value, candidates=self.candidates)
        return permute_and_flip(scores=scores, rate=1 / self.scale, entropy=entropy)

    def reference_pmf(self, value: Scores) -> ReferenceLaw:
        """Return the chance of each candidate: p_i E[1 / (1 + heads among the others)]."""
        scores = exact_scores(value, candidates=self.candidates)
        best = max(scores)
        coins = [exp_interval((best - score) / self.scale) for score in scores]
        law = {}
        for index, coin in enumerate(coins):
            others = coins[:index] + coins[index + 1 :]
            law[index] = Interval(
                coin.low * _mean_share([other.high for other in others]),
                coin.high * _mean_share([other.low for other in others]),
            )
        return law

    def _miss(self, r: int, bits: int) -> Interval:
        """Enclose the chance that the selected score is more than r below the best."""
        exponent = (r + 1) / self.scale
        scale = bits + 2 * self.candidates.bit_length() + 2 * math.ceil(2 * exponent)
        low, high = exp_neg(exponent, scale)
        return Interval(
            1 - self._average(low, scale).high, 1 - self._average(min(high, 1 << scale), scale).low
        )

    def _average(self, x: int, scale: int) -> Interval:
        """Enclose the average of (1 - x)**j, that is (1 - (1 - x)**k) / (k x)."""
        one, k = 1 << scale, self.candidates
        if x == 0:
            return Interval(Fraction(1), Fraction(1))
        low, high = enclosed_power(one - x, one - x, k, scale)
        return Interval(Fraction(one - high, k * x), min(Fraction(1), Fraction(one - low, k * x)))


def _mean_share(coins: Sequence[Fraction]) -> Fraction:
    """Return E[1 / (1 + heads)]; it falls in every coin's chance."""
    heads = [Fraction(1)]
    for p in coins:
        stay = [chance * (1 - p) for chance in heads] + [Fraction(0)]
        move = [Fraction(0)] + [chance * p for chance in heads]
        heads = [a + b for a, b in zip(stay, move, strict=True)]
    return sum((chance / (1 + count) for count, chance in enumerate(heads)), Fraction(0))
