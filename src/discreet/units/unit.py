"""The unit of privacy: whose presence is hidden, and under which relation.

Trust: kernel.

Definition.  A unit is named by columns: all rows that agree on them belong to one unit.  A person
is named by one column, a person's day by two, and with no columns each row is a unit of its own.
Two tables are as far apart as the canonical metric says when everything that belongs to one unit is
taken as one row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from discreet.arrays import listed
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import whole
from discreet.notebook import Shown
from discreet.units.relation import Relation, table_distance


@final
@dataclass(frozen=True, slots=True, init=False)
class PrivacyUnit(Shown):
    """Who is protected.

    >>> unit = person("patient")
    >>> visit = {"patient": 7, "ward": "A"}
    >>> again = {"patient": 7, "ward": "B"}
    >>> unit.distance([visit, again], [])  # one person, two rows
    1
    >>> row().distance([visit, again], [])
    2
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
            raise OutOfRange(
                what="a column is named twice.",
                why="units are told apart by each column once.",
                do="name each column once.",
            )
        object.__setattr__(self, "columns", chosen)
        object.__setattr__(self, "relation", Relation.read(relation))

    def distance(self, left: Sequence[object], right: Sequence[object]) -> int | float:
        """Return how many steps of the relation lead from one table to the other, or infinity.

        Rows of a unit with columns are mappings from column to value; other rows may be anything
        hashable.
        """
        if not self.columns:
            first, second = (
                [_frozen(item) for item in listed(table, name="rows")] for table in (left, right)
            )
            return table_distance(first, second, relation=self.relation)
        here, there = self._units(left), self._units(right)
        everyone = list(here.keys() | there.keys())
        return table_distance(
            [_member(here, who) for who in everyone],
            [_member(there, who) for who in everyone],
            relation=self.relation,
        )

    def group(self, size: int) -> int:
        """Return the distance at which ``size`` units together are protected.

        >>> person("patient").group(3)
        3
        """
        return whole(size, name="size", low=0)

    def _units(self, table: Sequence[object]) -> dict[Hashable, Hashable]:
        """Gather the rows of each unit into one value."""
        gathered: dict[Hashable, Counter[Hashable]] = {}
        for item in listed(table, name="rows"):
            gathered.setdefault(self._owner(item), Counter())[_frozen(item)] += 1
        return {who: frozenset(rows.items()) for who, rows in gathered.items()}

    def _owner(self, item: object) -> Hashable:
        if not isinstance(item, Mapping) or not all(column in item for column in self.columns):
            raise WrongKind(
                what=f"a row does not have the columns {', '.join(self.columns)}.",
                why="they say whom the row belongs to.",
                do="give rows as mappings from column to value, with these columns.",
            )
        owner = tuple(item[column] for column in self.columns)
        if not _hashable(owner):
            raise _no_value()
        if any(part is None or part != part for part in owner):  # noqa: PLR0124  NaN
            raise OutOfRange(
                what=f"a row has no value in the columns {', '.join(self.columns)}.",
                why="a row that belongs to nobody would protect nobody.",
                do="drop such rows, or fill in whom they belong to.",
            )
        return owner


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
        raise OutOfRange(
            what="no columns are named.",
            why="without columns each row is a unit of its own.",
            do="name the columns, or use row().",
        )
    return unit


def same_unit(first: PrivacyUnit, *others: PrivacyUnit) -> PrivacyUnit:
    """Return the unit that all share; losses for different units do not add up.

    >>> same_unit(row(), row()) == row()
    True
    """
    for unit in (first, *others):
        if not isinstance(unit, PrivacyUnit):
            raise WrongKind(
                what=f"the unit is a {type(unit).__name__}, not a PrivacyUnit.",
                why="a loss means something only together with whom it is about.",
                do="give person(...), row() or custom(...).",
            )
        if (unit.columns, unit.relation) != (first.columns, first.relation):
            raise WrongKind(
                what=f"the units differ: {describe_unit(first)}, and {describe_unit(unit)}.",
                why="a loss promised to one unit says nothing about another.",
                do="use one unit, or convert the losses by their distance first.",
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
        raise WrongKind(
            what=f"the {name} is empty or not text.",
            why="units are told apart by what they are called.",
            do=f"give the {name} as text.",
        )
    return value


def _frozen(item: object) -> Hashable:
    """Turn a mapping into a value that compares as a whole; leave the rest to be checked."""
    if not isinstance(item, Mapping):
        return item
    if not all(_hashable(value) for value in item.values()):
        raise _no_value()
    return frozenset(item.items())


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _no_value() -> WrongKind:
    return WrongKind(
        what="a row holds a list or another value that cannot be compared as a whole.",
        why="equal rows must be seen to be equal.",
        do="give rows whose values are numbers, text or tuples.",
    )


def _member(units: Mapping[Hashable, Hashable], who: Hashable) -> Hashable:
    return (who, units[who]) if who in units else None
