"""The smallest parts of a statement: names, literals and types.

Trust: kernel.  A name or a text that breaks out of its quotes would be a statement of the analyst.
"""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from typing import Final

from discreet.query.types import Scalar, Type

__all__ = ["SQL_TYPES", "literal", "name", "names", "text"]

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


def names(identifiers: list[str]) -> str:
    """Return identifiers in quotes, with commas between them.

    >>> names(["a", "b"])
    '"a", "b"'
    """
    return ", ".join(map(name, identifiers))


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
