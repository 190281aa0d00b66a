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

import contextlib
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import torch
from torch import Tensor, nn

from discreet.errors import ExamplesMix, LayerNotProvable
from discreet.learning.clipping import Clipping
from discreet.learning.deep.examples import ExampleGradients
from discreet.learning.deep.factors import Contributions
from discreet.learning.deep.generated import RowShape, without_dropout
from discreet.learning.deep.layers.part import LayerPart, Totals
from discreet.learning.deep.model_state import ModelState, refuse_change
from discreet.learning.deep.objectives import SummedObjective

_GROSS: Final = 1e-4
_SAFETY: Final = 4
_TRIED: Final = 3
_HARD: Final = (math.nan, math.inf, -math.inf, 1e30, -1e30, 1e-30)
_TARGETS: Final = (-100, 2**31 - 1)

Groups = tuple[frozenset[nn.Parameter], ...]


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
    groups: Groups | None = None,
    told: bool = False,
) -> Fraction:
    """Return by which share a contribution may differ in other company, or refuse the model.

    ``groups`` are the parameters that are clipped together; all of them by default.  ``told`` says
    that the objective is told, too.
    """
    clipped = (frozenset(zeros_of(model)),) if groups is None else groups
    trial = _Trial(model, contributions, inputs, targets, units, rows, device)
    trial.groups, trial.objective = clipped, objective if told else None
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
            variants += trial.beside_hard_rows(own)
            worst = max(worst, *(_difference(model, clipped, first, v) for v in variants))
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
        self.groups: Groups = ()
        self.objective: SummedObjective | None = None

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

    def vector(self, own: tuple[Tensor, Tensor], *, place: int, company: int | None) -> _Unit:
        """Return what a unit contributes, in float64."""
        return self._vector(own, place, *self.batch(company))

    def beside_hard_rows(self, own: tuple[Tensor, Tensor]) -> list[_Unit]:
        """Return what a unit contributes beside rows that no test would think of."""
        total = self.units * self.count
        inside = torch.ones(total, dtype=torch.bool, device=self.device)
        found = []
        for value in _HARD:
            x, y = (shape.constant(total, value, device=self.device) for shape in self.shapes)
            found.append(self._vector(own, 0, x, y, inside.clone()))
        if self.shapes[1].dtype.is_floating_point or self.device.type != "cpu":
            return found  # a bad index ends a GPU's process, and not just the call
        for value in _TARGETS:
            x, y = self.rows(5, total)
            if value <= torch.iinfo(y.dtype).max and value >= torch.iinfo(y.dtype).min:
                with contextlib.suppress(IndexError, RuntimeError):  # so does the step, in silence
                    found.append(self._vector(own, 0, x, y.fill_(value), inside.clone()))
        return found

    def _vector(
        self, own: tuple[Tensor, Tensor], place: int, x: Tensor, y: Tensor, inside: Tensor
    ) -> _Unit:
        span = slice(place * self.count, (place + 1) * self.count)
        x[span], y[span], inside[span] = own[0], own[1], True
        torch.manual_seed(0)
        parts = self.contributions.parts(x, y, inside, self.units)
        scales = torch.zeros(self.units, dtype=torch.float64, device=self.device)
        scales[place] = 1.0
        totals = zeros_of(self.model)
        for part in parts:
            part.add(scales, totals)
        lengths = [self._length(parts, group, place) for group in self.groups]
        if self.objective is not None:
            with torch.no_grad():
                lengths.append(float(self.objective.each(self.model(x), y)[span].double().sum()))
        return _Unit(totals, lengths)

    @staticmethod
    def _length(parts: list[LayerPart], group: frozenset[nn.Parameter], place: int) -> float:
        """Return what the contribution of a unit to a group is clipped by."""
        mine = [part for part in parts if part.owner in group]
        squares, spans = (
            sum((values[place] for values in found), start=torch.zeros(())).cpu().double().numpy()
            for found in ([part.squares for part in mine], [part.spans for part in mine])
        )
        return float(Clipping(bound=1).lengths(squares, spans))


@dataclass(frozen=True, slots=True)
class _Unit:
    """What a unit contributes, the norms that it is clipped by, and perhaps its objective."""

    totals: Totals
    lengths: list[float]


def _difference(model: nn.Module, groups: Groups, one: _Unit, another: _Unit) -> float:
    """Return the largest difference of a clip group over its norm; refuse a gross one."""
    first, other = one.totals, another.totals
    worst = 0.0
    for group in groups:
        norm = sum(float(first[p].square().sum()) for p in group) ** 0.5
        moves = {p: float((first[p] - other[p]).square().sum()) for p in group}
        moved = sum(moves.values()) ** 0.5
        share = moved / norm if norm else float(moved > 0)
        if not share <= _GROSS:
            name = next(n for n, p in model.named_parameters() if not moves.get(p, 0.0) <= 0)
            raise _mixing(f"what an example contributes to '{name}'")
        worst = max(worst, share)
    for length, now in zip(one.lengths, another.lengths, strict=True):
        share = abs(length - now) / abs(length) if length else float(now != 0)
        if not share <= _GROSS:
            raise _mixing("the length of what an example contributes, or its objective,")
        worst = max(worst, share)
    return worst


def _mixing(what: str) -> ExamplesMix:
    return ExamplesMix(
        what=f"{what} depends on the examples beside it.",
        why="then one example moves more than its own contribution, and clipping bounds nothing.",
        do="replace what looks across the batch before that layer: batch statistics by GroupNorm, "
        "functional dropout by nn.Dropout, tensors with the batch in another place than first.",
    )


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
