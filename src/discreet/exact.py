"""Exact numbers: decimal text to rationals, directed rounding, intervals.

Trust: kernel (T6).

A number that silently changes on its way in changes a privacy claim.

Definitions.
    ``rational`` maps integers, fractions, decimals and decimal text to the rational number that
    they denote, and refuses floats: a float has already lost what its writer meant.
    ``decimal`` reads numbers that people type: a float means its shortest decimal
    text, so that 0.1 is 1/10 and ten times 0.1 is 1.
    ``float_down`` and ``float_up`` are the largest float below and the smallest float above.

Theorem (key ``directed-rounding``; IEEE 754 ordering of floats).  Every number that leaves exact
arithmetic as a float moves only in the direction that the function names.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final, TypeVar, final

import numpy as np

from discreet.errors import NotExact, OutOfRange, WrongKind

__all__ = [
    "ExactNumber",
    "Interval",
    "decimal",
    "exact_sum",
    "float_down",
    "float_up",
    "freeze",
    "instance",
    "positive",
    "probability",
    "rational",
    "whole",
    "with_article",
]

Kind = TypeVar("Kind")
_KINDS: Final = "an integer, a Fraction, a Decimal or decimal text"

ExactNumber = int | Fraction | Decimal | str
"""What may be given where an exact number is needed."""

_FLOAT_MAX: Final = float(np.finfo(np.float64).max)
_LONGEST_TEXT: Final = 1000  # characters, so that arithmetic stays fast whatever was typed
_LONG: Final = 10**18  # numbers of more digits are shown as decimals
_LARGEST_EXPONENT: Final = 5000  # of ten, for the same reason
_NUMBER: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<digits>\d+(?:_\d+)*|\d*\.\d+|\d+\.)(?:[eE](?P<exponent>[+-]?\d+))?"
    r"|[+-]?\d+/\d+",
    re.ASCII,  # digits of other scripts look alike and read differently
)

_COMMA: Final = re.compile(r"[+-]?\d{0,20},\d{1,20}", re.ASCII)


def rational(value: object, *, name: str) -> Fraction:
    """Read an exact number as the rational that it denotes; refuse floats.

    >>> rational("0.1", name="epsilon")
    Fraction(1, 10)
    >>> rational("1e-6", name="delta"), rational("2/3", name="rate")
    (Fraction(1, 1000000), Fraction(2, 3))
    """
    if type(value) is Fraction:  # most are
        return value
    match value:
        case bool() | np.bool_():
            raise _wrong_kind(value, name)
        case Fraction():
            return value
        case int() | np.integer():
            return Fraction(int(value))
        case Decimal():
            return _from_decimal(value, name)
        case str():
            return _from_text(value, name)
        case float() | np.floating():
            raise NotExact(
                f"{name} is a float; give {name} as {_KINDS}, such as '0.1', or Fraction(1, 10)."
            )
        case _:
            raise _wrong_kind(value, name)


def decimal(value: object, *, name: str) -> Fraction:
    """Read a number that a person typed: a float means its shortest decimal text.

    >>> sum(decimal(0.1, name="epsilon") for _ in range(10)) == 1
    True
    """
    if isinstance(value, float | np.floating):
        if not math.isfinite(value):
            raise _not_finite(name)
        return _from_text(repr(float(value)), name)
    return rational(value, name=name)


def positive(value: object, *, name: str) -> Fraction:
    """Read an exact number above zero.

    >>> positive(3, name="scale")
    Fraction(3, 1)
    """
    number = rational(value, name=name)
    if number.numerator <= 0:
        raise OutOfRange(f"{name} is not above zero; give {name} as a number above zero.")
    return number


def probability(value: object, *, name: str) -> Fraction:
    """Read an exact number between zero and one, both included.

    >>> probability("0.25", name="rate")
    Fraction(1, 4)
    """
    number = rational(value, name=name)
    if not 0 <= number <= 1:
        raise OutOfRange(f"{name} is not between 0 and 1; give a {name} from 0 to 1.")
    return number


def whole(value: object, *, name: str, low: int | None = None, high: int | None = None) -> int:
    """Read an integer, perhaps within bounds; refuse everything that merely looks like one.

    >>> whole(7, name="count", low=0)
    7
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or isinstance(value, bool | np.bool_):
        raise WrongKind(f"{name} is {_a(value)}, not an integer; give {name} as an int.")
    if (low is not None and number < low) or (high is not None and number > high):
        span = f"{'' if low is None else f'{low} <= '}{name}{'' if high is None else f' <= {high}'}"
        raise OutOfRange(f"{name} is out of range; keep {span}.")
    return number


