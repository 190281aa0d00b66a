"""The functions of text, one value at a time, of values that are not NULL.

Trust: kernel.

Definition.  A text that CONCAT or REPLACE would make longer than ``LONGEST`` bytes in UTF-8 is
NULL; for REPLACE every place where the second could stand counts.  So no question can make an
engine run out of memory on the rows of one unit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

__all__ = ["LONGEST", "TEXTS"]

LONGEST: Final = 2**16

_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER: Final = {code + 32: code for code in _LOWER}


def _bytes(value: str) -> int:
    return len(value.encode("utf-8", "surrogatepass"))


def _substr(value: str, place: int, count: int | None = None) -> str:
    first = max(place, 1)
    stop = len(value) + 1 if count is None else place + count
    return value[first - 1 : max(stop, first) - 1]


def _concat(*values: str) -> str | None:
    joined = "".join(values)
    return joined if _bytes(joined) <= LONGEST else None


def _replace(value: str, old: str, new: str) -> str | None:
    size = _bytes(value)
    if not old:
        return value
    longest = size + size // _bytes(old) * _bytes(new)
    return value.replace(old, new) if longest <= LONGEST else None


def _like(value: str, pattern: str) -> bool:
    parts = {"%": ".*", "_": "."}
    expression = "".join(parts.get(letter) or re.escape(letter) for letter in pattern)
    return re.fullmatch(expression, value, re.DOTALL) is not None


TEXTS: Final[dict[str, Callable[..., Any]]] = {
    "LOWER": lambda value: value.translate(_LOWER),
    "UPPER": lambda value: value.translate(_UPPER),
    "LENGTH": len,
    "SUBSTR": _substr,
    "CONCAT": _concat,
    "TRIM": lambda value: value.strip(" "),
    "STARTS_WITH": lambda value, start: value.startswith(start),
    "ENDS_WITH": lambda value, end: value.endswith(end),
    "REPLACE": _replace,
    "LIKE": _like,
}
"""How each function is computed; none fails, whatever the values are."""
