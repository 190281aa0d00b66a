"""The range of an expression over a box of released numbers.

Trust: public.

Definition.  The *range* of a function of numbers holds every result for arguments in their ranges,
rounded outward, and says where a result may be NULL: because an argument is, because of a division
by zero or a root of a negative number, or because it may need more than 64 bits.

Theorem (key ``formula-range``; Moore 1966, Interval Analysis).  Let every slot of an expression
are in its interval.  Then the value of the expression, as a real number or as engines round it,
is in the range that is returned, or is NULL if the range says that it may be.
Proof.  By
induction over the expression: every function below is bounded on all arguments in the ranges of
its arguments, rounded outward; monotone ones at the ends.  A condition that is neither true nor
false for all of them lets both branches count.  What is not known here has no bounds.

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
from discreet.query.types import Type
from discreet.release.formulas import Formulas, Mask, half_away

_EXACT: Final = 2.0**53

_LARGEST: Final = 2.0**63


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


def fitting(ends: Ends, *parts: Range) -> Range:
    """Return a range that may be NULL if a part is, or if it needs more than 64 bits."""
    large = (ends[0] <= -_LARGEST) | (ends[1] >= _LARGEST)
    return Range(*ends, np.logical_or.reduce([large, *(part.null for part in parts)]))


def _add(left: Range, right: Range) -> Range:
    return fitting(added(left.ends, right.ends), left, right)


def _subtract(left: Range, right: Range) -> Range:
    return fitting(added(left.ends, negated(right.ends)), left, right)


def _multiply(left: Range, right: Range) -> Range:
    return fitting(multiplied(left.ends, right.ends), left, right)


def _divide(left: Range, right: Range) -> Range:
    zero = (right.low <= 0.0) & (right.high >= 0.0)
    return Range(*divided(left.ends, right.ends), left.null | right.null | zero)


def _div(left: Range, right: Range) -> Range:
    quotient = _divide(left, right)
    return fitting((np.floor(quotient.low), np.ceil(quotient.high)), quotient)


def _mod(left: Range, right: Range) -> Range:
    size = np.minimum(_size(left), _size(right))
    zero = (right.low <= 0.0) & (right.high >= 0.0)
    low, high = np.where(left.low >= 0.0, 0.0, -size), np.where(left.high <= 0.0, 0.0, size)
    return Range(low, high, left.null | right.null | zero)


def _size(part: Range) -> Floats:
    return np.maximum(np.abs(part.low), np.abs(part.high))


def _absolute(part: Range) -> Range:
    near = np.minimum(np.abs(part.low), np.abs(part.high))
    near = np.where((part.low <= 0.0) & (part.high >= 0.0), 0.0, near)
    return fitting((near, _size(part)), part)


def _rising(compute: Callable[[Any], Any]) -> Callable[[Range], Range]:
    return lambda part: Range(compute(part.low), compute(part.high), part.null)


def _root(part: Range) -> Range:
    low, high = np.sqrt(np.maximum(part.low, 0.0)), np.sqrt(np.maximum(part.high, 0.0))
    low, high = widened(low, high)
    return Range(np.maximum(low, 0.0), high, part.null | (part.low < 0.0))


def _extreme(compute: np.ufunc) -> Callable[..., Range]:
    return lambda *parts: Range(
        compute.reduce([part.low for part in parts]),
        compute.reduce([part.high for part in parts]),
        np.logical_or.reduce([part.null for part in parts]),
    )


def _bucket(value: Range, *edges: Range) -> Range:
    low = np.sum([edge.high <= value.low for edge in edges], axis=0).astype(np.float64)
    high = np.sum([edge.low <= value.high for edge in edges], axis=0).astype(np.float64)
    return Range(low, high, value.null)


_LAST_DIGITS: Final = 2.0**-48
"""So much of a result is allowed for what libraries round exponentials, logarithms and powers."""


def _spread(low: Floats, high: Floats) -> Ends:
    """Move both ends outward by more than the last digits of a library's function."""
    with np.errstate(over="ignore", invalid="ignore"):
        return widened(low - np.abs(low) * _LAST_DIGITS, high + np.abs(high) * _LAST_DIGITS)


def _exponential(part: Range) -> Range:
    with np.errstate(over="ignore", under="ignore"):
        low, high = _spread(np.exp(part.low), np.exp(part.high))
    return Range(np.maximum(low, 0.0), high, part.null | (high == np.inf))


def _logarithm(compute: np.ufunc) -> Callable[[Range], Range]:
    def above_zero(part: Range) -> Range:
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high = (compute(np.maximum(end, 0.0)) for end in part.ends)
        return Range(*_spread(low, high), part.null | (part.low <= 0.0))

    return above_zero


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


rounded: Final = _rising(half_away)

