"""Exact counts for the owner, as plain SQL over tables that are read as they are for answers.

Trust: kernel.  The numbers have no noise.

Tables are bound first, so that rows have the units of questions, also if a link leads to them.
In every statement ``t`` is one of them: u0, u1, ... name the unit, and c0, c1, ... are columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final

from discreet.engines.dispatch import engine_for
from discreet.engines.sql_engine import SqlEngine
from discreet.plan.binding.binder import Binder
from discreet.query.expressions import Cast, Column, Expression
from discreet.query.relations import Output, Project, Relation, Scan, Table, folded
from discreet.query.types import Type
from discreet.requests.table_schema import Schema, TableFacts
from discreet.session.opening_arguments import declared_sources


@final
@dataclass(frozen=True, slots=True)
class ExactCounter:
    """Exact counts of open tables."""

    engine: SqlEngine
    schema: Schema

    def rows(self, statement: str, **tables: Relation) -> list[tuple[Any, ...]]:
        """Return the rows of a statement."""
        return self.engine.exact(statement, tables)

    def numbers(self, statement: str, **tables: Relation) -> list[int]:
        """Return the one row of a statement, NULL as 0."""
        ((*values,),) = self.rows(statement, **tables)
        return [int(value or 0) for value in values]

    def units(self, table: TableFacts, columns: Sequence[str]) -> tuple[Relation, list[str]]:
        """Return the rows of a private table with some columns, and how its unit is named there."""
        rows = Binder(self.schema).bind(Table(table.name))
        spelled = {folded(str(seen.name)): seen.column for seen in rows.visible}
        names = [f"u{at}" for at, _ in enumerate(rows.unit or ())]
        own: list[Output] = [
            (name, Column(column)) for name, column in zip(names, rows.unit or (), strict=True)
        ]
        for at, name in enumerate(columns):
            value: Expression = Column(spelled[folded(name)])
            facts = table.column(name)
            if facts is not None and facts.type is Type.BOOLEAN:  # not every engine has their MIN
                value = Cast(value, Type.INTEGER)
            own.append((f"c{at}", value))
        return Project(rows.relation, tuple(own)), names

    def cells(self, table: TableFacts) -> Mapping[str, int]:
        """Count the cells of each column that the source holds, however they are read."""
        return {folded(name): count for name, count in self.engine.cell_counts(table.name).items()}


@contextmanager
def open_tables(
    sources: Mapping[str, object], tables: Sequence[TableFacts]
) -> Iterator[ExactCounter]:
    """Open sources as they are declared, and count in them until the block ends."""
    engine = engine_for(declared_sources(sources, tables))
    try:
        assert isinstance(engine, SqlEngine)  # noqa: S101  (for the type checker: all engines are)
        schema = Schema(tables)
        engine.learn_schema(schema)
        yield ExactCounter(engine, schema)
    finally:
        engine.close()


def scan_of(table: TableFacts, names: Sequence[str]) -> Relation:
    """Read some columns of a table as they are declared, as c0, c1, and so on."""
    wanted = [column for name in names if (column := table.column(name)) is not None]
    scan = Scan(table.name, tuple((column.name, column.type) for column in wanted))
    if not wanted:
        return scan
    return Project(scan, tuple((f"c{at}", Column(column.name)) for at, column in enumerate(wanted)))


def listed(names: Iterable[str]) -> str:
    """Return names in a list.

    >>> listed(["u0", "c0"])
    'u0, c0'
    """
    return ", ".join(names)


def there(names: Iterable[str]) -> str:
    """Return the condition that none of some columns is NULL; a true one for no columns.

    >>> there(["u0", "u1"]), there([])
    ('NOT u0 IS NULL AND NOT u1 IS NULL', 'TRUE')
    """
    return " AND ".join(f"NOT {name} IS NULL" for name in names) or "TRUE"


def times(condition: str) -> str:
    """Count how often a condition is true.

    >>> times("c0 > 1")
    'SUM(CASE WHEN c0 > 1 THEN 1 ELSE 0 END)'
    """
    return f"SUM(CASE WHEN {condition} THEN 1 ELSE 0 END)"
