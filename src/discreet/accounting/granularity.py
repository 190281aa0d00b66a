"""Granularities: who is whose neighbor, as the user says it, on tables or on records.

Trust: kernel.

Definition.  A mechanism is d-private if for all tables D, D' and sets S of answers
P[M(D) in S] <= e**d(D, D') P[M(D') in S].  Here d is any granularity: symmetric, 0 from each table
to itself, perhaps infinite.  Ordinary epsilon-privacy is epsilon times a number of steps.

A granularity is given in one of two ways.  A :class:`Metric` is a finite list of points, tables
mostly, with the distances between them; everything about it is exact, by enumeration.  A
:class:`RecordRule` says which record may be replaced by which, and at which distance; ``None``
stands for no record.  Tables that differ in one record are as far apart as those two.  The four
relations of rows are such rules (:meth:`RecordRule.of`).

Releases compose by key ``general-composition``: a release is free if f_i(D) = f_i(D'), and if f_i
separates neighbors, so that d_i is infinite, nothing is promised.  In this room:
``total = first.through(f_1, on=tables) + second.through(f_2, on=tables)``.

Theorem (key ``f-dependent``; Guerra-Balboa, Miranda-Pascual, Parra-Arnau and Strufe 2024).  If a
d-private release is a function of f(D), and coins, alone, then it is d^f-private with
d^f(D, D') = min { d(E, E') : f(E) = f(D), f(E') = f(D') } <= d(D, D').
    Proof.  For such E and E' the release has on D and D' the distributions that it has on E and E'.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

from discreet.errors import OutOfRange, TooLarge, WrongKind
from discreet.exact import ExactNumber, freeze, rational
from discreet.units import NeighborGraph, Relation, table_distance

Distance = Fraction | float
"""An exact number, or infinity."""

Record = Mapping[str, Hashable]

_MOST_POINTS: Final = 2000
_MOST_RECORDS: Final = 1000


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Metric:
    """Finitely many points, and how far apart each two of them are.

    >>> ages = Metric([20, 30, 50], lambda one, other: abs(one - other))
    >>> ages.distance(20, 50), (ages * "0.1").distance(20, 50)
    (Fraction(30, 1), Fraction(3, 1))
    >>> ages.through(lambda table: max(table), on=[(20,), (20, 30)]).distance((20,), (20, 30))
    Fraction(10, 1)
    """

    points: tuple[Any, ...]
    _table: tuple[tuple[Distance, ...], ...]

    def __init__(
        self, points: Iterable[Any], distance: Callable[[Any, Any], ExactNumber | float]
    ) -> None:
        """Take the points, and a function of two of them: an exact number from 0, or infinity."""
        listed = _points(points)
        table = tuple(tuple(_distance(distance(one, other)) for other in listed) for one in listed)
        for at, one in enumerate(listed):
            if table[at][at] != 0:
                raise OutOfRange(
                    f"the distance from {_shown(one)} to itself is {table[at][at]}, not 0; give a "
                    "distance that is 0 from each point to itself."
                )
        for (here, one), (there, other) in itertools.combinations(enumerate(listed), 2):
            if table[here][there] != table[there][here]:
                raise OutOfRange(
                    f"it is {table[here][there]} from {_shown(one)} to {_shown(other)}, and "
                    f"{table[there][here]} back; give a symmetric distance, say the larger of "
                    "both."
                )
        freeze(self, points=listed, _table=table)

    @classmethod
    def of_graph(cls, points: Iterable[Any], edges: Iterable[tuple[Any, Any]]) -> Metric:
        """Return the least numbers of steps between points, along edges that go both ways.

        >>> line = Metric.of_graph(range(4), [(0, 1), (1, 2)])
        >>> line.distance(0, 2), line.distance(0, 3)
        (Fraction(2, 1), inf)
        """
        listed = _points(points)
        ends = [(_place(listed, one), _place(listed, other)) for one, other in edges]
        steps = NeighborGraph(size=max(len(listed), 1), edges=ends).distances()
        every = range(len(listed))
        table = tuple(
            tuple(Fraction(far[at]) if at in far else math.inf for at in every)
            for far in steps[: len(listed)]
        )
        return cls._of(listed, table)

    @classmethod
    def of_tables(cls, tables: Iterable[Sequence[Any]], relation: Relation | str) -> Metric:
        """Return the canonical metric of a built-in relation, for tables as multisets of rows.

        >>> Metric.of_tables(["A", "AB", "BB"], "replace").distance("AB", "BB")
        Fraction(1, 1)
        """
        kind = Relation.read(relation)
        return cls(tables, lambda one, two: table_distance(tuple(one), tuple(two), relation=kind))

    @classmethod
    def _of(cls, points: tuple[Any, ...], table: tuple[tuple[Distance, ...], ...]) -> Metric:
        made = object.__new__(cls)
        freeze(made, points=points, _table=table)
        return made

    def __repr__(self) -> str:
        return f"<Metric on {len(self.points)} points>"

    def distance(self, one: object, other: object) -> Distance:
        """Return how far apart two points are."""
        return self._table[_place(self.points, one)][_place(self.points, other)]

    def pairs(self) -> Iterator[tuple[Any, Any, Distance]]:
        """Yield every two points, each once, and how far apart they are."""
        for (here, one), (there, other) in itertools.combinations(enumerate(self.points), 2):
            yield one, other, self._table[here][there]

    def neighbors(self) -> Iterator[tuple[Any, Any]]:
        """Yield the pairs of different points that are at most one step apart."""
        return ((one, other) for one, other, distance in self.pairs() if distance <= 1)

    def through(self, function: Callable[[Any], Any], *, on: Iterable[Any]) -> Metric:
        """Return how far apart tables are for a release that reads a function of them.

        The value of the function must be a point of this metric.
        """
        tables = _points(on)
        places = [_place(self.points, function(table)) for table in tables]
        return self._of(
            tables, tuple(tuple(self._table[here][there] for there in places) for here in places)
        )

    def __add__(self, other: Metric) -> Metric:
        """Compose: distances on the same points add up."""
        if not isinstance(other, Metric) or other.points != self.points:
            raise WrongKind(
                "two metrics on different points are added; bring both to the same tables: "
                "metric.through(function, on=tables)."
            )
        rows = zip(self._table, other._table, strict=True)
        return self._of(
            self.points,
            tuple(tuple(a + b for a, b in zip(one, two, strict=True)) for one, two in rows),
        )

    def __mul__(self, factor: ExactNumber | float) -> Metric:
        """Scale: epsilon times a metric is what an epsilon-private release loses."""
        times = rational(str(factor) if isinstance(factor, float) else factor, name="factor")
        if times < 0:
            raise OutOfRange("a metric is multiplied by a negative number; give a factor from 0.")
        scaled = tuple(
            tuple(math.inf if math.isinf(d) else times * Fraction(d) for d in row)
            for row in self._table
        )
        return self._of(self.points, scaled)

    __rmul__ = __mul__

    def largest(self, *, among: Metric) -> Distance:
        """Return the largest distance between neighbors of another metric: their epsilon.

        >>> tables = ["", "A", "B", "AB"]
        >>> rows = Metric.of_tables(tables, "add_remove")
        >>> (rows * 2).largest(among=rows)
        Fraction(2, 1)
        """
        found = (self.distance(one, other) for one, other in among.neighbors())
        return max(found, default=Fraction(0))


def f_dependent(metric: Metric, function: Callable[[Any], Hashable]) -> Metric:
    """Return d^f: how far apart tables are for a release that depends on f(D) alone.

    The release is certified for ``metric`` on whole tables (key ``f-dependent``).

    >>> tables = [(12, 40), (12, 60), (40, 60), (12, 12)]
    >>> replaced = Metric.of_tables(tables, "replace")
    >>> minors = f_dependent(replaced, lambda table: sum(age <= 18 for age in table))
    >>> replaced.distance((12, 40), (12, 60)), minors.distance((12, 40), (12, 60))
    (Fraction(1, 1), Fraction(0, 1))
    """
    seen = [function(point) for point in metric.points]
    nearest: dict[tuple[Hashable, Hashable], Distance] = {}
    for (here, one), (there, other) in itertools.product(enumerate(seen), repeat=2):
        distance = metric._table[here][there]  # noqa: SLF001  (of the same room)
        key = (one, other)
        nearest[key] = min(distance, nearest.get(key, math.inf))
    table = tuple(tuple(nearest[one, other] for other in seen) for one in seen)
    return metric._of(metric.points, table)  # noqa: SLF001  (of the same class)


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class RecordRule:
    """Which records may be replaced by which, and at which distance.

    >>> nearby = RecordRule(
    ...     {"age": range(18, 66), "ward": ["A", "B"]},
    ...     lambda old, new: abs(old["age"] - new["age"]) if old["ward"] == new["ward"] else "inf",
    ... )
    >>> nearby
    <RecordRule on 96 records of age, ward>
    """

    columns: tuple[str, ...]
    records: tuple[Record, ...]
    distance: Callable[[Any, Any], object]
    missing: bool
    radius: Fraction

    def __init__(
        self,
        domain: Mapping[str, Iterable[Hashable]],
        distance: Callable[[Any, Any], object],
        *,
        missing: bool = False,
    ) -> None:
        """Take the values of each column, and a rule about two different records.

        Args:
            domain: the values that a column can have, for all columns that the tree looks at.
            distance: how far apart two records are: a number, or infinity ("inf") if neither may
                take the other's place.
            missing: whether the rule is also about ``None``, which stands for no record; otherwise
                the number of records is public.
        """
        values = {column: tuple(values) for column, values in domain.items()}
        if math.prod(map(len, values.values())) > _MOST_RECORDS:
            raise TooLarge(
                f"a rule is about more than {_MOST_RECORDS} different records; give values by "
                "range: one for each that the tree, or the rule, distinguishes."
            )
        records = tuple(
            dict(zip(values, each, strict=True)) for each in itertools.product(*values.values())
        )
        freeze(self, columns=tuple(values), records=records, distance=distance)
        freeze(self, missing=missing, radius=Fraction(1))

    @classmethod
    def of(cls, relation: Relation | str, domain: Mapping[str, Iterable[Hashable]]) -> RecordRule:
        """Return a built-in relation as a rule: any record may come, go or be replaced.

        >>> RecordRule.of("replace", {"ward": ["A", "B"]}).missing
        False
        """
        kind = Relation.read(relation)
        replaced: object = 1 if kind.replaces else "inf"
        return cls(
            domain,
            lambda old, new: 1 if old is None or new is None else replaced,
            missing=kind.adds,
        )

    def within(self, radius: ExactNumber) -> RecordRule:
        """Return the rule whose neighbors are all records up to a distance."""
        made = object.__new__(RecordRule)
        kept = {name: getattr(self, name) for name in self.__slots__}
        freeze(made, **kept | {"radius": rational(radius, name="radius")})
        return made

    def __repr__(self) -> str:
        return f"<RecordRule on {len(self.records)} records of {', '.join(self.columns)}>"

    def neighbors(self) -> Iterator[tuple[Record | None, Record | None]]:
        """Yield the ordered pairs of records of which one may take the place of the other.

        A record may also be replaced by another one with the same values in these columns.
        """
        everyone: list[Record | None] = [*self.records, *([None] if self.missing else [])]
        for old, new in itertools.combinations(everyone, 2):
            there, back = (_distance(self.distance(*pair)) for pair in ((old, new), (new, old)))
            if there != back:
                raise OutOfRange(
                    f"it is {there} from {_shown(old)} to {_shown(new)}, and {back} back; give a "
                    "symmetric distance, say the larger of both."
                )
            if there <= self.radius:
                yield old, new
                yield new, old
        for record in self.records:
            if _distance(self.distance(record, record)) <= self.radius:
                yield record, record


def difference(left: Sequence[Record], right: Sequence[Record]) -> list[Record]:
    """Return the rows of one table that the other one lacks."""
    here, there = (Counter(map(_frozen, table)) for table in (left, right))
    return [dict(row) for row in (here - there).elements()]


def _frozen(row: Record) -> tuple[tuple[str, Hashable], ...]:
    if not isinstance(row, Mapping):
        raise WrongKind(
            f"a row of a table is a {type(row).__name__}, not a mapping; give tables as tuples of "
            "rows such as {'ward': 'A', 'age': 30}."
        )
    return tuple(sorted(row.items(), key=lambda item: item[0]))


def _points(points: Iterable[Any]) -> tuple[Any, ...]:
    listed = tuple(points)
    if len(listed) > _MOST_POINTS:
        raise TooLarge(
            f"a metric has more than {_MOST_POINTS} points; give fewer tables, or a rule on "
            "records."
        )
    return listed


def _place(points: Sequence[Any], point: object) -> int:
    try:
        return points.index(point)
    except ValueError:
        raise WrongKind(
            f"{_shown(point)} is not a point of the metric; list it among the points."
        ) from None


def _distance(value: object) -> Distance:
    if value == "inf" or (isinstance(value, float) and math.isinf(value) and value > 0):
        return math.inf
    number = rational(repr(value) if isinstance(value, float) else value, name="distance")
    if number < 0:
        raise OutOfRange("a distance is negative; give a number from 0.")
    return number


def _shown(point: object) -> str:
    text = repr(point)
    return text if len(text) <= 60 else f"{text[:57]}..."
