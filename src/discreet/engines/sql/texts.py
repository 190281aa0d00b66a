"""Functions of text.

Trust: kernel.  No text grows beyond ``LONGEST`` bytes, see :mod:`discreet.query.texts`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from string import ascii_lowercase, ascii_uppercase
from typing import Final

from discreet.engines.sql.printed import Printed, once
from discreet.engines.sql.words import text
from discreet.query.texts import LONGEST
from discreet.query.types import Type

__all__ = ["TEXTS"]

_FARTHEST: Final = 2**31 - 1


def _short(value: Printed, body: Callable[[str], str]) -> Printed:
    """Print a text made of another, unless that is too long."""

    def checked(sql: str) -> str:
        return f"(CASE WHEN strlen({sql}) <= {LONGEST} THEN {body(sql)} END)"

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
    if count is not None and _number(count) <= LONGEST // 4:
        return Printed(f"substr({value.sql}, {first}, {wanted})", Type.TEXT)
    return _short(value, lambda sql: f"substr({sql}, {first}, {min(wanted, _FARTHEST)})")


def _number(value: Printed) -> int:
    return value.value if isinstance(value.value, int) else 0


def _concat(*values: Printed) -> Printed:
    def body(*parts: str) -> str:
        size = " + ".join(f"strlen({part})" for part in parts)
        return f"(CASE WHEN {size} <= {LONGEST} THEN {' || '.join(parts)} END)"

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
            f" WHEN {longest} <= {LONGEST} THEN replace({whole}, {part}, {other}) END)"
        )

    return Printed(once([value.sql, old.sql, new.sql], body), Type.TEXT)


def _like(value: Printed, pattern: Printed) -> Printed:
    """Print a match; DuckDB tries all places for each % if there is a _, and RE2 does not."""
    written = str(pattern.value)
    if "_" not in written or "%" not in written:
        return Printed(f"({value.sql} LIKE {pattern.sql})", Type.BOOLEAN)
    parts = {"%": ".*", "_": "."}
    expression = "(?s)" + "".join(parts.get(each) or re.escape(each) for each in written)
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
