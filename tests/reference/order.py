"""The order of hashes in plain Python: canonical texts, and ties of windows."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from hashlib import md5
from typing import Final

from discreet.engines.dialect import GROUPS, LEAVES, VALUES
from discreet.engines.engine import HashOrder
from discreet.engines.relations import LONG

__all__ = ["GROUPS", "LEAVES", "VALUES", "Value", "below", "place", "text_of", "tie_breaker"]

Value = bool | int | float | str | date | None
"""A value of a table (a datetime is a date to the type checker); None is NULL."""

_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 (timestamps have no time zone)
_DIGITS: Final = 15


def text_of(order: HashOrder, purpose: str, values: Iterable[Value]) -> str:
    """Return the canonical text."""
    return f"{order.salt} {purpose}" + "".join(map(_part, values))


def place(order: HashOrder, purpose: str, values: Iterable[Value]) -> str:
    """Return where values come in the portable order."""
    return md5(text_of(order, purpose, values).encode(), usedforsecurity=False).hexdigest()


def below(order: HashOrder, limit: int, purpose: str, values: Iterable[Value]) -> int:
    """Return the number from 0 to ``limit`` - 1 that belongs to values."""
    return int(place(order, purpose, values)[:_DIGITS], 16) % limit


def tie_breaker(value: Value) -> Value:
    """Return what stands for a value if rows agree in the order of a window."""
    if not isinstance(value, str) or len(written := value.encode("utf-8", "surrogatepass")) <= LONG:
        return value
    return md5(written, usedforsecurity=False).hexdigest()


def _text(value: Value) -> str | None:
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case float():
            return repr(value + 0.0)
        case datetime():
            return str((value - _EPOCH) // timedelta(microseconds=1))
        case date():
            return value.isoformat()
        case _:
            return str(value)


def _part(value: Value) -> str:
    text = _text(value)
    return "-" if text is None else f"{len(text)}:{text}"
