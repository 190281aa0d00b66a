"""Expressions as text that a person can read.

Trust: public.

Definition.  The text of an expression is SQL of this dialect, with no more parentheses than needed:
what is read from it is the same expression.  A key of a group is shown as ``<name>``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from fractions import Fraction
from typing import Final, assert_never

from discreet.query.expressions import (
    Aggregate,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Grouped,
    Grouping,
    InnerQuery,
    Literal,
    Order,
    Star,
    Window,
)
from discreet.query.sql.tokens import RESERVED
from discreet.query.types import Scalar

_PLAIN: Final = re.compile(r"[^\W\d]\w*")
_POWERS: Final = {
    "OR": 1,
    "AND": 2,
    "NOT": 3,
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">=", "IN", "LIKE"), 4),
    **dict.fromkeys(("IS NULL", "IS TRUE", "IS FALSE"), 4),
    **dict.fromkeys(("+", "-"), 5),
    **dict.fromkeys(("*", "/"), 6),
    "NEGATE": 7,
}
_TIGHTEST: Final = 8


def said(  # noqa: C901, PLR0911 (one for each kind of node)
    expression: Expression, keys: Sequence[str] = ()
) -> str:
    """Return the text of an expression, over groups whose keys have these names.

    >>> said(Call("*", (Call("+", (Column("a"), Literal(1))), Column("b"))))
    '(a + 1) * b'
    """
    match expression:
        case Column(name=name, table=table):
            parts = [*(table.split(".") if table else ()), name]
            return ".".join(quoted(part) for part in parts)
        case Literal(value=value):
            return said_value(value)
        case Call():
            return _call(expression, keys)
        case Case():
            return _case(expression, keys)
        case Cast(argument=argument, to=to):
            return f"CAST({said(argument, keys)} AS {to.value})"
        case Window():
            return _window(expression, keys)
        case Aggregate():
            return _aggregate(expression, keys)
        case Grouped(at=at):
            return f"<{keys[at] if at < len(keys) else at + 1}>"
        case Grouping(argument=argument):
            return f"GROUPING({said(argument, keys)})"
        case InnerQuery(at=at):
            return f"<subquery {at + 1}>"
        case Star(table=table):
            return "*" if table is None else f"{quoted(table)}.*"
        case _:
            assert_never(expression)


def quoted(name: str) -> str:
    """Return a name, in backticks if it could be taken for something else.

    >>> quoted("ward"), quoted("group"), quoted("my ward")
    ('ward', '`group`', '`my ward`')
    """
    plain = _PLAIN.fullmatch(name) and name.upper() not in RESERVED
    return name if plain else f"`{name}`"


def said_value(value: Scalar) -> str:
    """Return a value as it is written.

    >>> from datetime import date
    >>> said_value("it's"), said_value(Fraction(1, 2)), said_value(date(2025, 1, 31))
    ("'it''s'", '0.5', "DATE '2025-01-31'")
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case int() | Fraction():
            return str(value) if isinstance(value, int) else said_number(value)
        case str():
            text = value.replace("'", "''")
            return f"'{text}'"
        case datetime():
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        case _:
            return f"DATE '{value.isoformat()}'"


def said_number(value: Fraction) -> str:
    """Return a number in decimals if it has finitely many, else as a fraction.

    >>> said_number(Fraction(-1, 8)), said_number(Fraction(1, 3)), said_number(Fraction(10**20))
    ('-0.125', '1/3', '100000000000000000000')
    """
    places, rest = 0, value.denominator
    for factor in (2, 5):
        count = 0
        while rest % factor == 0:
            rest //= factor
            count += 1
        places = max(places, count)
    if rest != 1:
        return str(value)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    sign = "-" if value.numerator < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"


def said_order(order: Sequence[Order], keys: Sequence[str] = ()) -> str:
    """Return the text of an order; NULL is the smallest value unless the order says otherwise.

    >>> said_order((Order(Column("day"), descending=True),))
    'day DESC'
    """
    return ", ".join(
        said(item.expression, keys)
        + (" DESC" if item.descending else "")
        + ("" if item.nulls_first != item.descending else _nulls(item))
        for item in order
    )


