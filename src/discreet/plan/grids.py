"""Public grids for quantiles: which leaf a value is in, and which value a leaf stands for.

Trust: kernel.

Definition.  Values are clamped to their bounds, and the range between them is cut into at most 4096
leaves.  Whole numbers with fewer values have a leaf each; more of them share leaves of equally many
numbers.  Which leaf a value next to an edge falls into may be decided by the rounding of floats: it
is the same leaf on every engine, and no promise depends on it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from discreet.exact import float_down, float_up
from discreet.plan.estimators import Grid
from discreet.plan.fixed_point import checked_reach, clamped
from discreet.query.expressions import Call, Cast, Expression, Literal
from discreet.query.types import Type

__all__ = ["MOST_LEAVES", "grid_of"]

MOST_LEAVES: Final = 4096
_SAFE: Final = 2**62


def grid_of(
    value: Expression, kind: Type, bounds: tuple[Fraction, Fraction]
) -> tuple[Expression, Grid]:
    """Return the leaf of a value, and the grid.

    >>> from discreet.query.expressions import Column
    >>> leaf, grid = grid_of(Column("age"), Type.INTEGER, (Fraction(0), Fraction(110)))
    >>> grid.leaves, grid.width
    (111, Fraction(1, 1))
    """
    low, high = math.ceil(bounds[0]), math.floor(bounds[1])
    if kind is Type.INTEGER and low <= high and max(-low, high, high - low) < _SAFE:
        return _whole(value, low, high)
    checked_reach(max(-bounds[0], bounds[1], bounds[1] - bounds[0]))
    floor, ceiling = Fraction(float_down(bounds[0])), Fraction(float_up(bounds[1]))
    number = Cast(value, Type.FLOAT) if kind is Type.INTEGER else value
    rate = Fraction(float(MOST_LEAVES / (ceiling - floor)))
    distance = Call("-", (clamped(number, floor, ceiling), Literal(floor)))
    leaf = Cast(Call("FLOOR", (Call("*", (distance, Literal(rate))),)), Type.INTEGER)
    last = Call("LEAST", (leaf, Literal(MOST_LEAVES - 1)))
    grid = Grid(low=floor, width=1 / rate, leaves=MOST_LEAVES, shift=Fraction(1, 2), high=ceiling)
    return last, grid


def _whole(value: Expression, low: int, high: int) -> tuple[Expression, Grid]:
    width = -(-(high - low + 1) // MOST_LEAVES)
    distance = Call("-", (clamped(value, Fraction(low), Fraction(high)), Literal(low)))
    leaf = distance if width == 1 else Call("DIV", (distance, Literal(width)))
    leaves = -(-(high - low + 1) // width)
    shift = Fraction(width - 1, 2 * width)
    floor, ceiling = Fraction(low), Fraction(high)
    return leaf, Grid(low=floor, width=Fraction(width), leaves=leaves, shift=shift, high=ceiling)
