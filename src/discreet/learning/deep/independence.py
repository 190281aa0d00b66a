"""Does an example contribute the same in any company?  Found by trying, before anything is paid.

Trust: kernel.

On generated rows, what one unit contributes is computed (a) with other companions, among them huge
and tiny ones, ones that are not finite, and ones whose targets are ignored or no class at all, (b)
in other places of the micro-batch, (c) in a padded one, (d) a second time; (e) no tensor of the
model may change; (f) the sum without clipping is autograd's own gradient; (g) norms are those of
single gradients.
A gross difference is refused.  Last bits are priced: the largest difference of a clip group over
its norm, of the norm that it is clipped by, or of the objective where that is told, times four, is
the ``drift`` of :mod:`discreet.learning.private_sum`.
Assumes: what a model does with a row does not branch on values in ways that generated rows miss.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import torch
from torch import Tensor, nn

from discreet.errors import ExamplesMix, LayerNotProvable
from discreet.learning.deep.examples import ExampleGradients
from discreet.learning.deep.factors import Contributions
from discreet.learning.deep.generated import RowShape, without_dropout
from discreet.learning.deep.model_state import ModelState, refuse_change
from discreet.learning.deep.objectives import SummedObjective
from discreet.learning.deep.trial import Groups, Trial, Unit, shares_apart, zeros_of

GROSS: Final = 1e-4
SAFETY: Final = 4
TRIED: Final = 3
_ROUNDINGS: Final = 8
"""By how many roundings two ways to compute a gradient may differ.  Comparing them is a search
for mistakes alone: what is clipped and added are products of the same recorded factors, whose norm
is bounded in float64, however these were rounded."""


def measured_drift(  # noqa: PLR0913  a model and the shape of its micro-batches
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
) -> Fraction:
    """Return by which share a contribution may differ in other company, or refuse the model.

    ``groups`` are the parameters that are clipped together; all of them by default.  ``told`` says
    that the objective is told, too.
    """
    clipped = (frozenset(zeros_of(model)),) if groups is None else groups
    trial = Trial(model, contributions, inputs, targets, units, rows, device)
    trial.groups, trial.objective = clipped, objective if told else None
    before = ModelState.of(model, values=True)
    worst = 0.0
    with (
        without_dropout(model),
        torch.random.fork_rng(devices=[device] if device.type == "cuda" else []),
    ):
        for seed in range(TRIED):
            own = trial.rows(seed, rows)
            first = trial.vector(own, place=0, company=seed + 100)
            variants = [
                trial.vector(own, place=0, company=seed + 100),
                trial.vector(own, place=0, company=seed + 200),
                trial.vector(own, place=0, company=None),
            ]
            if units > 1:
                variants += [
                    trial.vector(own, place=units - 1, company=seed + 100),
                    trial.vector(own, place=units // 2, company=seed + 300),
                ]
            variants += trial.beside_hard_rows(own)
            worst = max(worst, *(_difference(model, clipped, first, v) for v in variants))
        coarsest = _coarsest(trial)
        _compare_with_autograd(model, objective, trial, coarsest)
        _compare_with_examples(model, objective, trial, coarsest)
    refuse_change(before, model)
    return Fraction(SAFETY * worst)


def _difference(model: nn.Module, groups: Groups, one: Unit, another: Unit) -> float:
    """Return the largest difference of a clip group over its norm; refuse a gross one."""
    sums, lengths = shares_apart(groups, one, another)
    if sums > GROSS:
        first, other = one.totals, another.totals
        moved = {p: float((first[p] - other[p]).square().sum()) for p in first}
        name = next(n for n, p in model.named_parameters() if not moved.get(p, 0.0) <= 0)
        raise _mixing(f"what an example contributes to '{name}'")
    if lengths > GROSS:
        raise _mixing("the length of what an example contributes, or its objective,")
    return max(sums, lengths)


def _mixing(what: str) -> ExamplesMix:
    return ExamplesMix(
        what=f"{what} depends on the examples beside it.",
        why="then one example moves more than its own contribution, and clipping bounds nothing.",
        do="replace what looks across the batch before that layer: batch statistics by GroupNorm, "
        "functional dropout by nn.Dropout, tensors with the batch in another place than first.",
    )


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
                why="an operation changes outputs in place, or uses a weight outside its layer.",
                do="set inplace=False, and use each weight through its own layer alone.",
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
