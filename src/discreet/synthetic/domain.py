"""The domain of a synthetic table: which columns it has, and which codes each of them.

Trust: kernel.  It is made from the policy and the arguments of a call, and from nothing else: a
category, a bound or a period that was read off the data would be a release that nobody paid for.

Definition.  The columns are those that are asked for, or all of the table, without those that name
the unit.  A column has declared categories; or it is a truth value; or a number with bounds, in
bins; or a day or a moment with bounds, in periods.  Whatever has none of these is refused.
Bins have equal width by default.  Periods are the finest of days, months, quarters and years of
which there are no more than bins; or, where there are more years, several years each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from typing import Final, Self, final

import pyarrow as pa

from discreet.errors import MissingBounds, OutOfRange, UnknownName
from discreet.noise import Entropy
from discreet.plan.binding.value_facts import Facts, as_keys
from discreet.query.types import Type
from discreet.synthetic.coded_columns import (
    Categories,
    CodedColumn,
    Coding,
    Integers,
    NumberBins,
    Periods,
)
from discreet.synthetic.inference.values import CodedDomain, Marginal

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

    ``fresh`` are the columns that name the unit: they hold new numbers, one for each row, because
    a row of a synthetic table is nobody.

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
    """Return how a column is coded, from what is declared of it; refuse one without limits.

    >>> coded_column("age", Facts(type=Type.INTEGER, low=Fraction(0), high=Fraction(110)), 4).size
    5
    """
    column = CodedColumn(
        name=name, type=facts.type, coding=_coding(name, facts, bins), nullable=facts.nullable
    )
    if column.size > MOST_CODES:
        raise OutOfRange(
            what=f"column {name} has {column.size} codes, and {MOST_CODES} are the most.",
            why="noise on each of so many values leaves nothing to be seen.",
            do="declare fewer categories or use fewer bins, or leave the column out.",
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
    """Return the edges of bins of equal width; each whole number is in one where they are few.

    >>> [int(edge) for edge in equal_width(Fraction(0), Fraction(5), 3, whole=True)]
    [0, 2, 4, 6]
    """
    if not whole:
        return tuple(low + (high - low) * Fraction(place, bins) for place in range(bins + 1))
    first, count = math.ceil(low), math.floor(high) - math.ceil(low) + 1
    parts = max(1, min(bins, count))
    return tuple(Fraction(first + -(-count * place // parts)) for place in range(parts + 1))


def periods(first: date, last: date, bins: int) -> tuple[date, ...]:
    """Return the edges of the finest public periods of which there are at most so many.

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
    """Yield the days on which periods of so many months begin, as calendars have them."""
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
