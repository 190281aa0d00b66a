"""The one form of an expression: what it computes, without how it is written.

Trust: kernel.  Two expressions with the same form are held to be the same.

Definition.  A form is a nested list that begins with the kind of its node.  Names are folded, and a
qualifier is replaced by the place of its table among those that are visible.  Operands whose order
cannot change the result, not even in its last bit, are sorted.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from typing import Any, Final, assert_never

from discreet.query.expressions import (
    Aggregate,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Grouped,
    Literal,
    Star,
    Window,
)
from discreet.query.relations import folded

__all__ = ["Scope", "form"]

Scope = Sequence[frozenset[str]]
"""The folded names of each visible table, from left to right; a subquery may have none."""

Form = list[Any]

_NESTED: Final = frozenset({"AND", "OR"})
_SORTED: Final = frozenset({"AND", "OR", "=", "<>", "+", "*", "LEAST", "GREATEST"})
_TURNED: Final = {">": "<", ">=": "<="}


def form(expression: Expression, scope: Scope) -> Form:  # noqa: PLR0911 (one for each node)
    """Return the one form of an expression over visible tables.

    >>> form(Call(">", (Column("Age", "v"), Literal(18))), [frozenset({"v"})])
    ['call', '<', ['literal', 'INTEGER', '18'], ['column', 0, 'age']]
    """
    match expression:
        case Column(name=name, table=table):
            return ["column", _place(table, scope), folded(name)]
        case Literal(value=value, type=kind):
            return ["literal", None if kind is None else kind.value, _written(value)]
        case Call():
            return _call(expression, scope)
        case Case(branches=branches, default=default):
            listed = [[form(when, scope), form(then, scope)] for when, then in branches]
            return ["case", listed, _perhaps(default, scope)]
        case Cast(argument=argument, to=to):
            return ["cast", to.value, form(argument, scope)]
        case Window():
            return _window(expression, scope)
        case Aggregate():
            return _aggregate(expression, scope)
        case Grouped(at=at):
            return ["key", at]
        case Star(table=table):
            return ["star", None if table is None else _place(table, scope)]
        case _:
            assert_never(expression)


def _place(table: str | None, scope: Scope) -> int | str | None:
    """Return the place of the table that a qualifier names; of the only one without any."""
    if table is None:
        return 0 if len(scope) == 1 else None
    found = [at for at, names in enumerate(scope) if folded(table) in names]
    return found[0] if len(found) == 1 else folded(table)


def _written(value: object) -> str:
    match value:
        case str():
            return value
        case date():
            return value.isoformat()
        case _:
            return str(value)


def _call(call: Call, scope: Scope) -> Form:
    name = call.function
    arguments = call.arguments
    if name in _NESTED:
        arguments = tuple(_operands(name, arguments))
    if name in _TURNED:
        name, arguments = _TURNED[name], arguments[::-1]
    forms = [form(argument, scope) for argument in arguments]
    if name == "IN":
        forms = [forms[0], *_once(forms[1:])]
    return ["call", name, *(_sorted(forms) if name in _SORTED else forms)]


def _operands(name: str, arguments: Sequence[Expression]) -> list[Expression]:
    """Return the operands of an operator, with those of the same operator inside."""
    found: list[Expression] = []
    for argument in arguments:
        same = isinstance(argument, Call) and argument.function == name
        found.extend(_operands(name, argument.children()) if same else [argument])
    return found


def _sorted(forms: Sequence[Form]) -> list[Form]:
    return sorted(forms, key=json.dumps)


def _once(forms: Sequence[Form]) -> list[Form]:
    return [json.loads(text) for text in sorted({json.dumps(item) for item in forms})]


def _perhaps(expression: Expression | None, scope: Scope) -> Form | None:
    return None if expression is None else form(expression, scope)


def _window(window: Window, scope: Scope) -> Form:
    return [
        "window",
        window.function,
        [form(part, scope) for part in window.arguments],
        _sorted([form(part, scope) for part in window.partition]),
        [
            [form(item.expression, scope), item.descending, item.nulls_first]
            for item in window.order
        ],
    ]


def _aggregate(total: Aggregate, scope: Scope) -> Form:
    return [
        "aggregate",
        total.function,
        _perhaps(total.argument, scope),
        total.distinct,
        _perhaps(total.where, scope),
        None if total.parameter is None else str(total.parameter),
        _pair(total.bounds_per_group),
        _pair(total.bounds_per_row),
        None if total.epsilon is None else str(total.epsilon),
    ]


def _pair(pair: tuple[Fraction, Fraction] | None) -> list[str] | None:
    return None if pair is None else [str(end) for end in pair]
