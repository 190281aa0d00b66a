"""How stored columns become values of our types, and the scans that are made of them.

Trust: kernel (T2).  No value can make a scan fail: what does not fit is NULL.

Integers of every width are INTEGER, NULL if they need more than 64 bits; decimals and narrow floats
are FLOAT; enumerations and UUIDs are TEXT; timestamps of any precision are TIMESTAMP, rounded to
microseconds, those with a time zone in UTC.  Lists, structs, intervals and bytes cannot be named.
Cells of CSV files can be read as all of our types (:mod:`discreet.engines.sources.cells`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, final

from sqlglot import exp, parse_one

from discreet.engines.dialect import Node, Value, column, named, number, select, sql
from discreet.engines.duckdb_dialect import DUCKDB
from discreet.engines.expressions import Expressions, in_years
from discreet.engines.sources.cells import CELL, is_cell, read_cell
from discreet.engines.sources.source import quoted_name
from discreet.errors import UnknownName, WrongType
from discreet.query.expression_types import CASTS
from discreet.query.relations import Scan, folded
from discreet.query.types import Type

ZONED: Final = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS")
_TYPES: Final[dict[str, Type]] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), Type.INTEGER),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"), Type.INTEGER),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), Type.FLOAT),
    **dict.fromkeys(("VARCHAR", "ENUM", "UUID", "VARCHAR AS UUID", CELL), Type.TEXT),
    "BOOLEAN": Type.BOOLEAN,
    "DATE": Type.DATE,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), Type.TIMESTAMP),
    **dict.fromkeys(ZONED, Type.TIMESTAMP),
}
_IN_UTC: Final = (
    "CASE WHEN EPOCH_US(:x) BETWEEN -62135596800000000 AND 253402300799999999"
    " THEN MAKE_TIMESTAMP(EPOCH_US(:x)) END"
)
"""A moment in UTC, by its microseconds since 1970; NULL outside the years 1 to 9999."""
UUID_TEXT: Final = "VARCHAR AS UUID"
"""The type of texts that are UUIDs by declaration: each is read in its one usual form, or NULL."""

_STORED_FORMS: Final = {Type.INTEGER: "integer", Type.BOOLEAN: "boolean", Type.DATE: "date"}
_WIDE: Final = frozenset({"UBIGINT", "HUGEINT", "UHUGEINT"})


def base_type(native: str) -> Type | None:
    """Return our type for one of DuckDB's, or None if there is none.

    >>> base_type("DECIMAL(18,3)"), base_type("INTEGER[]"), base_type("TIMESTAMP WITH TIME ZONE")
    (FLOAT, None, TIMESTAMP)
    """
    if native.endswith("]"):  # a list of something
        return None
    return _TYPES.get(native.partition("(")[0])


def stored_form(native: str) -> str | None:
    """Return the form of the values of a type, or None for one that may round what it is given.

    >>> stored_form("HUGEINT"), stored_form("UUID"), stored_form("FLOAT")
    ('integer', 'uuid', None)
    """
    kind = base_type(native)
    if kind is Type.TEXT:
        return "uuid" if native == "UUID" else "text"
    return None if kind is None else _STORED_FORMS.get(kind)


def reading(name: str, native: str, to: Type) -> Node | None:
    """Return a column of a source as a value of one of our types; None if it cannot be one.

    >>> reading("age", "INTEGER", Type.INTEGER).sql(), reading("age", "VARCHAR[]", Type.INTEGER)
    ('CAST("age" AS BIGINT)', None)
    """
    kind = base_type(native)
    if is_cell(native):
        return _parsed(name, native, to).copy()
    if kind is None or to not in CASTS[kind]:
        return None
    value = _read(column(name), native.partition("(")[0], kind)
    return Expressions(DUCKDB, {}).read(value, to)


@lru_cache(4096)
def _parsed(name: str, native: str, to: Type) -> Node:
    """Return how a cell is read; a statement is a tree, and this part of it is written as text."""
    return parse_one(read_cell(quoted_name(name), native, to), dialect=DUCKDB.name)


def _read(node: Node, native: str, kind: Type) -> Value:
    match kind:
        case Type.INTEGER:
            return Value(_integer(node, native), kind)
        case Type.FLOAT:
            exact = native == "DECIMAL"
            node = node if native == "DOUBLE" else DUCKDB.cast(node, kind)
            return Value(node, kind, open=not exact)
        case Type.TEXT:
            return Value(_text(node, native), kind)
        case Type.DATE:
            return Value(in_years(DUCKDB, node, kind), kind)
        case Type.TIMESTAMP:
            return Value(in_years(DUCKDB, _timestamp(node, native), kind), kind)
        case _:
            return Value(node, kind)


def _text(node: Node, native: str) -> Node:
    if native == UUID_TEXT:
        return sql("CAST(TRY_CAST(:x AS UUID) AS TEXT)", DUCKDB.name, x=node)
    if native == "VARCHAR":
        return sql("(:x COLLATE C)", DUCKDB.name, x=node)
    return DUCKDB.cast(node, Type.TEXT)


def _timestamp(node: Node, native: str) -> Node:
    """Return a timestamp in microseconds.

    Infinite ones are taken out first: among nanoseconds one number lies below them, from which the
    optimizer of DuckDB concludes that all timestamps lie in our years, and then looks no more.
    """
    if native == "TIMESTAMP":
        return node
    if native in ZONED:  # the setting TimeZone would decide what a cast to TIMESTAMP gives
        if native != ZONED[0]:
            node = sql("TRY_CAST(:x AS TIMESTAMPTZ)", DUCKDB.name, x=node)
        return sql(_IN_UTC, DUCKDB.name, x=node)
    cast = sql("TRY_CAST(:x AS TIMESTAMP)", DUCKDB.name, x=node)
    return DUCKDB.op("finite", x=cast)


def _integer(node: Node, native: str) -> Node:
    if native == "BIGINT":
        return node
    if native in _WIDE:
        return sql("TRY_CAST(:x AS BIGINT)", DUCKDB.name, x=node)
    return DUCKDB.cast(node, Type.INTEGER)


@final
@dataclass(frozen=True, slots=True)
class TableView:
    """A table in a database: what it is called there, and its columns by their folded names.

    ``types`` are DuckDB's types of all columns; ``names`` are what those are called that are there.
    A column that is not there makes no difference to the request, and is read as NULL.
    """

    alias: str
    types: Mapping[str, str | None]
    names: Mapping[str, str]


def print_scan(scan: Scan, view: TableView | None) -> exp.Select:
    """Return how a table is read: its columns as values of our types.

    >>> view = TableView("table 0", {"age": "INTEGER"}, {"age": "Age"})
    >>> print_scan(Scan("visits", (("age", Type.INTEGER),)), view).sql()
    'SELECT CAST("Age" AS BIGINT) AS "age" FROM "table 0"'
    """
    if view is None:
        raise unknown_table(scan.table)
    parts = []
    for name, kind in scan.columns:
        native, own = view.types.get(folded(name)), view.names.get(folded(name))
        node = None if native is None else reading(own or name, native, kind)
        if node is None:
            raise unreadable_as(name, scan.table, kind)
        parts.append(named(DUCKDB.literal(None, kind) if own is None else node, name))
    return select(parts or [named(number(1), "one")], view.alias)


def unreadable_as(column: str, table: str, kind: Type) -> WrongType:
    """Return the error for a column that cannot be read as values of a type."""
    return WrongType(
        what=f"the column {column} of {table} is not there as {kind.value}.",
        why="a value is read only in ways that cannot fail.",
        do="declare the column with a type that it can be read as.",
    )


def unknown_table(table: str) -> UnknownName:
    """Return the error for a table that is not there.

    >>> unknown_table("visits").code
    'E503'
    """
    return UnknownName(
        what=f"there is no table {table}.",
        why="only tables that were opened can be read.",
        do="open it first.",
    )
