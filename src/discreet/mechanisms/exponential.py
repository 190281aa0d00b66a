"""The exponential mechanism.

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
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from discreet.certified import exp_neg, log
from discreet.exact import Interval
from discreet.loss import Profile, ZeroConcentrated
from discreet.loss.pairs.bounded_range import BoundedRangePair
from discreet.mechanisms.candidates import Scores, SelectionMechanism, exact_scores
from discreet.mechanisms.exact_quantiles import BITS
from discreet.mechanisms.mechanism import Number, ReferenceLaw, at_confidence
from discreet.noise import SYSTEM, Entropy, exponential_weights


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
