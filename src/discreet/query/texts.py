"""The functions of text, one value at a time, of values that are not NULL.

Trust: kernel.

Definition.  No function makes a text longer than ``LONGEST`` bytes in UTF-8: where CONCAT or
REPLACE would, the result is NULL (for REPLACE every place where the second could stand counts), and
LOWER, UPPER, TRIM and SUBSTR of a longer text are NULL; SUBSTR of at most ``LONGEST`` / 4 code
points never is.  LIKE takes a time of at most the length of the text times that of the pattern.
How many such texts a question makes of one row is limited by :mod:`discreet.plan.text_work`, and
how many rows it makes of one by :mod:`discreet.plan.fan_out`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

__all__ = ["LONGEST", "TEXTS"]

LONGEST: Final = 2**16

_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER: Final = {code + 32: code for code in _LOWER}


def _bytes(value: str) -> int:
    return len(value.encode("utf-8", "surrogatepass"))


def _short(value: str) -> str | None:
    return value if _bytes(value) <= LONGEST else None


def _translated(table: dict[int, int]) -> Callable[[str], str | None]:
    return lambda value: None if _short(value) is None else value.translate(table)


def _trim(value: str) -> str | None:
    return None if _short(value) is None else value.strip(" ")


def _substr(value: str, place: int, count: int | None = None) -> str | None:
    if (count is None or count > LONGEST // 4) and _short(value) is None:
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
    return value.replace(old, new) if longest <= LONGEST else None


def _like(value: str, pattern: str) -> bool:
    """Match a pattern from the left; of two % the last decides, so that none is tried twice."""
    at = place = 0
    again: tuple[int, int] | None = None
    while at < len(value):
        if place < len(pattern) and pattern[place] == "%":
            place += 1
            again = place, at
        elif place < len(pattern) and pattern[place] in {"_", value[at]}:
            place, at = place + 1, at + 1
        elif again is not None:
            again = again[0], again[1] + 1
            place, at = again
        else:
            return False
    return all(letter == "%" for letter in pattern[place:])


TEXTS: Final[dict[str, Callable[..., Any]]] = {
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
