"""Bound relations, as SQL: every node is a SELECT over those below it.

Trust: kernel.
"""

# ruff: noqa: S608 (all text here is printed by us, and names and literals are quoted)

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, assert_never

from discreet.engines.sql.aggregates import (
    aggregate,
    float_sum,
    is_float_sum,
    window,
    with_roots,
    without_windows,
)
from discreet.engines.sql.expressions import expression
from discreet.engines.sql.fragments import name
from discreet.query.expression_types import ColumnTypes, columns
from discreet.query.relations import (
    Aggregated,
    BoundedUnits,
    Distinct,
    Filter,
    Join,
    Named,
    Project,
    Relation,
    Scan,
    SemiJoin,
    Table,
    UnionAll,
    Valued,
    descend,
)
from discreet.query.types import Type

PrintScan = Callable[[Scan], str]
"""How a table is read: a SELECT of the columns of a scan, as values of our types."""

_JOINS: Final = {
    "inner": "INNER JOIN",
    "left": "LEFT JOIN",
    "right": "RIGHT JOIN",
    "full": "FULL JOIN",
    "cross": "CROSS JOIN",
}
"""The words for each kind of join; no other word is printed."""


def relation(node: Relation, scan: PrintScan) -> str:  # noqa: C901, PLR0911 (one for each kind)
    """Print a relation as one SELECT.

    >>> from discreet.query.expressions import Column
    >>> wards = Scan("wards", (("ward", Type.TEXT), ("open", Type.BOOLEAN)))
    >>> relation(Filter(wards, Column("open")), lambda _: "SELECT * FROM wards")
    'SELECT * FROM (SELECT * FROM wards) WHERE "open"'
    """
    match node:
        case Scan():
            return scan(node)
        case Filter():
            return _filtered(node, scan)
        case Project():
            return _projected(node, relation(node.child, scan))
        case Join():
            return _joined(node, scan)
        case SemiJoin():
            return _semi_joined(node, scan)
        case Aggregated():
            return _aggregated(node, relation(node.child, scan))
        case Distinct(child=child):
            return f"SELECT DISTINCT * FROM ({relation(child, scan)})"
        case UnionAll(parts=parts):
            return " UNION ALL ".join(f"({relation(part, scan)})" for part in parts)
        case BoundedUnits():
            return _bounded(node, relation(node.child, scan))
        case Named(child=child):
            return relation(child, scan)
        case Table() | Valued():
            message = "a relation is printed only when it is bound"
            raise TypeError(message)
        case _:
            assert_never(node)


def _filtered(node: Filter, scan: PrintScan) -> str:
    """Print filters, one above the other, as one: DuckDB takes longer to plan levels than rows."""
    below: Relation = node
    predicates = []
    while isinstance(below, Filter):
        predicates.append(below.predicate)
        below = below.child
    types = ColumnTypes(columns(below))
    where = [expression(each, types, Type.BOOLEAN) for each in reversed(predicates)]
    return f"SELECT * FROM ({relation(below, scan)}) WHERE {' AND '.join(where)}"


def _outputs(outputs: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{sql} AS {name(output)}" for output, sql in outputs)


def _projected(node: Project, below: str) -> str:
    """Print a projection; windows are computed one level deeper, under names of their own."""
    types = ColumnTypes(columns(node.child))
    windows, outputs = without_windows(node.outputs, types)
    if windows:
        added = _outputs([(output, window(computed, types)) for output, computed in windows])
        below = f"SELECT *, {added} FROM ({below})"
        types = ColumnTypes((*types.items(), *columns(Project(node.child, windows))))
    printed = [(output, expression(value, types)) for output, value in outputs]
    return f"SELECT {_outputs(printed)} FROM ({below})"


def _joined(node: Join, scan: PrintScan) -> str:
    sides = f"({relation(node.left, scan)}) {_JOINS[node.kind]} ({relation(node.right, scan)})"
    if node.kind == "cross":
        return f"SELECT * FROM {sides}"
    if node.on is None:
        message = "a join is printed only when its condition is bound"
        raise TypeError(message)
    on = expression(node.on, ColumnTypes(columns(node)), Type.BOOLEAN)
    return f"SELECT * FROM {sides} ON {on}"


def _semi_joined(node: SemiJoin, scan: PrintScan) -> str:
    if node.compared is not None:
        message = "a semi join is printed only when its condition is bound"
        raise TypeError(message)
    types = ColumnTypes((*columns(node.left), *columns(node.right)))
    on = "TRUE" if node.on is None else expression(node.on, types, Type.BOOLEAN)
    kind = "ANTI JOIN" if node.anti else "SEMI JOIN"
    sides = f"({relation(node.left, scan)}) {kind} ({relation(node.right, scan)})"
    return f"SELECT * FROM {sides} ON {on}"


def _aggregated(node: Aggregated, below: str) -> str:
    types = ColumnTypes(columns(node.child))
    keys = [(output, expression(value, types)) for output, value in node.keys]
    sums = [value for _, value in node.outputs if is_float_sum(value, types)]
    roots: list[str] = []
    if sums:
        below, roots = with_roots(below, sums, types, [sql for _, sql in keys])
    values = [
        (output, float_sum(value, types, roots.pop(0)))
        if is_float_sum(value, types)
        else (output, aggregate(value, types))
        for output, value in node.outputs
    ]
    grouped = ", ".join(str(place + 1) for place in range(len(keys)))
    by = f" GROUP BY {grouped}" if keys else ""
    return f"SELECT {_outputs(keys + values)} FROM ({below}){by}"


def _bounded(node: BoundedUnits, below: str) -> str:
    """Print the rows of all units but the large ones, which a streamed aggregation finds.

    There are few of these, so the join holds next to nothing.
    """
    types = ColumnTypes(columns(node.child))
    depth = sum(isinstance(inner, BoundedUnits) for inner in descend(node.child))
    rows, unit = name(f"rows of units {depth}"), [name(column) for column in node.unit]
    sizes = [f"coalesce(sum(strlen({expression(value, types)})), 0)" for value in node.texts]
    large = f"count(*) > {node.rows}"
    if sizes:
        large = f"{large} OR {' + '.join(sizes)} > {node.text_bytes}"
    listed = ", ".join(unit)
    units = f"SELECT {listed} FROM {rows} GROUP BY {listed} HAVING {large}"
    same = " AND ".join(f"own.{column} = large.{column}" for column in unit)
    there = " AND ".join(f"own.{column} IS NOT NULL" for column in unit)
    kept = f"SELECT own.* FROM {rows} AS own ANTI JOIN ({units}) AS large ON {same} WHERE {there}"
    return f"WITH {rows} AS MATERIALIZED ({below}) {kept}"
