"""Functions of texts and days, one value at a time; none fails, whatever the values are.

Trust: public.

The meaning of each is that of :mod:`discreet.query.signatures`.  A text that would be longer than
``LONGEST`` bytes is NULL, as it is on engines.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any, Final

from discreet.query.types import Type

__all__ = ["CASTS", "VALUES"]

LONGEST: Final = 2**16

_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER: Final = {code + 32: code for code in _LOWER}


def _substr(value: str, place: int, count: int | None = None) -> str:
    return value[place - 1 :] if count is None else value[place - 1 : place - 1 + count]


def _concat(*values: str) -> str | None:
    joined = "".join(values)
    return joined if len(joined.encode()) <= LONGEST else None


def _replace(value: str, old: str, new: str) -> str | None:
    size = len(value.encode())
    if not old:
        return value
    longest = size + size // len(old.encode()) * len(new.encode())
    return value.replace(old, new) if longest <= LONGEST else None


def _like(value: str, pattern: str) -> bool:
    parts = {"%": ".*", "_": "."}
    words = "".join(parts.get(letter) or re.escape(letter) for letter in pattern)
    return re.fullmatch(words, value, re.DOTALL) is not None


_PARTS: Final[dict[str, Callable[[Any], int]]] = {
    "YEAR": lambda value: value.year,
    "MONTH": lambda value: value.month,
    "DAY": lambda value: value.day,
    "QUARTER": lambda value: (value.month + 2) // 3,
    "DAYOFWEEK": lambda value: value.isoweekday() % 7 + 1,
    "DAYOFYEAR": lambda value: value.timetuple().tm_yday,
    "HOUR": lambda value: value.hour,
    "MINUTE": lambda value: value.minute,
    "SECOND": lambda value: value.second,
}


def _date_trunc(value: date, part: str) -> date:
    if isinstance(value, datetime):
        value = value.replace(hour=0, minute=0, second=0, microsecond=0)
    match part:
        case "DAY":
            return value
        case "MONTH":
            return value.replace(day=1)
        case "QUARTER":
            return value.replace(day=1, month=(value.month - 1) // 3 * 3 + 1)
        case _:
            return value.replace(day=1, month=1)


def _date_add(value: date, days: int) -> date | None:
    try:
        return value + timedelta(days=days)
    except OverflowError:
        return None


VALUES: Final[dict[str, tuple[Type | None, Callable[..., Any]]]] = {
    "LOWER": (Type.TEXT, lambda value: value.translate(_LOWER)),
    "UPPER": (Type.TEXT, lambda value: value.translate(_UPPER)),
    "LENGTH": (Type.INTEGER, len),
    "SUBSTR": (Type.TEXT, _substr),
    "CONCAT": (Type.TEXT, _concat),
    "TRIM": (Type.TEXT, lambda value: value.strip(" ")),
    "STARTS_WITH": (Type.BOOLEAN, lambda value, start: value.startswith(start)),
    "ENDS_WITH": (Type.BOOLEAN, lambda value, end: value.endswith(end)),
    "REPLACE": (Type.TEXT, _replace),
    "LIKE": (Type.BOOLEAN, _like),
    "EXTRACT": (Type.INTEGER, lambda part, value: _PARTS[part](value)),
    "DATE_TRUNC": (None, _date_trunc),
    "DATE_DIFF": (Type.INTEGER, lambda first, second, _: (first - second).days),
    "DATE_ADD": (Type.DATE, _date_add),
}
"""What each function gives (None: the type of its first argument), and how it is computed."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}")
_FLOAT: Final = re.compile(r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]"
    r"((?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])(?:[.]([0-9]{1,6}))?"
)


def _date(value: str) -> date | None:
    try:
        return date.fromisoformat(value) if _DATE.fullmatch(value) else None
    except ValueError:  # no such day
        return None


def _timestamp(value: str) -> datetime | None:
    found = _TIMESTAMP.fullmatch(value)
    if found is None or _date(found[1]) is None:
        return None
    moment = datetime.fromisoformat(f"{found[1]}T{found[2]}")
    return moment.replace(microsecond=int((found[3] or "").ljust(6, "0")))


CASTS: Final[dict[tuple[Type, Type], Callable[[Any], Any]]] = {
    (Type.INTEGER, Type.TEXT): str,
    (Type.TEXT, Type.INTEGER): lambda value: int(value) if _INTEGER.fullmatch(value) else None,
    (Type.TEXT, Type.FLOAT): lambda value: float(value) if _FLOAT.fullmatch(value) else None,
    (Type.TEXT, Type.DATE): _date,
    (Type.TEXT, Type.TIMESTAMP): _timestamp,
    (Type.BOOLEAN, Type.TEXT): lambda value: "true" if value else "false",
    (Type.DATE, Type.TEXT): lambda value: value.isoformat(),
    (Type.DATE, Type.TIMESTAMP): lambda value: datetime(value.year, value.month, value.day),  # noqa: DTZ001
    (Type.TIMESTAMP, Type.DATE): lambda value: value.date(),
}
"""Casts that are made one value at a time."""
