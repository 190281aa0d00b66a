"""What a ledger is told of a table, and how its columns are called in scopes.

Trust: kernel.  Both are made from the same facts, so that a name in a box is one that the ledger
has a description of (:mod:`discreet.accounting.scope_column`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any, Final

from discreet.accounting.scope_column import Link, ScopeColumn, Stop, UnitColumn
from discreet.plan.schema import ColumnFacts, Schema, TableFacts
from discreet.query.relations import folded
from discreet.query.types import Type

__all__ = ["described", "scope_name", "unit_form"]

_PLAIN: Final = frozenset({Type.INTEGER, Type.BOOLEAN, Type.DATE})


def described(schema: Schema, table: TableFacts, names: tuple[str, ...]) -> dict[str, Any]:
    """Describe a private table, in plain JSON; ``names`` are those of the unit in the ledger.

    >>> sex = ColumnFacts(name="Sex", type=Type.TEXT, constant=True)
    >>> visits = TableFacts(name="visits", columns=(sex,))
    >>> described(Schema([visits]), visits, ())["columns"]
    [{'column': 'sex', 'source': '', 'native': '', 'read': 'TEXT', 'constant': True, 'same': None}]
    """
    link = _link(schema, table, names)
    return {
        "table": folded(table.name),
        "unit": _listed(_unit(table, names)),
        "link": None if link is None else _listed(link),
        "columns": [_column(each, table) for each in table.columns],
    }


def scope_name(
    schema: Schema, table: TableFacts, column: ColumnFacts, names: tuple[str, ...]
) -> str | None:
    """Return the name of a column in a box, or None if units do not share it.

    Where each row is a unit, it shares all columns with itself.

    >>> ward = ColumnFacts(name="ward", type=Type.TEXT)
    >>> table = TableFacts(name="visits", columns=(ward,))
    >>> ScopeColumn.read(scope_name(Schema([table]), table, ward, ())).table
    'visits'
    """
    own = [folded(each) for each in table.unit]
    name = folded(column.name)
    if table.public:
        return None
    if name in own:
        return _unit_name(_unit(table, names), own.index(name))
    if not column.constant and (own or table.link is not None):
        return None
    if column.same is not None:
        same = column.same
        return ScopeColumn.promised(same.label, column.type.value, same.members).name
    link = _link(schema, table, names)
    return _name(folded(table.name), _unit(table, names), link, _named(column))


def unit_form(column: ColumnFacts) -> tuple[str, ...]:
    """Return the normal form in which a column names units.

    It is the declared one; whole numbers, truth values and days have one form each; other values
    are what they are in one kind of source, stored in one form.

    >>> unit_form(ColumnFacts(name="patient", type=Type.INTEGER))
    ('integer',)
    """
    if column.form is not None:
        return (column.form,)
    if column.type in _PLAIN:
        return (column.type.value.lower(),)
    stored = column.stored
    own = ("", "") if stored is None else (stored.source, stored.form or stored.native)
    return (column.type.value.lower(), *own)


def _unit(table: TableFacts, names: tuple[str, ...]) -> tuple[UnitColumn, ...]:
    found = [table.column(own) for own in table.unit]
    forms = [() if each is None else unit_form(each) for each in found]
    known = names if len(names) == len(table.unit) else table.unit
    return tuple(zip(known, map(folded, table.unit), forms, strict=True))


def _link(schema: Schema, table: TableFacts, names: tuple[str, ...]) -> Link | None:
    """Return the whole way to the unit: a link of any table on it decides whose the rows are."""
    return None if table.link is None else tuple(_stops(schema, table, None, names))


def _stops(
    schema: Schema, table: TableFacts, key: str | None, names: tuple[str, ...]
) -> Iterator[Stop]:
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
    return (folded(column.name), *own, column.type.value)


def _listed(values: Iterable[Any]) -> list[Any]:
    """Return nested tuples as lists, as JSON has them."""
    return [each if isinstance(each, str) else _listed(each) for each in values]


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
