"""Comparisons with literals as sets of values, and sets of values as conditions.

Trust: kernel.  A value that is missing from a set leaves out the people who have it.  What a
condition made from a set lets through is what a scope charges for.

Definition.  For a column of a type and a condition on it alone, :class:`ComparedValues` holds three
sets that enclose the values for which the condition is true, false and NULL.
A comparison with NULL is always NULL.  NULL compared with any other literal is NULL, and every
other value makes the comparison true or false.  A FLOAT that is not finite is read as NULL, so no
NaN is ever compared.  A FLOAT is compared with the nearest FLOAT.  An INTEGER that is compared with
a number that is not whole becomes a FLOAT first, and so does that number: 3 is equal to
3.0000000000000000001.  INTEGERs up to 2**53 are exact as FLOATs, and larger ones stay beyond them,
so a literal below 2**52 divides INTEGERs as the FLOAT next to it does.  Of a comparison with a
larger one nothing is said.  Ranges of text depend on how an engine sorts text: nothing is said of
them, except that NULL is in none.

Definition.  The condition is a disjunction of comparisons of one column with literals of its own
type, and perhaps IS NULL.
Theorem (key ``membership``).  For every value that a column of the type can have, the condition is
true if the value lies in the set, and false or NULL otherwise.
Proof.  A set is made of stretches between cuts.  A value lies in a stretch if it lies between the
first and the last value of its type there; both are literals that the type holds exactly, so no
engine rounds them.  Texts are only ever compared for equality.  No literal is NULL, so for a value
that is not NULL every comparison is true or false; for NULL each of them is NULL, and the condition
is true only if IS NULL is among its parts.  FLOATs are finite, because what is not finite is read
as NULL; zero has one value, whatever its sign.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any, Final, NamedTuple, final

from discreet.accounting.values import (
    Cut,
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
from discreet.query.expressions import Call, Column, Expression, Literal
from discreet.query.types import LARGEST, SMALLEST, Scalar, Type

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
class ComparedValues(NamedTuple):
    """Sets of values of one column that enclose where a condition is true, false and NULL."""

    true: Values
    false: Values
    null: Values


_NULL: Final = ComparedValues(nothing(), nothing(), anything())
"""A condition that is NULL whatever the value is."""


def compared_values(sign: str, value: Scalar, kind: Type) -> ComparedValues | None:
    """Return where a column of a type compares with a literal, or None if that is unclear.

    >>> print(compared_values("<", 5, Type.INTEGER).false)
    from 5
    """
    if value is None:
        return _NULL
    effective = _effective(value, kind)
    if effective is None:
        return None
    return ComparedValues(_RANGES[sign](effective), _RANGES[_NEGATED[sign]](effective), is_null())


def listed_values(items: Sequence[Expression], kind: Type) -> ComparedValues | None:
    """Return where a column of a type equals one of some literals, or None if that is unclear.

    A value that equals none of them is not in the list, unless NULL is listed: then it is unknown
    whether it is.  One number that is not whole makes FLOATs of all of them.

    >>> print(listed_values([Literal(1), Literal(None)], Type.INTEGER).null)
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
    listed = one_of(*values)
    others = is_not_null() & ~listed
    if None in literals:
        return ComparedValues(listed, nothing(), others | is_null())
    return ComparedValues(listed, others, is_null())


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


_KINDS: Final = {
    Type.INTEGER: "number",
    Type.FLOAT: "number",
    Type.TEXT: "text",
    Type.BOOLEAN: "bool",
    Type.DATE: "date",
    Type.TIMESTAMP: "datetime",
}
_ENDS: Final[dict[Type, tuple[Any, Any]]] = {
    Type.INTEGER: (SMALLEST, LARGEST),
    Type.FLOAT: (-Fraction(sys.float_info.max), Fraction(sys.float_info.max)),
    Type.BOOLEAN: (False, True),
    Type.DATE: (date.min, date.max),
    Type.TIMESTAMP: (datetime.min, datetime.max),  # noqa: DTZ901 (moments have no time zone here)
}
"""The first and the last value of each type that has an order."""

_STEPS: Final = {
    Type.BOOLEAN: 1,
    Type.DATE: timedelta(days=1),
    Type.TIMESTAMP: timedelta(microseconds=1),
}


