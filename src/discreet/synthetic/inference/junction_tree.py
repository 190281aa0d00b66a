"""Inference on a junction tree: exact for many columns whose measured marginals are sparse.

Trust: public.

Memory: six numbers for each cell of each clique, and twelve for each measured one;
``declared_bytes`` says how much, before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import TooLarge
from discreet.synthetic.inference.dense import starting_parameters
from discreet.synthetic.inference.descent import EFFORT, Effort, descend
from discreet.synthetic.inference.inference import (
    CodedDomain,
    ImpossibleCells,
    Marginal,
    Measurement,
    Model,
    Targets,
    Vector,
    pooled,
)
from discreet.synthetic.inference.tree_model import (
    CliqueTree,
    TreeModel,
    calibrated,
    clique_tree,
    tree_cells,
    widened,
)

_BYTES_A_CELL: Final = 6 * 8
_BYTES_A_MEASURED_CELL: Final = 12 * 8
MOST_BYTES: Final = 1 << 30
"""How much memory a junction tree may take, unless another limit is given."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JunctionTree:
    """Fit a log-linear model by calibrated belief propagation and mirror descent.

    >>> from fractions import Fraction
    >>> domain = CodedDomain(("a", "b", "c"), (2, 2, 2))
    >>> pairs = [Measurement((0, 1), np.array([40, 10, 10, 40]), Fraction(1)),
    ...          Measurement((1, 2), np.array([50, 0, 0, 50]), Fraction(1))]
    >>> JunctionTree().fit(domain, pairs).marginal((0, 2)).round(0).tolist()
    [[40.0, 10.0], [10.0, 40.0]]
    """

    effort: Effort = EFFORT
    most_bytes: int = MOST_BYTES

    def fit(
        self,
        domain: CodedDomain,
        measurements: Sequence[Measurement],
        *,
        zeros: Sequence[ImpossibleCells] = (),
        start: Model | None = None,
    ) -> TreeModel:
        """Return the model closest to the measurements, of largest entropy among these."""
        targets = pooled(domain, measurements)
        tied = (*targets.marginals, *(zero.marginal for zero in zeros))
        need = declared_bytes(domain, tied)
        if need > self.most_bytes:
            raise TooLarge(
                f"the junction tree of these marginals needs {need} bytes; measure fewer or "
                "smaller marginals, or allow more memory (most_bytes)."
            )
        law = _Law(domain, targets, clique_tree(domain, tied), zeros)
        theta = descend(
            law.expectations, targets, starting_parameters(domain, targets, start), self.effort
        )
        known = {
            marginal: theta[place]
            for marginal, place in zip(targets.marginals, targets.slices(), strict=True)
        }
        return TreeModel(
            domain=domain,
            total=targets.total,
            tree=law.tree,
            beliefs=tuple(np.exp(belief) for belief in law.beliefs(theta)),
            parameters=known,
        )


def declared_bytes(
    domain: CodedDomain, marginals: Sequence[Marginal], cells: int | None = None
) -> int:
    """Return the memory of a junction tree of these marginals; with this number of cells, if known.

    >>> declared_bytes(CodedDomain(("a", "b", "c"), (2, 2, 2)), [(0, 1), (1, 2)])
    1152
    """
    measured = sum(domain.size(marginal) for marginal in {*marginals})
    held = tree_cells(domain, marginals) if cells is None else cells
    return _BYTES_A_CELL * held + _BYTES_A_MEASURED_CELL * measured


@final
class _Law:
    """Log-probabilities of cliques as a function of the parameters."""

    def __init__(
        self,
        domain: CodedDomain,
        targets: Targets,
        tree: CliqueTree,
        zeros: Sequence[ImpossibleCells],
    ) -> None:
        self.tree = tree
        self._targets = targets
        self._shapes = [domain.shape(clique) for clique in tree.cliques]
        self._placed = [
            (place, marginal, domain.shape(marginal), _home(tree, marginal))
            for place, marginal in zip(targets.slices(), targets.marginals, strict=True)
        ]
        self._masks: list[tuple[int, NDArray[np.float64]]] = []
        for zero in zeros:
            home = _home(tree, zero.marginal)
            mask = np.where(zero.mask(domain.shape(zero.marginal)), -np.inf, 0.0)
            self._masks.append((home, widened(mask, zero.marginal, tree.cliques[home])))

    def beliefs(self, theta: Vector) -> list[Vector]:
        potentials = [np.zeros(shape) for shape in self._shapes]
        for place, marginal, shape, home in self._placed:
            potentials[home] += widened(
                theta[place].reshape(shape), marginal, self.tree.cliques[home]
            )
        for home, mask in self._masks:
            potentials[home] += mask
        return calibrated(self.tree, potentials)

    def expectations(self, theta: Vector) -> Vector:
        chances = [np.exp(belief) for belief in self.beliefs(theta)]
        values = np.empty(theta.size)
        for place, marginal, _, home in self._placed:
            axes = tuple(
                axis
                for axis, column in enumerate(self.tree.cliques[home])
                if column not in marginal
            )
            values[place] = chances[home].sum(axis=axes).ravel()
        return self._targets.total * values


def _home(tree: CliqueTree, marginal: Marginal) -> int:
    return cast("int", tree.home(marginal))  # the tree was made from these marginals
