"""Expressions: operators by how tightly they bind, literals, CASE and columns.

Trust: kernel.  What binds wrongly asks another question.

Definition.  From loose to tight: OR; AND; NOT; comparisons with IS, IN, BETWEEN and LIKE; + and -;
``* / % ||``; the sign of a number; ``::``.  Operators of one level are read from the left, but
comparisons cannot follow each other.
"""

from __future__ import annotations

from typing import Final

from discreet.query.expressions import Call, Case, Column, Expression, Literal
from discreet.query.node_checks import check_size
from discreet.query.source_text import FUNCTIONS, unreadable, unsupported
from discreet.query.sql import calls
from discreet.query.sql.conditions import (
    CONDITIONS,
    FLAT,
    condition,
    flat_operands,
    inner_query,
    inner_value,
)
from discreet.query.sql.cursor import Cursor, dated, negated, read_cast
from discreet.query.sql.intervals import shifted
from discreet.query.sql.tokens import TokenKind, number

__all__ = ["expression"]

_OR, _AND, _NOT, _COMPARED, _ADDED, _MULTIPLIED, _SIGNED = range(1, 8)

_BINARY: Final = {
    "OR": _OR,
    "AND": _AND,
    **dict.fromkeys(("=", "<>", "!=", "<", "<=", ">", ">="), _COMPARED),
    **dict.fromkeys(("+", "-"), _ADDED),
    **dict.fromkeys(("*", "/", "%", "||"), _MULTIPLIED),
}
_NAMES: Final = {"!=": "<>", "%": "MOD", "||": "CONCAT"}


def expression(cursor: Cursor) -> Expression:
    """Read one expression, and check that it is not too large.

    >>> expression(Cursor("1 + 2 * 3")).arguments[1]
    Call(function='*', arguments=(Literal(value=2), Literal(value=3)))
    """
    return check_size(_read(cursor))


def _read(cursor: Cursor, above: int = 0) -> Expression:
    """Read an expression of operators that bind more tightly than a level."""
    cursor.deeper()
    start = cursor.at
    left = _prefix(cursor, above)
    last = _SIGNED
    while (power := _power(cursor)) > above:
        if power > last or power == last == _COMPARED:
            raise unreadable(
                cursor.token.span,
                "an operator follows a comparison.",
                "put the comparison into parentheses, or join two of them with AND.",
            )
        last = power
        left = _infix(cursor, left, power, start)
    cursor.depth -= 1
    return left


def _power(cursor: Cursor) -> int:
    """Return how tightly the next operator binds; 0 if there is none."""
    word = cursor.token.word
    if word in CONDITIONS or (word == "NOT" and cursor.ahead(1).word in CONDITIONS[1:]):
        return _COMPARED
    return _BINARY.get(word, 0)


def _infix(cursor: Cursor, left: Expression, power: int, start: int) -> Expression:
    word = cursor.token.word
    if word not in _BINARY:
        return condition(cursor, left, start=start, operand=_operand, inner=_read)
    if power == _ADDED and cursor.ahead(1).word == "INTERVAL":
        return shifted(cursor, left, start)
    name = _NAMES.get(word, word)
    parts = flat_operands(name, left)
    while cursor.accept(word):
        parts += flat_operands(name, _read(cursor, power))
        if name not in FLAT:
            break
    return Call(name, tuple(parts), span=cursor.since(start))


def _operand(cursor: Cursor) -> Expression:
    """Read what binds more tightly than a comparison."""
    return _read(cursor, _COMPARED)


def _prefix(cursor: Cursor, above: int) -> Expression:
    start = cursor.at
    word = cursor.token.word
    if word == "NOT":
        if above > _NOT:
            raise unreadable(cursor.token.span, "NOT stands inside a comparison.", "write (NOT x).")
        cursor.take()
        inner = _read(cursor, _NOT)
        return Call("NOT", (inner,), span=cursor.since(start))
    if word in {"-", "+"}:
        cursor.take()
        inner = _read(cursor, _SIGNED - 1)
        return inner if word == "+" else negated(inner, cursor.since(start))
    value = _primary(cursor)
    while cursor.accept("::"):
        value = read_cast(cursor, value, start)
    return value


