"""The binary tree mechanism.

Trust: kernel.

Definition.  At position t, release the sum of block (height(t), t), the 2**height(t) values up to
t, plus fresh noise.  The sum of the first t values is the sum of the blocks at the binary digits of
t: at most log2(n) + 1 of them.
Theorem (key ``binary-tree``; Dwork, Naor, Pitassi and Rothblum 2010; Chan, Shi and Song 2011).  A
value is in at most one block of each height, the first value in one of each: floor(log2 n) + 1 in
all, also for a length that is not a power of two.  So the loss is that of as many answers at
distance ``bound``; it is attained, because the noisy blocks can be read off the sums.
A run remembers one exact sum and one noisy sum for each height.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import Node, Parallel, Sequential, between
from discreet.continual.counter import BlockCounter, CounterState
from discreet.continual.sum_tails import (
    depth,
    digits,
    height,
    lowest,
    plain_sum_half_width,
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
    (31, 12)
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
        """Return the exact quantile of one sum, or a bound for all, each with an equal share.

        The noise is symmetric and unimodal, so a sum of more draws reaches further.
        """
        if prefix is not None:
            return plain_sum_half_width(self.law, self._blocks(prefix), 1 - chance)
        most = max(self._blocks(self.length), self.depth - 1)  # of the length, or of 2**h - 1
        return plain_sum_half_width(self.law, most, (1 - chance) / self.length)

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
