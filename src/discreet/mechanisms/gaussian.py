"""The Gaussian mechanism: discrete Gaussian noise on integers, or on a grid of reals.

Trust: kernel.

Definition.  Release x + Z, where P[Z = k] is proportional to exp(-k**2 / (2 sigma**2)),
independently in each coordinate.
Theorem (key ``gaussian-mechanism``; Canonne, Kamath and Steinke 2020).  If one unit moves x by at
most d in L2, the release satisfies rho-zCDP for rho = d**2 / (2 sigma**2).  The loss that is
returned is tighter.  Where one move of that length covers all others it is the exact curve of that
move (key ``log-concave-moves``), as for one coordinate and for squared distances up to 3.  Where
several moves compete, and which of them is the costliest may depend on earlier answers, or where
noise is too wide to list, a continuous Gaussian with slightly less noise covers all moves at once
(key ``gaussian-smoothing``): sigma**2 loses about 4, and rho-zCDP is kept beside it, so the smaller
bound counts.  Only for narrow noise, sigma**2 below about 24, the zCDP bound stands alone.
On a grid of step g the same holds with distances in steps (key ``grid-distance``).
Assumes: all coins come from ``entropy``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import discreet.loss  # for least_scale, which few need
from discreet import noise  # its Gaussian law is loaded when first used
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal, whole
from discreet.loss import PrivacyLoss, Pure, ZeroConcentrated
from discreet.loss.pairs.gaussian import DiscreteGaussianPair
from discreet.loss.pairs.smoothed_gaussian import SmoothedGaussianPair
from discreet.loss.parameters import checked_count, checked_delta
from discreet.mechanisms.additive import (
    MOST_SQUARED,
    AdditiveNoise,
    checked_grid,
    loss_of_move,
    worst_moves,
)
from discreet.mechanisms.mechanism import Number, at_distance, steps_at
from discreet.noise import DyadicGrid


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
            raise WrongKind(
                "neither or both of sigma and variance are given; give sigma, or variance where "
                "its root is not rational."
            )
        if sigma is None:
            square = decimal(variance, name="variance")
        else:
            width = decimal(sigma, name="sigma")
            square = width * abs(width)  # keeps the sign, for the law below to refuse
        object.__setattr__(self, "variance", square)
        object.__setattr__(self, "grid", checked_grid(grid))
        self.law  # noqa: B018  refuses what it cannot draw

    def loss(self, *, distance: Number = 1, coordinates: int = 1) -> PrivacyLoss:
        """Return the loss between inputs at this L2 distance, in the units of the value.

        ``coordinates`` is in how many places they may differ.  Squared distances of integer vectors
        are integers, so that for several places a distance such as the root of 2 may be rounded up:
        "1.4143" means it exactly.  One number moves by a whole distance: "1.4143" counts as 2.
        """
        places = whole(coordinates, name="coordinates", low=1)
        squared = self._squared(at_distance(distance), places)
        if squared == 0:
            return Pure(epsilon=0)
        variance = self._variance_in_steps
        moves = _worst_moves(squared, places)
        if len(moves) == 1:
            exact = [DiscreteGaussianPair(variance=variance, distance=d) for d in moves[0]]
            if exact[0].is_enumerable:
                return loss_of_move(exact)
        smooth = SmoothedGaussianPair.of(variance=variance, squared=squared, coordinates=places)
        return (
            ZeroConcentrated(rho=squared / (2 * variance))
            if smooth is None
            else loss_of_move([smooth])
        )

    def concentrated(self, *, distance: Number = 1, coordinates: int = 1) -> ZeroConcentrated:
        """Return the simpler and weaker bound d**2 / (2 sigma**2) on the zCDP loss."""
        places = whole(coordinates, name="coordinates", low=1)
        squared = self._squared(at_distance(distance), places)
        return ZeroConcentrated(rho=squared / (2 * self._variance_in_steps))

    def _squared(self, distance: Fraction, places: int) -> int:
        """Return the squared distance on the integers: of what moves at all, at least 1.

        One integer moves by whole numbers, and a fraction counts as the next.
        """
        if distance == 0:
            return 0
        if self.grid is None:
            return steps_at(distance) ** 2 if places == 1 else max(1, math.floor(distance**2))
        return self.grid.distance_l2_squared(distance, coordinates=places)

    @property
    def law(self) -> noise.DiscreteGaussian:
        """The law of the noise: of integers, or of steps of the grid."""
        return noise.DiscreteGaussian(variance=self._variance_in_steps)

    @property
    def _variance_in_steps(self) -> Fraction:
        return self.variance if self.grid is None else self.variance / self.grid.step**2

    @property
    def width(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.variance)

    def widened(self, answers: int | Fraction) -> Gaussian:
        """Return noise with ``answers`` times the variance."""
        return Gaussian(variance=answers * self.variance, grid=self.grid)


def _worst_moves(squared: int, places: int) -> tuple[tuple[int, ...], ...]:
    """Return the costliest moves, or none where there are too many to list."""
    if places == 1:
        return ((math.isqrt(squared),),)
    if squared > MOST_SQUARED:
        return ()
    return worst_moves(squared=squared, coordinates=places)


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
