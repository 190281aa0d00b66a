"""The functions that a question may use: how many arguments, of which types, and the meaning.

Trust: kernel.  Every engine computes exactly what the meaning says, and never fails on data.

Definition.  A function takes one kind of argument for each place; the last place repeats if
``repeats`` holds.  A kind is a set of types.  ``gives`` is the type of the result: a type of its
own, ``"same"`` for the type that all arguments share (INTEGER and FLOAT share FLOAT), ``"first"``
for that of the first argument.  Arguments at the places in ``written`` must be literals; numbers
there are not below ``lowest``, place by place.  If an argument is NULL so is the result, unless the
meaning says otherwise.  ``clamps`` holds for aggregates of values that are moved between bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from discreet.query.types import NUMBERS, Type

AcceptedTypes = frozenset[Type]

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

    >>> FUNCTIONS["LENGTH"].gives
    INTEGER
    """

    name: str
    takes: tuple[AcceptedTypes, ...]
    gives: Type | str
    meaning: str
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


def _comparisons() -> tuple[Function, ...]:
    return tuple(
        Function(sign, (_ANY, _ANY), Type.BOOLEAN, f"the first {words} the second")
        for sign, words in {
            "=": "equals",
            "<>": "does not equal",
            "<": "lies below",
            "<=": "lies below or equals",
            ">": "lies above",
            ">=": "lies above or equals",
        }.items()
    )


_LOGIC: Final = (
    Function("AND", (_BOOLEAN, _BOOLEAN), Type.BOOLEAN, "false if any is false", repeats=True),
    Function("OR", (_BOOLEAN, _BOOLEAN), Type.BOOLEAN, "true if any is true", repeats=True),
    Function("NOT", (_BOOLEAN,), Type.BOOLEAN, "true if false, false if true"),
    Function("IS NULL", (_ANY,), Type.BOOLEAN, "true if NULL, else false"),
    Function("IS TRUE", (_BOOLEAN,), Type.BOOLEAN, "true if true, else false (NULL too)"),
    Function("IS FALSE", (_BOOLEAN,), Type.BOOLEAN, "true if false, else false (NULL too)"),
    Function("IN", (_ANY, _ANY), Type.BOOLEAN, "the first equals one of the others", repeats=True),
)

_NUMERIC: Final = (
    Function("+", (NUMBERS, NUMBERS), "same", "the sum; NULL outside 64 bits or if not finite"),
    Function("-", (NUMBERS, NUMBERS), "same", "the difference; NULL as for +"),
    Function("*", (NUMBERS, NUMBERS), "same", "the product; NULL as for +"),
    Function("/", (NUMBERS, NUMBERS), Type.FLOAT, "the quotient as a FLOAT; NULL if by zero"),
    Function("DIV", (_INTEGER, _INTEGER), Type.INTEGER, "the quotient, cut toward 0; NULL if by 0"),
    Function("MOD", (_INTEGER, _INTEGER), Type.INTEGER, "what DIV leaves; NULL if by 0"),
    Function("NEGATE", (NUMBERS,), "same", "the number with the other sign; NULL as for +"),
    Function("ABS", (NUMBERS,), "same", "the number without its sign; NULL as for +"),
    Function("SIGN", (NUMBERS,), Type.INTEGER, "-1, 0 or 1"),
    Function("FLOOR", (NUMBERS,), "same", "the largest whole number that is not above"),
    Function("CEIL", (NUMBERS,), "same", "the smallest whole number that is not below"),
    Function("ROUND", (NUMBERS,), "same", "the nearest whole number; halves go away from 0"),
    Function("SQRT", (NUMBERS,), Type.FLOAT, "the square root; NULL of a number below 0"),
    Function("LEAST", (_ANY,), "same", "the smallest; NULL if any is NULL", repeats=True),
    Function("GREATEST", (_ANY,), "same", "the largest; NULL if any is NULL", repeats=True),
    Function("COALESCE", (_ANY,), "same", "the first that is not NULL", repeats=True),
    Function(
        "RANGE_BUCKET",
        (NUMBERS, NUMBERS),
        Type.INTEGER,
        "how many of the edges (literals, rising) are at most the first",
        repeats=True,
        written=(1,),
    ),
)

