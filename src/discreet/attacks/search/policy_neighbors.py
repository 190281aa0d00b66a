"""Neighbors from a policy: a visitor who goes beyond every limit that it sets.

Trust: public.

Tables of ordinary people are made up from what the policy says about columns.  A *visitor* comes,
or does not come, and goes beyond one thing at a time: bounds on both sides, rows, groups, listed
categories, values that are missing or no numbers, and rows of linked tables; by one, and by many.
The owner's promises hold in these tables, too: keys are unique, columns that are constant
for a unit are, and each key that a link leads to belongs to one unit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import pyarrow as pa

from discreet.attacks.neighbors import Pair
from discreet.attacks.search.generators import Generator
from discreet.attacks.search.visitor_values import (
    ARROW,
    at_bounds,
    beyond_bounds,
    fresh,
    odd_values,
    ordinary,
    typed,
)
from discreet.errors import WrongKind
from discreet.exact import whole
from discreet.plan.policy.policy import Policy
from discreet.query.relations import folded
from discreet.query.types import Type
from discreet.requests.table_schema import ColumnFacts, TableFacts
from discreet.session.opening_arguments import policy_of, unit_of
from discreet.units import PrivacyUnit, Relation

__all__ = ["neighbors_for"]

Rows = Mapping[str, Sequence[Mapping[str, Any]]]
"""The rows of tables, by their names."""

_TIMES: Final = (8, 64)
_EACH: Final = 2
_MOST_PEOPLE: Final = 10**5
_TYPES: Final = (
    (pa.types.is_boolean, Type.BOOLEAN),
    (pa.types.is_integer, Type.INTEGER),
    (pa.types.is_floating, Type.FLOAT),
    (pa.types.is_decimal, Type.FLOAT),
    (pa.types.is_date, Type.DATE),
    (pa.types.is_timestamp, Type.TIMESTAMP),
)


def neighbors_for(
    policy: object, *, unit: PrivacyUnit | None = None, people: int = 30
) -> tuple[Generator, ...]:
    """Make pairs of tables that differ in one unit, beyond every limit of a policy.

    Args:
        policy: a policy, its text or its path; or the schema of an Arrow table, called ``data``.
        unit: who is protected, if the policy does not say so.
        people: how many ordinary people there are.

    A data set is a mapping from names of tables to Arrow tables, which ``dp.open`` opens.

    >>> from discreet.units import person
    >>> visits = pa.schema({"patient": pa.int64(), "cost": pa.float64()})
    >>> for generator in neighbors_for(visits, unit=person("patient"))[:3]:
    ...     print(generator)
    somebody like all others (1 pair)
    more rows than others (3 pairs)
    cost at its bounds (2 pairs)
    """
    rules = _of_schema(policy) if isinstance(policy, pa.Schema) else policy_of(policy)
    house = _House(
        rules, unit_of(unit, rules), whole(people, name="people", low=1, high=_MOST_PEOPLE)
    )
    return tuple(house.generators())


def _of_schema(schema: pa.Schema) -> Policy:
    columns = tuple(
        ColumnFacts(
            name=field.name,
            type=next((kind for fits, kind in _TYPES if fits(field.type)), Type.TEXT),
            nullable=field.nullable,
        )
        for field in schema
    )
    return Policy(tables=(TableFacts(name="data", columns=columns),))


@final
@dataclass(frozen=True, slots=True)
class _House:
    """The tables of a policy, with ordinary people in them, and one person who is added or not."""

    policy: Policy
    unit: PrivacyUnit
    people: int

    def generators(self) -> Iterator[Generator]:
        """Yield all ways to go beyond a limit."""
        private = [table for table in self.policy.tables if not table.public]
        if not any(table.columns for table in private):
            raise WrongKind(
                what="the policy says nothing about the columns of a private table.",
                why="neighbors are made up from the types, bounds and categories of columns.",
                do="list the columns under [tables.NAME.columns], or give an Arrow schema.",
            )
        for table in private:
            if not table.columns:
                continue
            place = f"{table.name}: " * (len(private) > 1)
            for name, visitors in self._visitors(table):
                pairs = tuple(self._pair(table, rows) for rows in visitors if rows)
                if pairs:
                    yield Generator(f"{place}{name}", pairs)
            alone = self._pair(table, [{}], others=0)
            yield Generator(f"{place}nobody else is there", (alone,))

    def _visitors(self, table: TableFacts) -> Iterator[tuple[str, list[list[dict[str, Any]]]]]:
        """Yield what a visitor does to one table: rows, as what differs from ordinary ones."""
        by_row = not self.unit.columns
        most = 1 if by_row else self._limit(table, "max_rows") or 1
        groups = 1 if by_row else self._limit(table, "max_groups") or 1
        free = [column for column in table.columns if self._free(table, column)]
        largest = {c.name: at_bounds(c)[0] for c in free if c.type.is_number and not c.categories}
        yield "somebody like all others", [[{}]]
        if not by_row:
            sizes = (most + 1, *(most * times for times in _TIMES))
            name = (
                "more rows than max_rows"
                if self._limit(table, "max_rows")
                else ("more rows than others")
            )
            yield name, [[largest] * size for size in sizes]
        for column in free:
            values = [] if column.categories else self._numbers(column)
            for name, wild in values:
                yield f"{column.name} {name}", [[{column.name: value}] * most for value in wild]
            if not by_row:
                told = (
                    "more groups than max_groups"
                    if self._limit(table, "max_groups")
                    else ("more groups than others")
                )
                yield (
                    f"{told}, by {column.name}",
                    [
                        [{**largest, column.name: value} for value in _spread(column, count)] * most
                        for count in (groups + 1, groups * _TIMES[0])
                    ],
                )
            odd = [[{column.name: value}] * most for value in odd_values(column)]
            yield f"odd values of {column.name}", odd

    @staticmethod
    def _numbers(column: ColumnFacts) -> list[tuple[str, list[Any]]]:
        if not column.type.is_number:
            return []
        return [("at its bounds", at_bounds(column)), ("beyond its bounds", beyond_bounds(column))]

    def _limit(self, table: TableFacts, name: str) -> int | None:
        own: int | None = getattr(table, name)
        ruled: int | None = getattr(self.policy.limits, name)
        return ruled if own is None else own

    def _free(self, table: TableFacts, column: ColumnFacts) -> bool:
        """Whether rows of one unit may differ in a column without breaking a promise."""
        return not column.constant and folded(column.name) not in self.bound(table)

    def bound(self, table: TableFacts) -> set[str]:
        """Return the columns that say which row it is, or whose."""
        links = {
            folded(other.link.key)
            for other in self.policy.tables
            if other.link is not None and folded(other.link.parent) == folded(table.name)
        }
        own = {folded(table.link.column)} if table.link is not None else set()
        return links | own | {folded(name) for name in (*self.unit_columns(table), *table.key)}

    def single(self, table: TableFacts) -> bool:
        """Whether a unit has one row at most, by the promise of a key."""
        own = {folded(name) for name in self.unit_columns(table)}
        if table.link is not None:
            own.add(folded(table.link.column))
        return bool(table.key) and {folded(name) for name in table.key} <= own

    def unit_columns(self, table: TableFacts) -> tuple[str, ...]:
        """Return the columns of a table that name the unit."""
        if table.link is not None or table.public:
            return ()
        return table.unit or self.unit.columns

    def _pair(
        self, table: TableFacts, visitor: Sequence[Mapping[str, Any]], *, others: int | None = None
    ) -> Pair:
        """Return the tables with a visitor, and without, or with an ordinary one in their place."""
        relation = self.unit.relation
        count = 0 if relation is Relation.LOCAL else self.people if others is None else others
        adds = relation not in (Relation.REPLACE, Relation.LOCAL)
        return self._tables(count, table, visitor), self._tables(count, table, () if adds else [{}])

    def _tables(
        self, count: int, chosen: TableFacts, visitor: Sequence[Mapping[str, Any]]
    ) -> dict[str, pa.Table]:
        """Return all tables; the visitor has these rows in one, and one in those above it."""
        rows = _Rows(self)
        for person in range(count):
            for table in self._order():
                rows.add(table, person, [{}] * (_EACH if self.unit.columns else 1))
        if visitor:
            path = {folded(table.name) for table in self._above(chosen)}
            for table in self._order():
                if table is chosen:
                    rows.add(table, count, visitor)
                elif folded(table.name) in path:
                    rows.add(table, count, [{}])
        return {table.name: rows.table(table) for table in self.policy.tables if table.columns}

    def _order(self) -> list[TableFacts]:
        """Return private tables, those that others are linked to first."""
        private = [table for table in self.policy.tables if not table.public and table.columns]
        return sorted(private, key=lambda table: len(self._above(table)))

    def _above(self, table: TableFacts) -> list[TableFacts]:
        above: list[TableFacts] = []
        while table.link is not None:
            parent = folded(table.link.parent)
            table = next(each for each in self.policy.tables if folded(each.name) == parent)
            above.append(table)
        return above


def _spread(column: ColumnFacts, count: int) -> list[Any]:
    """Return different values of a column; its declared categories, if any."""
    if column.categories:
        return [typed(column, value) for value in column.categories[:count]]
    return list(dict.fromkeys(fresh(column, number) for number in range(count)))


class _Rows:
    """Rows that are added to tables one by one."""

    def __init__(self, house: _House) -> None:
        self._house = house
        self._rows: dict[str, list[dict[str, Any]]] = {t.name: [] for t in house.policy.tables}
        self._owned: dict[tuple[str, int], list[dict[str, Any]]] = {}

    def add(self, table: TableFacts, person: int, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add rows of a person, with ordinary values except for the given ones."""
        house, listed = self._house, self._rows[table.name]
        bound = house.bound(table)
        for changes in list(rows)[: 1 if house.single(table) else None]:
            number = len(listed)
            made = {
                column.name: fresh(column, number)
                if folded(column.name) in bound
                else ordinary(column, person if column.constant else number)
                for column in table.columns
            }
            for name in house.unit_columns(table):
                made[name] = self._named(table, name, person)
            if table.link is not None:
                made[table.link.column] = self._parent(table, person)
            made.update(changes)
            listed.append(made)
            self._owned.setdefault((folded(table.name), person), []).append(made)

    def _named(self, table: TableFacts, name: str, person: int) -> Any:
        if "uuid" in (self._house.policy.unit_forms or ()):
            return f"00000000-0000-4000-8000-{person:012x}"
        return fresh(table.column(name) or ColumnFacts(name=name, type=Type.INTEGER), person)

    def _parent(self, table: TableFacts, person: int) -> Any:
        """Return the key of the row above that belongs to the same person."""
        if table.link is None:
            raise AssertionError
        owned = self._owned[folded(table.link.parent), person]
        return owned[-1][table.link.key]

    def table(self, table: TableFacts) -> pa.Table:
        """Return one table; a public one has a row for each value of its key, or some rows."""
        if table.public:
            self._fill(table)
        names = dict.fromkeys((*(c.name for c in table.columns), *self._house.unit_columns(table)))
        columns = {name: table.column(name) for name in names}
        return pa.table(
            {
                name: pa.array(
                    [row[name] for row in self._rows[table.name]],
                    ARROW[Type.INTEGER if column is None else column.type],
                )
                for name, column in columns.items()
            }
        )

    def _fill(self, table: TableFacts) -> None:
        sizes = [len(c.categories or ()) for c in table.columns if c.name in table.key]
        for number in range(max([*sizes, 3 * _EACH])):
            made = {column.name: ordinary(column, number) for column in table.columns}
            agrees = any(
                all(row[name] == made[name] for name in table.key) for row in self._rows[table.name]
            )
            if not (table.key and agrees):
                self._rows[table.name].append(made)
