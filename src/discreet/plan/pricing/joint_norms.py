"""How far one row moves sums of several values over cells, all of them together.

Trust: kernel.  Noise is scaled to these norms.

Definition.  A row lies in one cell, and has for each value v a whole number z(v) from low(v) <= 0
to high(v) >= 0.  It moves the sums of a strategy by the vector of all B(j, (v, c)) z(v), where no
sum holds two values.  Write D(v) = max(-low, high), and b(v, c) for the column of value v in cell
c.
Theorem (key ``joint-sums``).  Let all rows of a unit in a group count, with weights that add up to
at most k.  Added or removed, it moves the sums of the group by at most

    k max over c of the sum over v of D(v) |b(v, c)|_1,      in L1, and
    k**2 max over c of the sum over v of D(v)**2 |b(v, c)|_2**2,      in the square of L2.

The difference of two units in a group is at most k, or k**2, times the largest sum over v of

    max of |x b(v, c) - y b(v, c')|    over x and y, each low(v) or high(v),

over all cells c and c', equal ones too.  All bounds are attained by k rows in one cell.
Proof.  What a unit adds is a point of k times the hull of zero and of all boxes, c for c, of what a
row in c can add; each box holds zero.  Norms, and their squares, are convex, so the longest point
of the hull, and the longest difference of two of its points, are found at corners; a corner of a
box chooses low or high for each v by itself, and sums of different values are different
coordinates, so that norms (squared, in L2) add up over v.
Clamping the sum of a cell moves each coordinate by no more and the same way: since boxes hold zero,
the difference of two units stays one of such points.  Clamping y moves no two further apart.
Disjoint sums therefore cost the largest of their bounds, and not what these add up to.

Numbers below 2**53 are exact here; larger ones are rounded up by a few parts in 10**12.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # a strategy names the values; planning knows no arrays of an engine
    from discreet.plan.pricing.cell_strategy import CellStrategy
    from discreet.requests.raw_totals import Integers, SparseLeaves

_BLOCK: Final = 512
_EXACT: Final = 2.0**53
_LARGEST: Final = 1 << 62
_SLACK: Final = 1e-12

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CellValue:
    """What is added up in cells: the measure that holds it, and bounds on one row, zero between.

    ``step`` is as how many one counts: 1, but for rows that are counted in fractions.

    >>> CellValue(measure="pay", low=-3, high=10).most
    10
    """

    measure: str
    low: int
    high: int
    step: int = 1

    @property
    def most(self) -> int:
        """How far one row moves the sum of a cell."""
        return max(-self.low, self.high)


@functools.lru_cache(maxsize=64)
def joint_lengths(strategy: CellStrategy) -> tuple[int, int]:
    """Return how far one row more moves all sums: in L1, and in the square of L2."""
    first, second = np.zeros(strategy.cells), np.zeros(strategy.cells)
    for value, matrix in matrices(strategy):
        first += float(value.most) * np.abs(matrix).sum(axis=1)
        second += float(value.most) ** 2 * (matrix**2).sum(axis=1)
    return _up(first.max(), first.max()), _up(second.max(), second.max())


@functools.lru_cache(maxsize=64)
def joint_differences(strategy: CellStrategy) -> tuple[int, int]:
    """Return how far a row that takes the place of another moves all sums."""
    known = list(matrices(strategy))
    farthest = [0.0, 0.0]
    for start in range(0, strategy.cells, _BLOCK):
        stop = min(start + _BLOCK, strategy.cells)
        size = stop - start, strategy.cells
        far = np.zeros(size), np.zeros(size)
        for value, matrix in known:
            _add_differences(far, value, matrix, slice(start, stop))
        farthest = [
            max(known, float(each.max())) for known, each in zip(farthest, far, strict=True)
        ]
    largest = [4.0 * length for length in joint_lengths(strategy)]  # of all that is added up above
    return _up(farthest[0], largest[0]), _up(farthest[1], largest[1])


def _add_differences(
    far: tuple[Floats, Floats], value: CellValue, matrix: Floats, part: slice
) -> None:
    """Add the largest differences of some cells and all others, for one value."""
    ends = float(value.low), float(value.high)
    here, sizes, squares = matrix[part], np.abs(matrix).sum(axis=1), (matrix**2).sum(axis=1)
    level = float(np.abs(matrix).max(initial=0))
    alike = bool(np.isin(matrix, (0.0, level)).all())  # then every norm follows from overlaps
    common = here @ matrix.T
    shared = level * ((here != 0).astype(np.float64) @ (matrix != 0).T)
    first, second = (np.zeros(common.shape) for _ in range(2))
    for x in ends:
        for y in ends:
            square = x * x * squares[part, np.newaxis] + y * y * squares - 2 * x * y * common
            second = np.maximum(second, square)
            if alike:
                alone = abs(x) * (sizes[part, np.newaxis] - shared) + abs(y) * (sizes - shared)
                moved = alone + abs(x - y) * shared
            else:
                moved = np.abs(x * here[:, np.newaxis] - y * matrix).sum(axis=2)
            first = np.maximum(first, moved)
    far[0][:] += first
    far[1][:] += second


def matrices(strategy: CellStrategy) -> Iterator[tuple[CellValue, Floats]]:
    """Yield each value, and what one of it in each cell adds to the sums that hold it."""
    size = strategy.cells
    held: list[list[tuple[tuple[int, ...], tuple[int, ...]]]] = [[] for _ in strategy.values]
    for columns, factors in strategy.terms():
        (place,) = {column // size for column in columns}
        held[place].append((columns, factors))
    for place, (value, sums) in enumerate(zip(strategy.values, held, strict=True)):
        matrix = np.zeros((size, len(sums)))
        for index, (columns, factors) in enumerate(sums):
            matrix[np.array(columns) - place * size, index] = factors
        yield value, matrix


def exact_sums(strategy: CellStrategy, sparse: SparseLeaves, groups: int) -> Integers:
    """Return all sums of each group, clamped to what noise can be added to; none overflows."""
    group, column, added = sparse
    wide = np.zeros((groups, len(strategy.sums)), object)
    for place, (columns, factors) in enumerate(strategy.terms()):
        times = np.zeros(strategy.cells * len(strategy.values), np.int64)
        times[list(columns)] = factors
        inside = times[column] != 0
        terms = added[inside].astype(object) * times[column[inside]].astype(object)
        np.add.at(wide[:, place], group[inside], terms)
    clamped: Integers = np.clip(wide, -_LARGEST, _LARGEST).astype(np.int64)
    return clamped


def _up(distance: float, largest: float) -> int:
    """Round up; where numbers on the way were too large to be exact, by more than they err."""
    return math.ceil(distance if largest < _EXACT else distance + largest * _SLACK)
