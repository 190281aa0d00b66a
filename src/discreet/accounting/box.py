"""Scopes: the columns they name, boxes of records, and how much one unit can contribute.

Trust: kernel.

Two scopes are taken to be disjoint only by conditions on one name.  If one name
stood for two columns, the same people would look like different ones, and pay less than they lost.

Definition.  A *schema* describes one private table, in plain JSON: its name, the columns that name
the unit with their normal forms, the links that lead to these, and for every column the
type that it has in the source, the kind of that source, and the type that it is read as.  A column
of a scope is the triple [schema, table, column], where ``schema`` is the SHA-256 of the part of the
description that decides what the column's values are and whose.  It stands in a box as the JSON
text of this list, which no other triple has.
Theorem (key ``scope-names``).  A unit that all rows of a table share a column with has one value
under each name, as long as its values stay what they are; and a condition on one name says nothing
about another, so that charges under two names add up for somebody.
Proof: docs/proofs/composition.md, section 11.

A record that is missing from a box is not charged for the question.

Definition.  A box is a product: the records whose value in each named column is in a given set;
columns that are not named may hold anything.  It is ``exact`` if it holds just the records that are
meant, and encloses them otherwise (:mod:`discreet.accounting.values`).
Theorem (key ``box-difference``).  Let the box B set conditions B_1, ..., B_k.  The records of a box
A that satisfy B_1, ..., B_(i-1) and not B_i form a box, for each i; these boxes are disjoint, and
together they are A without B.
Proof.  A record of A outside B fails some B_i; the first such i names its piece, and no other.

Definition.  A unit has at most ``rows`` rows; at most ``per_part`` of them have the same value in a
column, and they have at most ``parts`` different values there.  ``units`` bounds how many smaller
units (a person's days, say) belong to one.
These are promises about every possible table, enforced before anything is released, never measured.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self, final

from discreet.accounting.amounts import (
    read_integer,
    require_stored,
    stored_fields,
    undecodable,
    write_integer,
)
from discreet.accounting.values import ANYTHING, Values
from discreet.errors import WrongKind
from discreet.exact import whole
from discreet.units import PrivacyUnit

UnitColumn = tuple[str, str, tuple[str, ...]]
"""What names the unit: its name in the ledger, the table's own column, and the normal form."""

LinkStop = tuple[str, tuple[str, ...], tuple[str, ...], tuple[UnitColumn, ...]]
"""A table on the way to the unit: its name, its key, what points on from it, and its own unit.

Key and pointer are columns with the kind of source and the types there and here; the first stop has
no key, and the last one no pointer.
"""

Link = tuple[LinkStop, ...]
"""How a table without a unit of its own finds it: all tables on the way, itself first."""

SharedColumn = tuple[str, ...]
"""A column that holds the same as others: its table, its name, and how the table finds its unit."""

_PARTS: Final = 3
_DIGITS: Final = 64


@final
@dataclass(frozen=True, slots=True)
class ScopeColumn:
    """A column of a scope; ``table`` is empty for one that several tables share."""

    schema: str
    table: str
    column: str

    @classmethod
    def of(
        cls,
        table: str,
        unit: tuple[UnitColumn, ...],
        link: Link | None,
        column: tuple[str, str, str, str],
    ) -> Self:
        """Name a column of one table: name, kind of source, and its types there and here."""
        name, source, native, read = column
        schema = _digest(
            {
                "table": table,
                "unit": [list(key) for key in unit],
                "link": link,
                "column": [name, source, native, read],
            }
        )
        return cls(schema, table, name)

    @classmethod
    def of_unit(cls, unit: tuple[UnitColumn, ...], place: int) -> Self:
        """Name one of the columns that name the unit, in all tables."""
        schema = _digest({"unit": [[name, *form] for name, _, form in unit]})
        return cls(schema, "", unit[place][0])

    @classmethod
    def promised(cls, label: str, read: str, members: tuple[SharedColumn, ...]) -> Self:
        """Name columns that the owner declares to hold the same values."""
        return cls(_digest({"same": [label, read, sorted(members)]}), "", label)

    @classmethod
    def read(cls, name: str) -> Self | None:
        """Read a name in a box, or return None if it is one of another kind."""
        try:
            parts = json.loads(name)
        except (ValueError, RecursionError):
            return None
        texts = isinstance(parts, list) and all(isinstance(part, str) for part in parts)
        if not texts or len(parts) != _PARTS or len(parts[0]) != _DIGITS:
            return None
        column = cls(*parts)
        return column if column.name == name else None

    @property
    def name(self) -> str:
        """The name in a box: a JSON list, in the one way in which it is written."""
        return _text([self.schema, self.table, self.column])

    def __str__(self) -> str:
        return f"{self.table}.{self.column}" if self.table else self.column


