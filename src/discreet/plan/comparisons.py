"""Comparisons of a column with literals, as the values for which they are true, false and NULL.

Trust: kernel.  A value that is missing from a set leaves out the people who have it.

Definition.  For a column of a type and a condition on it alone, :class:`Compared` holds three sets
that enclose the values for which the condition is true, false and NULL.
A comparison with NULL is always NULL.  NULL compared with any other literal is NULL, and every
other value makes the comparison true or false.  A FLOAT that is not finite is read as NULL, so no
NaN is ever compared.  A FLOAT is compared with the nearest FLOAT.  An INTEGER that is compared with
a number that is not whole becomes a FLOAT first, and so does that number: 3 is equal to
3.0000000000000000001.  INTEGERs up to 2**53 are exact as FLOATs, and larger ones stay beyond them,
so a literal below 2**52 divides INTEGERs as the FLOAT next to it does.  Of a comparison with a
larger one nothing is said.  Ranges of text depend on how an engine sorts text: nothing is said of
them, except that NULL is in none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final, NamedTuple, final

from discreet.accounting.values import (
    Values,
    above,
    anything,
    at_least,
    at_most,
    below,
    equals,
    is_not_null,
    is_null,
    nothing,
    one_of,
)
from discreet.query.expressions import Expression, Literal
from discreet.query.types import Scalar, Type

__all__ = ["Compared", "compared", "listed"]

_RANGES: Final[dict[str, Callable[[object], Values]]] = {
    "=": equals,
    "<>": lambda value: is_not_null() & ~equals(value),
    "<": below,
    "<=": at_most,
    ">": above,
    ">=": at_least,
}
_NEGATED: Final = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_SAFE: Final = 2**52
_HUGE: Final = 2**1000


@final
class Compared(NamedTuple):
    """Sets of values of one column that enclose where a condition is true, false and NULL."""

    true: Values
    false: Values
    null: Values


_NULL: Final = Compared(nothing(), nothing(), anything())
"""A condition that is NULL whatever the value is."""


def compared(sign: str, value: Scalar, kind: Type) -> Compared | None:
    """Return where a column of a type compares with a literal, or None if that is unclear.

    >>> print(compared("<", 5, Type.INTEGER).false)
    from 5
    """
    if value is None:
        return _NULL
    effective = _effective(value, kind)
    if effective is None:
        return None
    return Compared(_RANGES[sign](effective), _RANGES[_NEGATED[sign]](effective), is_null())


def listed(items: Sequence[Expression], kind: Type) -> Compared | None:
    """Return where a column of a type equals one of some literals, or None if that is unclear.

    A value that equals none of them is not in the list, unless NULL is listed: then it is unknown
    whether it is.  One number that is not whole makes FLOATs of all of them.

    >>> print(listed([Literal(1), Literal(None)], Type.INTEGER).null)
    other than 1, or NULL
    """
    literals = [item.value for item in items if isinstance(item, Literal)]
    if len(literals) != len(items):
        return None
    as_floats = any(isinstance(value, Fraction) for value in literals)
    values: list[Scalar] = []
    for literal in literals:
        if literal is not None:
            value = _effective(_as_fraction(literal) if as_floats else literal, kind)
            if value is None:
                return None
            values.append(value)
    found = one_of(*values)
    others = is_not_null() & ~found
    if None in literals:
        return Compared(found, nothing(), others | is_null())
    return Compared(found, others, is_null())


def _effective(value: Scalar, kind: Type) -> Scalar:
    """Return the value with which a column is compared in effect, or None if that is unclear."""
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        return value
    if kind is Type.INTEGER and isinstance(value, int):
        return value
    limit = _SAFE if kind is Type.INTEGER else _HUGE
    return Fraction(float(value)) if abs(Fraction(value)) < limit else None


def _as_fraction(value: Scalar) -> Scalar:
    """Return a whole number in the form that is compared as a FLOAT."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return Fraction(value) if whole else value  # type: ignore[arg-type]
