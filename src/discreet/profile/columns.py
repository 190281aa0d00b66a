"""Columns of a profile: what is measured of each, and on which public scale.

Trust: kernel.  Scales follow from declared facts and types alone.

Definition.  A column with declared categories, or of truth values, is *listed*; a text without is
*found*: its categories are private.  Numbers, dates and timestamps are *ordered*: a value is
clamped to its bounds and turned into an integer, its *leaf*.  Without bounds an integer is its own
leaf, a float is counted in steps of 2**-20, and both are clamped to 2**61; dates and timestamps are
clamped to the years from 1700 to 2417.  NULL has the leaf after the last one.

Leaves are grouped into 4**L *codes*, in their order: of equal width where bounds are known, and
else such that integers below 2048 have one of their own and every power of two from there 1024.
A row that the engine puts into a wrong leaf costs accuracy, and never privacy: it is in one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.extend import Facts, KeyValue, as_keys, key_literal
from discreet.query import Call, Case, Cast, Expression, Literal, Type

BRANCHES: Final = 4
_MOST_LEVELS: Final = 9
_DECLARED_LEVELS: Final = 7
_LARGEST: Final = 1 << 61
_STEP: Final = Fraction(1, 1 << 20)
_FINE: Final = 1 << 30
_FIRST_DAY: Final = date(1700, 1, 1)
_SECONDS: Final = 86_400
_PLAIN: Final = 11  # integers below 2**11 have a code of their own
_HALF_OCTAVE: Final = 1 << (_PLAIN - 1)

_DIGITS: Final = 9

Integers = NDArray[np.int64]
Value = float | int | date


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Leaves of an ordered column, and the codes they are grouped into.

    >>> age = Scale.of(Facts(type=Type.INTEGER, low=Fraction(0), high=Fraction(110)))
    >>> age.levels, age.codes(np.array([0, 40, 110])).tolist(), age.value(40)
    (4, [0, 40, 110], 40)
    """

    type: Type
    start: Fraction | date
    step: Fraction
    leaves: int
    levels: int
    declared: bool

    @classmethod
    def of(cls, facts: Facts) -> Scale:
        """Return the scale of a number, a date or a timestamp."""
        kind, declared = facts.type, True
        start: Fraction | date
        if kind.is_number:
            low, high = facts.bounds or (Fraction(-_LARGEST), Fraction(_LARGEST))
            if kind is Type.INTEGER and high - low > 2 * _LARGEST:  # as if nothing was declared
                low, high = Fraction(-_LARGEST), Fraction(_LARGEST)
            declared = facts.bounds == (low, high) and low < high
            if kind is Type.INTEGER:
                step, start = Fraction(1), Fraction(math.ceil(low))
                leaves = max(1, math.floor(high) - math.ceil(low) + 1)
            elif declared:
                step, start, leaves = (high - low) / _FINE, low, _FINE
            else:
                step, start, leaves = _STEP, -_LARGEST * _STEP, 2 * _LARGEST + 1
            most = _DECLARED_LEVELS if declared else _MOST_LEVELS
        else:
            first, last = facts.days or (_FIRST_DAY, _FIRST_DAY)
            declared, most, start, step = facts.days is not None, _MOST_LEVELS, first, Fraction(1)
            leaves = (last - first).days + 1 if declared else BRANCHES**_MOST_LEVELS
            leaves *= _SECONDS if kind is Type.TIMESTAMP else 1
        levels = next((k for k in range(1, most) if BRANCHES**k >= leaves), most)
        return cls(
            type=kind, start=start, step=step, leaves=leaves, levels=levels, declared=declared
        )

    @property
    def curved(self) -> bool:
        """Whether codes grow wider away from zero."""
        return not self.declared and self.type.is_number

    @property
    def _width(self) -> int:
        return -(-self.leaves // int(BRANCHES**self.levels))

    def expression(self, value: Expression) -> Expression:
        """Return the leaf of a value, as engines compute it."""
        last = Literal(self.leaves - 1)
        if isinstance(self.start, date):
            day = Cast(value, Type.DATE) if self.type is Type.TIMESTAMP else value
            leaf: Expression = Call("DATE_DIFF", (day, Literal(self.start), Literal("DAY")))
            if self.type is Type.TIMESTAMP:
                for part, size in (("HOUR", 24), ("MINUTE", 60), ("SECOND", 60)):
                    clock = Call("EXTRACT", (Literal(part), value))
                    leaf = Call("+", (Call("*", (leaf, Literal(size))), clock))
        elif self.type is Type.INTEGER:
            first = int(self.start)
            ends = Literal(first), Literal(first + self.leaves - 1)
            inside = Call("GREATEST", (Call("LEAST", (value, ends[1])), ends[0]))
            leaf = Call("-", (inside, ends[0]))
        else:
            high = self.start + self.step * self.leaves
            inside = Call("GREATEST", (Call("LEAST", (value, Literal(high))), Literal(self.start)))
            origin = Fraction(0) if self.curved else self.start
            steps = Call("*", (Call("-", (inside, Literal(origin))), Literal(1 / self.step)))
            leaf = Cast(Call("FLOOR", (steps,)), Type.INTEGER)
            if self.curved:
                leaf = Call("+", (leaf, Literal(_LARGEST)))
        kept = Call("GREATEST", (Call("LEAST", (leaf, last)), Literal(0)))
        return Call("COALESCE", (kept, Literal(self.leaves)))

    def codes(self, leaves: Integers) -> Integers:
        """Return the codes of leaves; they rise with them."""
        if not self.curved:
            return leaves // self._width
        signed = leaves - _LARGEST
        size = np.abs(signed)
        octave: Integers = np.maximum(np.frexp(size.astype(np.float64))[1] - _PLAIN, 0)
        code = (size >> octave) + _HALF_OCTAVE * octave
        middle = BRANCHES**self.levels // 2
        placed: Integers = np.where(signed < 0, middle - 1 - code, middle + code)
        return np.clip(placed, 0, 2 * middle - 1)

    def edge(self, code: int) -> int:
        """Return the first leaf of a code.

        >>> wide = Scale.of(Facts(type=Type.INTEGER))
        >>> all(wide.codes(np.array([wide.edge(k)]))[0] == k for k in (130_000, 131_072, 140_000))
        True
        """
        if not self.curved:
            return min(code * self._width, self.leaves)
        place = code - BRANCHES**self.levels // 2
        if place < 0:  # the codes below zero mirror those above
            return _LARGEST - _first(-place) + 1
        return _LARGEST + _first(place)

    def value(self, leaf: int, low: int | None = None, high: int | None = None) -> Value:
        """Return the value of a leaf; the roundest one of the leaves from low to high, if given.

        >>> Scale.of(Facts(type=Type.FLOAT, low=Fraction(0), high=Fraction(1))).value(1 << 29)
        0.5
        """
        low, high = leaf if low is None else low, leaf if high is None else high
        if isinstance(self.start, date):
            if self.type is Type.DATE:
                return self.start + timedelta(days=min(max(leaf, 0), self.leaves - 1))
            for round_ in (_SECONDS, 3600, 60):
                if leaf - leaf % round_ >= low < high:
                    leaf -= leaf % round_
                    break
            seconds = min(max(leaf, 0), self.leaves - 1)
            return datetime.combine(self.start, time()) + timedelta(seconds=seconds)
        whole = self.type is Type.INTEGER
        point, least = self.start + self.step * leaf, self.start + self.step * low
        most = self.start + self.step * (high if whole else high + 1)
        if whole and low == high:
            return int(point)
        for digits in range(1, _DIGITS):
            short = Fraction(f"{float(point):.{digits}g}")
            if least <= short and (short <= most if whole else short < most):
                return int(short) if whole and short.denominator == 1 else float(short)
        return int(point) if whole else float(f"{float(point):.{_DIGITS}g}")

    def document(self) -> dict[str, Any]:
        """Return it in plain JSON."""
        return {
            "type": self.type.value,
            "start": str(self.start),
            "step": str(self.step),
            "leaves": self.leaves,
            "levels": self.levels,
            "declared": self.declared,
        }


def _first(code: int) -> int:
    """Return the smallest size of a number that has a code, or a higher one."""
    octave = max(0, code // _HALF_OCTAVE - 1)
    return min((code - _HALF_OCTAVE * octave) << octave, _LARGEST + 1)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledColumn:
    """A column: its scale, or its public categories, or neither where they have to be found.

    >>> ward = ProfiledColumn.of("ward", Facts(type=Type.TEXT, categories=("A", "B")))
    >>> ward.listed, ward.size
    (('A', 'B'), 4)
    """

    name: str
    type: Type
    scale: Scale | None = None
    listed: tuple[KeyValue, ...] | None = None
    nullable: bool = True

    @classmethod
    def of(cls, name: str, facts: Facts) -> ProfiledColumn:
        """Return how a column is profiled, by its public facts."""
        listed: tuple[KeyValue, ...] | None = None
        if facts.categories is not None:
            listed = tuple(v for v in as_keys(facts.categories, facts.type) if v is not None)
        elif facts.type is Type.BOOLEAN:
            listed = (False, True)
        ordered = listed is None and facts.type is not Type.TEXT
        return cls(
            name=name,
            type=facts.type,
            scale=Scale.of(facts) if ordered else None,
            listed=listed,
            nullable=facts.nullable or listed is not None,  # which may hold other values, too
        )

    @property
    def found(self) -> bool:
        """Whether its categories are private."""
        return self.scale is None and self.listed is None

    @property
    def size(self) -> int:
        """How many leaves it has: NULL is the last one, and other categories the one before."""
        if self.scale is not None:
            return self.scale.leaves + 1
        return 2 if self.listed is None else len(self.listed) + 2

    def expression(self, value: Expression) -> Expression:
        """Return the leaf of a value."""
        if self.scale is not None:
            return self.scale.expression(value)
        branches = [(Call("IS NULL", (value,)), Literal(self.size - 1))]
        for leaf, each in enumerate(self.listed or ()):
            branches.append((Call("=", (value, key_literal(each))), Literal(leaf)))
        return Case(tuple(branches), Literal(self.size - 2))

    def document(self) -> dict[str, Any]:
        """Return it in plain JSON."""
        listed = None if self.listed is None else [str(value) for value in self.listed]
        scale = None if self.scale is None else self.scale.document()
        return {"name": self.name, "type": self.type.value, "scale": scale, "listed": listed}
