"""Which inference fits a set of measurements: closed form, all cells, or a junction tree.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from discreet.errors import TooLarge
from discreet.synthetic.inference.dense import Dense
from discreet.synthetic.inference.descent import EFFORT, Effort
from discreet.synthetic.inference.inference import Inference, Model
from discreet.synthetic.inference.junction_tree import MOST_BYTES, JunctionTree, declared_bytes
from discreet.synthetic.inference.pair_forest import PairForest
from discreet.synthetic.inference.triangulation import tree_cells, triangulated
from discreet.synthetic.inference.values import (
    CodedDomain,
    ImpossibleCells,
    Marginal,
    Measurement,
)

DENSE_CELLS: Final = 1 << 18
"""Up to so many cells, a vector of all of them is faster than a junction tree."""
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
            what="the constraints alone tie together more cells than a model can hold.",
            why="a model keeps a number for every combination of columns that are tied together.",
            do="state fewer constraints, or use fewer bins in the columns that they name.",
        )
    best_fit(domain, (), zeros=zeros, effort=_ONCE)