def _nulls(item: Order) -> str:
    return " NULLS FIRST" if item.nulls_first else " NULLS LAST"


def _power(expression: Expression) -> int:
    if isinstance(expression, Call):
        return _POWERS.get(expression.function, _TIGHTEST)
    negative = isinstance(expression, Literal) and said(expression).startswith("-")
    return 7 if negative else _TIGHTEST


def _inside(expression: Expression, power: int, keys: Sequence[str]) -> str:
    """Return the text of an operand, in parentheses if it binds less tightly than needed."""
    text = said(expression, keys)
    return text if _power(expression) >= power else f"({text})"


def _call(call: Call, keys: Sequence[str]) -> str:  # noqa: PLR0911 (one for each form)
    name, arguments = call.function, call.arguments
    power = _power(call)
    match name:
        case "AND" | "OR":
            return f" {name} ".join(_inside(part, power + 1, keys) for part in arguments)
        case "NOT":
            return f"NOT {_inside(arguments[0], 3, keys)}"
        case "NEGATE":
            return f"-{_inside(arguments[0], _TIGHTEST, keys)}"
        case "IS NULL" | "IS TRUE" | "IS FALSE":
            return f"{_inside(arguments[0], 5, keys)} {name}"
        case "IN":
            listed = ", ".join(said(part, keys) for part in arguments[1:])
            return f"{_inside(arguments[0], 5, keys)} IN ({listed})"
        case _ if name in _POWERS:
            left = _inside(arguments[0], power + (power == 4), keys)
            return f"{left} {name} {_inside(arguments[1], power + 1, keys)}"
        case _:
            return _function(call, keys)


def _function(call: Call, keys: Sequence[str]) -> str:
    parts = [said(part, keys) for part in call.arguments]
    texts = [part.value if isinstance(part, Literal) else "" for part in call.arguments]
    match call.function:
        case "EXTRACT":
            return f"EXTRACT({texts[0]} FROM {parts[1]})"
        case "DATE_TRUNC" | "DATE_DIFF":
            return f"{call.function}({', '.join(parts[:-1])}, {texts[-1]})"
        case "DATE_ADD":
            return f"DATE_ADD({parts[0]}, INTERVAL {parts[1]} DAY)"
        case "RANGE_BUCKET":
            return f"RANGE_BUCKET({parts[0]}, [{', '.join(parts[1:])}])"
        case _:
            return f"{call.function}({', '.join(parts)})"


def _case(case: Case, keys: Sequence[str]) -> str:
    branches = (f"WHEN {said(when, keys)} THEN {said(then, keys)}" for when, then in case.branches)
    default = "" if case.default is None else f" ELSE {said(case.default, keys)}"
    return f"CASE {' '.join(branches)}{default} END"


def _window(window: Window, keys: Sequence[str]) -> str:
    inner = ", ".join(said(part, keys) for part in window.arguments)
    inner = inner or ("*" if window.function == "COUNT" else "")
    over: list[str] = []
    if window.partition:
        over.append("PARTITION BY " + ", ".join(said(part, keys) for part in window.partition))
    if window.order:
        over.append(f"ORDER BY {said_order(window.order, keys)}")
    return f"{window.function}({inner}) OVER ({' '.join(over)})"


def _aggregate(total: Aggregate, keys: Sequence[str]) -> str:
    inner = "*" if total.argument is None else said(total.argument, keys)
    parts = [f"DISTINCT {inner}" if total.distinct else inner]
    if total.parameter is not None:
        parts.append(said_number(total.parameter))
    for name, bounds in (("group", total.bounds_per_group), ("row", total.bounds_per_row)):
        if bounds is not None:
            pair = ", ".join(said_number(end) for end in bounds)
            parts.append(f"contribution_bounds_per_{name} => ({pair})")
    if total.epsilon is not None:
        parts.append(f"epsilon => {said_number(total.epsilon)}")
    where = "" if total.where is None else f" FILTER (WHERE {said(total.where, keys)})"
    return f"{total.function}({', '.join(parts)}){where}"
