"""AIM: measure what the model gets most wrong, adaptively, under a filter.

Trust: kernel.

McKenna, Mullins, Sheldon and Miklau 2022.  All columns are measured first.  Each round offers the
marginals of the workload's closure that keep the model small enough, selects one by its weight
times (its L1 distance to the model, less what noise alone would leave), and measures it.  Once less
than two rounds are left, the last one spends the rest.

Two changes.  A fit serves several rounds, which select different marginals: fits take the time, and
selections by a model that is a few rounds old are barely worse.  And noise is reduced only if a
whole batch of measurements taught less than noise would: many wide measurements, which inference
makes consistent, reveal more than few narrow ones.

The next step depends on earlier releases, so all steps run under a filter of
zero-concentrated privacy: the price is fixed beforehand, and how it is divided need not be.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange, TooLarge
from discreet.exact import whole
from discreet.mechanisms import Gaussian
from discreet.synthetic.evidence import Evidence
from discreet.synthetic.inference.dense import DenseModel
from discreet.synthetic.inference.descent import Effort
from discreet.synthetic.inference.inference import CodedDomain, ImpossibleCells, Marginal, Model
from discreet.synthetic.inference.junction_tree import MOST_BYTES, declared_bytes
from discreet.synthetic.inference.tree_model import AT_ONCE
from discreet.synthetic.measurer import Candidate, JointMeasurer
from discreet.synthetic.methods.fitting import DENSE_CELLS, ModelRoom, best_fit, check_zeros
from discreet.synthetic.methods.method import (
    Schedule,
    Task,
    concentrated_price,
    scale_for,
    variance_for,
)

_MEASURING: Final = Fraction(9, 10)
_ROUNDS_A_COLUMN: Final = 16
_MOST_CELLS: Final = 1 << 22
_FITS: Final = 32
_WORTH: Final = Fraction(1, 10**4)  # the loss to rounding is less
_NOISE: Final = math.sqrt(2 / math.pi)
_SECONDS_A_CHECK: Final = 1.5e-6  # for each two columns; measured with 20 to 60 of them
MOST_SECONDS: Final = 1800
"""How long a run may take by estimate."""
_BYTES_COMPARED: Final = 12 * 8  # of a marginal's cell: measured or expected, and copies of it
_TABLES: Final = 6  # that a marginal across the tree has at once
_QUICK: Final = Effort(steps=60, tolerance=1e-3)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AIM:
    """Select and measure marginals adaptively.

    ``rounds`` is the nominal number of rounds, 16 for each column if it is None; fewer run where
    noise is narrowed.  ``max_cells`` limits the model.

    >>> AIM().document
    {'name': 'aim', 'rounds': None, 'max_cells': 4194304}
    """

    rounds: int | None = None
    max_cells: int = _MOST_CELLS

    def __post_init__(self) -> None:
        """Refuse no rounds at all."""
        if self.rounds is not None:
            whole(self.rounds, name="rounds", low=1, high=10_000)
        whole(self.max_cells, name="max_cells", low=1, high=1 << 28)

    @property
    def document(self) -> Mapping[str, Any]:
        """Its name and parameters."""
        return {"name": "aim", "rounds": self.rounds, "max_cells": self.max_cells}

    def schedule(self, task: Task) -> Schedule:
        """Charge the price as a whole: rounds are decided on the way."""
        concentrated_price(task)
        check_zeros(task.domain, task.zeros)
        if not _room(task).fits(self.max_cells):
            raise TooLarge(
                f"single columns and constraints alone need more than {self.max_cells} cells; use "
                "fewer bins, fewer constraints, or a larger max_cells."
            )
        rounds = self._nominal(task) - task.domain.columns
        if rounds < 1:
            raise OutOfRange(
                f"AIM has {self.rounds} rounds for {task.domain.columns} columns; leave rounds "
                "out, or give more of them than there are columns."
            )
        self._check_work(task, rounds)
        variance = self._first_variance(task)
        return Schedule.filtered(task, rounds=rounds, deviation=math.sqrt(variance))

    def _check_work(self, task: Task, rounds: int) -> None:
        """Refuse what would keep a processor busy for long, before anything is charged."""
        if work_seconds(task, rounds) <= MOST_SECONDS:
            return
        most = task.domain.columns + int(MOST_SECONDS / work_seconds(task, 1))
        fewer = f"give AIM(rounds={most}), " if most > 2 * task.domain.columns else ""
        raise TooLarge(
            f"AIM would compare {len(task.workload.closure(task.domain))} marginals up to {rounds} "
            f"times, which may take {work_seconds(task, rounds) / 60:,.0f} minutes; ask for "
            f"marginals of fewer columns, list those that matter, {fewer}or use MST()."
        )

    def run(self, task: Task, measurer: JointMeasurer) -> None:
        """Measure columns, then the marginals with the largest error, until the price is spent."""
        domain, total = task.domain, concentrated_price(task)
        each = total / self._nominal(task)
        for column in range(domain.columns):
            noise = Gaussian(variance=variance_for(task, _MEASURING * each))
            measurer.measure((column,), noise)
        closure, room = task.workload.closure(domain), _room(task)
        batch = -(-self._nominal(task) // _FITS)
        model = self._fitted(task, measurer, None)
        while total - measurer.spent >= _WORTH * total:
            most = self._most_cells(task, measurer)
            open_now = [(one, weight) for one, weight in closure if room.holds(one, most)]
            offered = _offered(open_now, model)
            measured = self._batch(task, measurer, offered, room, each=each, rounds=batch)
            model = self._fitted(task, measurer, model)
            if all(
                np.abs(model.marginal(one.marginal) - one.expected).sum() <= noise
                for one, noise in measured
            ):
                each *= 4

    def _batch(  # noqa: PLR0913  what a round needs
        self,
        task: Task,
        measurer: JointMeasurer,
        offered: list[Candidate],
        room: ModelRoom,
        *,
        each: Fraction,
        rounds: int,
    ) -> list[tuple[Candidate, float]]:
        """Take this number of rounds with one model; return measured candidates and their noise."""
        total, measured = concentrated_price(task), []
        for _ in range(rounds):
            if not offered:
                break
            left = total - measurer.spent
            last = left < 2 * each
            price = left if last else each
            variance = variance_for(task, _MEASURING * price)
            candidates = [
                replace(one, penalty=_noise_norm(variance, one.expected.size)) for one in offered
            ]
            weight = max(candidate.weight for candidate in candidates)
            scale = scale_for(weight * task.moves.l1, (1 - _MEASURING) * price)
            place, selection = measurer.select(candidates, scale)
            chosen = offered.pop(place)
            measurer.measure(chosen.marginal, Gaussian(variance=variance), selection=selection)
            measured.append((chosen, _noise_norm(variance, chosen.expected.size)))
            if last:
                break
            room.tie(chosen.marginal)
            most = self._most_cells(task, measurer)
            offered = [one for one in offered if room.holds(one.marginal, most)]
        return measured

    def model(self, evidence: Evidence, zeros: tuple[ImpossibleCells, ...]) -> Model:
        """Fit all measurements."""
        return best_fit(evidence.coded, evidence.measurements, zeros=zeros)

    def _most_cells(self, task: Task, measurer: JointMeasurer) -> float:
        """Return the current limit on the model's size: it grows with the spent price."""
        return float(self.max_cells * measurer.spent / concentrated_price(task))

    def _fitted(self, task: Task, measurer: JointMeasurer, start: Model | None) -> Model:
        measurements = [each.measurement for each in measurer.measured]
        return best_fit(task.domain, measurements, zeros=task.zeros, effort=_QUICK, start=start)

    def _nominal(self, task: Task) -> int:
        return self.rounds or _ROUNDS_A_COLUMN * task.domain.columns

    def _first_variance(self, task: Task) -> Fraction:
        return variance_for(task, _MEASURING * concentrated_price(task) / self._nominal(task))


