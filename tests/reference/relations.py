"""Bound relations over lists of rows.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import assert_never

from discreet.engines.relations import without_windows
from discreet.query.expression_types import ColumnTypes, columns
from discreet.query.expressions import Expression, Window
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
)
from tests.reference.casts import read
from tests.reference.expressions import Row, compiled, kept
from tests.reference.order import Value
from tests.reference.windows import aggregated, windowed

__all__ = ["Tables", "rows_of", "types_of"]

Rows = list[Row]
Windows = tuple[tuple[str, Window], ...]
Outputs = tuple[tuple[str, Expression], ...]
Tables = Mapping[str, Sequence[Mapping[str, object]]]
"""Tables as lists of rows, which map a column to its value."""


@kept
def types_of(relation: Relation) -> ColumnTypes:
    """Return the types of the columns of a bound relation, the same object every time."""
    return ColumnTypes(columns(relation))


def rows_of(relation: Relation, tables: Tables) -> Rows:  # noqa: C901, PLR0911 (one for each kind)
    """Return the rows of a bound relation, in any order.

    >>> from discreet.query.types import Type
    >>> rows_of(Scan("wards", (("ward", Type.TEXT),)), {"wards": [{"ward": "A", "beds": 3}]})
    [{'ward': 'A'}]
    """
    match relation:
        case Scan(table=name, columns=wanted):
            return [
                {column: read(row[column], kind) for column, kind in wanted} for row in tables[name]
            ]
        case Filter(child=child, predicate=predicate):
            keep = compiled(predicate, types_of(child))
            return [row for row in rows_of(child, tables) if keep(row) is True]
        case Project():
            return _projected(relation, rows_of(relation.child, tables))
        case Join():
            return _joined(relation, tables)
        case SemiJoin():
            return _met(relation, tables)
        case Aggregated():
            return _aggregated(relation, rows_of(relation.child, tables))
        case Distinct(child=child):
            different = {tuple(row.values()): row for row in rows_of(child, tables)}
            return list(different.values())
        case UnionAll(parts=parts):
            names = list(types_of(relation))
            return [
                dict(zip(names, row.values(), strict=True))
                for part in parts
                for row in rows_of(part, tables)
            ]
        case BoundedUnits(child=child):
            return _bounded(relation, rows_of(child, tables))
        case Named(child=child):
            return rows_of(child, tables)
        case Table():
            message = "a relation is computed only when it is bound"
            raise TypeError(message)
        case _:
            assert_never(relation)


def _projected(project: Project, rows: Rows) -> Rows:
    below = types_of(project.child)
    windows, outputs, types = _divided(project)
    extended = [dict(row) for row in rows]
    for name, window in windows:
        for row, value in zip(extended, windowed(window, rows, below), strict=True):
            row[name] = value
    rules = [(name, compiled(value, types)) for name, value in outputs]
    return [{name: rule(row) for name, rule in rules} for row in extended]


@kept
def _divided(project: Project) -> tuple[Windows, Outputs, ColumnTypes]:
    """Return the windows of outputs, the outputs over them, and the types of all their columns."""
    below = types_of(project.child)
    windows, outputs = without_windows(project.outputs, below)
    more = columns(Project(project.child, windows))
    return windows, outputs, ColumnTypes({**below, **dict(more)}) if windows else below


def _joined(join: Join, tables: Tables) -> Rows:
    left, right = rows_of(join.left, tables), rows_of(join.right, tables)
    matches: Callable[[Row], Value] = lambda _: True  # noqa: E731
    if join.on is not None:
        matches = compiled(join.on, types_of(join))
    pairs = [
        (i, j)
        for i in range(len(left))
        for j in range(len(right))
        if matches({**left[i], **right[j]}) is True
    ]
    found: Rows = [{**left[i], **right[j]} for i, j in pairs]
    if join.kind in {"left", "full"}:
        alone = set(range(len(left))) - {i for i, _ in pairs}
        found += [{**left[i], **_nulls(join.right)} for i in alone]
    if join.kind in {"right", "full"}:
        alone = set(range(len(right))) - {j for _, j in pairs}
        found += [{**_nulls(join.left), **right[j]} for j in alone]
    return found


def _met(join: SemiJoin, tables: Tables) -> Rows:
    left, right = rows_of(join.left, tables), rows_of(join.right, tables)
    meets: Callable[[Row], Value] = lambda _: True  # noqa: E731
    if join.on is not None:
        meets = compiled(join.on, {**dict(columns(join.left)), **dict(columns(join.right))})
    return [
        row for row in left if any(meets({**row, **other}) is True for other in right) != join.anti
    ]


def _nulls(relation: Relation) -> Row:
    return dict.fromkeys(types_of(relation))


def _aggregated(relation: Aggregated, rows: Rows) -> Rows:
    below = types_of(relation.child)
    keys = [compiled(value, below) for _, value in relation.keys]
    groups: dict[tuple[Value, ...], Rows] = {} if keys else {(): []}
    for row in rows:
        groups.setdefault(tuple(rule(row) for rule in keys), []).append(row)
    names = [name for name, _ in relation.keys]
    return [
        {
            **dict(zip(names, key, strict=True)),
            **{name: aggregated(value, members, below) for name, value in relation.outputs},
        }
        for key, members in groups.items()
    ]


def _bounded(relation: BoundedUnits, rows: Rows) -> Rows:
    below = types_of(relation.child)
    rules = [compiled(value, below) for value in relation.texts]
    units: dict[tuple[Value, ...], Rows] = {}
    for row in rows:
        unit = tuple(row[name] for name in relation.unit)
        if None not in unit:
            units.setdefault(unit, []).append(row)
    return [
        row
        for members in units.values()
        if len(members) <= relation.rows
        and sum(_bytes(rule(row)) for rule in rules for row in members) <= relation.text_bytes
        for row in members
    ]


def _bytes(text: Value) -> int:
    return len(text.encode("utf-8", "surrogatepass")) if isinstance(text, str) else 0
