"""Names of columns in scopes: what a column is, where it is, and how it is read.

Trust: kernel.  Two scopes are taken to be disjoint only by conditions on one name.  If one name
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
Proof.  Everything that decides how a stored value becomes a value of ours, and whose it is, is part
of the digest: the table, how it names units or finds them in other tables, the stored type, the
kind of source and the type that is read.  In a loss map a record has a value under each name by
itself, so a record lies in both of two boxes unless they contradict each other under one name.
Columns that name the unit have one name in all tables, tied to the normal form of the unit and to
how CSV files are written, where that is not as usual.  That other columns hold the same in several
tables, or after a change, is the owner's promise: a line of the policy gives them one name of their
own, tied to the list of these columns: another list under the same label is another promise.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self, final

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
    """A column of a scope; ``table`` is empty for one that several tables share.

    >>> sex = ScopeColumn.of("visits", (), None, ("sex", "parquet", "string", "TEXT"))
    >>> ScopeColumn.read(sex.name) == sex, str(sex)
    (True, 'visits.sex')
    >>> ScopeColumn.read("sex") is None
    True
    """

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
        """Name a column of one table: its name, the kind of source, and the types there and here.

        >>> one, other = (ScopeColumn.of("visits", (), None, ("dose", "parquet", native, "FLOAT"))
        ...               for native in ("float", "double"))
        >>> one == other
        False
        """
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
        """Name one of the columns that name the unit, in all tables.

        >>> str(ScopeColumn.of_unit((("patient", "person", ("integer",)),), 0))
        'patient'
        """
        schema = _digest({"unit": [[name, *form] for name, _, form in unit]})
        return cls(schema, "", unit[place][0])

    @classmethod
    def promised(cls, label: str, read: str, members: tuple[SharedColumn, ...]) -> Self:
        """Name columns that the owner declares to hold the same values.

        >>> one, other = (ScopeColumn.promised("year", "INTEGER", (("visits", column, "patient"),))
        ...               for column in ("born", "entered"))
        >>> one == other
        False
        """
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
        """Name the column for people."""
        return f"{self.table}.{self.column}" if self.table else self.column


def shared_columns(content: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of what all rows of a unit share, as a described table has it.

    These are the columns that name the unit, and those that are promised to be constant.  What is
    described in another form says nothing, and nothing is shared.  Descriptions that were recorded
    before they held whole ways and lists of members keep the names that they had: no table that is
    opened now has one of these.

    >>> shared_columns({"table": "visits", "unit": [["patient", "patient", ["integer"]]],
    ...                 "link": None, "columns": []}) == (
    ...     ScopeColumn.of_unit((("patient", "patient", ("integer",)),), 0).name,)
    True
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
                yield _promised(column["same"], column["read"])
                continue
            named = column["column"], column["source"], column["native"], column["read"]
            yield ScopeColumn.of(content["table"], unit, link, named)


def _promised(same: str | Sequence[Any], read: str) -> ScopeColumn:
    if isinstance(same, str):  # as it was described without its members
        return ScopeColumn(_digest({"same": [same, read]}), "", same)
    return ScopeColumn.promised(same[0], read, tuple(map(tuple, same[1])))


@functools.lru_cache(4096)
def describe_column(name: str) -> str:
    """Return the name of a column in a box, as people read it.

    >>> describe_column("age"), describe_column(ScopeColumn.promised("sex", "TEXT", ()).name)
    ('age', 'sex')
    """
    column = ScopeColumn.read(name)
    return name if column is None else str(column)


def _text(data: object) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _digest(data: object) -> str:
    return hashlib.sha256(_text(data).encode("ascii")).hexdigest()
