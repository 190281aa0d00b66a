"""Does an example contribute the same beside any others?  Tried, before anything is paid.

Trust: kernel.

On generated rows, what units contribute is computed (a) with other companions, at every place of
the micro-batch, among them huge and tiny ones, ones that are not finite, padding, and ones whose
targets are ignored or no class at all, (b) in other places, (c) a second time; (d) no tensor of the
model may change; (e) the sum without clipping is autograd's own gradient; (f) norms are those of
single gradients; (g) no two rows share a coin.  Where some weights are contributed nothing, such as
those behind a layer that begins at zero, (a) to (c) and (g) are tried once more with all weights
moved, by several sizes; weights that are contributed nothing by any of them are refused.

A gross difference is refused.  So is one of a single bit between companions: rows whose outputs
cancel magnify it without a bound, so no price covers it.  A place may be worth a bit, as it is
where a library multiplies the last rows of a matrix otherwise, and nothing is concluded from bits
that agree: units take random seats wherever there is more than one (:mod:`discreet.learning.seats`,
key ``random-seats``).
Assumes: if no companion among generated rows moves a bit of what a unit contributes in its seat,
none does.  This is tested, and not proved.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import torch
from torch import Tensor, nn

from discreet.errors import LayerNotProvable
from discreet.learning.deep.companions import (
    COMPARED,
    GROSS,
    compare_companions,
    compare_tokens,
    mixing,
)
from discreet.learning.deep.examples import ExampleGradients
from discreet.learning.deep.factors import Contributions
from discreet.learning.deep.generated import RowShape, without_dropout
from discreet.learning.deep.model_state import ModelState, refuse_change
from discreet.learning.deep.objectives import SummedObjective
from discreet.learning.deep.trial import Groups, Trial, Unit, shares_apart, zeros_of
from discreet.learning.deep.trials.shared_coins import refuse_shared_coins

TRIED: Final = 3
_SHAKES: Final = (0.02, 0.002, 2e-4, 2e-5, 0.2, 2.0)
"""By how much weights are moved where nothing was contributed: less, where that is not finite."""
_ROUNDINGS: Final = 8
"""By how many roundings two ways to compute a gradient may differ.  Comparing them is a search
for mistakes alone: what is clipped and added are products of the same recorded factors, whose norm
is bounded in float64, however these were rounded."""


def refuse_mixing(  # noqa: PLR0913  a model and the shape of its micro-batches
    model: nn.Module,
    contributions: Contributions,
    objective: SummedObjective,
    *,
    inputs: RowShape,
    targets: RowShape,
    units: int,
    rows: int,
    device: torch.device,
    groups: Groups | None = None,
    told: bool = False,
) -> None:
    """Refuse a model whose examples mix.

    ``groups`` are the parameters that are clipped together; all of them by default.  ``told`` says
    that the objective is told, too.
    """
    clipped = (frozenset(zeros_of(model)),) if groups is None else groups
    trial = Trial(model, contributions, inputs, targets, units, rows, device)
    trial.groups, trial.objective = clipped, objective if told else None
    before = ModelState.of(model, values=True)
    with (
        without_dropout(model),
        torch.random.fork_rng(devices=[device] if device.type == "cuda" else []),
    ):
        silent = {p for p in zeros_of(model) if p.numel()}
        for seed in range(TRIED):
            _compare(trial, seed)
            silent -= _heard(trial, seed)
        compare_tokens(trial, TRIED)
        moves = _wake(trial, silent)
        coarsest = _coarsest(trial)
        _compare_with_autograd(model, objective, trial, coarsest)
        _compare_with_examples(model, objective, trial, coarsest)
    refuse_shared_coins(trial, objective)
    for size in moves:
        with shaken(model, size):
            refuse_shared_coins(trial, objective)
    refuse_change(before, model)


def _heard(trial: Trial, seed: int) -> set[nn.Parameter]:
    """Return the weights that units contribute to; none, if something is not finite."""
    totals = trial.whole(seed + COMPARED).totals
    if not all(bool(total.isfinite().all()) for total in totals.values()):
        return set()
    return {p for p, total in totals.items() if bool(total.any())}


def _wake(trial: Trial, silent: set[nn.Parameter]) -> list[float]:
    """Try a model with weights moved until something was contributed to all of them.

    Returns:
        by how much weights were moved.
    """
    used = []
    for seed, size in enumerate(_SHAKES, TRIED):
        if not silent:
            break
        with shaken(trial.model, size):
            heard = silent & _heard(trial, seed)
            if heard:
                _compare(trial, seed)
                compare_tokens(trial, seed)
                silent = silent - heard
                used.append(size)
    if silent:
        name = next(n for n, p in trial.model.named_parameters() if p in silent)
        raise LayerNotProvable(
            what=f"nothing that is finite is contributed to '{name}' on generated rows, however "
            "its weights are moved.",
            why="whether examples move each other there cannot be tried, and training may wake it.",
            do="freeze what is not used with requires_grad_(False), or begin at weights where it "
            "is.",
        )
    return used


def _compare(trial: Trial, seed: int) -> None:
    """Refuse a model in which a companion moves what a unit contributes, or a place much."""
    compare_companions(trial, seed)
    own = trial.rows(seed, trial.count)
    first = trial.vector(own, place=0, company=seed + 100)
    for place in (trial.units - 1, trial.units // 2):
        _refuse_places(trial, first, trial.vector(own, place=place, company=seed + 300))


def _refuse_places(trial: Trial, one: Unit, another: Unit) -> None:
    """Refuse a gross difference between places, of a clip group over its norm."""
    sums, lengths = shares_apart(trial.groups, one, another)
    if sums > GROSS:
        first, other = one.totals, another.totals
        moved = {p for p in first if not torch.equal(first[p], other[p])}
        name = next(n for n, p in trial.model.named_parameters() if p in moved)
        raise mixing(f"what an example contributes to '{name}'")
    if lengths > GROSS:
        raise mixing("the length of what an example contributes, or its objective,")


@contextmanager
def shaken(model: nn.Module, size: float = _SHAKES[0]) -> Iterator[None]:
    """Move all trained weights for a while; by default a little.

    Behind weights that begin at zero nothing is contributed, and nothing could be compared.
    """
    kept = [(p, p.detach().clone()) for p in model.parameters() if p.requires_grad]
    try:
        for seed, (parameter, _) in enumerate(kept):
            stream = torch.Generator().manual_seed(seed)
            moved = size * torch.randn(parameter.shape, generator=stream)
            parameter.data.add_(moved.to(parameter.data))
        yield
    finally:
        for parameter, value in kept:
            parameter.data.copy_(value)


def _coarsest(trial: Trial) -> torch.dtype:
    """Return the type with the fewest bits among parameters and what modules return."""
    found = {p.dtype for p in trial.model.parameters() if p.is_floating_point()}

    def note(_module: nn.Module, _given: object, output: object) -> None:
        if isinstance(output, Tensor) and output.is_floating_point():
            found.add(output.dtype)

    handles = [module.register_forward_hook(note) for module in trial.model.modules()]
    try:
        with torch.no_grad():
            trial.model(trial.batch(7)[0])
    finally:
        for handle in handles:
            handle.remove()
    return max(found, key=lambda dtype: torch.finfo(dtype).eps)


def _compare_with_autograd(
    model: nn.Module, objective: SummedObjective, trial: Trial, coarsest: torch.dtype
) -> None:
    """Refuse a model whose contributions do not add up to its gradient."""
    x, y, inside = trial.batch(7)
    totals = zeros_of(model)
    torch.manual_seed(0)
    for part in trial.contributions.parts(x, y, inside, trial.units):
        part.add(torch.ones(trial.units, dtype=torch.float64, device=trial.device), totals)
    parameters = list(totals)
    torch.manual_seed(0)
    with torch.enable_grad():
        total = objective(model(x), y)
        gradients = torch.autograd.grad(total, parameters, allow_unused=True)
    scale = max((float(v.abs().max()) for v in totals.values()), default=0.0)
    allowed = max(1e-2, _ROUNDINGS * torch.finfo(coarsest).eps) * scale + 1e-12
    for parameter, gradient in zip(parameters, gradients, strict=True):
        truth = torch.zeros_like(parameter) if gradient is None else gradient
        if not float((totals[parameter] - truth).abs().max()) <= allowed:
            _refuse_rounding(coarsest)
            raise LayerNotProvable(
                what="contributions do not add up to the gradient of the model.",
                why="an operation changes the input of a layer in place, uses a weight outside its "
                "layer, or "
                "decides something for all rows of a batch at once.",
                do="set inplace=False, use each weight through its own layer alone, and decide row "
                "by row, with torch.where.",
            )


def _compare_with_examples(
    model: nn.Module, objective: SummedObjective, trial: Trial, coarsest: torch.dtype
) -> None:
    """Refuse a model whose norms are below those of single gradients."""
    x, y, inside = trial.batch(11)
    torch.manual_seed(0)
    parts = trial.contributions.parts(x, y, inside, trial.units)
    squares = sum(part.squares for part in parts)
    few = min(trial.units, 4)
    try:
        single = ExampleGradients(model, objective).gradients(
            x[: few * trial.count], y[: few * trial.count]
        )
    except RuntimeError:
        return  # vmap does not know every operation; autograd's sum has been compared
    true = sum(
        v.detach().double().reshape(few, trial.count, -1).sum(1).square().sum(1)
        for v in single.values()
    )
    allowed = max(1e-3, _ROUNDINGS * torch.finfo(coarsest).eps)
    if not bool((squares[:few] >= true * (1 - allowed) - 1e-20).all()):
        _refuse_rounding(coarsest)
        raise LayerNotProvable(
            what="the norm of a contribution is below that of its gradient.",
            why="clipping would let through more than was paid for.",
            do="report the model: this is a mistake of the library.",
        )


def _refuse_rounding(coarsest: torch.dtype) -> None:
    """Refuse a model of short floats in words of its own: rounding may be all that is wrong."""
    if torch.finfo(coarsest).eps <= torch.finfo(torch.float32).eps:
        return
    name = str(coarsest).removeprefix("torch.")
    raise LayerNotProvable(
        what=f"contributions in {name} are too far from the gradients of the model.",
        why=f"rounding in {name}, or an operation that changes outputs in place: with so few bits "
        "the one cannot be told from the other.",
        do="train this model in float32; nothing was charged.",
    )
