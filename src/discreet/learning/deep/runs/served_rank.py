"""A process that computes shares of the sums of rank 0, in answer to its messages.

Trust: kernel.  :mod:`discreet.learning.deep.runs.ranks` has the theorem.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn

from discreet.learning.deep.batch_sums import BatchSums, RowTensors
from discreet.learning.deep.choice import check_model
from discreet.learning.deep.number_settings import NumberSettings
from discreet.learning.deep.objectives import Objective
from discreet.learning.deep.runs.rank_agreement import (
    SharedState,
    generated_batches,
    parts_of,
    share_from_first,
)
from discreet.learning.deep.runs.rank_messages import received, told
from discreet.learning.deep.runs.ranks import RankTask, floored_share, groups_of, trial_of
from discreet.learning.deep.runs.step_sums import StepSums
from discreet.learning.deep.tried_model import TriedModel, try_model
from discreet.noise import SYSTEM, Entropy


def serve_rank(model: nn.Module, *, objective: Objective, entropy: Entropy = SYSTEM) -> int:
    """Compute shares of the sums of rank 0 until it closes; return how many there were.

    >>> serve_rank(nn.ReLU(), objective=nn.functional.mse_loss)
    Traceback (most recent call last):
        ...
    discreet.errors.OutOfRange: no parameter of the model is trainable...
    """
    state = SharedState(check_model(model))
    sums: StepSums | None = None
    task: RankTask | None = None
    tried: TriedModel | None = None
    served = 0
    while True:
        message = told(None)
        if message[0] == "end":
            return served
        if message[0] == "prepare":
            task = message[1]
            dist.gather_object(parts_of(model) == task.parts, None, dst=0)
            continue
        assert task is not None  # noqa: S101  prepared before anything else
        if message[0] == "try":
            state.exchange(message[1])
            tried, sums = _prepared(model, objective, task)
            continue
        assert tried is not None  # noqa: S101  tried before the first share
        assert sums is not None  # noqa: S101
        if message[0] == "compare":
            trial = trial_of(tried, task)
            found = share_from_first(generated_batches(trial), trial.groups)
            dist.gather_object(found, None, dst=0)
            continue
        _, factor, step, sizes, names = message
        state.exchange(names)
        count = sizes[dist.get_rank()] * task.rows
        x, y = (received((count, *s.shape), s.dtype) for s in task.shapes)
        inside = received((count,), torch.bool)
        sums.sums.data = RowTensors(x, y)
        places = torch.where(inside, torch.arange(count), -1).numpy().reshape(-1, task.rows)
        cells = floored_share(sums, places, factor, step, entropy, share=tried)
        dist.reduce(cells, dst=0)
        served += 1


def _prepared(
    model: nn.Module, objective: Objective, task: RankTask
) -> tuple[TriedModel, StepSums]:
    """Try the model here, too, and answer with the settings under which it computes."""
    answer: NumberSettings | None = None
    try:
        groups = groups_of(model, task)
        tried = try_model(
            model,
            objective,
            shapes=task.shapes,
            units=task.units,
            rows=task.rows,
            groups=groups,
            told="objective" in task.side.names,
        )
        sums = BatchSums(
            model,
            tried.engine,
            RowTensors(torch.zeros(0), torch.zeros(0)),
            groups=groups,
            micro=task.units,
            normalized=task.normalized,
            chunk=task.chunk,
            device=next(iter(model.parameters())).device,
        )
        answer = tried.settings
    finally:
        dist.gather_object(answer, None, dst=0)
    return tried, StepSums(sums, task.side, tried.objective)
