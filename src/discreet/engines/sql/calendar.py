"""Functions of days and moments.

Trust: kernel.  No day leaves the years 1 to 9999.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import Final

from discreet.engines.sql.printed import Printed, closed, once
from discreet.engines.sql.words import SQL_TYPES, literal, text
from discreet.query.types import Type

__all__ = ["CALENDAR"]


_PARTS: Final = {
    "YEAR": "year",
    "QUARTER": "quarter",
    "MONTH": "month",
    "DAY": "day",
    "DAYOFWEEK": "dayofweek",
    "DAYOFYEAR": "dayofyear",
    "HOUR": "hour",
    "MINUTE": "minute",
    "SECOND": "second",
}
"""The words for each part of a date; no other word is printed."""


def _word(part: Printed) -> str:
    return _PARTS[str(part.value)]


def _extract(part: Printed, moment: Printed) -> Printed:
    """Print a part by the function of its name, which gives an integer of a bare NULL, too."""
    sql = f"{_word(part)}({moment.sql})"
    return Printed(f"({sql} + 1)" if part.value == "DAYOFWEEK" else sql, Type.INTEGER)


def _date_trunc(moment: Printed, part: Printed) -> Printed:
    kind = moment.kind or Type.DATE
    cut = f"date_trunc({text(_word(part))}, {moment.sql})"
    return Printed(f"CAST({cut} AS {SQL_TYPES[kind]})", kind)


def _date_diff(first: Printed, second: Printed, _part: Printed) -> Printed:
    return Printed(f"CAST({first.sql} - {second.sql} AS BIGINT)", Type.INTEGER)


def _date_add(day: Printed, days: Printed) -> Printed:
    """Print a later day; only days that stay within the years are moved at all."""
    shift = days.value
    longest = (date.max - date.min).days
    if not isinstance(shift, int) or abs(shift) > longest:
        return Printed(literal(None, Type.DATE), Type.DATE)
    first = literal(date.min + timedelta(days=max(0, -shift)), Type.DATE)
    last = literal(date.max - timedelta(days=max(0, shift)), Type.DATE)

    def body(value: str) -> str:
        moved = f"CAST({value} + ({shift}) AS DATE)"
        return f"(CASE WHEN {value} BETWEEN {first} AND {last} THEN TRY({moved}) END)"

    return Printed(once([closed(day)], body), Type.DATE)


CALENDAR: Final[dict[str, Callable[..., Printed]]] = {
    "EXTRACT": _extract,
    "DATE_TRUNC": _date_trunc,
    "DATE_DIFF": _date_diff,
    "DATE_ADD": _date_add,
}
