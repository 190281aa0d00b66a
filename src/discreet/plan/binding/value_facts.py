"""What is known of the value of an expression, and of what an aggregate sees in each row.

Trust: kernel.  ``constant`` and ``source`` decide which scope a question has.

Definition.  Bounds and categories say what a value is meant to be.  They are enforced where it
counts, by clamping and by leaving out rows, so no guarantee rests on their being true of the data.
``constant`` says that all rows of a unit agree in the value; for columns it is the owner's promise.
``source`` names the column of the table whose value it is, unchanged.
Facts belong to the expression that they were derived for: an expression over a column has only what
a rule below derives from the column's own facts, and everything else is unknown.
The rules are in :mod:`discreet.plan.binding.value_ranges`.

A condition on an aggregate becomes a CASE: rows for which it is not true have NULL for a value, and
NULL contributes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import Any, Final, final

from discreet.plan.binding.value_ranges import day_range, value_range
from discreet.query.expression_types import ColumnTypes, typed
from discreet.query.expressions import (
    Aggregate,
    Call,
    Case,
    Column,
    Expression,
    Literal,
    Window,
)
from discreet.query.types import Scalar, Type


@final
@dataclass(frozen=True, slots=True)
class ColumnSource:
    """A column of a table, under the name that the schema gives it.

    ``unit`` is its place among the columns that name the unit, if it is one of them.  ``keys`` are
    columns, by table and name, to which its values lead: in each, a value belongs to one unit, and
    that is the unit of the row.  ``scope`` is its name in a box, if all rows of a unit may share it
    (:mod:`discreet.accounting.box`).

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
@dataclass(frozen=True, slots=True)
class UnitTotal:
    """What a column of a subquery adds up for a unit: which values, and their bounds.

    >>> UnitTotal("COUNT", (Column("cost"), None), None).function
    'COUNT'
    """

    function: str
    values: tuple[Expression | None, Expression | None]
    bounds: tuple[Fraction, Fraction] | None


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
    total: UnitTotal | None = None
    days: tuple[date, date] | None = None

    @property
    def bounds(self) -> tuple[Fraction, Fraction] | None:
        """The bounds, if there are two."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def or_null(self) -> Facts:
        """Return what holds of the value where an outer join may have put NULL instead."""
        return replace(self, nullable=True, constant=False, source=None, total=None)


def facts_of(expression: Expression, known: Mapping[str, Facts]) -> Facts:
    """Return what follows for an expression from what is known of its columns.

    >>> age = Facts(type=Type.INTEGER, low=Fraction(0), high=Fraction(110), nullable=False)
    >>> older = facts_of(Call("+", (Column("age"), Literal(10))), {"age": age})
    >>> older.bounds, older.nullable
    ((Fraction(10, 1), Fraction(120, 1)), True)
    """
    if not isinstance(known, KnownFacts):
        return _facts(expression, known, _types(known))
    at = known.found.get(id(expression))
    if at is None:
        at = known.found[id(expression)] = expression, _facts(expression, known, known.types)
    return at[1]


@final
class KnownFacts(dict[str, Facts]):
    """Facts of columns that never change, and what was found of expressions over them."""

    def __init__(self, known: Mapping[str, Facts], types: ColumnTypes | None = None) -> None:
        """Copy what is known; ``types`` are those of the columns, with what was found of them."""
        super().__init__(known)
        self.types = _types(known) if types is None else types
        self.found: dict[int, tuple[Expression, Facts]] = {}  # nodes stay, and so their ids

    @classmethod
    def of(cls, known: Mapping[str, Facts]) -> KnownFacts:
        """Return the same facts, with what was found of expressions if that is known."""
        return known if isinstance(known, KnownFacts) else cls(known)

    def without_bounds(self) -> KnownFacts:
        """Return what holds of cells whatever they hold: the types, and no bounds."""
        cells = {name: replace(each, low=None, high=None) for name, each in self.items()}
        return KnownFacts(cells, self.types)


def _types(known: Mapping[str, Facts]) -> ColumnTypes:
    return ColumnTypes((name, facts.type) for name, facts in known.items())


_NULL: Final = Facts(type=Type.INTEGER)
"""A written NULL among values of any type, of which one is chosen."""


def _facts(expression: Expression, known: Mapping[str, Facts], types: ColumnTypes) -> Facts:
    if isinstance(expression, Column):
        return known[expression.name]
    kind = typed(expression, types)
    if kind is Type.INTEGER and isinstance(expression, Literal):
        value = Fraction(expression.value)  # type: ignore[arg-type]
        return Facts(type=kind, low=value, high=value, nullable=False, constant=True)
    chooses = isinstance(expression, Case) or (
        isinstance(expression, Call) and expression.function == "COALESCE"
    )
    below = [
        _NULL if chooses and child == Literal(None) else _facts(child, known, types)
        for child in expression.children()
    ]
    low, high, nullable = value_range(expression, kind, below)
    row_by_row = not isinstance(expression, Window | Aggregate)  # others differ from row to row
    return Facts(
        type=kind,
        low=low,
        high=high,
        nullable=nullable,
        constant=row_by_row and all(part.constant for part in below),
        days=day_range(expression, below),
    )


def total_facts(aggregate: Aggregate, known: Mapping[str, Facts], kind: Type) -> Facts:
    """Return what is known of an aggregate of a unit's rows: extremes lie between the bounds.

    Counts are not negative, nor are sums of what is not negative.

    >>> age = Facts(type=Type.INTEGER, low=Fraction(0), high=Fraction(110))
    >>> total_facts(Aggregate("MAX", Column("age")), {"age": age}, Type.INTEGER).bounds
    (Fraction(0, 1), Fraction(110, 1))
    """
    argument = aggregate.argument
    below = None if argument is None else facts_of(argument, known)
    bounds = None if below is None else below.bounds
    low, high = bounds if bounds and aggregate.function in {"MIN", "MAX"} else (None, None)
    if aggregate.function == "COUNT":
        low = Fraction(0)
        listed = None if below is None else below.categories
        high = Fraction(len(listed)) if aggregate.distinct and listed is not None else None
    elif aggregate.function == "SUM" and bounds:
        low = Fraction(0) if bounds[0] >= 0 else None
        high = Fraction(0) if bounds[1] <= 0 else None
    values = (argument, aggregate.where)
    return Facts(type=kind, low=low, high=high, total=UnitTotal(aggregate.function, values, bounds))


def as_keys(values: Iterable[Any], kind: Type) -> list[Any]:
    """Return values of a type as keys; numbers of a float are floats.

    >>> as_keys([Fraction(1, 2), 2, None], Type.FLOAT)
    [0.5, 2.0, None]
    """
    if kind is not Type.FLOAT:
        return list(values)
    return [None if value is None else float(value) for value in values]


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
