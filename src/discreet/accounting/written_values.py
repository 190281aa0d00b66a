"""How numbers, text and names are written.

Trust: kernel.

Exact numbers are text, such as "1/10"; those with too many digits for Python to write are in base
sixteen.  Whole numbers are numbers of JSON below 2**53, which every reader keeps, and text above.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from fractions import Fraction
from typing import Any, Final

import numpy as np

from discreet.accounting.forms import Form, deeper, unreadable
from discreet.errors import WrongKind
from discreet.exact import rational
from discreet.mechanisms.arguments import factor

__all__ = ["FLAG", "NAME", "NUMBER", "POSITIVE", "TEXT", "WHOLE"]

_SAFE: Final = 1 << 53
_SHORT_BITS: Final = 3000
_LONG: Final = re.compile(r"(-?0x[0-9a-f]{1,50000})/(0x[0-9a-f]{1,50000})", re.ASCII)


def _plain(of: type, what: str) -> Form:
    def read(data: object, _: int) -> Any:
        if type(data) is not of:
            raise unreadable(f"{what} is missing")
        return data

    return Form(lambda value, _: value, read)


def _write_number(value: Fraction | int, _: int) -> str:
    top, bottom = value.numerator, value.denominator
    if top.bit_length() + bottom.bit_length() <= _SHORT_BITS:
        return str(value)
    return f"{top:#x}/{bottom:#x}"


def _read_number(data: object, _: int) -> Fraction:
    if not isinstance(data, str):
        raise unreadable("an exact number is not text such as '1/10'")
    found = _LONG.fullmatch(data)
    if found is None:
        return rational(data, name="a stored number")
    top, bottom = (int(part, 16) for part in found.groups())
    if bottom == 0:
        raise unreadable("an exact number is divided by zero")
    return Fraction(top, bottom)


def _read_positive(data: object, depth: int) -> Fraction:
    return factor(_read_number(data, depth), name="a stored number")


def _write_whole(value: int, depth: int) -> int | str:
    return int(value) if abs(value) < _SAFE else _write_number(int(value), depth)


def _read_whole(data: object, depth: int) -> int:
    if type(data) is int:
        return data
    number = _read_number(data, depth)
    if number.denominator != 1:
        raise unreadable("a whole number is a fraction")
    return number.numerator


def _write_name(value: Hashable, depth: int) -> object:
    """Write what an input or output of a finite mechanism is called."""
    match value:
        case None | bool() | str():
            return value
        case int() | np.integer():
            return {"whole": _write_whole(int(value), depth)}
        case Fraction():
            return {"number": _write_number(value, depth)}
        case tuple():
            return [_write_name(item, deeper(depth)) for item in value]
        case _:
            raise WrongKind(
                what=f"a name is a {type(value).__name__}, which cannot be written.",
                why="only text, exact numbers, True, False, None and tuples of them are the same "
                "after reading.",
                do="relabel the inputs and outputs.",
            )


def _read_name(data: object, depth: int) -> Hashable:
    match data:
        case None | bool() | str():
            return data
        case {"whole": number, **rest} if not rest:
            return _read_whole(number, depth)
        case {"number": number, **rest} if not rest:
            return _read_number(number, depth)
        case list():
            return tuple(_read_name(item, deeper(depth)) for item in data)
        case _:
            raise unreadable("a name is neither text, nor a number, nor a list of names")


TEXT: Final = _plain(str, "text")
FLAG: Final = _plain(bool, "true or false")
NUMBER: Final = Form(_write_number, _read_number)
POSITIVE: Final = Form(_write_number, _read_positive)
WHOLE: Final = Form(_write_whole, _read_whole)
NAME: Final = Form(_write_name, _read_name)
