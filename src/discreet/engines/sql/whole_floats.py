"""Whole numbers held in floats, which are added up faster than integers.

Trust: kernel.

Theorem (key ``whole-floats``).  A sum of n whole numbers of size at most m, held in floats of 53
bits, is exact in every order if n m <= 2^53.  Proof.  Each partial sum, of any of the numbers, is a
whole number of size at most n m; all of these are floats, and so no addition rounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

from discreet.engines.sql.expressions import expression, printed
from discreet.engines.sql.ranges import clamp_of, kind_of, lies_inside, range_of
from discreet.query.expressions import Call, Cast, Expression
from discreet.query.types import Type

__all__ = ["EXACT", "WholeFloat", "whole_float"]

EXACT: Final = 2**53


@final
@dataclass(frozen=True, slots=True)
class WholeFloat:
    """The text of a whole number as a float, and its range."""

    sql: str
    low: int
    high: int

    @property
    def most(self) -> int:
        """How large it can be, and 1 at least."""
        return max(abs(self.low), abs(self.high), 1)


def whole_float(node: Expression, columns: Mapping[str, Type]) -> WholeFloat | None:
    """Print an INTEGER as a float of the same value; None if that might not be exact.

    >>> from discreet.query.expressions import Column, Literal
    >>> low, high, types = Literal(0), Literal(9), {"x": Type.FLOAT}
    >>> inside = Call("GREATEST", (Call("LEAST", (Column("x"), high)), low))
    >>> whole_float(Cast(Call("FLOOR", (inside,)), Type.INTEGER), types).sql
    'floor((CASE WHEN "x" >= 9.0e0 THEN 9.0e0 WHEN "x" <= 0.0e0 THEN 0.0e0 ELSE "x" END))'
    """
    within = range_of(node, columns)
    if within is None or max(map(abs, within)) > EXACT:
        return None
    inner = clamp_of(node) if isinstance(node, Call) else None
    if isinstance(node, Call) and inner is not None and lies_inside(node, columns):
        return whole_float(inner[0], columns)
    return WholeFloat(_text(node, columns), int(within[0]), int(within[1]))


def _text(node: Expression, columns: Mapping[str, Type]) -> str:
    """Print a number; a FLOAT that has a range is finite, and needs no check."""
    match node:
        case Cast(argument=argument, to=Type.INTEGER) if (
            kind_of(argument, columns) is Type.FLOAT and range_of(argument, columns) is not None
        ):
            value = printed(argument, columns)
            return value.sql if value.whole else f"round({value.sql})"
        case _:
            return f"CAST({expression(node, columns)} AS DOUBLE)"
