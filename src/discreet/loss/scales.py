"""Search the dyadic scales of so many bits for the least one that fits.

Trust: kernel.

A search only proposes: the returned scale was itself found to fit, and the one before it not.
How the two were found (secants on floats, with bisection where they are slow) matters for speed
alone.  docs/proofs/accounting.md, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from discreet.errors import OutOfRange

__all__ = ["least_fitting"]

_DOUBLINGS: Final = 200

Point = tuple[int, float]
"""An index and the excess there: at most zero where the scale fits."""


@final
@dataclass(frozen=True, slots=True)
class _Grid:
    """All positive dyadic rationals of so many significant bits, numbered in order from 1.

    >>> [float(_Grid(4).scale(index)) for index in (-9, 0, 3, 8)]
    [0.46875, 1.0, 1.375, 2.0]
    """

    bits: int

    @property
    def octave(self) -> int:
        """How many steps lead from a number to its double."""
        return 1 << (self.bits - 1)

    def scale(self, index: int) -> Fraction:
        """Return the number of an index."""
        power, place = divmod(index, self.octave)
        return Fraction(self.octave + place, self.octave) * Fraction(2) ** power

    def index(self, scale: float) -> int:
        """Return the index of the least number from a scale on."""
        mantissa, power = math.frexp(scale)
        return self.octave * (power - 1) + math.ceil(Fraction(2 * mantissa - 1) * self.octave)


def least_fitting(excess: Callable[[Fraction], float], bits: int) -> Fraction:
    """Return a scale with an excess of at most zero, where the next smaller one has more.

    >>> least_fitting(lambda scale: 3 - float(scale) ** 2, 8)
    Fraction(111, 64)
    """
    grid = _Grid(bits)

    def at(index: int) -> Point:
        return index, excess(grid.scale(index))

    low, top = _bracket(at, grid.octave)
    stays, width, turn = 0, top[0] - low[0], 0  # stays: how often the same end stayed, signed
    while top[0] - low[0] > 1:
        turn += 1
        slow = turn % 4 == 0 and 8 * (top[0] - low[0]) > width
        width = top[0] - low[0] if turn % 4 == 0 else width
        here = at((low[0] + top[0]) // 2 if slow else _crossing(grid, low, top))
        if here[1] <= 0:
            stays, top = max(stays, 0) + 1, here
            low = (low[0], low[1] / 2) if stays > 1 else low  # an end that stays counts less
        else:
            stays, low = min(stays, 0) - 1, here
            top = (top[0], top[1] / 2) if stays < -1 else top
    return grid.scale(top[0])


def _crossing(grid: _Grid, low: Point, top: Point) -> int:
    """Propose the zero of the line through two points, or the middle."""
    if math.isinf(low[1]) or math.isinf(top[1]):
        return (low[0] + top[0]) // 2
    left, right = float(grid.scale(low[0])), float(grid.scale(top[0]))
    share = low[1] / (low[1] - top[1])
    return min(max(grid.index(left + share * (right - left)), low[0] + 1), top[0] - 1)


def _bracket(at: Callable[[int], Point], octave: int) -> tuple[Point, Point]:
    """Go up from 1 to a scale that fits, or down to one that does not."""
    here = at(0)
    if here[1] <= 0:
        for power in range(1, _DOUBLINGS + 1):
            below = at(-power * octave)
            if below[1] > 0:
                return below, here
            here = below
    else:
        for power in (1, *range(3, _DOUBLINGS + 3, 3)):
            above = at(power * octave)
            if above[1] <= 0:
                return here, above
            here = above
    raise OutOfRange(
        what="no scale between 2**-200 and 2**200 meets the target.",
        why="either no amount of this noise gives the promise, or almost none is needed.",
        do="allow delta > 0 for Gaussian noise, or raise epsilon.",
    )
