"""Stored numbers and fields: what this library did not write is not read.

Trust: kernel.  Data that is misread sends charges to the wrong people, or has another price.

Exact numbers are text, such as "1/10"; those with too many digits for Python to write are in base
sixteen.  Integers are numbers of JSON below 2**53, which every reader keeps, and text above.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any, Final, cast

from discreet.errors import WrongKind
from discreet.exact import rational

_SAFE: Final = 1 << 53
_SHORT_BITS: Final = 3000  # Python writes no integer of more than 4,300 digits
_LONG: Final = re.compile(r"(-?0x[0-9a-f]{1,50000})/(0x[0-9a-f]{1,50000})", re.ASCII)


def undecodable(what: str) -> WrongKind:
    """Return the error for data that this library did not write."""
    return WrongKind(f"stored data cannot be read: {what}; read only what this library wrote.")


def undecodable_map() -> WrongKind:
    """Return the error for data that is not a set of values or of records."""
    return undecodable("a set of values or of records is not in its written form")


def require_stored(holds: bool) -> None:  # noqa: FBT001  (a condition, and nothing else)
    """Refuse stored data that breaks a condition."""
    if not holds:
        raise undecodable_map()


def stored_fields(data: object, *names: str) -> dict[str, Any]:
    """Return the fields of a stored object, if it has exactly these."""
    require_stored(isinstance(data, dict) and set(data) == set(names))
    return cast("dict[str, Any]", data)


def write_number(value: Fraction | int) -> str:
    """Write an exact number as text."""
    top, bottom = value.numerator, value.denominator
    if top.bit_length() + bottom.bit_length() <= _SHORT_BITS:
        return str(value)
    return f"{top:#x}/{bottom:#x}"


def read_number(data: object) -> Fraction:
    """Read what ``write_number`` wrote."""
    if not isinstance(data, str):
        raise undecodable("an exact number is not text such as '1/10'")
    long = _LONG.fullmatch(data)
    top, bottom = (int(part, 16) for part in long.groups()) if long else (0, 1)
    if bottom == 0:
        raise undecodable("an exact number is divided by zero")
    return Fraction(top, bottom) if long else rational(data, name="a stored number")


def write_integer(value: int) -> int | str:
    """Write an integer: as a number if every reader of JSON keeps it."""
    return int(value) if abs(value) < _SAFE else write_number(int(value))


def read_integer(data: object) -> int:
    """Read what ``write_integer`` wrote."""
    if type(data) is int:
        return data
    number = read_number(data)
    if number.denominator != 1:
        raise undecodable("an integer is a fraction")
    return number.numerator