def work_seconds(task: Task, rounds: int) -> float:
    """Estimate how long a run takes at most, on one core: it rarely takes all of its rounds.

    If a vector of all cells is too large, every round triangulates the graph of the model once for
    each marginal that is on offer, which takes most of the time.
    """
    if task.domain.cells <= DENSE_CELLS:
        return 0.0
    each = _SECONDS_A_CHECK * task.domain.columns**2
    return rounds * len(task.workload.closure(task.domain)) * each


def memory_bytes(domain: CodedDomain, closure: Iterable[Marginal], max_cells: int) -> int:
    """Bound the memory of the model and of the marginals that it is compared with.

    ``ModelRoom`` offers nothing that would take more.

    >>> wide = CodedDomain(tuple("abcdefgh"), (9,) * 8)
    >>> memory_bytes(wide, [(0, 1), (1, 2)], 1 << 22) >> 20
    576
    """
    compared = _BYTES_COMPARED * sum(domain.size(marginal) for marginal in closure)
    cells = min(max_cells, domain.cells)
    model = min(MOST_BYTES, declared_bytes(domain, (), cells) + compared)
    return model + compared + _TABLES * 8 * min(AT_ONCE, domain.cells)


def _room(task: Task) -> ModelRoom:
    return ModelRoom(task.domain, [zero.marginal for zero in task.zeros])


def _offered(closure: Sequence[tuple[Marginal, int]], model: Model) -> list[Candidate]:
    expected = _marginals(model, [marginal for marginal, _ in closure])
    return [
        Candidate(marginal, values, weight)
        for (marginal, weight), values in zip(closure, expected, strict=True)
    ]


def _noise_norm(variance: Fraction, cells: int) -> float:
    """Return the mean L1 norm of noise of this variance on this number of cells."""
    return _NOISE * math.sqrt(variance) * cells


def _marginals(model: Model, marginals: Sequence[Marginal]) -> list[NDArray[np.float64]]:
    if isinstance(model, DenseModel):
        return model.marginals(marginals)
    return [model.marginal(marginal) for marginal in marginals]
