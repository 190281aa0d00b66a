"""Functions of texts, casts and days, one value at a time, of values that are not NULL.

Trust: kernel.

Definition.  No function makes a text longer than ``LONGEST_TEXT`` bytes in UTF-8: where CONCAT or
REPLACE would, the result is NULL (for REPLACE every place where the second could stand counts), and
LOWER, UPPER, TRIM and SUBSTR of a longer text are NULL; SUBSTR of at most ``LONGEST_TEXT`` / 4 code
points never is.  LIKE of a longer text is NULL if its pattern has both % and _: it takes a time of
the length of the text times that of the pattern.  How many such texts a question makes of one row,
and how long that may take, is limited by :mod:`discreet.requests.text_limits`, and how many rows it
makes of one by :mod:`discreet.plan.binding.fan_out`.

A text is a number or a day only if it is written like one; everything else is NULL.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any, Final

from discreet.query.types import Type

LONGEST_TEXT: Final = 2**13

_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER: Final = {code + 32: code for code in _LOWER}


def _bytes(value: str) -> int:
    return len(value.encode("utf-8", "surrogatepass"))


def _short(value: str) -> str | None:
    return value if _bytes(value) <= LONGEST_TEXT else None


def _translated(table: dict[int, int]) -> Callable[[str], str | None]:
    return lambda value: None if _short(value) is None else value.translate(table)


def _trim(value: str) -> str | None:
    return None if _short(value) is None else value.strip(" ")


def _substr(value: str, place: int, count: int | None = None) -> str | None:
    if (count is None or count > LONGEST_TEXT // 4) and _short(value) is None:
        return None
    first = max(place, 1)
    stop = len(value) + 1 if count is None else place + count
    return value[first - 1 : max(stop, first) - 1]


def _concat(*values: str) -> str | None:
    return _short("".join(values))


def _replace(value: str, old: str, new: str) -> str | None:
    size = _bytes(value)
    if not old:
        return value
    longest = size + size // _bytes(old) * _bytes(new)
    return value.replace(old, new) if longest <= LONGEST_TEXT else None


def searches(pattern: str) -> int:
    """Return how many parts of a pattern of LIKE are looked for at every place of a text.

    Without both % and _ there are none: a part without _ is found by its letters.

    >>> [searches(each) for each in ("a%b%c", "a__b", "a_b%", "%a_b%", "a%b_c", "%a_b%c")]
    [0, 0, 0, 1, 1, 2]
    """
    if "_" not in pattern or "%" not in pattern:
        return 0
    _, *parts = pattern.split("%")
    return sum(1 for part in parts if part)


def _like(value: str, pattern: str) -> bool | None:
    """Match a pattern from the left; of two % the last decides, so that none is tried twice."""
    if "_" in pattern and "%" in pattern and _short(value) is None:
        return None
    read = place = 0
    again: tuple[int, int] | None = None
    while read < len(value):
        if place < len(pattern) and pattern[place] == "%":
            place += 1
            again = place, read
        elif place < len(pattern) and pattern[place] in {"_", value[read]}:
            place, read = place + 1, read + 1
        elif again is not None:
            again = again[0], again[1] + 1
            place, read = again
        else:
            return False
    return all(letter == "%" for letter in pattern[place:])


TEXT_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "LOWER": _translated(_LOWER),
    "UPPER": _translated(_UPPER),
    "LENGTH": len,
    "SUBSTR": _substr,
    "CONCAT": _concat,
    "TRIM": _trim,
    "STARTS_WITH": lambda value, start: value.startswith(start),
    "ENDS_WITH": lambda value, end: value.endswith(end),
    "REPLACE": _replace,
    "LIKE": _like,
}
"""How each function is computed; none fails, whatever the values are."""


_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}")
_FLOAT: Final = re.compile(r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,6})?"
)


def _integer(value: str) -> int | None:
    return int(value) if _INTEGER.fullmatch(value) else None


def _float(value: str) -> float | None:
    number = float(value) if _FLOAT.fullmatch(value) else math.inf
    return number + 0.0 if math.isfinite(number) else None


def _date(value: str) -> date | None:
    if not _DATE.fullmatch(value):
        return None
    try:
        return date.fromisoformat(value)
    except ValueError:  # no such day
        return None


def _timestamp(value: str) -> datetime | None:
    if not _TIMESTAMP.fullmatch(value):
        return None
    try:
        whole = datetime.fromisoformat(value[:19])
    except ValueError:  # no such day
        return None
    return whole.replace(microsecond=int(value[20:].ljust(6, "0")))


TEXT_CASTS: Final[dict[tuple[Type, Type], Callable[[Any], Any]]] = {
    (Type.INTEGER, Type.TEXT): str,
    (Type.TEXT, Type.INTEGER): _integer,
    (Type.TEXT, Type.FLOAT): _float,
    (Type.TEXT, Type.DATE): _date,
    (Type.TEXT, Type.TIMESTAMP): _timestamp,
    (Type.BOOLEAN, Type.TEXT): lambda value: "true" if value else "false",
    (Type.DATE, Type.TEXT): lambda value: value.isoformat(),
    (Type.DATE, Type.TIMESTAMP): lambda value: datetime(value.year, value.month, value.day),  # noqa: DTZ001
    (Type.TIMESTAMP, Type.DATE): lambda value: value.date(),
}
"""Casts, by the type of the value and the one it becomes."""


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
    if part == "ISOWEEK":
        value, part = value - timedelta(days=value.weekday()), "DAY"
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


DATE_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "EXTRACT": _extract,
    "DATE_TRUNC": _date_trunc,
    "DATE_DIFF": lambda first, second, _: (first - second).days,
    "DATE_ADD": _date_add,
}
"""How each function is computed; days beyond the calendar are NULL."""
