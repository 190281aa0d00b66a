"""A model that was tried on generated rows, and how its contributions are found.

Trust: kernel.

Nothing is paid at that point, and no value of the data is looked at: rows have the shape of the
data's and generated values.  What a run rests on later (parameters, modules, modes; types, shapes,
strides and devices of all tensors; values that are not trained, attributes and hooks; settings of
PyTorch that decide how numbers are rounded) is what was tried: a step with anything else is refused
before its batch is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn

from discreet.errors import DiscreetError, NotPerExample, OtherRun, WrongKind
from discreet.learning.deep.batch_sums import ClipGroup
from discreet.learning.deep.choice import ModelEngine, choose
from discreet.learning.deep.generated import RowShape
from discreet.learning.deep.independence import refuse_mixing
from discreet.learning.deep.memory.plain_values import held_values
from discreet.learning.deep.model_state import (
    ModelModes,
    ModelState,
    TensorForms,
    refuse_change,
    refuse_memory,
)
from discreet.learning.deep.number_settings import NumberSettings
from discreet.learning.deep.objectives import Objective, SummedObjective
from discreet.learning.deep.trials.pinned_model import PinnedModel


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TriedModel:
    """A model, its objective, and what a trial has found."""

    model: nn.Module
    objective: SummedObjective
    engine: ModelEngine
    parameters: tuple[nn.Parameter, ...]
    modes: ModelModes
    forms: TensorForms
    pinned: PinnedModel
    settings: NumberSettings

    def check(self) -> None:
        """Refuse a model that is not the one that was tried, or not computed as it was."""
        self.settings.check()
        self.modes.check(self.model)
        self.forms.check(self.model)
        self.pinned.check(self.model)
        now = [p for p in self.model.parameters() if p.requires_grad]
        if len(now) != len(self.parameters) or any(
            a is not b for a, b in zip(now, self.parameters, strict=True)
        ):
            raise OtherRun(
                what="parameters of the model were replaced in the middle of a run.",
                why="the plan was made, and contributions were tested, for those before.",
                do="make a new Training for the changed model.",
            )


def _outputs(model: nn.Module, rows: Tensor) -> object:
    """Run a model on generated rows; its words about a failure hold no value of the data."""
    try:
        with torch.no_grad():
            return model(rows)
    except DiscreetError:
        raise
    except Exception as failure:
        shape = " by ".join(map(str, rows.shape[1:])) or "one number"
        raise WrongKind(
            what=f"the model cannot be run on generated rows of {shape}, {rows.dtype} "
            f"({type(failure).__name__}: {' '.join(str(failure).split())[:200]}).",
            why="they have the shape and the type of the data's rows, so a step would fail.",
            do="give inputs as the first layer takes them, such as X.float().",
        ) from failure


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
    settings, forms = NumberSettings.now(), TensorForms.of(model)
    outputs = _outputs(model, x[: min(8, count)])
    if not isinstance(outputs, Tensor) or outputs.dim() == 0:
        raise NotPerExample(
            what=f"the model returns a {type(outputs).__name__}, not one line for each example.",
            why="an objective is a function of the outputs and targets of single examples.",
            do="let forward return one tensor; put several outputs side by side with torch.cat, "
            "and let the objective take them apart.",
        )
    summed = SummedObjective.tested(objective, outputs, y[: outputs.shape[0]])
    held = held_values(objective)  # after a first call, which may have made constants
    engine = choose(model, summed, x, y, units=units)
    refuse_mixing(
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
    refuse_memory(held, objective)
    return TriedModel(
        model=model,
        objective=summed,
        engine=engine,
        parameters=tuple(p for p in model.parameters() if p.requires_grad),
        modes=modes,
        forms=forms,
        pinned=PinnedModel.of(model),
        settings=settings,
    )
