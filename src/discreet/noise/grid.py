"""Real numbers on a dyadic grid, so that integer noise protects them.

Trust: kernel (T6).

Definition.  The grid has step g = 2**exponent.  A float x goes to floor(x / g), which is exact:
dividing by a power of two and rounding down lose nothing in binary arithmetic.  Integer noise is
added there, and an integer k goes back to (k + 1/2) g, in the middle of the cell, which is
post-processing.

Theorem (key ``grid-distance``).  If two inputs differ by at most ``distance``, and in at most
``coordinates`` places, then on the grid they differ
    in L1 by at most ceil(distance / g) + coordinates - 1 (for an L1 distance);
    in L2 by less than distance / g + sqrt(coordinates), whose square is rounded down to an integer
    because grid points differ by integers (for an L2 distance).
For one coordinate both are ceil(distance / g).  Rounding to nearest would not do: ties to even move
neighbors one step too far apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.arrays import array_of
from discreet.certified import sqrt
from discreet.errors import NotExact, OutOfRange, TooLarge, WrongKind
from discreet.exact import ExactNumber, freeze, positive, rational, whole

_FINE_BITS: Final = 24  # a fine grid makes a distance larger by 2**-24 at most
_LARGEST: Final = 2**62  # cells, so that noise is added within 64 bits


@final
@dataclass(frozen=True, slots=True, init=False)
class DyadicGrid:
    """A grid of step 2**exponent.

    >>> grid = DyadicGrid(exponent=-2)
    >>> grid.to_grid([0.3, -0.3]).tolist()
    [1, -2]
    >>> grid.from_grid(np.array([1, -2])).tolist()
    [0.375, -0.375]
    """

    exponent: int

    def __init__(self, *, exponent: int) -> None:
        freeze(self, exponent=whole(exponent, name="exponent", low=-1000, high=900))

    @staticmethod
    def fine(*, distance: ExactNumber) -> DyadicGrid:
        """Return the grid that divides a distance into at least 2**24 steps.

        For one coordinate, rounding makes the distance larger by at most a factor of 1 + 2**-24.
        """
        exact = positive(distance, name="distance")
        top, bottom = exact.numerator.bit_length(), exact.denominator.bit_length()
        exponent = top - bottom
        if Fraction(2) ** exponent > exact:
            exponent -= 1
        return DyadicGrid(exponent=exponent - _FINE_BITS)

    @property
    def step(self) -> Fraction:
        return Fraction(2) ** self.exponent

    def to_grid(self, values: ArrayLike) -> NDArray[np.int64]:
        """Round numbers down to grid points, exactly: floats, integers or fractions."""
        array = values if _has_fractions(values) else array_of(values)
        if not isinstance(array, np.ndarray) or array.dtype.kind in "iu":
            return self._exact_cells(array)
        if array.dtype.kind not in "iuf":
            raise WrongKind("the values are not numbers; give floats, integers or fractions.")
        if array.dtype != np.float64:
            raise NotExact(
                f"the values are {array.dtype}, not float64; give float64, integers or fractions."
            )
        if not np.isfinite(array).all():
            raise OutOfRange("a value is not finite; clamp values to their public bounds first.")
        with np.errstate(over="ignore", under="ignore"):  # infinity is caught below
            cells = np.floor(np.ldexp(array, -self.exponent))
        cells = np.where((array < 0) & (cells >= 0), -1.0, cells)  # where x / g underflowed to zero
        if (np.abs(cells) >= _LARGEST).any():
            raise _too_far()
        return cells.astype(np.int64)

    def _exact_cells(self, values: Any) -> NDArray[np.int64]:
        """Round exact numbers down, in exact arithmetic."""
        exact = np.array(values, dtype=object)
        cells = [
            math.floor(rational(_plain(value), name="each value") / self.step)
            for value in exact.ravel()
        ]
        if any(abs(cell) >= _LARGEST for cell in cells):
            raise _too_far()
        return np.array(cells, np.int64).reshape(exact.shape)

    def from_grid(self, cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the middle of each cell, rounded to float64."""
        if array_of(cells).dtype.kind not in "iu":
            raise WrongKind("cells must be integers: what to_grid returned, plus integer noise.")
        middle: NDArray[np.float64] = np.ldexp(np.asarray(cells) + 0.5, self.exponent)
        return middle

    def distance_l1(self, distance: ExactNumber, *, coordinates: int = 1) -> int:
        """Bound the L1 distance on the grid of inputs at L1 distance ``distance``."""
        changed = whole(coordinates, name="coordinates", low=1)
        return math.ceil(positive(distance, name="distance") / self.step) + changed - 1

    def distance_l2_squared(self, distance: ExactNumber, *, coordinates: int = 1) -> int:
        """Bound the squared L2 distance on the grid of inputs at L2 distance ``distance``."""
        changed = whole(coordinates, name="coordinates", low=1)
        steps = positive(distance, name="distance") / self.step
        if changed == 1:
            return math.ceil(steps) ** 2
        # (s + sqrt m)**2 = s**2 + m + 2 sqrt(s**2 m), from above; the true square is strictly below
        root = Fraction(sqrt(steps * steps * changed, 64)[1], 1 << 64)
        return math.ceil(steps * steps + changed + 2 * root) - 1


def _has_fractions(values: object) -> bool:
    """Say whether a value is a fraction, or a list has one; NumPy has no type for them."""
    if isinstance(values, list | tuple):
        return any(map(_has_fractions, values))
    return isinstance(values, Fraction)


def _plain(value: Any) -> Any:
    """Return a float as the fraction that it is, and refuse what is not a number."""
    if isinstance(value, str):
        raise WrongKind("a value is text; give floats, integers or fractions.")
    return Fraction(value) if isinstance(value, float) and math.isfinite(value) else value


def _too_far() -> TooLarge:
    return TooLarge(
        "a value is 2**62 steps or more away from zero; use a coarser grid, or clamp the values "
        "to their public bounds first."
    )
