"""Normal forms: one person has one name in all tables, and one value one form.

Trust: kernel.  A person with two names would count as two, and pay as two.

Definition.  A column names units in a *normal form* if each person has one value in it.  Whole
numbers, days and truth values are their own normal form, however they are stored.  A text is one
only if all tables store it in one kind of source and one type, or if the policy declares it:
``unit_form = "text"`` takes texts as they are, ``"integer"`` reads whole numbers, and ``"uuid"``
reads UUIDs in their one usual spelling.  In any case the owner promises that people keep their
names.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from discreet.errors import BadPolicy
from discreet.plan.binding.scope import unit_form
from discreet.plan.policy.policy import Policy
from discreet.query.relations import folded
from discreet.query.types import Type
from discreet.requests.table_schema import EXACT, ColumnFacts, Schema, TableFacts
from discreet.units import PrivacyUnit

_READ_AS: Final = {"integer": Type.INTEGER, "text": Type.TEXT, "uuid": Type.TEXT}
_FROM: Final = {
    "integer": frozenset({"integer", "text"}),
    "text": frozenset({"text"}),
    "uuid": frozenset({"text", "uuid"}),
}
"""What may be stored where a form is declared: from all of it the form follows without doubt."""

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
