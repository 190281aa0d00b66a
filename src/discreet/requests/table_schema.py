"""What is public about tables: their columns, how they are stored, and what is declared of them.

Trust: kernel.  How a source stores a column names the column in scopes, and decides whether two
tables name people alike.  Bounds, categories and keys that are declared here are taken for true of
all tables that could be there, and the sensitivity of every answer rests on them.

Definition.  A column has a type and facts: bounds on its numbers, a list of the categories that are
shown, whether it may be NULL, and whether all rows of a unit agree in it.  A table is private, and
then its rows belong to units, or public, and then anybody may see all of it.  A private table names
the unit in columns of its own, or is linked to another private table in which each value of a key
belongs to one unit.
Bounds and categories are enforced: values are clamped, and rows of other categories are left out
(NULL among them, unless the column is declared to hold it).
``constant``, ``key`` and links are promises of the owner about all possible tables.  That a column
is constant is said of one table: that it holds the same in another one is a promise by itself.

Definition.  The groups of several keys with public values are all their combinations, however many,
none of them written down.  They are numbered from 0 on, and the values of the last key change
fastest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from fractions import Fraction
from typing import Final, final

from discreet.errors import WrongKind
from discreet.query.expressions import Literal
from discreet.query.relations import folded
from discreet.query.types import Scalar, Type

SEPARATORS: Final = (",", ";", "\t", "|")
ENCODINGS: Final = ("utf-8", "latin-1")
DECIMALS: Final = (".", ",")
THOUSANDS: Final = ("", ",", ".", " ", "'")
_DAYS: Final = re.compile(r"DD([./-]?)MM\1YYYY|MM([./-]?)DD\2YYYY|YYYY([./-]?)MM\3DD", re.ASCII)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CsvFormat:
    """What an owner declares of the CSV files of a table (T2).

    Nothing here is ever guessed from a row: one row would change how others are read.  Undeclared
    options use defaults; the delimiter may be inferred from the header.  Declared options decide
    which value a cell has, so they are part of the names of columns in scopes
    (:mod:`discreet.plan.binding.scope`): charges before and after a change add up.

    ``separator`` is None if the line of names shows it.  ``dates`` is how days are written where
    they are not written as 2024-02-29, such as "DD.MM.YYYY".

    >>> CsvFormat(separator=";", decimal=",").words
    'separator ;, decimal ,'
    >>> CsvFormat().words, CsvFormat(encoding="latin-1").words
    ('', 'encoding latin-1')
    """

    separator: str | None = None
    encoding: str = "utf-8"
    decimal: str = "."
    thousands: str = ""
    dates: str = ""

    def __post_init__(self) -> None:
        """Refuse what is not a format, or one in which a number could be read in two ways."""
        for name, known in (
            ("separator", (None, *SEPARATORS)),
            ("encoding", ENCODINGS),
            ("decimal", DECIMALS),
            ("thousands", THOUSANDS),
        ):
            if getattr(self, name) not in known:
                listed = ", ".join(repr(item) for item in known if item)
                raise _refused(f"{name} is not one that can be declared", f"use one of {listed}")
        if self.dates and (not isinstance(self.dates, str) or not _DAYS.fullmatch(self.dates)):
            raise _refused("dates are not the parts of a day in order", 'write "DD.MM.YYYY", say')
        if self.decimal == self.thousands:
            raise _refused("decimal and thousands are the same sign", "declare two different signs")

    @property
    def words(self) -> str:
        """All that is not as usual; empty if everything is."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        usual = {field.name: field.default for field in fields(self)}
        return ", ".join(f"{name} {value}" for name, value in own.items() if value != usual[name])


def _refused(what: str, do: str) -> WrongKind:
    return WrongKind(
        what=f"the format of a CSV file: {what}.",
        why="a cell is read only in ways that were said before, and that leave no doubt.",
        do=f"{do}.",
    )


MOST_GROUPS: Final = 1 << 62
"""Groups are numbered by integers of 64 bits, with room to add two of them."""

KeyValue = bool | int | float | str | date | None
"""One value of a key (a datetime is a date to the type checker); None is NULL."""


def key_literal(value: KeyValue) -> Literal:
    """Return a key as it is compared with; a float is the number that it holds.

    >>> key_literal(0.5)
    Literal(value=Fraction(1, 2))
    """
    return Literal(Fraction(value) if isinstance(value, float) else value)


