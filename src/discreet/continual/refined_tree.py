"""The binary tree, refined: a block is estimated from its own noise and from the blocks inside it.

Trust: kernel.

Definition.  Release every block (h, t), of every height, with fresh noise.  With v_h =
2**h / (2**(h+1) - 1), estimate a block of height h as v_h times its noisy sum plus (1 - v_h) times
the sum of the estimates of its two halves; the sum of the first t values is the sum of estimates at
the binary digits of t.
Theorem (key ``refined-tree``; Honaker 2015).  The estimate of a block is unbiased and has v_h times
the variance of one draw, the least that a linear estimate from the block and what is inside it can
have.  Proof.  v_0 = 1; two halves have 2 v_{h-1} together, and weights inverse to the variances 1
and 2 v_{h-1} give v_h = 2 v_{h-1} / (1 + 2 v_{h-1}).
A value lies in at most one block of each height: the loss is that of ``BinaryTreeCounter``, with
about half of its variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import Node, Parallel, Sequential, between
from discreet.continual.counter import Counter
from discreet.continual.counter_run import Steps
from discreet.continual.dyadic import depth, digits, height
from discreet.continual.stream import Noise, checked_length_and_bound, checked_noise
from discreet.continual.tails import reach_of_blend, reach_of_sum

__all__ = ["RefinedTreeCounter"]


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

    @property
    def _meets(self) -> int:
        return self.depth

    def spread(self, *, prefix: int) -> Fraction:
        """Return the sum of v_h over the binary digits of the prefix."""
        ends = digits(self._checked_prefix(prefix))
        return sum((_share(height(t)) for t in ends), Fraction(0))

    def _reach(self, chance: Fraction, prefix: int | None) -> Fraction:
        """Return a bound for one sum, or for all, each failing with an equal share."""
        if prefix is not None:
            weights = [each for t in digits(prefix) for each in _weights(height(t))]
            return Fraction(reach_of_blend(self.law, weights=weights, tail=1 - chance))
        spread, share = self._widest(), (1 - chance) / self.length
        return Fraction(reach_of_sum(self.law, spread=spread, draws=self.draws, tail=share))

    def _widest(self) -> Fraction:
        """Return the largest spread: that of the length, or of a prefix that ends in ones."""
        ends = {self.length, *((self.length >> h << h) - 1 for h in range(self.depth))}
        return max(self.spread(prefix=t) for t in ends if t)

    def _steps(self) -> Steps[float]:
        return _RefinedSteps(self.depth)

    def _errors(self, noise: NDArray[np.int64]) -> NDArray[np.float64]:
        steps, columns, at = _RefinedSteps(self.depth), noise.T, 0
        errors = np.empty((len(noise), self.length))
        for t in range(1, self.length + 1):
            count = height(t) + 1
            errors[:, t - 1] = steps.blended(0, columns[at : at + count])
            at += count
        return errors


@final
class _RefinedSteps:
    """For each height, the exact sum and the estimate of the last left half that was finished."""

    def __init__(self, heights: int) -> None:
        self._exact = [0] * heights
        self._estimates: list[Any] = [0.0] * heights
        self._time = 0

    def draws(self, time: int) -> int:
        return height(time) + 1

    def step(self, value: int, noise: Sequence[int]) -> float:
        return float(self.blended(value, noise))

    def blended(self, value: int, noise: Sequence[Any] | NDArray[np.int64]) -> Any:
        """Take one step; each draw of noise may also be an array, for many runs at once."""
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
    found, left = [], Fraction(1)
    for inside in range(h, -1, -1):
        found.append((float(left * _share(inside)), 1 << (h - inside)))
        left *= 1 - _share(inside)
    return found
