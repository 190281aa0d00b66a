"""Who is protected: neighbor relations, finite graphs of neighbors, and privacy units.

Trust: kernel.

Definition.  Tables are multisets of rows.  Two different tables are neighbors

``add_remove``
    if one arises from the other by adding one row (also called unbounded);
``replace``
    if one arises from the other by changing one row (bounded; the number of rows is public);
``either``
    if one of the two above holds;
``local``
    if each table is a single row, whatever the two rows are: the local model is the same
    definition of privacy, for tables of one person.

For units larger than a row, read "everything of one unit" in place of "row".

Definition.  The canonical metric of a relation is the length of the shortest path of neighbors
from one table to another, and infinity if there is no path.
Theorem (key ``canonical-metric``; Guerra-Balboa, Miranda-Pascual, Parra-Arnau and Strufe 2024).
With multiset differences L = D - D' and R = D' - D, the canonical metric is

    add_remove      |L| + |R|
    replace         |L|  if |D| = |D'|, else infinity
    either          max(|L|, |R|)
    local           1 if D and D' are different single rows; infinity if they are other tables

A mechanism is epsilon-DP for the relation if and only if it is (epsilon d)-private for its metric
d (key ``group-distance``).

Theorem (key ``group-distance``; Guerra-Balboa, Miranda-Pascual, Parra-Arnau and Strufe 2024, CSF).
A mechanism is epsilon-DP for a relation if and only if it is (epsilon d)-private for the
relation's canonical metric d; so k units are protected at distance k, and neighbors of another
relation at the largest distance between them.

Definition.  A neighbor graph represents any granularity on a short list of tables: vertices
0, 1, ..., size - 1 are tables, edges pairs of neighbors.  The canonical metric is the length of the
shortest path, infinity between components.

Definition.  A privacy unit is named by columns: all rows that agree on them belong to one unit.  A
person is named by one column, a person's day by two, and with no columns each row is a unit of its
own.  Two tables are as far apart as the canonical metric says when everything that belongs to one
unit is taken as one row.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, assert_never, final

from discreet.arrays import listed
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import freeze, whole
from discreet.notebook import Shown

__all__ = [
    "NeighborGraph",
    "PrivacyUnit",
    "Relation",
    "custom",
    "describe_unit",
    "person",
    "row",
    "same_unit",
    "table_distance",
]

_MOST_VERTICES: Final = 1 << 12  # paths are found by breadth-first search from each


@final
class Relation(Enum):
    """A neighbor relation between tables.

    Definition.  Each step from a table to a neighbor adds or removes one row, or replaces one.  A
    relation *adds* if some neighbors differ by a row that only one of them has, and *replaces* if
    in some neighbors two different rows stand for each other.  Every relation does one or both::

                        adds    replaces    sides   size is public
        add_remove      yes     no          1       no
        replace         no      yes         2       yes
        either          yes     yes         2       no
        local           no      yes         2       yes

    ``sides`` is the largest number of rows that one step touches: the one that leaves, and the one
    that comes.  The number of rows is public if no step changes it: if nothing is added.

    >>> Relation.read("replace")
    <Relation.REPLACE: 'replace'>
    >>> Relation.EITHER.adds, Relation.EITHER.replaces, Relation.EITHER.sides
    (True, True, 2)
    >>> Relation.REPLACE.size_is_public, Relation.ADD_REMOVE.size_is_public
    (True, False)
    """

    ADD_REMOVE = "add_remove"
    REPLACE = "replace"
    EITHER = "either"
    LOCAL = "local"

    __hash__ = object.__hash__  # each is one object, and leaves are looked up by the thousand

    @classmethod
    def read(cls, value: object) -> Relation:
        """Read a relation, or the name of one."""
        if isinstance(value, cls):
            return value
        for relation in cls:
            if isinstance(value, str) and value == relation.value:
                return relation
        given = f"{value[:40]!r}" if isinstance(value, str) else f"a {type(value).__name__}"
        names = ", ".join(repr(relation.value) for relation in cls)
        raise WrongKind(f"the relation is {given}, which is unknown; give one of {names}.")

    @property
    def size_is_public(self) -> bool:
        """Whether all neighbors have the same number of rows."""
        return not self.adds

    @property
    def adds(self) -> bool:
        """Whether some neighbors differ by a row that only one of them has."""
        return self not in {Relation.REPLACE, Relation.LOCAL}

    @property
    def replaces(self) -> bool:
        """Whether some neighbors differ by two rows that stand for each other."""
        return self in {Relation.REPLACE, Relation.LOCAL, Relation.EITHER}

    @property
    def sides(self) -> int:
        """How many rows one step touches at most: 1, or 2 if one row replaces another."""
        return 2 if self.replaces else 1


def table_distance(
    left: Sequence[Hashable], right: Sequence[Hashable], *, relation: Relation | str
) -> int | float:
    """Return the canonical distance of two tables: an integer, or infinity.

    Rows can be any hashable values; ``None`` is no row.

    >>> table_distance(["a", "b"], ["b", "c"], relation="add_remove")
    2
    >>> table_distance(["a", "b"], ["b", "c"], relation="replace")
    1
    >>> table_distance(["a"], ["a", "b"], relation="replace")
    inf
    """
    kind = Relation.read(relation)
    first, second = _rows(left), _rows(right)
    here, there = (Counter(row for row in rows if row is not None) for rows in (first, second))
    gone, come = (here - there).total(), (there - here).total()
    match kind:
        case Relation.ADD_REMOVE:
            return gone + come
        case Relation.REPLACE:
            return gone if gone == come else math.inf
        case Relation.EITHER:
            return max(gone, come)
        case Relation.LOCAL:
            if gone == come == 0:
                return 0
            return 1 if here.total() == there.total() == 1 else math.inf
        case _:  # pragma: no cover
            assert_never(kind)


def _rows(table: Sequence[Hashable]) -> list[Hashable]:
    rows = listed(table, name="rows")
    for row in rows:
        try:
            hash(row)
        except TypeError:
            raise WrongKind(
                f"a row is a {type(row).__name__}, which cannot be compared as a whole; give rows "
                "as tuples, text or numbers."
            ) from None
        if _has_nan(row):
            raise OutOfRange("a row holds a NaN; write missing values as None.")
    return rows


def _has_nan(row: object) -> bool:
    if isinstance(row, tuple | frozenset):
        return any(_has_nan(entry) for entry in row)
    return isinstance(row, float) and math.isnan(row)


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
        count = whole(size, name="size", low=1, high=_MOST_VERTICES)
        if not isinstance(edges, Iterable):
            raise WrongKind(
                f"the edges are a {type(edges).__name__}, not a collection; give a list of pairs "
                "of vertices."
            )
        pairs = {_edge(pair, count) for pair in edges}
        freeze(self, size=count, edges=frozenset(pairs))

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
        kind, chosen = Relation.read(relation), listed(tables, name="tables")
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

    def distances(self) -> list[dict[int, int]]:
        """Return for each vertex the length of the shortest path to each that can be reached."""
        adjacent = self._adjacent()
        return [self._reach(vertex, adjacent) for vertex in range(self.size)]

    def distance(self, source: int, target: int) -> int | float:
        """Return the length of the shortest path, or infinity."""
        first = whole(source, name="source", low=0, high=self.size - 1)
        last = whole(target, name="target", low=0, high=self.size - 1)
        return self._reach(first, self._adjacent()).get(last, math.inf)

    def group(self, size: int) -> NeighborGraph:
        """Return the graph that joins vertices at distance at most ``size``: group privacy."""
        most = whole(size, name="size", low=0)
        pairs = {
            (i, j)
            for i, reached in enumerate(self.distances())
            for j, far in reached.items()
            if i < j and far <= most
        }
        return NeighborGraph(size=self.size, edges=pairs)

    def components(self) -> list[list[int]]:
        """Return the vertices, grouped by which can be reached from each other."""
        return [list(part) for part in sorted({tuple(sorted(each)) for each in self.distances()})]

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
@dataclass(frozen=True, slots=True, init=False)
class PrivacyUnit(Shown):
    """Who is protected.

    >>> unit = person("patient")
    >>> unit.columns, unit.relation
    (('patient',), <Relation.ADD_REMOVE: 'add_remove'>)
    """

    name: str
    columns: tuple[str, ...]
    relation: Relation

    def __init__(
        self,
        *,
        name: str,
        columns: Iterable[str] = (),
        relation: Relation | str = Relation.ADD_REMOVE,
    ) -> None:
        chosen = tuple(_text(column, "column") for column in listed(columns, name="columns"))
        if len(set(chosen)) != len(chosen):
            raise OutOfRange("a column is named twice; name each column once.")
        freeze(self, name=_text(name, "name"), columns=chosen, relation=Relation.read(relation))


def person(column: str, *, relation: Relation | str = Relation.ADD_REMOVE) -> PrivacyUnit:
    """Protect each person, with all rows that carry their value in a column.

    >>> person("patient", relation="replace").relation
    <Relation.REPLACE: 'replace'>
    """
    return PrivacyUnit(name="person", columns=(column,), relation=relation)


def row(*, relation: Relation | str = Relation.ADD_REMOVE) -> PrivacyUnit:
    """Protect each row by itself.

    >>> row().columns
    ()
    """
    return PrivacyUnit(name="row", relation=relation)


def custom(
    name: str, *, columns: Iterable[str], relation: Relation | str = Relation.ADD_REMOVE
) -> PrivacyUnit:
    """Protect what several columns name together, such as one day of one person.

    >>> custom("person-day", columns=["person", "day"]).columns
    ('person', 'day')
    """
    unit = PrivacyUnit(name=name, columns=columns, relation=relation)
    if not unit.columns:
        raise OutOfRange("no columns are named; name the columns, or use row().")
    return unit


def same_unit(first: PrivacyUnit, *others: PrivacyUnit) -> PrivacyUnit:
    """Return the unit that all share; losses for different units do not add up.

    >>> same_unit(row(), row()) == row()
    True
    """
    for unit in (first, *others):
        if not isinstance(unit, PrivacyUnit):
            raise WrongKind(
                f"the unit is a {type(unit).__name__}, not a PrivacyUnit; give person(...), row() "
                "or custom(...)."
            )
        if ({*unit.columns}, unit.relation) != ({*first.columns}, first.relation):
            raise WrongKind(
                f"the units differ: {describe_unit(first)}, and {describe_unit(unit)}; use one "
                "unit, or convert the losses by their distance first."
            )
    return first


def describe_unit(unit: PrivacyUnit) -> str:
    """Say who is protected.

    >>> describe_unit(person("patient"))
    'one person (patient) under add_remove'
    """
    columns = f" ({', '.join(unit.columns)})" if unit.columns else ""
    return f"one {unit.name}{columns} under {unit.relation.value}"


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise WrongKind(f"the {name} is empty or not text; give the {name} as text.")
    return value
