"""Which inference fits a set of measurements: closed form, all cells, or a junction tree.

Trust: public.

Room for a model: which marginals may still be measured, so that a fit always has the memory.

It looks at released choices and public numbers alone, and it is asked before a
marginal is offered: once data is paid for, no fit may be refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Final, final

from discreet.errors import TooLarge
from discreet.synthetic.inference.dense import Dense
from discreet.synthetic.inference.descent import EFFORT, Effort
from discreet.synthetic.inference.inference import (
    CodedDomain,
    ImpossibleCells,
    Inference,
    Marginal,
    Measurement,
    Model,
)
from discreet.synthetic.inference.junction_tree import MOST_BYTES, JunctionTree, declared_bytes
from discreet.synthetic.inference.pair_forest import PairForest
from discreet.synthetic.inference.tree_model import tree_cells, triangulated

DENSE_CELLS: Final = 1 << 18
"""Up to this number of cells, a vector of all of them is faster than a junction tree."""
_ONCE: Final = Effort(steps=1)


def inference_for(
    domain: CodedDomain, marginals: Sequence[Marginal], effort: Effort = EFFORT
) -> Inference:
    """Return the inference for these marginals, measured or impossible.

    >>> inference_for(CodedDomain(("a", "b"), (2, 2)), [(0, 1)])
    PairForest()
    """
    pairs = [marginal for marginal in marginals if len(marginal) > 1]
    if all(len(pair) == 2 for pair in pairs) and all(
        len(clique) <= 2 for clique in triangulated(domain, pairs)
    ):
        return PairForest()
    if domain.cells <= DENSE_CELLS and domain.cells <= 4 * tree_cells(domain, marginals):
        return Dense(effort=effort)
    return JunctionTree(effort=effort)


def best_fit(
    domain: CodedDomain,
    measurements: Sequence[Measurement],
    *,
    zeros: Sequence[ImpossibleCells] = (),
    effort: Effort = EFFORT,
    start: Model | None = None,
) -> Model:
    """Fit a model by the inference that suits the measurements."""
    measured = [each.marginal for each in measurements]
    pairs = {marginal for marginal in measured if len(marginal) > 1}
    tied = [zero.marginal for zero in zeros]
    unmeasured = any(len(marginal) > 1 and marginal not in pairs for marginal in tied)
    chosen = inference_for(domain, [*measured, *tied], effort)
    if unmeasured and isinstance(chosen, PairForest):
        chosen = JunctionTree(effort=effort)
    return chosen.fit(domain, measurements, zeros=zeros, start=start)


def model_fits(domain: CodedDomain, marginals: Sequence[Marginal]) -> bool:
    """Whether a model of these marginals, measured or impossible, fits into memory.

    Methods ask before they measure: once data is paid for, no fit may be refused.

    >>> wide = CodedDomain(tuple("abcdefgh"), (64,) * 8)
    >>> model_fits(wide, [(0, 1, 2)]), model_fits(wide, [(0, 1, 2, 3, 4)])
    (True, False)
    """
    return domain.cells <= DENSE_CELLS or declared_bytes(domain, marginals) <= MOST_BYTES


def check_zeros(domain: CodedDomain, zeros: Sequence[ImpossibleCells]) -> None:
    """Refuse constraints that no model could hold or obey, before anything is charged."""
    if not zeros:
        return
    if not model_fits(domain, [zero.marginal for zero in zeros]):
        raise TooLarge(
            "the constraints alone tie together more cells than a model can hold; state fewer "
            "constraints, or use fewer bins in the columns that they name."
        )
    best_fit(domain, (), zeros=zeros, effort=_ONCE)


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
        """Whether a model with this marginal has at most this many cells, and fits memory.

        Memory that constraints and earlier measurements take anyway does not count.
        """
        if self._domain.cells <= DENSE_CELLS or len(marginal) == 1:
            return True
        cells = self._cells_with(marginal)
        need = declared_bytes(self._domain, [*self._tied, marginal], cells)
        return cells <= max(most, self._cells_with(())) and need <= MOST_BYTES

    def fits(self, most: int) -> bool:
        """Whether a model of the cliques so far has at most this many cells, and fits memory."""
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
