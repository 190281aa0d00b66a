"""The range of a formula over a box of its aggregates.

Trust: public.

Definition.  The *range* of a function of numbers holds every result for arguments in their ranges,
rounded outward, and says where a result may be NULL: because an argument is, because of a division
by zero or a root of a negative number, or because it may need more than 64 bits.

Theorem (key ``formula-range``; Moore 1966, Interval Analysis).  Let every slot of an expression
are in its interval.  Then the value of the expression, as a real number or as engines round it,
is in the range that is returned, or is NULL if the range says that it may be.
Proof.  By induction over the expression: each function below rises or falls with each argument
alone, between its poles, so that its extremes are at the ends.  All branches count whose conditions
depend on a slot.  What is not known here has no bounds.

If an aggregate itself may be NULL, because no row counts, nothing is said about it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from discreet.aggregates import intervals as outward
from discreet.aggregates.intervals import Ends, Floats, added, divided, multiplied, negated, widened
from discreet.query.expressions import Call, Case, Cast, Column, Expression, Literal, walk
from discreet.query.types import NUMBERS, Type
from discreet.release.formulas import Formulas, Mask, half_away

_EXACT: Final = 2.0**53
_LARGEST: Final = 2.0**63
_LAST_DIGITS: Final = 2.0**-48
"""So much of a result is allowed for what libraries round exponentials, logarithms and powers."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Range:
    """The bounds of a number that is not NULL, and where it may be NULL.

    If it must be NULL, the lower bound is above the upper one.
    """

    low: Floats
    high: Floats
    null: Mask

    @property
    def ends(self) -> Ends:
        """The lower and the upper ends."""
        return self.low, self.high


def _fitting(ends: Ends, *parts: Range) -> Range:
    """Return a range that may be NULL if a part is, or if it needs more than 64 bits."""
    large = (ends[0] <= -_LARGEST) | (ends[1] >= _LARGEST)
    return Range(*ends, np.logical_or.reduce([large, *(part.null for part in parts)]))


def _divide(left: Range, right: Range) -> Range:
    zero = (right.low <= 0.0) & (right.high >= 0.0)
    return Range(*divided(left.ends, right.ends), left.null | right.null | zero)


def _absolute(part: Range) -> Range:
    sizes = np.abs(part.low), np.abs(part.high)
    inside = (part.low <= 0.0) & (part.high >= 0.0)
    return _fitting((np.where(inside, 0.0, np.minimum(*sizes)), np.maximum(*sizes)), part)


def _step(compute: Callable[[Any], Any]) -> Callable[[Range], Range]:
    """Return a function that rises and is computed exactly."""
    return lambda part: Range(compute(part.low), compute(part.high), part.null)


def _rising(compute: np.ufunc, *, above: float = -np.inf) -> Callable[[Range], Range]:
    """Return a function that rises above a number, and is NULL below it."""

    def computed(part: Range) -> Range:
        with np.errstate(all="ignore"):
            low, high = _spread(*(compute(np.maximum(end, above)) for end in part.ends))
        root = compute is np.sqrt
        outside = (part.low < above) if root else (part.low <= above)
        return Range(np.maximum(low, 0.0) if root else low, high, part.null | outside)

    return computed


def _spread(low: Floats, high: Floats) -> Ends:
    """Move both ends outward by more than the last digits of a library's function."""
    with np.errstate(over="ignore", invalid="ignore"):
        return widened(low - np.abs(low) * _LAST_DIGITS, high + np.abs(high) * _LAST_DIGITS)


def _exponential(part: Range) -> Range:
    found = _rising(np.exp)(part)
    return Range(np.maximum(found.low, 0.0), found.high, part.null | (found.high == np.inf))


def _power(base: Range, exponent: Range) -> Range:
    """Bound a power: of bases from zero on at the corners, of others for one exponent alone.

    For a base above zero, a power rises or falls with each argument alone.  For a whole exponent it
    does so with the base on each side of zero, and has its end, or a pole, between them; for
    another one the power of a base below zero is NULL.
    """
    single = exponent.low == exponent.high
    whole = single & (exponent.low == np.rint(exponent.low))
    below, across = base.low < 0.0, (base.low <= 0.0) & (base.high >= 0.0)
    start = np.where(whole, base.low, np.maximum(base.low, 0.0))
    with np.errstate(all="ignore"):
        corners = [np.power(end, to) for end in (start, base.high) for to in exponent.ends]
    low, high = _spread(np.minimum.reduce(corners), np.maximum.reduce(corners))
    even = np.fmod(exponent.low, 2.0) == 0.0
    pole = across & (exponent.low < 0.0)
    low = np.where(whole & across & even & ~pole, np.minimum(low, 0.0), low)
    low, high = np.where(pole & below & ~even, -np.inf, low), np.where(pole, np.inf, high)
    anything = ~single & below
    low, high = np.where(anything, -np.inf, low), np.where(anything, np.inf, high)
    never = single & ~whole & (base.high < 0.0)
    low, high = np.where(never, np.inf, low), np.where(never, -np.inf, high)
    missing = pole | (below & ~whole) | np.isinf(low) | np.isinf(high)
    return Range(low, high, base.null | exponent.null | missing)