def instance(value: object, kind: type[Kind], *, name: str) -> Kind:
    """Return a value of one class; refuse any other.

    >>> instance(True, bool, name="monotone")
    True
    """
    if not isinstance(value, kind):
        raise WrongKind(f"{name} must be {with_article(kind.__name__)}, not {_a(value)}.")
    return value


def freeze(value: object, **fields: object) -> None:
    """Set the fields of a frozen instance that its ``__init__`` has read."""
    for name, field in fields.items():
        object.__setattr__(value, name, field)


def float_down(value: Fraction) -> float:
    """Return the largest float that is at most ``value``, an exact number.

    >>> Fraction(float_down(Fraction(1, 10))) <= Fraction(1, 10)
    True
    """
    exact = rational(value, name="value")
    try:
        nearest = float(exact)
    except OverflowError:
        return _FLOAT_MAX if exact > 0 else -math.inf
    top, bottom = nearest.as_integer_ratio()
    if top * exact.denominator > exact.numerator * bottom:
        return math.nextafter(nearest, -math.inf)
    return nearest


def float_up(value: Fraction) -> float:
    """Return the smallest float that is at least ``value``.

    >>> Fraction(float_up(Fraction(1, 10))) >= Fraction(1, 10)
    True
    """
    exact = rational(value, name="value")
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -_FLOAT_MAX
    top, bottom = nearest.as_integer_ratio()
    if top * exact.denominator < exact.numerator * bottom:
        nearest = math.nextafter(nearest, math.inf)
    return nearest + 0.0  # never -0.0


def exact_sum(values: Iterable[Fraction]) -> Fraction:
    """Add up fractions: those with one denominator first, then neighbors.

    One after the other, each would be added to a sum with the digits of all before it.

    >>> exact_sum([Fraction(1, 2), Fraction(1, 3), Fraction(1, 2)]), exact_sum([])
    (Fraction(4, 3), Fraction(0, 1))
    """
    above: dict[int, int] = {}
    for value in values:
        below = value.denominator
        above[below] = above.get(below, 0) + value.numerator
    parts = [Fraction(top, bottom) for bottom, top in above.items()] or [Fraction(0)]
    while len(parts) > 1:
        rest = parts[-1:] if len(parts) % 2 else []
        parts = [*map(operator.add, parts[0:-1:2], parts[1::2]), *rest]
    return parts[0]


