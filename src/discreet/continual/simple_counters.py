"""The simple counters: noise on every value, or on every prefix sum.

Trust: kernel.

Definition.  ``NoisyBits`` adds fresh noise to each value, and releases the running sum of the noisy
values.
Theorem (key ``noisy-bits``).  The values are disjoint parts of the stream, so all noisy values
together lose what one of them does (parallel composition), and sums of them lose nothing more
(post-processing): eps for Laplace noise of scale bound/eps, whatever the length.  It is attained,
because the noisy values can be read off the sums.
The sum of the first t values has the noise of t draws.  With Lévy's inequality for sums of
independent symmetric draws, P[some |S_t| > r] <= 2 P[|S_n| > r].

Definition.  ``NoisyPrefixes`` releases after each value the sum so far plus fresh noise.
Theorem (key ``noisy-prefixes``).  The value at position p is in n - p + 1 sums, the first one in
all n: the loss is that of n answers at distance ``bound``, n eps for Laplace noise of loss eps.  It
is attained: changing the first value moves every sum by as much, in the same direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import Box, Node, Parallel, Sequential, Where, at_most
from discreet.continual.counter import Counter, clamped
from discreet.continual.counter_run import CounterState
from discreet.continual.sum_tails import plain_sum_half_width
from discreet.exact import whole
from discreet.mechanisms.exact_quantiles import two_sided_quantile

__all__ = ["NoisyBits", "NoisyPrefixes"]


@final
@dataclass(frozen=True, slots=True, init=False)
class NoisyBits(Counter):
    """Add fresh noise to each value, and add up the noisy values.

    >>> from discreet.mechanisms import Laplace
    >>> counter = NoisyBits(length=8, noise=Laplace(scale=2))
    >>> counter.loss().epsilon(delta=0)
    0.5
    >>> counter.error(confidence=0.95), counter.error(confidence=0.95, prefix=1)
    (18, 6)
    >>> counter.run([1, 0, 1, 1, 0, 0, 1, 0]).shape
    (8,)
    """

    def tree(self, *, distance: int = 1) -> Node:
        """Return one leaf for each position, side by side."""
        leaf = self._listed(distance)
        return Parallel("position", dict.fromkeys(range(1, self.length + 1), leaf))

    @property
    def _multiplicity(self) -> int:
        return 1

    def spread(self, *, prefix: int) -> Fraction:
        """Return the number of values that were added up."""
        return Fraction(self._checked_prefix(prefix))

    def _half_width(self, chance: Fraction, prefix: int | None) -> int:
        """Return the quantile of one sum, or Lévy's bound for all."""
        if prefix is not None or self.length == 1:
            return plain_sum_half_width(self.law, prefix or 1, 1 - chance)
        return plain_sum_half_width(self.law, self.length, (1 - chance) / 2)

    def _state(self) -> CounterState[int]:
        return _BitState()

    def _measured(self, values: Sequence[int]) -> list[int]:
        return list(values)

    def _measurements_of(self, outcome: Sequence[Any]) -> list[int] | None:
        totals = [whole(total, name="a sum") for total in outcome]
        return [here - before for before, here in zip([0, *totals], totals, strict=False)]

    def _errors(self, noise: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(noise.cumsum(axis=1))


@final
class _BitState(CounterState[int]):
    """The sum of the noisy values so far."""

    def __init__(self) -> None:
        self._total = 0

    def step(self, value: int, noise: Sequence[int]) -> int:
        self._total += value + noise[0]
        return clamped(self._total)


@final
@dataclass(frozen=True, slots=True, init=False)
class NoisyPrefixes(Counter):
    """Add fresh noise to each prefix sum.

    >>> from discreet.mechanisms import Laplace
    >>> counter = NoisyPrefixes(length=8, noise=Laplace(scale=2))
    >>> counter.loss().epsilon(delta=0)  # eight times 1/2
    4.0
    >>> counter.error(confidence=0.95), counter.error(confidence=0.95, prefix=8)
    (10, 6)
    >>> counter.run([1, 0, 1, 1, 0, 0, 1, 0]).shape
    (8,)
    """

    def tree(self, *, distance: int = 1) -> Node:
        """Return one leaf for each prefix, which reads the positions up to it."""
        leaf = self._listed(distance)
        return Sequential(
            *(Where(Box({"position": at_most(t)}), leaf) for t in range(1, self.length + 1))
        )

    @property
    def _multiplicity(self) -> int:
        return self.length

    def spread(self, *, prefix: int) -> Fraction:
        """Return 1: each sum has one draw of noise."""
        self._checked_prefix(prefix)
        return Fraction(1)

    def _half_width(self, chance: Fraction, prefix: int | None) -> int:
        """Return the exact quantile."""
        return two_sided_quantile(self.law, chance, self.length if prefix is None else 1)

    def _state(self) -> CounterState[int]:
        return _PrefixState()

    def _measured(self, values: Sequence[int]) -> list[int]:
        return list(accumulate(values))

    def _measurements_of(self, outcome: Sequence[Any]) -> list[int] | None:
        return [whole(total, name="a sum") for total in outcome]

    def _errors(self, noise: NDArray[np.int64]) -> NDArray[np.int64]:
        return noise


@final
class _PrefixState(CounterState[int]):
    """The sum so far."""

    def __init__(self) -> None:
        self._total = 0

    def step(self, value: int, noise: Sequence[int]) -> int:
        self._total += value
        return clamped(self._total + noise[0])
