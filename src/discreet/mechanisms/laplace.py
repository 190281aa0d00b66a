"""The Laplace mechanism: two-sided geometric noise on integers, or on a grid of reals.

Trust: kernel.

Definition.  Release x + Z, where P[Z = k] is proportional to exp(-|k| / scale), independently in
each coordinate.
Theorem (key ``laplace-mechanism``; Ghosh, Roughgarden and Sundararajan 2012).  If one unit moves x
by at most d in L1, the release is (d / scale)-differentially private, and no smaller epsilon will
do.  The whole curve delta(epsilon) is that of one coordinate that moves by d (key
``log-concave-moves``): the loss is tight, for numbers and for vectors.
On a grid of step g the same holds with distances in steps (key ``grid-distance``).
Assumes: all coins come from ``entropy``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from discreet.exact import decimal, whole
from discreet.loss import PrivacyLoss, Pure
from discreet.mechanisms.additive import AdditiveNoise, checked_grid, laplace_pair, loss_of_move
from discreet.mechanisms.mechanism import Number, at_distance, steps_at
from discreet.noise import DiscreteLaplace, DyadicGrid


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
        object.__setattr__(self, "scale", decimal(scale, name="scale"))
        object.__setattr__(self, "grid", checked_grid(grid))
        self.law  # noqa: B018  refuses what it cannot draw

    def loss(self, *, distance: Number = 1, coordinates: int = 1) -> PrivacyLoss:
        """Return the loss between inputs at this L1 distance, in the units of the value.

        ``coordinates`` is in how many places they may differ; it matters on a grid only, where each
        place is rounded for itself.
        """
        steps = self._steps(at_distance(distance), coordinates)
        if steps == 0:
            return Pure(epsilon=0)
        return loss_of_move([laplace_pair(self._scale_in_steps, steps)])

    def _steps(self, distance: Fraction, coordinates: int) -> int:
        """Return the distance on the integers: a fraction counts as the next whole number."""
        places = whole(coordinates, name="coordinates", low=1)
        if self.grid is None or distance == 0:
            return steps_at(distance)
        return self.grid.distance_l1(distance, coordinates=places)

    @property
    def law(self) -> DiscreteLaplace:
        """The law of the noise: of integers, or of steps of the grid."""
        return DiscreteLaplace(scale=self._scale_in_steps)

    @property
    def _scale_in_steps(self) -> Fraction:
        return self.scale if self.grid is None else self.scale / self.grid.step

    @property
    def width(self) -> float:
        """The scale."""
        return float(self.scale)

    def widened(self, answers: int | Fraction) -> Laplace:
        """Return noise with ``answers`` times the scale."""
        return Laplace(scale=answers * self.scale, grid=self.grid)
