"""The shape of the reports of many people, in a random order.

Trust: kernel.

Theorem (key ``shuffling``).  Given a crowd of c random reports, the part of h(a) is the largest
over u of x T(u - 1) - y T(u), where T(u) = P[Bin(c, 1/2) >= u], x = p (1 - a e**-e),
y = p (a - e**-e) and p = 1/(1 + e**-e); the best u is the least one with u x > (c + 1 - u) y.

Tails are added up in floats: masses by products of W factors from the middle one outward, and the
middle ones by a recursion of C steps from an exact one.  Each errs by at most 2**-53 (8 W + 4 C +
128) of its size, and what they leave out is below 1e-42.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np

from discreet.exact import float_down, float_up
from discreet.loss.bracket import Bracket
from discreet.loss.engine.rounding import UNIT
from discreet.loss.pairs.curved_pair import LossEnds
from discreet.loss.pairs.distribution import Floats
from discreet.loss.pairs.polygon import HalfProfile, tabulated_profile
from discreet.loss.pairs.randomized_response import ResponsePair
from discreet.loss.renyi.moment_growth import MomentGrowth
from discreet.loss.sampling.shuffle import Shuffle, crowd

_MOST_LOCAL: Final = 60  # above, no crowd hides a report
_WIDE: Final = 14.0  # standard deviations; beyond lies less than e**-97
_BEYOND: Final = 1e-42


@final
@dataclass(frozen=True, slots=True)
class ShuffledShape:
    """The worst pair of shuffled reports, which is symmetric."""

    shuffle: Shuffle

    def reverse(self) -> ShuffledShape:
        """The pair is symmetric."""
        return self

    def half_profile(self) -> HalfProfile:
        """Evaluate the profile."""
        return tabulated_profile(self._bounds, largest=self.ends().largest, infinite=0.0)

    def _bounds(self, eps: Floats) -> tuple[Floats, Floats]:
        """Add up over crowds, for many eps at once."""
        e = float(self.shuffle.local)
        if self.shuffle.local > _MOST_LOCAL:
            brackets = [self.shuffle.bracket(float(x)) for x in eps]
            return np.array([b.low for b in brackets]), np.array([b.high for b in brackets])
        keep, decay, a = 1 / (1 + math.exp(-e)), math.exp(-e), np.exp(np.minimum(eps, e))
        x, y = -keep * np.expm1(np.minimum(eps - e, 0.0)), keep * (a - decay)
        start, weights, missed = _crowd(self.shuffle)
        value, wrong = np.zeros(len(eps)), np.full(len(eps), missed)
        size = keep * 64 * UNIT * (1 + e) * a  # the error of x and y
        for c, weight, tails, relative in _tails(start, weights):
            end = len(tails.values) - 1
            u = np.floor((c + 1) * (y / (x + y))).astype(np.int64) + 1
            first = tails.values[np.clip(u - 1 - tails.start, 0, end)]
            second = tails.values[np.clip(u - tails.start, 0, end)]
            value += weight * np.maximum(x * first - y * second, 0.0)
            wrong += weight * (relative * (x + y) + 2 * size) * first
        wrong = wrong + 8 * UNIT * len(weights) * value + _BEYOND
        inside = eps < float_up(self.shuffle.local)  # beyond, nothing is lost
        low, high = np.maximum(value - wrong, 0.0), np.minimum(value + wrong, 1.0)
        return np.where(inside, low, 0.0), np.where(inside, high, 0.0)

    def profile(self, eps: float) -> Bracket:
        """Add up the exact sum."""
        return self.shuffle.bracket(eps)

    def ends(self) -> LossEnds:
        """Nobody else may answer at random, and then the report is all there is."""
        local = self.shuffle.local
        return LossEnds(Bracket(0.0, 0.0), float_down(local), float_up(local))

    def cumulant(self, t: float) -> float:
        """Bound by the local randomizer: shuffling is post-processing."""
        return ResponsePair(self.shuffle.local).cumulant(t)

    def growth(self) -> MomentGrowth:
        """No loss exceeds that of the report."""
        return MomentGrowth(linear=float_up(self.shuffle.local))


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Tails:
    """P[Bin(c, 1/2) >= u] for u from ``start`` on, a little below the middle; the last is 0."""

    start: int
    values: Floats


@functools.lru_cache(maxsize=8)
def _crowd(shuffle: Shuffle) -> tuple[int, Floats, float]:
    """Return the law of the crowd in floats: the least size, weights from there on, the rest."""
    start, weights, missed = crowd(shuffle)
    total = sum(high for _, high in weights)
    floats = [float(Fraction(high, total)) for _, high in weights]
    return start, np.array(floats), float_up(Fraction(missed, total))


def _tails(start: int, weights: Floats) -> Iterator[tuple[int, float, _Tails, float]]:
    """Yield each crowd, its weight, its tails, and a bound on their relative error."""
    middle = float(Fraction(math.comb(start, start // 2), 1 << start))
    for step, weight in enumerate(weights):
        c = start + step
        if step and c % 2:  # from c - 1 = 2m to 2m + 1
            middle *= c / (c + 1)
        m = c // 2
        below = [middle * m / (c - m + 1)] if m else []
        j = np.arange(m, m + min(c - m, math.ceil(_WIDE * math.sqrt(c + 1) / 2) + 1))
        masses = np.concatenate([below, [middle], middle * np.cumprod((c - j) / (j + 1.0))])
        values = np.append(np.cumsum(masses[::-1])[::-1], 0.0)
        relative = UNIT * (8 * len(masses) + 4 * step + 128)
        yield c, float(weight), _Tails(m - len(below), values), relative
