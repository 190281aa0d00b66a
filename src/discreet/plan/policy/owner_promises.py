"""What only the owner can promise: how tables name the unit, which columns hold the same.

Trust: kernel.  A ledger takes one name for one value of every unit, in all tables and for all
time.  The names of these columns in scopes follow from what is returned here, and from the policy
alone: they are the same in sessions that open some of the tables only.  A price is right as long as
the promises that it rests on are true; what is missing here would be trusted without being named.

``unit_form = "integer"`` (or ``"text"`` or ``"uuid"``, or a list of them for a unit of several
columns) declares the normal form of the unit: whatever a table stores is read as a whole number, as
the text itself, or as a UUID in its one usual spelling.  Without it all tables must store the unit
alike.
``[same]`` lists columns, as ``sex = ["visits.sex", "patients.sex"]``: the owner promises that all
rows of a unit agree in all of them, in every table of the list and whatever the tables are stored
in later.  They are one column in scopes, called by the name of the line together with its list.

Definition.  A member of a line is the list of its table, its column, and the names by which rows
of the table find their unit: a pointer, the table that it points to and the key there, for each
link on the way, and the columns that name the unit at its end.  How tables are stored is no part
of it, so that a promise outlasts a change of format.

Everything else that lowers a price is enforced by the code that reads data or writes the ledger:
bounds and categories, rows and groups of a unit, one row for each key of a public table, the scope
(the table of ARCHITECTURE.md has all of it).  These remain, because one state of the data cannot
show whether they are true, or because a row that breaks them cannot be told from one that does not:

    names      a unit keeps its name across tables, files and time
    stay       if each row is a unit, its values stay what they are
    constant   all rows of a unit agree in a column
    same       several such columns hold the same, in all their tables and whatever these become
    link       each value of a key that other tables point to belongs to one unit

``discreet check`` holds the last three against the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, final

from discreet.accounting import Box
from discreet.plan.binding.scope import scope_name
from discreet.plan.policy.table_fields import bad, texts
from discreet.query.relations import Relation, Scan, descend, folded
from discreet.requests.table_schema import SameColumns, Schema, TableFacts
from discreet.units import PrivacyUnit

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
    if not isinstance(forms, list) or any(form not in FORMS for form in forms):
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
    lines = []
    seen: set[tuple[str, str]] = set()
    for label, listed in data.items():
        columns = tuple(_column(column, known, label) for column in texts(listed, f"same.{label}"))
        if not columns:
            raise bad(f"same.{label}", "it lists no column", "name columns as 'table.column'")
        for column in columns:
            if column in seen:
                raise bad(
                    f"same.{label}", "a column is listed twice", "list each once, in one line"
                )
            seen.add(column)
        lines.append(Same(label=label, columns=columns))
    return tuple(lines)


def _column(text: str, tables: Mapping[str, TableFacts], label: str) -> tuple[str, str]:
    table, _, column = text.partition(".")
    facts = tables.get(folded(table))
    declared = None if facts is None else facts.column(column)
    if facts is None or declared is None or facts.public or not declared.constant:
        raise bad(
            f"same.{label}",
            f"'{text}' is not a column of a private table that is declared constant",
            "write 'table.column', and declare constant = true for the column",
        )
    if folded(column) in map(folded, facts.unit):
        raise bad(f"same.{label}", f"'{text}' names the unit", "leave it out: it is one already")
    return folded(facts.name), folded(declared.name)


def same_columns(
    lines: Iterable[Same], tables: Iterable[TableFacts], unit: tuple[str, ...]
) -> Mapping[tuple[str, str], SameColumns]:
    """Return what is promised of each column, by table and name.

    Args:
        lines: those of the policy.
        tables: as the policy describes them; one that it does not mention names the unit itself.
        unit: the columns that name the unit if a table says nothing else.

    >>> line = Same(label="sex", columns=(("visits", "sex"),))
    >>> same_columns([line], [], ("patient",))["visits", "sex"].members
    (('visits', 'sex', 'patient'),)
    """
    known = {folded(table.name): table for table in tables}
    columns: dict[tuple[str, str], SameColumns] = {}
    for line in lines:
        members = sorted((*place, *_way(place[0], known, unit)) for place in line.columns)
        same = SameColumns(label=line.label, members=tuple(members))
        columns |= dict.fromkeys(line.columns, same)
    return columns


def _way(table: str, known: Mapping[str, TableFacts], unit: tuple[str, ...]) -> Iterator[str]:
    facts = known.get(table)
    if facts is None or facts.link is None:
        yield from map(folded, (facts and facts.unit) or unit)
        return
    link = facts.link
    yield from map(folded, (link.column, link.parent, link.key))
    yield from _way(folded(link.parent), known, unit)


PromiseKind: TypeAlias = Literal["names", "stay", "constant", "same", "link"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerPromise:
    """Something that the owner promises about a column, and that prices rest on.

    ``table`` is empty if the promise is about several tables; ``column`` is then what names the
    unit, or the name that the policy gives to columns that hold the same.

    >>> print(OwnerPromise(kind="constant", table="visits", column="born"))
    all rows of a unit of visits agree in born
    """

    kind: PromiseKind
    table: str
    column: str

    def __str__(self) -> str:
        """Say what is promised."""
        match self.kind:
            case "names":
                return (
                    f"a unit keeps its {self.column} across tables, files and time: old people "
                    "get no new names"
                )
            case "stay":
                return "rows keep their values from one question to the next"
            case "constant":
                return f"all rows of a unit of {self.table} agree in {self.column}"
            case "same":
                return f"the columns that the policy calls {self.column} agree for each unit"
            case "link":
                return f"each {self.column} of {self.table} belongs to one unit"


def promises_of(schema: Schema, unit: PrivacyUnit) -> tuple[OwnerPromise, ...]:
    """Return all that the owner of some tables promises; the most important comes first.

    >>> from discreet.units import person
    >>> [promise.kind for promise in promises_of(Schema([]), person("patient"))]
    ['names']
    """
    kind: PromiseKind = "names" if unit.columns else "stay"
    first = OwnerPromise(kind=kind, table="", column=", ".join(unit.columns))
    return (first, *_constant(schema, unit), *_same(schema), *_links(schema))


def promises_behind(
    relation: Relation, scope: Box, *, schema: Schema, unit: PrivacyUnit
) -> tuple[OwnerPromise, ...]:
    """Return the promises that the price of one question rests on.

    Args:
        relation: the rows of the question, bound.
        scope: the units that pay for it.
        schema: all tables.
        unit: who is protected.
    """
    read = {folded(node.table) for node in descend(relation) if isinstance(node, Scan)}
    scoped = {column for column, _ in scope.conditions}
    known = [
        (table, column)
        for table in schema.tables
        for column in table.columns
        if folded(table.name) in read and scope_name(schema, table, column, unit.columns) in scoped
    ]
    used = {(table.name, column.name) for table, column in known}
    labels = {column.same.label for _, column in known if column.same is not None}

    def rested_on(promise: OwnerPromise) -> bool:
        match promise.kind:
            case "constant":
                return (promise.table, promise.column) in used
            case "same":
                return promise.column in labels
            case "link":
                return _pointed_to(promise, schema, read)
            case _:
                return bool(unit.columns or scoped)

    return tuple(filter(rested_on, promises_of(schema, unit)))


def _constant(schema: Schema, unit: PrivacyUnit) -> Iterator[OwnerPromise]:
    for table in schema.tables if unit.columns else ():
        for column in () if table.public else table.columns:
            if column.constant and folded(column.name) not in map(folded, table.unit):
                yield OwnerPromise(kind="constant", table=table.name, column=column.name)


def _same(schema: Schema) -> Iterator[OwnerPromise]:
    columns = (column for table in schema.tables for column in table.columns)
    for label in sorted({column.same.label for column in columns if column.same is not None}):
        yield OwnerPromise(kind="same", table="", column=label)


def _links(schema: Schema) -> Iterator[OwnerPromise]:
    keys = {
        (folded(table.link.parent), folded(table.link.key)): table.link
        for table in schema.tables
        if table.link is not None
    }
    for link in keys.values():
        parent = schema.table(link.parent)
        key = None if parent is None else parent.column(link.key)
        if parent is None or key is None:
            continue
        if [*map(folded, parent.unit)] != [folded(key.name)]:  # that names the unit by itself
            yield OwnerPromise(kind="link", table=parent.name, column=key.name)


def _pointed_to(promise: OwnerPromise, schema: Schema, read: set[str]) -> bool:
    """Whether a question reads a table whose rows belong to units by way of a key."""
    return any(
        table.link is not None
        and folded(table.name) in read
        and folded(table.link.parent) == folded(promise.table)
        and folded(table.link.key) == folded(promise.column)
        for table in schema.tables
    )
