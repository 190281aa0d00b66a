"""What a ledger is told of a table, and how its columns are called in scopes.

Trust: kernel.  Both are made from the same facts, so that a name in a box is one that the ledger
has a description of (:mod:`discreet.accounting.scope_column`).
"""

from __future__ import annotations

import functools
from typing import Any, Final

from discreet.accounting.scope_column import Link, ScopeColumn, UnitColumn
from discreet.plan.schema import ColumnFacts, TableFacts
from discreet.query.relations import folded
from discreet.query.types import Type

__all__ = ["described", "scope_name", "unit_form"]

_PLAIN: Final = frozenset({Type.INTEGER, Type.BOOLEAN, Type.DATE})


def described(table: TableFacts, names: tuple[str, ...]) -> dict[str, Any]:
    """Describe a private table, in plain JSON; ``names`` are those of the unit in the ledger.

    >>> sex = ColumnFacts(name="Sex", type=Type.TEXT, constant=True)
    >>> described(TableFacts(name="visits", columns=(sex,)), ())["columns"]
    [{'column': 'sex', 'source': '', 'native': '', 'read': 'TEXT', 'constant': True, 'same': None}]
    """
    link = _link(table)
    return {
        "table": folded(table.name),
        "unit": [[name, own, list(form)] for name, own, form in _unit(table, names)],
        "link": None if link is None else list(link),
        "columns": [_column(each, table) for each in table.columns],
    }


def scope_name(table: TableFacts, column: ColumnFacts, names: tuple[str, ...]) -> str | None:
    """Return the name of a column in a box, or None if units do not share it.

    Where each row is a unit, it shares all columns with itself.

    >>> ward = ColumnFacts(name="ward", type=Type.TEXT)
    >>> table = TableFacts(name="visits", columns=(ward,))
    >>> ScopeColumn.read(scope_name(table, ward, ())).table
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
        return ScopeColumn.promised(column.same, column.type.value).name
    return _name(folded(table.name), _unit(table, names), _link(table), _named(column))


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


def _link(table: TableFacts) -> Link | None:
    if table.link is None:
        return None
    return folded(table.link.column), folded(table.link.parent), folded(table.link.key)


def _column(column: ColumnFacts, table: TableFacts) -> dict[str, Any]:
    name, source, native, read = _named(column)
    unit = folded(column.name) in map(folded, table.unit)
    return {
        "column": name,
        "source": source,
        "native": native,
        "read": read,
        "constant": column.constant and not unit,
        "same": column.same,
    }


def _named(column: ColumnFacts) -> tuple[str, str, str, str]:
    stored = column.stored
    own = ("", "") if stored is None else (stored.source, stored.native)
    return (folded(column.name), *own, column.type.value)


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
