"""Permute-and-flip: the better twin of the exponential mechanism.

Trust: public.

Definition.  Permute-and-flip visits the candidates in random order, and returns the first whose
coin of probability exp((u_i - u*) / scale) shows heads, where u* is the best score.
Theorem (key ``permute-and-flip``; McKenna and Sheldon 2020, Permute-and-Flip).  Coins and order
are independent, so the winner is a uniform member of the set of heads, which is never empty: the
best candidate's coin always shows heads.
Theorem (key ``permute-and-flip-privacy``; McKenna and Sheldon 2020).  If no score moves by more
than d, the selection is epsilon-DP with epsilon = 2 d / scale, or d / scale if the scores are
monotone; and its expected error is never above that of the exponential mechanism at the same loss.
Accuracy.  With k candidates and integer scores, the selected score is more than r below the best
with the largest probability when all others are exactly r + 1 below.  The best then wins with
probability E[1 / (1 + H)] for H heads among k - 1 coins of probability x = exp(-(r+1) / scale),
which is the average of (1 - x)**j over j = 0, ..., k - 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from discreet.certified import exp_neg
from discreet.exact import ExactNumber, Interval
from discreet.loss import Pure
from discreet.mechanisms import Exponential
from discreet.mechanisms.exponential import Scores, SelectionMechanism, exact_scores, exp_interval
from discreet.mechanisms.mechanism import (
    Number,
    ReferenceLaw,
    at_confidence,
    enclosed_power,
)
from discreet.noise import SYSTEM, Entropy, Uniform
from discreet.noise.bernoulli import SIZES, CoinSizes, exp_coins
from discreet.noise.distribution import decide_at_most, first_true
from discreet.noise.entropy import checked_entropy
from discreet.noise.selection import exponents, score_gaps


def permute_and_flip(
    *, scores: Scores, rate: ExactNumber, entropy: Entropy = SYSTEM, sizes: CoinSizes = SIZES
) -> int:
    """Return the index of the winner of permute-and-flip.

    >>> permute_and_flip(scores=[0, 10**6, 3], rate=1)
    1
    """
    gaps, unit = score_gaps(scores, rate)
    checked_entropy(entropy)
    heads = exp_coins(exponents(gaps, unit), lambda index: int(gaps[index]) * unit, entropy, sizes)
    standing = np.flatnonzero(heads)
    return int(standing[Uniform(below=standing.size).sample(1, entropy)[0]])


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
        """Return the probability of each candidate: p_i E[1 / (1 + heads among the others)]."""
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
        """Enclose the probability that the selected score is more than r below the best."""
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
    """Return E[1 / (1 + heads)]; it falls in every coin's probability."""
    heads = [Fraction(1)]
    for p in coins:
        stay = [chance * (1 - p) for chance in heads] + [Fraction(0)]
        move = [Fraction(0)] + [chance * p for chance in heads]
        heads = [a + b for a, b in zip(stay, move, strict=True)]
    return sum((chance / (1 + count) for count, chance in enumerate(heads)), Fraction(0))
