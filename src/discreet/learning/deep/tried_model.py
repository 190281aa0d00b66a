"""A model that was tried on generated rows: how its contributions are found, and their drift.

Trust: kernel.

Nothing is paid at that point, and no value of the data is looked at: rows have the shape of the
data's and generated values.  What a run rests on later (parameters, modules, modes) is what was
tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import torch
from torch import Tensor, nn

from discreet.errors import NotPerExample, OtherRun
from discreet.learning.deep.batch_sums import ClipGroup
from discreet.learning.deep.choice import ModelEngine, choose
from discreet.learning.deep.generated import RowShape
from discreet.learning.deep.independence import measured_drift
from discreet.learning.deep.model_state import ModelModes, ModelState, refuse_change
from discreet.learning.deep.objectives import Objective, SummedObjective


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TriedModel:
    """A model, its objective, and what a trial has found."""

    model: nn.Module
    objective: SummedObjective
    engine: ModelEngine
    drift: Fraction
    parameters: tuple[nn.Parameter, ...]
    modes: ModelModes

    def check(self) -> None:
        """Refuse a model that is not the one that was tried."""
        self.modes.check(self.model)
        now = [p for p in self.model.parameters() if p.requires_grad]
        if len(now) != len(self.parameters) or any(
            a is not b for a, b in zip(now, self.parameters, strict=True)
        ):
            raise OtherRun(
                what="parameters of the model were replaced in the middle of a run.",
                why="the plan was made, and contributions were tested, for those before.",
                do="make a new Training for the changed model.",
            )


def try_model(  # noqa: PLR0913  a model, and the shape of its micro-batches
    model: nn.Module,
    objective: Objective,
    *,
    shapes: tuple[RowShape, RowShape],
    units: int,
    rows: int,
    groups: tuple[ClipGroup, ...],
    told: bool = False,
) -> TriedModel:
    """Try a model on micro-batches of generated rows; refuse one whose examples mix.

    Args:
        model: any module.
        objective: a function of outputs and targets.
        shapes: those of one row of inputs and of targets.
        units: how many units a micro-batch has.
        rows: how many rows each of them has, views included.
        groups: the parameters that are clipped together.
        told: whether the objective is told.
    """
    device = next(iter(model.parameters())).device
    count = units * rows
    x = shapes[0].rows(count, seed=1, device=device)
    y = shapes[1].rows(count, seed=2, device=device)
    modes, fresh = ModelModes.of(model), ModelState.of(model, values=True)
    with torch.no_grad():
        outputs = model(x[: min(8, count)])
    if not isinstance(outputs, Tensor) or outputs.dim() == 0:
        raise NotPerExample(
            what=f"the model returns a {type(outputs).__name__}, not one line for each example.",
            why="an objective is a function of the outputs and targets of single examples.",
            do="let forward return one tensor; put several outputs side by side with torch.cat, "
            "and let the objective take them apart.",
        )
    summed = SummedObjective.tested(objective, outputs, y[: outputs.shape[0]])
    engine = choose(model, summed, x, y, units=units)
    drift = measured_drift(
        model,
        engine.contributions,
        summed,
        inputs=shapes[0],
        targets=shapes[1],
        units=units,
        rows=rows,
        device=device,
        groups=tuple(group.parameters for group in groups),
        told=told,
    )
    refuse_change(fresh, model)
    return TriedModel(
        model=model,
        objective=summed,
        engine=engine,
        drift=drift,
        parameters=tuple(p for p in model.parameters() if p.requires_grad),
        modes=modes,
    )
