"""The scope of a question: how it is named, and the box that is a filter on the rows read.

Trust: kernel (T7).

Names in boxes, and what a ledger is told of a table, are made from the same facts,
so that the ledger has a description of every name
(:mod:`discreet.accounting.box`).  A unit outside the box does not pay, so the
answer must not depend on it.

Definition.  A condition of a box *guards* a scan if the scan reads a private table in which the
column of the condition names the unit, or is promised to be the same in all rows of a unit, or any
column if each row is a unit.  A guarded scan is followed by a filter that is printed from the
set of values of the condition (:mod:`discreet.plan.binding.truth_sets`), whatever the question
itself says. A relation is guarded if each of its rows descends from a row of a guarded scan: a
projection, a filter, a DISTINCT and an aggregation with keys if what is below is guarded, an inner
join if one side is, an outer join if the side that it keeps is, a full join and a union if all
parts are. A condition that does not guard the relation is left out of the box.
Theorem (key ``question-scope``).  The answer does not depend on units outside the box, if columns
that are promised to be the same in all rows of a unit are.
Proof.  Each output row of a unit is computed from rows of this unit and from public tables (key
``unit-local``).  By induction over a guarded relation it descends from a row of the unit in a
guarded scan, which has passed the filter, so that the value of the row is in the set of the
condition (key ``membership``).  All rows of the unit have this value, so the unit satisfies the
condition.  This holds for every condition of the box; so a unit outside of it has no output row.
How the box was inferred does not matter: a wrong one costs rows, and nobody's privacy.
A box that no unit can be in would charge nobody, so such a question is refused.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, assert_never

from discreet.accounting import Box
from discreet.accounting.box import Link, LinkStop, ScopeColumn, UnitColumn
from discreet.accounting.values import Values, is_not_null
from discreet.errors import UnsupportedSQL
from discreet.plan.binding.names import BoundRelation
from discreet.plan.binding.truth_sets import membership
from discreet.query.expressions import Expression, Literal, conjunction
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
    folded,
)
from discreet.query.source_text import Span, pointed
from discreet.query.types import Type
from discreet.requests.table_schema import ColumnFacts, Schema, TableFacts

_PLAIN: Final = frozenset({Type.INTEGER, Type.BOOLEAN, Type.DATE})


def table_description(schema: Schema, table: TableFacts, names: tuple[str, ...]) -> dict[str, Any]:
    """Describe a private table, in plain JSON; ``names`` are those of the unit in the ledger.

    >>> sex = ColumnFacts(name="Sex", type=Type.TEXT, constant=True)
    >>> visits = TableFacts(name="visits", columns=(sex,))
    >>> table_description(Schema([visits]), visits, ())["columns"]
    [{'column': 'sex', 'source': '', 'native': '', 'read': 'TEXT', 'constant': True, 'same': None}]
    """
    link = _link(schema, table, names)
    return {
        "table": folded(table.name),
        "unit": _listed(_unit(table, names)),
        "link": None if link is None else _listed(link),
        "columns": [_column(column, table) for column in table.columns],
    }


def scope_name(
    schema: Schema, table: TableFacts, column: ColumnFacts, names: tuple[str, ...]
) -> str | None:
    """Return the name of a column in a box, or None if units do not share it.

    If each row is a unit, it shares all columns with itself.

    >>> ward = ColumnFacts(name="ward", type=Type.TEXT)
    >>> table = TableFacts(name="visits", columns=(ward,))
    >>> ScopeColumn.read(scope_name(Schema([table]), table, ward, ())).table
    'visits'
    """
    own = [folded(unit_column) for unit_column in table.unit]
    name = folded(column.name)
    if table.public:
        return None
    if name in own:
        return _unit_name(_unit(table, names), own.index(name))
    if not column.constant and (own or table.link is not None):
        return None
    if column.same is not None:
        same = column.same
        return ScopeColumn.promised(same.label, column.reading, same.members).name
    link = _link(schema, table, names)
    return _name(folded(table.name), _unit(table, names), link, _named(column))


def unit_form(column: ColumnFacts) -> tuple[str, ...]:
    """Return the normal form in which a column names units: those of one form name people alike.

    It is the declared one; whole numbers, truth values and days have one form each, whole numbers
    also in CSV files that are written differently (key ``whole-cells``); other values are what they
    are in one kind of source, stored in one form.

    >>> unit_form(ColumnFacts(name="patient", type=Type.INTEGER))
    ('integer',)
    """
    if column.form is not None:
        return (column.form,)
    if column.type in _PLAIN:
        return (column.type.value.lower(),)
    stored = column.stored
    own = ("", "") if stored is None else (stored.source, stored.form or stored.native)
    written = (stored.cells,) if stored is not None and stored.cells else ()
    return (column.type.value.lower(), *own, *written)


def _read_form(column: ColumnFacts) -> tuple[str, ...]:
    """Return the normal form with how CSV files are written, if that is not as usual.

    In other letters a cell is another text, and between other separators it is another cell: who
    was named by one reading may have another name by the next, and pays for both.
    """
    form, cells = unit_form(column), None if column.stored is None else column.stored.cells
    return form if not cells or cells in form else (*form, cells)


def _unit(table: TableFacts, names: tuple[str, ...]) -> tuple[UnitColumn, ...]:
    columns = [table.column(own) for own in table.unit]
    forms = [() if column is None else _read_form(column) for column in columns]
    known = names if len(names) == len(table.unit) else table.unit
    return tuple(zip(known, map(folded, table.unit), forms, strict=True))


def _link(schema: Schema, table: TableFacts, names: tuple[str, ...]) -> Link | None:
    """Return the whole way to the unit: a link of any table on it decides whose the rows are."""
    return None if table.link is None else tuple(_stops(schema, table, None, names))


def _stops(
    schema: Schema, table: TableFacts, key: str | None, names: tuple[str, ...]
) -> Iterator[LinkStop]:
    pointer = None if table.link is None else table.link.column
    ends = _end(table, key), _end(table, pointer)
    yield folded(table.name), *ends, _unit(table, names) if table.link is None else ()
    parent = None if table.link is None else schema.table(table.link.parent)
    if table.link is not None and parent is not None:
        yield from _stops(schema, parent, table.link.key, names)


def _end(table: TableFacts, name: str | None) -> tuple[str, ...]:
    column = None if name is None else table.column(name)
    if column is not None:
        return _named(column)
    return () if name is None else (folded(name),)


def _column(column: ColumnFacts, table: TableFacts) -> dict[str, Any]:
    name, source, native, read = _named(column)
    unit = folded(column.name) in map(folded, table.unit)
    same = column.same
    return {
        "column": name,
        "source": source,
        "native": native,
        "read": read,
        "constant": column.constant and not unit,
        "same": None if same is None else [same.label, _listed(sorted(same.members))],
    }


def _named(column: ColumnFacts) -> tuple[str, str, str, str]:
    stored = column.stored
    own = ("", "") if stored is None else (stored.source, stored.native)
    return (folded(column.name), *own, column.reading)


def _listed(values: Iterable[Any]) -> list[Any]:
    """Return nested tuples as lists, as JSON has them."""
    return [value if isinstance(value, str) else _listed(value) for value in values]


@functools.lru_cache(4096)
def _name(
    table: str,
    unit: tuple[UnitColumn, ...],
    link: Link | None,
    column: tuple[str, str, str, str],
) -> str:
    return ScopeColumn.of(table, unit, link, column).name


@functools.lru_cache(64)
def _unit_name(unit: tuple[UnitColumn, ...], place: int) -> str:
    return ScopeColumn.of_unit(unit, place).name


_MATCHED: Final = frozenset({"inner", "cross"})
"""The joins whose rows each come from a row of both sides."""

_KEPT: Final = {"left": (0,), "right": (1,)}
"""The side whose unmatched rows a join keeps; any other one may keep those of both."""

Guards = Mapping[Scan, Expression]
"""The scans that a condition guards, and the filter that follows each of them."""


def enforce_scope(
    bound: BoundRelation, schema: Schema, names: tuple[str, ...] = (), span: Span | None = None
) -> BoundRelation:
    """Return a private relation that reads no row outside its box, with the box that it enforces.

    ``names`` are those of the unit.  A box that nobody can be in is refused.

    >>> from discreet.accounting.values import equals
    >>> from discreet.requests.table_schema import ColumnFacts, TableFacts
    >>> from discreet.query.types import Type
    >>> scan = Scan("visits", (("ward", Type.TEXT), ("age", Type.TEXT)))
    >>> ward, age = (ColumnFacts(name=name, type=kind) for name, kind in scan.columns)
    >>> visits = TableFacts(name="visits", columns=(ward, age))
    >>> schema = Schema([visits])
    >>> conditions = {  # no text is 5
    ...     scope_name(schema, visits, ward, ()): equals("A"),
    ...     scope_name(schema, visits, age, ()): equals(5)}
    >>> found = enforce_scope(
    ...     BoundRelation(relation=scan, fields=(), unit=(), scope=Box(conditions)), schema)
    >>> print(found.scope)
    visits.ward 'A'
    >>> found.relation.predicate
    Call(function='IN', arguments=(Column(name='ward', table=None), Literal(value='A')))
    """
    if bound.scope.empty:
        raise _nobody(span)
    kept: dict[str, Values] = {}
    filters: dict[Scan, tuple[Expression, ...]] = {}
    for column, values in bound.scope.conditions:
        guards = _guards(bound.relation, schema, names, (column, values))
        if not _is_guarded(bound.relation, guards):
            continue
        if all(condition == Literal(False) for condition in guards.values()):
            raise _nobody(span)
        kept[column] = values
        for scan, condition in guards.items():
            filters[scan] = (*filters.get(scan, ()), condition)
    return replace(bound, relation=_filtered(bound.relation, filters), scope=Box(kept))


def _guards(
    relation: Relation, schema: Schema, names: tuple[str, ...], condition: tuple[str, Values]
) -> Guards:
    """Return the scans that a condition guards, with their filters."""
    known, values = condition
    guards: dict[Scan, Expression] = {}
    for scan in descend(relation):
        table = schema.table(scan.table) if isinstance(scan, Scan) else None
        if not isinstance(scan, Scan) or table is None or table.public:
            continue
        for column in table.columns:
            if scope_name(schema, table, column, names) == known:
                names_unit = folded(column.name) in map(folded, table.unit)
                inside = values & is_not_null() if names_unit else values
                filtered = membership(column.name, column.type, inside)
                if filtered is not None:
                    guards[scan] = filtered
    return guards


def _is_guarded(node: Relation, guards: Guards) -> bool:  # noqa: PLR0911  one for each kind
    """Whether every row of a relation descends from a row of a guarded scan."""
    match node:
        case Scan():
            return node in guards
        case Filter() | Project() | Distinct() | Named() | BoundedUnits():
            return _is_guarded(node.child, guards)
        case Aggregated(child=child, keys=keys):  # without keys there is a row for no rows
            return bool(keys) and _is_guarded(child, guards)
        case Join(kind=kind):
            sides = [_is_guarded(side, guards) for side in node.children()]
            if kind in _MATCHED:
                return any(sides)
            return all(sides[place] for place in _KEPT.get(kind, (0, 1)))
        case SemiJoin(left=left):
            return _is_guarded(left, guards)
        case UnionAll(parts=parts):
            return all(_is_guarded(part, guards) for part in parts)
        case Table() | Valued():  # of which nothing bound is made
            return False
        case _:
            assert_never(node)


def _filtered(node: Relation, filters: Mapping[Scan, tuple[Expression, ...]]) -> Relation:
    """Put filters directly above the scans."""
    if isinstance(node, Scan):
        predicate = conjunction(filters.get(node, ()))
        return node if predicate is None else Filter(node, predicate, span=node.span)
    return node.rebuilt([_filtered(child, filters) for child in node.children()])


def _nobody(span: Span | None) -> UnsupportedSQL:
    return UnsupportedSQL(
        what=pointed("nobody can meet all conditions of this question.", span),
        why="its answer would be noise alone, and a question about nobody has nobody to pay for "
        "it.",
        do="correct the conditions; two of them exclude each other, or compare with NULL.",
    )
