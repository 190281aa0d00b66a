"""The same sums for the same price, by each counter: how far off they are.

Trust: public.  It plans and measures; what it plans is priced by the counters themselves.

Definition.  The error of an estimate is its standard deviation.  ``typical`` is the root of the
mean of its square over all prefixes, ``largest`` the largest of all.  Predicted errors follow from
the variance of the noise; measured ones are those of a number of runs.  Neither depends on data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np

from discreet.continual.binary_tree import BinaryTreeCounter, RefinedTreeCounter
from discreet.continual.counter import Counter
from discreet.continual.counter_run import Noise, checked_length_and_bound
from discreet.continual.dyadic import depth
from discreet.continual.factorized import FactorizedCounter
from discreet.continual.simple_counters import NoisyBits, NoisyPrefixes
from discreet.errors import WrongKind
from discreet.exact import decimal, positive, whole
from discreet.loss import PrivacyLoss, ZeroConcentrated, least_scale
from discreet.mechanisms import Gaussian, Laplace
from discreet.mechanisms.mechanism import Number
from discreet.noise import SYSTEM, Entropy

_UNIT: Final = Gaussian(sigma=1)
_BLOCK: Final = 1 << 20  # draws at a time


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

    The price is a pure ``epsilon`` (Laplace noise; there is no factorized counter then), or ``rho``
    or ``epsilon`` and ``delta`` (Gaussian noise).

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
        squares += (counter._errors(noise).astype(float) ** 2).sum(axis=0)  # noqa: SLF001
        left -= rows
    return _errors((squares / repeats).tolist())


def _errors(variances: list[float]) -> Errors:
    mean = math.fsum(variances) / len(variances)
    return Errors(typical=math.sqrt(mean), largest=math.sqrt(max(variances)))
