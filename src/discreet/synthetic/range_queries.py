"""Counting queries as workloads: listed conjunctions, and all ranges of columns with an order.

Trust: public.  A workload decides what is measured, and lowers no price: marginals and queries are
priced for any marginal and any query.

Definition.  A *condition* on a column allows some of its codes: those of one value, all others
(NULL too), or those from one value up to another.  Values share a code where they share a bin, so a
range is that of all bins that it touches.  A *counting query* counts the rows that meet a condition
on each of some columns.

Its count is a sum of cells of the marginal of these columns.  So a unit moves it by no more than it
moves the marginal (keys ``query-counts`` and ``bounded-contribution``), and methods that measure
marginals get it right where they get the marginal right: queries count as weights of marginals.
DualQuery draws the queries themselves: a condition that allows several codes is a conjunction of
negations, one for each code that it does not allow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, final

from discreet.errors import DiscreetError, OutOfRange, TooLarge, WrongKind
from discreet.exact import decimal, whole
from discreet.query.types import Type
from discreet.synthetic.coded_columns import Categories, CodedColumn
from discreet.synthetic.domain import Domain
from discreet.synthetic.inference.values import Marginal
from discreet.synthetic.workload import (
    AllMarginals,
    CodedQuery,
    CompiledWorkload,
    ListedMarginals,
    compiled_marginals,
    no_marginals,
)

MOST_LITERALS: Final = 1 << 22
"""How many literals all queries of a workload may have together, as conjunctions."""


@final
@dataclass(frozen=True, slots=True)
class ValueRange:
    """All values from one up to another.

    >>> between(18, 64)
    ValueRange(low=18, high=64)
    """

    low: Any
    high: Any


@final
@dataclass(frozen=True, slots=True)
class OtherValue:
    """Every value but one.

    >>> other_than("A")
    OtherValue(value='A')
    """

    value: Any


def between(low: object, high: object) -> ValueRange:
    """Ask for values from one up to another, both included.

    >>> between(18, 64).high
    64
    """
    return ValueRange(low, high)


def other_than(value: object) -> OtherValue:
    """Ask for every value but one; NULL is another value, too.

    >>> other_than("A").value
    'A'
    """
    return OtherValue(value)


@final
@dataclass(frozen=True, slots=True)
class ListedCounts:
    """Counting queries, with weights."""

    queries: tuple[tuple[tuple[tuple[str, Any], ...], int], ...]

    def compiled(self, domain: Domain, max_cells: int) -> CompiledWorkload:
        """Return their marginals by weight, and the queries in codes."""
        found: dict[Marginal, int] = {}
        coded = []
        for conditions, weight in self.queries:
            query = coded_query(domain, conditions)
            marginal = tuple(column for column, _ in query)
            found[marginal] = found.get(marginal, 0) + weight
            coded.append(query)
        known = compiled_marginals(domain.coded, found.items(), max_cells, drop=False)
        return CompiledWorkload(known.weights, _checked(tuple(dict.fromkeys(coded)), domain))


@final
@dataclass(frozen=True, slots=True)
class AllRanges:
    """All ranges of bins, or of periods, in each of some columns.

    >>> all_ranges("age", "cost").names
    ('age', 'cost')
    """

    names: tuple[str, ...]

    def compiled(self, domain: Domain, max_cells: int) -> CompiledWorkload:
        """Return the single columns, and all pairs of a first and a last code."""
        weights: dict[Marginal, int] = {}
        queries: list[CodedQuery] = []
        for place in domain.numbers(self.names):
            column = domain.columns[place]
            _check_ordered(column)
            size = column.coding.size
            weights[place,] = size * (size + 1) // 2
            _check_literals(size**3 // 3)
            queries += [
                ((place, tuple(range(first, last + 1))),)
                for first in range(size)
                for last in range(first, size)
            ]
        known = compiled_marginals(domain.coded, weights.items(), max_cells, drop=False)
        return CompiledWorkload(known.weights, _checked(tuple(queries), domain))


Workload = AllMarginals | ListedMarginals | ListedCounts | AllRanges
"""What a synthetic table is to get right."""


def counts_of(
    queries: Sequence[Mapping[str, Any]], *, weights: Sequence[int] | None = None
) -> ListedCounts:
    """Ask for counts of rows that meet conditions, each by the names of its columns.

    Args:
        queries: for each count, a value, ``between(low, high)`` or ``other_than(value)`` by column.
        weights: how much each of them counts; all alike unless given.

    >>> counts_of([{"ward": "A", "age": between(18, 64)}]).queries[0][1]
    1
    """
    shared = [1] * len(queries) if weights is None else list(weights)
    if len(shared) != len(queries):
        raise WrongKind(
            what="there are not as many weights as queries.",
            why="each weight belongs to one query.",
            do="give one weight for each query, or none at all.",
        )
    if not queries:
        raise no_marginals()
    if not all(isinstance(query, Mapping) and query for query in queries):
        raise WrongKind(
            what="a query does not say which columns it is about.",
            why="it counts the rows that meet a condition on each of some columns.",
            do='write counts_of([{"ward": "A", "age": between(18, 64)}]), say.',
        )
    whole_weights = [whole(weight, name="a weight", low=1, high=10**6) for weight in shared]
    listed = [tuple(query.items()) for query in queries]
    return ListedCounts(tuple(zip(listed, whole_weights, strict=True)))


def all_ranges(*names: str) -> AllRanges:
    """Ask for all ranges of bins or periods in each of these columns.

    >>> all_ranges("age").names
    ('age',)
    """
    if not names:
        raise no_marginals()
    return AllRanges(names)


def coded_query(domain: Domain, conditions: Sequence[tuple[str, Any]]) -> CodedQuery:
    """Return the codes that conditions allow, by the numbers of columns.

    >>> ward = CodedColumn(
    ...     name="ward", type=Type.TEXT, coding=Categories(("A", "B")), nullable=True)
    >>> coded_query(Domain((ward,)), [("ward", other_than("A"))])
    ((0, (1, 2)),)
    """
    allowed: dict[int, tuple[int, ...]] = {}
    for name, condition in conditions:
        (place,) = domain.numbers([name])
        if place in allowed:
            raise WrongKind(
                what=f"a query has two conditions on column {name}.",
                why="each column has one condition, and all of them have to be met.",
                do="write one range, or two queries.",
            )
        allowed[place] = _allowed(domain.columns[place], condition)
    return tuple(sorted(allowed.items()))


def _allowed(column: CodedColumn, condition: object) -> tuple[int, ...]:
    match condition:
        case ValueRange(low=low, high=high):
            _check_ordered(column)
            first, last = (_code(column, end) for end in (low, high))
            codes = tuple(range(first, last + 1))
        case OtherValue(value=value):
            own = _code(column, value)
            codes = tuple(code for code in range(column.size) if code != own)
        case value:
            codes = (_code(column, value),)
    if not codes:
        raise OutOfRange(
            what=f"a condition on column {column.name} allows no value.",
            why="such a query counts nobody, whatever the data is.",
            do="let a range rise, and exclude no single value.",
        )
    return codes


def _code(column: CodedColumn, value: object) -> int:
    code = column.code(value)
    if code is None and isinstance(value, str):
        code = column.code(_read(column.type, value))
    if code is None:
        raise OutOfRange(
            what=f"a query names a value that column {column.name} cannot have.",
            why="such a query would count nobody, whatever the data is.",
            do="use declared categories, and numbers and days within their bounds.",
        )
    return code


def _read(kind: Type, text: str) -> object:
    """Read a value that is written as text, as on a command line; the text itself if it is none."""
    try:
        if kind.is_number:
            return decimal(text, name="a value")
        if kind in {Type.DATE, Type.TIMESTAMP}:
            return date.fromisoformat(text)
    except (DiscreetError, ValueError):
        return text
    return {"true": True, "false": False}.get(text.casefold(), text)


def _check_ordered(column: CodedColumn) -> None:
    if isinstance(column.coding, Categories):
        raise WrongKind(
            what=f"column {column.name} has listed values, and no ranges.",
            why="which values lie between two others follows from an order.",
            do="list the values, a query for each; or declare bounds in place of categories.",
        )


def _checked(queries: tuple[CodedQuery, ...], domain: Domain) -> tuple[CodedQuery, ...]:
    widest = max(
        sum(literals_of(len(codes), domain.columns[column].size) for column, codes in query)
        for query in queries
    )
    _check_literals(widest * len(queries))
    return queries


def literals_of(allowed: int, size: int) -> int:
    """Return how many literals say that a column has one of some codes.

    >>> literals_of(1, 10), literals_of(3, 10)
    (1, 7)
    """
    return 1 if allowed == 1 else max(1, size - allowed)


def _check_literals(count: int) -> None:
    if count > MOST_LITERALS:
        raise TooLarge(
            what=f"the queries of the workload have more than {MOST_LITERALS} literals together.",
            why="each of them is looked at in every round.",
            do="ask for fewer queries, or use fewer bins.",
        )
