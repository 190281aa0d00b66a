"""Inference in closed form, if the measured marginals are single columns and a forest of pairs.

Trust: public.

Definition.  Each column gets the minimum-variance average of its own measurement and of what the
pairs that hold it say, projected onto nonnegative counts that add up to the number of rows.  Each
pair is projected likewise, then raked: its rows and columns are scaled in turn until both agree
with the single columns.  The model is the product of the pairs along the forest, divided by what
they share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange
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
from discreet.synthetic.inference.tree_model import TreeModel, clique_tree, triangulated

_SWEEPS: Final = 500
_CLOSE: Final = 1e-9
_FLOOR: Final = 1e-3  # rows in a possible cell of a pair before raking: zeros could not be raked


@final
@dataclass(frozen=True, slots=True)
class PairForest:
    """Fit a forest of pairs: rake each pair to its columns, and multiply down.

    >>> from fractions import Fraction
    >>> domain = CodedDomain(("a", "b"), (2, 2))
    >>> pair = Measurement((0, 1), np.array([30, 10, 10, 50]), Fraction(1))
    >>> PairForest().fit(domain, [pair]).marginal((0, 1)).round(1).tolist()
    [[30.0, 10.0], [10.0, 50.0]]
    """

    def fit(
        self,
        domain: CodedDomain,
        measurements: Sequence[Measurement],
        *,
        zeros: Sequence[ImpossibleCells] = (),
        start: Model | None = None,  # noqa: ARG002  a closed form starts from nothing
    ) -> TreeModel:
        """Return the model of these pairs; ``start`` is not needed."""
        targets = pooled(domain, measurements)
        pairs = [marginal for marginal in targets.marginals if len(marginal) > 1]
        _refuse_other_graphs(domain, pairs, zeros)
        measured = {
            marginal: (targets.values[place], float(targets.precisions[place.start]))
            for marginal, place in zip(targets.marginals, targets.slices(), strict=True)
        }
        allowed = _allowed(domain, zeros)
        singles = [
            _single(domain, measured, column, targets, allowed.get((column,)))
            for column in range(domain.columns)
        ]
        tree = clique_tree(domain, pairs)
        beliefs = []
        for clique in tree.cliques:
            if len(clique) == 1:
                beliefs.append(singles[clique[0]] / targets.total)
                continue
            values = measured[clique][0].reshape(domain.shape(clique))
            first = _projected(values, targets.total, allowed.get(clique))
            one, other = (singles[column] for column in clique)
            beliefs.append(_raked(first, one, other, allowed.get(clique)) / targets.total)
        return TreeModel(domain=domain, total=targets.total, tree=tree, beliefs=tuple(beliefs))


def _refuse_other_graphs(
    domain: CodedDomain, pairs: Sequence[Marginal], zeros: Sequence[ImpossibleCells]
) -> None:
    forest = all(len(pair) == 2 for pair in pairs) and all(
        len(clique) <= 2 or clique in pairs for clique in triangulated(domain, pairs)
    )
    held = {*pairs, *((column,) for column in range(domain.columns))}
    if not forest or any(zero.marginal not in held for zero in zeros):
        raise OutOfRange(
            "the marginals are not single columns and a forest of pairs; use inference by a "
            "junction tree."
        )


def _allowed(
    domain: CodedDomain, zeros: Sequence[ImpossibleCells]
) -> dict[Marginal, NDArray[np.bool_]]:
    allowed: dict[Marginal, NDArray[np.bool_]] = {}
    for zero in zeros:
        shape = domain.shape(zero.marginal)
        before = allowed.get(zero.marginal, np.ones(shape, np.bool_))
        allowed[zero.marginal] = before & ~zero.mask(shape)
    return allowed


def _single(
    domain: CodedDomain,
    measured: dict[Marginal, tuple[Vector, float]],
    column: int,
    targets: Targets,
    allowed: NDArray[np.bool_] | None,
) -> Vector:
    """Return the counts of a column: all that was measured of it, averaged and projected."""
    size = domain.sizes[column]
    weighted, precision = np.zeros(size), 0.0
    for marginal, (values, certainty) in measured.items():
        if column not in marginal:
            continue
        shaped = values.reshape(domain.shape(marginal))
        axes = tuple(axis for axis, other in enumerate(marginal) if other != column)
        weight = certainty * size / values.size  # each sum adds up the noise of that many cells
        weighted += weight * shaped.sum(axis=axes)
        precision += weight
    counts = weighted / precision if precision else np.full(size, targets.total / size)
    return _projected(counts, targets.total, allowed)


def _projected(values: Vector, total: float, allowed: NDArray[np.bool_] | None) -> Vector:
    """Return the nearest nonnegative counts with this total, zero if nothing is allowed."""
    free = np.ones(values.shape, np.bool_) if allowed is None else allowed
    if not free.any():
        raise OutOfRange(
            "the constraints leave no row possible; correct the statements about impossible "
            "combinations."
        )
    ranked = np.sort(values[free])[::-1]
    excess = (np.cumsum(ranked) - total) / np.arange(1, ranked.size + 1)
    shift = excess[np.flatnonzero(ranked > excess)[-1]]
    projected = np.zeros(values.shape)
    projected[free] = np.maximum(values[free] - shift, 0.0)
    return projected


def _raked(
    pair: Vector,
    one: Vector,
    other: Vector,
    allowed: NDArray[np.bool_] | None,
) -> Vector:
    """Scale rows and columns in turn until they add up to the single columns."""
    table = np.maximum(pair, _FLOOR)
    if allowed is not None:
        table[~allowed] = 0.0
    for _ in range(_SWEEPS):
        table *= _ratio(other, table.sum(axis=0))
        rows = table.sum(axis=1)
        table *= _ratio(one, rows)[:, None]
        if np.abs(rows - one).max() <= _CLOSE * one.sum():
            break
    return table


def _ratio(wanted: Vector, present: Vector) -> Vector:
    return np.divide(wanted, present, out=np.zeros_like(wanted), where=present > 0)
