"""What a policy says about names: how tables name the unit, and which columns hold the same.

Trust: kernel.  A ledger takes one name for one value of every unit, in all tables and for all time.

``unit_form = "integer"`` (or ``"text"`` or ``"uuid"``, or a list of them for a unit of several
columns) declares the normal form of the unit: whatever a table stores is read as a whole number, as
the text itself, or as a UUID in its one usual spelling.  Without it all tables must store the unit
alike.
``[same]`` lists columns, as ``sex = ["visits.sex", "patients.sex"]``: the owner promises that all
rows of a unit agree in all of them, in every table of the list and whatever the tables are stored
in later.  They are one column in scopes, called by the name of the line together with its list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

from discreet.plan.policy_values import bad, texts
from discreet.plan.schema import TableFacts
from discreet.query.relations import folded

__all__ = ["FORMS", "Same", "read_same", "unit_forms"]

FORMS: Final = ("integer", "text", "uuid")
"""The forms in which a policy may have units named."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Same:
    """A promise that columns, by table and name, hold one value for each unit.

    >>> Same(label="sex", columns=(("visits", "sex"), ("patients", "sex"))).label
    'sex'
    """

    label: str
    columns: tuple[tuple[str, str], ...]


def unit_forms(value: object, columns: tuple[str, ...]) -> tuple[str, ...] | None:
    """Read the normal forms of the unit, one for each column that names it.

    >>> unit_forms("uuid", ("patient",))
    ('uuid',)
    """
    if value is None:
        return None
    forms = [value] if isinstance(value, str) else value
    if not isinstance(forms, list) or any(each not in FORMS for each in forms):
        raise bad("unit_form", "there is no such form", f"use one of {', '.join(FORMS)}")
    if len(forms) != len(columns):
        do = "give one form for each column of unit, which stands beside it"
        raise bad("unit_form", "the unit has another number of columns", do)
    return tuple(forms)


def read_same(data: Mapping[str, Any], tables: tuple[TableFacts, ...]) -> tuple[Same, ...]:
    """Read which columns hold the same; each must be declared, and constant in its table.

    >>> read_same({}, ())
    ()
    """
    known = {folded(table.name): table for table in tables}
    found = []
    seen: set[tuple[str, str]] = set()
    for label, listed in data.items():
        columns = tuple(_column(each, known, label) for each in texts(listed, f"same.{label}"))
        if not columns:
            raise bad(f"same.{label}", "it lists no column", "name columns as 'table.column'")
        for each in columns:
            if each in seen:
                raise bad(
                    f"same.{label}", "a column is listed twice", "list each once, in one line"
                )
            seen.add(each)
        found.append(Same(label=label, columns=columns))
    return tuple(found)


def _column(text: str, tables: Mapping[str, TableFacts], label: str) -> tuple[str, str]:
    table, _, column = text.partition(".")
    facts = tables.get(folded(table))
    declared = None if facts is None else facts.column(column)
    if facts is None or declared is None or facts.public or not declared.constant:
        raise bad(
            f"same.{label}",
            f"'{text}' is no column of a private table that is declared constant",
            "write 'table.column', and declare constant = true for the column",
        )
    if folded(column) in map(folded, facts.unit):
        raise bad(f"same.{label}", f"'{text}' names the unit", "leave it out: it is one already")
    return folded(facts.name), folded(declared.name)
