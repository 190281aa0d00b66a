"""Amplification by shuffling: local randomizers whose reports arrive in a random order.

Trust: kernel.

Theorem (key ``shuffling``; Feldman, McMillan and Talwar 2021).  Let n people each run
an eps0-locally private randomizer and let a shuffler permute the reports.  Replacing one
person's value is dominated by the pair
    P = (A + D, C - A + 1 - D),   Q = (A + 1 - D, C - A + D),
where C is binomial(n-1, e**-eps0), A is binomial(C, 1/2), D is Bernoulli(e**eps0 / (1+e**eps0)).
For binary randomized response C may be binomial(n-1, 2 / (e**eps0 + 1)); for other randomizers the
published improvement does not hold in general, so it is not offered.

Given a crowd of c random reports, the part of h(a) is x T(u - 1) - y T(u) for the best u, where
T(u) = P[Bin(c, 1/2) >= u], x = p - a(1 - p), y = ap - (1 - p) and p = 1/(1 + e**-eps0); the best u
is the least one with u x > (c + 1 - u) y.  The sizes of crowds are enclosed by integers at scale
2**_BITS.  Tails are added up in floats: masses by products of W factors from the middle one
outward, the middle ones by a recursion of C steps from an exact one.  Each errs by at most
2**-53 (8 W + 4 C + 128) of its size, and what they leave out is below 1e-42.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np

from discreet.errors import OutOfRange
from discreet.exact import Interval, float_down, float_up, freeze
from discreet.loss.curved_pair import CurvedPair, LossEnds
from discreet.loss.dots import Floats
from discreet.loss.elementary import exp
from discreet.loss.parameters import checked_count, checked_delta, checked_epsilon
from discreet.loss.polygon import HalfProfile, tabulated_profile
from discreet.loss.pure_pairs import ResponsePair
from discreet.loss.rho import MomentGrowth
from discreet.loss.rounding import UNIT, Bracket

_BITS: Final = 320
_ONE: Final = 1 << _BITS
_MOST_PEOPLE: Final = 10**6
_MOST_LOCAL: Final = 60  # no crowd hides such a report: it counts as randomized response alone
_TINY: Final = _ONE >> 152  # weights below 2**-152 go to the uncounted rest
_WIDE: Final = 14.0  # standard deviations; beyond lies less than e**-97
_BEYOND: Final = 1e-42
_TRIED: Final = 257  # epsilons at a time: four rounds narrow the answer by 2**32


@final
@dataclass(frozen=True, slots=True, init=False)
class Shuffle(CurvedPair):
    """The worst-case pair of shuffled reports; ``binary`` for binary randomized response alone.

    >>> Shuffle(epsilon=1, population=1000).delta(epsilon="0.18242") <= 1e-6
    True
    """

    local: Fraction
    population: int
    binary: bool

    def __init__(self, *, epsilon: object, population: int, binary: bool = False) -> None:
        count = checked_count(population, name="population", low=2)
        if count > _MOST_PEOPLE:
            raise OutOfRange(
                f"population is above {_MOST_PEOPLE}; give a smaller population: fewer people "
                "than there are is a safe count."
            )
        freeze(self, local=checked_epsilon(epsilon), population=count, binary=bool(binary))

    def delta(self, epsilon: object) -> float:
        return float(self.bounds(np.array([float_down(checked_epsilon(epsilon))]))[1][0])

    def epsilon(self, delta: object) -> float:
        """Return a central epsilon at which delta is certified, within 2**-32 of the least."""
        chance = float_down(checked_delta(delta))
        low, high = 0.0, float_up(self.local)  # at high no delta is needed
        for _ in range(4):
            tried = np.linspace(low, high, _TRIED)
            first = int(np.argmax(self.bounds(tried)[1] <= chance))
            if not first:
                return float(tried[0])
            low, high = float(tried[first - 1]), float(tried[first])
        return high

    def bounds(self, eps: Floats) -> tuple[Floats, Floats]:
        """Bound delta at many central epsilons from both sides: add up over crowds."""
        e = float(self.local)
        keep, decay = 1 / (1 + math.exp(-e)), math.exp(-e)
        x = -keep * np.expm1(np.minimum(eps - e, 0.0))
        inside = eps < float_up(self.local)  # beyond, nothing is lost
        if not 0 < self.local <= _MOST_LOCAL:
            high = np.minimum(x + 64 * UNIT * (1 + e), 1.0)
            return np.zeros(len(eps)), np.where(inside, high, 0.0)
        a = np.exp(np.minimum(eps, e))
        y, size = keep * (a - decay), keep * 64 * UNIT * (1 + e) * a  # and the error of x and y
        start, weights, missed = _crowd_shape(self)
        value, wrong = np.zeros(len(eps)), np.full(len(eps), missed)
        for c, weight, tails, relative in _tails(start, weights):
            end = len(tails.values) - 1
            u = np.floor((c + 1) * (y / (x + y))).astype(np.int64) + 1
            first = tails.values[np.clip(u - 1 - tails.start, 0, end)]
            second = tails.values[np.clip(u - tails.start, 0, end)]
            value += weight * np.maximum(x * first - y * second, 0.0)
            wrong += weight * (relative * (x + y) + 2 * size) * first
        wrong = wrong + 8 * UNIT * len(weights) * value + _BEYOND
        low, high = np.maximum(value - wrong, 0.0), np.minimum(value + wrong, 1.0)
        return np.where(inside, low, 0.0), np.where(inside, high, 0.0)

    def whole(self, eps: float) -> Bracket:
        low, high = self.bounds(np.array([eps]))
        return Bracket(float(low[0]), float(high[0]))

    def reverse(self) -> Shuffle:
        return self

    def half_profile(self) -> HalfProfile:
        return tabulated_profile(self.bounds, largest=self.ends().largest, infinite=0.0)

    def ends(self) -> LossEnds:
        """If no one else answers at random, the report is all there is."""
        return LossEnds(Bracket(0.0, 0.0), float_down(self.local), float_up(self.local))

    def moment(self, t: float) -> float:
        """Bound by the local randomizer: shuffling is post-processing."""
        return ResponsePair(self.local).cumulant(t)

    def growth(self) -> MomentGrowth:
        return MomentGrowth(linear=float_up(self.local))


@functools.lru_cache(maxsize=8)
def _crowd_shape(shuffle: Shuffle) -> tuple[int, Floats, float]:
    """Return how many reports hide one: the least size, weights from there on, the rest."""
    decay = exp(-shuffle.local)
    if shuffle.binary:
        decay = Interval(2 * decay.low / (1 + decay.low), 2 * decay.high / (1 + decay.high))
    start, weights, missed = _binomial(shuffle.population - 1, decay)
    total = sum(weights)
    floats = [float(Fraction(weight, total)) for weight in weights]
    return start, np.array(floats), float_up(Fraction(missed, total))


def _binomial(n: int, chance: Interval) -> tuple[int, list[int], int]:
    """Bound multiples of the probabilities of binomial(n, p) around the mode, and the rest.

    The weight of the mode is 1; neighbors differ by the factor (n-c)/(c+1) * p/(1-p).
    """
    odds = (chance.low / (1 - chance.low), chance.high / (1 - chance.high))
    mode = min(math.floor((n + 1) * chance.low), n)
    upward, rest_above = _decreasing([(n - c, c + 1) for c in range(mode, n)], odds[1])
    downward, rest_below = _decreasing([(c, n - c + 1) for c in range(mode, 0, -1)], 1 / odds[0])
    weights = [*reversed(downward), _ONE, *upward]
    return mode - len(downward), weights, rest_above + rest_below


def _decreasing(steps: list[tuple[int, int]], odds: Fraction) -> tuple[list[int], int]:
    """Multiply the factors up from one; stop if they are tiny, and bound what is left out."""
    high, scaled = _ONE, math.ceil(odds * _ONE)
    weights: list[int] = []
    for done, (top, bottom) in enumerate(steps):
        if high < _TINY:  # the factors decrease, and so do the terms that are left
            return weights, high * (len(steps) - done)
        high = -(-high * scaled * top // (bottom << _BITS))
        weights.append(high)
    return weights, 0


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Tails:
    """P[Bin(c, 1/2) >= u] for u from ``start`` on, a little below the middle; the last is 0."""

    start: int
    values: Floats


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
