"""A histogram: one noise vector for all cells, priced by what one unit can move.

Trust: kernel.

Definition.  Each row is in exactly one cell, a public function of the row.  The counts of all cells
are released with independent noise; empty cells too.
Theorem (key ``histogram-moves``).  Under add/remove, d steps move the counts by at most d in L1,
and the costliest way is to move one cell by d (key ``log-concave-moves``).  Under replace, d steps
raise some cells by at most d in all and lower others by at most d in all; the costliest way is one
cell up and one down by d each.  So the loss is that of one answer at distance d, or of two: it is
tight.  The pure bound doubles under replace; the curve delta(epsilon) does better than at 2 d.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange
from discreet.exact import whole
from discreet.loss import PrivacyLoss, Pure
from discreet.mechanisms.additive import checked_integer_noise, integers
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.mechanism import Mechanism, Number, ReferenceLaw, steps_at
from discreet.noise import SYSTEM, Entropy
from discreet.units import Relation

Counts = Sequence[int] | NDArray[np.integer[Any]]


@final
@dataclass(frozen=True, slots=True, init=False)
class Histogram(Mechanism[Counts, NDArray[np.int64]]):
    """Release the counts of all cells.

    >>> ages = Histogram(cells=11, noise=Laplace(scale=2), relation="add_remove")
    >>> ages.loss(distance=1).epsilon(delta=0)
    0.5
    >>> Histogram(cells=11, noise=Laplace(scale=2), relation="replace").loss().epsilon(delta=0)
    1.0
    >>> ages.error(confidence=0.95), ages.run([0] * 11).shape
    (11, (11,))
    """

    cells: int
    noise: Laplace | Gaussian
    relation: Relation

    def __init__(self, *, cells: int, noise: Laplace | Gaussian, relation: Relation | str) -> None:
        """Take the number of cells, the noise of one cell, and who counts as a neighbor."""
        object.__setattr__(self, "cells", whole(cells, name="cells", low=1))
        object.__setattr__(self, "noise", checked_integer_noise(noise))
        object.__setattr__(self, "relation", Relation.read(relation))

    def loss(self, *, distance: Number = 1) -> PrivacyLoss:
        """Return the loss between tables ``distance`` steps of the relation apart."""
        steps = steps_at(distance)
        if self.relation is Relation.LOCAL:  # any two single rows are neighbors
            steps = min(steps, 1)
        if self.cells == 1 and self.relation.size_is_public:  # the only count is public
            return Pure(epsilon=0)
        once = self.noise.loss(distance=steps)
        if steps == 0 or self.cells == 1 or self.relation.sides == 1:
            return once
        return once.compose(once)

    def error(self, *, confidence: Number) -> int | Fraction:
        """Return the smallest r such that all counts are within r, with this probability."""
        return self.noise.error(confidence=confidence, coordinates=self.cells)

    def run(self, value: Counts, *, entropy: Entropy = SYSTEM) -> NDArray[np.int64]:
        """Return all counts plus noise."""
        answer: NDArray[np.int64] = self.noise.run(self._counts(value), entropy=entropy)
        return answer

    def reference_pmf(self, value: Counts) -> ReferenceLaw:
        """Return the law of the counts, as a function of a tuple of counts."""
        return self.noise.reference_pmf(self._counts(value))

    def _counts(self, value: Counts) -> NDArray[np.int64]:
        counts = integers(value, name="count")
        if isinstance(counts, int) or counts.shape != (self.cells,):
            raise OutOfRange(
                what=f"the counts are not a list of {self.cells}.",
                why="the cells are public, and each has a count, zero or not.",
                do="give one count for each cell.",
            )
        return counts
