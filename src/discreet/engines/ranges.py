"""What is known of an expression regardless of the rows: its type, its clamp and its range.

Trust: kernel.

A bare NULL has no type.  A *clamp* moves a value between two literals.
Definition.  The *range* of a number is a pair (low, high) such that every value that is not NULL
is between them, both of them finite.  It is found if a value was clamped between literals, and
followed through sums, differences, products and roundings.
Proof.  Each of these steps, rounding of floats included, rises or falls with each argument alone.
So its extremes over a box are in corners of the box, and floats here are those of the engine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from operator import add, mul, sub
from typing import Final

from discreet.errors import WrongType
from discreet.query.expression_types import ColumnTypes
from discreet.query.expressions import Call, Cast, Expression, Literal
from discreet.query.types import LARGEST, NUMBERS, SMALLEST, Scalar, Type


def kind_of(expression: Expression, columns: Mapping[str, Type]) -> Type | None:
    """Return the type of a bound expression, or None for a NULL that fits every type.

    >>> from discreet.query.expressions import Literal
    >>> kind_of(Literal(1), {}), kind_of(Literal(None), {})
    (INTEGER, None)
    """
    types = columns if isinstance(columns, ColumnTypes) else ColumnTypes(columns)
    try:
        return types.type_of(expression)
    except WrongType:  # bound expressions are well typed, and so this is a NULL without a type
        return None


def shared(kinds: Iterable[Type | None]) -> Type | None:
    """Return the type in which values of these types meet.

    >>> shared([Type.INTEGER, None, Type.FLOAT])
    FLOAT
    """
    found: Type | None = None
    for kind in kinds:
        if kind is None or kind is found:
            continue
        if found is not None:
            return Type.FLOAT
        found = kind
    return found


def clamp_of(call: Call) -> tuple[Expression, Literal, Literal] | None:
    """Return the value and the bounds of a clamp of numbers; None if a call is something else.

    >>> from discreet.query.expressions import Column
    >>> low, high = Literal(0), Literal(9)
    >>> clamp_of(Call("GREATEST", (Call("LEAST", (Column("x"), high)), low)))
    (Column(name='x', table=None), Literal(value=0), Literal(value=9))
    """
    if call.function not in _EXTREMES:  # most are not
        return None
    match call:
        case (
            Call(
                function="GREATEST",
                arguments=(
                    Call(function="LEAST", arguments=(value, Literal() as high)),
                    Literal() as low,
                ),
            )
            | Call(
                function="LEAST",
                arguments=(
                    Call(function="GREATEST", arguments=(value, Literal() as low)),
                    Literal() as high,
                ),
            )
        ):
            return (value, low, high) if _rising(low, high) else None
        case _:
            return None


def _rising(low: Literal, high: Literal) -> bool:
    """Whether both are numbers that every float can be compared with, in order."""
    if low.type not in NUMBERS or high.type not in NUMBERS:
        return False
    ends = low.value, high.value
    return all(map(_is_near, ends)) and ends[0] <= ends[1]  # type: ignore[operator]


def _is_near(number: Scalar) -> bool:
    """Whether a number is between -2**1000 and 2**1000; its length in bits mostly tells."""
    assert isinstance(number, int | Fraction)  # noqa: S101  (for the type checker)
    bits = number.numerator.bit_length() - number.denominator.bit_length()
    return bits < _FAR_BITS or -_FAR < number < _FAR


_EXTREMES: Final = frozenset({"GREATEST", "LEAST"})
Range = tuple[int, int] | tuple[float, float]
_FAR_BITS: Final = 1000
_FAR: Final = 2**_FAR_BITS

_SIGNS: Final[dict[str, Callable[[float, float], float]]] = {"+": add, "-": sub, "*": mul}
_ROUNDINGS: Final[dict[str, Callable[[float], int]]] = {"FLOOR": math.floor, "CEIL": math.ceil}


def range_of(node: Expression, columns: Mapping[str, Type]) -> Range | None:
    """Return the range of a number, or None if none is known.

    >>> from discreet.query.expressions import Column
    >>> low, high, types = Literal(0), Literal(9), {"x": Type.FLOAT}
    >>> inside = Call("GREATEST", (Call("LEAST", (Column("x"), high)), low))
    >>> range_of(Call("*", (inside, Literal(2))), types), range_of(Column("x"), types)
    ((0.0, 18.0), None)
    """
    if not isinstance(columns, ColumnTypes) or type(node) is Literal:
        return _range_of(node, columns)
    known = columns.ranges.get(id(node))
    if known is None:
        known = columns.ranges[id(node)] = node, _range_of(node, columns)
    return known[1]


def _range_of(node: Expression, columns: Mapping[str, Type]) -> Range | None:  # noqa: PLR0911 (cases)
    kind = kind_of(node, columns)
    if kind not in NUMBERS:
        return None
    match node:
        case Literal(value=int() | Fraction() as value):
            return _checked((value, value), kind)
        case Cast(argument=argument, to=Type.INTEGER) if kind_of(argument, columns) is Type.FLOAT:
            within = range_of(argument, columns)
            return within and _checked((math.floor(within[0]), math.ceil(within[1])), kind)
        case Call(function="+" | "-" | "*" as sign, arguments=(left, right)):
            return _combined(_SIGNS[sign], [left, right], columns, kind)
        case Call(function="FLOOR" | "CEIL" as rounding, arguments=(argument,)):
            within = range_of(argument, columns)
            return within and _checked(tuple(map(_ROUNDINGS[rounding], within)), kind)
        case Call() if (clamp := clamp_of(node)) is not None:
            return _clamped(*clamp, columns, kind)
        case _:
            return None


def lies_inside(clamp: Call, columns: Mapping[str, Type]) -> bool:
    """Whether a clamp of a number changes nothing.

    >>> from discreet.query.expressions import Column
    >>> low, high, types = Literal(0), Literal(9), {"x": Type.INTEGER}
    >>> inside = Call("GREATEST", (Call("LEAST", (Column("x"), high)), low))
    >>> twice = Call("GREATEST", (Call("LEAST", (inside, high)), low))
    >>> lies_inside(inside, types), lies_inside(twice, types)
    (False, True)
    """
    parts = clamp_of(clamp)
    if parts is None:
        return False
    value, low, high = parts
    within = range_of(value, columns)
    return within is not None and low.value <= within[0] and within[1] <= high.value  # type: ignore[operator]


def _combined(
    sign: Callable[[float, float], float],
    arguments: list[Expression],
    columns: Mapping[str, Type],
    kind: Type,
) -> Range | None:
    ranges = [range_of(argument, columns) for argument in arguments]
    left, right = (_checked(ends, kind) if ends else None for ends in ranges)
    if left is None or right is None:
        return None
    corners = [sign(one, other) for one in left for other in right]
    return _checked((min(corners), max(corners)), kind)


def _clamped(
    value: Expression, low: Literal, high: Literal, columns: Mapping[str, Type], kind: Type
) -> Range | None:
    ends = _checked((low.value, high.value), kind)
    within = range_of(value, columns)
    inner = _checked(within, kind) if within else None
    if ends is None or inner is None:
        return ends
    first, last = (min(max(end, ends[0]), ends[1]) for end in inner)
    return _checked((first, last), kind)


def _checked(ends: tuple[object, ...], kind: Type) -> Range | None:
    """Return two ends as numbers of a type; None if they are not finite, or beyond 64 bits."""
    start, end = ends
    if kind is Type.INTEGER:
        low, high = int(start), int(end)  # type: ignore[call-overload]
        return (low, high) if SMALLEST <= low <= high <= LARGEST else None
    try:
        first, last = float(start), float(end)  # type: ignore[arg-type]
    except OverflowError:
        return None
    return (first, last) if math.isfinite(first) and math.isfinite(last) else None
