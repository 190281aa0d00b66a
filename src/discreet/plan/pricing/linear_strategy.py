"""Linear strategies: noise on sums y = B x, from which several answers are computed.

Trust: kernel.  Noise is scaled to these norms.

Definition.  A row of a unit is in one cell c, and has for each value v a whole number z(v) from
low(v) <= 0 to high(v) >= 0; if rows are counted, that is 1.  x(v, c) is the sum of z(v) over
rows in cell c.  A strategy measures y(j), the sum of all B(j, (v, c)) x(v, c), for each of its
*sums* j, with whole numbers B; no sum holds two values.  Noise is added to every y(j), and every
answer is a sum of exact multiples of noisy y(j): post-processing (key ``post-processing``).
Write D(v) = max(-low, high), and b(v, c) for the column of value v in cell c.
Theorem (key ``linear-strategy``; the sensitivity of the matrix mechanism (Li, Miklau, Hay, McGregor
and Rastogi 2015)).  Let all rows of a unit in a group count, with weights that add up to at most k.
Added or removed, it moves the sums of the group by at most

    k max over c of the sum over v of D(v) |b(v, c)|_1,      in L1, and
    k**2 max over c of the sum over v of D(v)**2 |b(v, c)|_2**2,      in the square of L2.

The difference of two units in a group is at most k, or k**2, times the largest sum over v of

    max of |x b(v, c) - y b(v, c')|    over x and y, each low(v) or high(v),

over all cells c and c', equal ones too.  For several groups of a unit these are what
``plan-distances`` adds up.  All bounds are attained by k rows in one cell.
Proof.  The contribution of a unit is a point of k times the hull of zero and of all boxes, c for c,
of what a row in c can add; each box holds zero.  Norms, and their squares, are convex, so the
longest point of the hull, and the longest difference of two of its points, are found at corners; a
corner of a box chooses low or high for each v by itself, and sums of different values are different
coordinates, so that norms (squared, in L2) add up over v.
Clamping the sum of a cell moves each coordinate by no more and the same way: since boxes hold zero,
the difference of two units stays one of such points.  Clamping y moves no two further apart.
Disjoint sums therefore cost the largest of their bounds, and not what these add up to.

Numbers below 2**53 are exact here; larger ones are rounded up by a few parts in 10**12.

A *source* says what x is, and how an engine enforces k and the bounds.

    CellRows       the rows of a histogram: one expression names the cell of a row, and of a unit's
                   rows in a group at most k stay (``bounded-contribution``)
    CellTotals     sums of values by cells (``joint-sums``)
    GroupTotals    the total of every public group is a cell, and all groups are one: a unit adds a
                   number from low to high to at most g of them, which are g rows
    SimplexTotals  what nested counts, and a sum within the last of them, leave of each unit's rows
                   (``simplex-release``)

Definition.  A *chain* has *nested* counts, each ``per`` the one before and the first of at most k
rows of a unit, and a total ``per`` the last of them, low <= 0 <= high for each row (key
``within-count``); w = high - low.  A unit that adds n(0) >= ... >= n(l) to the
counts and s to the total is the point

    s - low n(l),  high n(l) - s,  w (n(i - 1) - n(i)) for i = l, ..., 1

of whole numbers.  Without a total, low = 0 and w = 1, and n(l) takes the place of the first two.
The number of units may be the first count: then it counts each of them k times, whatever its rows
are, so that its point adds up to exactly k w.
Theorem (key ``simplex-release``).  A unit's point has no coordinate below zero, and they add up to
w n(0), at most k w.  So it moves the sums over units of a group by at most k w in L1
and k**2 w**2 in the square of L2; two units that take each other's place by at most twice as much
in both.  Several chains, each multiplied by a number f, add up to k times the sum of f w, and so
do the squares of f w.  Sums and counts are linear in the sums: s is
(high, low) / w times the first two, and n(i) the sum of all up to its own place over w.
Proof.  In docs/proofs/plan.md.  These are the bounds of ``linear-strategy`` for k rows, chains as
values with bounds 0 and w, corners as cells, and a histogram: a row of a value may be divided among
the cells, and values choose cells by themselves, but all cells of a histogram cost the same.
"""

from __future__ import annotations

