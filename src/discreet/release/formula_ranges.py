"""The range of an expression over a box of released numbers.

Trust: public.

Theorem (key ``formula-range``; Moore 1966, Interval Analysis).  Let every slot of an expression
lie in its interval.  Then the value of the expression, as a real number or as engines round it,
lies in the range that is returned, or is NULL where the range says that it may be.
Proof.  By
induction over the expression: every function below is bounded on all arguments in the ranges of
its arguments, rounded outward; monotone ones at the ends.  A condition that is neither true nor
false for all of them lets both branches count.  What is not known here has no bounds.

Where an aggregate itself may be NULL, because no row counts, nothing is said about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from discreet.query.expressions import Call, Case, Cast, Column, Expression, Literal, walk
from discreet.query.types import Type
from discreet.release import interval_arithmetic as outward
from discreet.release.formulas import Formulas
from discreet.release.interval_arithmetic import RANGES, Ends, Range, fitting, rounded
from discreet.release.value_arrays import Mask

_EXACT: Final = 2.0**53


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

    >>> from discreet.release.value_arrays import vector
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
        """Return the value of what depends on no slot; no number at all where it is NULL."""
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
