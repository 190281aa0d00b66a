"""The functions of one row, each computed from values that are not NULL.

Trust: kernel.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Final, cast

from discreet.query.functions import FUNCTIONS
from tests.reference.casts import finite, fitting, rounded
from tests.reference.order import Value

__all__ = ["STRICT", "first_value", "in_values", "logical_and", "logical_or"]

Function = Callable[..., Value]


def _number(compute: Callable[..., float]) -> Function:
    """Keep integers within 64 bits, and floats finite."""

    def kept(*arguments: Any) -> Value:
        if all(isinstance(argument, int) for argument in arguments):
            return fitting(compute(*arguments))  # type: ignore[arg-type]
        return finite(compute(*arguments))

    return kept


def _divided(left: float, right: float) -> Value:
    return None if right == 0 else finite(left / right)


def _div(left: int, right: int) -> int | None:
    if right == 0:
        return None
    size = abs(left) // abs(right)
    return fitting(size if (left < 0) == (right < 0) else -size)


def _mod(left: int, right: int) -> int | None:
    if right == 0:
        return None
    size = abs(left) % abs(right)
    return -size if left < 0 else size


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _whole(compute: Callable[[float], int]) -> Function:
    """Apply a rounding; an integer is whole already."""
    return lambda value: value if isinstance(value, int) else finite(float(compute(value)))


def _square_root(value: float) -> float | None:
    return None if value < 0 else math.sqrt(value)


def _range_bucket(value: Any, *edges: Any) -> int:
    return sum(edge <= value for edge in edges)


_SHARED: Final = (
    *("LOWER", "UPPER", "LENGTH", "SUBSTR", "CONCAT", "TRIM", "STARTS_WITH", "ENDS_WITH"),
    *("REPLACE", "LIKE", "EXTRACT", "DATE_TRUNC", "DATE_DIFF", "DATE_ADD"),
)
"""Functions of texts and days, which engines compute by themselves; those of numbers are below."""
STRICT: Final[dict[str, Function]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "NOT": operator.not_,
    "+": _number(operator.add),
    "-": _number(operator.sub),
    "*": _number(operator.mul),
    "/": _divided,
    "DIV": _div,
    "MOD": _mod,
    "NEGATE": _number(operator.neg),
    "ABS": _number(abs),
    "SIGN": _sign,
    "FLOOR": _whole(math.floor),
    "CEIL": _whole(math.ceil),
    "ROUND": _whole(rounded),
    "SQRT": _square_root,
    "LEAST": lambda *values: min(values),
    "GREATEST": lambda *values: max(values),
    "RANGE_BUCKET": _range_bucket,
    **{name: cast("Function", FUNCTIONS[name].compute) for name in _SHARED},
}
"""The functions that are NULL if an argument is."""


def logical_and(*values: Value) -> Value:
    """Return false if any is false, else NULL if any is NULL.

    >>> logical_and(None, False), logical_and(None, True)
    (False, None)
    """
    return False if False in values else None if None in values else True


def logical_or(*values: Value) -> Value:
    """Return true if any is true, else NULL if any is NULL.

    >>> logical_or(None, True), logical_or(None, False)
    (True, None)
    """
    return True if True in values else None if None in values else False


def in_values(value: Value, *others: Value) -> Value:
    """Return whether a value equals one of the others, as an OR of comparisons.

    >>> in_values(1, 2, None), in_values(2, 2, None)
    (None, True)
    """
    if value is None:
        return None
    return logical_or(*(None if other is None else value == other for other in others))


def first_value(*values: Value) -> Value:
    """Return the first that is not NULL.

    >>> first_value(None, 2, 3)
    2
    """
    return next((value for value in values if value is not None), None)