import functools
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, final

import numpy as np
from numpy.typing import NDArray

from discreet.plan.pricing.group_sensitivity import UNITS, GroupSensitivity, Noise
from discreet.query.expressions import Call, Case, Expression, Literal
from discreet.requests.engine_request import CellSums, Leaves, Measure, Total
from discreet.units import Relation

if TYPE_CHECKING:  # for annotations alone
    from discreet.plan.pricing.release_composition import Enforced
    from discreet.requests.raw_totals import Integers, RawTotals, SparseLeaves


_BLOCK: Final = 512
_EXACT: Final = 2.0**53
_WIDEST: Final = 1 << 62
_MOST_ROWS: Final = 1 << 40
_SLACK: Final = 1e-12

Floats = NDArray[np.float64]

Weights = tuple[tuple[int, int | Fraction], ...]
"""The places of sums, and by what they are multiplied."""

Norms = tuple[int, int, int, int]
"""Of columns and of their differences: L1, L1, the square of L2, the square of L2."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CellValue:
    """What is added up in cells: the measure that holds it, and bounds on one row, zero between.

    ``step`` is as how many one counts: 1, but for rows that are counted in fractions.

    >>> CellValue(measure="pay", low=-3, high=10).most
    10
    """

    measure: str
    low: int = 0
    high: int = 1
    step: int = 1

    @property
    def most(self) -> int:
        """How far one row moves the sum of a cell."""
        return max(-self.low, self.high)

    def holds(self, low: int, high: int) -> bool:
        """Whether its bounds allow for all that a row may add."""
        return self.low <= low and high <= self.high


class CellSource(ABC):
    """What the cells of a strategy are; ``scaled`` if rows of different values are made alike."""

    __slots__ = ()
    scaled: ClassVar[bool] = False

    @property
    def frames(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """What is computed from sums of groups, if it is; see :class:`GroupTotals`."""
        return ()

    def document(self) -> list[Any]:
        """Return its kind and its fields, in plain JSON: part of the digest of a plan."""
        return [type(self).__name__]

    @abstractmethod
    def read(self, strategy: CellStrategy, raw: RawTotals, places: Integers) -> SparseLeaves:
        """Return the cells of the groups at some places, which rise, without noise."""

    @abstractmethod
    def covered(self, strategy: CellStrategy, far: CellSensitivity, by: Enforced) -> bool:
        """Whether an engine lets no unit add more to the cells than is claimed."""


@final
@dataclass(frozen=True, slots=True)
class CellRows(CellSource):
    """The rows of a histogram."""

    def read(self, strategy: CellStrategy, raw: RawTotals, places: Integers) -> SparseLeaves:
        group, cell, rows = kept_leaves(raw.leaves[strategy.values[0].measure], places)
        return group, cell, np.minimum(rows, _MOST_ROWS)

    def covered(self, strategy: CellStrategy, far: CellSensitivity, by: Enforced) -> bool:
        """Compare the histogram, and how many rows of a unit are in it."""
        (value,) = strategy.values
        measure = by.measures.get(value.measure)
        if not isinstance(measure, Leaves) or not value.holds(0, 1):
            return False
        inside = measure.leaves == strategy.cells and measure.rows <= far.high
        return inside and by.within(far.groups, far.available)


@final
@dataclass(frozen=True, slots=True)
class CellTotals(CellSource):
    """Sums of values by cells."""

    scaled: ClassVar[bool] = True

    def read(self, strategy: CellStrategy, raw: RawTotals, places: Integers) -> SparseLeaves:
        parts = [
            (group, place * strategy.cells + cell, added)
            for place, value in enumerate(strategy.values)
            for group, cell, added in [kept_leaves(raw.leaves[value.measure], places)]
        ]
        group, column, added = (np.concatenate(each) for each in zip(*parts, strict=True))
        return group, column, added

    def covered(self, strategy: CellStrategy, far: CellSensitivity, by: Enforced) -> bool:
        """Whether values are summed over the same cells, and no row adds more than is claimed."""
        found = [by.measures.get(value.measure) for value in strategy.values]
        sums = [measure for measure in found if isinstance(measure, CellSums)]
        if len(sums) < len(found) or len({(each.row, each.cells, each.rows) for each in sums}) > 1:
            return False
        inside = all(
            value.holds(min(measure.low, 0), max(measure.high, 0))
            for value, measure in zip(strategy.values, sums, strict=True)
        )
        covered = inside and sums[0].cells == strategy.cells and sums[0].rows <= far.high
        return covered and by.within(far.groups, far.available)


@final
@dataclass(frozen=True, slots=True)
class GroupTotals(CellSource):
    """The totals of all groups, which are public and stand in the order of their keys.

    Cell c is the group at place ``order[c]``.  ``named`` has the name of what is computed, a
    measure or a window, and for each group, in the order of keys, which answer it is.
    """

    order: tuple[int, ...]
    named: tuple[tuple[str, tuple[int, ...]], ...] = ()

    def __hash__(self) -> int:
        """Do not look at all places."""
        return hash((len(self.order), len(self.named)))

    def document(self) -> list[Any]:
        return ["GroupTotals", self.order, self.named]

    @property
    def frames(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return self.named

    def read(self, strategy: CellStrategy, raw: RawTotals, places: Integers) -> SparseLeaves:
        """Return the totals, as cells of one group."""
        keys = list(zip(*(key.to_pylist() for key in raw.keys), strict=True))
        totals = _total(raw, strategy.values[0].measure)[places]
        held = np.clip(totals[key_order(keys)][list(self.order)], -_MOST_ROWS, _MOST_ROWS)
        return np.zeros_like(held), np.arange(held.size), held

    def covered(self, strategy: CellStrategy, far: CellSensitivity, by: Enforced) -> bool:
        """Whether these are all groups, and a unit is in no more of them."""
        (value,) = strategy.values
        measure = by.measures.get(value.measure)
        match measure:
            case None:
                added = value.measure == UNITS and value.holds(0, 1)
            case Total(low=low, high=high):
                added = value.holds(min(low, 0), max(high, 0))
            case _:
                return False
        whole = by.listed == strategy.cells == len(set(self.order))
        return added and whole and by.groups <= far.high


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """Nested counts, the outermost first, and a total within so much for each row of the last.

    >>> pay = Chain(counts=("count", "count_2"), total="sum", low=-5, high=5)
    >>> pay.width, pay.corners
    (10, 3)
    """

    counts: tuple[str, ...]
    total: str | None = None
    low: int = 0
    high: int = 1

    @property
    def width(self) -> int:
        """What the coordinates of one row add up to."""
        return self.high - self.low

    @property
    def corners(self) -> int:
        """How many coordinates there are."""
        return len(self.counts) + (self.total is not None)

    def points(self, raw: RawTotals, places: Integers, rows: int) -> list[Integers]:
        """Return the coordinates of all units of each group together."""
        counts = [_total(raw, name)[places] for name in self.counts]
        largest = max(int(each.max(initial=0)) for each in counts)
        if largest * rows * self.width >= _WIDEST:  # then integers of any size
            counts = [each.astype(object) for each in counts]
        if self.counts[0] == UNITS:
            counts[0] = counts[0] * rows
        found = [counts[-1]]
        if self.total is not None:
            total = _total(raw, self.total)[places]
            found = [total - self.low * counts[-1], self.high * counts[-1] - total]
        found += [self.width * (outer - inner) for outer, inner in pairwise(counts)][::-1]
        return [np.clip(each, -_WIDEST, _WIDEST).astype(np.int64) for each in found]

    def covered(self, value: CellValue, rows: int, by: Enforced) -> bool:
        """Whether an engine keeps every unit within its simplex."""
        before: str | None = None
        for name in self.counts:
            measure = by.measures.get(name)
            if name == UNITS and measure is None:  # each of them adds as many as it may have
                nested = before is None
            elif isinstance(measure, Total) and (measure.low, measure.high) == (0, rows):
                nested = before in {None, UNITS} or measure.per == before
            else:
                nested = False
            if not nested:
                return False
            before = name
        if self.total is None:
            return (self.low, self.high) == (0, 1) and value.holds(0, 1)
        total = by.measures.get(self.total)
        if not isinstance(total, Total) or before not in {total.per, UNITS}:
            return False
        ends = rows * self.low <= total.low and total.high <= rows * self.high
        return ends and self.low <= 0 <= self.high and value.holds(0, self.width)


@final
@dataclass(frozen=True, slots=True)
class SimplexTotals(CellSource):
    """What nested counts and totals within them leave of each unit's rows.

    Value v is about chain v, and cell c about its coordinate c.
    """

    chains: tuple[Chain, ...]
    rows: int

    def of_each_unit(self, strategy: CellStrategy, measures: Mapping[str, Measure]) -> int | None:
        """Return what the coordinates of every unit in a group add up to; None if units differ.

        The first count of each chain is the number of units, or of all rows if one of each counts.
        """
        factors: list[set[int]] = [set() for _ in self.chains]
        for (column, *_), (factor, *_) in strategy.terms():
            factors[column // strategy.cells].add(factor)
        total = 0
        for chain, known in zip(self.chains, factors, strict=True):
            first, (factor, *others) = chain.counts[0], known
            rows = self.rows == 1 and conditions_of(measures.get(first)) == frozenset()
            if others or factor <= 0 or not (first == UNITS or rows):
                return None
            total += self.rows * chain.width * factor
        return total

    def document(self) -> list[Any]:
        chains = [[each.counts, each.total, each.low, each.high] for each in self.chains]
        return ["SimplexTotals", chains, self.rows]

    def read(self, strategy: CellStrategy, raw: RawTotals, places: Integers) -> SparseLeaves:
        columns: list[int] = []
        points: list[Integers] = []
        for at, chain in enumerate(self.chains):
            found = chain.points(raw, places, self.rows)
            columns += range(at * strategy.cells, at * strategy.cells + len(found))
            points += found
        groups = np.arange(places.size)
        return (
            np.tile(groups, len(points)),
            np.repeat(np.array(columns, np.int64), places.size),
            np.concatenate(points),
        )

    def covered(self, strategy: CellStrategy, far: CellSensitivity, by: Enforced) -> bool:
        """Compare every chain, the most rows of a unit, and what each coordinate costs."""
        values, size = strategy.values, strategy.cells
        if len(values) != len(self.chains) or self.rows != far.high:
            return False
        costs: list[set[int]] = [set() for _ in values]
        seen: list[int] = []
        for (first, *more), (factor, *_) in strategy.terms():
            seen += [first, *more]
            costs[first // size].add(abs(factor))
        corners = [chain.corners for chain in self.chains]
        every = [at * size + each for at, most in enumerate(corners) for each in range(most)]
        histogram = sorted(seen) == every and len(strategy.sums) == len(every)
        return (
            histogram
            and all(len(each) == 1 for each in costs)
            and by.within(far.groups, far.available)
            and all(
                chain.covered(value, self.rows, by)
                for chain, value in zip(self.chains, values, strict=True)
            )
        )


def coordinates_of(noises: Iterable[Noise]) -> Noise:
    """Return the noise on the coordinates of simplexes, of which there is one at most."""
    return next(
        each
        for each in noises
        if each.distances.strategy is not None
        and isinstance(each.distances.strategy.source, SimplexTotals)
    )


def _total(raw: RawTotals, measure: str) -> Integers:
    return raw.units if measure == UNITS else raw.totals[measure]


def kept_leaves(sparse: SparseLeaves, places: Integers) -> SparseLeaves:
    """Return the leaves of the groups at some places, which rise, numbered by these places."""
    group, leaf, count = sparse
    at = np.searchsorted(places, group)
    kept = at < places.size
    kept[kept] = places[at[kept]] == group[kept]
    return at[kept], leaf[kept], count[kept]


def key_order(keys: Sequence[tuple[Any, ...]]) -> list[int]:
    """Return the places of groups in the order of their keys, NULL first.

    >>> key_order([(2,), (None,), (1,)])
    [1, 2, 0]
    """
    return sorted(range(len(keys)), key=lambda at: [(part is not None, part) for part in keys[at]])


CELL_ROWS: Final = CellRows()


class LinearStrategy(ABC):
    """Sums y = B x that get noise, and from which all answers are computed."""

    __slots__ = ()
    words: str

    def called(self, words: str) -> Self:
        """Return the same strategy, described in other words."""
        same: Any = self
        return replace(same, words=words)  # type: ignore[no-any-return]

    @property
    @abstractmethod
    def lengths(self) -> tuple[int, int]:
        """The norms of columns: L1, and the square of L2."""

    @property
    @abstractmethod
    def norms(self) -> Norms:
        """The norms of columns, and of their differences."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many sums there are."""

    @property
    @abstractmethod
    def spread(self) -> float:
        """The mean over answers of their squared weights."""

    @abstractmethod
    def covered(self, far: CellSensitivity, by: Enforced) -> bool:
        """Whether an engine lets no unit add more to the cells than is claimed."""

    @abstractmethod
    def document(self) -> list[Any]:
        """Return what decides the answers, in plain JSON: part of the digest of a plan."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CellStrategy(LinearStrategy):
    """Sums of cells that get noise, and answers as sums of multiples of these.

    ``factors`` are the entries of B, for the cells of each sum; without any all of them are one.
    One row counts as ``unit``.  ``words`` says which strategy it is, and why.  ``values`` are what
    is added up in cells: cell c of value v is column v * ``cells`` + c.

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
    values: tuple[CellValue, ...] = (CellValue(measure="cells"),)
    source: CellSource = CELL_ROWS

    def __hash__(self) -> int:
        """Do not look at all weights: there may be a million."""
        return hash((self.words, self.cells, len(self.sums), len(self.answers), self.unit))

    @property
    def norms(self) -> Norms:
        """The norms of columns, and of their differences."""
        one, other = self.lengths, _differences(self)
        return one[0], max(one[0], other[0]), one[1], max(one[1], other[1])

    @property
    def lengths(self) -> tuple[int, int]:
        """The norms of columns alone, which are quickly found."""
        return _lengths(self)

    @property
    def size(self) -> int:
        """How many sums there are."""
        return len(self.sums)

    def covered(self, far: CellSensitivity, by: Enforced) -> bool:
        """Whether an engine lets no unit add more to the cells than is claimed."""
        return self.source.covered(self, far, by)

    def document(self) -> list[Any]:
        answers = [
            [name, [[place, str(weight)] for place, weight in weights]]
            for name, weights in self.answers
        ]
        values = [[each.measure, each.low, each.high, each.step] for each in self.values]
        parts = [self.cells, self.sums, self.factors, answers, values]
        return [*parts, *self.source.document()]

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
        return _whole(self)

    def row_bounds(self, name: str) -> tuple[Fraction, Fraction]:
        """Return between what one row adds to an answer."""
        (first, _), *_ = _weights(self)[name]
        value = self.values[self.sums[first][0] // self.cells]
        return Fraction(value.low, value.step), Fraction(value.high, value.step)

    def terms(self) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Yield the cells of each sum, and by what they are multiplied."""
        if self.factors:
            yield from zip(self.sums, self.factors, strict=True)
        else:
            yield from ((cells, (1,) * len(cells)) for cells in self.sums)

    def read(self, raw: RawTotals, places: Integers) -> Integers:
        """Return all sums without noise, group by group."""
        inside = self.source.read(self, raw, places)
        return self.measured(inside, 1 if self.source.frames else places.size).ravel()

    def measured(self, sparse: SparseLeaves, groups: int) -> Integers:
        """Return all sums of each group, clamped to what noise can be added to; none overflows.

        >>> tree = CellStrategy(words="", cells=2, sums=((0,), (0, 1)), answers=())
        >>> tree.measured((np.array([0, 0]), np.array([0, 1]), np.array([5, 2])), 1).tolist()
        [[5, 7]]
        """
        group, column, added = sparse
        most = max((abs(entry) for factors in self.factors for entry in factors), default=1)
        largest = int(np.abs(added).max(initial=0)) * most * self.cells
        kind = np.int64 if largest < _WIDEST else object
        found = np.zeros((groups, len(self.sums)), kind)
        for place, (columns, factors) in enumerate(self.terms()):
            times = np.zeros(self.cells * len(self.values), np.int64)
            times[list(columns)] = factors
            here = times[column]
            inside = here != 0
            terms = added[inside].astype(kind) * here[inside].astype(kind)
            np.add.at(found[:, place], group[inside], terms)
        clamped: Integers = np.clip(found, -_WIDEST, _WIDEST).astype(np.int64)
        return clamped

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
def _whole(strategy: CellStrategy) -> bool:
    return all(each.denominator == 1 for _, weights in strategy.answers for _, each in weights)


@functools.lru_cache(maxsize=64)
def _spread(strategy: CellStrategy) -> float:
    total = 0.0
    for name, weights in strategy.answers:
        low, high = strategy.row_bounds(name)
        most = float(max(-low, high))
        total += sum((float(weight) / most) ** 2 for _, weight in weights)
    return total / len(strategy.answers)


@functools.lru_cache(maxsize=64)
def _lengths(strategy: CellStrategy) -> tuple[int, int]:
    """Return how far one row more moves all sums: in L1, and in the square of L2."""
    chained = itertools.chain.from_iterable
    columns = np.fromiter(chained(strategy.sums), np.int64)
    entries = np.ones(columns.size)
    if strategy.factors:
        entries = np.abs(np.fromiter(chained(strategy.factors), np.float64))
    value, cell = np.divmod(columns, strategy.cells)
    moved = np.array([float(each.most) for each in strategy.values])[value] * entries
    first, second = (
        float(np.bincount(cell, weights=each, minlength=1).max()) for each in (moved, moved**2)
    )
    return _up(first, first), _up(second, second)


@functools.lru_cache(maxsize=64)
def _differences(strategy: CellStrategy) -> tuple[int, int]:
    """Return how far a row that takes the place of another moves all sums."""
    known = list(_matrices(strategy))
    first, second = (float(length) for length in strategy.lengths)
    one_sided = all(value.low == 0 and (matrix >= 0).all() for value, matrix in known)
    farthest = [0.0, 0.0]
    for start in range(0, strategy.cells, _BLOCK):
        part = slice(start, min(start + _BLOCK, strategy.cells))
        size = part.stop - start, strategy.cells
        far = np.zeros(size), np.zeros(size)
        for value, matrix in known:
            _add_differences(far, value, matrix, part)
        farthest = [max(most, float(each.max())) for most, each in zip(farthest, far, strict=True)]
        if one_sided and farthest == [2 * first, 2 * second]:  # there is no more
            break
    return _up(farthest[0], 4 * first), _up(farthest[1], 4 * second)  # of all that is added up


def _add_differences(
    far: tuple[Floats, Floats], value: CellValue, matrix: Floats, part: slice
) -> None:
    """Add the largest differences of some cells and all others, for one value."""
    ends = float(value.low), float(value.high)
    here, sizes, squares = matrix[part], np.abs(matrix).sum(axis=1), (matrix**2).sum(axis=1)
    level = float(np.abs(matrix).max(initial=0)) or 1.0
    alike = bool(np.isin(matrix, (0.0, level)).all())  # then every norm follows from overlaps
    common = here @ matrix.T
    shared = common / level
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


def _matrices(strategy: CellStrategy) -> Iterator[tuple[CellValue, Floats]]:
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


def _up(distance: float, largest: float) -> int:
    """Round up; if numbers on the way were too large to be exact, by more than they err."""
    return math.ceil(distance if largest < _EXACT else distance + largest * _SLACK)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CellSensitivity(GroupSensitivity):
    """What a unit adds to the sums of a strategy; ``high`` is the most rows of it in a group.

    >>> bars = CellStrategy(words="", cells=3, sums=((0,), (1,), (2,)), answers=())
    >>> far = CellSensitivity(low=0, high=5, groups=1, available=1, cells=bars)
    >>> far.added, far.added_squared, far.replaced, far.replaced_squared
    (5, 25, 10, 50)
    """

    cells: LinearStrategy

    @property
    def strategy(self) -> CellStrategy | None:
        return self.cells if isinstance(self.cells, CellStrategy) else None

    @property
    def most(self) -> int:
        return self.high * self.cells.lengths[0]

    @property
    def most_squared(self) -> int:
        return self.high**2 * self.cells.lengths[1]

    @property
    def width(self) -> int:
        return self.high * self.cells.norms[1]

    @property
    def width_squared(self) -> int:
        return self.high**2 * self.cells.norms[3]

    def places(self, relation: Relation) -> int:
        inside = GroupSensitivity.places(self, relation) * self.cells.size
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
