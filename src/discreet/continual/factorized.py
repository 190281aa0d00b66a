"""Matrix factorization: measure R x and undo it, with R close to the root of all prefix sums.

Trust: kernel.

Definition.  Let A be the matrix of prefix sums (ones on and below the diagonal), and let R be the
lower triangular Toeplitz matrix with the coefficients r_k = C(2k, k) / 4**k of (1 - x)**(-1/2), so
that R R = A.  Multiply by 2**bits and round each to an integer, keep the first ``band`` of them,
and measure y = R x + Z with discrete Gaussian noise, in integers.  The estimates are A R**-1 y, in
floating point, which is post-processing.
Theorem (key ``matrix-mechanism``; Li, Miklau, Hay, McGregor and Rastogi 2015; Fichtenberger,
Henzinger and Upadhyay 2023 for the root).  Changing the value at position p moves y by a multiple
of column p of R, whose squared length is the sum of the squares of its first n - p + 1
coefficients.  So it costs no more than a move of that length by Gaussian noise (keys
``gaussian-mechanism``, ``gaussian-smoothing``): the loss is zero-concentrated with rho =
(bound * length of the column)**2 / (2 v), largest for the first column, regardless of the rounding.
The noise of the estimate of the first t values has the variance v (w_0**2 + ... + w_{t-1}**2),
where w_k are the coefficients of 1 / ((1 - x) R(x)): for the exact root, of R itself.  Rounded
coefficients do not rise, so all roots of R(x) are outside the unit disk (Eneström and Kakeya), and
undoing R does not blow up.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import Leaf, Node, Parallel
from discreet.continual.counter import Counter, CounterState
from discreet.continual.sum_tails import sum_half_width
from discreet.errors import TooLarge
from discreet.exact import Interval, freeze, instance, whole
from discreet.loss import PrivacyLoss, Profile, ZeroConcentrated
from discreet.loss.gaussian import SmoothedGaussianPair
from discreet.mechanisms import Gaussian
from discreet.mechanisms.mechanism import Number, steps_at
from discreet.noise import DiscreteGaussian

_LONGEST: Final = 1 << 14  # each value takes as many multiplications
_LARGEST: Final = 1 << 62  # measurements, so that noise is added within 64 bits


@final
@dataclass(frozen=True, slots=True, init=False)
class FactorizedCounter(Counter):
    """Add Gaussian noise to R x, and undo R: the smallest error of all counters here.

    >>> counter = FactorizedCounter(length=8, noise=Gaussian(sigma=3))
    >>> round(float(counter.concentrated().rho), 4)  # column 1 of R has the square 1.718
    0.0955
    >>> round(float(counter.spread(prefix=8)), 3)
    1.718
    >>> counter.run([1, 0, 1, 1, 0, 0, 1, 0]).dtype
    dtype('float64')
    """

    noise: Gaussian
    band: int
    bits: int

    def __init__(
        self,
        *,
        length: int,
        noise: Gaussian,
        bound: int = 1,
        band: int | None = None,
        bits: int = 16,
    ) -> None:
        """Take how many values come, the noise in units of the values, and the largest value.

        ``band`` is how many coefficients of R are kept, all by default; ``bits`` is how finely
        they are rounded.
        """
        Counter.__init__(self, length=length, noise=noise, bound=bound)
        instance(noise, Gaussian, name="noise")
        size = whole(self.length, name="length", low=1, high=_LONGEST)
        kept = whole(size if band is None else band, name="band", low=1, high=size)
        freeze(self, band=kept, bits=whole(bits, name="bits", low=1, high=30))
        if sum(self.coefficients) * self.bound > _LARGEST:
            raise TooLarge("the measurements do not fit in 62 bits; use a coarser unit.")

    @property
    def coefficients(self) -> tuple[int, ...]:
        """The first column of R, as integers in units of 2**-bits, without the zeros below."""
        return _coefficients(self.band, self.bits)

    @property
    def law(self) -> DiscreteGaussian:
        """The noise of one measurement, in units of 2**-bits."""
        return DiscreteGaussian(variance=self.noise.variance * 4**self.bits)

    def tree(self, *, distance: int = 1) -> Node:
        """Return one leaf for each position: all measurements that hold it, at its column."""
        squares = list(itertools.accumulate(r * r for r in self.coefficients))
        lengths = [min(self.band, self.length - p) for p in range(self.length)]
        parts = {p: self._column(distance, squares[n - 1]) for p, n in enumerate(lengths, start=1)}
        return Parallel("position", parts)

    @property
    def _multiplicity(self) -> int:
        return self.band

    def _path(self, distance: int) -> Node:
        return self._column(distance, sum(r * r for r in self.coefficients))

    def _column(self, distance: int, square: int) -> Leaf:
        """Return one leaf for all measurements that hold a position, by its squared length."""
        moved = whole(distance, name="distance", low=1) * self.bound
        loss = _price(self.law.variance, moved**2 * square, self.length)
        return Leaf(loss, replaced=loss)

    def concentrated(self, *, distance: Number = 1) -> ZeroConcentrated:
        """Return the simpler bound rho of the first column."""
        moved = steps_at(distance) * self.bound
        column = sum(r * r for r in self.coefficients)
        return ZeroConcentrated(rho=moved**2 * column / (2 * self.law.variance))

    def spread(self, *, prefix: int) -> Fraction:
        """Return the sum of the squared weights with which draws enter, to within rounding."""
        return self.spreads()[self._checked_prefix(prefix) - 1]

    def spreads(self) -> tuple[Fraction, ...]:
        return _spreads(self)

    def _one_draw(self) -> Interval:
        exact, unit = self.law.moments().variance, 4**self.bits
        return Interval(exact.low / unit, exact.high / unit)

    def _half_width(self, chance: Fraction, prefix: int | None) -> Fraction:
        """Return a bound for one sum, or for all, each failing with an equal share."""
        last, share = self.length if prefix is None else prefix, 1 - chance
        if prefix is None:
            share /= self.length  # and the last sum has the most noise
        spread = self.spread(prefix=last) / 4**self.bits
        return Fraction(sum_half_width(self.law, spread=spread, draws=last, tail=share))

    def _state(self) -> _FactorState:
        return _FactorState(self.coefficients)

    def measurement(self, values: Sequence[int]) -> int:
        return sum(r * x for r, x in zip(self.coefficients, reversed(values), strict=False))

    def _measurements_of(self, outcome: Sequence[Any]) -> list[int] | None:
        """Round R times the steps of the sums, and see whether it leads back to them."""
        sums = [0.0, *(float(total) for total in outcome)]
        undone = [here - before for before, here in itertools.pairwise(sums)]
        rounded = [
            round(sum(r * u for r, u in zip(self.coefficients, reversed(undone[:t]), strict=False)))
            for t in range(1, len(sums))
        ]
        steps = self._state()
        again = [steps.step(0, [y]) for y in rounded]
        return rounded if again == sums[1:] else None

    def errors(self, noise: NDArray[np.int64]) -> NDArray[np.float64]:
        size = 1 << (2 * self.length).bit_length()
        weights = np.fft.rfft(_weights(self), size)
        return np.fft.irfft(np.fft.rfft(noise, size) * weights, size)[:, : self.length]


@final
class _FactorState(CounterState[float]):
    """The last values, what they were measured as with R undone, and the sum of the latter."""

    def __init__(self, coefficients: Sequence[int]) -> None:
        self._measure = np.array(coefficients, np.int64)
        self._undo = np.array(coefficients[1:], np.float64) / coefficients[0]
        self._scale = coefficients[0]
        self._values = np.zeros(len(coefficients), np.int64)
        self._undone = np.zeros(len(coefficients) - 1)
        self._total = 0.0

    def step(self, value: int, noise: Sequence[Any] | NDArray[np.int64]) -> float:
        self._values[1:] = self._values[:-1]
        self._values[0] = value
        measured = int((self._measure * self._values).sum()) + noise[0]
        undone = measured / self._scale - float((self._undo * self._undone).sum())
        self._undone[1:] = self._undone[:-1]
        self._undone[:1] = undone
        self._total += undone
        return self._total


def _price(variance: Fraction, squared: int, places: int) -> PrivacyLoss:
    """Price a move of this squared length: below one Gaussian, if the noise is wide enough."""
    pair = SmoothedGaussianPair.of(variance=variance, squared=squared, coordinates=places)
    if pair is None:
        return ZeroConcentrated(rho=squared / (2 * variance))
    return Profile.of_symmetric(pair)


@functools.lru_cache(maxsize=32)
def _coefficients(count: int, bits: int) -> tuple[int, ...]:
    """Return 2**bits C(2k, k) / 4**k, rounded, for k = 0, 1, ..."""
    column, central = [], 1
    for k in range(count):
        column.append((2 * (central << bits) + (1 << 2 * k)) >> (2 * k + 1))
        central = central * 2 * (2 * k + 1) // (k + 1)
    return tuple(column)


@functools.lru_cache(maxsize=32)
def _weights(counter: FactorizedCounter) -> NDArray[np.float64]:
    """Return how much one draw, in units of 2**-bits, moves this sum and those after it."""
    steps = _FactorState(counter.coefficients)
    return np.array([steps.step(0, [int(t == 0)]) for t in range(counter.length)])


@functools.lru_cache(maxsize=32)
def _spreads(counter: FactorizedCounter) -> tuple[Fraction, ...]:
    unit = 4**counter.bits
    return tuple(itertools.accumulate(Fraction(w) ** 2 * unit for w in _weights(counter).tolist()))
