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
from typing import final

from discreet.accounting import Box, Node, Parallel, Sequential, Where, at_most
from discreet.continual.counter import BlockCounter, clamped
from discreet.continual.counter_run import CounterState
from discreet.continual.sum_tails import plain_sum_half_width
from discreet.mechanisms.exact_quantiles import two_sided_quantile


@final
@dataclass(frozen=True, slots=True, init=False)
class NoisyBits(BlockCounter):
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

    def _start(self, t: int) -> int:
        return t - 1

    def _blocks(self, t: int) -> int:
        return t

    def _half_width(self, chance: Fraction, prefix: int | None) -> int:
        """Return the quantile of one sum, or Lévy's bound for all."""
        if prefix is not None or self.length == 1:
            return plain_sum_half_width(self.law, prefix or 1, 1 - chance)
        return plain_sum_half_width(self.law, self.length, (1 - chance) / 2)

    def _state(self) -> CounterState[int]:
        return _BitState()


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
class NoisyPrefixes(BlockCounter):
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

    def _start(self, t: int) -> int:  # noqa: ARG002  (every prefix is a block)
        return 0

    def _blocks(self, t: int) -> int:  # noqa: ARG002
        return 1

    def _half_width(self, chance: Fraction, prefix: int | None) -> int:
        """Return the exact quantile."""
        return two_sided_quantile(self.law, chance, self.length if prefix is None else 1)

    def _state(self) -> CounterState[int]:
        return _PrefixState()


@final
class _PrefixState(CounterState[int]):
    """The sum so far."""

    def __init__(self) -> None:
        self._total = 0

    def step(self, value: int, noise: Sequence[int]) -> int:
        self._total += value
        return clamped(self._total + noise[0])
