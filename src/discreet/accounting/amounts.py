"""Amounts of privacy: integers of a very small unit, rounded, shown and stored.

Trust: kernel.

An amount that is misread is paid not at all, or twice.

Definition.  An amount is an integer that counts ``QUANTUM`` = 10**-24.  What a release costs is
rounded up to an amount, and what may be spent is rounded down, so that sums and comparisons are
exact and never favor the analyst (key ``directed-rounding``).  Decimal numbers of up to 24
places are kept as they are: ten charges of 0.1 fit into 1.  Others are rounded one by one: 1/3
three times does not fit into 1, but one charge for all three does.
``NEVER`` is an unaffordable price.
Amounts are stored as decimal text, which every reader keeps and a person can check.  Other exact
numbers are text, such as "1/10"; those with too many digits for Python to write are in base
sixteen.  Integers are numbers of JSON below 2**53, which every reader keeps, and text above.  Data
that this library did not write is not read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
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


def require_stored(holds: bool) -> None:  # noqa: FBT001  (a condition, and nothing else)
    """Refuse stored data that breaks a condition."""
    if not holds:
        raise undecodable("a set of values or of records is not in its written form")


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


_PLACES: Final = 24
_DIGITS: Final = 4
_HARDLY: Final = 1000

QUANTUM: Final = Fraction(1, 10**_PLACES)
"""The unit in which privacy is counted."""

NEVER: Final = 10**45
"""More epsilon than any limit: the price of what has no epsilon."""


def amount_up(value: Fraction) -> int:
    """Return what a release costs, as an amount."""
    return math.ceil(value / QUANTUM)


def amount_down(value: Fraction) -> int:
    """Return what may be spent, as an amount."""
    return math.floor(value / QUANTUM)


def amount_value(amount: int) -> Fraction:
    """Return the number that an amount stands for."""
    return amount * QUANTUM


def format_up(amount: int) -> str:
    """Show what is spent: to four digits, never less than it is.

    An amount just above a number of four digits is shown with the digit that exceeds it, since that
    digit may be why it does not fit.
    """
    return _shown(amount, up=True)


def format_down(amount: int) -> str:
    """Show what is left, or a limit: to four digits, never more than it is.

    An amount just below a number of four digits is shown with the digit that falls short.
    """
    return _shown(max(amount, 0), up=False)


def _shown(amount: int, *, up: bool) -> str:
    if amount >= NEVER:
        return "infinity"
    spare = max(len(str(amount)) - _DIGITS, 0)
    gap = (amount if up else -amount) % 10**spare  # what rounding to four digits would hide
    if 0 < _HARDLY * gap < 10**spare:
        spare = len(str(gap)) - 1
    digits, rest = divmod(amount, 10**spare)
    digits = (digits + (up and rest > 0)) * 10**spare
    if 0 < digits < 10 ** (_PLACES - 5):
        text = str(digits)
        decimals = text[1:].rstrip("0")
        return f"{text[0]}{'.' + decimals if decimals else ''}e-{_PLACES + 1 - len(text):02d}"
    whole, places = divmod(digits, 10**_PLACES)
    decimals = f"{places:0{_PLACES}d}".rstrip("0")
    return f"{whole}.{decimals}" if decimals else str(whole)


def added(left: Iterable[int], right: Iterable[int], times: int = 1) -> tuple[int, ...]:
    """Add amounts, component by component; the second perhaps several times."""
    return tuple(a + times * b for a, b in zip(left, right, strict=True))


_DECIMAL: Final = re.compile("0|[1-9][0-9]{0,999}", re.ASCII)


def encode_amounts(amounts: Iterable[int]) -> list[str]:
    """Write amounts as decimal text."""
    return [str(amount) for amount in amounts]


def decode_amounts(data: object, *, width: int) -> tuple[int, ...]:
    """Read ``width`` amounts, and refuse everything that ``encode_amounts`` does not write."""
    if not isinstance(data, list) or len(data) != width:
        raise undecodable("amounts are missing, or there are too many")
    if not all(isinstance(text, str) and _DECIMAL.fullmatch(text) for text in data):
        raise undecodable("an amount is not a integer as decimal text")
    return tuple(map(int, data))
