"""The owner's check: every promise and declaration of a policy, held against the data.

Trust: kernel.  It reads private tables and returns exact numbers: its callers must be allowed to
read the data.  Code that answers questions does not import it, and it opens no ledger.

Prices rest on constant columns, on those that hold the same in several tables, and on links; keys
of public tables are enforced where they are joined.  A column is constant if no unit has two values
in it, or a value in some rows and NULL in others.  A key to which other tables point holds if none
of its values belongs to two units.

No fact about a cell is trusted: values are clamped, rows of other categories are left out, and an
unreadable cell is NULL.  So a fact that does not hold costs accuracy.

Limits on the rows and groups of a unit are enforced; what they cut off costs accuracy, and error
bars do not show it.  Which groups there are depends on a question.  Here they are those of one
column, for each described column that can identify groups and may differ between rows of a unit;
and the one group of a question without GROUP BY.
"""

# ruff: noqa: S608  (statements name columns of ours alone: u0, c0, and so on)

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, final

from discreet.engines.dispatch import engine_for
from discreet.engines.engine import Performance, SparkPerformance
from discreet.engines.sql_engine import SqlEngine
from discreet.plan.binding.public_keys import MOST_VALUES
from discreet.plan.policy.owner_promises import promises_of
from discreet.plan.policy.policy import Limits, Policy
from discreet.query.expressions import Call, Cast, Column, Expression, Literal
from discreet.query.relations import Filter, Project, Relation, Scan, UnionAll, folded
from discreet.query.types import Type
from discreet.requests.table_schema import ColumnFacts, Schema, TableFacts
from discreet.session.opening_arguments import (
    declared_sources,
    named_sources,
    policy_of,
    unit_of,
)
from discreet.session.owner_check.check_report import CheckReport, Finding, Spread, percent
from discreet.session.owner_check.exact_counts import ExactCounter, listed, scan_of, there, times
from discreet.session.schemas import schema_of
from discreet.units import PrivacyUnit

_ROWS, _GROUPS = "rows", "groups"
_AT_ONCE: Final = 50
"""The most columns of one statement."""

# --- whose rows there are ---------------------------------------------------------------------


def _differing(
    relation: Relation, unit: Sequence[str], columns: int, counting: ExactCounter
) -> list[int]:
    """Count units, and for each column those with two values, or a value in some rows only."""
    cells = [f"c{at}" for at in range(columns)]
    ends = [f"MIN({c}) AS lo{c}, MAX({c}) AS hi{c}, COUNT({c}) AS n{c}" for c in cells]
    differ = [f"lo{c} <> hi{c} OR (n{c} > 0 AND n{c} < n)" for c in cells]
    by_unit = (
        f"SELECT COUNT(*) AS n, {listed(ends)} FROM t WHERE {there(unit)} GROUP BY {listed(unit)}"
    )
    return counting.numbers(
        f"SELECT COUNT(*), {listed(map(times, differ))} FROM ({by_unit}) AS b", t=relation
    )


def _constant(table: str, column: str, promise: str, number: int, broken: int) -> Finding:
    return Finding.counted(
        table,
        column,
        promise,
        broken=broken,
        of=number,
        detail=f"{{}} of units have several values ({broken} of {number})",
        trusted=True,
    )


def constant_findings(counting: ExactCounter, table: TableFacts) -> Iterator[Finding]:
    """Check the columns of a private table that should be constant within each unit."""
    unit = {folded(name) for name in table.unit}
    names = [each.name for each in table.columns if each.constant and folded(each.name) not in unit]
    if not names:
        return
    relation, own = counting.units(table, names)
    number, *broken = _differing(relation, own, len(names), counting)
    for name, count in zip(names, broken, strict=True):
        yield _constant(table.name, name, "is constant: all rows of a unit agree", number, count)


def same_findings(counting: ExactCounter) -> Iterator[Finding]:
    """Check the columns that are promised to hold the same in several tables."""
    lists: dict[str, list[tuple[TableFacts, str]]] = {}
    for table in counting.schema.tables:
        for column in table.columns:
            if column.same is not None:
                lists.setdefault(column.same.label, []).append((table, column.name))
    for label, places in sorted(lists.items()):
        parts = [counting.units(table, [name]) for table, name in places]
        whole = UnionAll(tuple(part for part, _ in parts)) if len(parts) > 1 else parts[0][0]
        number, broken = _differing(whole, parts[0][1], 1, counting)
        tables = ", ".join(table.name for table, _ in places)
        yield _constant(tables, label, "is the same in all of its tables", number, broken)