def shared_columns(content: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of what all rows of a unit share, as a described table has it.

    These are the columns that name the unit, and those that are promised to be constant.  What is
    described in another form says nothing, and nothing is shared.
    """
    try:
        return tuple(column.name for column in _shared(content))
    except (KeyError, TypeError, ValueError):
        return ()


def _shared(content: Mapping[str, Any]) -> Iterator[ScopeColumn]:
    unit = tuple((name, own, tuple(form)) for name, own, form in content["unit"])
    link = None if content["link"] is None else tuple(content["link"])
    yield from (ScopeColumn.of_unit(unit, place) for place in range(len(unit)))
    for column in content["columns"]:
        if column["constant"]:
            if column["same"] is not None:
                label, members = column["same"]
                yield ScopeColumn.promised(label, column["read"], tuple(map(tuple, members)))
                continue
            named = column["column"], column["source"], column["native"], column["read"]
            yield ScopeColumn.of(content["table"], unit, link, named)


@functools.lru_cache(4096)
def describe_column(name: str) -> str:
    """Return the name of a column in a box, as people read it."""
    column = ScopeColumn.read(name)
    return name if column is None else str(column)


def _text(data: object) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _digest(data: object) -> str:
    return hashlib.sha256(_text(data).encode("ascii")).hexdigest()


@final
@dataclass(frozen=True, slots=True, init=False)
class Box:
    """A product set of records: for each column the values that belong.

    >>> from discreet.accounting.values import at_least, equals
    >>> box = Box({"state": equals("CA"), "age": at_least(65)})
    >>> {"state": "CA", "age": 70, "sex": None} in box
    True
    >>> print(box)
    age from 65; state 'CA'
    """

    conditions: tuple[tuple[str, Values], ...]
    empty: bool

    def __init__(self, conditions: Mapping[str, Values]) -> None:
        if not isinstance(conditions, Mapping):
            raise WrongKind(
                f"the conditions are a {type(conditions).__name__}, not a mapping; give a mapping "
                "such as {'age': at_least(65)}."
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
        """Whether no record is in both, for sure."""
        return (self & other).empty

    def covers(self, other: Box) -> bool:
        """Whether every record of the other is in this one, for sure.

        >>> from discreet.accounting.values import at_least, between
        >>> Box({"age": at_least(18)}).covers(Box({"age": between(20, 30)}))
        True
        """
        if self.empty or other.empty:
            return other.empty
        return all(values.covers(other.on(name)) for name, values in self.conditions)

    def minus(self, other: Box) -> tuple[Box, ...]:
        """Return disjoint boxes that together hold what the other leaves of this one.

        >>> from discreet.accounting.values import equals
        >>> both = Box({"state": equals("CA"), "sex": equals("F")})
        >>> for piece in Box.everything().minus(both):
        ...     print(piece)
        sex other than 'F', or NULL
        sex 'F'; state other than 'CA', or NULL
        """
        if not other.exact:
            raise WrongKind(
                "a box that encloses more than is meant is taken away from another; take away "
                "`box.region` if the box itself is meant, not what it encloses."
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

        A unit of several rows is in many places at once: only what all its rows share says where
        it is not.  That holds for the columns that name it, and for those that are declared to be
        constant within a unit; conditions on other columns are widened to everything.

        >>> from discreet.accounting.values import equals
        >>> from discreet.units import person
        >>> visits = Box({"ward": equals("A"), "birth_year": equals(1980)})
        >>> print(visits.for_unit(person("patient"), constant=["birth_year"]))
        birth_year 1980; ward perhaps anything
        """
        if not isinstance(unit, PrivacyUnit) or isinstance(constant, str):
            raise WrongKind(
                "a box is asked for the units in it, without a unit or a list of columns; give "
                "row(), person(...) or custom(...), and a list of column names."
            )
        if self.empty or not unit.columns:
            return self
        shared = {*unit.columns, *constant}
        return Box(
            {name: values if name in shared else values.widened for name, values in self.conditions}
        )

    def __contains__(self, record: object) -> bool:
        if not isinstance(record, Mapping) or any(n not in record for n, _ in self.conditions):
            raise WrongKind(
                "a record does not have all columns of the box; give a mapping from column to "
                "value, with None for NULL."
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
        return f"Box({dict(self.conditions)!r})" if not self.empty else "Box({'': Values()})"

    def __str__(self) -> str:
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
        stored = stored_fields(data, "empty", "columns")
        require_stored(isinstance(stored["columns"], dict))
        columns = {name: Values.read(values) for name, values in stored["columns"].items()}
        box = cls({"": Values()} if stored["empty"] is True else columns)
        require_stored(isinstance(stored["empty"], bool) and box.written() == data)
        return box


def checked_box(value: object, *, name: str) -> Box:
    """Return the value if it is a box, and refuse it otherwise."""
    if not isinstance(value, Box):
        raise WrongKind(
            f"the {name} is a {type(value).__name__}, not a Box; give a box, such as Box({{'age': "
            "at_least(18)}) or Box.everything()."
        )
    return value


def _check(column: object, values: object) -> None:
    if not isinstance(column, str) or not isinstance(values, Values):
        raise WrongKind(
            f"a condition maps a {type(column).__name__} to a {type(values).__name__}; give "
            "column names and sets such as equals(1), between(18, 64) or is_null()."
        )


_NAMED: Final = ("per_part", "parts", "units")


@final
@dataclass(frozen=True, slots=True, init=False)
class Contribution:
    """Limits on what belongs to one unit.

    >>> limits = Contribution(rows=3, per_part={"ward": 2}, parts={"ward": 2})
    >>> limits.most_rows("ward"), limits.most_parts("ward"), limits.most_rows("year")
    (2, 2, 3)
    """

    rows: int
    per_part: tuple[tuple[str, int], ...]
    parts: tuple[tuple[str, int], ...]
    units: tuple[tuple[str, int], ...]

    def __init__(
        self,
        *,
        rows: int = 1,
        per_part: Mapping[str, int] | None = None,
        parts: Mapping[str, int] | None = None,
        units: Mapping[str, int] | None = None,
    ) -> None:
        """Take the limits; what is not named is limited by the number of rows alone."""
        for name, limits in zip(_NAMED, (per_part, parts, units), strict=True):
            object.__setattr__(self, name, _limits(limits, name))
        values = dict(self.parts)
        products = [most * values[column] for column, most in self.per_part if column in values]
        asked = whole(rows, name="rows", low=1, high=10**6)
        object.__setattr__(self, "rows", min(asked, *products) if products else asked)

    def most_rows(self, column: str) -> int:
        """Return how many rows of one unit can share a value of a column."""
        return min(self.rows, dict(self.per_part).get(column, self.rows))

    def most_parts(self, column: str) -> int:
        """Return how many values of a column the rows of one unit can have."""
        return min(self.rows, dict(self.parts).get(column, self.rows))

    def limits(self, column: str) -> bool:
        """Say whether more than the number of rows is limited."""
        return column in dict(self.per_part) or column in dict(self.parts)

    def most_units(self, unit: PrivacyUnit | None) -> int:
        """Return how many smaller units can belong to one."""
        return self.rows if unit is None else dict(self.units).get(unit.name, self.rows)

    def within(self, columns: Iterable[str]) -> Contribution:
        """Add that all rows of a unit share its own columns."""
        parts = dict(self.parts) | dict.fromkeys(columns, 1)
        return Contribution(
            rows=self.rows, per_part=dict(self.per_part), parts=parts, units=dict(self.units)
        )

    def written(self) -> dict[str, object]:
        """Return a form that JSON keeps exactly.

        >>> Contribution(rows=3, parts={"ward": 2}).written()
        {'rows': 3, 'per_part': {}, 'parts': {'ward': 2}, 'units': {}}
        """
        named = {
            name: {key: write_integer(limit) for key, limit in getattr(self, name)}
            for name in _NAMED
        }
        return {"rows": self.rows, **named}

    @classmethod
    def read(cls, data: object) -> Self:
        """Read what ``written`` wrote, and refuse everything else.

        >>> limits = Contribution(rows=3, parts={"ward": 2})
        >>> Contribution.read(limits.written()) == limits
        True
        """
        if not isinstance(data, dict) or set(data) != {"rows", *_NAMED}:
            raise undecodable(
                "the fields of a contribution are not rows, per_part, parts and units"
            )
        if not all(isinstance(data[name], dict) for name in _NAMED):
            raise undecodable("the limits of a contribution are not named")
        named = {
            name: {key: read_integer(limit) for key, limit in data[name].items()} for name in _NAMED
        }
        contribution = cls(rows=read_integer(data["rows"]), **named)
        if contribution.written() != data:
            raise undecodable("a limit of a contribution is not in its written form")
        return contribution


def _limits(given: Mapping[str, int] | None, name: str) -> tuple[tuple[str, int], ...]:
    if given is None:
        return ()
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise WrongKind(
            f'{name} is not a mapping from names to limits; give, say, {name}={{"ward": 2}}.'
        )
    known = ((key, whole(value, name=f"{name}[{key!r}]", low=1)) for key, value in given.items())
    return tuple(sorted(known))
