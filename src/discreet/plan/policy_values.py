"""Reading the values of a policy: strictly, and with the place named where one is wrong.

Trust: kernel.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import Any, Final

from discreet.errors import BadPolicy, DiscreetError
from discreet.exact import decimal

__all__ = [
    "above_zero",
    "bad",
    "below_one",
    "counted",
    "exact",
    "flag",
    "known_fields",
    "table_of",
    "texts",
]

_MOST: Final = 10**6


def bad(place: str, what: str, do: str) -> BadPolicy:
    """Return the error for one place of a policy."""
    return BadPolicy(
        what=f"{place} in the policy: {what}.",
        why="a rule that is not understood would not be followed.",
        do=f"{do}.",
    )


def known_fields(data: Mapping[str, Any], names: Collection[str], place: str) -> None:
    """Refuse names that a table of the policy does not have."""
    for name in data:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            do = f"write {near[0]}" if near else f"use {', '.join(names)}"
            raise bad(place, f"there is no '{name}'", do)


def table_of(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a table inside a table, empty if it is not there."""
    found = data.get(name, {})
    if not isinstance(found, Mapping):
        raise bad(name, "it is not a table", f"write [{name}], and its names below")
    return found


def texts(value: object, place: str) -> tuple[str, ...]:
    """Return a list of texts, each once."""
    good = isinstance(value, list) and all(isinstance(each, str) and each for each in value)
    if not good or not isinstance(value, list) or len(set(value)) != len(value):
        raise bad(place, "it is not a list of different texts", 'write ["a", "b"]')
    return tuple(value)


def counted(value: object, place: str) -> int:
    """Return a whole number from 1."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST:
        raise bad(place, f"it is not a whole number from 1 to {_MOST}", "write such a number")
    return value


def exact(value: object, place: str) -> Fraction:
    """Return an exact number, from a number or from its text."""
    try:
        if isinstance(value, bool) or not isinstance(value, int | str | Fraction):
            raise bad(place, "it is not a number", "write a number, such as 0.5")
        return decimal(value, name=place)
    except DiscreetError:
        raise bad(place, "it is not a number", "write a number, such as 0.5") from None


def above_zero(value: object, place: str) -> Fraction:
    """Return an exact number above zero."""
    number = exact(value, place)
    if number <= 0:
        raise bad(place, "it is not above zero", "write a positive number")
    return number


def below_one(value: object, place: str) -> Fraction:
    """Return an exact number strictly between zero and one."""
    number = above_zero(value, place)
    if number >= 1:
        raise bad(place, "it is not below one", "write a number between 0 and 1")
    return number


def flag(value: object, place: str) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise bad(place, "it is neither true nor false", "write true or false")
    return value
