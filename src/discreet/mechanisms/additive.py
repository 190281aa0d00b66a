"""Additive noise on integers, or on a grid of reals: the Laplace and the Gaussian mechanism.

Trust: kernel.  Proofs are in docs/proofs/mechanisms.md.

Definition.  On integers the answer is x + Z, coordinate by coordinate with independent Z.  On a
grid of step g a real x first goes to its cell floor(x / g); the answer is the middle of the cell
with number floor(x / g) + Z.  Sums outside 64 bits stop at the ends, which is post-processing.
Assumes: all coins come from ``entropy``; no draw of Z itself outside 64 bits, which would reveal x.
Scales are at most 2**50, so its probability is below exp(-8000).

Theorem (key ``laplace-mechanism``; Ghosh, Roughgarden and Sundararajan 2012).  Let P[Z = k] be
proportional to exp(-|k| / scale).  If one unit moves x by at most d in L1, the release is
(d / scale)-differentially private, and no smaller epsilon will do.  The whole curve delta(epsilon)
is that of one coordinate that moves by d (key ``log-concave-moves``): the loss is tight.
Theorem (key ``gaussian-mechanism``; Canonne, Kamath and Steinke 2020).  Let P[Z = k] be
proportional to exp(-k**2 / (2 sigma**2)).  If one unit moves x by at most d in L2, the release
satisfies rho-zCDP for rho = d**2 / (2 sigma**2).  The loss that is returned is tighter.  For one
coordinate, and for squared distances up to 3, it is the exact curve of the one move that covers all
others.  If several moves compete, or noise is too wide to list, a continuous Gaussian with slightly
less noise covers all moves at once (key ``gaussian-smoothing``): sigma**2 loses about 4, and
rho-zCDP holds as well, so the smaller bound counts.  For sigma**2 below about 24 only the zCDP
bound remains.  On a grid of step g both hold with distances in steps (key ``grid-distance``).

Definition.  A move is the difference of two inputs, as the tuple of its entries other than zero, in
size; signs and places do not matter, since the noise is symmetric and the same everywhere.
Theorem (key ``log-concave-moves``).  Let the noise be log-concave on the integers.
    1. A longer move of one coordinate costs at least as much as a shorter one.
    2. A move by a and b in two coordinates costs at most as much as one by a + b in one.
Theorem (key ``laplace-coarsening``).  Two-sided geometric noise of scale s at distance d has
delta(eps) = 1 - exp((eps - d/s) / 2) at the losses eps = (d - 2j) / s, and is linear in exp(eps)
between them.  So the noise of scale s/m at distance d/m, for m that divides d, has some of the same
corners and is above elsewhere: it dominates, with the same pure bound.  On a fine grid, if d
is large, it replaces noise with too many loss values to list; with n corners left, delta grows by
less than (d / (s n))**2 / 2.

Error.  With tau = 1 - c**(1/n), all n coordinates are within r of the truth with probability at
least c exactly if P[|Z| > r] <= tau: if r is at least the (1 - tau/2)-quantile of Z.  tau is
enclosed until both ends have one quantile, so r is exact.  On a grid r cells become (r + 1/2) g.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Self, final

import numpy as np
from numpy.typing import NDArray

import discreet.loss  # for least_scale, which few need
from discreet import noise  # its Gaussian is loaded when first used
from discreet.arrays import INT64_MAX, INT64_MIN, array_of, int64_range, listed, saturating_add
from discreet.errors import NotExact, OutOfRange, WrongKind
from discreet.exact import Interval, decimal, freeze, instance, whole
from discreet.loss import PrivacyLoss, Profile, Pure, ZeroConcentrated
from discreet.loss.gaussian import DiscreteGaussianPair, SmoothedGaussianPair
from discreet.loss.parameters import checked_count, checked_delta
from discreet.loss.pure_pairs import DiscreteLaplacePair
from discreet.mechanisms.mechanism import (
    Mechanism,
    Number,
    ReferenceLaw,
    at_confidence,
    at_distance,
    steps_at,
    two_sided_quantile,
)
from discreet.noise import SYSTEM, DiscreteLaplace, DyadicGrid, Entropy
from discreet.noise.laplace import TwoSidedLaw

_MOST_CORNERS: Final = 1 << 14  # delta grows by less than 2**-29 (d/s)**2 (laplace-coarsening)
_TRIES: Final = 1 << 12  # divisors of the distance that are tried


def laplace_pair(scale: Fraction, distance: int) -> DiscreteLaplacePair:
    """Return the pair of two-sided geometric noise, or one that dominates it with fewer losses.

    >>> laplace_pair(Fraction(2), 3)
    DiscreteLaplacePair(scale=Fraction(2, 1), distance=3)
    >>> laplace_pair(Fraction(1 << 20), 1 << 22).distance
    16384
    """
    least = -(-distance // _MOST_CORNERS)
    if least > 1:
        for m in range(least, least + _TRIES):
            if distance % m == 0:
                return DiscreteLaplacePair(scale / m, distance // m)
    return DiscreteLaplacePair(scale, distance)


Numbers = int | float | Sequence[int] | Sequence[float] | NDArray[Any]
"""What noise is added to: one number, or an array of them."""


class AdditiveNoise(Mechanism[Numbers, Any]):
    """Two-sided noise, independent in each coordinate, on integers or on a grid."""

    __slots__ = ()

    grid: DyadicGrid | None

    norm: ClassVar[int]
    """The norm of its distances: 1, priced in epsilon, or 2, priced in rho."""

    @property
    @abstractmethod
    def law(self) -> TwoSidedLaw:
        """The distribution of the noise, on integers or in steps of the grid."""

    @property
    @abstractmethod
    def width(self) -> float:
        """The scale of its continuous model, or its standard deviation."""

    @abstractmethod
    def widened(self, answers: int | Fraction) -> Self:
        """Return the noise with which ``answers`` answers cost what one costs with this noise."""

    def error(self, *, confidence: Number, coordinates: int = 1) -> int | Fraction:
        """Return the smallest r such that all coordinates are within r, with this probability."""
        chance = at_confidence(confidence)
        cells = two_sided_quantile(self.law, chance, whole(coordinates, name="coordinates", low=1))
        return cells if self.grid is None else (cells + Fraction(1, 2)) * self.grid.step

    def run(self, value: Numbers, *, entropy: Entropy = SYSTEM) -> Any:
        cells = self._cells(value)
        if isinstance(cells, int):
            total = min(max(cells + self.law.draw(entropy), INT64_MIN), INT64_MAX)
            if self.grid is None:
                return total
            return float(self.grid.from_grid(np.array(total, np.int64)))
        noise = self.law.sample(cells.size, entropy).reshape(cells.shape)
        noisy = saturating_add(cells, noise)
        return noisy if self.grid is None else self.grid.from_grid(noisy)

    def reference_pmf(self, value: Numbers) -> ReferenceLaw:
        """Return the probability of a number, or of a tuple of numbers, as a function."""
        cells = self._cells(value)
        if isinstance(cells, int):
            center = cells
            return lambda outcome: self._chance(outcome, center)
        centers = cells.ravel().tolist()

        def chance(outcome: Sequence[Any]) -> Interval:
            pairs = zip(outcome, centers, strict=True)
            return Interval.product(self._chance(y, x) for y, x in pairs)

        return chance

    def _chance(self, outcome: Any, center: int) -> Interval:
        if self.grid is None:
            return self.law.pmf_bounds(whole(outcome, name="outcome") - center)
        cell = Fraction(float(outcome)) / self.grid.step - Fraction(1, 2)
        if cell.denominator != 1:
            return Interval(Fraction(0), Fraction(0))
        return self.law.pmf_bounds(int(cell) - center)

    def _cells(self, value: Numbers) -> int | NDArray[np.int64]:
        if self.grid is None:
            return integers(value, name="value")
        cells = self.grid.to_grid(value)
        return int(cells) if cells.ndim == 0 else cells


def checked_integer_noise(noise: object) -> AdditiveNoise:
    """Pass noise on integers through.

    >>> from discreet.mechanisms import Laplace
    >>> checked_integer_noise(Laplace(scale=2))
    Laplace(scale=Fraction(2, 1), grid=None)
    """
    if not isinstance(noise, AdditiveNoise) or noise.grid is not None:
        raise WrongKind("noise must be Laplace(scale=...) or Gaussian(sigma=...), without a grid.")
    return noise


def integers(value: object, *, name: str) -> int | NDArray[np.int64]:
    """Read one integer, or an array of integers, that fit in 64 bits.

    >>> integers(7, name="value"), integers([1, 2], name="value").tolist()
    (7, [1, 2])
    """
    if isinstance(value, np.ndarray):
        return _integer_array(value, name)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        items = [_integer(item, f"each {name}") for item in listed(value, name=name)]
        return np.array(items, np.int64)
    return _integer(value, name)


def _integer(value: object, name: str) -> int:
    if isinstance(value, float | np.floating | Fraction):
        raise NotExact(
            f"{name} is a {type(value).__name__}, not an integer; give integers, or add the noise "
            "on a grid: grid=DyadicGrid(exponent=...)."
        )
    return int64_range(whole(value, name=name), name=name)


def _integer_array(array: NDArray[Any], name: str) -> NDArray[np.int64]:
    if array.dtype.kind == "f":
        _integer(0.0, f"each {name}")
    if array_of(array).dtype.kind not in "iu":
        raise WrongKind(f"{name} must be an array of integers, not of {array.dtype}.")
    for extreme in (array.max(initial=0), array.min(initial=0)):
        int64_range(int(extreme), name=f"each {name}")
    return array.astype(np.int64)


@final
@dataclass(frozen=True, slots=True, init=False)
class Laplace(AdditiveNoise):
    """Add two-sided geometric noise.

    >>> count = Laplace(scale=2)
    >>> count.loss(distance=1).epsilon(delta=0)
    0.5
    >>> count.error(confidence=0.95), count.error(confidence=0.95, coordinates=100)
    (6, 15)
    >>> isinstance(count.run(1000), int), count.run([3, 1, 4]).shape
    (True, (3,))
    >>> weight = Laplace(scale=1.25, grid=DyadicGrid(exponent=-10))
    >>> weight.loss(distance=5).epsilon(delta=0)
    4.0
    """

    scale: Fraction
    grid: DyadicGrid | None

    norm = 1

    def __init__(self, *, scale: Number, grid: DyadicGrid | None = None) -> None:
        """Take the scale of the noise, in the units of the value."""
        if grid is not None:
            instance(grid, DyadicGrid, name="grid")
        freeze(self, scale=decimal(scale, name="scale"), grid=grid)
        self.law  # noqa: B018  refuses what it cannot draw

    def loss(self, *, distance: Number = 1, coordinates: int = 1) -> PrivacyLoss:
        """Return the loss between inputs at this L1 distance, in the units of the value.

        ``coordinates`` is in how many places they may differ; it matters only on a grid.
        """
        steps = self._steps(at_distance(distance), coordinates)
        if steps == 0:
            return Pure(epsilon=0)
        return Profile.of_symmetric(laplace_pair(self._scale_in_steps, steps))

    def _steps(self, distance: Fraction, coordinates: int) -> int:
        """Return the distance on the integers: a fraction counts as the next integer."""
        places = whole(coordinates, name="coordinates", low=1)
        if self.grid is None or distance == 0:
            return steps_at(distance)
        return self.grid.distance_l1(distance, coordinates=places)

    @property
    def law(self) -> DiscreteLaplace:
        return DiscreteLaplace(scale=self._scale_in_steps)

    @property
    def _scale_in_steps(self) -> Fraction:
        return self.scale if self.grid is None else self.scale / self.grid.step

    @property
    def width(self) -> float:
        return float(self.scale)

    def widened(self, answers: int | Fraction) -> Laplace:
        return Laplace(scale=answers * self.scale, grid=self.grid)


@final
@dataclass(frozen=True, slots=True, init=False)
class Gaussian(AdditiveNoise):
    """Add discrete Gaussian noise, given by ``sigma`` or by ``variance``.

    >>> count = Gaussian(sigma=3)
    >>> count == Gaussian(variance=9), count.error(confidence=0.95)
    (True, 6)
    >>> count.concentrated(distance=1)
    ZeroConcentrated(rho=Fraction(1, 18))
    >>> count.run([3, 1, 4]).shape
    (3,)
    """

    variance: Fraction
    grid: DyadicGrid | None

    norm = 2

    def __init__(
        self,
        *,
        sigma: Number | None = None,
        variance: Number | None = None,
        grid: DyadicGrid | None = None,
    ) -> None:
        """Take the width of the noise, in the units of the value."""
        if (sigma is None) == (variance is None):
            raise WrongKind("give either sigma or variance.")
        if sigma is None:
            square = decimal(variance, name="variance")
        else:
            width = decimal(sigma, name="sigma")
            square = width * abs(width)  # keeps the sign, to be refused below
        if grid is not None:
            instance(grid, DyadicGrid, name="grid")
        freeze(self, variance=square, grid=grid)
        self.law  # noqa: B018  refuses what it cannot draw

    def loss(self, *, distance: Number = 1, coordinates: int = 1) -> PrivacyLoss:
        """Return the loss between inputs at this L2 distance, in the units of the value.

        ``coordinates`` is in how many places they may differ.  Squared distances of integer vectors
        are integers, so for several places "1.4143" means the root of 2; for one it counts as 2.
        """
        places = whole(coordinates, name="coordinates", low=1)
        squared = self._squared(at_distance(distance), places)
        if squared == 0:
            return Pure(epsilon=0)
        variance = self._variance_in_steps
        if places == 1 or squared <= 3:  # one integer, or integers that move by one each
            distance, moved = (math.isqrt(squared), 1) if places == 1 else (1, min(squared, places))
            exact = DiscreteGaussianPair(variance=variance, distance=distance)
            if exact.is_enumerable:
                once = Profile.of_symmetric(exact)
                return once if moved == 1 else once.power(moved)
        smooth = SmoothedGaussianPair.of(variance=variance, squared=squared, coordinates=places)
        return (
            ZeroConcentrated(rho=squared / (2 * variance))
            if smooth is None
            else Profile.of_symmetric(smooth)
        )

    def concentrated(self, *, distance: Number = 1, coordinates: int = 1) -> ZeroConcentrated:
        """Return the simpler and weaker bound d**2 / (2 sigma**2) on the zCDP loss."""
        places = whole(coordinates, name="coordinates", low=1)
        squared = self._squared(at_distance(distance), places)
        return ZeroConcentrated(rho=squared / (2 * self._variance_in_steps))

    def _squared(self, distance: Fraction, places: int) -> int:
        """Return the squared distance on the integers: of what moves at all, at least 1.

        One integer moves by an integer; a fraction counts as the next.
        """
        if distance == 0:
            return 0
        if self.grid is None:
            return steps_at(distance) ** 2 if places == 1 else max(1, math.floor(distance**2))
        return self.grid.distance_l2_squared(distance, coordinates=places)

    @property
    def law(self) -> noise.DiscreteGaussian:
        return noise.DiscreteGaussian(variance=self._variance_in_steps)

    @property
    def _variance_in_steps(self) -> Fraction:
        return self.variance if self.grid is None else self.variance / self.grid.step**2

    @property
    def width(self) -> float:
        return math.sqrt(self.variance)

    def widened(self, answers: int | Fraction) -> Gaussian:
        return Gaussian(variance=answers * self.variance, grid=self.grid)


def discrete_gaussian_sigma(
    *, epsilon: object, delta: object, count: int = 1, distance: Number = 1
) -> Fraction:
    """Return the least sigma of noise on integers for this many answers at an L2 distance.

    The twin of ``discreet.loss.gaussian_sigma``, which is about continuous noise: its value may be
    slightly too small on integers, and here the curve of the noise that runs decides.

    >>> sigma = discrete_gaussian_sigma(epsilon=1, delta="1e-6")
    >>> float(sigma), Gaussian(sigma=sigma).loss().delta(epsilon=1) <= 1e-6
    (4.23077917098999, True)
    """
    times = checked_count(count)
    if checked_delta(delta) == 0:
        raise OutOfRange("delta is 0; give delta > 0, or use Laplace noise.")
    return discreet.loss.least_scale(
        lambda sigma: Gaussian(sigma=sigma).loss(distance=distance).power(times),
        epsilon=epsilon,
        delta=delta,
    )