def _extreme(compute: np.ufunc) -> Callable[..., Range]:
    return lambda *parts: Range(
        compute.reduce([part.low for part in parts]),
        compute.reduce([part.high for part in parts]),
        np.logical_or.reduce([part.null for part in parts]),
    )


RANGES: Final[dict[str, Callable[..., Range]]] = {
    "+": lambda one, other: _fitting(added(one.ends, other.ends), one, other),
    "-": lambda one, other: _fitting(added(one.ends, negated(other.ends)), one, other),
    "*": lambda one, other: _fitting(multiplied(one.ends, other.ends), one, other),
    "/": _divide,
    "NEGATE": lambda part: _fitting(negated(part.ends), part),
    "ABS": _absolute,
    "SIGN": _step(np.sign),
    "FLOOR": _step(np.floor),
    "CEIL": _step(np.ceil),
    "ROUND": _step(half_away),
    "SQRT": _rising(np.sqrt, above=0.0),
    "LEAST": _extreme(np.minimum),
    "GREATEST": _extreme(np.maximum),
    "EXP": _exponential,
    "LN": _rising(np.log, above=0.0),
    "LOG10": _rising(np.log10, above=0.0),
    "LOG2": _rising(np.log2, above=0.0),
    "POWER": _power,
}
"""Functions by their names."""


@final
@dataclass(frozen=True, slots=True)
class Ranges:
    """Released columns, and the intervals of slots.

    >>> from discreet.release.formulas import vector
    >>> formulas = Formulas(columns={"a0": vector(Type.INTEGER, np.array([40]))}, keys=(), size=1)
    >>> ranges = Ranges(formulas, {"a0": (np.array([34.0]), np.array([46.0]))})
    >>> found = ranges.range_of(Call("/", (Column("a0"), Literal(2))))
    >>> found.low.round(6).tolist(), found.high.round(6).tolist()
    ([17.0], [23.0])
    """

    formulas: Formulas
    slots: Mapping[str, Ends]

    def range_of(self, expression: Expression) -> Range:  # noqa: PLR0911 (one for each kind of node)
        """Return the range of a number."""
        if not self._depends(expression):
            return self._known(expression)
        match expression:
            case Column(name=name):
                return Range(*self.slots[name], self._never())
            case Cast(argument=argument, to=to) if {self.formulas.kind(argument), to} <= NUMBERS:
                part = self.range_of(argument)
                whole = half_away(part.low), half_away(part.high)
                return part if to is Type.FLOAT else _fitting(whole, part)
            case Case():
                return self._case(expression)
            case Call(function="COALESCE", arguments=arguments):
                return self._first([self.range_of(argument) for argument in arguments])
            case Call(function=name, arguments=arguments) if name in RANGES:
                return RANGES[name](*(self.range_of(argument) for argument in arguments))
        return self._anything()

    def _depends(self, expression: Expression) -> bool:
        return any(
            isinstance(node, Column) and node.name in self.slots for node in walk(expression)
        )

    def _never(self) -> Mask:
        return np.zeros(self.formulas.size, np.bool_)

    def _anything(self) -> Range:
        return Range(*outward.everything(self.formulas.size), ~self._never())

    def _known(self, expression: Expression) -> Range:
        """Return the value of what depends on no slot; no number at all if it is NULL."""
        vector = self.formulas.value(expression)
        if vector.type not in {*NUMBERS, None}:
            return self._anything()
        value = np.where(vector.null, 0.0, vector.values).astype(np.float64)
        low, high = outward.widened(value, value)
        exact = np.abs(value) < _EXACT if vector.type is Type.INTEGER else ~self._never()
        low, high = np.where(exact, value, low), np.where(exact, value, high)
        return Range(
            np.where(vector.null, np.inf, low), np.where(vector.null, -np.inf, high), vector.null
        )

    def _case(self, case: Case) -> Range:
        low, high = np.full(self.formulas.size, np.inf), np.full(self.formulas.size, -np.inf)
        null, rest = self._never(), ~self._never()
        for condition, value in [*case.branches, (Literal(True), case.default or Literal(None))]:
            unsure = self._depends(condition)
            here = rest if unsure else rest & self.formulas.where_true(condition)
            part = self.range_of(value)
            low = np.where(here, np.minimum(low, part.low), low)
            high = np.where(here, np.maximum(high, part.high), high)
            null |= here & part.null
            rest = rest if unsure else rest & ~here
        return Range(low, high, null)

    def _first(self, parts: Sequence[Range]) -> Range:
        first = parts[0]
        for part in parts[1:]:
            low, high = outward.hull(first.ends, part.ends)
            low = np.where(first.null, low, first.low)
            first = Range(low, np.where(first.null, high, first.high), first.null & part.null)
        return first
