"""Linear strategies: noisy sums of cells and of groups, from which several answers are computed.

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

Definition.  Of a histogram x over cells, a strategy measures y(j) = sum of B(j, c) x(c), for each
of its *sums* j, with whole numbers B.  Noise is added to every y(j), and every answer is a sum of
exact multiples of noisy y(j), which is post-processing.  Let b(c) be column c of B.  Let w and W be
the largest norm of any b(c), in L1 and in the square of L2, and f and F those of any difference of
two of the vectors b(c) and the zero vector.
Theorem (key ``cell-sums``; the sensitivity of the matrix mechanism (Li, Miklau, Hay, McGregor and
Rastogi 2015)).  Let a unit count with at most k rows in each of at most g groups, each row in one
cell.  Added or removed, it moves all y by at most g k w in L1 and g k**2 W in the square of L2.
Where it is replaced by another, they move as ``plan-distances`` says, with k w for what one of the
units adds to a group and k f for the difference of the two in a group that they share; in the
square of L2, with k**2 W and k**2 F.
Proof.  What a unit adds to a group is a sum of at most k
vectors b(c): a point of the polytope whose corners are zero and all k b(c).  Norms are convex, so
the longest point is a corner.  The difference of two points is longest between two corners. The
histogram itself is enforced by the engine (``bounded-contribution``): one expression names the
cell of a row, and of a unit's rows in a group at most k stay.  Cells are clamped to 2**40 rows, so
that no sum leaves 64 bits; that moves every cell the same way, and by no more.

Definition.  Counts of rows are *nested* if each row that one of them counts is counted by the next
as well, and none lets a unit count with more rows than the next does.  The cells of nested counts
are the first of them, and what each further one has beyond the one before it.
Theorem (key ``nested-counts``).  Where the last of nested counts lets a unit count with at most k
rows in a group, the cells are a histogram in which it does.
Proof.  With n(i) rows in count i, of which at most k(i) count, a unit adds min(n(i), k(i)) to it.
Both n and k rise with i, so that all differences are whole numbers from 0 on, and they add up to
min(n, k) of the last.  Sums over units have the same differences.  Engines cut totals at 2**62;
where the last one is cut, one of its cells is beyond 2**40 and stands still.
That counts are nested is read off their conditions: those of the next are among those of the one
before.  Engines count all of them in the same rows of a unit.

Definition.  Groups are public and stand in the order of their keys.  Of the totals x of all groups
a strategy measures y = B x, each group being a cell as above,
with the norms w, f, W and F of the columns of B and of their differences.  Noise is added to every
y(j).  Running sums, and totals themselves, are sums of multiples of noisy y(j): post-processing.
Theorem (key ``group-sums``; the sensitivity of the matrix mechanism (Li, Miklau, Hay, McGregor and
Rastogi 2015)).  Let a unit add a whole number from ``low`` to ``high`` to each of at most g
groups, D = max(|low|, |high|).  Added or removed, it moves all y by at most g D w in L1, and g**2
D**2 W in the square of L2.  Replaced by another, it moves them by at most g D f and g**2 D**2 F if
low >= 0, and else by twice and four times the former.
Proof.  Such a unit adds t(c) b(c) for at
most g cells c, |t(c)| <= D, so the first is the triangle inequality.  If low >= 0 it adds a point
of the polytope whose corners are zero and all g D b(c), since t(c) >= 0 and they add up to at most
g D; the difference of two points is longest between two corners.  Else one unit goes and another
comes. That a unit adds to at most g groups, and what, is enforced by the engine
(``bounded-contribution``); which groups there are is the same for all neighbors.  Totals are
clamped to 2**40 in size, so that no sum leaves 64 bits, which moves every total by no more.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.plan.pricing.group_sensitivity import GroupSensitivity
from discreet.query.expressions import Call, Case, Expression, Literal
from discreet.requests.engine_request import Measure, Total
from discreet.units import Relation

if TYPE_CHECKING:  # for annotations alone
    from discreet.requests.raw_totals import Integers, SparseLeaves


_BLOCK: Final = 512
_EXACT: Final = 2.0**53
_WIDEST: Final = 1 << 62
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
    clamped: Integers = np.clip(wide, -_WIDEST, _WIDEST).astype(np.int64)
    return clamped


def _up(distance: float, largest: float) -> int:
    """Round up; where numbers on the way were too large to be exact, by more than they err."""
    return math.ceil(distance if largest < _EXACT else distance + largest * _SLACK)


Weights = tuple[tuple[int, int | Fraction], ...]
"""The places of sums, and by what they are multiplied."""

Norms = tuple[int, int, int, int]
"""Of columns and of their differences: L1, L1, the square of L2, the square of L2."""

_MOST_ROWS: Final = 1 << 40


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CellStrategy:
    """Sums of cells that get noise, and answers as sums of multiples of these.

    ``factors`` are the entries of B, for the cells of each sum; without any all of them are one.
    One row counts as ``unit``.  ``words`` says which strategy it is, and why.  ``nested`` names the
    counts whose cells these are, where no histogram is read.  ``values`` are what is added up in
    cells, where these are no counts of rows: cell c of value v is then column v * ``cells`` + c.

    >>> halves = CellStrategy(words="", cells=2, sums=((0,), (0, 1)),
    ...     answers=(("first", ((0, 1),)), ("rest", ((1, 1), (0, -1)))))
    >>> halves.norms, halves.expanded({"rest": Fraction(2)})
    ((2, 2, 2, 2), {1: Fraction(2, 1), 0: Fraction(-2, 1)})
    """

    words: str
    cells: int
    sums: tuple[tuple[int, ...], ...]
    answers: tuple[tuple[str, Weights], ...]
    factors: tuple[tuple[int, ...], ...] = ()
    unit: int = 1
    nested: tuple[str, ...] = ()
    values: tuple[CellValue, ...] = ()

    def __hash__(self) -> int:
        """Do not look at all weights: there may be a million."""
        return hash((self.words, self.cells, len(self.sums), len(self.answers), self.unit))

    @property
    def norms(self) -> Norms:
        """The norms w, f, W and F."""
        one, other = self.lengths, joint_differences(self) if self.values else _apart(self)
        return one[0], max(one[0], other[0]), one[1], max(one[1], other[1])

    @property
    def lengths(self) -> tuple[int, int]:
        """The norms w and W alone, which are quickly found."""
        return joint_lengths(self) if self.values else _lengths(self)

    @property
    def spread(self) -> float:
        """The mean over answers of their squared weights, in terms of what a row adds at most."""
        return _spread(self)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the answers."""
        return tuple(name for name, _ in self.answers)

    @property
    def whole(self) -> bool:
        """Whether answers are whole numbers."""
        if not self.values:
            return self.unit == 1
        return not self.factors and all(value.step == 1 for value in self.values)

    def row_bounds(self, name: str) -> tuple[Fraction, Fraction]:
        """Return between what one row adds to an answer."""
        if not self.values:
            return Fraction(0), Fraction(1)
        (first, _), *_ = _weights(self)[name]
        value = self.values[self.sums[first][0] // self.cells]
        return Fraction(value.low, value.step), Fraction(value.high, value.step)

    def terms(self) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Yield the cells of each sum, and by what they are multiplied."""
        if self.factors:
            yield from zip(self.sums, self.factors, strict=True)
        else:
            yield from ((cells, (1,) * len(cells)) for cells in self.sums)

    def measured(self, sparse: SparseLeaves, groups: int) -> Integers:
        """Return all sums of each group, as a matrix with a row for each group.

        >>> tree = CellStrategy(words="", cells=2, sums=((0,), (0, 1)), answers=())
        >>> tree.measured((np.array([0, 0]), np.array([0, 1]), np.array([5, 2])), 1).tolist()
        [[5, 7]]
        """
        if self.values:
            return exact_sums(self, sparse, groups)
        group, cell, count = sparse
        held = np.minimum(count, _MOST_ROWS)
        found = np.zeros((groups, len(self.sums)), np.int64)
        for place, (cells, factors) in enumerate(self.terms()):
            times = np.zeros(self.cells, np.int64)
            times[list(cells)] = factors
            here = times[cell]
            inside = here != 0
            np.add.at(found[:, place], group[inside], held[inside] * here[inside])
        return found

    @staticmethod
    def differences(totals: Sequence[Integers]) -> SparseLeaves:
        """Return the cells of nested counts, group by group.

        >>> found = CellStrategy.differences([np.array([3, 0]), np.array([5, 2])])
        >>> [part.tolist() for part in found]
        [[0, 0, 1, 1], [0, 1, 0, 1], [3, 2, 0, 2]]
        """
        counts = np.stack(totals, axis=1)
        counts[:, 1:] -= counts[:, :-1].copy()
        group, cell = np.divmod(np.arange(counts.size, dtype=np.int64), len(totals))
        return group, cell, counts.ravel()

    def expanded(self, terms: Mapping[str, Fraction]) -> dict[int, Fraction]:
        """Return a sum of multiples of answers as one of multiples of sums."""
        weights = _weights(self)
        found: dict[int, Fraction] = {}
        for name, factor in terms.items():
            for place, weight in weights.get(name, ()):
                part = factor * weight
                found[place] = found[place] + part if place in found else part
        return found


@functools.lru_cache(maxsize=64)
def _weights(strategy: CellStrategy) -> dict[str, Weights]:
    return dict(strategy.answers)


@functools.lru_cache(maxsize=64)
def _spread(strategy: CellStrategy) -> float:
    answers = strategy.answers
    total = 0.0
    for name, weights in answers:
        low, high = strategy.row_bounds(name)
        most = float(max(-low, high))
        total += sum((float(weight) / most) ** 2 for _, weight in weights)
    return total / len(answers)


@functools.lru_cache(maxsize=64)
def _lengths(strategy: CellStrategy) -> tuple[int, int]:
    """Return the largest L1 norm of a column, and the largest squared L2 norm."""
    if not strategy.factors:
        held = np.fromiter(itertools.chain.from_iterable(strategy.sums), np.int64)
        most = int(np.bincount(held, minlength=1).max())
        return most, most
    norms = np.zeros((2, strategy.cells), np.int64)
    for inside, factors in strategy.terms():
        times = np.array(factors, np.int64)
        norms[:, list(inside)] += np.abs(times), times**2
    return int(norms[0].max(initial=0)), int(norms[1].max(initial=0))


@functools.lru_cache(maxsize=64)
def _apart(strategy: CellStrategy) -> tuple[int, int]:
    """Return the norms of differences of columns; whole numbers below 2**53 are exact.

    Of vectors of zeros and ones both norms are the same.
    """
    columns = np.zeros((strategy.cells, len(strategy.sums)), np.float64)
    for place, (inside, factors) in enumerate(strategy.terms()):
        columns[list(inside), place] = factors
    if strategy.factors:
        apart = np.abs(columns[:, np.newaxis] - columns)
        return int(apart.sum(axis=2).max()), int((apart**2).sum(axis=2).max())
    ones = columns.sum(axis=1)
    farthest, most = 0, 2 * int(ones.max(initial=0))
    for start in range(0, strategy.cells, _BLOCK):
        part = slice(start, start + _BLOCK)
        other = ones[part, np.newaxis] + ones - 2 * (columns[part] @ columns.T)
        farthest = max(farthest, int(other.max(initial=0)))
        if farthest == most:  # there is no more
            break
    return farthest, farthest


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CellSensitivity(GroupSensitivity):
    """What a unit adds to the sums of a strategy; ``high`` is the most rows of it in a group.

    >>> bars = CellStrategy(words="", cells=3, sums=((0,), (1,), (2,)), answers=())
    >>> far = CellSensitivity(low=0, high=5, groups=1, available=1, cells=bars)
    >>> far.added, far.added_squared, far.replaced, far.replaced_squared
    (5, 25, 10, 50)
    """

    cells: CellStrategy

    @property
    def strategy(self) -> CellStrategy:
        """The sums that are measured."""
        return self.cells

    @property
    def most(self) -> int:
        """How far one unit moves the sums of one group, in L1."""
        return self.high * self.cells.lengths[0]

    @property
    def most_squared(self) -> int:
        """The square of how far one unit moves the sums of one group, in L2."""
        return self.high**2 * self.cells.lengths[1]

    @property
    def width(self) -> int:
        """How far apart two units are in one group, in L1."""
        return self.high * self.cells.norms[1]

    @property
    def width_squared(self) -> int:
        """The square of how far apart two units are in one group, in L2."""
        return self.high**2 * self.cells.norms[3]

    def places(self, relation: Relation) -> int:
        """Return in how many places sums can move."""
        inside = GroupSensitivity.places(self, relation) * len(self.cells.sums)
        return min(inside, relation.sides * self.groups * self.most)


def conditions_of(measure: Measure | None) -> frozenset[Expression] | None:
    """Return the conditions on the rows that a total counts, or None if it counts no rows.

    None in place of a measure is the number of units.

    >>> conditions_of(Total(name="count", row=Literal(1), low=0, high=5))
    frozenset()
    """
    match measure:
        case None | Total(row=Literal(value=1), low=0, rows=None):
            return frozenset()
        case Total(row=Case(branches=((both, Literal(value=1)),), default=None), low=0, rows=None):
            return frozenset(_conjuncts(both))
        case _:
            return None


def _conjuncts(condition: Expression) -> Iterator[Expression]:
    if isinstance(condition, Call) and condition.function == "AND":
        for part in condition.arguments:
            yield from _conjuncts(part)
    else:
        yield condition


def are_nested(measures: Sequence[Measure | None], most: int) -> bool:
    """Whether each of some counts is a part of the next, of which a unit has at most so many rows.

    >>> paid = Case(((Call("IS TRUE", (Literal(True),)), Literal(1)),))
    >>> some, every = (Total(name="", row=row, low=0, high=5) for row in (paid, Literal(1)))
    >>> are_nested([some, every], 5), are_nested([every, some], 5), are_nested([some, every], 4)
    (True, False, False)
    """
    parts = [conditions_of(measure) for measure in measures]
    rows = [measure.high if isinstance(measure, Total) else 1 for measure in measures]
    known = [part for part in parts if part is not None]
    return (
        len(known) == len(parts)
        and all(outer <= inner for inner, outer in pairwise(known))
        and [*rows, most] == sorted([*rows, most])
    )


_LARGEST: Final = 1 << 40


def key_order(keys: Sequence[tuple[Any, ...]]) -> list[int]:
    """Return the places of groups in the order of their keys, NULL first.

    >>> key_order([(2,), (None,), (1,)])
    [1, 2, 0]
    """
    return sorted(range(len(keys)), key=lambda at: [(part is not None, part) for part in keys[at]])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStrategy:
    """Sums of groups that get noise.

    Cell c is the group at place ``order[c]`` in the order of keys.  ``frames`` names what is
    computed, a measure or a window, and says for each group, in the order of keys, which answer of
    ``cells`` it is.
    """

    cells: CellStrategy
    order: tuple[int, ...]
    frames: tuple[tuple[str, tuple[int, ...]], ...]

    def __hash__(self) -> int:
        """Do not look at all places."""
        return hash((self.cells, len(self.frames)))

    def measured(self, totals: Integers, keys: Sequence[tuple[Any, ...]]) -> Integers:
        """Return all sums, of totals of groups with these keys.

        >>> cells = CellStrategy(words="", cells=2, sums=((0,), (0, 1)), answers=())
        >>> upto = GroupStrategy(cells=cells, order=(1, 0), frames=())
        >>> upto.measured(np.array([5, 2]), [("b",), ("a",)]).tolist()
        [5, 7]
        """
        sorted_totals = totals[key_order(keys)][list(self.order)]
        held = np.clip(sorted_totals, -_LARGEST, _LARGEST)
        cells = np.arange(len(self.order))
        found: Integers = self.cells.measured((np.zeros_like(cells), cells, held), 1)[0]
        return found


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSumSensitivity(GroupSensitivity):
    """What a unit adds to sums of groups; the rest is as for the totals themselves.

    >>> cells = CellStrategy(words="", cells=3, sums=((0,), (0, 1), (2,)), answers=())
    >>> far = GroupSumSensitivity(low=0, high=5, groups=1, available=3,
    ...     sums=GroupStrategy(cells=cells, order=(0, 1, 2), frames=()))
    >>> far.added, far.added_squared, far.replaced, far.replaced_squared
    (10, 50, 15, 75)
    """

    sums: GroupStrategy

    @property
    def group_strategy(self) -> GroupStrategy:
        """The sums that are measured."""
        return self.sums

    @property
    def added(self) -> int:
        """The L1 distance where a unit is added or removed."""
        return self.groups * self.most * self.sums.cells.lengths[0]

    @property
    def added_squared(self) -> int:
        """The square of the L2 distance where a unit is added or removed."""
        return self.groups**2 * self.most_squared * self.sums.cells.lengths[1]

    @property
    def replaced(self) -> int:
        """The L1 distance where a unit is replaced."""
        if self.low < 0:
            return 2 * self.added
        return self.groups * self.most * self.sums.cells.norms[1]

    @property
    def replaced_squared(self) -> int:
        """The square of the L2 distance where a unit is replaced."""
        if self.low < 0:
            return 4 * self.added_squared
        return self.groups**2 * self.most_squared * self.sums.cells.norms[3]

    def places(self, relation: Relation) -> int:  # noqa: ARG002
        """Return in how many places sums can move."""
        return len(self.sums.cells.sums)
