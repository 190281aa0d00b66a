"""From the arguments of a training run to its plan and its steps; nothing is spent.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import torch
from torch import nn

from discreet.errors import NotSampled, OutOfRange, WrongKind
from discreet.exact import whole
from discreet.learning.deep.augmentation import Augment, ViewedRows
from discreet.learning.deep.batch_sums import BatchSums, ClipGroup, RowSource, RowTensors
from discreet.learning.deep.choice import check_model
from discreet.learning.deep.layers.short_sums import ROUNDINGS
from discreet.learning.deep.objectives import Objective
from discreet.learning.deep.runs.rank_agreement import parts_of
from discreet.learning.deep.runs.ranks import Ranks, RankTask, parameters_of
from discreet.learning.deep.runs.saved_state import SavedState
from discreet.learning.deep.runs.step_sums import StepSums
from discreet.learning.deep.runs.training_step import TrainingStep
from discreet.learning.deep.training_data import (
    checked_clipping,
    checked_sums,
    clip_groups,
    data_of,
    normalized_groups,
)
from discreet.learning.deep.tried_model import TriedModel, try_model
from discreet.learning.run_charges import RunCharges
from discreet.learning.sampling import UnitRows
from discreet.learning.side_counts import SideCounts
from discreet.learning.training_plan import TrainingPlan
from discreet.learning.training_planner import plan_training
from discreet.ledger import Ledger
from discreet.noise import Entropy
from discreet.units import PrivacyUnit


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RunSetup:
    """A plan, how its steps are taken, and what is saved between them."""

    plan: TrainingPlan
    stepper: TrainingStep
    saved: SavedState


def set_up(  # noqa: PLR0913  a run depends on all of it
    model: nn.Module,
    *,
    objective: Objective,
    data: tuple[Any, ...],
    optimizer: torch.optim.Optimizer,
    ledger: Ledger,
    unit: PrivacyUnit,
    rows_per_unit: int,
    micro_batch: int | None,
    clip: object,
    clipping: str,
    sums: str,
    views: int,
    augment: Augment | None,
    metrics: Mapping[str, object] | None,
    ranks: Ranks | None,
    constant_work: bool,
    entropy: Entropy,
    promise: Mapping[str, Any],
) -> RunSetup:
    """Check all arguments, try the model, and plan; ``promise`` goes to the plan as it is."""
    _check_arguments(check_model(model), optimizer, unit, ledger)
    inputs, targets, names = data_of(data, unit)
    units = UnitRows(int(inputs.shape[0]) if names is None else names, rows=rows_per_unit)
    _check_population(units, promise["population"])
    kind = checked_clipping(clipping)
    single = checked_sums(sums, model)
    side = SideCounts.of(metrics, adaptive=kind == "adaptive")
    times = _checked_views(views, augment)
    rows = whole(rows_per_unit, name="rows_per_unit", low=1) * times
    source: RowSource = RowTensors(inputs, targets)
    if augment is not None:
        source = ViewedRows(RowTensors(inputs, targets), times, augment)
        source.view(source.shapes[0].rows(1, seed=3, device=torch.device("cpu"))[0])
    size = whole(micro_batch or max(1, 256 // rows), name="micro_batch", low=1)
    size = min(size, max(1, 2 * whole(promise["batch"], name="batch", low=1)))
    given = clip_groups(model, clip)
    groups = normalized_groups(model, given, views=times)
    tried = try_model(
        model,
        objective,
        shapes=source.shapes,
        units=size,
        rows=rows,
        groups=groups,
        told="objective" in side.names,
    )
    drift = tried.drift
    if ranks is not None:
        task = RankTask(
            shapes=source.shapes,
            units=size,
            rows=rows,
            groups=_named(model, groups),
            normalized=kind == "normalized",
            single=single,
            side=side,
            parts=parts_of(model),
        )
        drift = ranks.prepare(task, tried)
    plan = plan_training(
        **promise,
        clip=given,
        coordinates=sum(p.numel() for p in tried.parameters),
        rows=rows,
        micro=size,
        positions=-(-tried.engine.positions // rows),
        short=ROUNDINGS if single else 0,
        drift=drift,
        floors=1 if ranks is None else ranks.count,
        side=side,
        memory=tried.engine.memory,
        layers=tried.engine.layers,
        model=_described(model, optimizer, kind, times),
    )
    adding = StepSums(_batch_sums(tried, source, groups, plan, kind), side, tried.objective)
    if ranks is not None:
        ranks.begin(adding, plan.one.grid.step)
    stepper = TrainingStep(
        tried,
        plan,
        units,
        adding,
        RunCharges(ledger, plan),
        optimizer=optimizer,
        entropy=entropy,
        ranks=ranks,
        constant_work=constant_work,
    )
    saved = SavedState(model, optimizer, adding.sums.device)
    return RunSetup(plan=plan, stepper=stepper, saved=saved)


def _batch_sums(
    tried: TriedModel,
    source: RowSource,
    groups: tuple[ClipGroup, ...],
    plan: TrainingPlan,
    clipping: str,
) -> BatchSums:
    return BatchSums(
        tried.model,
        tried.engine,
        source,
        groups=groups,
        micro=plan.micro,
        normalized=clipping == "normalized",
        device=next(iter(tried.model.parameters())).device,
        single=plan.one.short > 0,
    )


def _check_arguments(
    model: nn.Module, optimizer: torch.optim.Optimizer, unit: PrivacyUnit, ledger: Ledger
) -> None:
    """Refuse an optimizer of another model, and a unit of another ledger."""
    known = {id(p) for p in model.parameters()}
    groups = getattr(optimizer, "param_groups", None)
    if groups is None or any(id(p) not in known for g in groups for p in g["params"]):
        raise WrongKind(
            what="the optimizer is not one of the parameters of this model.",
            why="it would update something else with noisy gradients, or nothing.",
            do="give, say, torch.optim.SGD(model.parameters(), lr=1).",
        )
    if unit != ledger.unit:
        raise WrongKind(
            what="the unit of the run is not that of its ledger.",
            why="the ledger promises protection to its own unit.",
            do="give unit=ledger.unit.",
        )


def _check_population(units: UnitRows, population: int) -> None:
    """Refuse data with more units than were promised."""
    if units.units > whole(population, name="population", low=1):
        raise NotSampled(
            what="the data has more units than its declared population.",
            why="the population is a public promise, and the chance of a large batch is "
            "computed from it.",
            do="declare a larger population; that it is an upper bound is enough.",
        )


def _checked_views(views: int, augment: Augment | None) -> int:
    """Read how many views there are of each row."""
    times = whole(views, name="views", low=1, high=1 << 16)
    if times > 1 and augment is None:
        raise OutOfRange(
            what="there are several views of each row, and no augment.",
            why="views that are all the same cost time and change nothing.",
            do="give augment, a function of one row that returns a random view of it.",
        )
    return times


def _named(model: nn.Module, groups: tuple[ClipGroup, ...]) -> Any:
    """Return groups by the names of their parameters, for another process."""
    return tuple(
        (
            tuple(name for name, p in model.named_parameters() if p in group.parameters),
            group.bound.bound,
            group.threshold,
        )
        for group in groups
    )


def _described(
    model: nn.Module, optimizer: torch.optim.Optimizer, clipping: str, views: int
) -> dict[str, Any]:
    """Describe model and optimizer by public facts."""
    return {
        "parameters": [list(map(_plain, each)) for each in parameters_of(model)],
        "optimizer": type(optimizer).__name__,
        "clipping": clipping,
        **({"views": views} if views > 1 else {}),
    }


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
