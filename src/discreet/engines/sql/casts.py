"""Casts that never fail: texts of the wrong form, and numbers out of range, are NULL.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from discreet.engines.sql.printed import Printed, closed, converted, once
from discreet.engines.sql.words import SQL_TYPES, text
from discreet.query.types import Type

__all__ = ["cast", "in_years"]

_DAY: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_FORMS: Final = {
    Type.INTEGER: "[+-]?[0-9]{1,18}",
    Type.FLOAT: "[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?",
    Type.DATE: _DAY,
    Type.TIMESTAMP: f"{_DAY}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{{1,6}})?",
}
"""The texts that can be read as values of a type."""


def cast(argument: Printed, to: Type) -> Printed:
    """Print a cast.

    >>> cast(Printed('"x"', Type.FLOAT), Type.INTEGER).sql
    'TRY_CAST(round("x") AS BIGINT)'
    """
    if argument.kind is None or argument.kind is to:
        return converted(argument, to)
    return _CASTS.get(argument.kind, _plain)(argument, to)


def in_years(sql: str, kind: Type) -> str:
    """Print a day or a moment that is NULL outside the years 1 to 9999.

    >>> print(in_years('"d"', Type.DATE))
    (CASE WHEN "d" BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN "d" END)
    """
    first, last = "0001-01-01", "9999-12-31"
    if kind is Type.TIMESTAMP:
        first, last = f"{first} 00:00:00", f"{last} 23:59:59.999999"
    low, high = f"{kind.value} {text(first)}", f"{kind.value} {text(last)}"
    return once([sql], lambda day: f"(CASE WHEN {day} BETWEEN {low} AND {high} THEN {day} END)")


def _from_text(argument: Printed, to: Type) -> Printed:
    form = text(f"^{_FORMS[to]}$")
    sql = f"TRY_CAST(regexp_extract({closed(argument)}, {form}) AS {SQL_TYPES[to]})"
    if to in {Type.DATE, Type.TIMESTAMP}:
        return Printed(in_years(sql, to), to)
    return Printed(sql, to, open=to is Type.FLOAT)


def _from_float(argument: Printed, to: Type) -> Printed:
    """Print the nearest integer; what is not finite is out of range too."""
    sql = argument.sql if argument.whole else f"round({argument.sql})"
    return Printed(f"TRY_CAST({sql} AS {SQL_TYPES[to]})", to)


def _plain(argument: Printed, to: Type) -> Printed:
    return Printed(f"CAST({closed(argument)} AS {SQL_TYPES[to]})", to)


_CASTS: Final[dict[Type, Callable[[Printed, Type], Printed]]] = {
    Type.TEXT: _from_text,
    Type.FLOAT: _from_float,
}
