"""Cliques of a triangulated graph of columns, and the tree that joins them.

Trust: public.

Definition.  Two columns are neighbors if a marginal holds both.  Columns are eliminated one by one:
the next is the one whose elimination adds the fewest edges (min-fill), then the one with the
smallest clique, then the first.  Eliminating a column joins all its neighbors.
The maximal cliques met on the way, joined by a spanning tree of largest separators, have the
running intersection property: columns that two cliques share are in all cliques between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import final

from discreet.synthetic.inference.values import CodedDomain, Marginal


@final
@dataclass(frozen=True, slots=True)
class CliqueTree:
    """Cliques in an order in which each follows its parent; the first has none (-1).

    >>> tree = clique_tree(CodedDomain(("a", "b", "c"), (2, 3, 4)), [(0, 1), (1, 2)])
    >>> tree.cliques, tree.parents, tree.separators
    (((0, 1), (1, 2)), (-1, 0), ((), (1,)))
    """

    cliques: tuple[Marginal, ...]
    parents: tuple[int, ...]

    @property
    def separators(self) -> tuple[Marginal, ...]:
        """The columns that each clique shares with its parent."""
        return tuple(
            ()
            if parent < 0
            else tuple(column for column in clique if column in self.cliques[parent])
            for clique, parent in zip(self.cliques, self.parents, strict=True)
        )

    def home(self, marginal: Sequence[int]) -> int | None:
        """Return the smallest clique that holds all these columns, if one does."""
        wanted = set(marginal)
        holders = [
            (len(clique), number)
            for number, clique in enumerate(self.cliques)
            if wanted.issubset(clique)
        ]
        return min(holders)[1] if holders else None


def clique_tree(domain: CodedDomain, marginals: Iterable[Marginal]) -> CliqueTree:
    """Triangulate the graph of these marginals, and join its cliques to a tree."""
    return join_cliques(triangulated(domain, marginals))


def tree_cells(domain: CodedDomain, marginals: Iterable[Marginal]) -> int:
    """Return how many numbers a junction tree of these marginals holds.

    >>> tree_cells(CodedDomain(("a", "b", "c"), (2, 3, 4)), [(0, 1), (1, 2)])
    18
    """
    return sum(domain.size(clique) for clique in triangulated(domain, marginals))


def triangulated(domain: CodedDomain, marginals: Iterable[Marginal]) -> tuple[Marginal, ...]:
    """Return the maximal cliques after min-fill elimination, in rising order.

    >>> ring = CodedDomain(tuple("abcd"), (2, 2, 2, 2))
    >>> triangulated(ring, [(0, 1), (1, 2), (2, 3), (0, 3)])
    ((0, 1, 3), (1, 2, 3))
    """
    neighbors = _neighbors(domain, marginals)
    costs = {column: _cost(domain, neighbors, column) for column in range(domain.columns)}
    found: list[int] = []
    while costs:
        added, _, column = min(costs.values())
        around = neighbors[column]
        clique = around | 1 << column
        if not any(clique & ~earlier == 0 for earlier in found):
            found.append(clique)
        del costs[column]
        touched = around
        for other in _columns(around):
            neighbors[other] = (neighbors[other] | around) & ~(1 << other | 1 << column)
            if added:  # without new edges, others' neighbors stay as they are
                touched |= neighbors[other]
        for other in _columns(touched):
            costs[other] = _cost(domain, neighbors, other)
    return tuple(sorted(tuple(_columns(clique)) for clique in found))


def _neighbors(domain: CodedDomain, marginals: Iterable[Marginal]) -> list[int]:
    """Return the neighbors of each column, as the bits of a number: sets would take longer."""
    neighbors = [0] * domain.columns
    for marginal in set(marginals):
        together = sum(1 << column for column in marginal)
        for column in marginal:
            neighbors[column] |= together & ~(1 << column)
    return neighbors


def _columns(bits: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set, from the lowest on."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _cost(domain: CodedDomain, neighbors: Sequence[int], column: int) -> tuple[int, int, int]:
    """Return how many edges an elimination adds, how many cells its clique has, and the column."""
    around, missing, cells = neighbors[column], 0, domain.sizes[column]
    for other in _columns(around):
        missing += (around & ~neighbors[other]).bit_count() - 1
        cells *= domain.sizes[other]
    return missing // 2, cells, column


def join_cliques(cliques: Sequence[Marginal]) -> CliqueTree:
    """Join cliques by a spanning tree of largest separators, from the first clique on.

    >>> join_cliques([(0,), (1, 2)]).parents
    (-1, 0)
    """
    best = dict.fromkeys(range(1, len(cliques)), (0, 0))  # size of separator, parent
    order, place = [0], {0: 0}
    for number in best:
        best[number] = (len(set(cliques[number]) & set(cliques[0])), 0)
    parents = [-1]
    while best:
        number = max(best, key=lambda candidate: (best[candidate][0], -candidate))
        parents.append(place[best.pop(number)[1]])
        place[number] = len(order)
        order.append(number)
        for other, (size, _) in best.items():
            shared = len(set(cliques[other]) & set(cliques[number]))
            if shared > size:
                best[other] = (shared, number)
    return CliqueTree(tuple(cliques[number] for number in order), tuple(parents))
