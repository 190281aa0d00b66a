"""Noise that later steps take off again: sums are measured in bands, units in turns.

Trust: kernel.

Definition.  Let r_0, ..., r_{b-1} be public integers, in units of 2**-bits: the first coefficients
of (1 - x)**(-1/2), the column of the root of all prefix sums
(:class:`discreet.continual.FactorizedCounter`).  Every unit is put into one of b parts by coins of
its own, once.  Step t draws a Poisson sample of rate b q from part t mod b, and its sum x_t is
floored to integers.  Measured is y_t = r_0 x_t + ... + r_{b-1} x_{t-b+1} + Z_t with fresh discrete
Gaussian noise.  Estimates e_t = (y_t - r_1 e_{t-1} - ...) / r_0 are post-processing: their prefix
sums, which weights are made of, have less noise than those of independent steps.

Theorem (key ``banded-sums``; Choquette-Choo et al. 2023 for continuous noise).  If one unit moves
x_t by at most D steps in L2, a run of T steps loses no more than ceil(T / b) copies of a Gaussian
release of b d coordinates at the distance D |r| on a Poisson sample of rate b q, in addition to
batches above their cap.
    Proof in docs/proofs/learning.md: steps of one unit are b apart, and each enters b measurements.
So the probability of a batch above its cap is that of a Poisson sample of rate q.
Earlier sums are data, and are never saved.  A process that resumes draws the parts anew, so that a
unit may have one step more than ceil(T / b), unless the run goes on at a multiple of b: the steps
since that multiple are charged again (:mod:`discreet.torch.marks`).  A step that does not
follow the last one is refused: its sum would be measured twice in a block that was paid for once.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import Leaf
from discreet.certified import sqrt
from discreet.continual import FactorizedCounter
from discreet.errors import OutOfRange, RunFenced
from discreet.exact import whole
from discreet.mechanisms import Gaussian
from discreet.noise import SYSTEM, DiscreteGaussian, DyadicGrid, Entropy
from discreet.torch.private_sum import PrivateSum, one_sum
from discreet.torch.sampling import PoissonBatches
from discreet.units import PrivacyUnit

_BITS: Final = 10
_WIDEST: Final = 64
_LARGEST: Final = 1 << 61


@final
@dataclass(frozen=True, slots=True)
class Band:
    """How many steps a sum is measured in; 1 is independent noise.

    >>> Band(4).coefficients
    (1024, 512, 384, 320)
    >>> round(float(Band(4).length), 3)
    1.22
    """

    width: int = 1

    def __post_init__(self) -> None:
        """Refuse widths whose parts could not be drawn by whole bits."""
        size = whole(self.width, name="band", low=1, high=_WIDEST)
        if size & (size - 1):
            raise OutOfRange("band is not a power of two: give 2, 4, 8, 16, 32 or 64.")

    @property
    def coefficients(self) -> tuple[int, ...]:
        """r_0, r_1, ... in units of 2**-bits."""
        counter = FactorizedCounter(length=self.width, noise=Gaussian(sigma=1), bits=_BITS)
        return counter.coefficients

    @property
    def length(self) -> Fraction:
        """|r|, rounded up."""
        squares = Fraction(sum(r * r for r in self.coefficients), 4**_BITS)
        return Fraction(sqrt(squares, 64)[1], 1 << 64)

    def blocks(self, steps: int) -> int:
        """Return how often a unit may be drawn in this number of steps."""
        return -(-steps // self.width)

    def grid(self, one: PrivateSum) -> DyadicGrid:
        """Return the grid of the measurements."""
        return one.grid if self.width == 1 else DyadicGrid(exponent=one.grid.exponent - _BITS)

    def law(self, one: PrivateSum) -> DiscreteGaussian:
        """Return the distribution of the noise, in steps of that grid."""
        return Gaussian(sigma=one.sigma, grid=self.grid(one)).law

    def distance(self, one: PrivateSum) -> Fraction:
        """Return how far one unit moves a block, its floor included."""
        if self.width == 1:
            return one.distance
        steps = Fraction(sqrt(Fraction(one.squared), 32)[1], 1 << 32)
        return self.length * steps * one.grid.step

    def squared(self, one: PrivateSum) -> int:
        """Return the square of it, in grid steps of the measurements."""
        return self.grid(one).distance_l2_squared(
            self.distance(one), coordinates=self.width * one.coordinates
        )

    def leaf(self, one: PrivateSum, unit: PrivacyUnit) -> Leaf:
        """Return one block, for a composition."""
        largest = sum(self.coefficients) * one.units * (one.length / one.grid.step + 1)
        if self.width > 1 and largest >= _LARGEST:
            raise OutOfRange(
                "measured sums would not fit in 62 bits: take smaller batches, or a band of 1."
            )
        return one_sum(
            Gaussian(sigma=one.sigma, grid=self.grid(one)),
            distance=self.distance(one),
            coordinates=self.width * one.coordinates,
            unit=unit,
        )


@final
class BandedBatches:
    """Which units a step draws from: those of one part in turn.

    >>> parts = BandedBatches(Band(2), PoissonBatches(rate="1/2", cap=9), units=6)
    >>> first, second = parts.draw(0), parts.draw(1)
    >>> sorted([*first.tolist(), *second.tolist()])
    [0, 1, 2, 3, 4, 5]
    """

    __slots__ = ("_band", "_batches", "_entropy", "_parts")

    def __init__(
        self, band: Band, batches: PoissonBatches, *, units: int, entropy: Entropy = SYSTEM
    ) -> None:
        """Put every unit into a part; ``batches`` has the rate of all steps together."""
        self._band, self._entropy = band, entropy
        self._batches = PoissonBatches(
            rate=batches.rate * band.width, cap=batches.cap, words=batches.words
        )
        bits = band.width.bit_length() - 1
        self._parts = entropy.words(units, bits) if bits and units else np.zeros(units, np.int64)

    def draw(self, step: int) -> NDArray[np.int64]:
        """Return the places of the units of a step, counted from 0."""
        members = np.flatnonzero(self._parts == step % self._band.width)
        return members[self._batches.draw(int(members.size), self._entropy)]


INDEPENDENT: Final = Band()


@final
class BandedSums:
    """What a process remembers of the last sums; the sums are data, and stay here.

    It works on arrays of any kind: NumPy's in tests, PyTorch's in training.
    """

    __slots__ = ("_coefficients", "_estimates", "_next", "_step", "_sums")

    def __init__(self, band: Band) -> None:
        """Remember nothing yet."""
        self._coefficients = band.coefficients
        self._sums: deque[Any] = deque(maxlen=band.width)
        self._estimates: deque[Any] = deque(maxlen=max(1, band.width - 1))
        self._step = 0
        self._next: int | None = None

    @property
    def next_step(self) -> int | None:
        """The step that follows the last one that was measured and estimated, if any."""
        return self._next

    def measured(self, cells: Any, noise: Any, *, step: int) -> Any:
        """Take the sum of a step in integers; return the noisy measurement."""
        if self._sums and self._next != step:
            raise RunFenced(
                what="a step of banded noise does not follow the last one that was released.",
                why="sums of one step that is taken twice would be measured in one block.",
                do="begin once more, with new parts.",
            )
        self._step, self._next = step, None
        self._sums.appendleft(cells)
        total = noise
        for weight, before in zip(self._coefficients, self._sums, strict=False):
            total = total + weight * before
        return total

    def estimate(self, measured: Any) -> Any:
        """Return the estimate of the sum of this step, from float64 measurements."""
        first, *others = self._coefficients
        found = measured / first
        for weight, before in zip(others, self._estimates, strict=False):
            found = found - (weight / first) * before
        self._estimates.appendleft(found)
        self._next = self._step + 1
        return found
