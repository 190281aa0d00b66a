"""Discrete Laplace and Gaussian laws confined to an interval.

Trust: kernel.

Two different ways of staying inside [low, high], both in use:

``Truncated``
    values beyond an end stop at that end, which collects their mass: min(max(Z, low), high).
    Added to a count and clamped to its range this is the truncated geometric mechanism.
``Bounded``
    the law given that it falls inside: values beyond the ends do not occur, and the rest is scaled
    up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import INT64_MAX, INT64_MIN
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import Interval, whole
from discreet.noise.distribution import BITS, Distribution, Moments
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.finite import WeightedTable
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.limits import checked_count
from discreet.noise.series import Progression
from discreet.noise.table import TableSizes

__all__ = ["Bounded", "Truncated"]

TwoSided = DiscreteLaplace | DiscreteGaussian

_MOST_OUTCOMES: Final = 1 << 16
_DEEPEST: Final = 1 << 16
_NONE: Final = Interval(Fraction(0), Fraction(0))
_ALL: Final = Interval(Fraction(1), Fraction(1))


@final
@dataclass(frozen=True, slots=True, init=False)
class Truncated(Distribution):
    """A law whose values stop at the ends of an interval.

    >>> from discreet.noise.laplace import DiscreteLaplace
    >>> law = Truncated(DiscreteLaplace(scale=2), low=-1, high=3)
    >>> law.pmf(-1) == DiscreteLaplace(scale=2).cdf(-1)
    True
    """

    law: TwoSided
    low: int
    high: int

    def __init__(self, law: TwoSided, *, low: int, high: int) -> None:
        """Take a law and the ends of the interval."""
        _set(self, law, low, high)

    def sample(self, count: int, entropy: Entropy = SYSTEM) -> NDArray[np.int64]:
        """Return independent draws."""
        return np.clip(self.law.sample(count, entropy), self.low, self.high)

    def _pmf(self, k: int, bits: int) -> Interval:
        """Enclose P[Z = k]."""
        if not self.low <= k <= self.high:
            return _NONE
        if self.low == self.high:
            return _ALL
        if k == self.low:
            return self.law.cdf_bounds(k, bits)
        if k == self.high:
            return self.law.survival_bounds(k - 1, bits)
        return self.law.pmf_bounds(k, bits)

    def _cdf(self, k: int, bits: int) -> Interval:
        """Enclose P[Z <= k]."""
        if k < self.low:
            return _NONE
        return _ALL if k >= self.high else self.law.cdf_bounds(k, bits)

    def _survival(self, k: int, bits: int) -> Interval:
        """Enclose P[Z > k]."""
        if k < self.low:
            return _ALL
        return _NONE if k >= self.high else self.law.survival_bounds(k, bits)

    def moments(self) -> Moments:
        """Enclose mean and variance."""
        shares = [self._pmf(k, 4 * BITS) for k in _support(self.low, self.high)]
        return _moments(self.low, [(share.low, share.high) for share in shares])


@final
@dataclass(frozen=True, slots=True, init=False)
class Bounded(Distribution):
    """A law given that it falls inside an interval of at most 65536 integers.

    >>> from discreet.noise.laplace import DiscreteLaplace
    >>> law = Bounded(DiscreteLaplace(scale=2), low=0, high=1)
    >>> round(law.pmf(0) / law.pmf(1), 12)  # exp(1/2)
    1.6487212707
    """

    law: TwoSided
    low: int
    high: int
    _table: WeightedTable = field(repr=False, compare=False)

    def __init__(self, law: TwoSided, *, low: int, high: int) -> None:
        """Take a law and the ends of the interval."""
        _set(self, law, low, high)
        _support(self.low, self.high)
        object.__setattr__(self, "_table", WeightedTable(self._weights, TableSizes()))

    def sample(self, count: int, entropy: Entropy = SYSTEM) -> NDArray[np.int64]:
        """Return independent draws."""
        return self._table.sample(checked_count(count), entropy) + self.low

    def _pmf(self, k: int, bits: int) -> Interval:
        """Enclose P[Z = k]."""
        return self._share(k, k, bits)

    def _cdf(self, k: int, bits: int) -> Interval:
        """Enclose P[Z <= k]."""
        return self._share(self.low, k, bits)

    def _survival(self, k: int, bits: int) -> Interval:
        """Enclose P[Z > k]."""
        return self._share(k + 1, self.high, bits)

    def moments(self) -> Moments:
        """Enclose mean and variance."""
        low, high = self._weights(4 * BITS)
        return _moments(self.low, list(zip(low, high, strict=True)))

    def _share(self, first: int, last: int, bits: int) -> Interval:
        """Enclose P[first <= Z <= last]."""
        first, last = max(first, self.low), min(last, self.high)
        if first > last:
            return _NONE
        exponent = self.law.decay.exponent
        depth = exponent(_nearest(first, last)) - exponent(_nearest(self.low, self.high))
        low, high = self._weights(bits + 64 + min(max(_DEEPEST, 64 * bits), math.ceil(2 * depth)))
        part = slice(first - self.low, last - self.low + 1)
        inside_low, inside_high = sum(low[part]), sum(high[part])
        outside_low, outside_high = sum(low) - inside_low, sum(high) - inside_high
        return Interval(
            Fraction(inside_low, inside_low + outside_high),
            Fraction(inside_high, inside_high + outside_low),
        )

    def _weights(self, bits: int) -> tuple[list[int], list[int]]:
        """Enclose the weights of low, ..., high, the largest of which is 1."""
        top = _nearest(self.low, self.high)

        def run(first: int, last: int) -> Progression:  # first <= |k| <= last
            return self.law.decay.progression(
                start=first, step=1, count=last - first + 1, bits=bits, origin=top
            )

        low: list[int] = []
        high: list[int] = []
        if self.low < 0:
            mirrored = run(max(1, -self.high), -self.low)
            low += reversed(mirrored.low)
            high += reversed(mirrored.high)
        if self.high >= 0:
            ahead = run(max(0, self.low), self.high)
            low += ahead.low
            high += ahead.high
        return low, high


def _nearest(low: int, high: int) -> int:
    """Return the smallest |k| in an interval."""
    return max(low, -high, 0)


def _set(target: Distribution, law: object, low: object, high: object) -> None:
    """Check and store the fields that both laws share."""
    if not isinstance(law, DiscreteLaplace | DiscreteGaussian):
        raise WrongKind(
            what=f"cannot confine a {type(law).__name__}.",
            why="only two-sided noise has certified weights on both sides of zero.",
            do="give a DiscreteLaplace or a DiscreteGaussian.",
        )
    first = whole(low, name="low", low=INT64_MIN, high=INT64_MAX)
    last = whole(high, name="high", low=INT64_MIN, high=INT64_MAX)
    if first > last:
        raise OutOfRange(
            what="low is above high.",
            why="no integer lies in such an interval.",
            do="give low <= high.",
        )
    object.__setattr__(target, "law", law)
    object.__setattr__(target, "low", first)
    object.__setattr__(target, "high", last)


def _support(low: int, high: int) -> range:
    """Return the outcomes, if they can be listed."""
    if high - low >= _MOST_OUTCOMES:
        raise OutOfRange(
            what=f"the interval holds more than {_MOST_OUTCOMES} integers.",
            why="its weights are summed one by one.",
            do="give a narrower interval, or measure in a coarser unit.",
        )
    return range(low, high + 1)


def _moments(
    first: int, weights: list[tuple[int, int]] | list[tuple[Fraction, Fraction]]
) -> Moments:
    """Enclose mean and variance of outcomes first, first + 1, ... with enclosed weights.

    Outcomes are counted from the first one, so that every term is positive.
    """
    total_low, total_high = sum(low for low, _ in weights), sum(high for _, high in weights)

    def power(n: int) -> Interval:
        low = sum(at**n * weight for at, (weight, _) in enumerate(weights))
        high = sum(at**n * weight for at, (_, weight) in enumerate(weights))
        return Interval(Fraction(low) / total_high, Fraction(high) / total_low)

    mean, square = power(1), power(2)
    spread = Interval(
        max(Fraction(0), square.low - mean.high**2), max(Fraction(0), square.high - mean.low**2)
    )
    return Moments(mean=Interval(mean.low + first, mean.high + first), variance=spread)
