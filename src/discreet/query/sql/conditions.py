"""Conditions after an expression, AND as one node, and ORDER BY.

Trust: kernel.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from discreet.errors import QuestionError
from discreet.query.expressions import Call, Expression, Literal, Order
from discreet.query.node_checks import MOST_ENTRIES, check_size
from discreet.query.source_text import (
    CLAUSES,
    Span,
    inner_query_refused,
    unreadable,
    unsupported,
)
from discreet.query.sql.cursor import Cursor, Reader

FLAT: Final = frozenset({"AND", "OR", "CONCAT"})
"""The operators that are associative."""


def flat_operands(name: str, part: Expression) -> list[Expression]:
    """Return the operands of an operator of this name, or the expression alone.

    >>> from discreet.query.expressions import Column
    >>> flat_operands("AND", Call("AND", (Column("a"), Column("b"))))
    [Column(name='a', table=None), Column(name='b', table=None)]
    """
    same = name in FLAT and isinstance(part, Call) and part.function == name
    return list(part.children()) if same else [part]


def both(first: Expression | None, second: Expression, span: Span | None = None) -> Expression:
    """Return a condition that is true if both are; the first may be missing.

    >>> from discreet.query.expressions import Column
    >>> both(Column("a"), Column("b")).function
    'AND'
    """
    if first is None:
        return second
    parts = (*flat_operands("AND", first), *flat_operands("AND", second))
    return Call("AND", parts, span=span)


def order_by(cursor: Cursor, read: Reader) -> tuple[Order, ...]:
    """Read what follows ORDER BY; unless said, NULL is the smallest value.

    >>> from discreet.query.sql.operators import expression
    >>> order_by(Cursor("day DESC"), expression)
    (Order(expression=Column(name='day', table=None), descending=True, nulls_first=False),)
    """
    entry = partial(_order, read=read)
    return cursor.listed(entry, most=MOST_ENTRIES, what="the order has")


def _order(cursor: Cursor, read: Reader) -> Order:
    inner = read(cursor)
    descending = cursor.accept("DESC")
    if not descending:
        cursor.accept("ASC")
    nulls_first = not descending
    if cursor.accept("NULLS"):
        nulls_first = cursor.accept("FIRST")
        if not nulls_first:
            cursor.expect("LAST", "write NULLS FIRST or NULLS LAST.")
    return Order(inner, descending, nulls_first)


CONDITIONS: Final = ("IS", "IN", "BETWEEN", "LIKE", "ILIKE", "SIMILAR", "GLOB")
"""The words that begin a condition."""


def condition(
    cursor: Cursor, left: Expression, *, start: int, operand: Reader, inner: Reader
) -> Expression:
    """Read a condition on what was read since a token.

    ``operand`` reads what binds more tightly than a comparison, ``inner`` any expression.

    >>> from discreet.query.sql.operators import expression
    >>> expression(Cursor("ward IS NULL"))
    Call(function='IS NULL', arguments=(Column(name='ward', table=None),))
    """
    turned = cursor.accept("NOT")
    match cursor.take().word:
        case "IS":
            read = _is(cursor, left, start, operand)
        case "IN":
            read = _in(cursor, left, start, inner)
        case "BETWEEN":
            low = operand(cursor)
            cursor.expect("AND")
            high = operand(cursor)
            span = cursor.since(start)
            ends = (Call(">=", (left, low), span=span), Call("<=", (left, high), span=span))
            read = check_size(Call("AND", ends, span=span))
        case "LIKE":
            read = _like(cursor, left, start, operand)
        case "ILIKE":
            low = Call("LOWER", (left,), span=cursor.since(start))
            read = _like(cursor, low, start, operand, lower=True)
        case word:
            cursor.at -= 1
            raise unsupported(cursor.token.span, f"{word} is not answered here.", CLAUSES[word])
    return Call("NOT", (read,), span=cursor.since(start)) if turned else read


def _is(cursor: Cursor, left: Expression, start: int, operand: Reader) -> Expression:
    turned = cursor.accept("NOT")
    word = cursor.token.word
    if cursor.accept("DISTINCT", "FROM"):
        span = cursor.since(start)
        right = operand(cursor)
        missing = tuple(Call("IS NULL", (each,), span=span) for each in (left, right))
        equal = Call("IS TRUE", (Call("=", (left, right), span=span),), span=span)
        same = check_size(Call("OR", (equal, Call("AND", missing, span=span)), span=span))
        return same if turned else Call("NOT", (same,), span=span)
    if word not in {"NULL", "TRUE", "FALSE"}:
        raise unreadable(
            cursor.token.span,
            "IS is followed by NULL, TRUE, FALSE or DISTINCT FROM.",
            "write IS NULL, or compare with = and <>.",
        )
    cursor.take()
    plain = Call(f"IS {word}", (left,), span=cursor.since(start))
    return Call("NOT", (plain,), span=cursor.since(start)) if turned else plain


def _in(cursor: Cursor, left: Expression, start: int, inner: Reader) -> Expression:
    """Read what follows IN: a list, or a subquery."""
    opening = cursor.token.span
    if not cursor.accept("("):
        raise unreadable(opening, "IN is followed by a list.", "write IN (1, 2, 3).")
    if cursor.token.word in {"SELECT", "WITH"}:
        return inner_query(cursor, left, start)
    return Call("IN", (left, *_listed(cursor, inner, opening)), span=cursor.since(start))


def inner_query(cursor: Cursor, left: Expression | None, start: int) -> Expression:
    """Read a subquery and the parenthesis behind it, where there can be one.

    >>> inner_query(Cursor("SELECT ward FROM wards)"), None, 0)
    Traceback (most recent call last):
    discreet.errors.UnsupportedSQL: ...
    """
    if cursor.inner_query is None:
        raise inner_query_refused(cursor.token.span)
    return cursor.inner_query(left, start)


def inner_value(cursor: Cursor, start: int) -> Expression:
    """Read a subquery that stands for one value, where there can be one.

    >>> inner_value(Cursor("SELECT MAX(beds) FROM wards)"), 0)
    Traceback (most recent call last):
    discreet.errors.UnsupportedSQL: ...
    """
    if cursor.inner_value is None:
        raise scalar_refused(cursor.token.span)
    return cursor.inner_value(start)


def _listed(cursor: Cursor, inner: Reader, opening: Span) -> tuple[Expression, ...]:
    """Read the values of IN: a list of literals, none of them NULL."""
    values = cursor.listed(inner)
    for value in values:
        if not isinstance(value, Literal) or value.value is None:
            raise unsupported(
                value.span or opening,
                "the list of IN holds something else than a written value.",
                (
                    "a list is checked before any data is read, and NULL is in no list.",
                    "write numbers, text or dates; compare columns with = and OR.",
                ),
            )
    cursor.expect(")")
    return values


def _like(
    cursor: Cursor, left: Expression, start: int, operand: Reader, *, lower: bool = False
) -> Expression:
    """Read the pattern of LIKE; ILIKE is LIKE of what is in small letters on both sides."""
    pattern = operand(cursor)
    if lower and isinstance(pattern, Literal) and isinstance(pattern.value, str):
        pattern = Literal(pattern.value.lower(), span=pattern.span)
    if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
        raise unsupported(
            pattern.span,
            "the pattern of LIKE is not a written text.",
            ("it must be the same for all rows.", "write a pattern such as 'A%'."),
        )
    if cursor.sees("ESCAPE"):
        raise cursor.stray("", "")
    return Call("LIKE", (left, pattern), span=cursor.since(start))


def scalar_refused(span: Span) -> QuestionError:
    """Return the refusal of a subquery that stands for one value.

    >>> scalar_refused(Span("SELECT", 0, 6)).code
    'E502'
    """
    why = "a value of a private table is an answer of its own, with its own noise and price."
    do = (
        "compare with it in WHERE or HAVING, where it is of public tables or of a person's own "
        "rows; or ask for the value first, and write the number that comes back."
    )
    return unsupported(span, "a subquery stands for one value here.", (why, do))