_TEXTUAL: Final = (
    Function("LOWER", (_TEXT,), Type.TEXT, "A-Z turned into a-z, all else as it is"),
    Function("UPPER", (_TEXT,), Type.TEXT, "a-z turned into A-Z, all else as it is"),
    Function("LENGTH", (_TEXT,), Type.INTEGER, "the number of code points"),
    Function(
        "SUBSTR",
        (_TEXT, _INTEGER, _INTEGER),
        Type.TEXT,
        "from the given place (from 1) that many code points, or all to the end",
        optional=1,
        written=(1, 2),
        lowest=(1, 0),
    ),
    Function("CONCAT", (_TEXT,), Type.TEXT, "one after the other", repeats=True),
    Function("TRIM", (_TEXT,), Type.TEXT, "without the spaces (U+0020) at both ends"),
    Function("STARTS_WITH", (_TEXT, _TEXT), Type.BOOLEAN, "the first begins with the second"),
    Function("ENDS_WITH", (_TEXT, _TEXT), Type.BOOLEAN, "the first ends with the second"),
    Function(
        "REPLACE",
        (_TEXT, _TEXT, _TEXT),
        Type.TEXT,
        "each second in the first, from the left, turned into the third; none if it is empty",
    ),
    Function(
        "LIKE",
        (_TEXT, _TEXT),
        Type.BOOLEAN,
        "the first matches the pattern: % any code points, _ one; both at once up to 8,192 bytes",
        written=(1,),
    ),
)

_CALENDAR: Final = (
    Function(
        "EXTRACT",
        (_TEXT, _TIME),
        Type.INTEGER,
        "the part of a date; DAYOFWEEK is 1 on Sunday, SECOND is whole",
        written=(0,),
    ),
    Function(
        "DATE_TRUNC",
        (_TIME, _TEXT),
        "first",
        "the first day, or moment, of the part in which it lies; an ISOWEEK begins on Monday",
        written=(1,),
    ),
    Function(
        "DATE_DIFF",
        (_DATE, _DATE, _TEXT),
        Type.INTEGER,
        "the days from the second to the first",
        written=(2,),
    ),
    Function(
        "DATE_ADD",
        (_DATE, _INTEGER),
        Type.DATE,
        "that many days later; NULL outside the years 1 to 9999",
        written=(1,),
    ),
)

FUNCTIONS: Final[dict[str, Function]] = {
    function.name: function
    for function in (*_comparisons(), *_LOGIC, *_NUMERIC, *_TEXTUAL, *_CALENDAR)
}
"""Functions of one row."""

RELEASED: Final[dict[str, Function]] = {
    function.name: function
    for function in (
        Function("EXP", (NUMBERS,), Type.FLOAT, "e to the power of it; NULL if not finite"),
        Function("LN", (NUMBERS,), Type.FLOAT, "the natural logarithm; NULL unless above 0"),
        Function("LOG10", (NUMBERS,), Type.FLOAT, "the logarithm to base 10; NULL unless above 0"),
        Function("LOG2", (NUMBERS,), Type.FLOAT, "the logarithm to base 2; NULL unless above 0"),
        Function(
            "POWER",
            (NUMBERS, NUMBERS),
            Type.FLOAT,
            "the first to the power of the second; NULL if that is no finite number",
        ),
    )
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


def _of_numbers(name: str, meaning: str) -> Function:
    return Function(name, (NUMBERS,), Type.FLOAT, meaning, clamps=True)


AGGREGATES: Final[dict[str, Function]] = {
    **PLAIN,
    **{
        function.name: function
        for function in (
            _of_numbers("AVG", "the mean"),
            _of_numbers("VAR_POP", "the mean square distance from the mean"),
            _of_numbers("VAR_SAMP", "VAR_POP times n / (n - 1)"),
            _of_numbers("STDDEV_POP", "the square root of VAR_POP"),
            _of_numbers("STDDEV_SAMP", "the square root of VAR_SAMP"),
            _of_numbers("PERCENTILE_CONT", "the value at a fraction"),
            _of_numbers("APPROX_QUANTILES", "n + 1 values at k / n"),
            Function("MODE", (_LISTED,), "same", "the most frequent of the public values"),
        )
    },
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
    "SUM": Function("SUM", (NUMBERS,), "same", "the sum; FLOAT too, where groups are added up"),
}
"""Functions of a window over groups, whose values are released numbers."""
