"""Facts about values: what is public about every expression, and the range of each function.

Trust: kernel.  ``constant`` and ``source`` decide which scope a question has.

Theorem (key ``fact-rules``).  If arguments are within their facts, what a function returns lies
within the facts derived here.  Bounds of FLOAT results are widened by what rounding can move them.
Proof.  The rule of each function is proved in :mod:`discreet.query.functions`.  Casts rise.  A mean
is between the bounds of what it is the mean of.  Parts of a date count from a first one up to a
last one, and years and truncated days rise with the day.

Definition.  Bounds and categories say what a value is meant to be.  They are enforced where it
counts, by clamping and by leaving out rows, so no guarantee rests on their being true of the data.
``constant`` says that all rows of a unit agree in the value; for columns it is the owner's promise.
``source`` names the column of the table whose value it is, unchanged.
Facts belong to the expression that they were derived for: an expression over a column has only what
a rule below derives from the column's own facts, and everything else is unknown.
The rules are in :mod:`discreet.plan.binding.value_facts`.

A condition on an aggregate becomes a CASE: rows for which it is not true have NULL for a value, and
NULL contributes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Final, final

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
    conjunction,
)
from discreet.query.functions import ANYWHERE, date_add, date_trunc
from discreet.query.types import Scalar, Type

Range = tuple[Fraction | None, Fraction | None, bool]
"""The bounds of a value, and whether it may be NULL."""

DATE_PARTS: Final = {
    "MONTH": range(1, 13),
    "DAY": range(1, 32),
    "QUARTER": range(1, 5),
    "DAYOFWEEK": range(1, 8),
    "DAYOFYEAR": range(1, 367),
    "HOUR": range(24),
    "MINUTE": range(60),
    "SECOND": range(60),
}
"""All that a part of a date can be; a year is not bounded."""

_ROUNDING_BITS: Final = 52
_SMALLEST_BITS: Final = 1074
_HALF_OF_LARGEST: Final = 2**1023 - 2**969
_SUM_ROUNDING: Final = Fraction(1, 2**20)
"""How far the sum of the rows of one unit, fewer than 2^32 of them, can be moved by rounding."""


def value_range(  # noqa: C901, PLR0911, PLR0912  one for each kind of node
    expression: Expression, kind: Type, below: list[Facts]
) -> Range:
    """Return bounds, and whether the value may be NULL; without a rule anything may happen.

    ``below`` has the facts of the parts, in the order of ``expression.children()``.

    >>> value_range(Literal(7), Type.INTEGER, [])
    (Fraction(7, 1), Fraction(7, 1), False)
    """
    match expression:
        case Literal(value=None):
            return None, None, True
        case Literal(value=int() | Fraction() as value) if kind.is_number:
            return _widened(Fraction(value), Fraction(value), kind, False)
        case Literal():
            return None, None, False
        case Case():
            parts = [value for _, value in expression.branches]
            values = [*below[1::2][: len(parts)]]
            values += below[-1:] if expression.default is not None else []
            parts += [] if expression.default is None else [expression.default]
            low, high = _hull(_written(parts, values))
            missing = expression.default is None or any(value.nullable for value in values)
            return low, high, missing
        case Cast(to=Type.FLOAT) if below[0].type is Type.INTEGER and below[0].bounds:
            return _widened(*below[0].bounds, Type.FLOAT, below[0].nullable)
        case Cast(to=Type.INTEGER) if below[0].type is Type.BOOLEAN:
            return Fraction(0), Fraction(1), below[0].nullable
        case Cast(to=Type.INTEGER) if below[0].type is Type.FLOAT and below[0].bounds:
            low, high = below[0].bounds
            return Fraction(math.floor(low)), Fraction(math.ceil(high)), True
        case Call(function="EXTRACT", arguments=(Literal(value=str() as part), _)):
            known: Sequence[int] | None = DATE_PARTS.get(part)
            if known is None and below[1].days is not None:
                known = [day.year for day in below[1].days]
            ends = (None, None) if known is None else (Fraction(known[0]), Fraction(known[-1]))
            return *ends, below[1].nullable
        case Call(function="DATE_DIFF") if below[0].days and below[1].days:
            days = [[day.toordinal() for day in part.days or ()] for part in below[:2]]
            least, most = days[0][0] - days[1][1], days[0][1] - days[1][0]
            return Fraction(least), Fraction(most), any(part.nullable for part in below[:2])
        case Call(function="COALESCE", arguments=parts):
            low, high = _hull(_written(parts, below))
            return low, high, all(part.nullable for part in below)
        case Call(function="LEAST" | "GREATEST" as name):
            return _extreme(name, kind, below)
        case Call(function=name):
            return _called(name, kind, below)
        case _:
            return None, None, True


def day_range(expression: Expression, below: list[Facts]) -> tuple[date, date] | None:
    """Return the days between which a date or a moment lies, if they are known.

    >>> day_range(Literal(date(2025, 1, 31)), [])
    (datetime.date(2025, 1, 31), datetime.date(2025, 1, 31))
    """
    match expression:
        case Literal(value=datetime() as moment):
            return moment.date(), moment.date()
        case Literal(value=date() as day):
            return day, day
        case Cast(to=Type.DATE | Type.TIMESTAMP):
            return below[0].days
        case Call(function="DATE_TRUNC" | "DATE_ADD" as name, arguments=(_, Literal(value=how))):
            move: Any = date_trunc if name == "DATE_TRUNC" else date_add
            ends = [move(day, how) for day in below[0].days or ()]
            return (ends[0], ends[1]) if ends and None not in ends else None
        case _:
            return None


def _called(name: str, kind: Type, below: list[Facts]) -> Range:
    function = ANYWHERE[name]
    nullable = any(part.nullable for part in below)
    unknown = None, None, function.null == "perhaps" or (function.null == "argument" and nullable)
    if name == "RANGE_BUCKET":
        return Fraction(0), Fraction(len(below) - 1), below[0].nullable
    if name == "/" and (mean := _mean(*below)) is not None:
        return mean
    ends = [_in_type(part, kind) for part in below]
    pairs = [pair for pair in ends if pair is not None]
    if function.bounds is None or not kind.is_number or len(pairs) < len(ends):
        return unknown
    found = function.bounds(*pairs)
    if found is None:
        return unknown
    low, high, fails = found
    exact = function.gives is not Type.FLOAT and not fails  # chosen or counted, and not computed
    whole = name in {"FLOOR", "CEIL", "ROUND"}
    if exact or whole:
        return low, high, nullable or fails
    return _widened(low, high, kind, nullable or fails)


def _extreme(name: str, kind: Type, below: list[Facts]) -> Range:
    """Return the range of LEAST or GREATEST, of which one argument alone gives one bound."""
    turned = [kind is Type.FLOAT and part.type is Type.INTEGER for part in below]
    sides: list[Fraction | None] = []
    for way, decides in ((-1, max), (1, min)):
        ends = [part.low if way < 0 else part.high for part in below]
        known = [
            _moved(end, way) if float_ else end
            for end, float_ in zip(ends, turned, strict=True)
            if end is not None and (not float_ or abs(end) <= _HALF_OF_LARGEST)
        ]
        one_is_enough = (name == "GREATEST") == (way < 0)
        if one_is_enough:
            sides.append(decides(known, default=None))
        else:
            sides.append((min if way < 0 else max)(known) if len(known) == len(ends) else None)
    return sides[0], sides[1], any(part.nullable for part in below)


def _in_type(part: Facts, kind: Type) -> tuple[Fraction, Fraction] | None:
    """Return the bounds of an argument, once it is turned into the type of the result."""
    if part.bounds is None or part.type is kind or kind is not Type.FLOAT:
        return part.bounds
    low, high, _ = _widened(*part.bounds, kind, False)
    return None if low is None or high is None else (low, high)


def _mean(total: Facts, count: Facts) -> Range | None:
    """Return the range of a sum of values over their number; None if it is another quotient."""
    if total.total is None or count.total is None or total.total.values != count.total.values:
        return None
    bounds = total.total.bounds
    if (total.total.function, count.total.function) != ("SUM", "COUNT") or bounds is None:
        return None
    wide = max(abs(end) for end in bounds) * _SUM_ROUNDING
    return _widened(bounds[0] - wide, bounds[1] + wide, Type.FLOAT, True)


def _written(parts: Sequence[Expression], values: list[Facts]) -> list[Facts]:
    """Return the facts of parts that are not a written NULL, which has no value to bound."""
    pairs = zip(parts, values, strict=True)
    return [facts for part, facts in pairs if part != Literal(None)]


def _hull(values: list[Facts]) -> tuple[Fraction | None, Fraction | None]:
    """Return bounds on all values."""
    low = [value.low for value in values]
    high = [value.high for value in values]
    if not values or None in low or None in high:
        return None, None
    return min(a for a in low if a is not None), max(b for b in high if b is not None)


def _widened(low: Fraction, high: Fraction, kind: Type, nullable: bool) -> Range:  # noqa: FBT001
    """Widen exact bounds by what rounding to a FLOAT can move them."""
    if kind is not Type.FLOAT:
        return low, high, nullable
    if any(abs(end.numerator) > _HALF_OF_LARGEST * end.denominator for end in (low, high)):
        return None, None, True
    return _moved(low, -1), _moved(high, 1), nullable


def _moved(end: Fraction, way: int) -> Fraction:
    """Move a number up or down by 2**-52 of itself and by 2**-1074, in one division."""
    above, below = end.numerator, end.denominator
    scaled = (above << _ROUNDING_BITS) + way * abs(above)
    shift = _SMALLEST_BITS - _ROUNDING_BITS
    return Fraction((scaled << shift) + way * below, below << _SMALLEST_BITS)


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
        """Return what holds of the value if an outer join may have put NULL instead."""
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

    def __missing__(self, name: str) -> Facts:
        """Return what is known of a column of which nothing was said: its type."""
        return Facts(type=self.types[name])

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
        _NULL
        if chooses and child == Literal(None)
        else facts_of(child, known)
        if isinstance(known, KnownFacts)
        else _facts(child, known, types)
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
    """Return what is known of an aggregate of a unit's rows: extremes are between the bounds.

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
    all_of_them = conjunction(conditions)
    return ONE if all_of_them is None else Case(((all_of_them, ONE),))
