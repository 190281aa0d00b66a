"""Does an example contribute the same in any company?  Found by trying, before anything is paid.

Trust: kernel.

On generated rows, what one unit contributes is computed (a) with other companions, (b) in other
places of the micro-batch, (c) in a padded one, (d) a second time; (e) no tensor of the
model may change; (f) the
sum without clipping is autograd's own gradient; (g) norms are those of single gradients.
A gross difference is refused.  Last bits are priced: the largest relative difference, times four,
is the ``drift`` of :mod:`discreet.learning.private_sum`.
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
from discreet.learning.deep.layers.part import Totals
from discreet.learning.deep.model_state import ModelState, refuse_change
from discreet.learning.deep.objectives import SummedObjective

_GROSS: Final = 1e-4
_SAFETY: Final = 4
_TRIED: Final = 3


def zeros_of(model: nn.Module) -> Totals:
    """Return float64 zeros for every trainable parameter."""
    return {
        p: torch.zeros(p.shape, dtype=torch.float64, device=p.device)
        for p in model.parameters()
        if p.requires_grad
    }


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
) -> Fraction:
    """Return by which share a contribution may differ in other company, or refuse the model."""
    trial = _Trial(model, contributions, inputs, targets, units, rows, device)
    before = ModelState.of(model, values=True)
    worst = 0.0
    with (
        without_dropout(model),
        torch.random.fork_rng(devices=[device] if device.type == "cuda" else []),
    ):
        for seed in range(_TRIED):
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
            worst = max(worst, *(_difference(model, first, other) for other in variants))
        _compare_with_autograd(model, objective, trial)
        _compare_with_examples(model, objective, trial)
    refuse_change(before, model)
    return Fraction(_SAFETY * worst)


class _Trial:
    """Micro-batches of generated rows, of the one shape that training uses."""

    def __init__(  # noqa: PLR0913, PLR0917
        self,
        model: nn.Module,
        contributions: Contributions,
        inputs: RowShape,
        targets: RowShape,
        units: int,
        rows: int,
        device: torch.device,
    ) -> None:
        self.model, self.contributions = model, contributions
        self.shapes, self.units, self.count, self.device = (inputs, targets), units, rows, device

    def rows(self, seed: int, count: int) -> tuple[Tensor, Tensor]:
        x, y = self.shapes
        return (
            x.rows(count, seed=2 * seed, device=self.device),
            y.rows(count, seed=2 * seed + 1, device=self.device),
        )

    def batch(self, company: int | None) -> tuple[Tensor, Tensor, Tensor]:
        total = self.units * self.count
        inside = torch.full((total,), company is not None, device=self.device)
        if company is not None:
            return *self.rows(company, total), inside
        x, y = (shape.padding(total, device=self.device) for shape in self.shapes)
        return x, y, inside

    def vector(self, own: tuple[Tensor, Tensor], *, place: int, company: int | None) -> Totals:
        """Return what a unit contributes, in float64."""
        x, y, inside = self.batch(company)
        span = slice(place * self.count, (place + 1) * self.count)
        x[span], y[span], inside[span] = own[0], own[1], True
        torch.manual_seed(0)
        parts = self.contributions.parts(x, y, inside, self.units)
        scales = torch.zeros(self.units, dtype=torch.float64, device=self.device)
        scales[place] = 1.0
        totals = zeros_of(self.model)
        for part in parts:
            part.add(scales, totals)
        return totals


def _difference(model: nn.Module, first: Totals, other: Totals) -> float:
    """Return the largest relative difference of a parameter; refuse a gross one."""
    worst = 0.0
    norm = sum(float(v.square().sum()) for v in first.values()) ** 0.5
    for name, parameter in model.named_parameters():
        if parameter not in first:
            continue
        moved = float((first[parameter] - other[parameter]).square().sum()) ** 0.5
        share = moved / norm if norm else float(moved > 0)
        if not share <= _GROSS:
            raise ExamplesMix(
                what=f"what an example contributes to '{name}' depends on the examples beside it.",
                why="then one example moves more than its own contribution, and clipping bounds "
                "nothing.",
                do="replace what looks across the batch before that layer: batch statistics by "
                "GroupNorm, functional dropout by nn.Dropout, tensors with the batch in another "
                "place than first.",
            )
        worst = max(worst, share)
    return worst


def _compare_with_autograd(model: nn.Module, objective: SummedObjective, trial: _Trial) -> None:
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
    for parameter, gradient in zip(parameters, gradients, strict=True):
        truth = torch.zeros_like(parameter) if gradient is None else gradient
        if not float((totals[parameter] - truth).abs().max()) <= 1e-2 * scale + 1e-12:
            raise LayerNotProvable(
                what="contributions do not add up to the gradient of the model.",
                why="an operation changes outputs in place, or uses a weight outside its layer.",
                do="set inplace=False, and use each weight through its own layer alone.",
            )


def _compare_with_examples(model: nn.Module, objective: SummedObjective, trial: _Trial) -> None:
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
    if not bool((squares[:few] >= true * (1 - 1e-3) - 1e-20).all()):
        raise LayerNotProvable(
            what="the norm of a contribution is below that of its gradient.",
            why="clipping would let through more than was paid for.",
            do="report the model: this is a mistake of the library.",
        )
