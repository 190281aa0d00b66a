"""Multiplicative weights: the inference of MWEM, on single cells of marginals.

Trust: public.

Definition (Hardt, Ligett, McSherry 2012).  A measurement y of a counting query q moves the expected
counts A to A(x) exp(q(x) (y - q(A)) / 2N), scaled back to N rows.  Each fit replays all
measurements several times, and returns the last iterate: it fits the measurements far better than
the average of all iterates, which the published proof is about.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange
from discreet.synthetic.inference.dense import DenseModel, possible_cells, refuse_many_cells
from discreet.synthetic.inference.inference import Model
from discreet.synthetic.inference.values import CodedDomain, ImpossibleCells, Marginal, Measurement

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
                what="the number of rows is not positive.",
                why="updates are taken relative to it.",
                do="give the public or the noisy number of rows.",
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
