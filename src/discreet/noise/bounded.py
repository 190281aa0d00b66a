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

import functools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import INT64_MAX, INT64_MIN
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import Interval, whole
from discreet.noise.categorical import WeightedTable
from discreet.noise.chance import Progression, ScaledExponential, log_of
from discreet.noise.distribution import Distribution, Moments
from discreet.noise.entropy import Entropy
from discreet.noise.table import TableSizes
from discreet.noise.two_sided import TwoSidedLaw

_MOST_OUTCOMES: Final = 1 << 16
_MOMENT_BITS: Final = 256
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

    law: TwoSidedLaw
    low: int
    high: int

    def __init__(self, law: TwoSidedLaw, *, low: int, high: int) -> None:
        """Take a law and the ends of the interval."""
        _set(self, law, low, high)

    def _sample(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
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

    def _log_survival(self, k: int, bits: int) -> Interval:
        """Enclose ln P[Z > k], at any depth."""
        if self.low <= k < self.high:
            return self.law.log_survival_bounds(k, bits)
        return log_of(self._survival(k, bits), bits)

    def moments(self) -> Moments:
        """Enclose mean and variance."""
        outcomes = _support(self.low, self.high)
        low, high = _weights(self.law, self.low, self.high, _MOMENT_BITS)
        peak = self.law.pmf_bounds(_nearest(self.low, self.high), _MOMENT_BITS)
        masses = [(a * peak.low, b * peak.high) for a, b in zip(low, high, strict=True)]
        for end in {0, len(outcomes) - 1}:  # the ends collect what lies beyond them
            share = self._pmf(outcomes[end], _MOMENT_BITS)
            masses[end] = share.low * (1 << _MOMENT_BITS), share.high * (1 << _MOMENT_BITS)
        fixed = [(math.floor(a), math.ceil(b)) for a, b in masses]
        return _moments(self.low, fixed)


@final
@dataclass(frozen=True, slots=True, init=False)
class Bounded(Distribution):
    """A law given that it falls inside an interval of at most 65536 integers.

    >>> from discreet.noise.laplace import DiscreteLaplace
    >>> law = Bounded(DiscreteLaplace(scale=2), low=0, high=1)
    >>> round(law.pmf(0) / law.pmf(1), 12)  # exp(1/2)
    1.6487212707
    """

    law: TwoSidedLaw
    low: int
    high: int
    _table: WeightedTable = field(repr=False, compare=False)

    def __init__(self, law: TwoSidedLaw, *, low: int, high: int) -> None:
        """Take a law and the ends of the interval."""
        _set(self, law, low, high)
        _support(self.low, self.high)
        object.__setattr__(self, "_table", WeightedTable(self._enclose, TableSizes()))

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild the table from the fields instead of copying it."""
        return functools.partial(Bounded, self.law, low=self.low, high=self.high), ()

    def _enclose(self, bits: int) -> tuple[list[int], list[int]]:
        return _weights(self.law, self.low, self.high, bits)

    def _sample(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        """Return independent draws."""
        return self._table.sample(count, entropy) + self.low

    def _pmf(self, k: int, bits: int) -> Interval:
        """Enclose P[Z = k]."""
        return self._share(k, k, bits)

    def _cdf(self, k: int, bits: int) -> Interval:
        """Enclose P[Z <= k]."""
        return self._share(self.low, k, bits)

    def _survival(self, k: int, bits: int) -> Interval:
        """Enclose P[Z > k]."""
        return self._share(k + 1, self.high, bits)

    def _log_survival(self, k: int, bits: int) -> Interval:
        """Enclose ln P[Z > k], at any depth."""
        if self.low <= k < self.high:
            return self._scaled(k + 1, self.high, bits).log_bounds(bits)
        return log_of(self._survival(k, bits), bits)

    def moments(self) -> Moments:
        """Enclose mean and variance."""
        low, high = self._enclose(_MOMENT_BITS)
        return _moments(self.low, list(zip(low, high, strict=True)))

    def _share(self, first: int, last: int, bits: int) -> Interval:
        """Enclose P[first <= Z <= last]."""
        first, last = max(first, self.low), min(last, self.high)
        if first > last:
            return _NONE
        if (first, last) == (self.low, self.high):
            return _ALL
        share = self._scaled(first, last, bits).bounds(bits)
        return Interval(share.low, min(share.high, Fraction(1)))

    def _scaled(self, first: int, last: int, bits: int) -> ScaledExponential:
        """Write P[first <= Z <= last] as the weight nearest to zero times a moderate factor."""
        exponent = self.law.decay.exponent
        depth = exponent(_nearest(first, last)) - exponent(_nearest(self.low, self.high))
        part_low, part_high = _total(self.law, first, last, bits)
        all_low, all_high = _total(self.law, self.low, self.high, bits)
        return ScaledExponential(
            depth, Interval(Fraction(part_low, all_high), Fraction(part_high, all_low))
        )


def _weights(law: TwoSidedLaw, first: int, last: int, bits: int) -> tuple[list[int], list[int]]:
    """Enclose the weights of first, ..., last, the largest of which is 1."""

    def run(near: int, far: int) -> Progression:  # near <= |k| <= far
        return law.decay.progression(
            start=near, step=1, count=far - near + 1, bits=bits, origin=_nearest(first, last)
        )

    low: list[int] = []
    high: list[int] = []
    if first < 0:
        mirrored = run(max(1, -last), -first)
        low += reversed(mirrored.low)
        high += reversed(mirrored.high)
    if last >= 0:
        ahead = run(max(0, first), last)
        low += ahead.low
        high += ahead.high
    return low, high


@functools.lru_cache(maxsize=64)
def _total(law: TwoSidedLaw, first: int, last: int, bits: int) -> tuple[int, int]:
    """Enclose the sum of the weights of first, ..., last, the largest of which is 1."""
    low, high = _weights(law, first, last, bits + 64)
    return sum(low), sum(high)


def _nearest(low: int, high: int) -> int:
    """Return the smallest |k| in an interval."""
    return max(low, -high, 0)


def _set(target: Distribution, law: object, low: object, high: object) -> None:
    """Check and store the fields that both laws share."""
    if not isinstance(law, TwoSidedLaw):
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


def _moments(first: int, weights: list[tuple[int, int]]) -> Moments:
    """Enclose mean and variance of outcomes first, first + 1, ... with enclosed weights.

    Outcomes are counted from the first one, so that every term is positive.
    """
    total_low, total_high = sum(low for low, _ in weights), sum(high for _, high in weights)

    def power(n: int) -> Interval:
        low = sum(place**n * weight for place, (weight, _) in enumerate(weights))
        high = sum(place**n * weight for place, (_, weight) in enumerate(weights))
        return Interval(Fraction(low) / total_high, Fraction(high) / total_low)

    mean, square = power(1), power(2)
    spread = Interval(
        max(Fraction(0), square.low - mean.high**2), max(Fraction(0), square.high - mean.low**2)
    )
    return Moments(mean=Interval(mean.low + first, mean.high + first), variance=spread)
