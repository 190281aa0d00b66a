"""Workloads: which marginals a synthetic table is to get right, and how much each of them counts.

Trust: public.  A workload is public and part of the request; it decides what is measured, and
lowers no price.

Definition.  A workload is compiled to marginals with whole weights.  Its *closure* are all
marginals that lie within one of them.  The weight of a member r of the closure is the sum over all
marginals s of the weight of s times how many columns r and s share (McKenna, Mullins, Sheldon and
Miklau 2022): what helps many marginals counts more.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from discreet.errors import OutOfRange, TooLarge, WrongKind
from discreet.exact import whole
from discreet.synthetic.domain import Domain
from discreet.synthetic.inference.values import CodedDomain, Marginal

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
                what=f"there are more than {MOST_MARGINALS} marginals of {ways} columns.",
                why="each of them would have to be looked at in every round.",
                do="ask for marginals of fewer columns, or list those that matter.",
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
    """Ask for all marginals of so many columns, as far as they have few enough cells.

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
                what="a marginal is not given by the names of its columns.",
                why="a text would be read letter by letter.",
                do='write marginals_of([("ward", "age")]), say.',
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
            what=f"the marginal of {', '.join(domain.names[column] for column in shown)} has "
            f"{domain.size(shown)} cells; max_cells is {max_cells}.",
            why="noise on so many counts leaves nothing to be seen.",
            do="use fewer bins or categories, marginals of fewer columns, or a larger max_cells.",
        )
    return CompiledWorkload(small, too_large=len(ordered) - len(small))


def no_marginals() -> OutOfRange:
    """Return the refusal of a workload that asks for nothing.

    >>> no_marginals().code
    'E002'
    """
    return OutOfRange(
        what="a workload has no marginal.",
        why="it says what the synthetic table is to get right.",
        do="write marginals(2), say.",
    )
