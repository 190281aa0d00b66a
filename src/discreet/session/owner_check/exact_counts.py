"""Exact counts for the owner: units and rows, and the cells of each column that break a fact.

Trust: kernel.  The numbers have no noise.

Every count is a request to the engine that answers questions: rows one by one, or grouped by some
columns.  So values are read as they are for answers, on every engine.  Engines that divide tables
among machines bring the rows of a unit together; where a check compares the rows of something else,
such as a key, they are told that this is the unit (``by``).

No fact about a column is trusted: values are clamped, rows of other categories are left out, and an
unreadable cell is NULL.  So a fact that does not hold costs accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, final

from discreet.engines.engine import CellCounts, Engine
from discreet.engines.hash_order import HashOrder
from discreet.query.expressions import Call, Case, Cast, Column, Expression, Literal
from discreet.query.relations import Filter, Relation, Scan, folded
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest, KeyColumn, Total
from discreet.requests.raw_totals import LARGEST_TOTAL, RawTotals
from discreet.requests.table_schema import ColumnFacts, Schema, TableFacts
from discreet.session.owner_check.check_report import Finding, Spread

_ORDER: Final = HashOrder(salt=0)  # which groups are kept makes no difference: all are
_ROWS: Final = Total(name="rows", row=Literal(1), low=0, high=LARGEST_TOTAL)
_AT_ONCE: Final = 16
"""So many columns are counted in one run; servers send few texts at a time."""


@final
@dataclass(frozen=True, slots=True)
class ExactCounter:
    """Exact counts of open tables."""

    engine: Engine
    schema: Schema

    def rows(
        self, table: TableFacts, conditions: Mapping[str, Sequence[Expression]]
    ) -> tuple[int, dict[str, list[int]]]:
        """Count all rows of a table, and those that meet conditions on its columns."""
        self.engine.learn_schema(self.schema)
        names = list(conditions)
        counted: dict[str, list[int]] = {}
        rows = 0
        for some in _chunks(names):
            flat = [condition for name in some for condition in conditions[name]]
            raw = self._run(
                EngineRequest(
                    relation=scan_of(table, some),
                    unit=(),
                    keys=(),
                    groups=None,
                    measures=_flags(flat),
                )
            )
            rows, counts = int(raw.units[0]), iter(_totals(raw, len(flat)))
            for name in some:
                counted[name] = [next(counts) for _ in conditions[name]]
        return rows, counted

    def units(
        self,
        relation: Relation,
        unit: Sequence[str],
        conditions: Sequence[Expression],
        by: Mapping[str, Sequence[str]] | None = None,
    ) -> tuple[int, list[int]]:
        """Count the units of a relation with one row each, and those that meet conditions.

        Args:
            relation: a bound relation.
            unit: the columns that tell units apart.
            conditions: conditions on its rows.
            by: for each table that is read, the columns by which its rows are brought together,
                if these are not those of the unit.
        """
        raw = self._run(_request(relation, unit, _flags(conditions)), by)
        return int(raw.units[0]), _totals(raw, len(conditions))

    def number(
        self, relation: Relation, unit: Sequence[str], by: Mapping[str, Sequence[str]]
    ) -> int:
        """Count the rows of a relation whose unit is not NULL."""
        raw = self._run(_request(relation, unit, (_ROWS,)), by)
        return int(raw.totals["rows"][0])

    def spread(self, relation: Relation, unit: Sequence[str], value: str) -> Spread:
        """Count how often each whole number occurs in a column."""
        keys = (KeyColumn("value", Column(value), Type.INTEGER),)
        request = _request(relation, unit, (_ROWS,))
        raw = self._run(replace(request, keys=keys, groups=LARGEST_TOTAL))
        return Spread(zip(raw.keys[0].to_pylist(), map(int, raw.totals["rows"]), strict=True))

    def cells(self, table: TableFacts) -> Mapping[str, int]:
        """Count the cells of each column that the source holds, however they are read."""
        if not isinstance(self.engine, CellCounts):
            return {}
        return {folded(name): count for name, count in self.engine.cell_counts(table.name).items()}

    def _run(
        self, lowered: EngineRequest, by: Mapping[str, Sequence[str]] | None = None
    ) -> RawTotals:
        self.engine.learn_schema(self.schema if by is None else _brought_together(self.schema, by))
        return self.engine.run(lowered, order=_ORDER)


def _request(relation: Relation, unit: Sequence[str], measures: tuple[Total, ...]) -> EngineRequest:
    columns = tuple(map(Column, unit))
    return EngineRequest(relation=relation, unit=columns, keys=(), groups=1, measures=measures)


def scan_of(table: TableFacts, names: Sequence[str]) -> Scan:
    """Read some columns of a table as they are declared."""
    wanted = {folded(name) for name in names}
    columns = ((facts.name, facts.type) for facts in table.columns if folded(facts.name) in wanted)
    return Scan(table.name, tuple(columns))


def any_of(conditions: Sequence[Expression]) -> Expression:
    """Return the condition that at least one of some conditions is true.

    >>> any_of([Column("a"), Column("b")]).function
    'OR'
    """
    return conditions[0] if len(conditions) == 1 else Call("OR", tuple(conditions))


def where_not_null(relation: Relation, columns: Sequence[str]) -> Relation:
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
        Total(name=f"c{number}", row=Case(((condition, Literal(1)),)), low=0, high=1)
        for number, condition in enumerate(conditions)
    )


def _totals(raw: RawTotals, number: int) -> list[int]:
    return [int(raw.totals[f"c{place}"][0]) for place in range(number)]


def _chunks(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, max(len(names), 1), _AT_ONCE):
        yield names[start : start + _AT_ONCE]


@final
@dataclass(frozen=True, slots=True)
class _Cells:
    """The counts of one column."""

    rows: int
    null: int
    outside: int
    stored: int | None

    @property
    def there(self) -> int:
        """The cells that were read."""
        return self.rows - self.null


def cell_findings(
    counting: ExactCounter, table: TableFacts, declared: frozenset[str]
) -> Iterator[Finding]:
    """Check the cells of a table; ``declared`` are the columns that the policy describes."""
    rows, counts = counting.rows(table, {facts.name: _conditions(facts) for facts in table.columns})
    stored = counting.cells(table)
    for column in table.columns:
        null, *outside = counts[column.name]
        cells = _Cells(
            rows=rows,
            null=null,
            outside=sum(outside),
            stored=stored.get(folded(column.name)),
        )
        yield from _of_column(table, column, cells, said=folded(column.name) in declared)


def _conditions(column: ColumnFacts) -> list[Expression]:
    """Return the conditions to count: NULL, and values that differ from their declaration."""
    value = Column(column.name)
    conditions: list[Expression] = [Call("IS NULL", (value,))]
    if column.low is not None and column.high is not None:
        low, high = _ends(column.low, column.high, column.type)
        conditions.append(any_of([Call("<", (value, low)), Call(">", (value, high))]))
    if column.days is not None:
        day = value if column.type is Type.DATE else Cast(value, Type.DATE)
        first, last = map(Literal, column.days)
        conditions.append(any_of([Call("<", (day, first)), Call(">", (day, last))]))
    if column.categories is not None:
        listed = tuple(Literal(category) for category in column.categories)
        conditions.append(Call("NOT", (Call("IN", (value, *listed)),)))
    return conditions


def _ends(low: Fraction, high: Fraction, kind: Type) -> tuple[Literal, Literal]:
    """Return bounds as numbers of the column's type."""
    if kind is Type.INTEGER:
        return Literal(math.ceil(low)), Literal(math.floor(high))
    return Literal(low), Literal(high)


