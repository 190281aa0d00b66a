"""Whose rows there are: constant columns, links and keys, compared with the data.

Trust: kernel.  Prices rest on constant columns, on those that hold the same in several tables, and
on links; keys of public tables are enforced where they are joined.

A column is constant if no unit has two values in it, or a value in some rows and NULL in others.
A key to which other tables point holds if none of its values belongs to two units.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from discreet.plan.binding.binder import Binder
from discreet.plan.binding.names import BoundRelation
from discreet.query.expressions import Aggregate, Call, Column, Expression, Literal
from discreet.query.relations import (
    Aggregated,
    Distinct,
    Join,
    Output,
    Project,
    Table,
    UnionAll,
    folded,
)
from discreet.requests.table_schema import Link, TableFacts
from discreet.session.owner_check.check_report import Finding
from discreet.session.owner_check.exact_counts import ExactCounter, any_of, scan_of, where_not_null


def constant_findings(counting: ExactCounter, table: TableFacts) -> Iterator[Finding]:
    """Check the columns of a private table in which all rows of a unit should agree."""
    unit = {folded(name) for name in table.unit}
    named = [facts for facts in table.columns if facts.constant and folded(facts.name) not in unit]
    if not named:
        return
    rows = Binder(counting.schema).bind(Table(table.name))
    outputs: list[tuple[str, Aggregate]] = [("rows", Aggregate("COUNT"))]
    differ = []
    for place, column in enumerate(named):
        value = Column(_spelled(rows, column.name))
        outputs += _compared(place, value)
        differ.append(_differs(place))
    units = Aggregated(rows.relation, _unit(rows), tuple(outputs))
    number, broken = counting.units(units, _names(rows), differ)
    for column, count in zip(named, broken, strict=True):
        yield Finding.counted(
            table.name,
            column.name,
            "is constant: all rows of a unit agree",
            broken=count,
            of=number,
            detail=f"{{}} of units have several values ({count} of {number})",
            trusted=True,
        )


def same_findings(counting: ExactCounter) -> Iterator[Finding]:
    """Check the columns that are promised to hold the same in several tables."""
    lists: dict[str, list[tuple[TableFacts, str]]] = {}
    for table in counting.schema.tables:
        for column in table.columns:
            if column.same is not None:
                lists.setdefault(column.same.label, []).append((table, column.name))
    for label, listed in sorted(lists.items()):
        parts = []
        names: list[str] = []
        for table, name in listed:
            rows = Binder(counting.schema).bind(Table(table.name))
            names = _names(rows)
            parts.append(
                Project(rows.relation, (*_unit(rows), ("value", Column(_spelled(rows, name)))))
            )
        outputs = (("rows", Aggregate("COUNT")), *_compared(0, Column("value")))
        keys: tuple[Output, ...] = tuple((name, Column(name)) for name in names)
        whole = parts[0] if len(parts) == 1 else UnionAll(tuple(parts))
        number, (broken,) = counting.units(Aggregated(whole, keys, outputs), names, [_differs(0)])
        yield Finding.counted(
            ", ".join(table.name for table, _ in listed),
            label,
            "is the same in all of its tables",
            broken=broken,
            of=number,
            detail=f"{{}} of units have several values ({broken} of {number})",
            trusted=True,
        )


def link_findings(counting: ExactCounter, table: TableFacts) -> Iterator[Finding]:
    """Check the table that another one is linked to, and the rows that point to it."""
    link = table.link
    parent = None if link is None else counting.schema.table(link.parent)
    if link is None or parent is None:
        return
    yield _one_unit(counting, parent, link)
    yield _orphans(counting, table, parent, link)


def key_findings(counting: ExactCounter, table: TableFacts) -> Iterator[Finding]:
    """Check that no two rows of a table have the same key."""
    if not table.key:
        return
    scan = scan_of(table, table.key)
    names = [name for name, _ in scan.columns]
    keys: tuple[Output, ...] = tuple((name, Column(name)) for name in names)
    counted = Aggregated(where_not_null(scan, names), keys, (("rows in all", Aggregate("COUNT")),))
    twice = Call(">", (Column("rows in all"), Literal(1)))
    number, (broken,) = counting.units(counted, names, [twice], by={table.name: names})
    effect = (
        "of several rows with one key, one is joined" if table.public else "joins compare units"
    )
    yield Finding.counted(
        table.name,
        ", ".join(names),
        "is a key: no two rows agree",
        broken=broken,
        of=number,
        detail=f"{{}} of keys have several rows ({broken} of {number}); {effect}",
    )


def _one_unit(counting: ExactCounter, parent: TableFacts, link: Link) -> Finding:
    """Check that each value of a key belongs to one unit."""
    promise = "each value belongs to one unit"
    rows = Binder(counting.schema).bind(Table(parent.name))
    key = _spelled(rows, link.key)
    whole = where_not_null(rows.relation, [key, *_held(rows)])
    pairs = Aggregated(whole, (("key", Column(key)), *_unit(rows)), ())
    owners = Aggregated(pairs, (("key", Column("key")),), (("units", Aggregate("COUNT")),))
    several = Call(">", (Column("units"), Literal(1)))
    by = None if parent.link is not None else {parent.name: (link.key,)}
    number, (broken,) = counting.units(owners, ["key"], [several], by=by)
    return Finding.counted(
        parent.name,
        link.key,
        promise,
        broken=broken,
        of=number,
        detail=f"{{}} of values belong to several ({broken} of {number})",
        trusted=True,
    )


def _orphans(counting: ExactCounter, table: TableFacts, parent: TableFacts, link: Link) -> Finding:
    """Check that every row points to an existing one."""
    child = scan_of(table, [link.column])
    (pointer, _), ((key, _),) = child.columns[0], scan_of(parent, [link.key]).columns
    keys = Distinct(Project(scan_of(parent, [link.key]), (("key", Column(key)),)))
    own = Project(child, (("pointer", Column(pointer)),))
    met = Join(own, keys, "inner", Call("=", (Column("pointer"), Column("key"))))
    by = {table.name: (link.column,), parent.name: (link.key,)}
    rows, counts = counting.rows(table, {pointer: [Call("IS NULL", (Column(pointer),))]})
    there = rows - counts[pointer][0]
    orphans = max(there - counting.number(met, ["pointer"], by), 0)
    return Finding.counted(
        table.name,
        link.column,
        f"points to a row of {parent.name}",
        broken=orphans,
        of=there,
        detail="{} of rows point to nothing, and are left out",
    )


def _compared(number: int, value: Column) -> tuple[tuple[str, Aggregate], ...]:
    return (
        (f"low{number}", Aggregate("MIN", value)),
        (f"high{number}", Aggregate("MAX", value)),
        (f"there{number}", Aggregate("COUNT", value)),
    )


def _differs(number: int) -> Expression:
    """Return the condition that a unit has two values, or a value in only some of its rows."""
    there, rows = Column(f"there{number}"), Column("rows")
    some = Call("AND", (Call(">", (there, Literal(0))), Call("<", (there, rows))))
    return any_of([Call("<>", (Column(f"low{number}"), Column(f"high{number}"))), some])


def _spelled(rows: BoundRelation, name: str) -> str:
    """Return the unique name of a visible column."""
    return next(
        column.column for column in rows.visible if folded(str(column.name)) == folded(name)
    )


def _held(rows: BoundRelation) -> Sequence[str]:
    return rows.unit or ()


def _names(rows: BoundRelation) -> list[str]:
    return [f"unit{number}" for number, _ in enumerate(_held(rows))]


def _unit(rows: BoundRelation) -> tuple[Output, ...]:
    return tuple(
        (name, Column(column)) for name, column in zip(_names(rows), _held(rows), strict=True)
    )
