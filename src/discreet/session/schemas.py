"""The schema of a session: the columns that are there, with what the policy says of them.

Trust: kernel.  A table without its unit, or a unit that is read as something coarser, protects less
than was promised.

Columns that the policy does not mention have the types of the source and no facts; those of CSV
files are texts.  Columns of types that cannot be read are left out.  A column is read as the type
that the policy declares, if it can be.
A unit, and the columns that link a table to one, must be read so that different values stay
different: two people who are taken for one would share the protection of one.  They have the same
type in all tables, so that one person is not taken for two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from discreet.errors import BadPolicy, UnreadableSource
from discreet.plan.policy import Policy
from discreet.plan.schema import ColumnFacts, Schema, TableFacts
from discreet.query.functions import CASTS
from discreet.query.relations import folded
from discreet.query.types import Type
from discreet.units import PrivacyUnit

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from discreet.engines.engine import Columns

__all__ = ["schema_of"]

_APART: Final = frozenset(
    {
        *((kind, kind) for kind in Type if kind is not Type.FLOAT),
        (Type.TEXT, Type.INTEGER),
        (Type.INTEGER, Type.TEXT),
        (Type.BOOLEAN, Type.INTEGER),
        (Type.BOOLEAN, Type.TEXT),
        (Type.DATE, Type.TEXT),
        (Type.DATE, Type.TIMESTAMP),
    }
)
"""How a column that tells people apart may be read.

Texts such as 07 and 7 are one number: whoever declares that a text is a number says so.
"""


def schema_of(policy: Policy, unit: PrivacyUnit, sources: Mapping[str, Columns]) -> Schema:
    """Return the tables of a session.

    >>> from discreet.units import person
    >>> found = schema_of(Policy(), person("patient"), {"visits": {"patient": Type.INTEGER}})
    >>> found.table("visits").unit
    ('patient',)
    """
    described = {folded(table.name): table for table in policy.tables}
    tables = []
    for name, columns in sources.items():
        plain = TableFacts(name=name, columns=(), unit=unit.columns, frozen=policy.frozen)
        facts = described.get(folded(name), plain)
        tables.append(_table(replace(facts, name=name), unit, columns))
    schema = Schema(tables)
    for table in schema.tables:
        _check_owner(table, unit, schema, sources)
    _check_units(schema)
    return schema


def _table(facts: TableFacts, unit: PrivacyUnit, columns: Columns) -> TableFacts:
    if len({folded(column) for column in columns}) != len(columns):
        raise UnreadableSource(
            what=f"two columns of {facts.name} differ in the case of letters only.",
            why="questions call columns by their names, in any case.",
            do="rename one of them.",
        )
    spelled = {folded(column): column for column in columns}
    for each in facts.columns:
        if folded(each.name) not in spelled:
            raise _bad(facts, f"there is no column {each.name} in the data", "mend its name")
    own = facts.unit
    if not facts.public and facts.link is None and not own:
        own = unit.columns
    found = tuple(_columns(facts, columns))
    return replace(facts, columns=found, unit=own)


def _columns(facts: TableFacts, columns: Columns) -> Iterator[ColumnFacts]:
    for name, kind in columns.items():
        declared = facts.column(name)
        if declared is None and kind is not None:
            yield ColumnFacts(name=name, type=kind)
        if declared is not None:
            if kind is None or declared.type not in CASTS[kind]:
                there = "a type that cannot be read" if kind is None else kind.value.lower()
                wanted = declared.type.value.lower()
                what = f"the column {name} is declared as {wanted}, and the data has {there}"
                raise _bad(facts, what, "declare a type that it can be read as")
            yield replace(declared, name=name)


def _check_owner(
    table: TableFacts, unit: PrivacyUnit, schema: Schema, sources: Mapping[str, Columns]
) -> None:
    """Make sure that the owner of every row can be told, and told apart."""
    if not table.public and table.link is None and len(table.unit) != len(unit.columns):
        raise _bad(table, "it names its unit by other columns than all tables do", "name as many")
    if table.link is not None:
        parent = schema.table(table.link.parent)
        if parent is None:
            what = f"its rows belong to those of {table.link.parent}, which is not opened"
            raise _bad(table, what, f"open {table.link.parent} too")
        if not unit.columns:
            what = "its rows belong to those of another, and each row is protected by itself"
            raise _bad(table, what, "remove its link, or name the unit by a column")
        pointer = _check_column(table, table.link.column, sources)
        key = _check_column(parent, table.link.key, sources)
        if pointer.type is not key.type:
            raise _differs(table, pointer, parent, key)
    for column in (*table.unit, *table.key):
        _check_column(table, column, sources)


def _check_units(schema: Schema) -> None:
    """Make sure that a unit looks the same in all tables that name it."""
    first: dict[int, tuple[TableFacts, ColumnFacts]] = {}
    for table in schema.tables:
        for place, name in enumerate(table.unit):
            column = table.column(name)
            if column is None:
                continue
            other, known = first.setdefault(place, (table, column))
            if column.type is not known.type:
                raise _differs(table, column, other, known)


def _check_column(table: TableFacts, name: str, sources: Mapping[str, Columns]) -> ColumnFacts:
    """Refuse a column that is not there, or that is read as something coarser."""
    column = table.column(name)
    if column is None:
        raise _bad(
            table,
            f"it has no column {name}, which says whose rows these are or tells them apart",
            "mend the name, name its own unit = [...], link it to a table, or say public = true",
        )
    read = sources[table.name][column.name]
    if read is not None and (read, column.type) not in _APART:
        raise _bad(
            table,
            f"the column {name} tells rows apart, and different values of it could become the "
            f"same {column.type.value.lower()}",
            "store it as whole numbers or texts",
        )
    return column


def _differs(
    table: TableFacts, column: ColumnFacts, other: TableFacts, known: ColumnFacts
) -> BadPolicy:
    return _bad(
        table,
        f"its column {column.name} is {column.type.value.lower()}, and {known.name} of "
        f"{other.name}, which names the same, is {known.type.value.lower()}",
        "declare the same type for both in the policy",
    )


def _bad(table: TableFacts, what: str, do: str) -> BadPolicy:
    return BadPolicy(
        what=f"table {table.name}: {what}.",
        why="who is protected must be clear for every row.",
        do=f"{do}.",
    )
