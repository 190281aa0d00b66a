"""Functions of texts, days and moments.

Trust: kernel.  No text grows beyond ``LONGEST_TEXT`` bytes, and no
day leaves the years 1 to 9999.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from string import ascii_lowercase, ascii_uppercase
from typing import Final

from discreet.engines.sql.fragments import SQL_TYPES, Printed, closed, literal, once, text
from discreet.query.scalar_functions import LONGEST_TEXT
from discreet.query.types import Type

__all__ = ["CALENDAR", "TEXTS"]

_FARTHEST: Final = 2**31 - 1


def _short(value: Printed, body: Callable[[str], str]) -> Printed:
    """Print a text made of another, unless that is too long."""

    def checked(sql: str) -> str:
        return f"(CASE WHEN strlen({sql}) <= {LONGEST_TEXT} THEN {body(sql)} END)"

    return Printed(once([value.sql], checked), Type.TEXT)


def _translated(start: str, to: str) -> Callable[[Printed], Printed]:
    return lambda value: _short(value, lambda sql: f"translate({sql}, {text(start)}, {text(to)})")


def _length(value: Printed) -> Printed:
    return Printed(f"length({value.sql})", Type.INTEGER)


def _substr(value: Printed, place: Printed, count: Printed | None = None) -> Printed:
    """Print the code points at places that are there; the numbers are known by now."""
    first = max(_number(place), 1)
    wanted = _FARTHEST if count is None else _number(place) + _number(count) - first
    if first > _FARTHEST or wanted <= 0:
        first, wanted = 1, 0
    if count is not None and _number(count) <= LONGEST_TEXT // 4:
        return Printed(f"substr({value.sql}, {first}, {wanted})", Type.TEXT)
    return _short(value, lambda sql: f"substr({sql}, {first}, {min(wanted, _FARTHEST)})")


def _number(value: Printed) -> int:
    return value.value if isinstance(value.value, int) else 0


def _concat(*values: Printed) -> Printed:
    def body(*parts: str) -> str:
        size = " + ".join(f"strlen({part})" for part in parts)
        return f"(CASE WHEN {size} <= {LONGEST_TEXT} THEN {' || '.join(parts)} END)"

    return Printed(once([value.sql for value in values], body), Type.TEXT)


def _trim(value: Printed) -> Printed:
    return _short(value, lambda sql: f"trim({sql}, ' ')")


def _predicate(function: str) -> Callable[[Printed, Printed], Printed]:
    return lambda value, part: Printed(f"{function}({value.sql}, {part.sql})", Type.BOOLEAN)


def _replace(value: Printed, old: Printed, new: Printed) -> Printed:
    def body(whole: str, part: str, other: str) -> str:
        places = f"strlen({whole}) // greatest(strlen({part}), 1)"
        longest = f"strlen({whole}) + TRY(({places}) * strlen({other}))"
        return (
            f"(CASE WHEN {part} = '' AND {other} IS NOT NULL THEN {whole}"
            f" WHEN {longest} <= {LONGEST_TEXT} THEN replace({whole}, {part}, {other}) END)"
        )

    return Printed(once([value.sql, old.sql, new.sql], body), Type.TEXT)


def _like(value: Printed, pattern: Printed) -> Printed:
    """Print a match; DuckDB tries all places for each % if there is a _, and RE2 does not."""
    written = str(pattern.value)
    if "_" not in written or "%" not in written:
        return Printed(f"({value.sql} LIKE {pattern.sql})", Type.BOOLEAN)
    parts = {"%": ".*", "_": "."}
    expression = "(?s)" + "".join(parts.get(letter) or re.escape(letter) for letter in written)
    return Printed(f"regexp_full_match({value.sql}, {text(expression)})", Type.BOOLEAN)


TEXTS: Final[dict[str, Callable[..., Printed]]] = {
    "LOWER": _translated(ascii_uppercase, ascii_lowercase),
    "UPPER": _translated(ascii_lowercase, ascii_uppercase),
    "LENGTH": _length,
    "SUBSTR": _substr,
    "CONCAT": _concat,
    "TRIM": _trim,
    "STARTS_WITH": _predicate("starts_with"),
    "ENDS_WITH": _predicate("ends_with"),
    "REPLACE": _replace,
    "LIKE": _like,
}


_DAYS: Final = ("YEAR", "QUARTER", "MONTH", "DAY", "DAYOFWEEK", "DAYOFYEAR")
_PARTS: Final = {part: part.lower() for part in (*_DAYS, "HOUR", "MINUTE", "SECOND")}
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
