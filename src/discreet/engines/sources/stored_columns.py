"""How stored columns become values of our types, and the scans that are made of them.

Trust: kernel (T2).  No value can make a scan fail: what does not fit is NULL.

Integers of every width are INTEGER, NULL if they need more than 64 bits; decimals and narrow floats
are FLOAT; enumerations and UUIDs are TEXT; timestamps of any precision are TIMESTAMP, rounded to
microseconds, those with a time zone in UTC.  Lists, structs, intervals and bytes cannot be named.
Cells of CSV files can be read as all of our types (:mod:`discreet.engines.sources.cells`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from discreet.engines.dialect import Dialect, Value
from discreet.engines.duckdb_dialect import DUCKDB
from discreet.engines.expressions import Expressions, in_years
from discreet.engines.fragments import Node, number, verbatim
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
    """Return our type for one of DuckDB's, or None.

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

    >>> reading("age", "INTEGER", Type.INTEGER).text, reading("age", "VARCHAR[]", Type.INTEGER)
    ('CAST("age" AS BIGINT)', None)
    """
    kind = base_type(native)
    if is_cell(native):
        return verbatim(read_cell(quoted_name(name), native, to))
    if kind is None or to not in CASTS[kind]:
        return None
    value = _read(DUCKDB.column(name), native.partition("(")[0], kind)
    return Expressions(DUCKDB, {}).read(value, to)


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
        return DUCKDB.own("CAST(TRY_CAST(:x AS UUID) AS TEXT)", x=node)
    if native == "VARCHAR":
        return DUCKDB.own("(:x COLLATE C)", x=node)
    return DUCKDB.cast(node, Type.TEXT)


def _timestamp(node: Node, native: str) -> Node:
    """Return a timestamp in microseconds.

    Infinite ones are taken out first: among nanoseconds one number is below them, from which the
    optimizer of DuckDB concludes that all timestamps are in our years, and then looks no more.
    """
    if native == "TIMESTAMP":
        return node
    if native in ZONED:  # the setting TimeZone would decide what a cast to TIMESTAMP gives
        if native != ZONED[0]:
            node = DUCKDB.own("TRY_CAST(:x AS TIMESTAMPTZ)", x=node)
        return DUCKDB.own(_IN_UTC, x=node)
    cast = DUCKDB.own("TRY_CAST(:x AS TIMESTAMP)", x=node)
    return DUCKDB.op("finite", x=cast)


def _integer(node: Node, native: str) -> Node:
    if native == "BIGINT":
        return node
    if native in _WIDE:
        return DUCKDB.own("TRY_CAST(:x AS BIGINT)", x=node)
    return DUCKDB.cast(node, Type.INTEGER)


def read_columns(
    dialect: Dialect,
    scan: Scan,
    names: Iterable[str],
    reading: Callable[[str, Type], Node | None],
) -> list[Node]:
    """Return the columns of a scan as values of our types, under their names in the question.

    Args:
        dialect: the SQL of the engine.
        scan: which columns are read, as values of which types.
        names: what the columns of the table are called.
        reading: returns a column as a value of a type; None if it cannot be one.
    """
    own = {folded(name): name for name in names}
    found = []
    for name, kind in scan.columns:
        node = reading(own[folded(name)], kind) if folded(name) in own else None
        if node is None:
            raise unreadable_as(name, scan.table, kind)
        found.append(dialect.named(node, name))
    return found or [dialect.named(number(1), "one")]


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
