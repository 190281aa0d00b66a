"""Room for a model: which marginals may still be measured, so that a fit always has the memory.

Trust: public.  It looks at released choices and public numbers alone, and it is asked before a
marginal is offered: once data is paid for, no fit may be refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import final

from discreet.synthetic.inference.junction_tree import MOST_BYTES, declared_bytes
from discreet.synthetic.inference.triangulation import tree_cells
from discreet.synthetic.inference.values import CodedDomain, Marginal
from discreet.synthetic.methods.fitting import DENSE_CELLS

Edges = frozenset[tuple[int, int]]


@final
class ModelRoom:
    """What a model is tied to so far, by measurements and constraints, and what that leaves.

    >>> room = ModelRoom(CodedDomain(tuple("abcdefgh"), (64,) * 8), [])
    >>> room.tie((0, 1))
    >>> room.holds((1, 2), 10_000), room.holds((0, 1, 2), 10_000)
    (True, False)
    """

    __slots__ = ("_cells", "_domain", "_edges", "_tied")

    def __init__(self, domain: CodedDomain, tied: Iterable[Marginal]) -> None:
        """Take the marginals of constraints; every column is measured."""
        self._domain = domain
        self._tied = {(column,) for column in range(domain.columns)} | set(tied)
        self._edges = frozenset[tuple[int, int]]().union(*map(_edges, self._tied))
        self._cells: dict[Edges, int] = {}

    def tie(self, marginal: Marginal) -> None:
        """Note a marginal that is measured."""
        self._tied.add(marginal)
        more = _edges(marginal) - self._edges
        if more:
            self._edges |= more
            self._cells.clear()

    def holds(self, marginal: Marginal, most: float) -> bool:
        """Whether a model with this marginal has at most so many cells, and fits into memory.

        What constraints and earlier measurements take anyway is not held against it.
        """
        if self._domain.cells <= DENSE_CELLS or len(marginal) == 1:
            return True
        cells = self._cells_with(marginal)
        need = declared_bytes(self._domain, [*self._tied, marginal], cells)
        return cells <= max(most, self._cells_with(())) and need <= MOST_BYTES

    def fits(self, most: int) -> bool:
        """Whether a model of what is tied so far has so few cells, and fits into memory."""
        if self._domain.cells <= DENSE_CELLS:
            return max(self._domain.sizes) <= most
        cells = self._cells_with(())
        return cells <= most and declared_bytes(self._domain, [*self._tied], cells) <= MOST_BYTES

    def _cells_with(self, marginal: Marginal) -> int:
        more = _edges(marginal) - self._edges
        if more not in self._cells:
            self._cells[more] = tree_cells(self._domain, [*self._tied, marginal])
        return self._cells[more]


def _edges(marginal: Marginal) -> Edges:
    return frozenset(itertools.combinations(marginal, 2))
