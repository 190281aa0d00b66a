"""DuckDB's own types, read as ours.

Trust: kernel.  No value of a source can make reading fail: what does not fit is NULL.

Integers of every width are INTEGER, NULL if they need more than 64 bits; decimals and narrow floats
are FLOAT; enumerations and UUIDs are TEXT; moments of any precision are TIMESTAMP, rounded to
microseconds.  Moments with a time zone, lists, structs, intervals and bytes cannot be named.
"""

from __future__ import annotations

from typing import Final

from discreet.engines.sql.casts import cast, in_years
from discreet.engines.sql.printed import Printed, closed
from discreet.engines.sql.words import name
from discreet.query.functions import CASTS
from discreet.query.types import Type

__all__ = ["UUID_TEXT", "base_type", "reading", "stored_form"]

_TYPES: Final[dict[str, Type]] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), Type.INTEGER),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"), Type.INTEGER),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), Type.FLOAT),
    **dict.fromkeys(("VARCHAR", "ENUM", "UUID", "VARCHAR AS UUID"), Type.TEXT),
    "BOOLEAN": Type.BOOLEAN,
    "DATE": Type.DATE,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), Type.TIMESTAMP),
}
UUID_TEXT: Final = "VARCHAR AS UUID"
"""The type of texts that are UUIDs by declaration: each is read in its one usual form, or NULL."""

_FORMS: Final = {Type.INTEGER: "integer", Type.BOOLEAN: "boolean", Type.DATE: "date"}
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
    return None if kind is None else _FORMS.get(kind)


def reading(column: str, native: str, to: Type) -> str | None:
    """Print a column of a source as a value of one of our types; None if it cannot be one.

    >>> reading("age", "INTEGER", Type.INTEGER), reading("age", "VARCHAR[]", Type.INTEGER)
    ('CAST("age" AS BIGINT)', None)
    """
    kind = base_type(native)
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
