"""The simple counters: noise on every value, or on every prefix sum; all counters compared.

Trust: public.

Definition.  ``NoisyBits`` adds fresh noise to each value, and releases the running sum of the noisy
values.
Theorem (key ``noisy-bits``).  The values are disjoint parts of the stream, so all noisy values
together lose as much as one of them (parallel composition), and sums of them lose no more
(post-processing): eps for Laplace noise of scale bound/eps, for every length.  The bound is
attained, because the sums determine the noisy values.
The sum of the first t values has the noise of t draws.  With Lévy's inequality for sums of
independent symmetric draws, P[some |S_t| > r] <= 2 P[|S_n| > r].

Definition.  ``NoisyPrefixes`` releases after each value the sum so far plus fresh noise.
Theorem (key ``noisy-prefixes``).  The value at position p is in n - p + 1 sums, the first one in
all n: the loss is that of n answers at distance ``bound``, n eps for Laplace noise of loss eps.  It
is attained: changing the first value moves every sum by as much, in the same direction.

Definition.  The error of an estimate is its standard deviation.  ``typical`` is the root of the
mean of its square over all prefixes, ``largest`` the largest of all.  Predicted errors follow from
the variance of the noise; measured ones are those of a number of runs.  Neither depends on data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import Box, Node, Parallel, Sequential, Where, at_most
from discreet.continual import BinaryTreeCounter, Counter, FactorizedCounter
from discreet.continual.counter import (
    BlockCounter,
    CounterState,
    Noise,
    checked_length_and_bound,
)
from discreet.continual.sum_tails import depth, plain_sum_half_width
from discreet.errors import WrongKind
from discreet.exact import decimal, positive, whole
from discreet.loss import PrivacyLoss, ZeroConcentrated, least_scale
from discreet.mechanisms import Gaussian, Laplace
from discreet.mechanisms.mechanism import Number, two_sided_quantile
from discreet.noise import SYSTEM, Entropy
from discreet_course.refined_tree import RefinedTreeCounter

_UNIT: Final = Gaussian(sigma=1)
_BLOCK: Final = 1 << 20  # draws at a time


@final
@dataclass(frozen=True, slots=True, init=False)
class NoisyBits(BlockCounter):
    """Add fresh noise to each value, and add up the noisy values.

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

    def step(self, value: int, noise: Sequence[Any] | NDArray[np.int64]) -> Any:
        self._total = self._total + value + noise[0]
        return self._total


@final
@dataclass(frozen=True, slots=True, init=False)
class NoisyPrefixes(BlockCounter):
    """Add fresh noise to each prefix sum.

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

    def step(self, value: int, noise: Sequence[Any] | NDArray[np.int64]) -> Any:
        self._total += value
        return self._total + noise[0]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Standard deviations over all prefixes: their root mean square, and the largest."""

    typical: float
    largest: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRow:
    """A counter, what it costs, and how far off it is."""

    counter: Counter
    loss: PrivacyLoss
    predicted: Errors
    measured: Errors


def error_table(  # noqa: PLR0913  the price can be named in three ways
    *,
    length: int,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    runs: int = 100,
    entropy: Entropy = SYSTEM,
) -> tuple[ErrorRow, ...]:
    """Plan all counters of bits for one price, and measure their errors.

    The price is a pure ``epsilon`` (Laplace noise, without a factorized counter), or ``rho`` or
    ``epsilon`` and ``delta`` (Gaussian noise).

    >>> for row in error_table(length=64, rho="1/2", runs=1):
    ...     print(f"{type(row.counter).__name__:18} {row.predicted.typical:6.3f}")
    NoisyPrefixes       8.000
    NoisyBits           5.701
    BinaryTreeCounter   4.594
    RefinedTreeCounter  3.652
    FactorizedCounter   2.230
    """
    return tuple(
        ErrorRow(
            counter=counter,
            loss=counter.loss(),
            predicted=predicted_errors(counter),
            measured=measured_errors(counter, runs=runs, entropy=entropy),
        )
        for counter in planned(length=length, epsilon=epsilon, delta=delta, rho=rho)
    )


def planned(
    *,
    length: int,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
) -> Iterator[Counter]:
    """Yield the counters of ``length`` bits at this price, the simplest first.

    >>> [counter.noise.scale for counter in planned(length=8, epsilon="1/2")]
    [Fraction(16, 1), Fraction(2, 1), Fraction(8, 1), Fraction(8, 1)]
    """
    size, _ = checked_length_and_bound(length, 1)
    kinds = (
        (NoisyPrefixes, size),
        (NoisyBits, 1),
        (BinaryTreeCounter, depth(size)),
        (RefinedTreeCounter, depth(size)),
    )
    unit = _unit_noise(epsilon, delta, rho)
    for kind, times in kinds:
        yield kind(length=size, noise=unit.widened(times))
    if isinstance(unit, Gaussian):
        plan = FactorizedCounter(length=size, noise=_UNIT)
        column = Fraction(sum(r * r for r in plan.coefficients), 4**plan.bits)
        yield FactorizedCounter(length=size, noise=unit.widened(column))


def _unit_noise(epsilon: Number | None, delta: Number | None, rho: Number | None) -> Noise:
    """Return the noise of one answer at this price."""
    if rho is not None and epsilon is None and delta is None:
        return Gaussian(variance=1 / (2 * positive(decimal(rho, name="rho"), name="rho")))
    if rho is None and epsilon is not None:
        price = positive(decimal(epsilon, name="epsilon"), name="epsilon")
        if delta is None:
            return Laplace(scale=1 / price)
        chance = decimal(delta, name="delta")
        return Gaussian(
            sigma=least_scale(
                lambda sigma: ZeroConcentrated(rho=1 / (2 * sigma**2)), epsilon=price, delta=chance
            )
        )
    raise WrongKind(
        what="the price is not given in one of the three ways.",
        why="counters are compared at one price.",
        do="give epsilon, or epsilon and delta, or rho.",
    )


def predicted_errors(counter: Counter) -> Errors:
    """Compute the errors of a counter from the variance of its noise.

    >>> predicted_errors(NoisyBits(length=4, noise=Gaussian(sigma=10)))
    Errors(typical=15.811388300841896, largest=20.0)
    """
    one = counter.variance(prefix=1).nearest() / float(counter.spread(prefix=1))
    return _errors([one * float(spread) for spread in counter.spreads()])


def measured_errors(counter: Counter, *, runs: int, entropy: Entropy = SYSTEM) -> Errors:
    """Measure the errors of a counter on ``runs`` runs.

    >>> measured_errors(NoisyBits(length=4, noise=Gaussian(sigma="1/10")), runs=10)
    Errors(typical=0.0, largest=0.0)
    """
    repeats = whole(runs, name="runs", low=1, high=1 << 20)
    squares, left = np.zeros(counter.length), repeats
    while left:
        rows = min(left, max(1, _BLOCK // counter.draws))
        noise = counter.law.sample(rows * counter.draws, entropy).reshape(rows, -1)
        squares += (counter.errors(noise).astype(float) ** 2).sum(axis=0)
        left -= rows
    return _errors((squares / repeats).tolist())


def _errors(variances: list[float]) -> Errors:
    mean = math.fsum(variances) / len(variances)
    return Errors(typical=math.sqrt(mean), largest=math.sqrt(max(variances)))
