"""Distributions on finitely many outcomes: uniform, or given by their weights.

Trust: kernel.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import listed
from discreet.errors import OutOfRange
from discreet.exact import ExactNumber, Interval, freeze, rational, whole
from discreet.noise.distribution import Distribution, Moments, empty
from discreet.noise.entropy import Entropy
from discreet.noise.table import Boundaries, Table, TableSizes, boundaries

_CHUNK: Final = 1 << 16  # values that stay in the cache


@final
@dataclass(frozen=True, slots=True, init=False)
class Uniform(Distribution):
    """Integers below n, all equally likely: words with just enough bits, until one is below n.

    >>> law = Uniform(below=6)
    >>> law.pmf_bounds(5).low, law.quantile("0.5")
    (Fraction(1, 6), 2)
    >>> set(law.sample(1000).tolist()) <= set(range(6))
    True
    """

    below: int

    def __init__(self, *, below: int) -> None:
        """Take the exclusive upper bound, between 1 and 2**63."""
        freeze(self, below=whole(below, name="below", low=1, high=1 << 63))

    def _sample(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        out = np.zeros(count, np.int64)
        width = (self.below - 1).bit_length()
        if width == 0:
            return out
        again = []
        for start in range(0, out.size, _CHUNK):
            part = out[start : start + _CHUNK]
            part[:] = entropy.words(part.size, width)
            again.append(np.flatnonzero(part >= self.below) + start)
        todo = np.concatenate(again) if again else np.empty(0, np.intp)
        while todo.size:
            fresh = entropy.words(todo.size, width).astype(np.int64)
            out[todo] = fresh
            todo = todo[fresh >= self.below]
        return out

    def _pmf(self, k: int, bits: int) -> Interval:  # noqa: ARG002  known exactly
        return Interval.exactly(Fraction(int(0 <= k < self.below), self.below))

    def _cdf(self, k: int, bits: int) -> Interval:  # noqa: ARG002  known exactly
        return Interval.exactly(Fraction(min(max(k + 1, 0), self.below), self.below))

    def _survival(self, k: int, bits: int) -> Interval:  # noqa: ARG002  known exactly
        return Interval.exactly(1 - self._cdf(k, 1).low)

    def moments(self) -> Moments:
        """Return mean and variance: (n - 1)/2 and (n**2 - 1)/12."""
        return Moments(
            mean=Interval.exactly(Fraction(self.below - 1, 2)),
            variance=Interval.exactly(Fraction(self.below**2 - 1, 12)),
        )


@final
@dataclass(frozen=True, slots=True)
class _Weights:
    """Positive integer weights, as a table reads them."""

    weights: list[int]

    def boundaries(self, bits: int) -> Boundaries:
        return boundaries(self.weights, self.weights, 0, bits)

    def guide_values(self, count: int) -> NDArray[np.int64]:
        return np.arange(count)


@final
@dataclass(frozen=True, slots=True, init=False)
class Categorical(Distribution):
    """Outcomes 0, 1, ..., n - 1 with given rational weights.

    >>> law = Categorical(weights=[1, 2, "0.5"])
    >>> [str(law.pmf_bounds(k).low) for k in range(3)]
    ['2/7', '4/7', '1/7']
    """

    weights: tuple[Fraction, ...]
    _sums: tuple[int, ...] = field(repr=False, compare=False)
    _outcomes: NDArray[np.int64] = field(repr=False, compare=False)
    _table: Table = field(repr=False, compare=False)

    def __init__(self, *, weights: Iterable[ExactNumber]) -> None:
        exact = tuple(
            rational(weight, name="each weight") for weight in listed(weights, name="weights")
        )
        if min(exact, default=-1) < 0 or not any(exact):
            raise OutOfRange("give at least one weight above zero, and none below.")
        common = math.lcm(*(weight.denominator for weight in exact))
        whole_weights = [int(weight * common) for weight in exact]
        kept = np.flatnonzero(np.array(whole_weights, object)).astype(np.int64)
        table = Table(_Weights([weight for weight in whole_weights if weight]), TableSizes())
        sums = (0, *itertools.accumulate(whole_weights))
        freeze(self, weights=exact, _sums=sums, _outcomes=kept, _table=table)

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild the table from the weights instead of copying it."""
        return functools.partial(Categorical, weights=self.weights), ()

    def _sample(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        out = empty(count)
        void, index, _ = self._table.look_up(out, entropy)
        out[void] = index
        return out if len(self._outcomes) == len(self.weights) else self._outcomes[out]

    def _pmf(self, k: int, bits: int) -> Interval:  # noqa: ARG002  known exactly
        return self._between(k, k)

    def _cdf(self, k: int, bits: int) -> Interval:  # noqa: ARG002  known exactly
        return self._between(0, k)

    def _survival(self, k: int, bits: int) -> Interval:  # noqa: ARG002  known exactly
        return self._between(k + 1, len(self.weights) - 1)

    def moments(self) -> Moments:
        total = sum(self.weights)
        mean = sum((k * weight for k, weight in enumerate(self.weights)), Fraction(0)) / total
        square = sum((k * k * weight for k, weight in enumerate(self.weights)), Fraction(0))
        spread = square / total - mean**2
        return Moments(mean=Interval.exactly(mean), variance=Interval.exactly(spread))

    def _between(self, first: int, last: int) -> Interval:
        first, last = max(first, 0), min(last, len(self.weights) - 1)
        inside = self._sums[last + 1] - self._sums[first] if first <= last else 0
        return Interval.exactly(Fraction(inside, self._sums[-1]))
