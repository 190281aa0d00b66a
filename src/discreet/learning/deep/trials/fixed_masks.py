"""What units contribute under masks of dropout that are fixed, and changed for some of them.

Trust: kernel.

Dropout is given numbers of single rows, but a model may let a mask reach other rows: by the mask of
the first row, by the mean of all, by a shift of rows.  So masks are fixed; then those of some units
are turned over, number by number, and nothing may move in what the others contribute.
Whose mask it is follows from one dimension of what dropout is given, in which rows lie one after
another, perhaps with several lines each.  If contributions follow from one's own masks in *some*
such order, no two examples share a coin, whatever order the author had in mind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final, final

import torch
from torch import Tensor, nn

from discreet.errors import ExamplesMix
from discreet.learning.deep.examples import ExampleGradients
from discreet.learning.deep.generated import DROPOUTS
from discreet.learning.deep.trial import Trial

_ROUNDS: Final = 4
_DRAWS: Final = 12
"""Where as many fair coins fall alike, a mask is not turned: one of 4096, other ones each round."""


@final
@dataclass(frozen=True, slots=True)
class MaskedCall:
    """One call of a dropout in a pass, and the dimension in which rows follow each other."""

    module: nn.Module
    along: int


def masked_calls(model: nn.Module, rows: Tensor) -> list[tuple[str, torch.Size]]:
    """Return what each active dropout is given, call by call."""
    found: list[tuple[str, torch.Size]] = []
    handles = []
    for name, module in model.named_modules():
        if type(module) in DROPOUTS and module.training and module.p > 0:

            def hook(_module: nn.Module, given: tuple[Any, ...], name: str = name) -> None:
                found.append((name, given[0].shape))

            handles.append(module.register_forward_pre_hook(hook))
    try:
        with torch.no_grad():
            model(rows)
    finally:
        for handle in handles:
            handle.remove()
    return found


def moved_by_masks(trial: Trial, calls: Sequence[MaskedCall]) -> str | None:
    """Return the name of a weight to which a unit contributes in view of masks of others."""
    if not calls:
        return None
    stream = torch.Generator().manual_seed(0)
    batch = trial.batch(17)
    nobody = torch.zeros(trial.units, dtype=torch.bool)
    for seed in range(_ROUNDS if trial.units > 1 else 0):
        order = torch.randperm(trial.units, generator=stream)
        count = 1 if seed % 2 else trial.units // 2
        before = _lines(trial, batch, calls, turned=nobody, seed=seed)
        for kept in (order[:count], order[count:]):
            turned = nobody.index_fill(0, kept, value=True).logical_not()
            after = _lines(trial, batch, calls, turned=turned, seed=seed)
            for (name, one), (_, other) in zip(before, after, strict=True):
                if not _same(one[kept], other[kept]):
                    return name
    return None


def _lines(
    trial: Trial,
    batch: tuple[Tensor, Tensor, Tensor],
    calls: Sequence[MaskedCall],
    *,
    turned: Tensor,
    seed: int,
) -> list[tuple[str, Tensor]]:
    """Return all that is known of units, where the masks of some of them are turned over."""
    x, y, inside = batch
    rows = turned.repeat_interleave(trial.count).to(trial.device)
    names = {id(p): name for name, p in trial.model.named_parameters()}
    found: list[tuple[str, Tensor]] = []
    if not isinstance(trial.contributions, ExampleGradients):
        with _fixed(calls, rows, seed):
            parts = trial.contributions.parts(x, y, inside, trial.units)
        for part in parts:
            found += [(names[id(part.owner)], value.cpu().clone()) for value in part.lines()]
    if trial.objective is not None:
        with _fixed(calls, rows, seed), torch.no_grad():
            told = trial.objective.each(trial.model(x), y)
        found.append(("the objective", told.reshape(trial.units, -1).cpu()))
    return found


@contextmanager
def _fixed(calls: Sequence[MaskedCall], turned: Tensor, seed: int) -> Iterator[None]:
    """Give the calls of a pass masks of fair coins, by a seed, that are turned in some rows."""
    order = iter(enumerate(calls))

    def masked(module: nn.Module, given: Tensor) -> Tensor:
        place, call = next(order, (0, None))
        if call is None or call.module is not module or given.shape[call.along] % len(turned):
            raise sharing("uses dropout otherwise where there are more examples")
        torch.manual_seed(seed * len(calls) + place)
        ours = theirs = _drawn(module, given)
        for _ in range(_DRAWS if bool(turned.any()) else 0):
            theirs = torch.where(theirs == ours, _drawn(module, given), theirs)
        lines = turned.repeat_interleave(given.shape[call.along] // len(turned))
        shape = [1] * given.dim()
        shape[call.along] = -1
        found = torch.where(lines.view(shape), theirs, ours)
        return given.copy_(found) if module.inplace else found

    with ExitStack() as stack:
        for module in {call.module for call in calls}:
            stack.enter_context(_replaced(module, masked))
        yield


@contextmanager
def _replaced(module: nn.Module, masked: Any) -> Iterator[None]:
    """Let a dropout do something else for a while, with fair coins."""
    chance = module.p
    module.forward = lambda given: masked(module, given)
    module.p = 0.5
    try:
        yield
    finally:
        module.p = chance
        del module.forward


def _drawn(module: nn.Module, given: Tensor) -> Tensor:
    found: Tensor = type(module).forward(module, given.clone())
    return found


def sharing(how: str) -> ExamplesMix:
    """Return the error for a model whose examples share coins."""
    return ExamplesMix(
        what=f"the model {how}.",
        why="examples that share a coin contribute together, and who shares one with whom changes "
        "when another example enters: one of them moves more than its own contribution.",
        do="use nn.Dropout on tensors with numbers of examples, and on no weights; let a mask "
        "reach its own example alone; set modules that leave layers out, or draw in another way, "
        "to .eval().",
    )


def _same(one: Tensor, another: Tensor) -> bool:
    """Compare to the bit; what is no number equals itself."""
    return bool(torch.allclose(one, another, rtol=0.0, atol=0.0, equal_nan=True))