@final
@dataclass(frozen=True, slots=True)
class Product:
    """The groups that have one of the public values in every key.

    >>> wards = Product((("A", "B", None), (False, True)))
    >>> len(wards), wards.item(3), wards.index((None, True)), ("C", True) in wards
    (6, ('B', True), 5, False)
    """

    lists: tuple[tuple[KeyValue, ...], ...]
    _places: tuple[dict[KeyValue, int], ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Number the values of every key."""
        places = tuple(
            {value: place for place, value in enumerate(values)} for values in self.lists
        )
        object.__setattr__(self, "_places", places)

    def __len__(self) -> int:
        """Return the number of groups, at most 2**62."""
        return min(math.prod(map(len, self.lists)), 1 << 62)

    def item(self, index: int) -> tuple[KeyValue, ...]:
        """Return the group with a number."""
        picked: list[KeyValue] = []
        for values in reversed(self.lists):
            index, place = divmod(index, len(values))
            picked.append(values[place])
        return tuple(reversed(picked))

    def index(self, group: tuple[KeyValue, ...]) -> int:
        """Return the number of a group."""
        index = 0
        for value, places in zip(group, self._places, strict=True):
            index = index * len(places) + places[value]
        return index

    def __contains__(self, group: object) -> bool:
        """Say whether a tuple of values is one of the groups."""
        if not isinstance(group, tuple) or len(group) != len(self._places):
            return False
        return all(value in places for value, places in zip(group, self._places, strict=True))

    def __repr__(self) -> str:
        """Show how many values each key has; the values may be very many."""
        return f"Product({' x '.join(str(len(values)) for values in self.lists)} groups)"


EXACT: Final = frozenset({"integer", "text", "uuid", "boolean", "date"})
"""Forms that keep every value; floats, decimals and moments may be rounded when they are stored."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StoredColumn:
    """A column in its source: the kind of source, the type there, and the form of its values.

    ``form`` is one of ``EXACT``, or None for a type that may round.  ``blurred`` says that
    different values are held for equal: by the collation of a text, by blanks that fill it up, or
    because a moment is rounded when it is read.  ``cells`` says how the cells of a CSV file are
    written, if that is not as usual, and is None for other sources.

    >>> StoredColumn(source="parquet", native="string", form="text").blurred
    False
    """

    source: str
    native: str
    form: str | None
    blurred: bool = False
    cells: str | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SameColumns:
    """Columns that are promised to hold the same, under one label.

    A member is a table, a column of it, and the columns by which the table finds its unit.

    >>> SameColumns(label="sex", members=(("visits", "sex", "patient"),)).label
    'sex'
    """

    label: str
    members: tuple[tuple[str, ...], ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFacts:
    """One column, and what is public about it.

    ``stored`` is how its source holds it, if one is opened.  ``form`` is the declared normal
    form of a column that names units.  ``same`` lists the columns of which the owner promises that
    they hold the same, if it is one of them.  ``days`` are the first and the last day of a date or
    a moment; if groups follow from them, rows of other days are left out.

    >>> ColumnFacts(name="age", type=Type.INTEGER, low=Fraction(0), high=Fraction(110)).bounded
    True
    """

    name: str
    type: Type
    low: Fraction | None = None
    high: Fraction | None = None
    categories: tuple[Scalar, ...] | None = None
    nullable: bool = True
    constant: bool = False
    stored: StoredColumn | None = None
    form: str | None = None
    same: SameColumns | None = None
    days: tuple[date, date] | None = None

    @property
    def bounded(self) -> bool:
        """Whether there are bounds on both sides."""
        return self.low is not None and self.high is not None

    @property
    def reading(self) -> str:
        """The type, with the rule by which cells of CSV files become its values.

        Another rule makes other values of the same cells, so that it is part of names in scopes.

        >>> cells = StoredColumn(source="csv", native="text", form="text", cells="decimal ,")
        >>> ColumnFacts(name="dose", type=Type.FLOAT, stored=cells).reading
        'FLOAT of cells with decimal ,'
        """
        kind, cells = self.type, None if self.stored is None else self.stored.cells
        if cells is None or (kind is Type.TEXT and not cells):
            return kind.value
        return f"{kind.value} of cells{' with ' if cells else ''}{cells}"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Rows of a private table belong to the unit of the row of another that they point to.

    >>> Link(column="visit", parent="visits", key="id").parent
    'visits'
    """

    column: str
    parent: str
    key: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PublicSize:
    """About how many people and rows a table has, as its owner tells everybody; no price uses it.

    >>> PublicSize(people=500, rows=4000).rows
    4000
    """

    people: int
    rows: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """One table: its columns, and whose rows it holds.

    ``unit`` names the columns that name the unit; it is empty for public tables, for tables whose
    rows are the units, and for tables with a ``link``.  ``key`` is a set of columns in which no two
    rows agree.  The content of a ``frozen`` table may not change.  ``max_rows`` and ``max_groups``
    take the place of the limits of the policy in questions about this table.  ``csv`` is how its
    files are written, if the policy says so.  By its ``size`` a plan says what to expect.

    >>> wards = TableFacts(name="wards", columns=(), public=True, key=("ward",))
    >>> wards.column("Ward") is None
    True
    """

    name: str
    columns: tuple[ColumnFacts, ...]
    public: bool = False
    unit: tuple[str, ...] = ()
    link: Link | None = None
    key: tuple[str, ...] = ()
    frozen: bool = False
    max_rows: int | None = None
    max_groups: int | None = None
    csv: CsvFormat | None = None
    path: str | None = None
    size: PublicSize | None = None

    def answers_to(self, name: str) -> bool:
        """Whether a path in a question, which ends with the name of the table, is that declared.

        A path is a part of it, from the end; any other one is another table of the same name.
        Without a declared path there is no other one.

        >>> visits = TableFacts(name="visits", columns=(), path="main.clinic.visits")
        >>> visits.answers_to("Clinic.visits"), visits.answers_to("hr.visits")
        (True, False)
        """
        if self.path is None:
            return True
        written, declared = folded(name).split("."), folded(self.path).split(".")
        return declared[-len(written) :] == written

    def column(self, name: str) -> ColumnFacts | None:
        """Return a column by its name, in any case."""
        wanted = folded(name)
        return next((column for column in self.columns if folded(column.name) == wanted), None)


@final
@dataclass(frozen=True, slots=True, init=False)
class Schema:
    """All tables of a session, by name.

    >>> Schema([TableFacts(name="visits", columns=())]).table("VISITS").name
    'visits'
    """

    tables: tuple[TableFacts, ...]

    def __init__(self, tables: Iterable[TableFacts]) -> None:
        """Take the tables, in any order."""
        ordered = tuple(sorted(tables, key=lambda table: folded(table.name)))
        object.__setattr__(self, "tables", ordered)

    def table(self, name: str) -> TableFacts | None:
        """Return a table by its name, in any case."""
        return self._by_name().get(folded(name))

    def at_path(self, path: str) -> TableFacts | None:
        """Return the table that a path in a question names, in any case.

        >>> Schema([TableFacts(name="visits", columns=())]).at_path("clinic.visits").name
        'visits'
        """
        table = self.table(path) or self.table(path.rpartition(".")[2])
        if table is None or not (folded(path) == folded(table.name) or table.answers_to(path)):
            return None
        return table

    def keys_of(self, table: TableFacts, column: str) -> frozenset[tuple[str, str]]:
        """Return the columns, by table and name, to which the values of a column lead.

        In each of these a value belongs to one unit, by the promise of a key or of a link: the
        column itself, and those that it is linked to.

        >>> calls = TableFacts(name="calls", columns=(), unit=("caller",))
        >>> notes = TableFacts(
        ...     name="notes", columns=(), link=Link(column="call", parent="calls", key="id"))
        >>> both = Schema([calls, notes])
        >>> both.keys_of(notes, "call") == both.keys_of(calls, "id") == {("calls", "id")}
        True
        >>> both.keys_of(notes, "id")
        frozenset()
        """
        if table.public:
            return frozenset()
        place = folded(table.name), folded(column)
        links = [table.link for table in self.tables if table.link is not None]
        named = {(folded(link.parent), folded(link.key)) for link in links}
        alone = [folded(name) for name in table.key] == [place[1]]
        own = frozenset({place}) if alone or place in named else frozenset()
        if table.link is None or folded(table.link.column) != place[1]:
            return own
        parent = self.table(table.link.parent)
        return own if parent is None else own | self.keys_of(parent, table.link.key)

    def _by_name(self) -> Mapping[str, TableFacts]:
        return {folded(table.name): table for table in self.tables}
