"""Functions of numbers.

Trust: kernel.  An overflow, a division by zero or a root of a negative number is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Final

from discreet.engines.sql.fragments import Printed, closed, literal, once
from discreet.query.types import Type

__all__ = ["NUMBERS"]

Printer = Callable[..., Printed]


def _arithmetic(sign: str) -> Printer:
    """Print + - or *: integers that overflow are NULL, floats stay open."""

    def printed(left: Printed, right: Printed) -> Printed:
        sql = f"({left.sql} {sign} {right.sql})"
        if left.kind is Type.INTEGER:
            return Printed(f"TRY{sql}", Type.INTEGER)
        return Printed(sql, Type.FLOAT, open=True)

    return printed


def _divided(left: Printed, right: Printed) -> Printed:
    """Print a quotient: by zero it is not finite, and an infinite divisor is closed first."""
    return Printed(f"({left.sql} / {closed(right)})", Type.FLOAT, open=True)


def _whole_division(sign: str, left: Printed, right: Printed) -> Printed:
    if right.is_written and right.value not in {0, -1}:
        return Printed(f"({left.sql} {sign} {right.sql})", Type.INTEGER)
    wide = f"CAST({left.sql} AS HUGEINT) {sign} nullif(CAST({right.sql} AS HUGEINT), 0)"
    return Printed(f"TRY_CAST({wide} AS BIGINT)", Type.INTEGER)


def _negate(argument: Printed) -> Printed:
    """Print a number with the other sign; a bare minus would turn a written one into 128 bits."""
    if argument.kind is Type.INTEGER:
        return Printed(f"TRY(0::BIGINT - {argument.sql})", Type.INTEGER)
    return Printed(f"(-({argument.sql}))", Type.FLOAT, open=argument.open)


def _abs(argument: Printed) -> Printed:
    sql = f"abs({argument.sql})"
    if argument.kind is Type.INTEGER:
        return Printed(f"TRY({sql})", Type.INTEGER)
    return Printed(sql, Type.FLOAT, open=argument.open)


def _sign(argument: Printed) -> Printed:
    return Printed(f"CAST(sign({closed(argument)}) AS BIGINT)", Type.INTEGER)


def _rounding(function: str) -> Printer:
    def printed(argument: Printed) -> Printed:
        if argument.kind is not Type.FLOAT:
            return argument
        sql = f"{function}({argument.sql})"
        return Printed(sql, Type.FLOAT, open=argument.open, whole=True)

    return printed


def _square_root(argument: Printed) -> Printed:
    return Printed(f"sqrt({argument.sql})", Type.FLOAT, open=True)


def _extreme(function: str, sign: str) -> Printer:
    """Print LEAST or GREATEST, which are NULL if any argument is."""

    def printed(*arguments: Printed) -> Printed:
        kind = arguments[0].kind
        if len(arguments) == 1:
            return arguments[0]
        if len(arguments) == 2:
            return Printed(_cut(arguments, sign), kind)
        return Printed(once([closed(argument) for argument in arguments], _all(function)), kind)

    return printed


def _cut(arguments: Sequence[Printed], sign: str) -> str:
    """Print the one of two that lies on the side of the sign."""
    if arguments[0].is_written:
        arguments = arguments[::-1]
    texts = [closed(argument) for argument in arguments]

    def body(one: str, two: str = texts[1]) -> str:
        return f"(CASE WHEN {one} {sign} {two} THEN {one} WHEN {one} IS NOT NULL THEN {two} END)"

    return once(texts[:1] if arguments[1].is_written else texts, body)


def _all(function: str) -> Callable[..., str]:
    def body(*parts: str) -> str:
        some = " OR ".join(f"{part} IS NULL" for part in parts)
        return f"(CASE WHEN {some} THEN NULL ELSE {function}({', '.join(parts)}) END)"

    return body


def _range_bucket(argument: Printed, *edges: Printed) -> Printed:
    """Print the number of edges that are at most the argument, found by halving."""
    if not all(edge.is_written for edge in edges):  # an edge beyond all floats is NULL
        return Printed(literal(None, Type.INTEGER), Type.INTEGER)
    ends = sorted(edges, key=lambda edge: Fraction(edge.value))  # type: ignore[arg-type]

    def body(value: str) -> str:
        return f"(CASE WHEN {value} IS NOT NULL THEN {_halved(value, ends, 0)} END)"

    return Printed(once([closed(argument)], body), Type.INTEGER)


def _halved(value: str, edges: Sequence[Printed], below: int) -> str:
    if not edges:
        return f"CAST({below} AS BIGINT)"
    middle = len(edges) // 2
    low = _halved(value, edges[:middle], below)
    high = _halved(value, edges[middle + 1 :], below + middle + 1)
    return f"CASE WHEN {value} < {edges[middle].sql} THEN {low} ELSE {high} END"


NUMBERS: Final[dict[str, Printer]] = {
    "+": _arithmetic("+"),
    "-": _arithmetic("-"),
    "*": _arithmetic("*"),
    "/": _divided,
    "DIV": partial(_whole_division, "//"),
    "MOD": partial(_whole_division, "%"),
    "NEGATE": _negate,
    "ABS": _abs,
    "SIGN": _sign,
    "FLOOR": _rounding("floor"),
    "CEIL": _rounding("ceil"),
    "ROUND": _rounding("round"),
    "SQRT": _square_root,
    "LEAST": _extreme("least", "<="),
    "GREATEST": _extreme("greatest", ">="),
    "RANGE_BUCKET": _range_bucket,
}
