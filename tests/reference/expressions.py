"""Expressions over one row, as Python functions.

Trust: kernel.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final

from discreet.engines.expressions import kind_of, shared
from discreet.query.expression_types import FUNCTIONS, ColumnTypes
from discreet.query.expressions import Call, Case, Cast, Column, Expression, Literal
from discreet.query.types import Type
from tests.reference.casts import cast, finite
from tests.reference.functions import (
    STRICT,
    first_value,
    in_values,
    logical_and,
    logical_or,
)
from tests.reference.order import Value

__all__ = ["Row", "Rule", "compiled", "kept", "literal"]

Row = Mapping[str, Value]
Rule = Callable[[Row], Value]

_LENIENT: Final[dict[str, Callable[..., Value]]] = {
    "AND": logical_and,
    "OR": logical_or,
    "IN": in_values,
    "COALESCE": first_value,
    "IS NULL": lambda value: value is None,
    "IS TRUE": lambda value: value is True,
    "IS FALSE": lambda value: value is False,
}
"""The functions that say themselves what they do with NULL."""

_KEPT: Final = 4096
_MEETING: Final = frozenset({"=", "<>", "<", "<=", ">", ">=", "IN", "RANGE_BUCKET"})


def kept(make: Callable[..., Any]) -> Callable[..., Any]:
    """Remember the last few thousand things that were made of what never changes.

    Arguments are told apart by identity: 1 and TRUE are equal, and mean different things.

    >>> pair = kept(lambda one, other: (one, other))
    >>> one = Literal(1)
    >>> pair(one, None) is pair(one, None), pair(one, None) is pair(Literal(1), None)
    (True, False)
    """
    known: dict[tuple[int, ...], tuple[tuple[object, ...], Any]] = {}

    @functools.wraps(make)
    def remembered(*given: object) -> Any:
        key = tuple(map(id, given))
        if key not in known:
            if len(known) >= _KEPT:
                known.clear()
            known[key] = given, make(*given)  # with what was given, so that its ids stay its own
        return known[key][1]

    return remembered


def literal(value: Literal) -> Value:
    """Return the value of a literal; a fraction becomes the nearest float.

    >>> literal(Literal(Fraction(1, 10)))
    0.1
    """
    found = value.value
    if not isinstance(found, Fraction):
        return found
    try:
        return finite(float(found))
    except OverflowError:
        return None


@kept
def compiled(expression: Expression, columns: Mapping[str, Type], to: Type | None = None) -> Rule:
    """Return the function that computes an expression, perhaps as a number of another type.

    >>> add = compiled(Call("+", (Column("a"), Literal(1))), {"a": Type.INTEGER})
    >>> add({"a": 41}), add({"a": None})
    (42, None)
    """
    if not isinstance(columns, ColumnTypes):
        columns = _remembering(columns)
    kind = kind_of(expression, columns)
    rule = _compiled(expression, columns)
    if to is None or to is kind:
        return rule
    return lambda row: cast(rule(row), kind, to)


@kept
def _remembering(columns: Mapping[str, Type]) -> ColumnTypes:
    """Return columns that remember the types of expressions over them."""
    return ColumnTypes(columns)


def _compiled(expression: Expression, columns: Mapping[str, Type]) -> Rule:
    match expression:
        case Column(name=name):
            return lambda row: row[name]
        case Literal():
            value = literal(expression)
            return lambda _: value
        case Cast(argument=argument, to=to):
            return compiled(argument, columns, to)
        case Case():
            return _case(expression, columns)
        case Call():
            return _call(expression, columns)
        case _:
            message = f"{type(expression).__name__} is not an expression over one row"
            raise TypeError(message)


def _case(case: Case, columns: Mapping[str, Type]) -> Rule:
    to = kind_of(case, columns)
    branches = [
        (compiled(condition, columns), compiled(value, columns, to))
        for condition, value in case.branches
    ]
    default = compiled(case.default or Literal(None), columns, to)

    def chosen(row: Row) -> Value:
        for condition, value in branches:
            if condition(row) is True:
                return value(row)
        return default(row)

    return chosen


def _call(call: Call, columns: Mapping[str, Type]) -> Rule:
    name = call.function
    to = _argument_type(call, columns)
    rules = [compiled(argument, columns, to) for argument in call.arguments]
    if name in _LENIENT:
        lenient = _LENIENT[name]
        return lambda row: lenient(*[rule(row) for rule in rules])
    strict = STRICT[name]

    def computed(row: Row) -> Value:
        values = [rule(row) for rule in rules]
        return None if None in values else strict(*values)

    return computed


def _argument_type(call: Call, columns: Mapping[str, Type]) -> Type | None:
    """Return the type in which the arguments meet, or None if each keeps its own."""
    if call.function in {"/", "SQRT"}:
        return Type.FLOAT
    if call.function in _MEETING or FUNCTIONS[call.function].gives == "same":
        return shared(kind_of(argument, columns) for argument in call.arguments)
    return None
