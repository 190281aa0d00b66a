"""The exponential mechanism.

Trust: kernel.

Definition.  The exponential mechanism selects candidate i with probability proportional to
exp(u_i / scale), where u_i is its score.  The distance of two score vectors is the largest change
of any one score.  Scores are ``MONOTONE`` if between neighbors they all move in one direction, as
counts do when a row is added or removed; otherwise they are ``GENERAL``.
Theorem (key ``exponential-mechanism``; McSherry and Talwar 2007; Dong, Durfee and Rogers 2020).
If no score moves by more than d, the log-ratio of two distributions has a range of at most
epsilon = 2 d / scale, or d / scale if the scores are monotone.  So the selection is epsilon-DP; as
a mechanism of bounded range it is dominated by one pair (key ``bounded-range-pair``), and satisfies
(epsilon**2 / 8)-zCDP (Cesar and Rogers 2021).  The loss knows both, and a composition costs no more
than either says (key ``two-bounds``).  No smaller pure epsilon holds for all scores.
Accuracy.  With k candidates and integer scores, the selected score is more than r below the best
with the largest probability when all others are exactly r + 1 below: (k-1) x / (1 + (k-1) x) with
x = exp(-(r+1) / scale).  It grows with k: more candidates cost accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, Generic, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import listed
from discreet.certified import exp_neg, log
from discreet.errors import NotExact, OutOfRange, WrongKind
from discreet.exact import Interval, decimal, freeze, positive, whole
from discreet.loss import Profile, ZeroConcentrated
from discreet.loss.pure_pairs import BoundedRangePair
from discreet.mechanisms.mechanism import (
    Answer,
    Mechanism,
    Number,
    ReferenceLaw,
    at_confidence,
    at_distance,
)
from discreet.noise import SYSTEM, Entropy, exponential_weights
from discreet.noise.distribution import BITS

Scores = Sequence[int] | Sequence[Fraction] | NDArray[np.integer[Any]]
"""One score for each candidate: integers, or Fractions."""


@final
class ScoreChange(Enum):
    """How scores move between neighbors.

    >>> ScoreChange.GENERAL.sides, ScoreChange.MONOTONE.sides
    (2, 1)
    """

    GENERAL = "general"
    MONOTONE = "monotone"

    @property
    def sides(self) -> int:
        """How far apart the changes of two scores can be, in units of the distance."""
        return 2 if self is ScoreChange.GENERAL else 1


@dataclass(frozen=True, slots=True, init=False)
class SelectionMechanism(Mechanism[Scores, Answer], Generic[Answer]):
    """A choice among public candidates, better ones exponentially more often."""

    candidates: int
    scale: Fraction
    change: ScoreChange

    def __init__(
        self, *, candidates: int, scale: Number, change: ScoreChange | str = ScoreChange.GENERAL
    ) -> None:
        """Take how many candidates there are, the scale, and how scores move."""
        try:
            moves = ScoreChange(change)
        except ValueError:
            raise WrongKind("change must be 'general' or 'monotone'.") from None
        freeze(
            self,
            candidates=whole(candidates, name="candidates", low=1),
            scale=positive(decimal(scale, name="scale"), name="scale"),
            change=moves,
        )

    def _range(self, distance: Number) -> Fraction:
        """Return the range of the log-ratios between scores that differ by this much each."""
        return self.change.sides * at_distance(distance) / self.scale


def exact_scores(scores: object, *, candidates: int) -> list[Fraction]:
    """Read one exact score for each candidate.

    >>> exact_scores([3, 1], candidates=2)
    [Fraction(3, 1), Fraction(1, 1)]
    """
    items = listed(scores, name="scores")
    if len(items) != candidates:
        raise OutOfRange(f"give {candidates} scores, one for each candidate, in their order.")
    return [_exact(item) for item in items]


def _exact(score: object) -> Fraction:
    if isinstance(score, float | np.floating):
        raise NotExact("a score is a float; give integers, or Fractions.")
    return score if isinstance(score, Fraction) else Fraction(whole(score, name="each score"))


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
        scores = exact_scores(value, candidates=self.candidates)
        return exponential_weights(scores=scores, rate=1 / self.scale, entropy=entropy)

    def reference_pmf(self, value: Scores) -> ReferenceLaw:
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
    """Enclose exp(-x) for x >= 0, closely even if it is tiny.

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
