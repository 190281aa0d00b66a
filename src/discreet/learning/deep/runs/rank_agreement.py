"""Do all processes hold one model, and find the same contributions with it?

Trust: kernel.

Units that several processes compute are always seated (:mod:`discreet.learning.seats`), so that a
unit more moves nobody into another process: rounding may differ between them.  What is found out
here is whether they compute the same thing, as the plan says.

State.  Parameters, frozen ones too, buffers and tensors that are plain attributes have the names,
shapes and types of rank 0's, modules its classes, modes and chances of dropout; values are sent
before anything is tried, and again in each step if they were written to.  Settings of PyTorch that
decide how numbers are rounded are rank 0's.
Contributions.  On the same generated micro-batches, every process compares the sum of all units,
each with a sign, the norms that they are clipped by, and the objective where that is told, with
rank 0's; with all weights moved a little, too, since nothing comes through a layer of zeros.  A
gross difference is refused.
Not found: code that differs between processes on other rows alone.
"""

from __future__ import annotations

import math
from typing import Any, final

import torch
from torch import Tensor, nn

from discreet.learning.deep.generated import DROPOUTS, without_dropout
from discreet.learning.deep.independence import TRIED, shaken
from discreet.learning.deep.memory.attributes import tensors_of
from discreet.learning.deep.model_state import writes_to
from discreet.learning.deep.runs.rank_messages import broadcast
from discreet.learning.deep.trial import Groups, Trial, Unit, shares_apart

ModelParts = tuple[tuple[Any, ...], ...]


def parts_of(model: nn.Module) -> ModelParts:
    """Return what models of all processes have in common, but for values."""
    tensors = tuple(
        (name, tuple(value.shape), str(value.dtype), value.requires_grad)
        for name, value in tensors_of(model)
    )
    modules = tuple(
        (name, type(m).__name__, m.training, m.p if type(m) in DROPOUTS else None)
        for name, m in model.named_modules()
    )
    return tensors + modules


@final
class SharedState:
    """The tensors of rank 0's model, and which of them the others have."""

    def __init__(self, model: nn.Module) -> None:
        """Take a model of which nothing was sent."""
        self._model = model
        self._sent: dict[str, tuple[Tensor, int]] = {}

    def stale(self) -> tuple[str, ...]:
        """Return the names of tensors that are trained, or that others have no values of."""
        return tuple(
            name
            for name, value in tensors_of(self._model)
            if value.requires_grad or not self._known(name, value)
        )

    def _known(self, name: str, value: Tensor) -> bool:
        sent = self._sent.get(name)
        return sent is not None and sent[0] is value and sent[1] == writes_to(value)

    def exchange(self, names: tuple[str, ...]) -> None:
        """Give all processes rank 0's values of some tensors."""
        tensors = dict(tensors_of(self._model))
        for name in names:
            broadcast(tensors[name].detach())
            self._sent[name] = (tensors[name], writes_to(tensors[name]))


def generated_batches(trial: Trial) -> list[Unit]:
    """Return what micro-batches of generated rows contribute; in every process the same ones."""
    devices = [trial.device] if trial.device.type == "cuda" else []
    with without_dropout(trial.model), torch.random.fork_rng(devices=devices):
        found = [trial.whole(seed) for seed in range(TRIED)]
        with shaken(trial.model):
            return [*found, trial.whole(TRIED)]


def share_from_first(batches: list[Unit], groups: Groups) -> float:
    """Return how far micro-batches are from those of rank 0, over their norms.

    Where rank 0's are not finite, as with weights that were moved, others must not be either.
    """
    worst = 0.0
    for own in batches:
        totals = {p: values.clone() for p, values in own.totals.items()}
        lengths = torch.tensor(own.lengths, dtype=torch.float64)
        for values in (*totals.values(), lengths):
            broadcast(values)
        first = Unit(totals, lengths.tolist())
        if not _finite(first):
            worst = max(worst, math.inf if _finite(own) else 0.0)
            continue
        worst = max(worst, *shares_apart(groups, first, own))
    return worst


def _finite(batch: Unit) -> bool:
    """Say whether all numbers of a micro-batch are."""
    return all(map(math.isfinite, batch.lengths)) and all(
        bool(values.isfinite().all()) for values in batch.totals.values()
    )
