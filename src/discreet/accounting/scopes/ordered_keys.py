"""One value of a column: its kind, and an exact key that orders the values of that kind.

Trust: kernel.  Two values that are wrongly held equal, or wrongly ordered, send a charge to the
wrong people.

Definition.  The kinds are number, text, bool, date, datetime (without a time zone) and instant
(with one).  Values of different kinds are never compared.  The key of a number is the exact number
that it denotes: a float stands for its decimal text, so 1, 1.0 and Fraction(1) are one value, and
0.1 is one tenth; infinities are the smallest and the largest number.  Text is ordered by code
points, instants by the moment that they name, whatever their zone.
"""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Final

import numpy as np

from discreet.errors import InputError, OutOfRange, WrongKind
from discreet.exact import decimal, rational

Key = int | float | Fraction | str | bool | date
"""An exact, ordered stand-in for a value (a datetime is a date to the type checker)."""

KINDS: Final = ("number", "text", "bool", "date", "datetime", "instant")

_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "number": (int, Fraction, float),
    "text": (str,),
    "bool": (bool,),
    "date": (date,),
    "datetime": (datetime,),
    "instant": (datetime,),
}
_FLOATS: Final = (float, np.float32, np.float16)
_NUMBERS: Final = (int, np.integer, Fraction, Decimal, *_FLOATS)


def kind_and_key(value: object) -> tuple[str, Key]:
    """Return the kind and the key of a value.

    >>> kind_and_key(0.5), kind_and_key(2.0), kind_and_key("CA")
    (('number', Fraction(1, 2)), ('number', 2), ('text', 'CA'))
    """
    match value:
        case bool() | np.bool_():
            return "bool", bool(value)
        case str():
            return "text", str.__str__(value)
        case datetime():
            return _moment(value)
        case date():
            return "date", date(value.year, value.month, value.day)
        case _ if isinstance(value, _NUMBERS):
            return "number", _number(value)
        case _:
            raise WrongKind(
                what=f"a value is a {type(value).__name__}.",
                why="only values that all engines compare alike can say whom a question is about.",
                do="give a number, text, a bool, a date or a datetime; for NULL use is_null().",
            )


def is_nan(value: object) -> bool:
    """Whether a value is not a number in the sense of floats.

    >>> is_nan(float("nan")), is_nan(1), is_nan("nan")
    (True, False, False)
    """
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, _FLOATS) and math.isnan(value)


def common_kind(first: str | None, second: str | None) -> str | None:
    """Return the kind that two sets share; a set without any value has no kind of its own.

    >>> common_kind("text", None)
    'text'
    """
    if first is not None and second is not None and first != second:
        raise WrongKind(
            what=f"values of two kinds meet: {first} and {second}.",
            why="engines convert between kinds each in their own way, so nobody could say "
            "which records are meant.",
            do="use values of the kind of the column; dates, datetimes and instants (datetimes "
            "with a time zone) are three kinds, and a bool is not a number.",
        )
    return second if first is None else first


def is_key_of_kind(key: object, kind: str) -> bool:
    """Whether a key is one that ``kind_and_key`` gives for this kind.

    >>> is_key_of_kind(True, "bool"), is_key_of_kind(True, "number")
    (True, False)
    """
    if type(key) not in _TYPES[kind]:
        return False
    match key:
        case float():
            return math.isinf(key)
        case Fraction():
            return key.denominator != 1
        case datetime():
            return key.tzinfo == (UTC if kind == "instant" else None) and key.fold == 0
        case _:
            return True


def encode_key(key: Key) -> str | bool:
    """Return a key as something that JSON keeps exactly.

    >>> encode_key(Fraction(1, 10)), encode_key(date(2025, 3, 1))
    ('1/10', '2025-03-01')
    """
    match key:
        case bool() | str():
            return key
        case date():
            return key.isoformat()
        case _:
            return str(key)


def decode_key(text: object, kind: str) -> Key:
    """Read what ``encode_key`` wrote.

    >>> decode_key("1/10", "number")
    Fraction(1, 10)
    """
    try:
        key = _read_key(text, kind)
    except (ValueError, InputError):
        key = None
    if key is None or not is_key_of_kind(key, kind) or encode_key(key) != text:
        raise WrongKind(
            what=f"a stored {kind} is not in its written form.",
            why="a value that is misread sends charges to the wrong people.",
            do="read only what was written by this library.",
        )
    return key


def _read_key(text: object, kind: str) -> Key | None:
    match kind, text:
        case ("bool", bool(key)) | ("text", str(key)):
            return key
        case "number", "inf" | "-inf":
            return float(text)
        case "number", str():
            return _reduced(rational(text, name="a stored number"))
        case "date", str():
            return date.fromisoformat(text)
        case "datetime" | "instant", str():
            return datetime.fromisoformat(text)
        case _:
            return None


def _number(value: object) -> Key:
    if is_nan(value):
        raise OutOfRange(
            what="a condition compares with NaN.",
            why="engines disagree on which records such a condition selects.",
            do="leave it out: NaN lies above every number, in at_least() and in above().",
        )
    if _is_infinite(value):
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]
    return _reduced(decimal(value, name="a value"))


def _is_infinite(value: object) -> bool:
    if isinstance(value, Decimal):
        return value.is_infinite()
    return isinstance(value, _FLOATS) and math.isinf(value)


def _reduced(number: Fraction) -> int | Fraction:
    return number.numerator if number.denominator == 1 else number


def _moment(value: datetime) -> tuple[str, Key]:
    if getattr(value, "nanosecond", 0):
        raise OutOfRange(
            what="a datetime has nanoseconds.",
            why="cutting them off would move records from one side of a condition to the other.",
            do="give datetimes in whole microseconds.",
        )
    plain = datetime.combine(value.date(), value.timetz())
    if plain.tzinfo is None or plain.utcoffset() is None:
        return "datetime", plain.replace(tzinfo=None, fold=0)
    try:
        return "instant", plain.astimezone(UTC).replace(fold=0)
    except OverflowError:
        raise OutOfRange(
            what="a datetime with a time zone lies outside the years 1 to 9999 of world time.",
            why="it cannot be compared with the others.",
            do="give a datetime within these years.",
        ) from None
