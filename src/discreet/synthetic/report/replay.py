"""A run played again from its evidence: what each round was offered, without any data.

Trust: public.  It holds released numbers alone, and draws nothing.

A method chooses each measurement from earlier answers, so a measurer that answers from the evidence
makes it take the same steps again.  The replay shows the candidates of each selection, and the
model's answers for them: all inputs of a bound on the candidates that were not chosen.
Models are floats, and another machine may round them otherwise.  If a step differs from the one on
record, the run is no longer that of the evidence, and its selections give no bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DiscreetError
from discreet.mechanisms import Gaussian, Laplace
from discreet.synthetic.constraints import impossible
from discreet.synthetic.evidence import Evidence, Measured, Selection
from discreet.synthetic.inference.inference import Marginal
from discreet.synthetic.joint import UnitMoves
from discreet.synthetic.measurer import Candidate, Spending
from discreet.synthetic.program import SyntheticDraw
from discreet.synthetic.report.marginal_bounds import (
    CellRound,
    SelectionRound,
    noise_law,
    noisy_marginal,
)

Vector = NDArray[np.float64]


class _OtherRunError(Exception):
    """A step is not the one on record."""


@final
class Replayer:
    """Answers a method from its evidence, in place of a measurer, and notes every selection."""

    __slots__ = ("_measured", "_moves", "_place", "_recorded", "_rounds", "_spending")

    def __init__(self, evidence: Evidence, moves: UnitMoves, spending: Spending) -> None:
        """Take the record, and what held the run to its price."""
        self._recorded = evidence.measured
        self._moves = moves
        self._spending = spending
        self._place = 0
        self._measured: list[Measured] = []
        self._rounds: list[SelectionRound | CellRound] = []

    @property
    def measured(self) -> tuple[Measured, ...]:
        """What was measured so far."""
        return tuple(self._measured)

    @property
    def spent(self) -> Fraction:
        """What was spent so far."""
        return self._spending.spent

    @property
    def rounds(self) -> tuple[SelectionRound | CellRound, ...]:
        """The selections so far."""
        return tuple(self._rounds)

    def measure(
        self,
        marginal: Marginal,
        noise: Gaussian | Laplace,
        *,
        cell: int | None = None,
        selection: Selection | None = None,
    ) -> Measured:
        """Return the next measurement on record."""
        if self._place >= len(self._recorded):
            raise _OtherRunError
        found = self._recorded[self._place]
        scale = noise.variance if isinstance(noise, Gaussian) else noise.scale
        same = (found.marginal, found.cell, found.scale, found.selection)
        if same != (marginal, cell, scale, selection):
            raise _OtherRunError
        self._spending.spend(self._moves.measured(noise, single=cell is not None or not marginal))
        self._place += 1
        self._measured.append(found)
        return found

    def select(self, candidates: Sequence[Candidate], scale: Fraction) -> tuple[int, Selection]:
        """Return the choice on record, and note what it was chosen from."""
        weight = max(candidate.weight for candidate in candidates)
        step = self._moves.selected(scale, candidates=len(candidates), weight=weight)
        self._spending.spend(step)
        found, selection = self._chosen(len(candidates), scale)
        places = {candidate.marginal: place for place, candidate in enumerate(candidates)}
        if found.marginal not in places:
            raise _OtherRunError
        self._rounds.append(
            SelectionRound(
                measured=noisy_marginal(found),
                expected={each.marginal: each.expected for each in candidates},
                weights={each.marginal: float(each.weight) for each in candidates},
                offsets={each.marginal: float(each.penalty) for each in candidates},
                scale=float(scale),
            )
        )
        return places[found.marginal], selection

    def select_cell(
        self, expected: Sequence[tuple[Marginal, Vector]], scale: Fraction
    ) -> tuple[Marginal, int, Selection]:
        """Return the cell on record, and note what it was chosen from."""
        cells = sum(public.size for _, public in expected)
        self._spending.spend(self._moves.selected_cell(scale, candidates=cells))
        found, selection = self._chosen(cells, scale)
        known = dict(expected)
        if found.marginal not in known:
            raise _OtherRunError
        said = known[found.marginal].ravel()
        self._rounds.append(
            CellRound(
                measured=found.values,
                chosen=said if found.cell is None else said[[found.cell]],
                law=noise_law(found),
                expected=known,
                scale=float(scale),
            )
        )
        return found.marginal, found.cell or 0, selection

    def _chosen(self, candidates: int, scale: Fraction) -> tuple[Measured, Selection]:
        number = len(self._rounds)
        for found in self._recorded:
            selection = found.selection
            if selection is not None and selection.round == number:
                if (selection.candidates, selection.scale) != (candidates, scale):
                    raise _OtherRunError
                return found, selection
        raise _OtherRunError


def selection_rounds(
    planned: SyntheticDraw, evidence: Evidence
) -> tuple[SelectionRound | CellRound, ...]:
    """Return what every selection of a run was made from; nothing if it cannot be played again."""
    if not any(each.selection for each in evidence.measured):
        return ()
    method, zeros = planned.method, impossible(evidence.domain, evidence.constraints)
    task = replace(planned.task, domain=evidence.coded, zeros=zeros)
    replayer = Replayer(evidence, task.moves, planned.schedule.spending())
    try:
        method.run(task, replayer)  # type: ignore[arg-type]  # it has the same methods
    except (_OtherRunError, DiscreetError):
        return ()
    return replayer.rounds


def last_offers(
    rounds: Sequence[SelectionRound | CellRound], wanted: Sequence[Marginal]
) -> tuple[SelectionRound | CellRound, ...]:
    """Return the rounds that were the last to offer a wanted marginal: later models knew more."""
    last = {r: place for place, each in enumerate(rounds) for r in each.expected}
    return tuple(rounds[place] for place in sorted({last[r] for r in wanted if r in last}))
