"""The release that regressions and components share: one matrix of second moments.

Trust: kernel.  What one row adds to it is bounded by key ``moment-matrix``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np

from discreet.errors import OutOfRange
from discreet.learning.models.fit_plans import Released
from discreet.learning.models.measurement import PlannedSum, RowMeasurer
from discreet.learning.models.rows.bounded_columns import LEVELS, Floats
from discreet.learning.models.rows.bounded_rows import BoundedRows, Encoding
from discreet.learning.models.rows.row_sums import DIAGONAL, MIXED, moment_bound, moments
from discreet.mechanisms import Gaussian, Laplace

MOMENTS: Final = "second moments"
_ENTRIES: Final = 2000


@final
@dataclass(frozen=True, slots=True)
class MomentRecipe:
    """Releases the second moments of all entries of a row, once."""

    purpose: str

    def document(self) -> Mapping[str, Any]:
        """Return its name."""
        return {"measures": MOMENTS, "purpose": self.purpose}

    def sums(self, encoding: Encoding) -> tuple[PlannedSum, ...]:
        """Return the one sum."""
        return (planned_moments(encoding),)

    def run(self, rows: BoundedRows, encoding: Encoding, see: RowMeasurer) -> Released:  # noqa: ARG002
        """Measure the moments."""
        return {"moments": see.measure(MOMENTS, moments(rows)).tolist()}


def planned_moments(encoding: Encoding, share: Fraction = Fraction(1)) -> PlannedSum:
    """Return the sum of second moments, with its share of a price."""
    width = encoding.width
    if width > _ENTRIES:
        raise OutOfRange(
            what=f"rows have {width} entries, and {_ENTRIES} are the most.",
            why="there is a moment for each pair of them.",
            do="use fewer columns or categories.",
        )
    return PlannedSum(
        name=MOMENTS,
        squared=moment_bound(encoding.squared),
        linear=MIXED * width * encoding.squared,
        opposed=False,
        coordinates=width * (width + 1) // 2,
        share=share,
    )


def moment_matrix(released: Released, width: int) -> Floats:
    """Return released moments as a symmetric matrix, in units of the ends of bounds.

    >>> moment_matrix({"moments": [29 * LEVELS**2]}, 1).tolist()
    [[1.0]]
    """
    found = np.asarray(released["moments"], np.float64)
    matrix, start = np.empty((width, width)), 0
    for place in range(width):
        stop = start + width - place
        matrix[place, place:] = matrix[place:, place] = found[start:stop]
        start = stop
    diagonal = matrix.diagonal() / DIAGONAL
    matrix /= MIXED
    matrix.flat[:: width + 1] = diagonal
    return matrix / LEVELS**2


def moment_noise(noise: Gaussian | Laplace) -> float:
    """Return the standard deviation of noise on the diagonal of that matrix."""
    variance = noise.variance if isinstance(noise, Gaussian) else 2 * noise.scale**2
    return math.sqrt(variance) / DIAGONAL / LEVELS**2
