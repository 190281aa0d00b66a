"""Fixed point and grids: numbers as whole steps, so that sums and ranks are exact everywhere.

Trust: kernel.  The bounds that are returned are those of the integers that are added up.

Definition.  A number x between public bounds becomes the whole number nearest to (x - center) /
step.  The step is a power of two, as fine as it can be while the largest total of one unit stays
within 2**30: so the totals of four billion units fit into 62 bits.  Whole numbers with small bounds
are kept as they are, in steps of 1, or of 1/2 if their center is not whole.
If the total of a unit is bounded and its rows are not, rows are clamped far outside the bounds,
to 2**52 steps, so that nothing overflows.
Theorem (key ``fixed-point``).  For any data, every value of ``row`` is NULL or an
integer from ``low`` to ``high``.
Proof.  The last step of the expression is a clamp to these integers; NaN and infinities are NULL.

Definition.  A public grid says which leaf a value is in, and which value a leaf stands for.  Values
are clamped to their bounds, and the range between them is cut into 4096
leaves.  Up to 65,536 whole numbers have a leaf each; more of them share leaves of equally many
numbers.  Which leaf a value next to an edge falls into may be decided by the rounding of floats: it
is the same leaf on every engine, and no promise depends on it.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from discreet.errors import OutOfRange
from discreet.exact import float_down, float_up
from discreet.query.expressions import Call, Cast, Expression, Literal
from discreet.query.types import Type

_LARGEST: Final = 2**30
_FINEST: Final = 900
_WIDEST: Final = 2**52
_HALF: Final = Literal(Fraction(1, 2))
_ZERO: Final = Fraction(0)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """An expression of whole steps, and the bounds on it.

    >>> from discreet.query.expressions import Column
    >>> age = fixed(Column("age"), Type.INTEGER, (Fraction(0), Fraction(110)), rows=2)
    >>> age.low, age.high, age.step, age.center
    (0, 110, Fraction(1, 1), Fraction(0, 1))
    """

    row: Expression
    low: int
    high: int
    step: Fraction
    center: Fraction


def fixed(
    value: Expression,
    kind: Type,
    bounds: tuple[Fraction, Fraction],
    *,
    rows: int,
    centered: bool = False,
) -> Fixed:
    """Turn a number into whole steps, for units of up to that many rows.

    >>> from discreet.query.expressions import Column
    >>> cost = fixed(Column("c"), Type.FLOAT, (Fraction(0), Fraction(100)), rows=1, centered=True)
    >>> cost.low == -cost.high, cost.step, cost.center
    (True, Fraction(1, 16777216), Fraction(50, 1))
    """
    low, high = bounds
    if kind is Type.INTEGER:
        whole = _whole(value, math.ceil(low), math.floor(high), rows=rows, centered=centered)
        if whole is not None:
            return whole
    floor, ceiling = Fraction(float_down(low)), Fraction(float_up(high))
    number = Cast(value, Type.FLOAT) if kind is Type.INTEGER else value
    inside = clamped(number, floor, ceiling)
    center = Fraction(float((floor + ceiling) / 2)) if centered else _ZERO
    if center.numerator == 0:
        return _stepped(inside, _exponent(max(-floor, ceiling) * rows), (floor, ceiling), center)
    ends = floor - center, ceiling - center
    moved = Call("-", (inside, Literal(center)))
    return _stepped(moved, _exponent(max(map(abs, ends)) * rows), ends, center)


def fixed_open(
    value: Expression,
    kind: Type,
    bounds: tuple[Fraction, Fraction],
    *,
    center: Fraction = Fraction(0),
    whole: bool = False,
) -> Fixed:
    """Turn a number into whole steps that suit bounds on a unit's total, not on the number.

    With ``whole``, whole numbers are kept as they are if the bounds are small enough for that.

    >>> from discreet.query.expressions import Column
    >>> cost = fixed_open(Column("c"), Type.FLOAT, (Fraction(0), Fraction(100)))
    >>> cost.high == 2**52, cost.step
    (True, Fraction(1, 8388608))
    """
    reach = max(abs(bound - center) for bound in bounds)
    if whole and kind is Type.INTEGER and reach <= _LARGEST and center == 0:
        inside = clamped(value, Fraction(-_WIDEST), Fraction(_WIDEST))
        return Fixed(row=inside, low=-_WIDEST, high=_WIDEST, step=Fraction(1), center=center)
    exponent = _exponent(reach)
    far = _WIDEST / Fraction(2) ** exponent
    number = Cast(value, Type.FLOAT) if kind is Type.INTEGER else value
    inside = clamped(number, -far, far)
    moved = inside if center == 0 else Call("-", (inside, Literal(center)))
    return _stepped(moved, exponent, (-far, far), center)


def fixed_square(
    value: Expression,
    kind: Type,
    bounds: tuple[Fraction, Fraction],
    *,
    center: Fraction,
    rows: int,
) -> Fixed:
    """Turn the square of the distance from a center into whole steps, less half the largest one.

    >>> from discreet.query.expressions import Column
    >>> square = fixed_square(
    ...     Column("x"), Type.FLOAT, (Fraction(0), Fraction(2)), center=Fraction(1), rows=1)
    >>> square.center
    Fraction(1, 2)
    """
    floor, ceiling = Fraction(float_down(bounds[0])), Fraction(float_up(bounds[1]))
    middle = Fraction(float(center))
    reach = max(abs(floor - middle), abs(ceiling - middle))
    check_magnitude(reach * reach * rows)
    offset = Fraction(float(reach * reach / 2))
    number = Cast(value, Type.FLOAT) if kind is Type.INTEGER else value
    distance = Call("-", (clamped(number, floor, ceiling), Literal(middle)))
    square = Call("-", (Call("*", (distance, distance)), Literal(offset)))
    top = reach * reach - offset
    return _stepped(square, _exponent(max(offset, top) * rows), (-offset, top), offset)


def clamped(value: Expression, low: Fraction | int, high: Fraction | int) -> Expression:
    """Return the value, or the bound that it is beyond.

    >>> from discreet.query.expressions import Column
    >>> clamped(Column("x"), Fraction(0), Fraction(1)).function
    'GREATEST'
    """
    return Call("GREATEST", (Call("LEAST", (value, Literal(high))), Literal(low)))


def check_magnitude(largest: Fraction) -> None:
    """Refuse numbers that are too large, or too small, to be distinguished in 64 bits.

    >>> check_magnitude(Fraction(1000))
    """
    _exponent(largest)


def _whole(value: Expression, low: int, high: int, *, rows: int, centered: bool) -> Fixed | None:
    """Keep whole numbers as they are, if that is fine enough for one unit's total."""
    if low > high:
        raise OutOfRange(
            what="no whole number is between the bounds.",
            why="every value is moved between them.",
            do="give bounds with a whole number between them.",
        )
    largest = max(abs(low), abs(high), high - low) * rows
    if largest > _LARGEST:
        return None
    inside = clamped(value, low, high)
    if not centered:
        return Fixed(row=inside, low=low, high=high, step=Fraction(1), center=Fraction(0))
    twice = low + high
    center = Fraction(twice, 2)
    if twice % 2 == 0:
        row = Call("-", (inside, Literal(twice // 2)))
        reach = (high - low) // 2
        return Fixed(row=row, low=-reach, high=reach, step=Fraction(1), center=center)
    row = Call("-", (Call("*", (inside, Literal(2))), Literal(twice)))
    reach = high - low
    return Fixed(row=row, low=-reach, high=reach, step=Fraction(1, 2), center=center)


def _stepped(
    value: Expression, exponent: int, bounds: tuple[Fraction, Fraction], center: Fraction
) -> Fixed:
    """Round to whole steps of 2**-exponent, and clamp again, since floats are rounded."""
    nearest = Call("FLOOR", (Call("+", (Call("*", (value, _scale(exponent))), _HALF)),))
    low, high = (_nearest(bound, exponent) for bound in bounds)
    row = clamped(Cast(nearest, Type.INTEGER), low, high)
    return Fixed(row=row, low=low, high=high, step=_power_of_two(-exponent), center=center)


@functools.lru_cache(maxsize=256)
def _scale(exponent: int) -> Literal:
    return Literal(_power_of_two(exponent))


@functools.lru_cache(maxsize=256)
def _power_of_two(exponent: int) -> Fraction:
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def _nearest(bound: Fraction, exponent: int) -> int:
    """Return floor(bound 2**exponent + 1/2), without a fraction on the way."""
    above, below = bound.numerator, bound.denominator
    if exponent >= 0:
        above <<= exponent
    else:
        below <<= -exponent
    return (2 * above + below) // (2 * below)


def _exponent(largest: Fraction) -> int:
    """Return the largest k, within limits, for which 2**k times a number is at most 2**30."""
    if largest == 0:
        return 0
    exponent = 30 - (largest.numerator.bit_length() - largest.denominator.bit_length())
    if _is_above(largest, 30 - exponent):  # lengths in bits tell all but one
        exponent -= 1
    if not -_FINEST <= exponent <= _FINEST:
        raise OutOfRange(
            what="the bounds of a number are too wide, or too narrow, for 64-bit sums.",
            why="sums are added up exactly, in whole steps.",
            do="give bounds between 1e-250 and 1e250, or scale the number in the question.",
        )
    return exponent


def _is_above(number: Fraction, exponent: int) -> bool:
    """Whether a number is above 2**exponent."""
    above, below = number.numerator, number.denominator
    return above > below << exponent if exponent >= 0 else above << -exponent > below


MOST_LEAVES: Final = 4096
_MOST_WHOLE: Final = 1 << 16
_SAFE: Final = 2**62


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The values that leaves stand for: leaf i for low + (i + shift) * width.

    It holds the values that are up to shift * width away from that, between ``low`` and ``high``.

    >>> Grid(low=Fraction(0), width=Fraction(1, 2), leaves=4, shift=Fraction(1, 2)).value(3)
    Fraction(7, 4)
    """

    low: Fraction
    width: Fraction
    leaves: int
    shift: Fraction = Fraction(0)
    high: Fraction | None = None

    def value(self, leaf: int) -> Fraction:
        """Return the value that a leaf stands for."""
        return self.low + (leaf + self.shift) * self.width


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
        return _whole_grid(value, low, high)
    check_magnitude(max(-bounds[0], bounds[1], bounds[1] - bounds[0]))
    floor, ceiling = Fraction(float_down(bounds[0])), Fraction(float_up(bounds[1]))
    number = Cast(value, Type.FLOAT) if kind is Type.INTEGER else value
    rate = Fraction(float(MOST_LEAVES / (ceiling - floor)))
    distance = Call("-", (clamped(number, floor, ceiling), Literal(floor)))
    leaf = Cast(Call("FLOOR", (Call("*", (distance, Literal(rate))),)), Type.INTEGER)
    last = Call("LEAST", (leaf, Literal(MOST_LEAVES - 1)))
    grid = Grid(low=floor, width=1 / rate, leaves=MOST_LEAVES, shift=Fraction(1, 2), high=ceiling)
    return last, grid


def _whole_grid(value: Expression, low: int, high: int) -> tuple[Expression, Grid]:
    width = -(-(high - low + 1) // _MOST_WHOLE)
    distance = Call("-", (clamped(value, Fraction(low), Fraction(high)), Literal(low)))
    leaf = distance if width == 1 else Call("DIV", (distance, Literal(width)))
    leaves = -(-(high - low + 1) // width)
    shift = Fraction(width - 1, 2 * width)
    floor, ceiling = Fraction(low), Fraction(high)
    return leaf, Grid(low=floor, width=Fraction(width), leaves=leaves, shift=shift, high=ceiling)
