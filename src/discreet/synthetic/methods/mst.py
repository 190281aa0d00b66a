"""MST: measure all columns, and a tree of pairs that depend on each other (McKenna 2021).

Trust: kernel.

A third of the price goes to the single columns, a third to the selection of pairs, each of which
joins two parts of the tree, and a third to the pairs.  A pair scores the L1 distance between its
counts and those that independent columns would have, by the noisy single columns.

With constraints, pairs are offered only if the model still fits into memory with them; if none is
left, fewer are measured than were paid for.

One part of the published method is left out: it merges values with noisy counts below three
standard deviations into one.  Inference projects counts onto those that are possible, which brings
such values to about zero, and every declared category keeps a code of its own, in evidence and
workload alike.  If all values are frequent, as in tables of bits, merging changes nothing.

Independent: measure every column by itself, and take columns for independent.  The baseline.

Trust: kernel.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np

from discreet.mechanisms import Gaussian, Laplace
from discreet.synthetic.evidence import Evidence
from discreet.synthetic.inference.inference import ImpossibleCells, Marginal, Model
from discreet.synthetic.measurer import Candidate, JointMeasurer
from discreet.synthetic.methods.fitting import best_fit, check_zeros, model_fits
from discreet.synthetic.methods.method import (
    Schedule,
    Task,
    concentrated_price,
    rounded_up,
    scale_for,
    variance_for,
)

_THIRD: Final = Fraction(1, 3)


@final
@dataclass(frozen=True, slots=True)
class MST:
    """Measure a maximum spanning tree of pairs.

    >>> MST().document
    {'name': 'mst'}
    """

    @property
    def document(self) -> Mapping[str, Any]:
        """Its name."""
        return {"name": "mst"}

    def schedule(self, task: Task) -> Schedule:
        """Fix all steps: columns, selections and pairs."""
        check_zeros(task.domain, task.zeros)
        domain, moves = task.domain, task.moves
        columns, pair_noise = self._columns(task), self._pair_noise(task)
        edges, pairs = domain.columns - 1, _pairs(task)
        choice = (
            moves.selected(self._scale(task), candidates=len(pairs), weight=1) if edges else None
        )
        steps = (
            *(moves.measured(columns),) * domain.columns,
            *((choice,) * edges if choice is not None else ()),
            *(moves.measured(pair_noise),) * edges,
        )
        return Schedule.fixed(steps, task, rounds=edges, deviation=columns.width)

    def run(self, task: Task, measurer: JointMeasurer) -> None:
        """Take all steps."""
        domain = task.domain
        for column in range(domain.columns):
            measurer.measure((column,), self._columns(task))
        model = best_fit(domain, [each.measurement for each in measurer.measured])
        singles = [model.marginal((column,)) for column in range(domain.columns)]
        part = list(range(domain.columns))
        pairs = _pairs(task)
        for _ in range(domain.columns - 1):
            joining = [pair for pair in pairs if part[pair[0]] != part[pair[1]]]
            offered = self._offered(task, measurer, joining)
            if not offered:
                break
            candidates = [
                Candidate(pair, np.outer(singles[pair[0]], singles[pair[1]]) / model.total)
                for pair in offered
            ]
            place, selection = measurer.select(candidates, self._scale(task))
            one, other = offered[place]
            joined = part[other]
            part = [part[one] if each == joined else each for each in part]
            measurer.measure(offered[place], self._pair_noise(task), selection=selection)

    def model(self, evidence: Evidence, zeros: tuple[ImpossibleCells, ...]) -> Model:
        """Rake the pairs, and multiply down the tree."""
        return best_fit(evidence.coded, evidence.measurements, zeros=zeros)

    def _offered(
        self, task: Task, measurer: JointMeasurer, pairs: list[Marginal]
    ) -> list[Marginal]:
        """Return the pairs with which a model fits into memory; a forest of pairs always does."""
        if not task.zeros:
            return pairs
        tied = [each.marginal for each in measurer.measured]
        tied += [zero.marginal for zero in task.zeros]
        return [pair for pair in pairs if model_fits(task.domain, [*tied, pair])]

    def _columns(self, task: Task) -> Gaussian:
        each = concentrated_price(task) * _THIRD / task.domain.columns
        return Gaussian(variance=variance_for(task, each))

    def _pair_noise(self, task: Task) -> Gaussian:
        each = concentrated_price(task) * _THIRD / max(1, task.domain.columns - 1)
        return Gaussian(variance=variance_for(task, each))

    def _scale(self, task: Task) -> Fraction:
        each = concentrated_price(task) * _THIRD / max(1, task.domain.columns - 1)
        return scale_for(task.moves.l1, each)


def _pairs(task: Task) -> list[tuple[int, ...]]:
    return list(itertools.combinations(range(task.domain.columns), 2))


@final
@dataclass(frozen=True, slots=True)
class Independent:
    """Measure single columns alone.

    >>> Independent().document
    {'name': 'product'}
    """

    @property
    def document(self) -> Mapping[str, Any]:
        """Its name."""
        return {"name": "product"}

    def schedule(self, task: Task) -> Schedule:
        """Give every column the same price."""
        check_zeros(task.domain, task.zeros)
        noise = _noise(task)
        steps = (task.moves.measured(noise),) * task.domain.columns
        return Schedule.fixed(steps, task, rounds=0, deviation=noise.width)

    def run(self, task: Task, measurer: JointMeasurer) -> None:
        """Measure every column."""
        for column in range(task.domain.columns):
            measurer.measure((column,), _noise(task))

    def model(self, evidence: Evidence, zeros: tuple[ImpossibleCells, ...]) -> Model:
        """Multiply the columns."""
        return best_fit(evidence.coded, evidence.measurements, zeros=zeros)


def _noise(task: Task) -> Gaussian | Laplace:
    return noise_for(task, Fraction(1, task.domain.columns))


def noise_for(task: Task, share: Fraction, *, single: bool = False) -> Gaussian | Laplace:
    """Return the noise of a marginal, or of a single count, that gets this share of the price."""
    if task.rho is not None:
        return Gaussian(variance=variance_for(task, share * task.rho, single=single))
    distance = task.moves.rows if single else task.moves.l1
    return Laplace(scale=rounded_up(distance / (share * (task.epsilon or 0))))
