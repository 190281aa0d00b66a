"""Workloads: which marginals a synthetic table is to get right, and how much each of them counts.

Trust: public.  A workload is public and part of the request; it selects the measurements, and
lowers no price.

Definition.  A workload is compiled to marginals with integer weights.  Its *closure* consists of
all marginals that are contained in one of them.  The weight of a member r of the closure is the sum
over all marginals s of the weight of s times how many columns r and s share (McKenna, Mullins,
Sheldon and Miklau 2022): what helps many marginals counts more.

Counting queries as workloads: listed conjunctions, and all ranges of columns with an order.

A workload selects the measurements, and lowers no price: marginals and queries are priced for any
marginal and any query.

Definition.  A *condition* on a column allows some of its codes: those of one value, all others
(NULL too), or those from one value up to another.  Values share a code if they share a bin, so a
range is that of all bins that it touches.  A *counting query* counts the rows that meet a condition
on each of some columns.

Its count is a sum of cells of the marginal of these columns.  So a unit moves it by no more than it
moves the marginal (keys ``query-counts`` and ``bounded-contribution``), and methods that measure
marginals get it right if they get the marginal right: queries count as weights of marginals.
DualQuery draws the queries themselves: a condition that allows several codes is a conjunction of
negations, one for each code that it does not allow.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, final

from discreet.errors import DiscreetError, OutOfRange, TooLarge, WrongKind
from discreet.exact import decimal, whole
from discreet.query.types import Type
from discreet.synthetic.domain import Categories, CodedColumn, Domain
from discreet.synthetic.inference.inference import CodedDomain, Marginal

MOST_CELLS: Final = 10_000
"""How many cells a marginal of a workload may have, unless a call says otherwise."""
MOST_MARGINALS: Final = 100_000
_MOST_WAYS: Final = 6


CodedQuery = tuple[tuple[int, tuple[int, ...]], ...]
"""A condition on each of some columns, in rising order: the codes that it allows."""


@final
@dataclass(frozen=True, slots=True)
class CompiledWorkload:
    """Marginals with their weights, in rising order, and the queries that they are for, if any.

    ``too_large`` counts marginals that were asked for and have too many cells.

    >>> both = CompiledWorkload((((0, 1), 1), ((1, 2), 2)))
    >>> both.closure(CodedDomain(tuple("abc"), (2, 2, 2)))[1]
    ((1,), 3)
    """

    weights: tuple[tuple[Marginal, int], ...]
    queries: tuple[CodedQuery, ...] = ()
    too_large: int = 0

    @property
    def marginals(self) -> tuple[Marginal, ...]:
        """The marginals alone."""
        return tuple(marginal for marginal, _ in self.weights)

    def closure(self, domain: CodedDomain) -> tuple[tuple[Marginal, int], ...]:
        """Return all marginals within these, single columns first, with their weights."""
        inner = {
            part
            for marginal in self.marginals
            for ways in range(1, len(marginal) + 1)
            for part in itertools.combinations(marginal, ways)
        }
        shared = _shared_weights(self.weights, domain.columns)
        return tuple(
            (part, sum(shared[column] for column in part))
            for part in sorted(inner, key=lambda part: (len(part), part))
        )


def _shared_weights(weights: Sequence[tuple[Marginal, int]], columns: int) -> list[int]:
    """Return the weight of all marginals that hold each column: what it adds to an overlap."""
    shared = [0] * columns
    for marginal, weight in weights:
        for column in marginal:
            shared[column] += weight
    return shared


@final
@dataclass(frozen=True, slots=True)
class AllMarginals:
    """All marginals of some number of columns.

    >>> marginals(2)
    AllMarginals(ways=2)
    """

    ways: int

    def compiled(self, domain: Domain, max_cells: int) -> CompiledWorkload:
        """Return those that have few enough cells."""
        coded = domain.coded
        ways = min(self.ways, coded.columns)
        if math.comb(coded.columns, ways) > MOST_MARGINALS:
            raise TooLarge(
                f"there are more than {MOST_MARGINALS} marginals of {ways} columns; ask for "
                "marginals of fewer columns, or list those that matter."
            )
        chosen = itertools.combinations(range(coded.columns), ways)
        return compiled_marginals(coded, ((marginal, 1) for marginal in chosen), max_cells)


@final
@dataclass(frozen=True, slots=True)
class ListedMarginals:
    """Marginals by the names of their columns, with weights."""

    weights: tuple[tuple[tuple[str, ...], int], ...]

    def compiled(self, domain: Domain, max_cells: int) -> CompiledWorkload:
        """Return them by the numbers of their columns; one that is too large is refused."""
        found: dict[Marginal, int] = {}
        for names, weight in self.weights:
            marginal = domain.numbers(names)
            found[marginal] = found.get(marginal, 0) + weight
        return compiled_marginals(domain.coded, found.items(), max_cells, drop=False)


def marginals(ways: int) -> AllMarginals:
    """Ask for all marginals of this number of columns, if they have few enough cells.

    >>> marginals(3).ways
    3
    """
    return AllMarginals(whole(ways, name="ways", low=1, high=_MOST_WAYS))


def marginals_of(
    listed: Mapping[Sequence[str], int] | Iterable[Sequence[str]],
) -> ListedMarginals:
    """Ask for some marginals by the names of their columns; a mapping says how much each counts.

    >>> marginals_of([("ward", "age"), ("cost",)]).weights
    ((('ward', 'age'), 1), (('cost',), 1))
    """
    items: Any = listed.items() if isinstance(listed, Mapping) else ((one, 1) for one in listed)
    weights = []
    for names, weight in items:
        if isinstance(names, str) or not names:
            raise WrongKind(
                'a marginal is not given by the names of its columns; write marginals_of([("ward", '
                '"age")]), say.'
            )
        weights.append((tuple(names), whole(weight, name="a weight", low=1, high=10**6)))
    if not weights:
        raise no_marginals()
    return ListedMarginals(tuple(weights))


def compiled_marginals(
    domain: CodedDomain,
    weights: Iterable[tuple[Marginal, int]],
    max_cells: int,
    *,
    drop: bool = True,
) -> CompiledWorkload:
    """Return marginals that have few enough cells; ``drop`` leaves out others, or refuses them."""
    ordered = sorted(weights)
    small = tuple(item for item in ordered if domain.size(item[0]) <= max_cells)
    if not ordered:
        raise no_marginals()
    if not small or (len(small) < len(ordered) and not drop):
        worst = max(ordered, key=lambda item: domain.size(item[0]))[0]
        least = min(ordered, key=lambda item: domain.size(item[0]))[0]
        shown = worst if not drop else least
        raise TooLarge(
            f"the marginal of {', '.join(domain.names[column] for column in shown)} has "
            f"{domain.size(shown)} cells; max_cells is {max_cells}; use fewer bins or categories, "
            "marginals of fewer columns, or a larger max_cells."
        )
    return CompiledWorkload(small, too_large=len(ordered) - len(small))


def no_marginals() -> OutOfRange:
    """Return the refusal of a workload that asks for nothing.

    >>> no_marginals().code
    'E002'
    """
    return OutOfRange("a workload has no marginal; write marginals(2), say.")


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
            "there are not as many weights as queries; give one weight for each query, or none at "
            "all."
        )
    if not queries:
        raise no_marginals()
    if not all(isinstance(query, Mapping) and query for query in queries):
        raise WrongKind(
            "a query does not say which columns it is about; write "
            'counts_of([{"ward": "A", "age": between(18, 64)}]), say.'
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
                f"a query has two conditions on column {name}; write one range, or two queries."
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
            f"a condition on column {column.name} allows no value; let a range rise, and exclude "
            "no single value."
        )
    return codes


def _code(column: CodedColumn, value: object) -> int:
    code = column.code(value)
    if code is None and isinstance(value, str):
        code = column.code(_read(column.type, value))
    if code is None:
        raise OutOfRange(
            f"a query names a value that column {column.name} cannot have; use declared "
            "categories, and numbers and days within their bounds."
        )
    return code


def _read(kind: Type, text: str) -> object:
    """Read a literal from text, as on a command line; return other text unchanged."""
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
            f"column {column.name} has listed values, and no ranges; list the values, a query for "
            "each; or declare bounds in place of categories."
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
            f"the queries of the workload have more than {MOST_LITERALS} literals together; ask "
            "for fewer queries, or use fewer bins."
        )
