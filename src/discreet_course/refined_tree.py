"""The binary tree mechanism refined by the blocks inside each block, and tails of weighted sums.

Trust: public.

Definition.  The refined tree releases every block (h, t), of every height, with fresh noise.  With
v_h = 2**h / (2**(h+1) - 1), estimate a block of height h as v_h times its noisy sum plus (1 - v_h)
times the sum of the estimates of its two halves; the sum of the first t values is the sum of
estimates at the binary digits of t.
Theorem (key ``refined-tree``; Honaker 2015).  The estimate of a block is unbiased and has v_h times
the variance of one draw, the least that a linear estimate from the block and the blocks inside it
can have.  Proof.  v_0 = 1; two halves have 2 v_{h-1} together, and weights inverse to the variances
1 and 2 v_{h-1} give v_h = 2 v_{h-1} / (1 + 2 v_{h-1}).
The loss is that of ``BinaryTreeCounter``, with about half of its variance.

Definition.  The tail of a weighted sum of draws is that of its sum with normal noise (key
``smoothed-sum``), and with known weights a Fourier series.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import Node, Parallel, Sequential, between
from discreet.continual.counter import Counter, CounterState
from discreet.continual.sum_tails import OUTSIDE, SLIP, Law, depth, digits, height, sum_half_width
from discreet.noise import DiscreteLaplace


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
        """Return one leaf for each block; blocks of one height are adjacent."""
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


def weighted_sum_half_width(
    law: Law, *, weights: Sequence[tuple[float, int]], tail: Fraction
) -> float:
    """Return an r with P[|S| > r] <= tail, for weights of at most 1 with their multiplicities.

    >>> law = DiscreteLaplace(scale=10)
    >>> round(weighted_sum_half_width(law, weights=[(0.5, 8)], tail=Fraction(1, 20)))
    41
    """
    draws = sum(count for _, count in weights)
    spread = sum((Fraction(weight) ** 2 * count for weight, count in weights), Fraction(0))
    most = max(abs(weight) for weight, _ in weights)
    bound = sum_half_width(law, spread=spread, draws=draws, tail=tail, most=most)
    if tail < 1000 * Fraction(SLIP):
        return bound
    deviation = math.sqrt(float(spread * law.moments().variance.high))
    width = deviation / 100
    deep = sum_half_width(law, spread=spread, draws=draws, tail=Fraction(1, 10**15), most=most)
    beyond = _series(law, weights, width, deep + 10 * width)
    wanted, low, high = float(tail) * (1 - OUTSIDE) - SLIP, 0.0, bound
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(middle) <= wanted else (middle, high)
    return min(bound, high + 4 * width)


def _series(
    law: Law, weights: Sequence[tuple[float, int]], width: float, half: float
) -> Callable[[float], float]:
    """Return P[|S + N| > x] on a ring of twice the half length."""
    terms = math.ceil(9 * half / (width * math.pi))
    angles = np.arange(1.0, terms + 1) * (math.pi / half)
    logs = -((width * angles) ** 2) / 2
    for weight, count in weights:
        logs += count * _log_mean_cosine(law, weight * angles)
    sizes = 2 * np.exp(logs) / (angles * half)
    return lambda x: 1 - x / half - float((np.sin(angles * x) * sizes).sum())


def _log_mean_cosine(law: Law, angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ln E cos(t Z)."""
    if isinstance(law, DiscreteLaplace):
        return -np.log1p((np.sin(angles / 2) / math.sinh(0.5 / float(law.scale))) ** 2)
    variance, turn = float(law.variance), 2 * math.pi
    if variance < 0.5:
        sizes = {k: math.exp(-k * k / (2 * variance)) for k in range(1, 8)}
        waves = sum(2 * size * np.cos(k * angles) for k, size in sizes.items())
        return np.asarray(np.log((1 + waves) / (1 + 2 * sum(sizes.values()))))
    near = np.abs(angles - turn * np.round(angles / turn))
    turns = [turn * m for m in (-2, -1, 0, 1, 2)]  # by Poisson's formula; more are below 1e-16
    bells = sum(np.exp(variance * (near**2 - (near + winding) ** 2) / 2) for winding in turns)
    total = sum(math.exp(-variance * winding**2 / 2) for winding in turns)
    return np.asarray(np.log(bells / total) - variance * near**2 / 2)