def membership(column: str, kind: Type, values: Values) -> Expression | None:
    """Return the condition that a column of a type holds one of some values.

    None stands for a set of values of another kind, which no column of this type can be held
    against.  ``Literal(False)`` stands for a set that holds no value of the type.

    >>> from discreet.accounting.values import above, between, equals, is_null
    >>> from discreet.query.expression_text import said
    >>> said(membership("age", Type.INTEGER, between(17.5, 64)))
    'age >= 18 AND age <= 64'
    >>> said(membership("sex", Type.TEXT, equals("f") | is_null()))
    "sex IN ('f') OR sex IS NULL"
    >>> membership("sex", Type.TEXT, above(3)) is None
    True
    """
    if values.kind not in {None, _KINDS[kind]}:
        return None
    held = Column(column)
    parts = list(_parts(held, kind, values))
    if values.null:
        parts.append(Call("IS NULL", (held,)))
    if not parts:
        return Literal(False)
    return parts[0] if len(parts) == 1 else Call("OR", tuple(parts))


def _parts(column: Column, kind: Type, values: Values) -> Iterator[Expression]:
    """Yield conditions: one of them holds for each value of the set, and none for another."""
    if not values.cuts:
        if values.below:
            yield _not(Call("IS NULL", (column,)))
    elif kind is Type.TEXT:  # cuts surround single texts
        texts = Call("IN", (column, *(Literal(key) for key, _ in values.cuts[::2])))
        yield _not(texts) if values.below else texts
    else:
        stretches = [_stretch(kind, low, high) for low, high in _pairs(values)]
        ranges = [ends for ends in stretches if ends is not None]
        single = [Literal(first) for first, last in ranges if first == last]
        if single:
            yield Call("IN", (column, *single))
        for first, last in ranges:
            if first != last:
                yield _between(column, kind, first, last)


def _not(condition: Expression) -> Expression:
    return Call("NOT", (condition,))


def _pairs(values: Values) -> Iterator[tuple[Cut | None, Cut | None]]:
    """Yield the cuts at which the set is entered and left; None is an end of the line."""
    ends: list[Cut | None] = [*([None] if values.below else []), *values.cuts]
    ends += [None] * (len(ends) % 2)
    yield from zip(ends[::2], ends[1::2], strict=True)


def ends_of(kind: Type, values: Values) -> tuple[Any, Any] | None:
    """Return the first and the last value of a type in a set; None for an end that is open.

    >>> from discreet.accounting.values import above
    >>> ends_of(Type.INTEGER, above(5))
    (6, None)
    """
    if kind not in _ENDS or values.kind not in {None, _KINDS[kind]}:
        return None
    found = [ends for low, high in _pairs(values) if (ends := _stretch(kind, low, high))]
    if not found:
        return None
    first, last = found[0][0], found[-1][1]
    smallest, largest = _ENDS[kind]
    return None if first == smallest else first, None if last == largest else last


def _stretch(kind: Type, low: Cut | None, high: Cut | None) -> tuple[Any, Any] | None:
    """Return the first and the last value of a type between two cuts, if there is one."""
    smallest, largest = _ENDS[kind]
    first = smallest if low is None else _nearest(kind, low[0], up=True, strict=low[1] == 1)
    last = largest if high is None else _nearest(kind, high[0], up=False, strict=high[1] == 0)
    return None if first is None or last is None or first > last else (first, last)


def _nearest(kind: Type, key: Any, *, up: bool, strict: bool) -> Any:
    """Return the nearest value of a type at or above a key, or at or below it, if there is one.

    If ``strict``, the key itself does not count.
    """
    smallest, largest = _ENDS[kind]
    last = largest if up else smallest
    if (key > last if up else key < last) or (strict and key == last):
        return None
    if not smallest <= key <= largest:
        return smallest if up else largest
    if kind is Type.INTEGER:
        whole = math.ceil(key) if up else math.floor(key)
        return whole + (1 if up else -1) if strict and whole == key else whole
    if kind is Type.FLOAT:
        return _nearest_float(key, up=up, strict=strict)
    if not strict:
        return key
    moved = key + _STEPS[kind] if up else key - _STEPS[kind]
    return bool(moved) if kind is Type.BOOLEAN else moved


def _nearest_float(key: Fraction, *, up: bool, strict: bool) -> Fraction:
    near = float(key)
    short = Fraction(near) < key if up else Fraction(near) > key
    if short or (strict and Fraction(near) == key):
        near = math.nextafter(near, math.inf if up else -math.inf)
    return Fraction(near)


def _between(column: Column, kind: Type, first: Any, last: Any) -> Expression:
    smallest, largest = _ENDS[kind]
    parts = []
    if first > smallest:
        parts.append(Call(">=", (column, Literal(first))))
    if last < largest:
        parts.append(Call("<=", (column, Literal(last))))
    if not parts:
        return _not(Call("IS NULL", (column,)))
    return parts[0] if len(parts) == 1 else Call("AND", tuple(parts))
