"""The schema of a session: the columns of its tables, with what the policy says about them.

Trust: kernel.  A table without its unit, or a unit that is read as something coarser, protects less
than was promised.  A person with two names would count as two, and pay as two.

Columns that the policy does not mention have the types of the source and no facts; those of CSV
files are texts.  Columns of unreadable types are left out.  A column is read as the type that the
policy declares, if possible.
A unit, and the columns that link a table to one, must be read so that different values stay
different: two people taken for one would share the protection of one.  A source that treats
different texts as equal takes several spellings for one person, and is refused.

Definition.  A column names units in a *normal form* if each person has one value in it.  Integers,
days and booleans are their own normal form, however they are stored.  A text is one only if all
tables store it in one kind of source and one type, or if the policy declares it: ``unit_form =
"text"`` takes texts as they are, ``"integer"`` reads integers, and ``"uuid"`` reads UUIDs in their
one usual spelling.  In any case the owner promises that people keep their names.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from discreet.engines.engine import Columns
from discreet.errors import BadPolicy, UnreadableSource
from discreet.plan.binding.scope import unit_form
from discreet.plan.policy.owner_promises import same_columns
from discreet.plan.policy.policy import Policy
from discreet.query.expression_types import CASTS
from discreet.query.relations import folded
from discreet.query.types import Type
from discreet.requests.table_schema import (
    EXACT,
    ColumnFacts,
    SameColumns,
    Schema,
    StoredColumn,
    TableFacts,
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
"""How a column that identifies people may be read.

Strings such as 07 and 7 are one number: declaring a text column a number says so.
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
            f"it has no column {name}, which says whose rows these are or distinguishes them",
            "correct the name, name its own unit = [...], link it to a table, or say public = true",
        )
    if column.stored is not None and column.stored.blurred:
        raise bad_table(
            table,
            f"in the column {name}, which distinguishes rows, different values are held for equal: "
            "by the collation of its texts, by blanks that fill them up, or because moments are "
            "rounded to microseconds",
            "store whole numbers, or texts with a collation by bytes and without padding",
        )
    read = sources[table.name][column.name]
    if read is not None and (read, column.type) not in _APART:
        raise bad_table(
            table,
            f"the column {name} distinguishes rows, and different values of it could become the "
            f"same {column.type.value.lower()}",
            "store it as whole numbers or texts",
        )
    return column


# --- normal forms of units --------------------------------------------------------------------

_READ_AS: Final = {"integer": Type.INTEGER, "text": Type.TEXT, "uuid": Type.TEXT}
_FROM: Final = {
    "integer": frozenset({"integer", "text"}),
    "text": frozenset({"text"}),
    "uuid": frozenset({"text", "uuid"}),
}
"""What may be stored if a form is declared: from all of it the form follows without doubt."""

Named = tuple[TableFacts, ColumnFacts]
Forms = dict[tuple[str, str], str]


def in_normal_form(schema: Schema, policy: Policy) -> Schema:
    """Return the schema with columns that name units read in the declared forms."""
    if policy.unit_forms is None:
        return schema
    forms: Forms = {
        (folded(table.name), folded(column)): form
        for table in schema.tables
        for column, form in zip(table.unit, policy.unit_forms, strict=False)
    }
    for table in schema.tables:  # a pointer to such a column has its form
        link = table.link
        form = None if link is None else forms.get((folded(link.parent), folded(link.key)))
        if link is not None and form is not None:
            forms[folded(table.name), folded(link.column)] = form
    declared = {
        (folded(table.name), folded(column.name))
        for table in policy.tables
        for column in table.columns
    }
    return Schema(
        replace(
            table, columns=tuple(_formed(table, each, forms, declared) for each in table.columns)
        )
        for table in schema.tables
    )


def _formed(
    table: TableFacts, column: ColumnFacts, forms: Forms, declared: set[tuple[str, str]]
) -> ColumnFacts:
    place = folded(table.name), folded(column.name)
    form = forms.get(place)
    if form is None:
        return column
    if place in declared and column.type is not _READ_AS[form]:
        raise bad_table(
            table,
            f"its column {column.name} is declared as {column.type.value.lower()}, and the "
            f"unit_form of the policy is {form}",
            "remove the type of the column, or change unit_form",
        )
    if column.stored is not None and column.stored.form not in _FROM[form]:
        raise bad_table(
            table,
            f"its column {column.name} is stored as {column.stored.native}, from which no unit of "
            f"the form {form} follows without doubt",
            "declare the unit_form that all tables can be read in, or store the column alike in "
            "all of them",
        )
    return replace(column, type=_READ_AS[form], form=form)


def check_forms(schema: Schema) -> None:
    """Make sure that a unit has one normal form in all tables that name it."""
    first: dict[int, Named] = {}
    for table in schema.tables:
        for place, name in enumerate(table.unit):
            column = table.column(name)
            if column is not None:
                check_alike((table, column), first.setdefault(place, (table, column)))


def check_alike(first: Named, other: Named) -> None:
    """Refuse two columns that name the same people, but perhaps differently."""
    (table, column), (known, second) = first, other
    if unit_form(column) != unit_form(second):
        raise bad_table(
            table,
            f"its column {column.name} is {_told(column)}, and {second.name} of {known.name}, "
            f"which names the same, is {_told(second)}",
            "declare unit_form in the policy if it names the unit, or one type for both columns "
            "that is not text, or store both alike",
        )


def _told(column: ColumnFacts) -> str:
    read, *stored = unit_form(column)
    words = " of ".join(part for part in reversed(stored) if part)
    return f"{read} ({words})" if words else read


def check_same(schema: Schema, policy: Policy, unit: PrivacyUnit) -> None:
    """Refuse columns that are promised to be the same but stored or read in several ways.

    Numbers and moments that may be rounded when stored hold no value that could be equal in two
    tables.
    """
    for same in policy.same:
        places = [_found(schema, *place) for place in same.columns]
        opened = [item for item in places if item is not None]
        ways = {(column.reading, column.stored and column.stored.form) for _, column in opened}
        for table, column in opened:
            exact = column.stored is None or column.stored.form in EXACT
            if not unit.columns or len(ways) > 1 or not exact or column.type is Type.FLOAT:
                raise bad_table(
                    table,
                    f"its column {column.name} cannot hold the same as others under '{same.label}'"
                    ": rows are units, or the columns are stored or read in several ways, or in "
                    "one that may round",
                    "take it out of [same]; its scopes then add up with those of other columns",
                )


def _found(schema: Schema, table: str, column: str) -> Named | None:
    facts = schema.table(table)
    own = None if facts is None else facts.column(column)
    return None if facts is None or own is None else (facts, own)


def bad_table(table: TableFacts, what: str, do: str) -> BadPolicy:
    """Return the error for a table that does not say clearly who is protected."""
    return BadPolicy(
        what=f"table {table.name}: {what}.",
        why="who is protected must be clear for every row.",
        do=f"{do}.",
    )