RANGES: Final[dict[str, Callable[..., Range]]] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "DIV": _div,
    "MOD": _mod,
    "NEGATE": lambda part: fitting(negated(part.ends), part),
    "ABS": _absolute,
    "SIGN": _rising(np.sign),
    "FLOOR": _rising(np.floor),
    "CEIL": _rising(np.ceil),
    "ROUND": rounded,
    "SQRT": _root,
    "LEAST": _extreme(np.minimum),
    "GREATEST": _extreme(np.maximum),
    "RANGE_BUCKET": _bucket,
    "EXP": _exponential,
    "LN": _logarithm(np.log),
    "LOG10": _logarithm(np.log10),
    "LOG2": _logarithm(np.log2),
    "POWER": _power,
}
"""Functions by their names."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Truth:
    """Where a condition may be true, false and NULL."""

    true: Mask
    false: Mask
    null: Mask


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
            case Cast(argument=argument, to=to):
                return self._cast(argument, to)
            case Case():
                return self._case(expression)
            case Call(function=name, arguments=arguments):
                if name == "COALESCE":
                    return self._first([self.range_of(argument) for argument in arguments])
                compute = RANGES.get(name)
                if compute is not None:
                    return compute(*(self.range_of(argument) for argument in arguments))
        return self._anything()

    def truth(self, expression: Expression) -> _Truth:  # noqa: PLR0911 (as above)
        """Return what a condition may be."""
        if not self._depends(expression):
            value = self.formulas.value(expression, Type.BOOLEAN)
            true = value.values & ~value.null
            return _Truth(true, ~true & ~value.null, value.null)
        match expression:
            case Call(function="NOT", arguments=(argument,)):
                part = self.truth(argument)
                return _Truth(part.false, part.true, part.null)
            case Call(function="AND", arguments=arguments):
                return _all([self.truth(argument) for argument in arguments])
            case Call(function="OR", arguments=arguments):
                return _any([self.truth(argument) for argument in arguments])
            case Call(function="IN", arguments=(first, *others)):
                return _any([self.truth(Call("=", (first, other))) for other in others])
            case Call(function=name, arguments=(left, right)) if name in _COMPARISONS:
                if self._number(left) and self._number(right):
                    return _compared(name, self.range_of(left), self.range_of(right))
        anywhere = ~self._never()
        return _Truth(anywhere, anywhere, anywhere)

    def _depends(self, expression: Expression) -> bool:
        return any(
            isinstance(node, Column) and node.name in self.slots for node in walk(expression)
        )

    def _number(self, expression: Expression) -> bool:
        return self.formulas.kind(expression) in {Type.INTEGER, Type.FLOAT}

    def _never(self) -> Mask:
        return np.zeros(self.formulas.size, np.bool_)

    def _anything(self) -> Range:
        return Range(*outward.everything(self.formulas.size), ~self._never())

    def _known(self, expression: Expression) -> Range:
        """Return the value of what depends on no slot; no number at all if it is NULL."""
        vector = self.formulas.value(expression)
        if vector.type not in {Type.INTEGER, Type.FLOAT, None}:
            return self._anything()
        value = np.where(vector.null, 0.0, vector.values).astype(np.float64)
        low, high = outward.widened(value, value)
        exact = np.abs(value) < _EXACT if vector.type is Type.INTEGER else ~self._never()
        low, high = np.where(exact, value, low), np.where(exact, value, high)
        return Range(
            np.where(vector.null, np.inf, low), np.where(vector.null, -np.inf, high), vector.null
        )

    def _cast(self, argument: Expression, to: Type) -> Range:
        kind = self.formulas.kind(argument)
        if kind is Type.BOOLEAN and to is Type.INTEGER:
            truth = self.truth(argument)
            low, high = (~truth.false).astype(np.float64), truth.true.astype(np.float64)
            return Range(low, high, truth.null)
        if kind in {Type.INTEGER, Type.FLOAT} and to in {Type.INTEGER, Type.FLOAT}:
            part = self.range_of(argument)
            return part if to is Type.FLOAT else fitting(rounded(part).ends, part)
        return self._anything()

    def _case(self, case: Case) -> Range:
        size, open_ = self.formulas.size, ~self._never()
        low, high = np.full(size, np.inf), np.full(size, -np.inf)
        null = self._never()
        branches = [(self.truth(condition), value) for condition, value in case.branches]
        default = case.default or Literal(None)
        everywhere = _Truth(open_, self._never(), self._never())
        for truth, value in [*branches, (everywhere, default)]:
            here, part = open_ & truth.true, self.range_of(value)
            low = np.where(here, np.minimum(low, part.low), low)
            high = np.where(here, np.maximum(high, part.high), high)
            null |= here & part.null
            open_ = open_ & (truth.false | truth.null)
        return Range(low, high, null)

    def _first(self, parts: Sequence[Range]) -> Range:
        first = parts[0]
        for part in parts[1:]:
            low, high = outward.hull(first.ends, part.ends)
            low = np.where(first.null, low, first.low)
            first = Range(low, np.where(first.null, high, first.high), first.null & part.null)
        return first


def _all(parts: Sequence[_Truth]) -> _Truth:
    flipped = _any([_Truth(part.false, part.true, part.null) for part in parts])
    return _Truth(flipped.false, flipped.true, flipped.null)


def _any(parts: Sequence[_Truth]) -> _Truth:
    """Return what an OR may be: true if any may be, false if all may be, NULL if none must be."""
    must = np.logical_or.reduce([part.true & ~part.false & ~part.null for part in parts])
    true = np.logical_or.reduce([part.true for part in parts])
    false = np.logical_and.reduce([part.false for part in parts])
    null = np.logical_or.reduce([part.null for part in parts]) & ~must
    return _Truth(true, false, null)


def _compared(sign: str, left: Range, right: Range) -> _Truth:
    null = left.null | right.null
    below, upto = left.low < right.high, left.low <= right.high
    above, from_ = left.high > right.low, left.high >= right.low
    point = (left.low == left.high) & (right.low == right.high) & (left.low == right.low)
    match sign:
        case "<":
            return _Truth(below, from_, null)
        case "<=":
            return _Truth(upto, above, null)
        case ">":
            return _Truth(above, upto, null)
        case ">=":
            return _Truth(from_, below, null)
        case "=":
            return _Truth(upto & from_, ~point, null)
        case _:
            return _Truth(~point, upto & from_, null)


_COMPARISONS: Final = frozenset({"<", "<=", ">", ">=", "=", "<>"})