def link_findings(counting: ExactCounter, table: TableFacts) -> Iterator[Finding]:
    """Check that each value of a key belongs to one unit, and that rows point to existing keys."""
    link = table.link
    parent = None if link is None else counting.schema.table(link.parent)
    if link is None or parent is None:
        return
    owners, unit = counting.units(parent, [link.key])
    pairs = f"SELECT DISTINCT c0, {listed(unit)} FROM t WHERE {there(['c0', *unit])}"
    number, broken = counting.numbers(
        f"SELECT COUNT(*), {times('n > 1')} FROM"
        f" (SELECT c0, COUNT(*) AS n FROM ({pairs}) AS p GROUP BY c0) AS k",
        t=owners,
    )
    yield Finding.counted(
        parent.name,
        link.key,
        "each value belongs to one unit",
        broken=broken,
        of=number,
        detail=f"{{}} of values belong to several ({broken} of {number})",
        trusted=True,
    )
    pointers, orphans = counting.numbers(
        f"SELECT COUNT(*), {times('k.key IS NULL')} FROM t LEFT JOIN"
        " (SELECT DISTINCT c0 AS key FROM p) AS k ON t.c0 = k.key WHERE NOT t.c0 IS NULL",
        t=scan_of(table, [link.column]),
        p=scan_of(parent, [link.key]),
    )
    yield Finding.counted(
        table.name,
        link.column,
        f"points to a row of {parent.name}",
        broken=orphans,
        of=pointers,
        detail="{} of rows point to nothing, and are left out",
    )


def key_findings(counting: ExactCounter, table: TableFacts) -> Iterator[Finding]:
    """Check that no two rows of a table have the same key."""
    if not table.key:
        return
    cells = [f"c{at}" for at, _ in enumerate(table.key)]
    number, broken = counting.numbers(
        f"SELECT COUNT(*), {times('n > 1')} FROM"
        f" (SELECT COUNT(*) AS n FROM t WHERE {there(cells)} GROUP BY {listed(cells)}) AS k",
        t=scan_of(table, table.key),
    )
    effect = (
        "of several rows with one key, one is joined" if table.public else "joins compare units"
    )
    spelled = [column.name for name in table.key if (column := table.column(name)) is not None]
    yield Finding.counted(
        table.name,
        ", ".join(spelled),
        "is a key: no two rows agree",
        broken=broken,
        of=number,
        detail=f"{{}} of keys have several rows ({broken} of {number}); {effect}",
    )


# --- rows and groups of units -----------------------------------------------------------------


def limit_findings(
    counting: ExactCounter, table: TableFacts, limits: Limits, declared: frozenset[str]
) -> Iterator[Finding]:
    """Compare the rows and groups of the units of a private table with the limits."""
    limit = {_ROWS: limits.max_rows, _GROUPS: limits.max_groups}
    for column, what, cut, of, spread in _spreads(counting, table, declared):
        yield _limited(table, column, what, spread, limit[cut], cut, of)


def _spreads(
    counting: ExactCounter, table: TableFacts, declared: frozenset[str]
) -> Iterator[tuple[str, str, str, str, Spread]]:
    """Yield how rows and groups of units are spread: by column, in words, and of what."""

    def spread(counts: str, relation: Relation) -> Spread:
        rows = counting.rows(
            f"SELECT n, COUNT(*) AS times FROM ({counts}) AS s GROUP BY n", t=relation
        )
        return Spread((int(value), int(times)) for value, times in rows)

    whole, unit = counting.units(table, [])
    own, known = listed(unit), there(unit)
    yield (
        *("", "rows of a unit", _ROWS, "units"),
        spread(f"SELECT COUNT(*) AS n FROM t WHERE {known} GROUP BY {own}", whole),
    )
    for column in table.columns:
        if folded(column.name) not in declared or not _tells_groups(table, column):
            continue
        relation, _ = counting.units(table, [column.name])
        if column.categories is not None:  # rows of others are left out, as a question does
            values = tuple(map(Literal, column.categories))
            relation = Filter(relation, Call("IN", (_compared(column, "c0"), *values)))
        cells = f"SELECT {own}, COUNT(*) AS n FROM t WHERE {known} GROUP BY {own}, c0"
        groups = f"SELECT COUNT(*) AS n FROM ({cells}) AS g GROUP BY {own}"
        for counts, what, cut, of in (
            (groups, f"groups of a unit, by {column.name}", _GROUPS, "units"),
            (cells, f"rows of a unit in one group, by {column.name}", _ROWS, "groups of units"),
        ):
            yield column.name, what, cut, of, spread(counts, relation)


