"""Do all processes hold one model, and find the same contributions with it?

Trust: kernel.

A unit more in a batch moves others into another share, so that another process computes what they
contribute.  All processes must find the same, or one unit would move what many others add.

State.  Parameters, frozen ones too, buffers and tensors that are plain attributes have the names,
shapes and types of rank 0's, modules its classes, modes and chances of dropout; values are sent
before anything is tried, and again in each step if they were written to.
Contributions.  On the same generated rows, every process compares what units contribute, the norms
that they are clipped by, and the objective where that is told, with rank 0's.  A gross difference
is refused; a small one r of processes whose libraries or devices round differently is priced: two
of them are at most 2 r apart, and the safety factor is that of the drift.
Assumes: processes that agree on generated rows agree on all.
"""

from __future__ import annotations

from typing import Any, final

import torch
from torch import Tensor, nn

from discreet.learning.deep.generated import DROPOUTS, without_dropout
from discreet.learning.deep.independence import TRIED
from discreet.learning.deep.model_state import tensors_of, writes_to
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


def generated_units(trial: Trial) -> list[Unit]:
    """Return what units of generated rows contribute; in every process the same ones."""
    devices = [trial.device] if trial.device.type == "cuda" else []
    with without_dropout(trial.model), torch.random.fork_rng(devices=devices):
        return [
            trial.vector(trial.rows(seed, trial.count), place=0, company=seed + 100)
            for seed in range(TRIED)
        ]


def share_from_first(units: list[Unit], groups: Groups) -> float:
    """Return how far units are from those of rank 0, over their norms."""
    worst = 0.0
    for unit in units:
        totals = {p: values.clone() for p, values in unit.totals.items()}
        lengths = torch.tensor(unit.lengths, dtype=torch.float64)
        for values in (*totals.values(), lengths):
            broadcast(values)
        first = Unit(totals, lengths.tolist())
        worst = max(worst, *shares_apart(groups, first, unit))
    return worst
