"""Adding symmetric integer noise to integers, or to reals on a dyadic grid.

Trust: kernel.

Definition.  On integers the answer is x + Z, coordinate by coordinate with independent Z.  On a
grid of step g a real x first goes to its cell floor(x / g); the answer is the middle of the cell
with number floor(x / g) + Z.  Sums outside 64 bits stop at the ends, which is post-processing.

Assumes: no draw of Z itself outside 64 bits.  Such a draw stops at an end before it is added, so
that its sum tells x; for the largest scale, 2**57, its chance is below exp(-63) a coordinate, and
for a scale of 2**50 below exp(-8000).  No loss counts it.

Error.  With tau = 1 - c**(1/n), all n coordinates are within r of the truth with probability at
least c exactly when P[|Z| > r] <= tau, that is, when r is at least the (1 - tau/2)-quantile of Z.
tau is enclosed between rationals until both ends have the same quantile, so r is exact.  On a grid
r cells become (r + 1/2) g, since the truth lies anywhere in its cell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import INT64_MAX, INT64_MIN, array_of, int64_range, listed, saturating_add
from discreet.errors import NotExact, WrongKind
from discreet.exact import Interval, whole
from discreet.mechanisms.arguments import Number, at_confidence
from discreet.mechanisms.quantiles import two_sided_quantile
from discreet.noise import Distribution, DyadicGrid, Entropy

__all__ = ["Additive", "Numbers", "checked_grid", "integers"]

Numbers = int | float | Sequence[int] | Sequence[float] | NDArray[Any]
"""What noise is added to: one number, or an array of them."""


@final
@dataclass(frozen=True, slots=True)
class Additive:
    """Symmetric integer noise, and the grid on which it is added."""

    law: Distribution
    grid: DyadicGrid | None

    def run(self, value: Numbers, entropy: Entropy) -> Any:
        """Return the value plus noise: an int or a float, or an array."""
        cells = self._cells(value)
        if isinstance(cells, int):
            total = min(max(cells + self.law.draw(entropy), INT64_MIN), INT64_MAX)
            if self.grid is None:
                return total
            return float(self.grid.from_grid(np.array(total, np.int64)))
        noise = self.law.sample(cells.size, entropy).reshape(cells.shape)
        noisy = saturating_add(cells, noise)
        return noisy if self.grid is None else self.grid.from_grid(noisy)

    def error(self, confidence: Number, coordinates: int) -> int | Fraction:
        """Return the exact simultaneous error of so many coordinates."""
        chance = at_confidence(confidence)
        count = whole(coordinates, name="coordinates", low=1)
        reach = two_sided_quantile(self.law, chance, count)
        return reach if self.grid is None else (reach + Fraction(1, 2)) * self.grid.step

    def reference_pmf(self, value: Numbers) -> Callable[[Any], Interval]:
        """Return the law of the answer: of a number, or of a tuple of numbers."""
        cells = self._cells(value)
        if isinstance(cells, int):
            center = cells
            return lambda outcome: self._chance(outcome, center)
        centers = cells.ravel().tolist()

        def chance(outcome: Sequence[Any]) -> Interval:
            parts = [self._chance(y, x) for y, x in zip(outcome, centers, strict=True)]
            return Interval(
                math.prod((part.low for part in parts), start=Fraction(1)),
                math.prod((part.high for part in parts), start=Fraction(1)),
            )

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


def checked_grid(grid: object) -> DyadicGrid | None:
    """Pass a grid through, or nothing.

    >>> checked_grid(None) is None
    True
    """
    if grid is not None and not isinstance(grid, DyadicGrid):
        raise WrongKind(
            what=f"grid is a {type(grid).__name__}, not a DyadicGrid.",
            why="only on a dyadic grid are real numbers rounded exactly.",
            do="give DyadicGrid(exponent=...), or leave grid out for integers.",
        )
    return grid


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
            what=f"{name} is a {type(value).__name__}, not an integer.",
            why="noise on integers protects integers; rounded numbers have another distance.",
            do="give integers, or add the noise on a grid: grid=DyadicGrid(exponent=...).",
        )
    return int64_range(whole(value, name=name), name=name)


def _integer_array(array: NDArray[Any], name: str) -> NDArray[np.int64]:
    if array.dtype.kind == "f":
        _integer(0.0, f"each {name}")
    if array_of(array).dtype.kind not in "iu":
        raise WrongKind(
            what=f"the {name} is an array of {array.dtype}, not of integers.",
            why="only integers are added without rounding.",
            do="give an array of int64.",
        )
    for extreme in (array.max(initial=0), array.min(initial=0)):
        int64_range(int(extreme), name=f"each {name}")
    return array.astype(np.int64)
