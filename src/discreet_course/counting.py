"""Counting queries over a public universe of rows, and how far one row moves their answers.

Trust: public.

Definition.  A counting query is a condition; its answer is how many rows meet it.  ``Counting``
holds several, as the 0/1 matrix of conditions by possible rows.  Its answers move between
neighbors by one column (add/remove), or by the difference of two (replace); the largest of these,
in L1 or in squared L2, is found by trying all.

The usual families are functions of the universe: ``counts`` of any conditions, ``thresholds``
(rows up to y), ``points`` (rows equal to y), ``attributes`` (rows whose i-th bit is 1).

Definition. A histogram: each row is in exactly one cell, a public function of the row. The counts
of all cells are released with independent noise; empty cells too.
Theorem (key ``histogram-moves``).  Under add/remove, d steps move the counts by at most d in L1,
and the costliest way is to move one cell by d (key ``log-concave-moves``).  Under replace, d steps
raise some cells by at most d in all and lower others by at most d in all; the costliest way is one
cell up and one down by d each.  So the loss is that of one answer at distance d, or of two: it is
tight.  The pure bound doubles under replace; the curve delta(epsilon) does better than at 2 d.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import listed
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import whole
from discreet.loss import PrivacyLoss, Pure
from discreet.mechanisms import Gaussian, Laplace, Mechanism
from discreet.mechanisms.additive import checked_integer_noise, integers
from discreet.mechanisms.mechanism import Number, ReferenceLaw, steps_at
from discreet.noise import SYSTEM, Entropy
from discreet.units import Relation

Counts = Sequence[int] | NDArray[np.integer[Any]]


@final
@dataclass(frozen=True, slots=True, init=False)
class Counting:
    """Counting queries: for each possible row, which conditions it meets.

    >>> queries = points(["cat", "dog"])
    >>> queries.answers(["cat", "cat"]).tolist()
    [2, 0]
    >>> queries.l1("add_remove"), queries.l1("replace")
    (1, 2)
    """

    universe: tuple[Hashable, ...]
    columns: tuple[tuple[int, ...], ...]

    def __init__(
        self, universe: Sequence[Any], conditions: Sequence[Callable[[Any], object]]
    ) -> None:
        """Take every row that may occur, and the conditions."""
        rows = tuple(listed(universe, name="universe"))
        tests = listed(conditions, name="conditions")
        if not rows or len(set(rows)) != len(rows) or not tests:
            raise OutOfRange(
                what="the universe is empty or repeats a row, or there is no condition.",
                why="the largest move is found by trying every possible row once.",
                do="list every possible row once, and at least one condition.",
            )
        if not all(callable(test) for test in tests):
            raise WrongKind(
                what="a condition cannot be called.",
                why="each is a function that says whether a row meets it.",
                do="give functions of one row.",
            )
        object.__setattr__(self, "universe", rows)
        matrix = tuple(tuple(int(bool(test(row))) for test in tests) for row in rows)
        object.__setattr__(self, "columns", matrix)

    def answers(self, rows: Iterable[Hashable]) -> NDArray[np.int64]:
        """Return how many rows meet each condition."""
        column = dict(zip(self.universe, self.columns, strict=True))
        total = np.zeros(len(self.columns[0]), np.int64)
        for row in rows:
            if row not in column:
                raise OutOfRange(
                    what="a row is not in the universe.",
                    why="the distance was promised for rows of the universe only.",
                    do="list every possible row, or drop rows outside by a public rule.",
                )
            total += column[row]
        return total

    def averages(self, rows: Sequence[Hashable]) -> tuple[Fraction, ...]:
        """Return which share of the rows, whose number is public, meets each condition."""
        if len(rows) == 0:
            raise OutOfRange(
                what="there are no rows.",
                why="no share of nothing is defined.",
                do="give at least one row.",
            )
        return tuple(Fraction(int(count), len(rows)) for count in self.answers(rows))

    def l1(self, relation: Relation | str) -> int:
        """Return the largest L1 distance of the answers on neighbors."""
        return max(sum(map(abs, move)) for move in self._moves(Relation.read(relation)))

    def l2_squared(self, relation: Relation | str) -> int:
        """Return the largest squared L2 distance of the answers on neighbors."""
        return max(sum(entry**2 for entry in move) for move in self._moves(Relation.read(relation)))

    def _moves(self, relation: Relation) -> Iterable[Sequence[int]]:
        """List by what the answers can move in one step, up to sign."""
        distinct = sorted(set(self.columns))
        if relation.adds:
            yield from distinct
        if relation.replaces:
            for left in distinct:
                for right in distinct:
                    yield [a - b for a, b in zip(left, right, strict=True)]


def counts(universe: Sequence[Any], *conditions: Callable[[Any], object]) -> Counting:
    """Count the rows that meet each condition.

    >>> counts(range(10), lambda age: age < 5, lambda age: age >= 2).l1("add_remove")
    2
    """
    return Counting(universe, conditions)


def thresholds(universe: Sequence[Any]) -> Counting:
    """Count, for each possible row y in turn, the rows up to y.

    >>> thresholds([0, 1, 2]).answers([0, 2, 2]).tolist()
    [1, 1, 3]
    """
    return Counting(universe, [functools.partial(_is_at_most, y) for y in universe])


def points(universe: Sequence[Any]) -> Counting:
    """Count, for each possible row y in turn, the rows equal to y: a histogram.

    >>> points([0, 1, 2]).answers([0, 2, 2]).tolist()
    [1, 0, 2]
    """
    return Counting(universe, [functools.partial(operator.eq, y) for y in universe])


def attributes(universe: Sequence[Sequence[int]]) -> Counting:
    """Count, for each position in turn, the rows that have a 1 there.

    >>> attributes([(0, 0), (0, 1), (1, 0), (1, 1)]).answers([(0, 1), (1, 1)]).tolist()
    [1, 2]
    """
    places = range(len(universe[0])) if len(universe) else range(0)
    return Counting(universe, [functools.partial(_is_one, place) for place in places])


def _is_at_most(y: Any, row: Any) -> bool:
    return bool(row <= y)


def _is_one(place: int, row: Sequence[int]) -> bool:
    return row[place] == 1


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
        """Return the distribution of the counts, as a function of a tuple of counts."""
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