def _primary(cursor: Cursor) -> Expression:
    """Read what has no operator outside."""
    token = cursor.token
    match token.kind:
        case TokenKind.NUMBER:
            cursor.take()
            return Literal(number(token), span=token.span)
        case TokenKind.TEXT:
            cursor.take()
            return Literal(token.text, span=token.span)
        case TokenKind.SIGN if token.word == "(":
            return _parenthesis(cursor)
        case TokenKind.NAME:
            return _named(cursor)
        case TokenKind.QUOTED:
            return _column(cursor)
        case _:
            do = "write a column, value or function."
            if token.word == "=" == cursor.before:
                do = "write = once."
            raise cursor.stray("an expression is missing here.", cursor.without_comma(do))


def _parenthesis(cursor: Cursor) -> Expression:
    opening = cursor.take().span
    if cursor.token.word in {"SELECT", "WITH"}:
        return inner_value(cursor, cursor.at - 1)
    inner = _read(cursor)
    if cursor.sees(","):
        raise unsupported(
            opening.to(cursor.token.span),
            "a list stands where one value is needed.",
            ("values are compared one by one.", "write a = 1 AND b = 2."),
        )
    cursor.expect(")")
    return inner


def _named(cursor: Cursor) -> Expression:
    """Read what begins with a word."""
    token = cursor.token
    word = token.word
    if word in {"TRUE", "FALSE", "NULL"}:
        cursor.take()
        return Literal({"TRUE": True, "FALSE": False, "NULL": None}[word], span=token.span)
    if word == "CASE":
        return _case(cursor)
    if word == "EXISTS" and cursor.ahead(2).word in {"SELECT", "WITH"}:
        start = cursor.at
        cursor.take()
        cursor.expect("(", "write EXISTS (SELECT ...).")
        return inner_query(cursor, None, start)
    following = cursor.ahead(1)
    if following.kind is TokenKind.TEXT and word in {"DATE", "TIMESTAMP", "DATETIME"}:
        return dated(cursor)
    if following.word == "(" and word not in {"IN", "AND", "OR", "NOT", "CASE", "EXISTS"}:
        return calls.call(cursor, _read)
    if word in FUNCTIONS and word.startswith("CURRENT_"):
        raise unsupported(token.span, f"{word} is not answered here.", FUNCTIONS[word])
    return _column(cursor)


def _column(cursor: Cursor) -> Expression:
    start = cursor.at
    parts = cursor.dotted("a column")
    if cursor.sees("("):
        raise unsupported(
            cursor.since(start),
            "a function has no dots in its name.",
            ("only the functions of this dialect are known.", "write the function alone."),
        )
    if cursor.sees("["):
        raise unsupported(
            cursor.token.span,
            "there are no lists to pick from.",
            ("values are numbers, text, dates and truth values.", "leave the brackets out."),
        )
    table = ".".join(parts[:-1]) or None
    return Column(parts[-1], table, span=cursor.since(start))


def _case(cursor: Cursor) -> Expression:
    start = cursor.at
    cursor.take()
    subject = None if cursor.sees("WHEN") else _read(cursor)
    branches: list[tuple[Expression, Expression]] = []
    while cursor.accept("WHEN"):
        chosen = _read(cursor)
        if subject is not None:
            chosen = Call("=", (subject, chosen), span=chosen.span)
        cursor.expect("THEN")
        branches.append((chosen, _read(cursor)))
    if not branches:
        raise cursor.stray("WHEN is missing here.", "write WHEN condition THEN value.")
    default = _read(cursor) if cursor.accept("ELSE") else None
    cursor.expect("END")
    return check_size(Case(tuple(branches), default, span=cursor.since(start)))
