"""Amplification by shuffling: local randomizers whose reports arrive in a random order.

Trust: kernel.

Theorem (key ``shuffling``; Feldman, McMillan and Talwar 2021).  Let n people each run
an eps0-locally private randomizer and let a shuffler permute the reports.  Replacing one
person's value is dominated by the pair
    P = (A + D, C - A + 1 - D),   Q = (A + 1 - D, C - A + D),
where C is binomial(n-1, e**-eps0), A is binomial(C, 1/2), D is Bernoulli(e**eps0 / (1+e**eps0)).
For binary randomized response C may be binomial(n-1, 2 / (e**eps0 + 1)); for other randomizers the
published improvement does not hold in general, so it is not offered.

Given C = c the ratio P/Q grows with the first coordinate u, so that with x = p - a(1-p) and
y = ap - (1-p) the part of h(a) at c is  x P[Bin(c,1/2) >= u-1] - y P[Bin(c,1/2) >= u]  at the least
u with u x > (c + 1 - u) y.  Sums run over integers at scale 2**BITS, rounded outward.

For tables: given a crowd of c random reports, the part of h(a) is the largest
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

from discreet.errors import OutOfRange
from discreet.exact import Interval, float_down, float_up
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
_FACTOR: Final = 1 << 140
_MOST_PEOPLE: Final = 10**6
_FAR: Final = Fraction(1000)
_MOST_LOCAL: Final = 60
_TINY: Final = _ONE >> 152  # weights below 2**-152 go to the uncounted rest


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
        """Take the local epsilon and the number of people."""
        object.__setattr__(self, "local", checked_epsilon(epsilon))
        count = checked_count(population, name="population", low=2)
        if count > _MOST_PEOPLE:
            raise OutOfRange(
                f"population is above {_MOST_PEOPLE}; give a smaller population: fewer people "
                "than there are is a safe count."
            )
        object.__setattr__(self, "population", count)
        object.__setattr__(self, "binary", bool(binary))

    def delta(self, epsilon: object) -> float:
        """Return delta at a central epsilon, rounded up."""
        return float_up(self.delta_up(exp(min(checked_epsilon(epsilon), _FAR)).low))

    def epsilon(self, delta: object) -> float:
        """Return a central epsilon at which delta is certified, within 2**-30 of the least."""
        chance = checked_delta(delta)
        low, high = Fraction(0), Fraction(float_up(self.local))  # at high no delta is needed
        if self.delta_up(Fraction(1)) <= chance:
            return 0.0
        while high - low > Fraction(1, 1 << 30):
            middle = Fraction(float(low + high)) / 2
            fits = self.delta_up(exp(middle).low) <= chance
            low, high = (low, middle) if fits else (middle, high)
        return float_up(high)

    def delta_up(self, ratio: Fraction) -> Fraction:
        """Bound h(ratio) from above, for a ratio e**epsilon >= 1."""
        return self._ends(ratio)[1]

    def whole(self, eps: float) -> Bracket:
        """Enclose delta at a central epsilon."""
        odds = exp(min(Fraction(eps), _FAR))
        return Bracket(float_down(self._ends(odds.high)[0]), float_up(self._ends(odds.low)[1]))

    def _ends(self, ratio: Fraction) -> tuple[Fraction, Fraction]:
        """Bound h(ratio) from both sides."""
        decay = exp(-self.local)
        keep = Interval(1 / (1 + decay.high), 1 / (1 + decay.low))
        x = [keep.low - ratio * (1 - keep.low), keep.high - ratio * (1 - keep.high)]
        y = [ratio * keep.low - (1 - keep.low), ratio * keep.high - (1 - keep.high)]
        gain = math.floor(x[0] * _FACTOR), math.ceil(x[1] * _FACTOR)
        loss = math.floor(y[0] * _FACTOR), math.ceil(y[1] * _FACTOR)
        if gain[1] <= 0:
            return Fraction(0), Fraction(0)
        if self.local > _MOST_LOCAL:  # no crowd hides such a report: it is post-processing
            return Fraction(0), min(Fraction(gain[1], _FACTOR), Fraction(1))
        start, weights, missed = crowd(self)
        halves = _Halves.at(start, _first(start, gain[1], loss[0]))
        least, most = 0, missed * _FACTOR << _BITS
        for offset, (low, high) in enumerate(weights):
            if offset:
                halves = halves.next(_first(start + offset, gain[1], loss[0]))
            tail, below = halves.tail, halves.below
            most += high * max(gain[1] * (tail[1] + below[1]) - loss[0] * tail[0], 0)
            least += low * max(gain[0] * (tail[0] + below[0]) - loss[1] * tail[1], 0)
        mass = sum(low for low, _ in weights), sum(high for _, high in weights) + missed
        unit = _FACTOR << _BITS
        return Fraction(least, mass[1] * unit), min(Fraction(most, mass[0] * unit), Fraction(1))

    def bounds(self, eps: Floats) -> tuple[Floats, Floats]:
        """Add up over crowds, for many eps at once."""
        e = float(self.local)
        if self.local > _MOST_LOCAL:
            brackets = [self.whole(float(x)) for x in eps]
            return np.array([b.low for b in brackets]), np.array([b.high for b in brackets])
        keep, decay, a = 1 / (1 + math.exp(-e)), math.exp(-e), np.exp(np.minimum(eps, e))
        x, y = -keep * np.expm1(np.minimum(eps - e, 0.0)), keep * (a - decay)
        start, weights, missed = _crowd_shape(self)
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
        inside = eps < float_up(self.local)  # beyond, nothing is lost
        low, high = np.maximum(value - wrong, 0.0), np.minimum(value + wrong, 1.0)
        return np.where(inside, low, 0.0), np.where(inside, high, 0.0)

    def reverse(self) -> Shuffle:
        """The pair is symmetric."""
        return self

    def half_profile(self) -> HalfProfile:
        return tabulated_profile(self.bounds, largest=self.ends().largest, infinite=0.0)

    def ends(self) -> LossEnds:
        """Nobody else may answer at random, and then the report is all there is."""
        return LossEnds(Bracket(0.0, 0.0), float_down(self.local), float_up(self.local))

    def moment(self, t: float) -> float:
        """Bound by the local randomizer: shuffling is post-processing."""
        return ResponsePair(self.local).cumulant(t)

    def growth(self) -> MomentGrowth:
        return MomentGrowth(linear=float_up(self.local))


def crowd(shuffle: Shuffle) -> tuple[int, list[tuple[int, int]], int]:
    """Enclose the distribution of how many reports hide one, up to a common factor.

    Returns the least size, the weights from there on, and a bound on all other weights.
    """
    return _crowd(shuffle.population - 1, shuffle.local, shuffle.binary)


@functools.lru_cache(maxsize=8)
def _crowd(n: int, local: Fraction, binary: bool) -> tuple[int, list[tuple[int, int]], int]:  # noqa: FBT001
    decay = exp(-local)
    if binary:
        decay = Interval(2 * decay.low / (1 + decay.low), 2 * decay.high / (1 + decay.high))
    return _binomial(n, decay)


def _first(c: int, x: int, y: int) -> int:
    return (c + 1) * y // (x + y) + 1


def _binomial(n: int, chance: Interval) -> tuple[int, list[tuple[int, int]], int]:
    """Enclose multiples of the probabilities of binomial(n, p) around the mode, and bound the rest.

    The weight of the mode is 1; neighbors differ by the factor (n-c)/(c+1) * p/(1-p).
    """
    odds = (chance.low / (1 - chance.low), chance.high / (1 - chance.high))
    mode = min(math.floor((n + 1) * chance.low), n)
    upward, rest_above = _decreasing([(n - c, c + 1) for c in range(mode, n)], odds)
    inverse = (1 / odds[1], 1 / odds[0])
    downward, rest_below = _decreasing([(c, n - c + 1) for c in range(mode, 0, -1)], inverse)
    weights = [*reversed(downward), (_ONE, _ONE), *upward]
    return mode - len(downward), weights, rest_above + rest_below


def _decreasing(
    steps: list[tuple[int, int]], odds: tuple[Fraction, Fraction]
) -> tuple[list[tuple[int, int]], int]:
    """Multiply the factors up from one; stop where they are tiny, and bound what is left out."""
    low, high = _ONE, _ONE
    low_odds = math.floor(odds[0] * _ONE)
    high_odds = math.ceil(odds[1] * _ONE)
    weights: list[tuple[int, int]] = []
    for done, (top, bottom) in enumerate(steps):
        if high < _TINY:  # the factors decrease, and so do the terms that are left
            return weights, high * (len(steps) - done)
        low = low * low_odds * top // (bottom << _BITS)
        high = -(-high * high_odds * top // (bottom << _BITS))
        weights.append((low, high))
    return weights, 0


@final
@dataclass(frozen=True, slots=True)
class _Halves:
    """P[B >= k] and P[B = k - 1] for B binomial(c, 1/2), enclosed."""

    c: int
    k: int
    tail: tuple[int, int]
    below: tuple[int, int]

    @staticmethod
    def at(c: int, k: int) -> _Halves:
        """Sum the tail, for k above the middle."""
        ways = math.comb(c, k - 1) << _BITS
        below = (ways >> c, -(-ways >> c))
        low, high = below
        least, most, j = 0, 0, k - 1
        while high > 1 and j < c:
            low, high = low * (c - j) // (j + 1), -(-high * (c - j) // (j + 1))
            least, most, j = least + low, most + high, j + 1
        return _Halves(c, k, (least, most + high * (c - j)), below)

    def next(self, k: int) -> _Halves:
        """Add one fair coin, and move k up by at most a few."""
        (least, most), (low, high) = self.tail, self.below
        least, most = least + (low >> 1), most - (-high >> 1)
        c, j = self.c + 1, self.k
        low, high = low * c // (2 * (c - j + 1)), -(-high * c // (2 * (c - j + 1)))
        while j < k:
            low, high = low * (c - j + 1) // j, -(-high * (c - j + 1) // j)
            least, most, j = max(least - high, 0), most - low, j + 1
        return _Halves(c, k, (least, most), (low, high))


_WIDE: Final = 14.0  # standard deviations; beyond lies less than e**-97
_BEYOND: Final = 1e-42


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Tails:
    """P[Bin(c, 1/2) >= u] for u from ``start`` on, a little below the middle; the last is 0."""

    start: int
    values: Floats


@functools.lru_cache(maxsize=8)
def _crowd_shape(shuffle: Shuffle) -> tuple[int, Floats, float]:
    """Return the crowd in floats: the least size, weights from there on, the rest."""
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
