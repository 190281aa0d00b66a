"""Expressions over one row, as SQL.

Trust: kernel.

Whole numbers held in floats are added up faster than integers.
Theorem (key ``whole-floats``).  A sum of n whole numbers of size at most m, held in floats of 53
bits, is exact in every order if n m <= 2^53.  Proof.  Each partial sum, of any of the numbers, is a
whole number of size at most n m; all of these are floats, and so no addition rounds.

A clamp is cheaper after its arithmetic than before.  Lemma.  Let f add numbers to a float, or
multiply it by positive ones, and round; let low <= high.  Then f(x) moved between f(low) and
f(high) is f of x moved between low and high, for every x that is finite.  Proof.  Each step, with
the rounding of floats, never falls, and neither does f; infinities come from large numbers alone,
and lie beyond both ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, final

from discreet.engines.sql.fragments import Printed, cast, closed, converted, name, printed_literal
from discreet.engines.sql.functions import PRINTERS
from discreet.engines.sql.ranges import clamp_of, clamped, kind_of, lies_inside, range_of, shared
from discreet.query.expression_types import FUNCTIONS, ColumnTypes
from discreet.query.expressions import Call, Case, Cast, Column, Expression, Literal
from discreet.query.types import Type

Columns = Mapping[str, Type]


@final
class OpenColumns(ColumnTypes):
    """Columns with their types, as they are in a source: a FLOAT may be anything."""


def expression(node: Expression, columns: Columns, to: Type | None = None) -> str:
    """Print an expression over columns of these types, perhaps as a number of another type.

    >>> expression(Call("+", (Column("a"), Literal(1))), {"a": Type.INTEGER})
    'TRY("a" + 1::BIGINT)'
    """
    return closed(converted(printed(node, columns), to))


def printed(node: Expression, columns: Columns) -> Printed:
    """Print an expression, with its type and what else is known of it."""
    match node:
        case Column(name=column):
            is_open = isinstance(columns, OpenColumns) and columns[column] is Type.FLOAT
            return Printed(name(column), columns[column], open=is_open)
        case Literal():
            return printed_literal(node, node.type)
        case Cast(argument=argument, to=to):
            return cast(printed(argument, columns), to)
        case Case():
            return _case(node, columns)
        case Call():
            return _call(node, columns)
        case _:
            message = f"{type(node).__name__} is no expression over one row"
            raise TypeError(message)


def _case(case: Case, columns: Columns) -> Printed:
    kind = kind_of(case, columns)
    parts = []
    for condition, value in case.branches:
        parts.append(f"WHEN {expression(condition, columns, Type.BOOLEAN)}")
        parts.append(f"THEN {expression(value, columns, kind)}")
    default = expression(case.default or Literal(None), columns, kind)
    return Printed(f"(CASE {' '.join(parts)} ELSE {default} END)", kind)


def _call(call: Call, columns: Columns) -> Printed:
    if kind_of(call, columns) is None:
        return printed_literal(Literal(None), None)
    between = clamp_of(call)
    if between is not None:
        parts = [printed(part, columns) for part in between]
        if parts[0].kind is Type.INTEGER and lies_inside(call, columns):
            return parts[0]
        return clamped(*map(converted, parts, [shared(part.kind for part in parts)] * 3))
    function = _FUNCTIONS[call.function]
    arguments = [printed(argument, columns) for argument in call.arguments]
    return function(*map(converted, arguments, _argument_types(call.function, arguments)))


def _argument_types(function: str, arguments: list[Printed]) -> list[Type | None]:
    """Return the types that arguments are turned into, where that is needed."""
    if function in {"/", "SQRT"}:
        return [Type.FLOAT] * len(arguments)
    takes = FUNCTIONS[function].takes
    if function in _MEETING or FUNCTIONS[function].gives == "same":
        return [shared(argument.kind for argument in arguments)] * len(arguments)
    return [
        _default(argument, takes[min(place, len(takes) - 1)])
        for place, argument in enumerate(arguments)
    ]


def _default(argument: Printed, takes: frozenset[Type]) -> Type | None:
    """Give a bare NULL a type that the function takes."""
    if argument.kind is not None or takes == frozenset(Type):
        return argument.kind
    return min(takes, key=list(Type).index)


_MEETING: Final = frozenset({"=", "<>", "<", "<=", ">", ">=", "IN", "RANGE_BUCKET"})


def _compared(sign: str) -> Callable[[Printed, Printed], Printed]:
    return lambda left, right: Printed(f"({closed(left)} {sign} {closed(right)})", Type.BOOLEAN)


def _joined(word: str) -> Callable[..., Printed]:
    def joined(*arguments: Printed) -> Printed:
        return Printed(f"({f' {word} '.join(map(closed, arguments))})", Type.BOOLEAN)

    return joined


def _after(words: str) -> Callable[[Printed], Printed]:
    return lambda argument: Printed(f"({closed(argument)} {words})", Type.BOOLEAN)


def _not(argument: Printed) -> Printed:
    return Printed(f"(NOT {closed(argument)})", Type.BOOLEAN)


def _in(argument: Printed, *others: Printed) -> Printed:
    return Printed(f"({closed(argument)} IN ({', '.join(map(closed, others))}))", Type.BOOLEAN)


def _coalesce(*arguments: Printed) -> Printed:
    return Printed(f"coalesce({', '.join(map(closed, arguments))})", arguments[0].kind)


_FUNCTIONS: Final[dict[str, Callable[..., Printed]]] = {
    **{sign: _compared(sign) for sign in ("=", "<>", "<", "<=", ">", ">=")},
    "AND": _joined("AND"),
    "OR": _joined("OR"),
    "NOT": _not,
    "IS NULL": _after("IS NULL"),
    "IS TRUE": _after("IS TRUE"),
    "IS FALSE": _after("IS FALSE"),
    "IN": _in,
    "COALESCE": _coalesce,
    **PRINTERS,
}


EXACT: Final = 2**53


@final
@dataclass(frozen=True, slots=True)
class WholeFloat:
    """The text of a whole number as a float, and its range.

    Where ``source`` is given, the number may lie outside: it is to be moved to the nearer end of
    the range where the source is finite, and is NULL elsewhere.
    """

    sql: str
    low: int
    high: int
    source: str | None = None

    @property
    def most(self) -> int:
        """How large it can be, and 1 at least."""
        return max(abs(self.low), abs(self.high), 1)


def whole_float(node: Expression, columns: Columns) -> WholeFloat | None:
    """Print an INTEGER as a float of the same value; None if that might not be exact.

    >>> from discreet.query.expressions import Column, Literal
    >>> low, high, types = Literal(0), Literal(9), {"x": Type.FLOAT}
    >>> inside = Call("GREATEST", (Call("LEAST", (Column("x"), high)), low))
    >>> whole_float(Cast(Call("FLOOR", (inside,)), Type.INTEGER), types)
    WholeFloat(sql='floor("x")', low=0, high=9, source='"x"')
    """
    inner = clamp_of(node) if isinstance(node, Call) else None
    if isinstance(node, Call) and inner is not None and lies_inside(node, columns):
        return whole_float(inner[0], columns)
    within = range_of(node, columns)
    if within is None or max(map(abs, within)) > EXACT:
        return None
    low, high = int(within[0]), int(within[1])
    match node:
        case Cast(argument=Call(function="FLOOR", arguments=(steps,)), to=Type.INTEGER) if (
            rising := _rising(steps, columns)
        ):
            return WholeFloat(f"floor({rising[0]})", low, high, source=rising[1])
        case _:
            return WholeFloat(_as_float(node, columns), low, high)


def _rising(node: Expression, columns: Columns) -> tuple[str, str] | None:
    """Print steps that never fall, without the clamp that they begin with, and what it clamps."""
    match node:
        case Call(function="+" | "-" | "*" as sign, arguments=(steps, Literal(value=by))) if (
            sign != "*" or by > 0  # type: ignore[operator]
        ):
            inner = _rising(steps, columns)
            if inner is None:
                return None
            step = closed(converted(printed(node.arguments[1], columns), Type.FLOAT))
            return f"({inner[0]} {sign} {step})", inner[1]
        case Call() if (clamp := clamp_of(node)) and isinstance(clamp[0], Column):
            column = printed(clamp[0], columns)
            return (column.sql, column.sql) if column.kind is Type.FLOAT else None
        case _:
            return None


def _as_float(node: Expression, columns: Columns) -> str:
    """Print a number; a FLOAT that has a range is finite, and needs no check."""
    match node:
        case Cast(argument=argument, to=Type.INTEGER) if (
            kind_of(argument, columns) is Type.FLOAT and range_of(argument, columns) is not None
        ):
            value = printed(argument, columns)
            return value.sql if value.whole else f"round({value.sql})"
        case _:
            return f"CAST({expression(node, columns)} AS DOUBLE)"
