"""What only the owner of the data can promise, in one place.

Trust: kernel.  A price is right as long as the promises that it rests on are true; what is missing
here would be trusted without being named.

Everything else that lowers a price is enforced by the code that reads data or writes the ledger:
bounds and categories, rows and groups of a unit, one row for each key of a public table, the scope
(the table of ARCHITECTURE.md has all of it).  These remain, because one state of the data cannot
show whether they are true, or because a row that breaks them cannot be told from one that does not:

    names      a unit keeps its name across tables, files and time
    stay       where each row is a unit, its values stay what they are
    constant   all rows of a unit agree in a column
    same       several such columns hold the same, in all their tables and whatever these become
    link       each value of a key that other tables point to belongs to one unit

``discreet check`` holds the last three against the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias, final

from discreet.accounting import Box
from discreet.plan.schema import ColumnFacts, Schema, TableFacts
from discreet.plan.scope_names import scope_name
from discreet.query.relations import Relation, Scan, descend, folded
from discreet.units import PrivacyUnit

__all__ = ["Kind", "OwnerPromise", "promises_behind", "promises_of"]

Kind: TypeAlias = Literal["names", "stay", "constant", "same", "link"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerPromise:
    """Something that the owner promises about a column, and that prices rest on.

    ``table`` is empty where the promise is about several tables; ``column`` is then what names the
    unit, or the name that the policy gives to columns that hold the same.

    >>> print(OwnerPromise(kind="constant", table="visits", column="born"))
    all rows of a unit of visits agree in born
    """

    kind: Kind
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
    return (_about_names(unit), *_constant(schema, unit), *_same(schema), *_links(schema))


def promises_behind(
    relation: Relation, scope: Box, *, schema: Schema, unit: PrivacyUnit
) -> tuple[OwnerPromise, ...]:
    """Return the promises that the price of one question rests on.

    Args:
        relation: the rows of the question, bound.
        scope: the units that pay for it.
        schema: the tables that there are.
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


def _about_names(unit: PrivacyUnit) -> OwnerPromise:
    if not unit.columns:
        return OwnerPromise(kind="stay", table="", column="")
    return OwnerPromise(kind="names", table="", column=", ".join(unit.columns))


def _constant(schema: Schema, unit: PrivacyUnit) -> Iterator[OwnerPromise]:
    for table in schema.tables if unit.columns else ():
        for column in () if table.public else table.columns:
            if column.constant and folded(column.name) not in map(folded, table.unit):
                yield OwnerPromise(kind="constant", table=table.name, column=column.name)


def _same(schema: Schema) -> Iterator[OwnerPromise]:
    columns = (column for table in schema.tables for column in table.columns)
    for label in sorted({each.same.label for each in columns if each.same is not None}):
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
        if parent is not None and key is not None and not _names_unit(parent, key):
            yield OwnerPromise(kind="link", table=parent.name, column=key.name)


def _names_unit(table: TableFacts, column: ColumnFacts) -> bool:
    """Whether a column alone names the unit, which it then belongs to by definition."""
    return [folded(name) for name in table.unit] == [folded(column.name)]


def _pointed_to(promise: OwnerPromise, schema: Schema, read: set[str]) -> bool:
    """Whether a question reads a table whose rows belong to units by way of a key."""
    return any(
        table.link is not None
        and folded(table.name) in read
        and folded(table.link.parent) == folded(promise.table)
        and folded(table.link.key) == folded(promise.column)
        for table in schema.tables
    )
