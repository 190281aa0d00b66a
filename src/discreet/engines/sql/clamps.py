"""Clamps: a value moved between two literals, printed with one comparison for each.

Trust: kernel.
"""

from __future__ import annotations

from discreet.engines.sql.printed import Printed, once
from discreet.query.expressions import Call, Expression, Literal

__all__ = ["clamp_of", "clamped"]


def clamp_of(call: Call) -> tuple[Expression, Literal, Literal] | None:
    """Return the value and the bounds of a clamp of numbers; None if a call is something else.

    >>> from discreet.query.expressions import Column
    >>> low, high = Literal(0), Literal(9)
    >>> clamp_of(Call("GREATEST", (Call("LEAST", (Column("x"), high)), low)))
    (Column(name='x', table=None), Literal(value=0), Literal(value=9))
    """
    match call:
        case Call(
            function="GREATEST",
            arguments=(
                Call(function="LEAST", arguments=(value, Literal() as high)),
                Literal() as low,
            ),
        ):
            return (value, low, high) if _rising(low, high) else None
        case Call(
            function="LEAST",
            arguments=(
                Call(function="GREATEST", arguments=(value, Literal() as low)),
                Literal() as high,
            ),
        ):
            return (value, low, high) if _rising(low, high) else None
        case _:
            return None


def _rising(low: Literal, high: Literal) -> bool:
    """Whether both are numbers that every float can be compared with, in order."""
    if low.type is None or high.type is None or not (low.type.is_number and high.type.is_number):
        return False
    numbers = [low.value, high.value]
    small = all(abs(number) < 2**1000 for number in numbers)  # type: ignore[operator, arg-type]
    return small and low.value <= high.value  # type: ignore[operator]


def clamped(value: Printed, low: Printed, high: Printed) -> Printed:
    """Print a clamp; NULL stays NULL.

    >>> from discreet.query.types import Type
    >>> parts = [Printed(sql, Type.INTEGER) for sql in ('"x"', "0", "9")]
    >>> clamped(*parts).sql
    '(CASE WHEN "x" >= 9 THEN 9 WHEN "x" <= 0 THEN 0 ELSE "x" END)'
    """
    if value.open:
        return Printed(once([value.sql], lambda each: _finite(each, low.sql, high.sql)), value.kind)
    bounds = f"{high.sql} THEN {high.sql}", f"{low.sql} THEN {low.sql}"
    sql = once(
        [value.sql],
        lambda each: (
            f"(CASE WHEN {each} >= {bounds[0]} WHEN {each} <= {bounds[1]} ELSE {each} END)"
        ),
    )
    return Printed(sql, value.kind)


def _finite(value: str, low: str, high: str) -> str:
    """Print a clamp that is NULL for what is not finite; no number comes after all numbers here."""
    return (
        f"(CASE WHEN {value} > {low} AND {value} < {high} THEN {value}"
        f" WHEN {value} >= {high} AND {value} < 'inf'::DOUBLE THEN {high}"
        f" WHEN {value} <= {low} AND {value} > '-inf'::DOUBLE THEN {low} END)"
    )