def _compared(column: ColumnFacts, name: str) -> Expression:
    """Return a counted column as one of its type; booleans are counted as integers."""
    return Cast(Column(name), Type.BOOLEAN) if column.type is Type.BOOLEAN else Column(name)


def _tells_groups(table: TableFacts, column: ColumnFacts) -> bool:
    """Whether questions may group by a column, with a unit in several groups."""
    owner = {*map(folded, table.unit), *map(folded, table.key)}
    if table.link is not None:
        owner.add(folded(table.link.column))
    plain = column.type not in {Type.FLOAT, Type.TIMESTAMP}
    if column.low is not None and column.high is not None:  # a few integers are groups too
        plain = column.type is Type.INTEGER and column.high - column.low < MOST_VALUES
    return plain and not column.constant and folded(column.name) not in owner


def _limited(  # noqa: PLR0913, PLR0917  one line of the report
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


# --- cells ------------------------------------------------------------------------------------


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
    rows, counts = _counted_cells(counting, table)
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


def _counted_cells(counting: ExactCounter, table: TableFacts) -> tuple[int, dict[str, list[int]]]:
    """Count all rows, and those that meet the conditions on each column."""
    counted: dict[str, list[int]] = {}
    rows = 0
    for start in range(0, max(len(table.columns), 1), _AT_ONCE):
        columns = table.columns[start : start + _AT_ONCE]
        scan = Scan(table.name, tuple((each.name, each.type) for each in columns))
        conditions = {each.name: _conditions(each) for each in columns}
        flat = [condition for each in conditions.values() for condition in each]
        flags = tuple((f"b{at}", condition) for at, condition in enumerate(flat))
        added = "".join(f", {times(name)}" for name, _ in flags)
        rows, *found = counting.numbers(
            f"SELECT COUNT(*){added} FROM t", t=Project(scan, flags) if flags else scan
        )
        counts = iter(found)
        counted |= {name: [next(counts) for _ in each] for name, each in conditions.items()}
    return rows, counted


def _conditions(column: ColumnFacts) -> list[Expression]:
    """Return the conditions to count: NULL, and values that differ from their declaration."""
    value = Column(column.name)
    conditions: list[Expression] = [Call("IS NULL", (value,))]
    if column.low is not None and column.high is not None:
        low, high = _ends(column.low, column.high, column.type)
        conditions.append(Call("OR", (Call("<", (value, low)), Call(">", (value, high)))))
    if column.days is not None:
        day = value if column.type is Type.DATE else Cast(value, Type.DATE)
        first, last = map(Literal, column.days)
        conditions.append(Call("OR", (Call("<", (day, first)), Call(">", (day, last)))))
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
        between = f"is between {_shown(column.low)} and {_shown(column.high)}"
        yield finding(between, cells.outside, cells.there, effect)
    elif column.days is not None:
        effect = "{} of cells are outside, and left out if groups follow from the days"
        between = f"is between {column.days[0]} and {column.days[1]}"
        yield finding(between, cells.outside, cells.there, effect)
    elif column.categories is not None:
        effect = "{} of cells are something else, and left out if groups are listed"
        number = len(column.categories)
        yield finding(f"is one of {number} categories", cells.outside, cells.there, effect)


def _shown(bound: Fraction) -> str:
    return str(bound) if bound.denominator == 1 else f"{float(bound):g}"


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
        source: any source of ``discreet.open``.
        unit: who is protected; may come from the policy.
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
        assert isinstance(engine, SqlEngine)  # noqa: S101  (for the type checker: all engines are)
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
