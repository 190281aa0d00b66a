"""The schema of a session: the columns of its tables, with what the policy says about them.

Trust: kernel.  A table without its unit, or a unit that is read as something coarser, protects less
than was promised.

Columns that the policy does not mention have the types of the source and no facts; those of CSV
files are texts.  Columns of unreadable types are left out.  A column is read as the type that the
policy declares, if possible.
A unit, and the columns that link a table to one, must be read so that different values stay
different: two people taken for one would share the protection of one.  A source that treats
different texts as equal takes several spellings for one person, and is refused.
A unit has one normal form in all tables, so that one person is not taken for two: the declared one,
or the one in which all tables store it (:mod:`discreet.session.unit_forms`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from discreet.engines.engine import Columns
from discreet.errors import BadPolicy, UnreadableSource
from discreet.plan.policy.owner_promises import same_columns
from discreet.plan.policy.policy import Policy
from discreet.query.expression_types import CASTS
from discreet.query.relations import folded
from discreet.query.types import Type
from discreet.requests.table_schema import (
    ColumnFacts,
    SameColumns,
    Schema,
    StoredColumn,
    TableFacts,
)
from discreet.session.unit_forms import (
    bad_table,
    check_alike,
    check_forms,
    check_same,
    in_normal_form,
)
from discreet.units import PrivacyUnit

_APART: Final = frozenset(
    {
        *((kind, kind) for kind in Type if kind is not Type.FLOAT),
        (Type.TEXT, Type.INTEGER),
        (Type.INTEGER, Type.TEXT),
        (Type.BOOLEAN, Type.INTEGER),
        (Type.BOOLEAN, Type.TEXT),
        (Type.DATE, Type.TEXT),
        (Type.DATE, Type.TIMESTAMP),
    }
)
"""How a column that tells people apart may be read.

