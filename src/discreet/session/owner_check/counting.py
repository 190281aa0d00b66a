"""Exact counts for the owner's check, computed by the engine that answers questions.

Trust: kernel.  The numbers have no noise.

Every count is a lowered question: rows one by one, or brought together by some columns.  So values
are read as they are for answers, on every engine.  Engines that divide tables among machines bring
the rows of a unit together; where a check compares the rows of something else, such as a key, they
are told that this is the unit (``by``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

from discreet.engines.engine import CellCounts, Engine
from discreet.engines.order import HashOrder
from discreet.plan.lowered import Key, Lowered, Total
from discreet.plan.raw import MOST, Raw
from discreet.plan.schema import Schema, TableFacts
from discreet.query.expressions import Call, Case, Column, Expression, Literal
from discreet.query.relations import Filter, Relation, Scan, folded
from discreet.query.types import Type
from discreet.session.owner_check.spread import Spread

__all__ = ["Counting", "all_there", "anything", "scan_of"]

_ORDER: Final = HashOrder(salt=0)  # which groups are kept makes no difference: all are
_AT_ONCE: Final = 16
"""So many columns are counted in one run; servers send few texts at a time."""


@final
@dataclass(frozen=True, slots=True)
class Counting:
    """Counts of tables that are open."""

    engine: Engine
    schema: Schema

    def rows(
        self, table: TableFacts, conditions: Mapping[str, Sequence[Expression]]
    ) -> tuple[int, dict[str, list[int]]]:
        """Count all rows of a table, and those for which conditions on its columns are true."""
        self.engine.owned(self.schema)
        names = list(conditions)
        found: dict[str, list[int]] = {}
        rows = 0
        for some in _chunks(names):
            flat = [each for name in some for each in conditions[name]]
            raw = self._run(
                Lowered(
                    relation=scan_of(table, some),
                    unit=(),
                    keys=(),
                    groups=None,
                    measures=_flags(flat),
                )
            )
            rows, counts = int(raw.units[0]), iter(_totals(raw, len(flat)))
            for name in some:
                found[name] = [next(counts) for _ in conditions[name]]
        return rows, found

    def units(
        self,
        relation: Relation,
        unit: Sequence[str],
        conditions: Sequence[Expression],
        by: Mapping[str, Sequence[str]] | None = None,
    ) -> tuple[int, list[int]]:
        """Count the units of a relation with one row each, and those that conditions hold of.

        Args:
            relation: a bound relation.
            unit: the columns that tell units apart.
            conditions: conditions on its rows.
            by: for each table that is read, the columns by which its rows are brought together,
                where these are not those of the unit.
        """
        raw = self._run(
            Lowered(
                relation=relation,
                unit=tuple(map(Column, unit)),
                keys=(),
                groups=1,
                measures=_flags(conditions),
            ),
            by,
        )
        return int(raw.units[0]), _totals(raw, len(conditions))

    def number(
        self, relation: Relation, unit: Sequence[str], by: Mapping[str, Sequence[str]]
    ) -> int:
        """Count the rows of a relation whose unit is there."""
        rows = Total(name="rows", row=Literal(1), low=0, high=MOST)
        raw = self._run(
            Lowered(
                relation=relation,
                unit=tuple(map(Column, unit)),
                keys=(),
                groups=1,
                measures=(rows,),
            ),
            by,
        )
        return int(raw.totals["rows"][0])

    def spread(self, relation: Relation, unit: Sequence[str], value: str) -> Spread:
        """Count how often each whole number occurs in a column."""
        rows = Total(name="rows", row=Literal(1), low=0, high=MOST)
        raw = self._run(
            Lowered(
                relation=relation,
                unit=tuple(map(Column, unit)),
                keys=(Key("value", Column(value), Type.INTEGER),),
                groups=MOST,
                measures=(rows,),
            )
        )
        return Spread(zip(raw.keys[0].to_pylist(), map(int, raw.totals["rows"]), strict=True))

    def cells(self, table: TableFacts) -> Mapping[str, int]:
        """Count the cells of each column that the source holds, however they are read."""
        if not isinstance(self.engine, CellCounts):
            return {}
        return {folded(name): count for name, count in self.engine.cell_counts(table.name).items()}

    def _run(self, lowered: Lowered, by: Mapping[str, Sequence[str]] | None = None) -> Raw:
        self.engine.owned(self.schema if by is None else _brought_together(self.schema, by))
        return self.engine.run(lowered, order=_ORDER)


def scan_of(table: TableFacts, names: Sequence[str]) -> Scan:
    """Read some columns of a table as they are declared."""
    wanted = {folded(name) for name in names}
    columns = ((each.name, each.type) for each in table.columns if folded(each.name) in wanted)
    return Scan(table.name, tuple(columns))


def anything(conditions: Sequence[Expression]) -> Expression:
    """Return that at least one condition is true.

    >>> anything([Column("a"), Column("b")]).function
    'OR'
    """
    return conditions[0] if len(conditions) == 1 else Call("OR", tuple(conditions))


def all_there(relation: Relation, columns: Sequence[str]) -> Relation:
    """Leave out rows in which one of some columns is NULL."""
    for name in columns:
        relation = Filter(relation, Call("NOT", (Call("IS NULL", (Column(name),)),)))
    return relation


def _brought_together(schema: Schema, by: Mapping[str, Sequence[str]]) -> Schema:
    """Return a schema in which tables name other units, for a check that compares these."""
    columns = {folded(table): tuple(names) for table, names in by.items()}
    return Schema(
        replace(table, unit=columns[folded(table.name)], link=None)
        if folded(table.name) in columns
        else table
        for table in schema.tables
    )


def _flags(conditions: Sequence[Expression]) -> tuple[Total, ...]:
    return tuple(
        Total(name=f"c{at}", row=Case(((condition, Literal(1)),)), low=0, high=1)
        for at, condition in enumerate(conditions)
    )


def _totals(raw: Raw, number: int) -> list[int]:
    return [int(raw.totals[f"c{at}"][0]) for at in range(number)]


def _chunks(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, max(len(names), 1), _AT_ONCE):
        yield names[start : start + _AT_ONCE]