@final
@dataclass(frozen=True, slots=True)
class Interval:
    """Two rationals that enclose a real number.

    >>> third = Interval(Fraction(333, 1000), Fraction(334, 1000))
    >>> third.low <= Fraction(1, 3) <= third.high
    True
    """

    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        """Refuse ends that are not exact, and an interval that is inside out."""
        if type(self.low) is not Fraction or type(self.high) is not Fraction:
            object.__setattr__(self, "low", rational(self.low, name="the lower end"))
            object.__setattr__(self, "high", rational(self.high, name="the upper end"))
        if self.low > self.high:
            raise OutOfRange(
                "the lower end of an interval is above its upper end; give the smaller end first."
            )

    def __repr__(self) -> str:
        """Show both ends; one of many digits as a decimal that is rounded outward.

        >>> Interval(Fraction(10**20, 3 * 10**20 + 1), Fraction(1, 2))
        Interval(low=0.3333333333333333..., high=Fraction(1, 2))
        """
        low = repr(self.low) if _is_short(self.low) else f"{float_down(self.low)!r}..."
        high = repr(self.high) if _is_short(self.high) else f"{float_up(self.high)!r}..."
        return f"Interval(low={low}, high={high})"

    @staticmethod
    def exactly(value: Fraction) -> Interval:
        """Enclose a number by itself.

        >>> Interval.exactly(Fraction(1, 2))
        Interval(low=Fraction(1, 2), high=Fraction(1, 2))
        """
        return Interval(value, value)

    @staticmethod
    def product(factors: Iterable[Interval]) -> Interval:
        """Enclose the product of numbers that are not negative.

        >>> Interval.product([Interval(Fraction(1, 2), Fraction(1))] * 2)
        Interval(low=Fraction(1, 4), high=Fraction(1, 1))
        """
        low = high = Fraction(1)
        for factor in factors:
            low, high = low * factor.low, high * factor.high
        return Interval(low, high)

    def floats(self) -> tuple[float, float]:
        """Round both ends outward."""
        return float_down(self.low), float_up(self.high)

    def nearest(self) -> float:
        """Round the middle to the nearest float: a figure to show, not to rely on."""
        middle = (self.low + self.high) / 2
        try:
            return float(middle)
        except OverflowError:
            return math.inf if middle > 0 else -math.inf


def _is_short(value: Fraction) -> bool:
    return max(abs(value.numerator), value.denominator) < _LONG


def _from_decimal(value: Decimal, name: str) -> Fraction:
    if not value.is_finite():
        raise _not_finite(name)
    exponent = value.adjusted()
    if abs(exponent) > _LARGEST_EXPONENT or len(value.as_tuple().digits) > _LONGEST_TEXT:
        raise _too_long(name)
    return Fraction(value)


def _from_text(text: str, name: str) -> Fraction:
    stripped = text.strip()
    if len(stripped) > _LONGEST_TEXT:
        raise _too_long(name)
    match = _NUMBER.fullmatch(stripped)
    if match is None:
        if stripped.lower().lstrip("+-") in {"nan", "inf", "infinity"}:
            raise _not_finite(name)
        comma = _COMMA.fullmatch(stripped)
        raise WrongKind(
            what=f"{name} is text that is not a number"
            f"{': it has a comma where a point belongs' if comma else ''}.",
            why="only plain decimal text has an exact meaning; nothing is ever evaluated.",
            do=f"write {name} like '{stripped.replace(',', '.')}'."
            if comma
            else f"write {name} like '0.1', '1e-6' or '2/3'.",
        )
    exponent = match["exponent"]
    if exponent is not None and abs(int(exponent)) > _LARGEST_EXPONENT:
        raise _too_long(name)
    try:
        return Fraction(stripped)
    except ZeroDivisionError:
        raise _not_finite(name) from None


def _not_finite(name: str) -> OutOfRange:
    return OutOfRange(f"{name} is not a finite number; give a finite {name}.")


def _too_long(name: str) -> OutOfRange:
    return OutOfRange(
        f"{name} has too many digits; give {name} with at most {_LONGEST_TEXT} digits and an "
        f"exponent within ±{_LARGEST_EXPONENT}."
    )


def _wrong_kind(value: object, name: str) -> WrongKind:
    return WrongKind(f"{name} is {_a(value)}, not a number; give {name} as {_KINDS}.")


def _a(value: object) -> str:
    return with_article(type(value).__name__)


def with_article(noun: str) -> str:
    """Put "a" or "an" before a word; u is taken for the one of "user" and "unit".

    >>> with_article("INTEGER"), with_article("user"), with_article("id")
    ('an INTEGER', 'a user', 'an id')
    """
    return f"an {noun}" if noun[:1].lower() in tuple("aeio") else f"a {noun}"
