"""What is declared of a column, as one line that a person reads and edits.

Trust: public.  ``integer 16..95, no NULL`` and ``text black, hisp, "a, b"; same for a person`` are
such lines: a type, then bounds or values, then what is said of NULL and of all rows of a person.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import Final

from discreet.errors import DiscreetError, WrongKind
from discreet.exact import decimal
from discreet.query.types import TYPES_BY_NAME, Scalar, Type
from discreet.requests.table_schema import ColumnFacts

_WIDE: Final = 44
_WHOLE: Final = "no NULL"
_SAME: Final = "same for a person"
_DATED: Final = frozenset({Type.DATE, Type.TIMESTAMP})
_TRUTH: Final = {"true": True, "false": False}


def line_of(facts: ColumnFacts) -> str:
    """Write what is declared of a column.

    >>> age = ColumnFacts(name="age", type=Type.INTEGER, low=Fraction(16), high=Fraction(95))
    >>> line_of(age), line_of(ColumnFacts(name="d", type=Type.TEXT, categories=("a", "b, c")))
    ('integer 16..95', 'text a, "b, c"')
    """
    return " ".join(part for part in (facts.type.value.lower(), range_of(facts)) if part)


def range_of(facts: ColumnFacts) -> str:
    """Write the bounds or the values of a column; nothing where there are none.

    >>> range_of(ColumnFacts(name="age", type=Type.FLOAT, low=Fraction(-1, 2), high=Fraction(3)))
    '-0.5..3'
    """
    if facts.bounded:
        return f"{number_text(facts.low)}..{number_text(facts.high)}"
    if facts.days is not None:
        return f"{facts.days[0]}..{facts.days[1]}"
    return ", ".join(map(_value_text, facts.categories or ()))


def short_range(facts: ColumnFacts) -> str:
    """Write the same for a narrow column: the first of many values, and how many there are.

    >>> short_range(ColumnFacts(name="q", type=Type.TEXT, categories=tuple("abcdefghijklmnopqrst")))
    '20 values: a, b, c, d, e, f, g, h, i, j…'
    """
    values, said = facts.categories or (), range_of(facts)
    if len(said) <= _WIDE or not values:
        return said
    shown = ", ".join(map(str, values))[: _WIDE - 15]
    return f"{len(values)} values: {shown.rstrip(', ')}…"


def number_text(number: Fraction | None) -> str:
    """Write a bound as people do.

    >>> number_text(Fraction(7, 2)), number_text(Fraction(500000))
    ('3.5', '500000')
    """
    number = Fraction(0) if number is None else number
    return str(number) if number.denominator == 1 else f"{float(number):.12g}"


def _value_text(value: Scalar) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Fraction):
        return number_text(value)
    text = str(value)
    return f'"{text}"' if "," in text or text != text.strip() else text


def read_line(text: str, before: ColumnFacts) -> ColumnFacts:
    """Return what a line declares of a column.

    A type alone, or bounds or values alone, keep the rest as far as it fits.

    >>> age = ColumnFacts(name="age", type=Type.INTEGER)
    >>> read_line("integer 0..110, no NULL", age).high, read_line("1, 2, 3", age).categories
    (Fraction(110, 1), (1, 2, 3))
    >>> read_line("0:110", age) == read_line("0..110", age)
    True
    """
    facts, text = before, text.strip()
    if text.lower().endswith(_SAME):
        text, facts = text[: -len(_SAME)].rstrip(" ,;"), replace(facts, constant=True)
    if text.lower().endswith(_WHOLE.lower()):
        text, facts = text[: -len(_WHOLE)].rstrip(" ,;"), replace(facts, nullable=False)
    first, _, rest = text.partition(" ")
    kind = TYPES_BY_NAME.get(first.upper().rstrip(","))
    if kind is not None:
        facts, text = _cleared(replace(facts, type=kind)), rest.strip()
    if not text:
        return facts
    facts = _cleared(facts)
    between = ":" if facts.type.is_number or facts.type in _DATED else ".."  # a text may hold it
    for sign in ("..", between):
        low, found, high = text.partition(sign)
        if found:
            return with_bounds(facts, low, high)
    return replace(facts, categories=category_values(split_values(text), facts.type))


def _cleared(facts: ColumnFacts) -> ColumnFacts:
    return replace(facts, low=None, high=None, days=None, categories=None)


def with_bounds(facts: ColumnFacts, low: str, high: str) -> ColumnFacts:
    """Return a column with bounds: days where it holds days, and numbers otherwise.

    >>> seen = ColumnFacts(name="seen", type=Type.DATE)
    >>> with_bounds(seen, "1867-01-01", "2020-01-01").days[0]
    datetime.date(1867, 1, 1)
    """
    if facts.type in _DATED:
        return replace(facts, days=(_day(low), _day(high)))
    ends = (decimal(low.strip(), name="the lower bound"), decimal(high.strip(), name="the upper"))
    return replace(facts, low=ends[0], high=ends[1])


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise WrongKind(
            what="a bound of days is not a day.",
            why="days are written with the year first, so that there is no doubt.",
            do="write 1867-01-01, say.",
        ) from None


def is_day(text: str) -> bool:
    """Say whether a text is a day, year first.

    >>> is_day("1867-01-01"), is_day("1867")
    (True, False)
    """
    try:
        date.fromisoformat(text.strip())
    except ValueError:
        return False
    return "-" in text


def split_values(text: str) -> tuple[str, ...]:
    """Split values at commas, except inside double quotes.

    >>> split_values('a, "b, c",d')
    ('a', 'b, c', 'd')
    """
    rows = list(csv.reader(io.StringIO(text), skipinitialspace=True))
    return tuple(cell.strip() for row in rows for cell in row if cell.strip())


def category_values(values: Sequence[str], kind: Type) -> tuple[Scalar, ...] | None:
    """Return values that people wrote as values of the column's type.

    >>> category_values(["1", "2.0"], Type.INTEGER), category_values([], Type.TEXT)
    ((1, 2), None)
    """
    if not values:
        return None
    match kind:
        case Type.INTEGER:
            return tuple(_integer(value) for value in values)
        case Type.FLOAT:
            return tuple(Fraction(float(decimal(each, name="a category"))) for each in values)
        case Type.DATE:
            return tuple(map(_day, values))
        case Type.BOOLEAN:
            return tuple(_TRUTH.get(value.lower(), value) for value in values)
        case _:
            return tuple(values)


def _integer(text: str) -> int:
    value = decimal(text, name="a category")
    if value.denominator != 1:
        raise WrongKind(
            what="a category of whole numbers is not one.",
            why="a value of another type never occurs in the column.",
            do="write 1, 2, 3, say; or give the column another type.",
        )
    return value.numerator


def are_whole(values: Sequence[str]) -> bool:
    """Say whether all values are whole numbers, written as such: 01 is a text.

    >>> are_whole(["1", "-2"]), are_whole(["01"]), are_whole(["a"])
    (True, False, False)
    """
    try:
        return all(str(_integer(value)) == value for value in values)
    except DiscreetError:
        return False
