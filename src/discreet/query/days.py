"""The functions of days and moments, one value at a time, of values that are not NULL.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any, Final

__all__ = ["DAYS"]

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


def _extract(part: str, value: date) -> int:
    return _PARTS[part](value)


def _date_trunc(value: date, part: str) -> date:
    month = {"DAY": value.month, "MONTH": value.month, "YEAR": 1}.get(
        part, (value.month - 1) // 3 * 3 + 1
    )
    first = value.replace(month=month, day=value.day if part == "DAY" else 1)
    if isinstance(first, datetime):
        return first.replace(hour=0, minute=0, second=0, microsecond=0)
    return first


def _date_add(value: date, days: int) -> date | None:
    try:
        return value + timedelta(days=days)
    except OverflowError:
        return None


DAYS: Final[dict[str, Callable[..., Any]]] = {
    "EXTRACT": _extract,
    "DATE_TRUNC": _date_trunc,
    "DATE_DIFF": lambda first, second, _: (first - second).days,
    "DATE_ADD": _date_add,
}
"""How each function is computed; days beyond the calendar are NULL."""
