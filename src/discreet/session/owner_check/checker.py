"""The owner's check: all promises of a policy against the data, its limits among them.

Trust: kernel.  It reads private tables and returns exact numbers: whoever may call it may read the
data.  Nothing that answers questions imports it, and it opens no ledger.

Limits on the rows and groups of a unit are enforced; what they cut off costs accuracy, and error
bars do not show it.  Which groups there are depends on a question.  Here they are those of one
column, for each described column that can tell groups apart and in which rows of a unit may differ;
and the one group of a question without GROUP BY.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from discreet.engines.dispatch import engine_for
from discreet.engines.engine import Performance, SparkPerformance
from discreet.plan.binding.binder import Binder
from discreet.plan.binding.public_keys import MOST_VALUES
from discreet.plan.policy.owner_promises import promises_of
from discreet.plan.policy.policy import Limits, Policy
from discreet.query.expressions import Aggregate, Call, Column, Literal
from discreet.query.relations import Aggregated, Filter, Output, Relation, Table, folded
from discreet.query.types import Type
from discreet.requests.table_schema import ColumnFacts, Schema, TableFacts
from discreet.session.opening_arguments import (
    declared_sources,
    named_sources,
    policy_of,
    unit_of,
)
from discreet.session.owner_check.check_report import CheckReport, Finding, Spread, percent
from discreet.session.owner_check.exact_counts import ExactCounter, cell_findings
from discreet.session.owner_check.unit_findings import (
    constant_findings,
    key_findings,
    link_findings,
    same_findings,
)
from discreet.session.schemas import schema_of
from discreet.units import PrivacyUnit

_NUMBER: Final = "number"
_GROUP: Final = "group"
_ROWS, _GROUPS = "rows", "groups"


def limit_findings(
    counting: ExactCounter, table: TableFacts, limits: Limits, declared: frozenset[str]
) -> Iterator[Finding]:
    """Compare the rows and groups of the units of a private table with the limits."""
    limit = {_ROWS: limits.max_rows, _GROUPS: limits.max_groups}
    for column, what, cut, of, spread in _spreads(counting, table, declared):
        yield _finding(table, column, what, spread, limit[cut], cut, of)


def _spreads(
    counting: ExactCounter, table: TableFacts, declared: frozenset[str]
) -> Iterator[tuple[str, str, str, str, Spread]]:
    """Yield how rows and groups of units are spread: by column, in words, and of what."""
    rows = Binder(counting.schema).bind(Table(table.name))
    unit_columns = rows.unit or ()
    names = [f"unit{number}" for number, _ in enumerate(unit_columns)]
    unit: tuple[Output, ...] = tuple(
        (name, Column(column)) for name, column in zip(names, unit_columns, strict=True)
    )
    whole = counting.spread(_counted(rows.relation, unit), names, _NUMBER)
    yield "", "rows of a unit", _ROWS, "units", whole
    for column in table.columns:
        if folded(column.name) not in declared or not _tells_groups(table, column):
            continue
        spelled = next(
            seen.column for seen in rows.visible if folded(str(seen.name)) == folded(column.name)
        )
        listed = _listed(rows.relation, column, spelled)
        cells = _counted(listed, (*unit, (_GROUP, Column(spelled))))
        groups = _counted(cells, tuple((name, Column(name)) for name in names))
        by = f"by {column.name}"
        for relation, what, cut, of in (
            (groups, f"groups of a unit, {by}", _GROUPS, "units"),
            (cells, f"rows of a unit in one group, {by}", _ROWS, "groups of units"),
        ):
            yield column.name, what, cut, of, counting.spread(relation, names, _NUMBER)


def _counted(relation: Relation, keys: tuple[Output, ...]) -> Relation:
    return Aggregated(relation, keys, ((_NUMBER, Aggregate("COUNT")),))


def _tells_groups(table: TableFacts, column: ColumnFacts) -> bool:
    """Whether questions may group by a column, with a unit in several groups."""
    owner = {*map(folded, table.unit), *map(folded, table.key)}
    if table.link is not None:
        owner.add(folded(table.link.column))
    plain = column.type not in {Type.FLOAT, Type.TIMESTAMP}
    if column.low is not None and column.high is not None:  # a few whole numbers are groups too
        plain = column.type is Type.INTEGER and column.high - column.low < MOST_VALUES
    return plain and not column.constant and folded(column.name) not in owner


def _listed(relation: Relation, column: ColumnFacts, spelled: str) -> Relation:
    """Leave out rows of other categories, as a question does."""
    if column.categories is None:
        return relation
    values = tuple(Literal(value) for value in column.categories)
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
    """Compare a spread with a limit, if there is one."""
    if limit is None:
        promise = f"{what} (no limit in the policy)"
        return Finding.untold(table.name, column, promise, detail=spread.words)
    share: Fraction = spread.cut(limit)
    effect = ""
    if share:
        effect = (
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
        detail=f"{spread.words}{effect}",
        quiet=bool(column) and share == 0,
    )


def check(
    source: object,
    *,
    unit: PrivacyUnit | None = None,
    policy: str | os.PathLike[str] | Policy | None = None,
    tables: str | Sequence[str] | None = None,
    performance: Performance | SparkPerformance | None = None,
) -> CheckReport:
    r"""Say which promises and declarations of a policy hold in the data.

    The report is NOT private: it holds exact numbers, and is for the owner of the data only.  It
    costs no budget, needs no ledger and writes nothing.

    Args:
        source: what ``discreet.open`` takes.
        unit: who is protected; may stand in the policy.
        policy: the owner's file, its text, or a Policy.
        tables: the name of the table, or which tables of a database are opened.
        performance: how the engine works.

    >>> import pyarrow as pa
    >>> visits = pa.table({"patient": [1, 1, 2], "born": [1970, 1971, 1980]})
    >>> rules = '''
    ... format = 1
    ... unit = "patient"
    ... [tables.visits.columns.born]
    ... type = "integer"
    ... constant = true
    ... '''
    >>> report = check({"visits": visits}, policy=rules)
    >>> [(each.column, each.detail) for each in report.broken]
    [('born', '50 % of units have several values (1 of 2)')]
    """
    rules = policy_of(policy)
    whose = unit_of(unit, rules)
    named = named_sources(source, tables, [table.name for table in rules.tables])
    sources = declared_sources(named, rules.tables)
    engine = engine_for(sources, performance)
    try:
        schema = schema_of(rules, whose, engine.tables(), engine.stored())
        engine.learn_schema(schema)
        counting = ExactCounter(engine, schema)
        findings = (
            *_beyond_data(schema, whose),
            *_of_owners(counting, whose),
            *_of_tables(counting, rules, whose),
        )
    finally:
        engine.close()
    return CheckReport(findings=findings)


def _beyond_data(schema: Schema, unit: PrivacyUnit) -> Iterator[Finding]:
    """Name the promises that one state of the data cannot confirm."""
    for promise in promises_of(schema, unit):
        if promise.kind in {"names", "stay"}:
            yield Finding.untold(
                promise.table or "all",
                promise.column,
                str(promise),
                detail="one state of the data cannot show it",
                trusted=True,
            )


def _of_owners(counting: ExactCounter, unit: PrivacyUnit) -> Iterator[Finding]:
    for table in counting.schema.tables:
        if not table.public and unit.columns:
            yield from constant_findings(counting, table)
            yield from link_findings(counting, table)
        yield from key_findings(counting, table)
    if unit.columns:
        yield from same_findings(counting)


def _of_tables(counting: ExactCounter, rules: Policy, unit: PrivacyUnit) -> Iterator[Finding]:
    described = {
        folded(table.name): frozenset(folded(column.name) for column in table.columns)
        for table in rules.tables
    }
    for table in counting.schema.tables:
        declared = described.get(folded(table.name), frozenset())
        yield from cell_findings(counting, table, declared)
        if not table.public and unit.columns:
            yield from limit_findings(counting, table, _limits_of(rules, table), declared)


def _limits_of(rules: Policy, table: TableFacts) -> Limits:
    """Return the limits of questions about a table."""
    return replace(
        rules.limits,
        max_rows=table.max_rows or rules.limits.max_rows,
        max_groups=table.max_groups or rules.limits.max_groups,
    )
