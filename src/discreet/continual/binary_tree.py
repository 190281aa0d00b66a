"""The binary tree: noise on blocks of 1, 2, 4, ... values, so that few draws make up each sum.

Trust: kernel.

Definition.  At position t, release the sum of block (height(t), t), the 2**height(t) values up to
t, plus fresh noise.  The sum of the first t values is the sum of the blocks at the binary digits of
t: at most log2(n) + 1 of them.
Theorem (key ``binary-tree``; Dwork, Naor, Pitassi and Rothblum 2010; Chan, Shi and Song 2011).  A
value lies in at most one block of each height, the first value in one of each: floor(log2 n) + 1 in
all, also for a length that is no power of two.  So the loss is that of so many answers at distance
``bound``; it is attained, because the noisy blocks can be read off the sums.
Blocks of one height that end at an even multiple are never used, and not released.
A run remembers one exact sum and one noisy sum for each height: memory grows like log(n).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import Node, Parallel, Sequential, between
from discreet.continual.counter import Counter, clamped
from discreet.continual.counter_run import Steps
from discreet.continual.dyadic import depth, digits, height, lowest
from discreet.continual.stream import Noise, checked_length_and_bound, checked_noise
from discreet.continual.sums import reach_of_plain_sum, reach_of_tree
from discreet.exact import whole

__all__ = ["BinaryTreeCounter"]


@final
@dataclass(frozen=True, slots=True, init=False)
class BinaryTreeCounter(Counter):
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

    length: int
    noise: Noise
    bound: int

    def __init__(self, *, length: int, noise: Noise, bound: int = 1) -> None:
        """Take how many values come, the noise of one block, and the largest value."""
        size, most = checked_length_and_bound(length, bound)
        object.__setattr__(self, "length", size)
        object.__setattr__(self, "noise", checked_noise(noise))
        object.__setattr__(self, "bound", most)

    @property
    def depth(self) -> int:
        """How many blocks hold the first value, which is in most."""
        return depth(self.length)

    def tree(self, *, distance: int = 1) -> Node:
        """Return one leaf for each block; blocks of one height lie side by side."""
        leaf = self._listed(distance)
        heights: list[dict[Any, Node]] = [{} for _ in range(self.depth)]
        for t in range(1, self.length + 1):
            heights[height(t)][between(t - lowest(t) + 1, t)] = leaf
        return Sequential(*(Parallel("position", blocks) for blocks in heights))

    @property
    def _meets(self) -> int:
        return self.depth

    def spread(self, *, prefix: int) -> Fraction:
        """Return the number of blocks that were added up."""
        return Fraction(self._checked_prefix(prefix).bit_count())

    def _reach(self, chance: Fraction, prefix: int | None) -> int:
        """Return the exact quantile of one sum, or of the largest error of all."""
        if prefix is not None:
            return reach_of_plain_sum(self.law, prefix.bit_count(), 1 - chance)
        return reach_of_tree(self.law, self.length, chance)

    def _steps(self) -> Steps[int]:
        return _TreeSteps(self.depth)

    def _measured(self, values: Sequence[int]) -> list[int]:
        sums = [0, *accumulate(values)]
        return [sums[t] - sums[t - lowest(t)] for t in range(1, self.length + 1)]

    def _unmixed(self, outcome: Sequence[Any]) -> list[int] | None:
        sums = [0, *(whole(total, name="a sum") for total in outcome)]
        return [sums[t] - sums[t - lowest(t)] for t in range(1, len(sums))]

    def _errors(self, noise: NDArray[np.int64]) -> NDArray[np.int64]:
        sums = np.zeros((noise.shape[0], self.length + 1), np.int64)
        for t in range(1, self.length + 1):
            sums[:, t] = sums[:, t - lowest(t)] + noise[:, t - 1]
        return sums[:, 1:]


@final
class _TreeSteps:
    """For each height, the exact sum of the block that grows, and the noisy sum of the last one."""

    def __init__(self, heights: int) -> None:
        self._exact = [0] * heights
        self._noisy = [0] * heights
        self._time = 0

    def draws(self, time: int) -> int:  # noqa: ARG002
        return 1

    def step(self, value: int, noise: Sequence[int]) -> int:
        self._time += 1
        top = height(self._time)
        block = value + sum(self._exact[:top])
        self._exact[top] = block
        self._noisy[top] = block + noise[0]
        return clamped(sum(self._noisy[height(t)] for t in digits(self._time)))
