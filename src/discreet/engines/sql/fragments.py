"""SQL fragments: quoted names, literals, casts, and printed expressions with what is known of them.

Trust: kernel.  A name or a text that breaks out of its quotes would be a statement of the analyst.

No value makes a cast fail: texts of the wrong form, numbers out of range and whatever else does not
fit are NULL.

Definition.  A printed FLOAT is *open* if the text may give an infinity or no number at all where
our value is NULL.  Sums, differences, products, signs, roundings and roots of open values are open
in turn, and so are quotients with an open numerator: no infinity becomes a finite number on the
way.  So one check at the top of arithmetic is enough; :func:`closed` adds it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Final, final

from discreet.query.expressions import Literal
from discreet.query.types import Scalar, Type

SQL_TYPES: Final[dict[Type, str]] = {
    Type.INTEGER: "BIGINT",
    Type.FLOAT: "DOUBLE",
    Type.TEXT: "VARCHAR",
    Type.BOOLEAN: "BOOLEAN",
    Type.DATE: "DATE",
    Type.TIMESTAMP: "TIMESTAMP",
}


def name(identifier: str) -> str:
    """Return an identifier in quotes.

    >>> name('the "old" ward')
    '"the ""old"" ward"'
    """
    doubled = identifier.replace('"', '""')
    return f'"{doubled}"'


def text(value: str) -> str:
    """Return a text in quotes.

    >>> text("it's")
    "'it''s'"
    """
    doubled = value.replace("'", "''")
    return f"'{doubled}'"


def literal(value: Scalar, kind: Type | None) -> str:
    """Return a literal of a type, exactly.

    >>> literal(Fraction(1, 10), Type.FLOAT), literal(None, Type.DATE), literal(-3, Type.INTEGER)
    ('0.1e0', 'CAST(NULL AS DATE)', '(-3)::BIGINT')
    >>> literal(5, Type.INTEGER), literal(date(2025, 1, 31), Type.DATE)
    ('5::BIGINT', "DATE '2025-01-31'")
    """
    match value:
        case None:
            return "NULL" if kind is None else f"CAST(NULL AS {SQL_TYPES[kind]})"
        case bool():
            return "true" if value else "false"
        case str():
            return text(value)
        case datetime():
            return f"TIMESTAMP {text(value.isoformat(sep=' '))}"
        case date():
            return f"DATE {text(value.isoformat())}"
        case _:
            return _float(value) if kind is Type.FLOAT else f"{_signed(str(value))}::BIGINT"


def _float(value: int | Fraction) -> str:
    """Return the nearest float in a form with an exponent, which no engine takes for a decimal."""
    try:
        digits = repr(float(value))
    except OverflowError:
        return literal(None, Type.FLOAT)
    return _signed(digits if "e" in digits else f"{digits}e0")


def _signed(digits: str) -> str:
    return f"({digits})" if digits.startswith("-") else digits


_SHORT: Final = 400
_VALUE: Final = '"_v"'


@final
@dataclass(slots=True)
class Printed:
    """The text of an expression, with parentheses where they are needed.

    Each lives until the expression above it is printed; a frozen class takes three times as long
    to make.

    >>> Printed("1", Type.INTEGER, value=1).is_written
    True
    """

    sql: str
    kind: Type | None
    open: bool = False
    whole: bool = False
    value: Scalar = None

    @property
    def is_written(self) -> bool:
        """Whether it is a literal that is not NULL."""
        return self.value is not None


def printed_literal(value: Literal, kind: Type | None) -> Printed:
    """Print a literal as a value of a type.

    >>> printed_literal(Literal(2), Type.FLOAT).sql
    '2.0e0'
    """
    return _printed_value(value.value, kind)


def _printed_value(value: Scalar, kind: Type | None) -> Printed:
    sql = literal(value, kind)
    is_null = value is None or sql.startswith("CAST")  # a text begins with a quote
    return Printed(sql, kind, value=None if is_null else value)


def once(arguments: Sequence[str], body: Callable[..., str]) -> str:
    """Print a body that mentions its arguments more than once, without repeating long texts.

    All arguments have one type.  Long ones are bound to the elements of a list, so that the text
    of nested expressions does not double at every level.

    >>> once(['"a"'], lambda a: f"{a} + {a}")
    '"a" + "a"'
    """
    if all(len(argument) <= _SHORT for argument in arguments):
        return body(*arguments)
    parts = [f"{_VALUE}[{place}]" for place in range(1, len(arguments) + 1)]
    return f"list_transform([[{', '.join(arguments)}]], lambda {_VALUE}: {body(*parts)})[1]"


def closed(printed: Printed) -> str:
    """Return the text of our value: what is not finite becomes NULL.

    >>> closed(Printed('("a" + "b")', Type.FLOAT, open=True))
    '(CASE WHEN isfinite(("a" + "b")) THEN ("a" + "b") END)'
    """
    if not printed.open:
        return printed.sql
    return _parenthesized(
        once([printed.sql], lambda value: f"CASE WHEN isfinite({value}) THEN {value} END")
    )


def converted(printed: Printed, to: Type | None) -> Printed:
    """Print a number, or a bare NULL, as a value of a type.

    >>> converted(Printed('"a"', Type.INTEGER), Type.FLOAT).sql
    'CAST("a" AS DOUBLE)'
    """
    if to is None or printed.kind is to:
        return printed
    if printed.is_written or printed.kind is None:
        return _printed_value(printed.value, to)
    return Printed(f"CAST({printed.sql} AS {SQL_TYPES[to]})", to)


def _parenthesized(body: str) -> str:
    return f"({body})" if body.startswith("CASE") else body


_DAY: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
TEXT_FORMS: Final = {
    Type.INTEGER: "[+-]?[0-9]{1,18}",
    Type.FLOAT: "[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?",
    Type.DATE: _DAY,
    Type.TIMESTAMP: f"{_DAY}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{{1,6}})?",
}
"""The texts that can be read as values of a type."""


def cast(argument: Printed, to: Type) -> Printed:
    """Print a cast.

    >>> cast(Printed('"x"', Type.FLOAT), Type.INTEGER).sql
    'TRY_CAST(round("x") AS BIGINT)'
    """
    if argument.kind is None or argument.kind is to:
        return converted(argument, to)
    return _CASTS.get(argument.kind, _plain)(argument, to)


def in_years(sql: str, kind: Type) -> str:
    """Print a day or a moment that is NULL outside the years 1 to 9999.

    >>> print(in_years('"d"', Type.DATE))
    (CASE WHEN "d" BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN "d" END)
    """
    first, last = "0001-01-01", "9999-12-31"
    if kind is Type.TIMESTAMP:
        first, last = f"{first} 00:00:00", f"{last} 23:59:59.999999"
    low, high = f"{kind.value} {text(first)}", f"{kind.value} {text(last)}"
    return once([sql], lambda day: f"(CASE WHEN {day} BETWEEN {low} AND {high} THEN {day} END)")


def _from_text(argument: Printed, to: Type) -> Printed:
    form = text(f"^{TEXT_FORMS[to]}$")
    sql = f"TRY_CAST(regexp_extract({closed(argument)}, {form}) AS {SQL_TYPES[to]})"
    if to in {Type.DATE, Type.TIMESTAMP}:
        return Printed(in_years(sql, to), to)
    return Printed(sql, to, open=to is Type.FLOAT)


def _from_float(argument: Printed, to: Type) -> Printed:
    """Print the nearest integer; what is not finite is out of range too."""
    sql = argument.sql if argument.whole else f"round({argument.sql})"
    return Printed(f"TRY_CAST({sql} AS {SQL_TYPES[to]})", to)


def _plain(argument: Printed, to: Type) -> Printed:
    return Printed(f"CAST({closed(argument)} AS {SQL_TYPES[to]})", to)


_CASTS: Final[dict[Type, Callable[[Printed, Type], Printed]]] = {
    Type.TEXT: _from_text,
    Type.FLOAT: _from_float,
}
