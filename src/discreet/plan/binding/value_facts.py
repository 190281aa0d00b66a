"""What is known of the value of an expression, and of what an aggregate sees in each row.

Trust: kernel.  ``constant`` and ``source`` decide which scope a question has.

Definition.  Bounds and categories say what a value is meant to be.  They are enforced where it
counts, by clamping and by leaving out rows, so no guarantee rests on their being true of the data.
``constant`` says that all rows of a unit agree in the value; for columns it is the owner's promise.
``source`` names the column of the table whose value it is, unchanged.
Facts belong to the expression that they were derived for: an expression over a column has only what
a rule below derives from the column's own facts, and everything else is unknown.
Theorem (key ``fact-rules``).  If arguments lie within their facts, what a function returns lies
within the facts derived here.  Bounds of FLOAT results are widened by what rounding can move them.

A condition on an aggregate becomes a CASE: rows for which it is not true have NULL for a value, and
NULL contributes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, final

from discreet.query.expression_types import ColumnTypes, typed
from discreet.query.expressions import (
    Aggregate,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Literal,
    Window,
)
from discreet.query.types import Scalar, Type

__all__ = [
    "ONE",
    "ColumnSource",
    "Facts",
    "argument_of",
    "counting_conditions",
    "facts_of",
    "one_where_all",
    "value_where_counted",
]

_ROUNDING: Final = Fraction(1, 2**52)
_SMALLEST_STEP: Final = Fraction(1, 2**1074)
_LARGEST_FLOAT: Final = Fraction(2**1024 - 2**970)


@final
@dataclass(frozen=True, slots=True)
class ColumnSource:
    """A column of a table, under the name that the schema gives it.

    ``unit`` is its place among the columns that name the unit, if it is one of them.  ``keys`` are
    columns, by table and name, to which its values lead: in each, a value belongs to one unit, and
    that is the unit of the row.  ``scope`` is its name in a box, if all rows of a unit may share it
    (:mod:`discreet.accounting.scopes.scope_column`).

    >>> ColumnSource("visits", "ward").column
    'ward'
    """

    table: str
    column: str
    public: bool = False
    unit: int | None = None
    keys: frozenset[tuple[str, str]] = frozenset()
    scope: str | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of a value.

    >>> Facts(type=Type.INTEGER, low=Fraction(0), high=Fraction(9)).bounds
    (Fraction(0, 1), Fraction(9, 1))
    """

    type: Type
    low: Fraction | None = None
    high: Fraction | None = None
    categories: tuple[Scalar, ...] | None = None
    nullable: bool = True
    constant: bool = False
    source: ColumnSource | None = None

    @property
    def bounds(self) -> tuple[Fraction, Fraction] | None:
        """The bounds, if there are two."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def or_null(self) -> Facts:
        """Return what holds of the value where an outer join may have put NULL instead."""
        return replace(self, nullable=True, constant=False, source=None)


def facts_of(expression: Expression, known: Mapping[str, Facts]) -> Facts:
    """Return what follows for an expression from what is known of its columns.

    >>> age = Facts(type=Type.INTEGER, low=Fraction(0), high=Fraction(110), nullable=False)
    >>> older = facts_of(Call("+", (Column("age"), Literal(10))), {"age": age})
    >>> older.bounds, older.nullable
    ((Fraction(10, 1), Fraction(120, 1)), True)
    """
    return _facts(
        expression, known, ColumnTypes((name, facts.type) for name, facts in known.items())
    )


def _facts(expression: Expression, known: Mapping[str, Facts], types: ColumnTypes) -> Facts:
    if isinstance(expression, Column):
        return known[expression.name]
    kind = typed(expression, types)
    below = [_facts(child, known, types) for child in expression.children()]
    low, high, nullable = _range(expression, kind, below)
    row_by_row = not isinstance(expression, Window | Aggregate)  # others differ from row to row
    return Facts(
        type=kind,
        low=low,
        high=high,
        nullable=nullable,
        constant=row_by_row and all(part.constant for part in below),
    )


Range = tuple[Fraction | None, Fraction | None, bool]


def _range(  # noqa: PLR0911  one for each kind of node
    expression: Expression, kind: Type, below: list[Facts]
) -> Range:
    """Return bounds, and whether the value may be NULL; without a rule anything may happen."""
    match expression:
        case Literal(value=None):
            return None, None, True
        case Literal(value=int() | Fraction() as value) if kind.is_number:
            return _widened(Fraction(value), Fraction(value), kind, False)
        case Literal():
            return None, None, False
        case Case():
            values = [*below[1::2][: len(expression.branches)]]
            values += below[-1:] if expression.default is not None else []
            low, high = _hull(values)
            missing = expression.default is None or any(value.nullable for value in values)
            return low, high, missing
        case Cast(to=Type.FLOAT) if below[0].type is Type.INTEGER and below[0].bounds:
            return _widened(*below[0].bounds, Type.FLOAT, below[0].nullable)
        case Call(function=name):
            return _called(name, kind, below)
        case _:
            return None, None, True


def _called(  # noqa: C901, PLR0911, PLR0912  one rule a function
    name: str, kind: Type, below: list[Facts]
) -> Range:
    if name in {"IS NULL", "IS TRUE", "IS FALSE"}:
        return None, None, False
    if name == "RANGE_BUCKET":
        return Fraction(0), Fraction(len(below) - 1), below[0].nullable
    if name == "COALESCE":
        low, high = _hull(below)
        return low, high, all(part.nullable for part in below)
    bounds = [part.bounds for part in below]
    nullable = any(part.nullable for part in below)
    pairs = [pair for pair in bounds if pair is not None]
    if not kind.is_number or len(pairs) != len(bounds) or not bounds:
        return None, None, True
    match name, pairs:
        case "+", [(a, b), (c, d)]:
            return _widened(a + c, b + d, kind, True)
        case "-", [(a, b), (c, d)]:
            return _widened(a - d, b - c, kind, True)
        case "*", [(a, b), (c, d)]:
            corners = (a * c, a * d, b * c, b * d)
            return _widened(min(corners), max(corners), kind, True)
        case "NEGATE", [(a, b)]:
            return _widened(-b, -a, kind, True)
        case "ABS", [(a, b)]:
            least = Fraction(0) if a <= 0 <= b else min(abs(a), abs(b))
            return _widened(least, max(abs(a), abs(b)), kind, True)
        case "FLOOR" | "CEIL" | "ROUND", [(a, b)]:
            return Fraction(math.floor(a)), Fraction(math.ceil(b)), True
        case "LEAST", pairs:
            return min(a for a, _ in pairs), min(b for _, b in pairs), nullable
        case "GREATEST", pairs:
            return max(a for a, _ in pairs), max(b for _, b in pairs), nullable
        case _:
            return None, None, True


def _hull(values: list[Facts]) -> tuple[Fraction | None, Fraction | None]:
    """Return bounds on all values that are not NULL for sure; a written NULL adds none."""
    low = [value.low for value in values]
    high = [value.high for value in values]
    if not values or None in low or None in high:
        return None, None
    return min(a for a in low if a is not None), max(b for b in high if b is not None)


def _widened(low: Fraction, high: Fraction, kind: Type, nullable: bool) -> Range:  # noqa: FBT001
    """Widen exact bounds by what rounding to a FLOAT can move them."""
    if kind is not Type.FLOAT:
        return low, high, nullable
    wide = [abs(end) * _ROUNDING + _SMALLEST_STEP for end in (low, high)]
    if max(abs(low), abs(high)) > _LARGEST_FLOAT / 2:
        return None, None, True
    return low - wide[0], high + wide[1], nullable


ONE: Final = Literal(1)


def argument_of(aggregate: Aggregate) -> Expression:
    """Return what an aggregate is about; for COUNT(*) a one for each row.

    >>> argument_of(Aggregate("COUNT"))
    Literal(value=1)
    """
    return ONE if aggregate.argument is None else aggregate.argument


def value_where_counted(aggregate: Aggregate, value: Expression) -> Expression:
    """Return a value in the rows that an aggregate looks at, and NULL in others.

    >>> from discreet.query.expressions import Column
    >>> value_where_counted(Aggregate("SUM", Column("cost")), Column("cost"))
    Column(name='cost', table=None)
    """
    return value if aggregate.where is None else Case(((aggregate.where, value),))


def counting_conditions(aggregate: Aggregate, facts: Mapping[str, Facts]) -> tuple[Expression, ...]:
    """Return what holds of the rows that count: the condition, and that the value is not NULL.

    >>> counting_conditions(Aggregate("COUNT"), {})
    ()
    """
    known = () if aggregate.where is None else (aggregate.where,)
    value = aggregate.argument
    if value is None or not facts_of(value, facts).nullable:
        return known
    return (*known, Call("NOT", (Call("IS NULL", (value,)),)))


def one_where_all(conditions: Sequence[Expression]) -> Expression:
    """Return a one in the rows for which all conditions are true, and NULL in others.

    >>> one_where_all(())
    Literal(value=1)
    """
    if not conditions:
        return ONE
    both = conditions[0] if len(conditions) == 1 else Call("AND", tuple(conditions))
    return Case(((both, ONE),))
