"""Days and intervals: day + INTERVAL '3' MONTH, day - INTERVAL '90' DAY.

Trust: kernel.

Definition.  A number of days or weeks is added to any day.  Months, quarters and years have
different lengths, and engines agree only on how to add them to a given day: the same day of the
month so many months later, or the last one of that month if it is shorter.  So these are added to
a written day alone, before any data is read.
"""

from __future__ import annotations

import calendar
from datetime import date, timedelta
from typing import Final

from discreet.query.expressions import Call, Expression, Literal
from discreet.query.source_text import Span, unsupported
from discreet.query.sql.cursor import Cursor, signed
from discreet.query.sql.tokens import TokenKind

_DAYS: Final = {"DAY": 1, "WEEK": 7}
_MONTHS: Final = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_FORM: Final = "write INTERVAL '7' DAY behind a day, or a written day and INTERVAL '3' MONTH."


def shifted(cursor: Cursor, day: Expression, start: int) -> Expression:
    """Read + INTERVAL or - INTERVAL behind a day, and return the day that is meant.

    >>> from discreet.query.sql.operators import expression
    >>> expression(Cursor("DATE '1998-12-01' - INTERVAL '90' DAY")).value
    datetime.date(1998, 9, 2)
    >>> expression(Cursor("DATE '2024-01-31' + INTERVAL 1 MONTH")).value
    datetime.date(2024, 2, 29)
    """
    sign = -1 if cursor.take().word == "-" else 1
    cursor.take()
    count = sign * _count(cursor)
    unit = cursor.take()
    word = unit.word.removesuffix("S")
    if cursor.accept("("):  # how many digits the number may have
        signed(cursor, "a number of digits")
        cursor.expect(")")
    span = cursor.since(start)
    if word in _DAYS:
        count *= _DAYS[word]
        if not (isinstance(day, Literal) and type(day.value) is date):
            return Call("DATE_ADD", (day, Literal(count, span=span)), span=span)
        return _written(day.value, 0, count, span)
    if word in _MONTHS and isinstance(day, Literal) and type(day.value) is date:
        return _written(day.value, count * _MONTHS[word], 0, span)
    raise unsupported(
        span,
        "this interval cannot be added here.",
        ("months have different lengths, and engines count them differently.", _FORM),
    )


def _count(cursor: Cursor) -> int:
    """Read a whole number, as a number or as text."""
    token = cursor.token
    if token.kind is TokenKind.TEXT and token.text.strip().removeprefix("-").isdecimal():
        cursor.take()
        digits = token.text.strip()
        if len(digits) < 9:
            return int(digits)
    elif token.kind is not TokenKind.TEXT:
        value, _ = signed(cursor, "the number of an interval")
        if value.denominator == 1 and abs(value) < 10**8:
            return int(value)
    raise unsupported(
        token.span,
        "an interval is one whole number of days, weeks, months, quarters or years.",
        ("only these mean the same on every engine.", _FORM),
    )


def _written(day: date, months: int, days: int, span: Span) -> Literal:
    """Return a day that is so many months and days later."""
    whole = 12 * day.year + day.month - 1 + months
    year, month = whole // 12, whole % 12 + 1
    try:
        last = calendar.monthrange(year, month)[1] if 0 < year < 10_000 else 0
        moved = date(year, month, min(day.day, last)) + timedelta(days=days)
    except (ValueError, OverflowError):
        raise unsupported(
            span,
            "this day is not in the years 1 to 9999.",
            ("there are no others here.", "write another day."),
        ) from None
    return Literal(moved, span=span)
