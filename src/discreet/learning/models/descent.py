"""What regressions by gradients share: the sums that they take, and the length of their steps.

Trust: kernel.  The number of rows and the second moments of rows (key ``moment-matrix``) are
released once, and every step releases the sum of residual times row (key ``integer-rows``).

Where the curvature of an objective is at most a factor times the second moments, a step goes along
the inverse of that bound times the gradient (Bohning 1992): a few steps do what takes gradient
descent many, and each of few steps has less noise.  A step of less than twice that length goes
downhill, whatever the curvature within the bound.  Directions in which noise may hide the moments
are taken to be as curved as the noise is large.  All of that processes released numbers.

A residual that is longer than ``clip`` is shortened to it, and noise is scaled to that.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np

from discreet.errors import OutOfRange
from discreet.exact import decimal, whole
from discreet.learning.models.measurement import PlannedSum, RowMeasurer
from discreet.learning.models.moment_release import (
    MOMENTS,
    moment_matrix,
    moment_noise,
    planned_moments,
)
from discreet.learning.models.rows.bounded_columns import LEVELS, Floats, Integers
from discreet.learning.models.rows.bounded_rows import BoundedRows, Encoding
from discreet.learning.models.rows.row_sums import (
    RESIDUALS,
    WIDEST,
    gradients,
    linear_bound,
    moments,
    residual_bound,
    row_count,
)

COUNT: Final = "number of rows"
GRADIENT: Final = "gradient"
_COUNT_SHARE: Final = Fraction(1, 50)
_MOMENT_SHARE: Final = Fraction(1, 5)
_STEP_SHARE: Final = 1 - _COUNT_SHARE - _MOMENT_SHARE
_SHORTEST: Final = Fraction(3, 5)


@final
@dataclass(frozen=True, slots=True)
class Descent:
    """How many steps there are, how long, what half the square of weights costs, and the clip."""

    steps: int
    rate: Fraction
    penalty: Fraction
    clip: Fraction = Fraction(1)

    @classmethod
    def read(cls, steps: Any, rate: Any, penalty: Any, clip: Any = 1) -> Descent:
        """Read what a person typed.

        >>> Descent.read(8, 1, "0.5").penalty
        Fraction(1, 2)
        """
        length = decimal(rate, name="learning_rate")
        cost = decimal(penalty, name="penalty")
        if length <= 0 or cost < 0:
            raise OutOfRange(
                what="the learning rate is not above zero, or the penalty below it.",
                why="steps go downhill, and a penalty keeps weights small.",
                do="give learning_rate=1 and penalty=0, say.",
            )
        longest = decimal(clip, name="clip")
        if not _SHORTEST <= longest <= 1:
            raise OutOfRange(
                what="the clip is not from 0.6 to 1.",
                why="residuals are shortened to so much of their bound, and if they are any "
                "shorter, probabilities no longer follow from scores.",
                do="give clip=1 to shorten none, or clip=0.75, say, for less noise.",
            )
        return cls(whole(steps, name="steps", low=1, high=100_000), length, cost, longest)

    def document(self) -> dict[str, Any]:
        """Return all parameters, in plain JSON."""
        numbers = {"rate": self.rate, "penalty": self.penalty, "clip": self.clip}
        return {"steps": self.steps, **{name: str(value) for name, value in numbers.items()}}

    def sums(self, encoding: Encoding, outputs: int) -> tuple[PlannedSum, ...]:
        """Return the count, the moments and the gradients of rows without a target."""
        if encoding.width > WIDEST:
            raise OutOfRange(
                what=f"rows have {encoding.width} entries, and {WIDEST} are the most.",
                why="scores of longer rows would not be exact.",
                do="use fewer columns or categories.",
            )
        squared = encoding.squared * residual_bound(outputs, self.clip)
        entries = encoding.width * outputs
        return (
            PlannedSum(
                name=COUNT, squared=1, linear=1, opposed=False, coordinates=1, share=_COUNT_SHARE
            ),
            planned_moments(encoding, share=_MOMENT_SHARE),
            PlannedSum(
                name=GRADIENT,
                squared=squared,
                linear=linear_bound(squared, entries),
                opposed=True,
                coordinates=entries,
                times=self.steps,
                share=_STEP_SHARE,
            ),
        )


@final
class NoisySlopes:
    """Counts, moments and gradients of bounded rows as they are released, in units of one row."""

    __slots__ = ("_rows", "_see", "length", "norm", "size", "values", "vectors")

    def __init__(self, rows: BoundedRows, encoding: Encoding, see: RowMeasurer) -> None:
        """Measure the number of rows and their second moments."""
        self._rows, self._see = rows, see
        self.norm = encoding.squared**0.5
        self.length = encoding.squared / LEVELS**2
        self.size = int(see.measure(COUNT, row_count(rows))[0])
        noisy: Integers = see.measure(MOMENTS, moments(rows))
        matrix = moment_matrix({"moments": noisy}, encoding.width) / self.length
        found, self.vectors = np.linalg.eigh(matrix)
        hidden = moment_noise(see.noise(MOMENTS)) / self.length * (2 * encoding.width) ** 0.5
        self.values: Floats = np.maximum(found, min(hidden, max(1, self.size)))

    def inverse(self, descent: Descent, factor: float) -> Floats:
        """Return a step for each slope, for a curvature of at most a factor times the moments."""
        bound = factor * self.values + float(descent.penalty) * max(1, self.size)
        steps: Floats = (self.vectors * (float(descent.rate) / bound)) @ self.vectors.T
        return steps

    def slope(self, residuals: Floats, clip: Fraction = Fraction(1)) -> Floats:
        """Return the noisy sum of clipped residual times row, a row being at most one long."""
        noisy = self._see.measure(GRADIENT, gradients(self._rows, residuals, clip))
        found: Floats = noisy.reshape(-1, residuals.shape[1]) / (RESIDUALS * self.norm)
        return found
