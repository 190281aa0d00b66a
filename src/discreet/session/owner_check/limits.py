"""Rows and groups of a unit, against the limits of the policy.

Trust: kernel.  Limits are enforced; what they cut off is accuracy, and error bars do not show it.

Which groups there are follows from a question.  Here they are those of one column: each that the
policy describes, that can tell groups apart, and in which rows of a unit may differ; and the one
group of a question without GROUP BY.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from discreet.plan.bind import Binder
from discreet.plan.lowered import KEY_TYPES
from discreet.plan.policy import Limits
from discreet.plan.schema import ColumnFacts, TableFacts
from discreet.query.expressions import Aggregate, Call, Column, Literal
from discreet.query.relations import Aggregated, Filter, Output, Relation, Table, folded
from discreet.query.types import Type
from discreet.session.owner_check.counting import Counting
from discreet.session.owner_check.report import Finding, percent
from discreet.session.owner_check.spread import Spread

__all__ = ["limit_findings"]

_NUMBER: Final = "number"
_GROUP: Final = "group"


def limit_findings(
    counting: Counting, table: TableFacts, limits: Limits, declared: frozenset[str]
) -> Iterator[Finding]:
    """Hold the rows and groups of the units of a private table against the limits."""
    rows = Binder(counting.schema).bind(Table(table.name))
    held = rows.unit or ()
    names = [f"unit{at}" for at, _ in enumerate(held)]
    unit: tuple[Output, ...] = tuple(
        (name, Column(column)) for name, column in zip(names, held, strict=True)
    )
    whole = counting.spread(_counted(rows.relation, unit), names, _NUMBER)
    yield _finding(table, "", "rows of a unit", whole, limits.max_rows, "rows", "units")
    for column in table.columns:
        if folded(column.name) not in declared or not _tells_groups(table, column):
            continue
        spelled = next(
            each.column for each in rows.visible if folded(str(each.name)) == folded(column.name)
        )
        listed = _listed(rows.relation, column, spelled)
        cells = _counted(listed, (*unit, (_GROUP, Column(spelled))))
        groups = _counted(cells, tuple((name, Column(name)) for name in names))
        by = f"by {column.name}"
        yield _finding(
            table,
            column.name,
            f"groups of a unit, {by}",
            counting.spread(groups, names, _NUMBER),
            limits.max_groups,
            "groups",
            "units",
        )
        yield _finding(
            table,
            column.name,
            f"rows of a unit in one group, {by}",
            counting.spread(cells, names, _NUMBER),
            limits.max_rows,
            "rows",
            "groups of units",
        )


def _counted(relation: Relation, keys: tuple[Output, ...]) -> Relation:
    return Aggregated(relation, keys, ((_NUMBER, Aggregate("COUNT")),))


def _tells_groups(table: TableFacts, column: ColumnFacts) -> bool:
    """Whether questions may group by a column, and a unit be in several groups then."""
    owner = {*map(folded, table.unit), *map(folded, table.key)}
    if table.link is not None:
        owner.add(folded(table.link.column))
    plain = column.type in KEY_TYPES and column.type is not Type.TIMESTAMP and not column.bounded
    return plain and not column.constant and folded(column.name) not in owner


def _listed(relation: Relation, column: ColumnFacts, spelled: str) -> Relation:
    """Leave out rows of other categories, as a question does."""
    if column.categories is None:
        return relation
    values = tuple(Literal(each) for each in column.categories)
    return Filter(relation, Call("IN", (Column(spelled), *values)))


def _finding(  # noqa: PLR0913, PLR0917  one line of the report
    table: TableFacts,
    column: str,
    what: str,
    spread: Spread,
    limit: int | None,
    cut: str,
    of: str,
) -> Finding:
    """Hold a spread against a limit, if there is one."""
    if limit is None:
        return Finding(
            table=table.name,
            column=column,
            promise=f"{what} (no limit in the policy)",
            holds=None,
            trusted=False,
            share=None,
            detail=spread.words,
        )
    share: Fraction = spread.cut(limit)
    told = ""
    if share:
        told = (
            f"; the limit cuts {percent(share)} of {cut}, from "
            f"{percent(spread.beyond(limit))} of {of}"
        )
    return Finding(
        table=table.name,
        column=column,
        promise=f"{what} (at most {limit})",
        holds=share == 0,
        trusted=False,
        share=share,
        detail=f"{spread.words}{told}",
    )