def _of_column(
    table: TableFacts, column: ColumnFacts, cells: _Cells, *, said: bool
) -> Iterator[Finding]:
    def finding(promise: str, broken: int, of: int, detail: str) -> Finding:
        return Finding.counted(
            table.name, column.name, promise, broken=broken, of=of, detail=detail
        )

    lost = None if cells.stored is None else max(cells.stored - cells.there, 0)
    if lost is not None and (said or lost):
        kind = column.type.value.lower()
        effect = "{} of cells are something else, and read as NULL"
        yield finding(f"can be read as {kind}", lost, cells.stored or 0, effect)
    if not table.public and folded(column.name) in map(folded, table.unit):
        effect = "{} of rows name nobody, and are left out"
        yield finding("names the unit of every row", cells.null, cells.rows, effect)
    elif not column.nullable:
        yield finding("is never NULL", cells.null, cells.rows, "{} of cells are NULL")
    if column.low is not None and column.high is not None:
        effect = "{} of cells are outside, and moved to the nearer bound"
        between = f"lies between {_shown(column.low)} and {_shown(column.high)}"
        yield finding(between, cells.outside, cells.there, effect)
    elif column.days is not None:
        effect = "{} of cells are outside, and left out where groups follow from the days"
        between = f"lies between {column.days[0]} and {column.days[1]}"
        yield finding(between, cells.outside, cells.there, effect)
    elif column.categories is not None:
        effect = "{} of cells are something else, and left out where groups are listed"
        number = len(column.categories)
        yield finding(f"is one of {number} categories", cells.outside, cells.there, effect)


def _shown(bound: Fraction) -> str:
    return str(bound) if bound.denominator == 1 else f"{float(bound):g}"
