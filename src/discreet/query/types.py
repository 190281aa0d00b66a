"""The types of values.

Trust: kernel.  Engines and bounds rest on one meaning of every type.

Definition.  INTEGER is a whole number of 64 bits with a sign.  FLOAT is a number of 64 bits that is
finite; what is not finite is NULL.  TEXT is a sequence of Unicode code points, ordered by them.
BOOLEAN is true or false.  DATE is a day from year 1 to year 9999, TIMESTAMP a microsecond of such a
day, without a time zone.  Every type has NULL besides.
"""

from __future__ import annotations

from datetime import date, datetime
from enum import Enum
from fractions import Fraction
from typing import Final, final

Scalar = bool | int | Fraction | str | date | None
"""A value as written in a question (a datetime is a date to the type checker); None is NULL."""

SMALLEST: Final = -(2**63)
LARGEST: Final = 2**63 - 1


@final
class Type(Enum):
    """The type of a column or an expression.

    >>> Type.INTEGER.is_number, Type.TEXT.is_number
    (True, False)
    """

    INTEGER = "INTEGER"
    FLOAT = "FLOAT"
    TEXT = "TEXT"
    BOOLEAN = "BOOLEAN"
    DATE = "DATE"
    TIMESTAMP = "TIMESTAMP"

    @property
    def is_number(self) -> bool:
        """Whether values can be added up."""
        return self in NUMBERS

    __hash__ = object.__hash__  # each is one object, and nodes are looked up by the thousand

    def __repr__(self) -> str:
        """Show the name alone."""
        return self.value


NUMBERS: Final = frozenset({Type.INTEGER, Type.FLOAT})

TYPES_BY_NAME: Final[dict[str, Type]] = {
    **dict.fromkeys(("INTEGER", "INT", "BIGINT", "INT64"), Type.INTEGER),
    **dict.fromkeys(("FLOAT", "DOUBLE", "FLOAT64", "DOUBLE PRECISION"), Type.FLOAT),
    **dict.fromkeys(("TEXT", "STRING", "VARCHAR"), Type.TEXT),
    **dict.fromkeys(("BOOLEAN", "BOOL"), Type.BOOLEAN),
    "DATE": Type.DATE,
    **dict.fromkeys(("TIMESTAMP", "DATETIME"), Type.TIMESTAMP),
}
"""The names of types that a question, or a policy, may use."""


def type_of(value: Scalar) -> Type | None:
    """Return the type of a written value; NULL has none of its own.

    A number is an INTEGER if it is whole and fits into 64 bits, however it is spelled.

    >>> type_of(1), type_of(Fraction(1, 2)), type_of(True), type_of(None)
    (INTEGER, FLOAT, BOOLEAN, None)
    """
    match value:
        case None:
            return None
        case bool():
            return Type.BOOLEAN
        case int() | Fraction():
            whole = value.denominator == 1 and SMALLEST <= value.numerator <= LARGEST
            return Type.INTEGER if whole else Type.FLOAT
        case str():
            return Type.TEXT
        case datetime():
            return Type.TIMESTAMP
        case _:
            return Type.DATE
