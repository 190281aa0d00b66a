"""Column by column: bounds, categories, NULL, and cells that could not be read as declared.

Trust: kernel.  None of it is trusted: values are clamped, rows of other categories are left out,
and a cell that cannot be read is NULL.  So what does not hold here costs accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from discreet.plan.schema import ColumnFacts, TableFacts
from discreet.query.expressions import Call, Column, Expression, Literal
from discreet.query.relations import folded
from discreet.query.types import Type
from discreet.session.owner_check.counting import Counting, anything
from discreet.session.owner_check.report import Finding, percent

__all__ = ["cell_findings"]


@final
@dataclass(frozen=True, slots=True)
class _Cells:
    """What was counted of one column."""

    rows: int
    null: int
    outside: int
    stored: int | None

    @property
    def there(self) -> int:
        """The cells that were read."""
        return self.rows - self.null


def cell_findings(
    counting: Counting, table: TableFacts, declared: frozenset[str]
) -> Iterator[Finding]:
    """Check the cells of a table; ``declared`` are the columns that the policy describes."""
    rows, found = counting.rows(table, {each.name: _conditions(each) for each in table.columns})
    stored = counting.cells(table)
    for column in table.columns:
        null, *outside = found[column.name]
        cells = _Cells(
            rows=rows,
            null=null,
            outside=sum(outside),
            stored=stored.get(folded(column.name)),
        )
        yield from _of_column(table, column, cells, said=folded(column.name) in declared)


def _conditions(column: ColumnFacts) -> list[Expression]:
    """Return what is counted: NULL, and values that are not what they are declared to be."""
    value = Column(column.name)
    found: list[Expression] = [Call("IS NULL", (value,))]
    if column.low is not None and column.high is not None:
        low, high = _ends(column.low, column.high, column.type)
        found.append(anything([Call("<", (value, low)), Call(">", (value, high))]))
    if column.categories is not None:
        listed = tuple(Literal(each) for each in column.categories)
        found.append(Call("NOT", (Call("IN", (value, *listed)),)))
    return found


def _ends(low: Fraction, high: Fraction, kind: Type) -> tuple[Literal, Literal]:
    """Return bounds as numbers of the column's type."""
    if kind is Type.INTEGER:
        return Literal(math.ceil(low)), Literal(math.floor(high))
    return Literal(low), Literal(high)


def _of_column(
    table: TableFacts, column: ColumnFacts, cells: _Cells, *, said: bool
) -> Iterator[Finding]:
    def finding(promise: str, broken: int, of: int, detail: str) -> Finding:
        share = Fraction(broken, of or 1)
        return Finding(
            table=table.name,
            column=column.name,
            promise=promise,
            holds=broken == 0,
            trusted=False,
            share=share,
            detail=detail.format(percent(share)),
        )

    lost = None if cells.stored is None else max(cells.stored - cells.there, 0)
    if lost is not None and (said or lost):
        kind = column.type.value.lower()
        told = "{} of cells are something else, and read as NULL"
        yield finding(f"can be read as {kind}", lost, cells.stored or 0, told)
    if not table.public and folded(column.name) in map(folded, table.unit):
        told = "{} of rows name nobody, and are left out"
        yield finding("names the unit of every row", cells.null, cells.rows, told)
    elif not column.nullable:
        yield finding("is never NULL", cells.null, cells.rows, "{} of cells are NULL")
    if column.low is not None and column.high is not None:
        told = "{} of cells are outside, and moved to the nearer bound"
        between = f"lies between {_shown(column.low)} and {_shown(column.high)}"
        yield finding(between, cells.outside, cells.there, told)
    elif column.categories is not None:
        told = "{} of cells are something else, and left out where groups are listed"
        number = len(column.categories)
        yield finding(f"is one of {number} categories", cells.outside, cells.there, told)


def _shown(bound: Fraction) -> str:
    return str(bound) if bound.denominator == 1 else f"{float(bound):g}"
