"""Written values: days, moments, signed numbers, and the names of types.

Trust: kernel.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from fractions import Fraction
from typing import Final

from discreet.query.expressions import Call, Expression, Literal
from discreet.query.span import Span
from discreet.query.sql.cursor import Cursor
from discreet.query.sql.refusals import unreadable, unsupported
from discreet.query.sql.tokens import Kind, number
from discreet.query.types import TYPES_BY_NAME, Type

__all__ = ["dated", "moment", "negated", "read_type", "signed"]

_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{1,6})?", re.ASCII)


def moment(text: str, kind: Type) -> date | None:
    """Read a day, or a moment, from text; None if it is not one.

    >>> moment("2025-01-31", Type.DATE), moment("2025-02-30", Type.DATE)
    (datetime.date(2025, 1, 31), None)
    """
    try:
        if kind is Type.DATE:
            return date.fromisoformat(text) if _DAY.fullmatch(text) else None
        if _DAY.fullmatch(text):
            return datetime.fromisoformat(f"{text} 00:00:00")
        return _exact_moment(text) if _MOMENT.fullmatch(text) else None
    except ValueError:
        return None


def _exact_moment(text: str) -> datetime:
    whole, _, fraction = text.partition(".")
    found = datetime.fromisoformat(whole)
    return found.replace(microsecond=int(fraction.ljust(6, "0") or 0))


def dated(cursor: Cursor) -> Literal:
    """Read DATE '2025-01-31' or TIMESTAMP '2025-01-31 12:00:00'.

    >>> dated(Cursor("DATE '2025-01-31'")).value
    datetime.date(2025, 1, 31)
    """
    start = cursor.at
    kind = TYPES_BY_NAME[cursor.take().word]
    value = moment(cursor.take().text, kind)
    span = cursor.since(start)
    if value is None:
        form = "2025-01-31" if kind is Type.DATE else "2025-01-31 12:00:00"
        raise unreadable(
            span,
            f"this is no {kind.value} of the calendar.",
            f"write it as {kind.value} '{form}'.",
            why="engines would fail on it, or read another day.",
        )
    return Literal(value, span=span)


def negated(inner: Expression, span: Span) -> Expression:
    """Return the number with the other sign, or the expression turned.

    >>> negated(Literal(2), Span("-2", 0, 2))
    Literal(value=-2)
    """
    if isinstance(inner, Literal) and inner.type is not None and inner.type.is_number:
        return Literal(-Fraction(inner.value), span=span)  # type: ignore[arg-type]
    return Call("NEGATE", (inner,), span=span)


def signed(cursor: Cursor, what: str) -> tuple[Fraction, Span]:
    """Read a number with or without a sign, exactly.

    >>> signed(Cursor("-0.5"), "a bound")[0]
    Fraction(-1, 2)
    """
    start = cursor.at
    minus = cursor.accept("-")
    if not minus:
        cursor.accept("+")
    if cursor.token.kind is not Kind.NUMBER:
        raise cursor.stray(f"{what} is a written number.", "write a number, such as 0.5 or 1e-6.")
    value = number(cursor.take())
    return (-value if minus else value), cursor.since(start)


def read_type(cursor: Cursor) -> Type:
    """Read the name of a type.

    >>> read_type(Cursor("INT64"))
    INTEGER
    """
    token = cursor.take()
    word = token.word
    if word == "DOUBLE":
        cursor.accept("PRECISION")
    found = TYPES_BY_NAME.get(word)
    zoned = cursor.sees("WITH") or cursor.sees("WITHOUT")
    if found is None or zoned or cursor.sees("(") or cursor.sees("["):
        raise unsupported(
            token.span if found is None else token.span.to(cursor.token.span),
            "this type is not known here.",
            (
                "only types that hold the same values on every engine are used.",
                "use INTEGER, FLOAT, TEXT, BOOLEAN, DATE or TIMESTAMP.",
            ),
        )
    return found
