"""From the arguments of a training run to its plan and its steps; nothing is spent.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

import torch
from torch import nn

from discreet.exact import whole
from discreet.learning.deep.augmentation import Augment, ViewedRows
from discreet.learning.deep.batch_sums import BatchSums, ClipGroup, RowSource, RowTensors
from discreet.learning.deep.choice import check_model
from discreet.learning.deep.layers.short_sums import chunk_lines, priced_lines, roundings
from discreet.learning.deep.objectives import Objective
from discreet.learning.deep.runs.rank_agreement import parts_of
from discreet.learning.deep.runs.ranks import Ranks, RankTask, parameters_of
from discreet.learning.deep.runs.run_arguments import (
    check_mode,
    check_optimizer,
    check_payer,
    check_population,
    checked_rows,
    checked_views,
)
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
from discreet.learning.seats import fitting_size
from discreet.learning.side_counts import SideCounts
from discreet.learning.training_plan import TrainingPlan
from discreet.learning.training_planner import cap_of, plan_training
from discreet.ledger import Ledger
from discreet.noise import Entropy
from discreet.units import PrivacyUnit

_USUAL: Final = 256
"""How many rows are computed at once, unless somebody says so."""


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
    check_mode()
    check_optimizer(check_model(model), optimizer)
    check_payer(ledger, unit)
    inputs, targets, names = data_of(data, unit)
    units = UnitRows(int(inputs.shape[0]) if names is None else names, rows=rows_per_unit)
    check_population(units, promise["population"])
    kind = checked_clipping(clipping)
    single = checked_sums(sums, model)
    side = SideCounts.of(metrics, adaptive=kind == "adaptive")
    times = checked_views(views, augment)
    rows = checked_rows(rows_per_unit, unit) * times
    source: RowSource = RowTensors(inputs, targets)
    if augment is not None:
        source = ViewedRows(RowTensors(inputs, targets), times, augment, entropy)
        source.try_out()
    cap = cap_of(**{name: promise[name] for name in ("population", "batch", "steps", "delta")})
    size = _micro_batch(micro_batch, rows, 1 if ranks is None else ranks.count, cap)
    chunk = chunk_lines(cap) if single else 0
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
    if ranks is not None:
        task = RankTask(
            shapes=source.shapes,
            units=size,
            rows=rows,
            groups=_named(model, groups),
            normalized=kind == "normalized",
            chunk=chunk,
            side=side,
            parts=parts_of(model),
        )
        ranks.prepare(task, tried)
    plan = plan_training(
        **promise,
        clip=given,
        coordinates=sum(p.numel() for p in tried.parameters),
        rows=rows,
        micro=size,
        positions=-(-tried.engine.positions // rows),
        short=roundings(chunk) if chunk else 0,
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


def _micro_batch(given: int | None, rows: int, processes: int, cap: int) -> int:
    """Return how many units are computed at once: no more than a process ever has.

    All seats are computed, so by default they are cut into micro-batches of one size.
    """
    share = -(-cap // processes)
    if given is None:
        return fitting_size(share, most=max(1, _USUAL // rows))
    return min(whole(given, name="micro_batch", low=1), share)


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
        chunk=priced_lines(plan.one.short),
    )


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
