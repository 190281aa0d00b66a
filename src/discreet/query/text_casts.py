"""Casts to and from texts and days, one value at a time, of values that are not NULL.

Trust: kernel.

A text is a number or a day only if it is written like one; everything else is NULL.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, datetime
from typing import Any, Final

from discreet.query.types import Type

__all__ = ["TEXT_CASTS"]

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
