"""The binary tree mechanism, plain, and refined by the blocks inside each block.

Trust: kernel.

Definition.  At position t, release the sum of block (height(t), t), the 2**height(t) values up to
t, plus fresh noise.  The sum of the first t values is the sum of the blocks at the binary digits of
t: at most log2(n) + 1 of them.
Theorem (key ``binary-tree``; Dwork, Naor, Pitassi and Rothblum 2010; Chan, Shi and Song 2011).  A
value lies in at most one block of each height, the first value in one of each: floor(log2 n) + 1 in
all, also for a length that is no power of two.  So the loss is that of as many answers at distance
``bound``; it is attained, because the noisy blocks can be read off the sums.
A run remembers one exact sum and one noisy sum for each height.

Definition.  The refined tree releases every block (h, t), of every height, with fresh noise.  With
v_h = 2**h / (2**(h+1) - 1), estimate a block of height h as v_h times its noisy sum plus (1 - v_h)
times the sum of the estimates of its two halves; the sum of the first t values is the sum of
estimates at the binary digits of t.
Theorem (key ``refined-tree``; Honaker 2015).  The estimate of a block is unbiased and has v_h times
the variance of one draw, the least that a linear estimate from the block and what is inside it can
have.  Proof.  v_0 = 1; two halves have 2 v_{h-1} together, and weights inverse to the variances 1
and 2 v_{h-1} give v_h = 2 v_{h-1} / (1 + 2 v_{h-1}).
The loss is that of ``BinaryTreeCounter``, with about half of its variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import Node, Parallel, Sequential, between
from discreet.continual.counter import BlockCounter, Counter, CounterState
from discreet.continual.sum_tails import (
    depth,
    digits,
    height,
    lowest,
    plain_sum_half_width,
    sum_half_width,
    tree_half_width,
    weighted_sum_half_width,
)


@final
@dataclass(frozen=True, slots=True, init=False)
class BinaryTreeCounter(BlockCounter):
    """Add noise to blocks of a binary tree, and add up the noisy blocks.

    >>> from discreet.mechanisms import Laplace
    >>> counter = BinaryTreeCounter(length=8, noise=Laplace(scale=4))
    >>> counter.depth, counter.loss().epsilon(delta=0)  # four blocks hold the first value
    (4, 1.0)
    >>> counter.error(confidence=0.95), counter.error(confidence=0.95, prefix=8)
    (24, 12)
    >>> counter.run([1, 0, 1, 1, 0, 0, 1, 0]).shape
    (8,)
    """

    @property
    def depth(self) -> int:
        """How many blocks hold the first value, which is in most."""
        return depth(self.length)

    @property
    def _multiplicity(self) -> int:
        return self.depth

    def tree(self, *, distance: int = 1) -> Node:
        """Return one leaf for each block; blocks of one height lie side by side."""
        leaf = self._listed(distance)
        heights: list[dict[Any, Node]] = [{} for _ in range(self.depth)]
        for t in range(1, self.length + 1):
            heights[height(t)][between(t - lowest(t) + 1, t)] = leaf
        return Sequential(*(Parallel("position", blocks) for blocks in heights))

    def _start(self, t: int) -> int:
        return t - lowest(t)

    def _blocks(self, t: int) -> int:
        return t.bit_count()

    def _half_width(self, chance: Fraction, prefix: int | None) -> int:
        """Return the exact quantile of one sum, or of the largest error of all."""
        if prefix is not None:
            return plain_sum_half_width(self.law, self._blocks(prefix), 1 - chance)
        return tree_half_width(self.law, self.length, chance)

    def _state(self) -> CounterState[int]:
        return _TreeState(self.depth)


@final
class _TreeState(CounterState[int]):
    """For each height, the exact sum of the block that grows, and the noisy sum of the last one."""

    def __init__(self, heights: int) -> None:
        self._exact = [0] * heights
        self._noisy = [0] * heights
        self._time = 0

    def step(self, value: int, noise: Sequence[Any] | NDArray[np.int64]) -> int:
        self._time += 1
        top = height(self._time)
        block = value + sum(self._exact[:top])
        self._exact[top] = block
        self._noisy[top] = block + noise[0]
        return sum(self._noisy[height(t)] for t in digits(self._time))


@final
@dataclass(frozen=True, slots=True, init=False)
class RefinedTreeCounter(Counter):
    """Add noise to all blocks of a binary tree, and blend what they say about each sum.

    >>> from discreet.mechanisms import Laplace
    >>> counter = RefinedTreeCounter(length=8, noise=Laplace(scale=4))
    >>> counter.loss().epsilon(delta=0)
    1.0
    >>> counter.spread(prefix=7), counter.spread(prefix=8)
    (Fraction(47, 21), Fraction(8, 15))
    >>> counter.run([1, 0, 1, 1, 0, 0, 1, 0]).dtype
    dtype('float64')
    """

    @property
    def depth(self) -> int:
        """How many blocks hold the first value, which is in most."""
        return depth(self.length)

    @property
    def _multiplicity(self) -> int:
        return self.depth

    @property
    def draws(self) -> int:
        """How many draws of noise a run makes."""
        return 2 * self.length - self.length.bit_count()

    def tree(self, *, distance: int = 1) -> Node:
        """Return one leaf for each block; blocks of one height lie side by side."""
        leaf, heights = self._listed(distance), []
        for size in (1 << h for h in range(self.depth)):
            ends = range(size, self.length + 1, size)
            heights.append(Parallel("position", {between(t - size + 1, t): leaf for t in ends}))
        return Sequential(*heights)

    def spread(self, *, prefix: int) -> Fraction:
        """Return the sum of v_h over the binary digits of the prefix."""
        ends = digits(self._checked_prefix(prefix))
        return sum((_share(height(t)) for t in ends), Fraction(0))

    def _half_width(self, chance: Fraction, prefix: int | None) -> Fraction:
        """Return a bound for one sum, or for all, each failing with an equal share."""
        if prefix is not None:
            weights = [pair for t in digits(prefix) for pair in _weights(height(t))]
            return Fraction(weighted_sum_half_width(self.law, weights=weights, tail=1 - chance))
        spread, share = self._widest(), (1 - chance) / self.length
        return Fraction(sum_half_width(self.law, spread=spread, draws=self.draws, tail=share))

    def _widest(self) -> Fraction:
        """Return the largest spread: that of the length, or of a prefix that ends in ones."""
        ends = {self.length, *((self.length >> h << h) - 1 for h in range(self.depth))}
        return max(self.spread(prefix=t) for t in ends if t)

    def _state(self) -> CounterState[float]:
        return _RefinedState(self.depth)


@final
class _RefinedState(CounterState[float]):
    """For each height, the exact sum and the estimate of the last left half that was finished."""

    def __init__(self, heights: int) -> None:
        self._exact = [0] * heights
        self._estimates: list[Any] = [0.0] * heights
        self._time = 0

    def draws(self, time: int) -> int:
        return height(time) + 1

    def step(self, value: int, noise: Sequence[Any] | NDArray[np.int64]) -> Any:
        self._time += 1
        block, estimate = value, 1.0 * (value + noise[0])
        top = height(self._time)
        for h in range(1, top + 1):
            block += self._exact[h - 1]
            own = float(_share(h))
            estimate = own * (block + noise[h]) + (1 - own) * (self._estimates[h - 1] + estimate)
        self._exact[top], self._estimates[top] = block, estimate
        return sum(self._estimates[height(t)] for t in digits(self._time))


def _share(h: int) -> Fraction:
    """Return v_h."""
    return Fraction(1 << h, (2 << h) - 1)


def _weights(h: int) -> list[tuple[float, int]]:
    """Return with which weights the noise of how many blocks enters the estimate of a block."""
    weights, left = [], Fraction(1)
    for inside in range(h, -1, -1):
        weights.append((float(left * _share(inside)), 1 << (h - inside)))
        left *= 1 - _share(inside)
    return weights
