"""MWEM: select the cell that the model gets most wrong, measure it, and update by weights.

Trust: kernel.

Hardt, Ligett and McSherry 2012, on the cells of the marginals of the workload.  Half of the price
of a round goes to the selection, half to the measurement; a small share goes to the number of rows
first.  It has a price in epsilon alone.

Multiplicative weights: the inference of MWEM, on single cells of marginals.

Definition (Hardt, Ligett, McSherry 2012).  A measurement y of a counting query q moves the expected
counts A to A(x) exp(q(x) (y - q(A)) / 2N), scaled back to N rows.  Each fit replays all
measurements several times, and returns the last iterate: it fits the measurements far better than
the average of all iterates, which the published proof is about.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange, TooLarge
from discreet.exact import whole
from discreet.mechanisms import Gaussian, Laplace
from discreet.synthetic.evidence import Evidence, Measured
from discreet.synthetic.inference.dense import DenseModel, possible_cells, refuse_many_cells
from discreet.synthetic.inference.inference import (
    CodedDomain,
    ImpossibleCells,
    Marginal,
    Measurement,
    Model,
)
from discreet.synthetic.measurer import JointMeasurer
from discreet.synthetic.methods.method import Schedule, Task, rounded_up, scale_for
from discreet.synthetic.methods.mst import noise_for

_ROWS_SHARE: Final = Fraction(1, 50)
_HALF: Final = Fraction(1, 2)
_ROUNDS_A_CODE: Final = 8
_PURE_ROUNDS_A_CODE: Final = 2  # of a pure price, noise grows with rounds and not with their root
_MOST_ROUNDS: Final = 10_000


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MWEM:
    """Measure single cells, one a round.

    ``rounds`` is 8 for each code but one of every column, if it is None; 2 at a pure price.

    >>> MWEM(rounds=30).document
    {'name': 'mwem', 'rounds': 30, 'replays': 4}
    """

    rounds: int | None = None
    replays: int = 4

    def __post_init__(self) -> None:
        """Refuse no rounds at all."""
        if self.rounds is not None:
            whole(self.rounds, name="rounds", low=1, high=_MOST_ROUNDS)
        whole(self.replays, name="replays", low=1, high=1000)

    @property
    def document(self) -> Mapping[str, Any]:
        """Its name and parameters."""
        return {"name": "mwem", "rounds": self.rounds, "replays": self.replays}

    def schedule(self, task: Task) -> Schedule:
        """Fix all steps: the number of rows, and a selection and a measurement a round."""
        if task.domain.cells > MOST_CELLS:
            raise TooLarge(
                f"the domain has {task.domain.cells} cells, more than {MOST_CELLS}; use fewer "
                "columns or bins, or method=dp.synthetic.AIM()."
            )
        possible_cells(task.domain, task.zeros)  # refuses constraints that leave no row
        moves, rounds = task.moves, self._rounds(task)
        noise = self._noise(task)
        candidates = sum(task.domain.size(marginal) for marginal in task.workload.marginals)
        steps = (
            moves.measured(self._rows_noise(task), single=True),
            *(moves.selected_cell(self._scale(task), candidates=candidates),) * rounds,
            *(moves.measured(noise),) * rounds,
        )
        return Schedule.fixed(steps, task, rounds=rounds, deviation=noise.width)

    def run(self, task: Task, measurer: JointMeasurer) -> None:
        """Take all steps."""
        measurer.measure((), self._rows_noise(task))
        marginals, model = task.workload.marginals, None
        for _ in range(self._rounds(task)):
            model = self._updated(task.domain, measurer.measured, task.zeros, model)
            expected = [
                (marginal, values.ravel())
                for marginal, values in zip(marginals, model.marginals(marginals), strict=True)
            ]
            marginal, _, selection = measurer.select_cell(expected, self._scale(task))
            measurer.measure(marginal, self._noise(task), selection=selection)

    def model(self, evidence: Evidence, zeros: tuple[ImpossibleCells, ...]) -> Model:
        """Take all updates again, in their order."""
        model = self._updated(evidence.coded, evidence.measured[:1], zeros, None)
        for count in range(2, len(evidence.measured) + 1):
            model = self._updated(evidence.coded, evidence.measured[:count], zeros, model)
        return model

    def _updated(
        self,
        domain: CodedDomain,
        measured: Sequence[Measured],
        zeros: tuple[ImpossibleCells, ...],
        before: DenseModel | None,
    ) -> DenseModel:
        """Replay all measurements so far, starting from the current model."""
        first, *rest = measured
        marginals = [each.measurement for each in rest]
        rows = max(1.0, float(first.values[0]))
        weights = MultiplicativeWeights(rows=rows, replays=self.replays)
        return weights.fit(domain, marginals, zeros=zeros, start=before)

    def _rounds(self, task: Task) -> int:
        """Return the rounds that are asked for, or as many as columns of two codes would have."""
        codes = sum(size - 1 for size in task.domain.sizes)
        each = _PURE_ROUNDS_A_CODE if task.rho is None else _ROUNDS_A_CODE
        return self.rounds or min(_MOST_ROUNDS, each * codes)

    def _rows_noise(self, task: Task) -> Gaussian | Laplace:
        return noise_for(task, _ROWS_SHARE, single=True)

    def _noise(self, task: Task) -> Gaussian | Laplace:
        return noise_for(task, (1 - _ROWS_SHARE) * _HALF / self._rounds(task))

    def _scale(self, task: Task) -> Fraction:
        """Return the scale of a selection: a count moves by the rows of one unit either way."""
        share = (1 - _ROWS_SHARE) * _HALF / self._rounds(task)
        if task.rho is not None:
            return scale_for(task.moves.rows, share * task.rho)
        return rounded_up(2 * task.moves.rows / (share * (task.epsilon or 0)))


MOST_CELLS: Final = 1 << 20


@final
@dataclass(frozen=True, slots=True)
class CellMeasurement:
    """A noisy count of the rows in one cell of a marginal."""

    marginal: Marginal
    cell: int
    value: int
    variance: Fraction


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MultiplicativeWeights:
    """Fit expected counts by replayed multiplicative updates.

    ``rows`` is the number of rows: public, or a noisy count that was paid for.

    >>> domain = CodedDomain(("a", "b"), (2, 2))
    >>> cell = CellMeasurement((0,), 1, 75, Fraction(1))
    >>> model = MultiplicativeWeights(rows=100.0).fit(domain, [cell])
    >>> model.marginal((0,)).round(0).tolist()
    [29.0, 71.0]
    """

    rows: float
    replays: int = 15

    def fit(
        self,
        domain: CodedDomain,
        measurements: Sequence[Measurement | CellMeasurement],
        *,
        zeros: Sequence[ImpossibleCells] = (),
        start: Model | None = None,
    ) -> DenseModel:
        """Return the last iterate, from uniform counts or from an earlier model."""
        refuse_many_cells(domain, MOST_CELLS)
        if not self.rows > 0:
            raise OutOfRange(
                "the number of rows is not positive; give the public or the noisy number of rows."
            )
        counts = self._start(domain, zeros, start)
        cells = [
            single
            for measurement in measurements
            for single in (
                _cells(measurement) if isinstance(measurement, Measurement) else [measurement]
            )
        ]
        places = [(_place(domain, single), float(single.value)) for single in cells]
        for _ in range(self.replays):
            mass = self.rows  # of counts that are scaled back once a replay
            for place, value in places:
                part = counts[place]
                held = float(part.sum())
                factor = math.exp((value - held * self.rows / mass) / (2.0 * self.rows))
                part *= factor
                mass += held * (factor - 1.0)
            counts *= self.rows / float(counts.sum())
        return DenseModel(domain=domain, counts=counts.ravel())

    def _start(
        self, domain: CodedDomain, zeros: Sequence[ImpossibleCells], start: Model | None
    ) -> NDArray[np.float64]:
        if isinstance(start, DenseModel):
            return start.counts.reshape(domain.sizes) * (self.rows / start.total)
        possible = possible_cells(domain, zeros)
        counts = np.ones(domain.cells) if possible is None else possible.astype(np.float64)
        return counts.reshape(domain.sizes) * (self.rows / float(counts.sum()))


def _cells(measurement: Measurement) -> list[CellMeasurement]:
    return [
        CellMeasurement(measurement.marginal, cell, int(value), measurement.variance)
        for cell, value in enumerate(measurement.values)
    ]


def _place(domain: CodedDomain, single: CellMeasurement) -> tuple[slice, ...]:
    """Return the index of all rows in a cell."""
    codes = np.unravel_index(single.cell, domain.shape(single.marginal))
    place = [slice(None)] * domain.columns
    for column, code in zip(single.marginal, codes, strict=True):
        place[column] = slice(int(code), int(code) + 1)
    return tuple(place)
