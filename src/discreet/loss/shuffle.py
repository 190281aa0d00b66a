"""Amplification by shuffling: local randomizers whose reports arrive in a random order.

Trust: kernel.

Theorem (key ``shuffling``; Feldman, McMillan and Talwar 2021).  Let n people each run
an eps0-locally private randomizer and let a shuffler permute the reports.  Replacing one
person's value is dominated by the pair
    P = (A + D, C - A + 1 - D),   Q = (A + 1 - D, C - A + D),
where C is binomial(n-1, e**-eps0), A is binomial(C, 1/2), D is Bernoulli(e**eps0 / (1+e**eps0)).
For binary randomized response C may be binomial(n-1, 2 / (e**eps0 + 1)); for other randomizers the
published improvement does not hold in general, so it is not offered.

Given a crowd of c random reports, the part of h(a) is the largest over u of x T(u - 1) - y T(u),
where T(u) = P[Bin(c, 1/2) >= u], x = p (1 - a e**-e), y = p (a - e**-e) and p = 1/(1 + e**-e); the
best u is the least one with u x > (c + 1 - u) y, as the ratio P/Q grows with the first coordinate.

Everything is added up in floats.  Weights of crowds and masses of coins are products of W factors
from the middle one outward, and the middle coin comes from an exact one by C steps.  Each errs by
at most 2**-53 ((64 + 8 eps0) W + 4 C + 128) of its size, and what they leave out is bounded.
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
from discreet.exact import float_down, float_up
from discreet.loss.curved_pair import LossEnds
from discreet.loss.pair import Floats
from discreet.loss.parameters import checked_count, checked_delta, checked_epsilon
from discreet.loss.polygon import HalfProfile, tabulated_profile
from discreet.loss.pure_pairs import ResponsePair
from discreet.loss.rho import MomentGrowth
from discreet.loss.rounding import UNIT, Bracket

_MOST_PEOPLE: Final = 10**6
_MOST_LOCAL: Final = 60  # above, no crowd hides a report
_WIDE: Final = 14.0  # standard deviations; beyond lies less than e**-97
_BEYOND: Final = 1e-42
_FAINT: Final = 2.0**-152  # of the largest weight of a crowd: smaller ones are left out


@final
@dataclass(frozen=True, slots=True, init=False)
class Shuffle:
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
                f"population must be at most {_MOST_PEOPLE}, got {count}; fewer people than there "
                "are is a safe count."
            )
        object.__setattr__(self, "local", checked_epsilon(epsilon))
        object.__setattr__(self, "population", count)
        object.__setattr__(self, "binary", bool(binary))

    def delta(self, epsilon: object) -> float:
        return self.profile(float_down(checked_epsilon(epsilon))).high

    def epsilon(self, delta: object) -> float:
        """Return a central epsilon at which delta is certified, within 2**-30 of the least."""
        most = checked_delta(delta)
        low, high = 0.0, float_up(self.local)  # at high no delta is needed
        if self.profile(0.0).high <= most:
            return 0.0
        while high - low > 2.0**-30:
            middle = (low + high) / 2
            low, high = (low, middle) if self.profile(middle).high <= most else (middle, high)
        return high

    def profile(self, eps: float) -> Bracket:
        low, high = self.bounds(np.array([eps]))
        return Bracket(float(low[0]), float(high[0]))

    def bounds(self, eps: Floats) -> tuple[Floats, Floats]:
        e = float(self.local)
        if not e:
            return np.zeros(len(eps)), np.zeros(len(eps))
        keep, decay, a = 1 / (1 + math.exp(-e)), math.exp(-e), np.exp(np.minimum(eps, _MOST_LOCAL))
        x, y = -keep * np.expm1(np.minimum(eps - e, 0.0)), keep * (a - decay)
        inside = eps < float_up(self.local)  # beyond, nothing is lost
        if self.local > _MOST_LOCAL:  # it is post-processing
            high = np.minimum(x * (1 + 64 * UNIT) + 4 * UNIT * e, 1.0)
            return np.zeros(len(eps)), np.where(inside, high, 0.0)
        start, weights, error, missed = _crowd(self.population - 1, e, self.binary)
        value, wrong = np.zeros(len(eps)), np.zeros(len(eps))
        size = keep * 64 * UNIT * (1 + e) * a  # the error of x and y
        for c, weight, tails, relative in _tails(start, weights):
            u = np.floor((c + 1) * (y / (x + y))).astype(np.int64) + 1
            first, second = tails.at(u - 1), tails.at(u)
            value += weight * np.maximum(x * first - y * second, 0.0)
            wrong += weight * (relative * (x + y) + 2 * size) * first
        wrong = wrong + (error + 8 * UNIT * len(weights)) * (value + wrong) + _BEYOND + missed
        low, high = np.maximum(value - wrong, 0.0), np.minimum(value + wrong, 1.0)
        return np.where(inside, low, 0.0), np.where(inside, high, 0.0)

    def reverse(self) -> Shuffle:
        return self

    def half_profile(self) -> HalfProfile:
        return tabulated_profile(self.bounds, largest=self.ends().largest, infinite=0.0)

    def ends(self) -> LossEnds:
        """Nobody else may answer at random, and then the report is all there is."""
        return LossEnds(Bracket(0.0, 0.0), float_down(self.local), float_up(self.local))

    def cumulant(self, t: float) -> float:
        """Bound by the local randomizer: shuffling is post-processing."""
        return ResponsePair(self.local).cumulant(t)

    def growth(self) -> MomentGrowth:
        return MomentGrowth(linear=float_up(self.local))


@functools.lru_cache(maxsize=8)
def _crowd(n: int, e: float, binary: bool) -> tuple[int, Floats, float, float]:  # noqa: FBT001
    """Return the least size of the crowd, probabilities from there on, their error, and the rest.

    Neighbors differ by the factor (n - c)/(c + 1) * p/(1 - p), which falls with c and errs by at
    most 32 + 4e units, e of which are those of e itself.
    """
    p, rest = math.exp(-e), -math.expm1(-e)
    if binary:
        p, rest = 2 * p / (1 + p), rest / (1 + p)
    if not rest:
        return n, np.ones(1), 0.0, 0.0
    mode = min(math.floor((n + 1) * p), n)
    reach = math.ceil(_WIDE * 2 * math.sqrt(n * p * rest + 200))
    up = np.arange(mode, min(n, mode + reach), dtype=np.float64)
    down = np.arange(mode, max(0, mode - reach), -1, dtype=np.float64)
    above = np.cumprod((n - up) / (up + 1) * (p / rest))
    below = np.cumprod(down / (n - down + 1) * (rest / p))
    cut = max([_FAINT, *above[reach - 1 :], *below[reach - 1 :]])  # no later weight is above it
    above, below = above[above > _FAINT], below[below > _FAINT]
    weights = np.concatenate([below[::-1], [1.0], above])
    error = UNIT * ((64 + 8 * e) * max(len(above), len(below)) + 2 * len(weights) + 64)
    return mode - len(below), weights / weights.sum(), error, 2 * n * cut / float(weights.sum())


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Tails:
    """P[Bin(c, 1/2) >= u] for u from ``start`` on, a little below the middle; the last is 0."""

    start: int
    values: Floats

    def at(self, u: Floats) -> Floats:
        return np.asarray(self.values[np.clip(u - self.start, 0, len(self.values) - 1)])


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
