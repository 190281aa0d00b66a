"""The functions of the dialect: names, types, what each computes, and between which bounds.

Trust: kernel.  Every engine computes exactly what the meaning says, and never fails on data.

Definition.  A function takes one kind of argument for each place; the last place repeats if
``repeats`` holds.  A kind is a set of types.  ``gives`` is the type of the result: a type of its
own, ``"same"`` for the type that all arguments share (INTEGER and FLOAT share FLOAT), ``"first"``
for that of the first argument.  Arguments at the places in ``written`` must be literals; numbers
there are not below ``lowest``, place by place.  If an argument is NULL so is the result, unless the
meaning says otherwise.  ``clamps`` holds for aggregates of values that are moved between bounds.

Definition.  ``compute`` computes a result from values that are not NULL; an INTEGER outside 64 bits
and a FLOAT that is not finite are NULL.  ``bounds`` has the rule for numbers: from exact bounds of
all arguments it follows between which numbers an exact result lies, and whether the result may be
NULL if no argument is; there is no rule if it gives None.  ``null`` says it of all others.
Proof of the rules (key ``fact-rules``).  Sums, differences, products and quotients by what cannot
be zero rise or fall with each argument alone, so their extremes over a box are in its corners;
roundings and roots rise.  DIV cuts a quotient toward zero, which rises with it, and MOD has the
sign of the first argument and is smaller than both.

Definition.  No function makes a text longer than ``LONGEST_TEXT`` bytes in UTF-8: if CONCAT or
REPLACE would, the result is NULL (for REPLACE every place where the second could stand counts), and
LOWER, UPPER, TRIM and SUBSTR of a longer text are NULL; SUBSTR of at most ``LONGEST_TEXT`` / 4 code
points never is.  LIKE of a longer text is NULL if its pattern has both % and _: it takes a time of
the length of the text times that of the pattern.  How many such texts a question makes of one row,
and how long that may take, is limited by :mod:`discreet.requests.text_limits`, and how many rows it
makes of one by :mod:`discreet.plan.binding.fan_out`.

A text is a number or a day only if it is written like one; everything else is NULL.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any, Final, final

from discreet.query.types import NUMBERS, Type

AcceptedTypes = frozenset[Type]
Ends = tuple[Fraction, Fraction]
"""The lowest and the highest value of a number."""
Bounds = tuple[Fraction, Fraction, bool]
"""The same of a result, and whether it may be NULL if no argument is."""

_ANY: Final = frozenset(Type)
_INTEGER: Final = frozenset({Type.INTEGER})
_TEXT: Final = frozenset({Type.TEXT})
_BOOLEAN: Final = frozenset({Type.BOOLEAN})
_DATE: Final = frozenset({Type.DATE})
_TIME: Final = frozenset({Type.DATE, Type.TIMESTAMP})
_LISTED: Final = _ANY - {Type.FLOAT}

TIME_PARTS: Final = ("HOUR", "MINUTE", "SECOND")
"""Parts that only a TIMESTAMP has."""

PARTS: Final[dict[str, tuple[str, ...]]] = {
    "EXTRACT": (*("YEAR", "MONTH", "DAY", "QUARTER", "DAYOFWEEK", "DAYOFYEAR"), *TIME_PARTS),
    "DATE_TRUNC": ("DAY", "ISOWEEK", "MONTH", "QUARTER", "YEAR"),
    "DATE_DIFF": ("DAY",),
}
"""The parts of a date that a function knows, as the text of its literal argument."""


@final
@dataclass(frozen=True, slots=True)
class Function:
    """What a function takes, gives and means.

    ``null`` says when a result is NULL: "argument" if an argument is, "never", or else "perhaps".

    >>> FUNCTIONS["LENGTH"].gives
    INTEGER
    """

    name: str
    takes: tuple[AcceptedTypes, ...]
    gives: Type | str
    meaning: str
    compute: Callable[..., Any] | None = None
    bounds: Callable[..., Bounds | None] | None = None
    null: str = "perhaps"
    repeats: bool = False
    optional: int = 0
    written: tuple[int, ...] = ()
    lowest: tuple[int, ...] = ()
    clamps: bool = False

    def accepts(self, count: int) -> bool:
        """Whether it can be called with this many arguments.

        >>> FUNCTIONS["AND"].accepts(3), FUNCTIONS["NOT"].accepts(2)
        (True, False)
        """
        most = len(self.takes)
        return most - self.optional <= count and (self.repeats or count <= most)


# --- numbers --------------------------------------------------------------------------------------


def _quotient(left: float, right: float) -> float | None:
    return None if right == 0 else left / right


def _negated(value: float) -> float:
    return 0 - value


def _least(*values: Any) -> Any:
    return min(values)


def _most(*values: Any) -> Any:
    return max(values)


def _divided(left: int, right: int) -> int | None:
    if right == 0:
        return None
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def _rest(left: int, right: int) -> int | None:
    quotient = _divided(left, right)
    return None if quotient is None else left - right * quotient


def nearest(value: float) -> float:
    """Return the nearest whole number; halves go away from zero.

    >>> nearest(2.5), nearest(-2.5), nearest(0.49999999999999994)
    (3.0, -3.0, 0.0)
    """
    whole = math.floor(abs(value))
    return math.copysign(whole + (abs(value) - whole >= 0.5), value) + 0.0


def _whole(compute: Callable[[float], float]) -> Callable[[float], float]:
    return lambda value: value if isinstance(value, int) else float(compute(value)) + 0.0


def product_of(one: Ends, other: Ends) -> Ends:
    """Return the range of a product of numbers from two ranges.

    >>> product_of((Fraction(-1), Fraction(2)), (Fraction(3), Fraction(4)))
    (Fraction(-4, 1), Fraction(8, 1))
    """
    (a, b), (c, d) = one, other
    if c.numerator >= 0:  # signs alone say which corners are the ends
        return a * (c if a.numerator >= 0 else d), b * (d if b.numerator >= 0 else c)
    corners = (a * c, a * d, b * c, b * d)
    return min(corners), max(corners)


def _quotient_bounds(one: Ends, other: Ends) -> Bounds | None:
    if other[0] <= 0 <= other[1]:
        return None
    corners = [end / divisor for end in one for divisor in other]
    return min(corners), max(corners), True


def _division_bounds(one: Ends, other: Ends) -> Bounds | None:
    if other[0] <= 0 <= other[1]:
        return None
    cut = [math.trunc(end / divisor) for end in one for divisor in other]
    return Fraction(min(cut)), Fraction(max(cut)), other[1] < 0


def _rest_bounds(one: Ends, other: Ends) -> Bounds | None:
    if other[0] <= 0 <= other[1]:
        return None
    (low, high), zero = one, Fraction(0)
    most = max(map(abs, other)) - 1
    return max(min(low, zero), -most), min(max(high, zero), most), False


def _sign_bounds(one: Ends) -> Bounds:
    low, high = (Fraction((end > 0) - (end < 0)) for end in one)
    return low, high, False


def _abs_bounds(one: Ends) -> Bounds:
    sizes = [abs(end) for end in one]
    return Fraction(0) if one[0] <= 0 <= one[1] else min(sizes), max(sizes), True


def _rounded_bounds(one: Ends) -> Bounds:
    return Fraction(math.floor(one[0])), Fraction(math.ceil(one[1])), True


_ROOT_BITS: Final = 64


def _root_bounds(one: Ends) -> Bounds | None:
    low, high = max(one[0], Fraction(0)), one[1]
    return None if high < 0 else (_root(low, 0), _root(high, 1), True)


def _root(square: Fraction, above: int) -> Fraction:
    """Return a number that is just below the square root, or just above it."""
    scaled = square.numerator * square.denominator * 4**_ROOT_BITS
    return Fraction(math.isqrt(scaled) + above, square.denominator * 2**_ROOT_BITS)


_BOUNDS: Final[dict[str, Callable[..., Bounds | None]]] = {
    "+": lambda one, other: (one[0] + other[0], one[1] + other[1], True),
    "-": lambda one, other: (one[0] - other[1], one[1] - other[0], True),
    "*": lambda one, other: (*product_of(one, other), True),
    "/": _quotient_bounds,
    "DIV": _division_bounds,
    "MOD": _rest_bounds,
    "NEGATE": lambda one: (-one[1], -one[0], True),
    "ABS": _abs_bounds,
    "SIGN": _sign_bounds,
    **dict.fromkeys(("FLOOR", "CEIL", "ROUND"), _rounded_bounds),
    "SQRT": _root_bounds,
    "LEAST": lambda *ends: (min(low for low, _ in ends), min(high for _, high in ends), False),
    "GREATEST": lambda *ends: (max(low for low, _ in ends), max(high for _, high in ends), False),
}
"""Between which numbers a result lies, by the bounds of the arguments."""


# --- texts ----------------------------------------------------------------------------------------

LONGEST_TEXT: Final = 2**13

_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER: Final = {code + 32: code for code in _LOWER}


def _bytes(value: str) -> int:
    return len(value.encode("utf-8", "surrogatepass"))


def _short(value: str) -> str | None:
    return value if _bytes(value) <= LONGEST_TEXT else None


def _translated(table: dict[int, int]) -> Callable[[str], str | None]:
    return lambda value: None if _short(value) is None else value.translate(table)


def _trim(value: str) -> str | None:
    return None if _short(value) is None else value.strip(" ")


def _substr(value: str, place: int, count: int | None = None) -> str | None:
    if (count is None or count > LONGEST_TEXT // 4) and _short(value) is None:
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
    return value.replace(old, new) if longest <= LONGEST_TEXT else None


def searches(pattern: str) -> int:
    """Return how many parts of a pattern of LIKE are looked for at every place of a text.

    Without both % and _ there are none: a part without _ is found by its letters.

    >>> [searches(each) for each in ("a%b%c", "a__b", "a_b%", "%a_b%", "a%b_c", "%a_b%c")]
    [0, 0, 0, 1, 1, 2]
    """
    if "_" not in pattern or "%" not in pattern:
        return 0
    _, *parts = pattern.split("%")
    return sum(1 for part in parts if part)


def _like(value: str, pattern: str) -> bool | None:
    """Match a pattern from the left; of two % the last decides, so that none is tried twice."""
    if "_" in pattern and "%" in pattern and _short(value) is None:
        return None
    read = place = 0
    again: tuple[int, int] | None = None
    while read < len(value):
        if place < len(pattern) and pattern[place] == "%":
            place += 1
            again = place, read
        elif place < len(pattern) and pattern[place] in {"_", value[read]}:
            place, read = place + 1, read + 1
        elif again is not None:
            again = again[0], again[1] + 1
            place, read = again
        else:
            return False
    return all(letter == "%" for letter in pattern[place:])


# --- days and timestamps --------------------------------------------------------------------------

_DATE_PARTS: Final[dict[str, Callable[[Any], int]]] = {
    "YEAR": lambda value: value.year,
    "MONTH": lambda value: value.month,
    "DAY": lambda value: value.day,
    "QUARTER": lambda value: (value.month + 2) // 3,
    "DAYOFWEEK": lambda value: value.isoweekday() % 7 + 1,
    "DAYOFYEAR": lambda value: value.timetuple().tm_yday,
    "HOUR": lambda value: value.hour,
    "MINUTE": lambda value: value.minute,
    "SECOND": lambda value: value.second,
}


def date_trunc(value: date, part: str) -> date:
    """Return the first day, or timestamp, of a part of a date.

    >>> date_trunc(date(2025, 2, 20), "ISOWEEK"), date_trunc(date(2025, 2, 20), "QUARTER")
    (datetime.date(2025, 2, 17), datetime.date(2025, 1, 1))
    """
    if part == "ISOWEEK":
        value, part = value - timedelta(days=value.weekday()), "DAY"
    month = {"DAY": value.month, "MONTH": value.month, "YEAR": 1}.get(
        part, (value.month - 1) // 3 * 3 + 1
    )
    first = value.replace(month=month, day=value.day if part == "DAY" else 1)
    if isinstance(first, datetime):
        return first.replace(hour=0, minute=0, second=0, microsecond=0)
    return first


def date_add(value: date, days: int) -> date | None:
    """Return a later day; None beyond the calendar.

    >>> date_add(date(9999, 12, 31), 1) is None
    True
    """
    try:
        return value + timedelta(days=days)
    except OverflowError:
        return None


# --- the functions --------------------------------------------------------------------------------

_SIGNS: Final[dict[str, tuple[str, Callable[[Any, Any], Any]]]] = {
    "=": ("equals", operator.eq),
    "<>": ("does not equal", operator.ne),
    "<": ("is below", operator.lt),
    "<=": ("is at most", operator.le),
    ">": ("is above", operator.gt),
    ">=": ("is at least", operator.ge),
}


def _condition(name: str, takes: tuple[AcceptedTypes, ...], meaning: str, **more: Any) -> Function:
    return Function(name, takes, Type.BOOLEAN, meaning, **({"null": "argument"} | more))


_LOGIC: Final = (
    *(
        _condition(sign, (_ANY, _ANY), f"the first {words} the second", compute=compute)
        for sign, (words, compute) in _SIGNS.items()
    ),
    _condition("AND", (_BOOLEAN, _BOOLEAN), "false if any is false", repeats=True),
    _condition("OR", (_BOOLEAN, _BOOLEAN), "true if any is true", repeats=True),
    _condition("NOT", (_BOOLEAN,), "true if false, false if true", compute=operator.not_),
    _condition("IS NULL", (_ANY,), "true if NULL, else false", null="never"),
    _condition("IS TRUE", (_BOOLEAN,), "true if true, else false (NULL too)", null="never"),
    _condition("IS FALSE", (_BOOLEAN,), "true if false, else false (NULL too)", null="never"),
    _condition("IN", (_ANY, _ANY), "the first equals one of the others", repeats=True),
)

_ONE, _TWO = (NUMBERS,), (NUMBERS, NUMBERS)
_NUMERIC: Final = (
    Function("+", _TWO, "same", "the sum; NULL outside 64 bits or if not finite", operator.add),
    Function("-", _TWO, "same", "the difference; NULL as for +", operator.sub),
    Function("*", _TWO, "same", "the product; NULL as for +", operator.mul),
    Function("/", _TWO, Type.FLOAT, "the quotient as a FLOAT; NULL if by zero", _quotient),
    Function(
        "DIV",
        (_INTEGER, _INTEGER),
        Type.INTEGER,
        "the quotient, truncated toward 0; NULL if by 0",
        _divided,
    ),
    Function(
        "MOD", (_INTEGER, _INTEGER), Type.INTEGER, "the remainder of DIV; NULL if by 0", _rest
    ),
    Function("NEGATE", _ONE, "same", "the number with the other sign; NULL as for +", _negated),
    Function("ABS", _ONE, "same", "the number without its sign; NULL as for +", abs),
    Function("SIGN", _ONE, Type.INTEGER, "-1, 0 or 1", lambda value: (value > 0) - (value < 0)),
    Function("FLOOR", _ONE, "same", "the largest integer that is not above", _whole(math.floor)),
    Function("CEIL", _ONE, "same", "the smallest integer that is not below", _whole(math.ceil)),
    Function(
        "ROUND", _ONE, "same", "the nearest integer; halves round away from 0", _whole(nearest)
    ),
    Function("SQRT", _ONE, Type.FLOAT, "the square root; NULL of a number below 0"),
    Function("LEAST", (_ANY,), "same", "the smallest; NULL if any is NULL", _least, repeats=True),
    Function("GREATEST", (_ANY,), "same", "the largest; NULL if any is NULL", _most, repeats=True),
    Function("COALESCE", (_ANY,), "same", "the first that is not NULL", repeats=True),
    Function(
        "RANGE_BUCKET",
        _TWO,
        Type.INTEGER,
        "how many of the edges (literals, rising) are at most the first",
        repeats=True,
        written=(1,),
    ),
)

_TEXTUAL: Final = (
    Function(
        "LOWER", (_TEXT,), Type.TEXT, "A-Z turned into a-z, all else as it is", _translated(_LOWER)
    ),
    Function(
        "UPPER", (_TEXT,), Type.TEXT, "a-z turned into A-Z, all else as it is", _translated(_UPPER)
    ),
    Function("LENGTH", (_TEXT,), Type.INTEGER, "the number of code points", len),
    Function(
        "SUBSTR",
        (_TEXT, _INTEGER, _INTEGER),
        Type.TEXT,
        "from the given place (from 1) that many code points, or all to the end",
        _substr,
        optional=1,
        written=(1, 2),
        lowest=(1, 0),
    ),
    Function("CONCAT", (_TEXT,), Type.TEXT, "one after the other", _concat, repeats=True),
    Function("TRIM", (_TEXT,), Type.TEXT, "without the spaces (U+0020) at both ends", _trim),
    Function(
        "STARTS_WITH",
        (_TEXT, _TEXT),
        Type.BOOLEAN,
        "the first begins with the second",
        lambda value, start: value.startswith(start),
    ),
    Function(
        "ENDS_WITH",
        (_TEXT, _TEXT),
        Type.BOOLEAN,
        "the first ends with the second",
        lambda value, end: value.endswith(end),
    ),
    Function(
        "REPLACE",
        (_TEXT, _TEXT, _TEXT),
        Type.TEXT,
        "each second in the first, from the left, turned into the third; none if it is empty",
        _replace,
    ),
    Function(
        "LIKE",
        (_TEXT, _TEXT),
        Type.BOOLEAN,
        "the first matches the pattern: % any code points, _ one; both at once up to 8,192 bytes",
        _like,
        written=(1,),
    ),
)

_CALENDAR: Final = (
    Function(
        "EXTRACT",
        (_TEXT, _TIME),
        Type.INTEGER,
        "the part of a date; DAYOFWEEK is 1 on Sunday, SECOND is whole",
        lambda part, value: _DATE_PARTS[part](value),
        written=(0,),
    ),
    Function(
        "DATE_TRUNC",
        (_TIME, _TEXT),
        "first",
        "the first day, or timestamp, of its date part; an ISOWEEK begins on Monday",
        date_trunc,
        written=(1,),
    ),
    Function(
        "DATE_DIFF",
        (_DATE, _DATE, _TEXT),
        Type.INTEGER,
        "the days from the second to the first",
        lambda first, second, _: (first - second).days,
        written=(2,),
    ),
    Function(
        "DATE_ADD",
        (_DATE, _INTEGER),
        Type.DATE,
        "that many days later; NULL outside the years 1 to 9999",
        date_add,
        written=(1,),
    ),
)

FUNCTIONS: Final[dict[str, Function]] = {
    function.name: replace(function, bounds=_BOUNDS.get(function.name))
    for function in (*_LOGIC, *_NUMERIC, *_TEXTUAL, *_CALENDAR)
}
"""Functions of one row."""

RELEASED: Final[dict[str, Function]] = {
    name: Function(name, (NUMBERS,) * (1 + (name == "POWER")), Type.FLOAT, meaning)
    for name, meaning in {
        "EXP": "e to the power of the number; NULL if not finite",
        "LN": "the natural logarithm; NULL unless above 0",
        "LOG10": "the logarithm to base 10; NULL unless above 0",
        "LOG2": "the logarithm to base 2; NULL unless above 0",
        "POWER": "the first to the power of the second; NULL if not finite",
    }.items()
}
"""Functions of released numbers alone: their last digits differ between engines."""

ANYWHERE: Final = {**FUNCTIONS, **RELEASED}
"""Functions of one row, or of released numbers."""

PLAIN: Final[dict[str, Function]] = {
    function.name: function
    for function in (
        Function("COUNT", (_ANY,), Type.INTEGER, "rows, or values not NULL", optional=1),
        Function(
            "SUM",
            (NUMBERS,),
            "same",
            "the sum of values not NULL, NULL if none; exact for INTEGER, NULL outside 64 bits; "
            "for FLOAT added one by one from the lowest to the highest",
            clamps=True,
        ),
        Function("MIN", (_ANY,), "same", "the smallest value not NULL", clamps=True),
        Function("MAX", (_ANY,), "same", "the largest value not NULL", clamps=True),
    )
}
"""Aggregates of a plain aggregation, below the private one."""

AGGREGATES: Final[dict[str, Function]] = {
    **PLAIN,
    **{
        name: Function(name, (NUMBERS,), Type.FLOAT, meaning, clamps=True)
        for name, meaning in {
            "AVG": "the mean",
            "VAR_POP": "the mean square distance from the mean",
            "VAR_SAMP": "VAR_POP times n / (n - 1)",
            "STDDEV_POP": "the square root of VAR_POP",
            "STDDEV_SAMP": "the square root of VAR_SAMP",
            "PERCENTILE_CONT": "the value at a fraction",
            "APPROX_QUANTILES": "n + 1 values at k / n",
            "MEDIAN_ABSOLUTE_DEVIATION": "the median distance from the median",
        }.items()
    },
    "MODE": Function("MODE", (_LISTED,), "same", "the most frequent of the public values"),
}
"""Aggregates of a question."""


def _shifted(name: str, side: str) -> Function:
    meaning = f"the value that many rows {side}"
    return Function(name, (_ANY, _INTEGER), "first", meaning, written=(1,), lowest=(0,))


WINDOWS: Final[dict[str, Function]] = {
    function.name: function
    for function in (
        Function("ROW_NUMBER", (), Type.INTEGER, "the place of the row in the order, from 1"),
        Function("RANK", (), Type.INTEGER, "one more than the rows before all peers"),
        Function("DENSE_RANK", (), Type.INTEGER, "one more than the different peers before"),
        Function("COUNT", (_ANY,), Type.INTEGER, "rows, or values not NULL", optional=1),
        Function("SUM", (_INTEGER,), Type.INTEGER, "the sum, as in an aggregation"),
        Function("MIN", (_ANY,), "same", "the smallest value not NULL"),
        Function("MAX", (_ANY,), "same", "the largest value not NULL"),
        Function("FIRST_VALUE", (_ANY,), "same", "the value of the first row"),
        _shifted("LAG", "before"),
        _shifted("LEAD", "after"),
    )
}
"""Functions of a window."""

GROUP_WINDOWS: Final[dict[str, Function]] = {
    **WINDOWS,
    "SUM": Function("SUM", (NUMBERS,), "same", "the sum; FLOAT too, if groups are added up"),
}
"""Functions of a window over groups, whose values are released numbers."""


# --- casts ----------------------------------------------------------------------------------------

_WRITTEN_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}")
_FLOAT: Final = re.compile(r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?")
_WRITTEN_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,6})?"
)


def _integer(value: str) -> int | None:
    return int(value) if _WRITTEN_INTEGER.fullmatch(value) else None


def _float(value: str) -> float | None:
    number = float(value) if _FLOAT.fullmatch(value) else math.inf
    return number + 0.0 if math.isfinite(number) else None


def _date(value: str) -> date | None:
    if not _WRITTEN_DATE.fullmatch(value):
        return None
    try:
        return date.fromisoformat(value)
    except ValueError:  # no such day
        return None


def _timestamp(value: str) -> datetime | None:
    if not _TIMESTAMP.fullmatch(value):
        return None
    try:
        whole = datetime.fromisoformat(value[:19])
    except ValueError:  # no such day
        return None
    return whole.replace(microsecond=int(value[20:].ljust(6, "0")))


def _midnight(value: date) -> datetime:
    return datetime(value.year, value.month, value.day)  # noqa: DTZ001 (moments have no zone here)


def moment(text: str, kind: Type) -> date | None:
    """Read a day, or a timestamp, which may be the midnight of a day; None if it is not one.

    >>> moment("2025-01-31", Type.DATE), moment("2025-02-30", Type.TIMESTAMP)
    (datetime.date(2025, 1, 31), None)
    """
    day = _date(text)
    if kind is Type.DATE:
        return day
    return _timestamp(text) if day is None else _midnight(day)


CAST_VALUES: Final[dict[tuple[Type, Type], Callable[[Any], Any]]] = {
    (Type.INTEGER, Type.FLOAT): float,
    (Type.INTEGER, Type.TEXT): str,
    (Type.INTEGER, Type.BOOLEAN): bool,
    (Type.FLOAT, Type.INTEGER): lambda value: int(nearest(value)),
    (Type.TEXT, Type.INTEGER): _integer,
    (Type.TEXT, Type.FLOAT): _float,
    (Type.TEXT, Type.DATE): _date,
    (Type.TEXT, Type.TIMESTAMP): _timestamp,
    (Type.BOOLEAN, Type.INTEGER): int,
    (Type.BOOLEAN, Type.TEXT): lambda value: "true" if value else "false",
    (Type.DATE, Type.TEXT): lambda value: value.isoformat(),
    (Type.DATE, Type.TIMESTAMP): _midnight,
    (Type.TIMESTAMP, Type.DATE): lambda value: value.date(),
}
"""How a value of one type becomes one of another; None is NULL, and so is a number outside 64 bits.

A FLOAT becomes the nearest INTEGER (halves away from zero, NULL outside 64 bits), an INTEGER the
nearest FLOAT; BOOLEAN and INTEGER are 0 and 1, and every other INTEGER is true; a TIMESTAMP becomes
its DATE, and a DATE its midnight.  TEXT is read as an INTEGER of at most 18 digits, a plain decimal
number, a day YYYY-MM-DD, or a moment YYYY-MM-DD HH:MM:SS with up to six decimals, and is NULL if it
is nothing of the kind.
"""

CASTS: Final[dict[Type, frozenset[Type]]] = {
    kind: frozenset({kind, *(to for start, to in CAST_VALUES if start is kind)}) for kind in Type
}
"""From which type to which a value can be cast."""
