"""Casts from the columns of a source to our types, and the scans that are made of them.

Trust: kernel.  No value can make a scan fail: what does not fit is NULL.

Integers of every width are INTEGER, NULL if they need more than 64 bits; decimals and narrow floats
are FLOAT; enumerations and UUIDs are TEXT; moments of any precision are TIMESTAMP, rounded to
microseconds.  Moments with a time zone, lists, structs, intervals and bytes cannot be named.
Cells of CSV files can be read as all of our types (:mod:`discreet.engines.sql.cells`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

from discreet.engines.sql.cells import CELL, is_cell, read_cell
from discreet.engines.sql.fragments import Printed, cast, closed, in_years, literal, name
from discreet.errors import UnknownName, WrongType
from discreet.query.expression_types import CASTS
from discreet.query.relations import Scan, folded
from discreet.query.types import Type

_TYPES: Final[dict[str, Type]] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), Type.INTEGER),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"), Type.INTEGER),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), Type.FLOAT),
    **dict.fromkeys(("VARCHAR", "ENUM", "UUID", "VARCHAR AS UUID", CELL), Type.TEXT),
    "BOOLEAN": Type.BOOLEAN,
    "DATE": Type.DATE,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), Type.TIMESTAMP),
}
UUID_TEXT: Final = "VARCHAR AS UUID"
"""The type of texts that are UUIDs by declaration: each is read in its one usual form, or NULL."""

_STORED_FORMS: Final = {Type.INTEGER: "integer", Type.BOOLEAN: "boolean", Type.DATE: "date"}
_WIDE: Final = frozenset({"UBIGINT", "HUGEINT", "UHUGEINT"})


def base_type(native: str) -> Type | None:
    """Return our type for one of DuckDB's, or None if there is none.

    >>> base_type("DECIMAL(18,3)"), base_type("INTEGER[]"), base_type("TIMESTAMP WITH TIME ZONE")
    (FLOAT, None, None)
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


def reading(column: str, native: str, to: Type) -> str | None:
    """Print a column of a source as a value of one of our types; None if it cannot be one.

    >>> reading("age", "INTEGER", Type.INTEGER), reading("age", "VARCHAR[]", Type.INTEGER)
    ('CAST("age" AS BIGINT)', None)
    """
    kind = base_type(native)
    if is_cell(native):
        return read_cell(name(column), native, to)
    if kind is None or to not in CASTS[kind]:
        return None
    return closed(cast(_read(name(column), native.partition("(")[0], kind), to))


def _read(column: str, native: str, kind: Type) -> Printed:
    match kind:
        case Type.INTEGER:
            return Printed(_integer(column, native), kind)
        case Type.FLOAT:
            exact = native == "DECIMAL"
            sql = column if native == "DOUBLE" else f"CAST({column} AS DOUBLE)"
            return Printed(sql, kind, open=not exact)
        case Type.TEXT:
            return Printed(_text(column, native), kind)
        case Type.DATE:
            return Printed(in_years(column, kind), kind)
        case Type.TIMESTAMP:
            return Printed(in_years(_moment(column, native), kind), kind)
        case _:
            return Printed(column, kind)


def _text(column: str, native: str) -> str:
    if native == UUID_TEXT:
        return f"CAST(TRY_CAST({column} AS UUID) AS VARCHAR)"
    return f"({column} COLLATE C)" if native == "VARCHAR" else f"CAST({column} AS VARCHAR)"


def _moment(column: str, native: str) -> str:
    """Print a moment in microseconds.

    Infinite ones are taken out first: among nanoseconds one number lies below them, from which the
    optimizer of DuckDB concludes that all moments lie in our years, and then looks no more.
    """
    if native == "TIMESTAMP":
        return column
    moment = f"TRY_CAST({column} AS TIMESTAMP)"
    return f"(CASE WHEN isfinite({moment}) THEN {moment} END)"


def _integer(column: str, native: str) -> str:
    if native == "BIGINT":
        return column
    return f"TRY_CAST({column} AS BIGINT)" if native in _WIDE else f"CAST({column} AS BIGINT)"


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


def print_scan(scan: Scan, view: TableView | None, *, open_floats: bool = False) -> str:
    """Print how a table is read: its columns as values of our types.

    With ``open_floats`` floats are read as they are, finite or not.

    >>> view = TableView("table 0", {"age": "INTEGER"}, {"age": "Age"})
    >>> print_scan(Scan("visits", (("age", Type.INTEGER),)), view)
    'SELECT CAST("Age" AS BIGINT) AS "age" FROM "table 0"'
    """
    if view is None:
        raise unknown_table(scan.table)
    parts = []
    for column, kind in scan.columns:
        native, own = view.types.get(folded(column)), view.names.get(folded(column))
        sql = None if native is None else _column(own or column, native, kind, open_floats)
        if sql is None:
            raise WrongType(
                what=f"the column {column} of {scan.table} is not there as {kind.value}.",
                why="a value is read only in ways that cannot fail.",
                do="declare the column with a type that it can be read as.",
            )
        parts.append(f"{literal(None, kind) if own is None else sql} AS {name(column)}")
    return f"SELECT {', '.join(parts) or '1 AS one'} FROM {name(view.alias)}"  # noqa: S608 (quoted)


def _column(column: str, native: str, to: Type, open_floats: bool) -> str | None:  # noqa: FBT001
    if open_floats and to is Type.FLOAT and native in {"DOUBLE", "FLOAT"}:
        return _read(name(column), native, to).sql
    return reading(column, native, to)


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
