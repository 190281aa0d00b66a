"""The domain of a synthetic table: which columns it has, and which codes each of them.

Trust: kernel.  It is made only from the policy and the arguments of a call: a category, a bound or
a period that was read from the data would be an uncharged release.

Definition.  The columns are those that are asked for, or all of the table, without those that name
the unit.  A column has declared categories; or it is a boolean; or a number with bounds, in bins;
or a date or a timestamp with bounds, in periods.  All other columns are refused.
Bins have equal width by default.  Periods are the finest of days, months, quarters and years whose
number is at most that of bins; or, if there are more years, several years each.

How the values of one column become codes, and codes become values again.

Which codes there are is decided by public facts alone: a code that the data had
added would show who is in it.  Turning codes into values is post-processing.

Definition.  A column has the codes 0, 1, ..., in the order of its categories, bins or periods; the
last code is NULL if the column may be NULL.  Bin i holds the numbers from its edge up to, and
without, the next edge; of numbers that are not whole, the last bin holds its upper edge as well.
Numbers outside the bounds count in the first or the last bin, as clamping would have it.  Days
outside the periods, and values that are not a category, have no code: their rows are left out.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final, Self, assert_never, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import MissingBounds, OutOfRange, UnknownName
from discreet.noise import Entropy
from discreet.plan.binding.value_facts import Facts, as_keys
from discreet.query.types import Type
from discreet.requests.raw_totals import ARROW_TYPES, arrow_numbers, arrow_values
from discreet.requests.table_schema import KeyValue
from discreet.synthetic.inference.inference import CodedDomain, Marginal

BINS: Final = 32
"""How many bins a column of numbers has, unless a call says otherwise."""
MOST_CODES: Final = 10_000
"""How many codes a column may have at most."""
_MONTHS: Final = (1, 3, 12)
_PAST: Final = 10_000  # years begin before it


@final
@dataclass(frozen=True, slots=True)
class Domain:
    """The columns of a synthetic table, in their order.

    ``fresh`` are the columns that name the unit: they hold new numbers, one for each row, because a
    row of a synthetic table is not a person.

    >>> wards = Categories(("A", "B"))
    >>> ward = CodedColumn(name="ward", type=Type.TEXT, coding=wards, nullable=True)
    >>> domain = Domain((ward,))
    >>> domain.coded.sizes, domain.numbers(["WARD"])
    ((3,), (0,))
    """

    columns: tuple[CodedColumn, ...]
    fresh: tuple[tuple[str, Type], ...] = ()

    @property
    def coded(self) -> CodedDomain:
        """Names and sizes, which is all that inference needs."""
        names = tuple(column.name for column in self.columns)
        return CodedDomain(names=names, sizes=tuple(column.size for column in self.columns))

    @property
    def cells(self) -> int:
        """How many different rows there are."""
        return math.prod(column.size for column in self.columns)

    def numbers(self, names: Sequence[str]) -> Marginal:
        """Return the columns with these names, in any case, as a marginal."""
        places = {column.name.casefold(): place for place, column in enumerate(self.columns)}
        found = []
        for name in names:
            place = places.get(name.casefold()) if isinstance(name, str) else None
            if place is None:
                known = ", ".join(column.name for column in self.columns)
                raise UnknownName(
                    what=f"there is no column {name} in the synthetic table.",
                    why="marginals and constraints are about its columns.",
                    do=f"use some of: {known}.",
                )
            found.append(place)
        return self.coded.marginal(found)

    def names(self, marginal: Marginal) -> tuple[str, ...]:
        """Return the names of the columns of a marginal."""
        return tuple(self.columns[place].name for place in marginal)

    def with_edges(self, found: Mapping[int, tuple[Fraction, ...]]) -> Self:
        """Return the domain with other bins in some columns of numbers."""
        columns = tuple(
            column.with_edges(found[place]) if place in found else column
            for place, column in enumerate(self.columns)
        )
        return replace(self, columns=columns)

    def decoded(self, codes: Integers, stream: Entropy) -> pa.Table:
        """Return rows of codes as a table; the stream is public, and chooses within bins."""
        arrays = [
            column.decoded(codes[:, place], stream) for place, column in enumerate(self.columns)
        ]
        return pa.table(arrays, names=[column.name for column in self.columns])


def coded_column(name: str, facts: Facts, bins: int) -> CodedColumn:
    """Return the coding of a column from its declaration; refuse an unbounded column.

    >>> coded_column("age", Facts(type=Type.INTEGER, low=Fraction(0), high=Fraction(110)), 4).size
    5
    """
    column = CodedColumn(
        name=name, type=facts.type, coding=_coding(name, facts, bins), nullable=facts.nullable
    )
    if column.size > MOST_CODES:
        raise OutOfRange(
            f"column {name} has {column.size} codes, and {MOST_CODES} are the most; declare fewer "
            "categories or use fewer bins, or leave the column out."
        )
    return column


def _coding(name: str, facts: Facts, bins: int) -> Coding:
    if facts.categories is not None:
        return Categories(tuple(as_keys(facts.categories, facts.type)))
    if facts.type is Type.BOOLEAN:
        return Categories((False, True))
    if facts.bounds is not None and facts.type.is_number:
        whole = facts.type is Type.INTEGER
        return NumberBins(equal_width(*facts.bounds, bins, whole=whole), whole)
    if facts.days is not None:
        moments = facts.type is Type.TIMESTAMP
        return Periods(periods(*facts.days, bins), moments=moments)
    raise _unlimited(name, facts.type)


def equal_width(low: Fraction, high: Fraction, bins: int, *, whole: bool) -> tuple[Fraction, ...]:
    """Return the edges of bins of equal width; each integer is in one if they are few.

    >>> [int(edge) for edge in equal_width(Fraction(0), Fraction(5), 3, whole=True)]
    [0, 2, 4, 6]
    """
    if not whole:
        return tuple(low + (high - low) * Fraction(place, bins) for place in range(bins + 1))
    first, count = math.ceil(low), math.floor(high) - math.ceil(low) + 1
    parts = max(1, min(bins, count))
    return tuple(Fraction(first + -(-count * place // parts)) for place in range(parts + 1))


def periods(first: date, last: date, bins: int) -> tuple[date, ...]:
    """Return the edges of the finest public periods, at most this number of them.

    >>> len(periods(date(2020, 1, 1), date(2021, 12, 31), 32)) - 1
    24
    """
    end = min(last, date.max - timedelta(days=1)) + timedelta(days=1)
    days = (end - first).days
    if days <= bins:
        return tuple(first + timedelta(days=place) for place in range(days + 1))
    months = 12 * (end.year - first.year) + end.month - first.month + (end.day > 1)
    sizes = (*_MONTHS, 12 * -(-(end.year - first.year + 1) // bins))
    size = next(size for size in sizes if size == sizes[-1] or -(-months // size) + 1 <= bins + 1)
    inner = (edge for edge in _starts(first, end, size) if first < edge < end)
    return (first, *inner, end)


def _starts(first: date, end: date, months: int) -> Iterator[date]:
    """Yield the first days of calendar periods of this number of months."""
    month = (
        12 * first.year + (first.month - 1) // months * months if months <= 12 else 12 * first.year
    )
    while month < 12 * _PAST and (start := date(month // 12, month % 12 + 1, 1)) < end:
        yield start
        month += months


def _unlimited(name: str, kind: Type) -> MissingBounds:
    fix = {
        Type.TEXT: 'categories = ["A", "B"]',
        Type.DATE: "low = 2020-01-01\n    high = 2024-12-31",
        Type.TIMESTAMP: "low = 2020-01-01\n    high = 2024-12-31",
    }.get(kind, "low = 0\n    high = 100")
    return MissingBounds(
        what=f"nothing public says which values column {name} may have.",
        why="a synthetic table shows the values of its columns; those found in the data would show "
        "who is in it.",
        do=f"add to the policy:\n    [tables.NAME.columns.{name}]\n"
        f'    type = "{kind.value.lower()}"\n    {fix}\n'
        "with what you know without looking at the data; or leave the column out with columns=.",
    )


_NULL: Final = "NULL"
_FRACTION_BITS: Final = 53
_DAY: Final = timedelta(days=1)
_SECONDS: Final = 86_400
_TICKS: Final = 10**6
_WORD: Final = (1 << 64) - 1
_BELOW_WORD: Final = float((1 << 64) - (1 << 11))  # the largest float below 2**64

Integers = NDArray[np.integer[Any]]


def _fractions(count: int, stream: Entropy) -> NDArray[np.float64]:
    """Return numbers from 0 up to, and without, 1."""
    words = stream.words(count, _FRACTION_BITS)
    return np.ldexp(words.astype(np.float64), -_FRACTION_BITS)


@final
@dataclass(frozen=True, slots=True)
class Categories:
    """Listed values, one code each.

    >>> Categories(("A", "B")).size
    2
    """

    values: tuple[KeyValue, ...]

    @property
    def size(self) -> int:
        """How many codes there are."""
        return len(self.values)

    @property
    def one_to_one(self) -> bool:
        """Whether each code represents exactly one value: always true."""
        return True

    def code(self, value: object) -> int | None:
        """Return the code of a value, None if it is not listed."""
        same = (place for place, listed in enumerate(self.values) if listed == value)
        return next(same, None)

    def label(self, code: int) -> str:
        """Return the value as text."""
        return str(self.values[code])

    def decoded(self, codes: Integers, kind: Type, stream: Entropy) -> pa.Array:  # noqa: ARG002
        """Return the values of codes, and NULL for the code after the last."""
        values = arrow_values([*self.values, None], ARROW_TYPES[kind])
        return values.take(arrow_numbers(codes.astype(np.int64), pa.int64()))


@final
@dataclass(frozen=True, slots=True)
class NumberBins:
    """Bins between rising edges; ``whole`` says that values are integers.

    >>> ages = NumberBins(edges=tuple(map(Fraction, (0, 18, 65, 110))), whole=True)
    >>> ages.size, ages.code(18), ages.code(200), ages.label(2)
    (3, 1, 2, '[65, 109]')
    """

    edges: tuple[Fraction, ...]
    whole: bool

    def __post_init__(self) -> None:
        """Refuse edges that do not rise, and bins without an integer."""
        _check_rising([math.ceil(edge) for edge in self.edges] if self.whole else self.edges)

    @property
    def exact(self) -> bool:
        """Whether each bin holds one value."""
        return self.whole and all(high - low == 1 for low, high in pairwise(self.edges))

    @property
    def size(self) -> int:
        """How many bins there are."""
        return len(self.edges) - 1

    @property
    def one_to_one(self) -> bool:
        """Whether each bin holds one integer."""
        ends = [math.ceil(edge) for edge in self.edges]
        return self.whole and all(high == low + 1 for low, high in pairwise(ends))

    def code(self, value: object) -> int | None:
        """Return the bin of a number; one outside the bounds is clamped."""
        if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
            return None
        if isinstance(value, float) and math.isnan(value):
            return None
        return bisect_right(self.edges[1:-1], value)

    def label(self, code: int) -> str:
        """Return the ends of a bin."""
        low, high = self.edges[code], self.edges[code + 1]
        if self.whole:
            first, stop = math.ceil(low), math.ceil(high)
            return str(first) if stop == first + 1 else f"[{first}, {stop - 1}]"
        end = "]" if code == self.size - 1 else ")"
        return f"[{float(low):.6g}, {float(high):.6g}{end}"

    def decoded(self, codes: Integers, kind: Type, stream: Entropy) -> pa.Array:
        """Return numbers that are uniform within their bins, and never outside the bounds."""
        null, codes = codes == self.size, np.minimum(codes, self.size - 1)
        part = _fractions(len(codes), stream)
        if self.whole:
            ends = [math.ceil(edge) for edge in self.edges]
            first = np.array([end & _WORD for end in ends[:-1]], dtype=np.uint64)[codes]
            wide = [min(high - low, _WORD) for low, high in pairwise(ends)]
            width = np.array(wide, dtype=np.uint64)[codes]
            steps = np.minimum(np.floor(part * width), _BELOW_WORD).astype(np.uint64)
            steps = np.minimum(steps, width - np.uint64(1))
            return arrow_numbers((first + steps).view(np.int64), ARROW_TYPES[kind], null)
        low = np.array([float(edge) for edge in self.edges[:-1]])[codes]
        high = np.array([float(edge) for edge in self.edges[1:]])[codes]
        inside = np.minimum(np.maximum(low + part * (high - low), low), high)
        return arrow_numbers(inside, ARROW_TYPES[kind], null)


@final
@dataclass(frozen=True, slots=True)
class Periods:
    """Periods between rising days: each from its first day up to, and without, the next.

    >>> half = Periods(edges=(date(2024, 1, 1), date(2024, 2, 1), date(2024, 3, 1)))
    >>> half.code(date(2024, 2, 29)), half.code(date(2024, 3, 1)), half.label(0)
    (1, None, '2024-01-01 to 2024-01-31')
    """

    edges: tuple[date, ...]
    moments: bool = False

    def __post_init__(self) -> None:
        """Refuse edges that do not rise."""
        _check_rising(self.edges)

    @property
    def size(self) -> int:
        """How many periods there are."""
        return len(self.edges) - 1

    @property
    def one_to_one(self) -> bool:
        """Whether each period is one day, and values are days."""
        days = all(high == low + _DAY for low, high in pairwise(self.edges))
        return days and not self.moments

    def code(self, value: object) -> int | None:
        """Return the period of a date or a timestamp, None outside all of them."""
        if not isinstance(value, date):
            return None
        day = value.date() if isinstance(value, datetime) else value
        inside = self.edges[0] <= day < self.edges[-1]
        return bisect_right(self.edges, day) - 1 if inside else None

    def label(self, code: int) -> str:
        """Return the first and the last day of a period."""
        first, last = self.edges[code], self.edges[code + 1] - _DAY
        return first.isoformat() if first == last else f"{first.isoformat()} to {last.isoformat()}"

    def decoded(self, codes: Integers, kind: Type, stream: Entropy) -> pa.Array:
        """Return days, or moments to the second, that are uniform within their periods."""
        null, codes = codes == self.size, np.minimum(codes, self.size - 1)
        days = np.array(self.edges, dtype="datetime64[D]").astype(np.int64)
        unit, tick = (_SECONDS, _TICKS) if self.moments else (1, 1)
        start, span = unit * days[codes], unit * (days[codes + 1] - days[codes])
        steps = np.floor(_fractions(len(codes), stream) * span).astype(np.int64)
        values = tick * (start + np.minimum(steps, span - 1))
        width = np.int64 if self.moments else np.int32
        return arrow_numbers(values.astype(width), ARROW_TYPES[kind], null)


def _check_rising(edges: Sequence[Any]) -> None:
    if len(edges) < 2 or any(low >= high for low, high in pairwise(edges)):
        raise OutOfRange(
            "edges of bins do not rise; give at least two edges, each above the one before."
        )


Coding = Categories | NumberBins | Periods


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CodedColumn:
    """A column, its type, how its values are coded, and whether NULL is its last code.

    >>> wards = Categories(("A", "B"))
    >>> ward = CodedColumn(name="ward", type=Type.TEXT, coding=wards, nullable=True)
    >>> ward.size, ward.code(None), ward.label(2)
    (3, 2, 'NULL')
    """

    name: str
    type: Type
    coding: Coding
    nullable: bool

    @property
    def size(self) -> int:
        """How many codes there are."""
        return self.coding.size + self.nullable

    @property
    def one_to_one(self) -> bool:
        """Whether rows with different values have different codes."""
        return self.coding.one_to_one

    def code(self, value: object) -> int | None:
        """Return the code of a value; None if its row would be left out."""
        if value is None:
            return self.coding.size if self.nullable else None
        return self.coding.code(value)

    def label(self, code: int) -> str:
        """Return a code in words."""
        return _NULL if code == self.coding.size else self.coding.label(code)

    def with_edges(self, edges: tuple[Fraction, ...]) -> CodedColumn:
        """Return the same column of numbers in other bins."""
        match self.coding:
            case NumberBins(whole=whole):
                return replace(self, coding=NumberBins(edges=edges, whole=whole))
            case Categories() | Periods():
                message = f"{self.name} is not a column of numbers in bins"
                raise TypeError(message)
            case _:
                assert_never(self.coding)

    def decoded(self, codes: Integers, stream: Entropy) -> pa.Array:
        """Return codes as values of the type of the column, as an Arrow array."""
        return self.coding.decoded(codes, self.type, stream)
