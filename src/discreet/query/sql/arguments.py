"""What stands between the parentheses of an aggregate: values, named arguments, FILTER.

Trust: kernel.  Bounds and budgets are taken exactly as written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, final

from discreet.query.expressions import Expression, Pair
from discreet.query.span import Span
from discreet.query.sql.cursor import Cursor
from discreet.query.sql.literals import signed
from discreet.query.sql.refusals import unreadable, unsupported
from discreet.query.sql.tokens import Token

__all__ = ["BY_GROUP", "BY_ROW", "EPSILON", "Arguments", "Reader", "arguments"]

Reader = Callable[[Cursor], Expression]

BY_GROUP: Final = "contribution_bounds_per_group"
BY_ROW: Final = "contribution_bounds_per_row"
EPSILON: Final = "epsilon"


@final
@dataclass(slots=True)
class Arguments:
    """What was read: the name of the function, ``*``, DISTINCT, values, bounds, condition."""

    name: Token
    star: bool = False
    distinct: bool = False
    values: list[Expression] = field(default_factory=list)
    named: dict[str, tuple[Any, Span]] = field(default_factory=dict)
    where: Expression | None = None

    @property
    def word(self) -> str:
        """The name of the function in capitals."""
        return self.name.word


def arguments(cursor: Cursor, name: Token, read: Reader) -> Arguments:
    """Read from the opening parenthesis to the end of FILTER (WHERE ...).

    >>> from discreet.query.sql.operators import expression
    >>> cursor = Cursor("SUM(x, epsilon => 0.1)")
    >>> arguments(cursor, cursor.take(), expression).named["epsilon"][0]
    Fraction(1, 10)
    """
    parts = Arguments(name)
    cursor.expect("(")
    if cursor.accept("*"):
        parts.star = True
    elif cursor.accept("DISTINCT"):
        parts.distinct = True
    else:
        cursor.accept("ALL")
    first = not parts.star
    while not cursor.sees(")"):
        if not first and not cursor.accept(","):
            break
        first = False
        if cursor.ahead(1).word == "=>":
            _named(cursor, parts)
        elif parts.star or parts.named:
            raise cursor.stray("a value stands after * or a named argument.", "leave it out.")
        else:
            parts.values.append(read(cursor))
    cursor.expect(")", "close the parenthesis; ORDER BY, LIMIT and the like are not used inside.")
    parts.where = _filter(cursor, read)
    return parts


def _named(cursor: Cursor, parts: Arguments) -> None:
    start = cursor.at
    name = cursor.take().text.lower()
    cursor.take()
    if name not in {BY_GROUP, BY_ROW, EPSILON}:
        raise unsupported(
            cursor.since(start),
            f"there is no named argument {name} here.",
            (
                "what is not understood may change the promise.",
                f"use {BY_GROUP}, {BY_ROW} or epsilon.",
            ),
        )
    value = _epsilon(cursor) if name == EPSILON else _pair(cursor)
    if name in parts.named:
        raise unreadable(cursor.since(start), f"{name} is given twice.", "give it once.")
    parts.named[name] = (value, cursor.since(start))


def _pair(cursor: Cursor) -> Pair:
    start = cursor.at
    cursor.expect("(", "write (low, high).")
    low, _ = signed(cursor, "a bound")
    cursor.expect(",", "write (low, high).")
    high, _ = signed(cursor, "a bound")
    cursor.expect(")", "write (low, high).")
    if low > high:
        raise unsupported(
            cursor.since(start),
            "the lower bound is above the upper one.",
            ("no number lies between them.", "write (low, high)."),
        )
    return low, high


def _epsilon(cursor: Cursor) -> Fraction:
    value, span = signed(cursor, "epsilon")
    if value <= 0:
        raise unsupported(
            span,
            "epsilon is not above zero.",
            ("nothing can be told at no price.", "give epsilon above zero."),
        )
    return value


def _filter(cursor: Cursor, read: Reader) -> Expression | None:
    if not (cursor.sees("FILTER") and cursor.ahead(1).word == "("):
        return None
    cursor.take()
    cursor.take()
    cursor.expect("WHERE", "write FILTER (WHERE condition).")
    condition = read(cursor)
    cursor.expect(")")
    return condition
