"""Amounts of privacy: integers of a very small unit, rounded, shown and stored.

Trust: kernel.

An amount that is misread is paid by nobody, or twice.

Definition.  An amount is an integer that counts ``QUANTUM`` = 10**-24.  What a release costs is
rounded up to an amount, and what may be spent is rounded down, so that sums and comparisons are
exact and never favor the analyst (key ``directed-rounding``).  Decimal numbers of up to 24
places are kept as they are: ten charges of 0.1 fit into 1.  Others are rounded one by one: 1/3
three times does not fit into 1, but one charge for all three does.
``NEVER`` stands for a price that nobody can pay.
Amounts are stored as decimal text, which every reader keeps and a person can check.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from discreet.accounting.stored import undecodable

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

    What hardly exceeds a number of four digits is shown with the digit that exceeds it, since that
    digit may be why it does not fit.
    """
    return _shown(amount, up=True)


def format_down(amount: int) -> str:
    """Show what is left, or a limit: to four digits, never more than it is.

    What hardly falls short of a number of four digits is shown with the digit that falls short.
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
        return _scientific(digits)
    whole, places = divmod(digits, 10**_PLACES)
    decimals = f"{places:0{_PLACES}d}".rstrip("0")
    return f"{whole}.{decimals}" if decimals else str(whole)


def _scientific(amount: int) -> str:
    text = str(amount)
    decimals = text[1:].rstrip("0")
    return f"{text[0]}{'.' + decimals if decimals else ''}e-{_PLACES + 1 - len(text):02d}"


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
