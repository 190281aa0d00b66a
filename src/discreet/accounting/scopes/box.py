"""Boxes: the records that a question can depend on, as one set of values for each column.

Trust: kernel.  A record that is missing from a box is not charged for the question.

Definition.  A box is a product: the records whose value in each named column lies in a given set;
columns that are not named may hold anything.  It is ``exact`` if it holds just the records that are
meant, and encloses them otherwise (:mod:`discreet.accounting.scopes.value_set`).
Theorem (key ``box-difference``).  Let the box B set conditions B_1, ..., B_k.  The records of a box
A that satisfy B_1, ..., B_(i-1) and not B_i form a box, for each i; these boxes are disjoint, and
together they are A without B.
Proof.  A record of A outside B fails some B_i; the first such i names its piece, and no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self, final

from discreet.accounting.scopes.scope_column import describe_column
from discreet.accounting.scopes.value_set import ANYTHING, Values
from discreet.accounting.storage.decoding import undecodable_map
from discreet.errors import WrongKind
from discreet.units import PrivacyUnit


@final
@dataclass(frozen=True, slots=True, init=False)
class Box:
    """A product set of records: for each column the values that belong.

    >>> from discreet.accounting.scopes.column_conditions import at_least, equals
    >>> box = Box({"state": equals("CA"), "age": at_least(65)})
    >>> {"state": "CA", "age": 70, "sex": None} in box
    True
    >>> print(box)
    age from 65; state 'CA'
    """

    conditions: tuple[tuple[str, Values], ...]
    empty: bool

    def __init__(self, conditions: Mapping[str, Values]) -> None:
        """Take the set of each column that is restricted."""
        if not isinstance(conditions, Mapping):
            raise WrongKind(
                what=f"the conditions are a {type(conditions).__name__}, not a mapping.",
                why="each set of values belongs to a column.",
                do="give a mapping such as {'age': at_least(65)}.",
            )
        for column, values in conditions.items():
            _check(column, values)
        empty = any(values.empty for values in conditions.values())
        kept = () if empty else ((name, conditions[name]) for name in sorted(conditions))
        named = tuple((name, values) for name, values in kept if not values.is_anything)
        object.__setattr__(self, "conditions", named)
        object.__setattr__(self, "empty", empty)

    @classmethod
    def everything(cls) -> Self:
        """Return the box of all records."""
        return cls({})

    @property
    def exact(self) -> bool:
        """Whether the box holds just the records that are meant, not others too."""
        return all(values.exact for _, values in self.conditions)

    @property
    def region(self) -> Box:
        """The same box, held to be exact: where a charge goes, however the box came about."""
        if self.exact:
            return self
        return Box({name: values.region for name, values in self.conditions})

    def on(self, column: str) -> Values:
        """Return what a column may hold.

        >>> print(Box.everything().on("age"))
        anything
        """
        return dict(self.conditions).get(column, ANYTHING)

    def disjoint(self, other: Box) -> bool:
        """Whether no record lies in both, for sure."""
        return (self & other).empty

    def covers(self, other: Box) -> bool:
        """Whether every record of the other lies in this one, for sure.

        >>> from discreet.accounting.scopes.column_conditions import at_least, between
        >>> Box({"age": at_least(18)}).covers(Box({"age": between(20, 30)}))
        True
        """
        if self.empty or other.empty:
            return other.empty
        return all(values.covers(other.on(name)) for name, values in self.conditions)

    def minus(self, other: Box) -> tuple[Box, ...]:
        """Return disjoint boxes that together hold what the other leaves of this one.

        >>> from discreet.accounting.scopes.column_conditions import equals
        >>> both = Box({"state": equals("CA"), "sex": equals("F")})
        >>> for piece in Box.everything().minus(both):
        ...     print(piece)
        sex other than 'F', or NULL
        sex 'F'; state other than 'CA', or NULL
        """
        if not other.exact:
            raise WrongKind(
                what="a box that encloses more than is meant is taken away from another.",
                why="records that were not meant would be taken away too, and not be charged.",
                do="take away `box.region` if the box itself is meant, not what it encloses.",
            )
        if self.disjoint(other):
            return () if self.empty else (self,)
        pieces = []
        inner = dict(self.conditions)
        for name, values in other.conditions:
            mine = inner.get(name, ANYTHING)
            pieces.append(Box({**inner, name: mine & ~values}))
            inner[name] = mine & values
        return tuple(piece for piece in pieces if not piece.empty)

    def for_unit(self, unit: PrivacyUnit, constant: Iterable[str] = ()) -> Box:
        """Return the units that may have a record in this box, as a box.

        A unit of several rows lies in many places at once: only what all its rows share says where
        it is not.  That holds for the columns that name it, and for those that are declared to be
        constant within a unit; conditions on other columns are widened to everything.

        >>> from discreet.accounting.scopes.column_conditions import equals
        >>> from discreet.units import person
        >>> visits = Box({"ward": equals("A"), "birth_year": equals(1980)})
        >>> print(visits.for_unit(person("patient"), constant=["birth_year"]))
        birth_year 1980; ward perhaps anything
        """
        if not isinstance(unit, PrivacyUnit) or isinstance(constant, str):
            raise WrongKind(
                what="a box is asked for the units in it, without a unit or a list of columns.",
                why="the unit says which columns all rows of a person share.",
                do="give row(), person(...) or custom(...), and a list of column names.",
            )
        if self.empty or not unit.columns:
            return self
        shared = {*unit.columns, *constant}
        return Box(
            {name: values if name in shared else values.widened for name, values in self.conditions}
        )

    def __contains__(self, record: object) -> bool:
        """Whether a record, a mapping from column to value, may belong."""
        if not isinstance(record, Mapping) or any(n not in record for n, _ in self.conditions):
            raise WrongKind(
                what="a record does not have all columns of the box.",
                why="without a value there is no saying on which side of a condition it lies.",
                do="give a mapping from column to value, with None for NULL.",
            )
        return not self.empty and all(record[name] in values for name, values in self.conditions)

    def __and__(self, other: Box) -> Box:
        checked_box(other, name="other side of &")
        if self.empty or other.empty:
            return self if self.empty else other
        met = dict(self.conditions)
        for name, values in other.conditions:
            met[name] = met[name] & values if name in met else values
        return Box(met)

    def __repr__(self) -> str:
        """Show how to make the box again."""
        return f"Box({dict(self.conditions)!r})" if not self.empty else "Box({'': Values()})"

    def __str__(self) -> str:
        """Say which records belong."""
        said = sorted(f"{describe_column(name)} {values}" for name, values in self.conditions)
        return "nothing" if self.empty else "; ".join(said) or "everything"

    def written(self) -> dict[str, object]:
        """Return a form that JSON keeps exactly.

        >>> Box.everything().written()
        {'empty': False, 'columns': {}}
        """
        columns = {name: values.written() for name, values in self.conditions}
        return {"empty": self.empty, "columns": columns}

    @classmethod
    def read(cls, data: object) -> Self:
        """Read what ``written`` wrote, and refuse everything else.

        >>> Box.read(Box.everything().written()) == Box.everything()
        True
        """
        if not isinstance(data, dict) or not isinstance(data.get("columns"), dict):
            raise undecodable_map()
        columns = {name: Values.read(values) for name, values in data["columns"].items()}
        empty = data.get("empty")
        box = cls({"": Values()} if empty is True else columns)
        if not isinstance(empty, bool) or box.written() != data:
            raise undecodable_map()
        return box


def checked_box(value: object, *, name: str) -> Box:
    """Return the value if it is a box, and refuse it otherwise."""
    if not isinstance(value, Box):
        raise WrongKind(
            what=f"the {name} is a {type(value).__name__}, not a Box.",
            why="which records it can depend on must be public, and known without the table.",
            do="give a box, such as Box({'age': at_least(18)}) or Box.everything().",
        )
    return value


def _check(column: object, values: object) -> None:
    if not isinstance(column, str) or not isinstance(values, Values):
        raise WrongKind(
            what=f"a condition maps a {type(column).__name__} to a {type(values).__name__}.",
            why="a box names columns and, for each, a set of values.",
            do="give column names and sets such as equals(1), between(18, 64) or is_null().",
        )
