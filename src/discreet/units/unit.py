"""The unit of privacy: whose presence is hidden, and under which relation.

Trust: kernel.

Definition.  A unit is named by columns: all rows that agree on them belong to one unit.  A person
is named by one column, a person's day by two, and with no columns each row is a unit of its own.
Two tables are as far apart as the canonical metric says when everything that belongs to one unit is
taken as one row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from discreet.arrays import listed
from discreet.errors import OutOfRange, WrongKind
from discreet.notebook import Shown
from discreet.units.relation import Relation


@final
@dataclass(frozen=True, slots=True, init=False)
class PrivacyUnit(Shown):
    """Who is protected.

    >>> unit = person("patient")
    >>> unit.columns, unit.relation
    (('patient',), <Relation.ADD_REMOVE: 'add_remove'>)
    """

    name: str
    columns: tuple[str, ...]
    relation: Relation

    def __init__(
        self,
        *,
        name: str,
        columns: Iterable[str] = (),
        relation: Relation | str = Relation.ADD_REMOVE,
    ) -> None:
        """Take a name to show, the columns that name a unit, and a relation."""
        object.__setattr__(self, "name", _text(name, "name"))
        chosen = tuple(_text(column, "column") for column in listed(columns, name="columns"))
        if len(set(chosen)) != len(chosen):
            raise OutOfRange("a column is named twice; name each column once.")
        object.__setattr__(self, "columns", chosen)
        object.__setattr__(self, "relation", Relation.read(relation))


def person(column: str, *, relation: Relation | str = Relation.ADD_REMOVE) -> PrivacyUnit:
    """Protect each person, with all rows that carry their value in a column.

    >>> person("patient", relation="replace").relation
    <Relation.REPLACE: 'replace'>
    """
    return PrivacyUnit(name="person", columns=(column,), relation=relation)


def row(*, relation: Relation | str = Relation.ADD_REMOVE) -> PrivacyUnit:
    """Protect each row by itself.

    >>> row().columns
    ()
    """
    return PrivacyUnit(name="row", relation=relation)


def custom(
    name: str, *, columns: Iterable[str], relation: Relation | str = Relation.ADD_REMOVE
) -> PrivacyUnit:
    """Protect what several columns name together, such as one day of one person.

    >>> custom("person-day", columns=["person", "day"]).columns
    ('person', 'day')
    """
    unit = PrivacyUnit(name=name, columns=columns, relation=relation)
    if not unit.columns:
        raise OutOfRange("no columns are named; name the columns, or use row().")
    return unit


def same_unit(first: PrivacyUnit, *others: PrivacyUnit) -> PrivacyUnit:
    """Return the unit that all share; losses for different units do not add up.

    >>> same_unit(row(), row()) == row()
    True
    """
    for unit in (first, *others):
        if not isinstance(unit, PrivacyUnit):
            raise WrongKind(
                f"the unit is a {type(unit).__name__}, not a PrivacyUnit; give person(...), row() "
                "or custom(...)."
            )
        if ({*unit.columns}, unit.relation) != ({*first.columns}, first.relation):
            raise WrongKind(
                f"the units differ: {describe_unit(first)}, and {describe_unit(unit)}; use one "
                "unit, or convert the losses by their distance first."
            )
    return first


def describe_unit(unit: PrivacyUnit) -> str:
    """Say who is protected.

    >>> describe_unit(person("patient"))
    'one person (patient) under add_remove'
    """
    columns = f" ({', '.join(unit.columns)})" if unit.columns else ""
    return f"one {unit.name}{columns} under {unit.relation.value}"


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise WrongKind(f"the {name} is empty or not text; give the {name} as text.")
    return value
