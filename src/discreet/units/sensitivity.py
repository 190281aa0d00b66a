"""Neighbors of neighbors: paths in finite graphs, and how far an answer moves along one edge.

Trust: kernel.

Definition.  The sensitivity of a vector q under a norm is the largest distance of q(D) and q(D')
over all neighbors D and D'.
Theorem (key ``sensitivity``; Dwork, McSherry, Nissim and Smith 2006).  Let a unit hold at most c
rows.
    Counts of k conditions, where a row meets at most r: one unit contributes a vector with at
    most min(k, c r) entries other than zero, none above c, that add up to at most c r.  Adding or
    removing it moves the counts by that vector, replacing it by the difference of two.
    Sum of values in [low, high]: a unit of 1 to c rows contributes between min(low, c low) and
    max(high, c high).  Adding or removing it moves the sum by at most the larger of their absolute
    values, c max(|low|, |high|); replacing it by at most their difference.

Definition.  A neighbor graph stands for any granularity on a short list of tables: vertices
0, 1, ..., size - 1 are tables, edges pairs of neighbors.  The canonical metric is the length of the
shortest path, infinity between components.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from discreet.arrays import listed
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal, whole
from discreet.units.relation import Relation, table_distance

_MOST_VERTICES = 1 << 12


@final
@dataclass(frozen=True, slots=True, init=False)
class NeighborGraph:
    """Which of finitely many tables are neighbors.

    >>> line = NeighborGraph.line(4)
    >>> line.distance(0, 3), line.group(2).distance(0, 3)
    (3, 2)
    >>> NeighborGraph(size=3, edges=[(0, 1)]).distance(0, 2)
    inf
    """

    size: int
    edges: frozenset[tuple[int, int]]

    def __init__(self, *, size: int, edges: Iterable[tuple[int, int]]) -> None:
        """Take the number of vertices, and pairs of different ones."""
        count = whole(size, name="size", low=1, high=_MOST_VERTICES)
        if not isinstance(edges, Iterable):
            raise WrongKind(
                f"the edges are a {type(edges).__name__}, not a collection; give a list of pairs "
                "of vertices."
            )
        pairs = {_edge(pair, count) for pair in edges}
        object.__setattr__(self, "size", count)
        object.__setattr__(self, "edges", frozenset(pairs))

    @classmethod
    def line(cls, size: int) -> NeighborGraph:
        """Return the graph of counts 0, 1, ...: neighbors differ by one."""
        places = range(whole(size, name="size") - 1)
        return cls(size=size, edges=[(place, place + 1) for place in places])

    @classmethod
    def complete(cls, size: int) -> NeighborGraph:
        """Return the graph of the local model: all are neighbors."""
        count = whole(size, name="size")
        return cls(size=size, edges=[(i, j) for j in range(count) for i in range(j)])

    @classmethod
    def of_tables(
        cls, tables: Sequence[Sequence[Hashable]], *, relation: Relation | str
    ) -> NeighborGraph:
        """Return the graph of the given tables under a relation.

        >>> NeighborGraph.of_tables([[], ["a"], ["b"]], relation="add_remove").edges == {
        ...     (0, 1), (0, 2)}
        True
        """
        kind = Relation.read(relation)
        chosen = listed(tables, name="tables")
        pairs = [
            (i, j)
            for j in range(len(chosen))
            for i in range(j)
            if table_distance(chosen[i], chosen[j], relation=kind) == 1
        ]
        return cls(size=len(chosen), edges=pairs)

    def ordered(self) -> Iterator[tuple[int, int]]:
        """Yield every pair of neighbors in both orders."""
        for i, j in sorted(self.edges):
            yield i, j
            yield j, i

    def distance(self, source: int, target: int) -> int | float:
        """Return the length of the shortest path, or infinity."""
        first = whole(source, name="source", low=0, high=self.size - 1)
        last = whole(target, name="target", low=0, high=self.size - 1)
        return self._reach(first, self._adjacent()).get(last, math.inf)

    def group(self, size: int) -> NeighborGraph:
        """Return the graph that joins vertices at distance at most ``size``: group privacy."""
        most = whole(size, name="size", low=0)
        adjacent = self._adjacent()
        pairs = {
            (i, j)
            for i in range(self.size)
            for j, far in self._reach(i, adjacent).items()
            if i < j and far <= most
        }
        return NeighborGraph(size=self.size, edges=pairs)

    def components(self) -> list[list[int]]:
        """Return the vertices, grouped by which can be reached from each other."""
        adjacent, seen, parts = self._adjacent(), set[int](), []
        for vertex in range(self.size):
            if vertex not in seen:
                part = sorted(self._reach(vertex, adjacent))
                seen.update(part)
                parts.append(part)
        return parts

    def _adjacent(self) -> list[list[int]]:
        lists: list[list[int]] = [[] for _ in range(self.size)]
        for i, j in self.ordered():
            lists[i].append(j)
        return lists

    @staticmethod
    def _reach(source: int, adjacent: list[list[int]]) -> dict[int, int]:
        """Return the distance of every vertex that can be reached, by breadth-first search."""
        far = {source: 0}
        frontier = [source]
        while frontier:
            ahead = []
            for i in frontier:
                for j in adjacent[i]:
                    if j not in far:
                        far[j] = far[i] + 1
                        ahead.append(j)
            frontier = ahead
        return far


def _edge(pair: tuple[int, int], size: int) -> tuple[int, int]:
    ends = listed(pair, name="ends of an edge")
    if len(ends) != 2:
        raise WrongKind("an edge does not have two ends; give each edge as a pair of vertices.")
    i, j = (whole(end, name="vertex", low=0, high=size - 1) for end in ends)
    if i == j:
        raise OutOfRange("an edge joins a vertex to itself; leave such edges out.")
    return (i, j) if i < j else (j, i)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """The largest distance between the answers on neighbors, in four norms.

    >>> count_sensitivity("replace", conditions=10).l1
    Fraction(2, 1)
    """

    l0: int
    l1: Fraction
    l2_squared: Fraction
    linf: Fraction


def count_sensitivity(
    relation: Relation | str, *, conditions: int = 1, overlap: int = 1, rows: int = 1
) -> Sensitivity:
    """Bound the sensitivity of ``conditions`` counts, where a row meets at most ``overlap``.

    ``rows`` is how many rows one unit may hold.  A histogram is the case of overlap 1.

    >>> count_sensitivity("add_remove", conditions=11).l1  # a histogram of 11 cells
    Fraction(1, 1)
    >>> count_sensitivity("add_remove", conditions=2, overlap=2).l1  # orange, and heavier than 4.5
    Fraction(2, 1)
    """
    kind = Relation.read(relation)
    cells = whole(conditions, name="conditions", low=1)
    held = whole(overlap, name="overlap", low=1, high=cells)
    most = whole(rows, name="rows", low=1)
    full = min(cells, kind.sides * held)  # cells that move by all c rows when the rows agree
    return Sensitivity(
        l0=min(cells, kind.sides * held * most),
        l1=Fraction(most * full),
        l2_squared=Fraction(most * most * full),
        linf=Fraction(most),
    )


def sum_sensitivity(
    relation: Relation | str, *, low: object, high: object, rows: int = 1
) -> Fraction:
    """Bound the sensitivity of the sum of values between two public bounds.

    >>> sum_sensitivity("add_remove", low=20_000, high=200_000)
    Fraction(200000, 1)
    >>> sum_sensitivity("replace", low=20_000, high=200_000)
    Fraction(180000, 1)
    """
    kind = Relation.read(relation)
    bottom, top = _bounds(low, high)
    most = whole(rows, name="rows", low=1)
    alone = most * max(abs(bottom), abs(top))
    swapped = max(top, most * top) - min(bottom, most * bottom)
    return max([alone] * kind.adds + [swapped] * kind.replaces)


def average_sensitivity(
    relation: Relation | str, *, low: object, high: object, size: int
) -> Fraction:
    """Return the sensitivity of the average of a public number of values between public bounds.

    >>> average_sensitivity("replace", low=20_000, high=200_000, size=90)
    Fraction(2000, 1)
    """
    kind = Relation.read(relation)
    count = whole(size, name="size", low=1)
    if not kind.size_is_public:
        raise OutOfRange(
            f"an average over a public number of rows is asked for under {kind.value}; release a "
            "sum and a count, and divide; or use the relation 'replace'."
        )
    return sum_sensitivity(kind, low=low, high=high) / count


def _bounds(low: object, high: object) -> tuple[Fraction, Fraction]:
    bottom, top = decimal(low, name="low"), decimal(high, name="high")
    if bottom > top:
        raise OutOfRange("low is above high; give low <= high.")
    return bottom, top