Texts such as 07 and 7 are one number: whoever declares that a text is a number says so.
"""


def schema_of(
    policy: Policy,
    unit: PrivacyUnit,
    sources: Mapping[str, Columns],
    stored: Mapping[str, Mapping[str, StoredColumn]] | None = None,
) -> Schema:
    """Return the tables of a session, from the columns of the sources and how they store them.

    >>> from discreet.units import person
    >>> found = schema_of(Policy(), person("patient"), {"visits": {"patient": Type.INTEGER}})
    >>> found.table("visits").unit
    ('patient',)
    """
    described = {folded(table.name): table for table in policy.tables}
    same = same_columns(policy.same, policy.tables, unit.columns)
    tables = []
    for name, columns in sources.items():
        plain = TableFacts(name=name, columns=(), unit=unit.columns, frozen=policy.frozen)
        facts = described.get(folded(name), plain)
        known = (stored or {}).get(name, {})
        table = _table(replace(facts, name=name), unit, columns, known)
        tables.append(_stored(table, known, same))
    schema = in_normal_form(Schema(tables), policy)
    for table in schema.tables:
        _check_owner(table, unit, schema, sources)
    check_forms(schema)
    check_same(schema, policy, unit)
    return schema


def _stored(
    table: TableFacts,
    stored: Mapping[str, StoredColumn],
    promised: Mapping[tuple[str, str], SameColumns],
) -> TableFacts:
    """Add how the source stores the columns, and which of them are promised to be the same."""
    columns = (
        replace(
            column,
            stored=stored.get(column.name),
            same=promised.get((folded(table.name), folded(column.name))),
        )
        for column in table.columns
    )
    return replace(table, columns=tuple(columns))


def _table(
    facts: TableFacts, unit: PrivacyUnit, columns: Columns, stored: Mapping[str, StoredColumn]
) -> TableFacts:
    if len({folded(column) for column in columns}) != len(columns):
        raise UnreadableSource(
            what=f"two columns of {facts.name} differ in the case of letters only.",
            why="questions call columns by their names, in any case.",
            do="rename one of them.",
        )
    spelled = {folded(column): column for column in columns}
    for declared in facts.columns:
        if folded(declared.name) not in spelled:
            raise _no_column(facts, declared.name, columns)
    own = facts.unit
    if not facts.public and facts.link is None and not own:
        own = unit.columns
    known_columns = tuple(_columns(facts, columns, stored))
    return replace(facts, columns=known_columns, unit=own)


def _no_column(facts: TableFacts, name: str, columns: Columns) -> BadPolicy:
    """Return the error for a column that is described and not there, with what it may be."""
    near = difflib.get_close_matches(folded(name), map(folded, columns), n=1)
    do = f"correct its name: there is {near[0]}" if near else "correct its name"
    if any(sign in column for column in columns for sign in ";\t|"):
        do = (
            "correct its name; or, since the names in the first line hold semicolons, tabs or "
            f'bars, declare what separates them: separator = ";" below [tables.{facts.name}.csv]'
        )
    return bad_table(facts, f"there is no column {name} in the data", do)


def _columns(
    facts: TableFacts, columns: Columns, stored: Mapping[str, StoredColumn]
) -> Iterator[ColumnFacts]:
    for name, kind in columns.items():
        declared = facts.column(name)
        if declared is None and kind is not None:
            yield ColumnFacts(name=name, type=kind)
        if declared is not None:
            cells = name in stored and stored[name].cells is not None  # read as any type
            if kind is None or (declared.type not in CASTS[kind] and not cells):
                there = "a type that cannot be read" if kind is None else kind.value.lower()
                wanted = declared.type.value.lower()
                what = f"the column {name} is declared as {wanted}, and the data has {there}"
                raise bad_table(facts, what, "declare a type that it can be read as")
            yield replace(declared, name=name)


def _check_owner(
    table: TableFacts, unit: PrivacyUnit, schema: Schema, sources: Mapping[str, Columns]
) -> None:
    """Make sure that the owner of every row is known and distinguishable."""
    if not table.public and table.link is None:
        _check_unit(table, unit)
    if table.link is not None:
        parent = schema.table(table.link.parent)
        if parent is None:
            what = f"its rows belong to those of {table.link.parent}, which is not opened"
            raise bad_table(table, what, f"open {table.link.parent} too")
        if not unit.columns:
            what = "its rows belong to those of another, and each row is protected by itself"
            raise bad_table(table, what, "remove its link, or name the unit by a column")
        pointer = _check_column(table, table.link.column, sources)
        key = _check_column(parent, table.link.key, sources)
        check_alike((table, pointer), (parent, key))
    for column in (*table.unit, *table.key):
        _check_column(table, column, sources)


def _check_unit(table: TableFacts, unit: PrivacyUnit) -> None:
    """Refuse a table whose own unit differs from that of the session, and so of its ledger."""
    if len(table.unit) != len(unit.columns):
        raise bad_table(
            table,
            "it names its unit by another number of columns than the other tables",
            "name as many columns",
        )
    for own, name in zip(table.unit, unit.columns, strict=True):
        if folded(own) != folded(name) and table.column(name) is not None:
            raise bad_table(
                table,
                f"it has a column {name}, as the unit is called, and names its unit by {own}",
                f"remove its own unit, or rename the column {name} if it means something else",
            )


def _check_column(table: TableFacts, name: str, sources: Mapping[str, Columns]) -> ColumnFacts:
    """Refuse a column that is missing, or read as something coarser."""
    column = table.column(name)
    if column is None:
        raise bad_table(
            table,
            f"it has no column {name}, which says whose rows these are or tells them apart",
            "correct the name, name its own unit = [...], link it to a table, or say public = true",
        )
    if column.stored is not None and column.stored.blurred:
        raise bad_table(
            table,
            f"in the column {name}, which tells rows apart, different values are held for equal: "
            "by the collation of its texts, by blanks that fill them up, or because moments are "
            "rounded to microseconds",
            "store whole numbers, or texts with a collation by bytes and without padding",
        )
    read = sources[table.name][column.name]
    if read is not None and (read, column.type) not in _APART:
        raise bad_table(
            table,
            f"the column {name} tells rows apart, and different values of it could become the "
            f"same {column.type.value.lower()}",
            "store it as whole numbers or texts",
        )
    return column
