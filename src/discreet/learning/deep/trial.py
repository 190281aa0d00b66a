"""What one unit contributes, in micro-batches of generated rows.

Trust: kernel.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import torch
from torch import Tensor, nn

from discreet.learning.clipping import Clipping
from discreet.learning.deep.factors import Contributions
from discreet.learning.deep.generated import RowShape
from discreet.learning.deep.layers.part import LayerPart, Totals
from discreet.learning.deep.objectives import SummedObjective

_HARD: Final = (math.nan, math.inf, -math.inf, 1e30, -1e30, 1e-30)
_TARGETS: Final = (-100, 2**31 - 1)

Groups = tuple[frozenset[nn.Parameter], ...]


def flat_zeros(parameters: Sequence[nn.Parameter]) -> tuple[Tensor, Totals]:
    """Return one line of float64 zeros, and its parts in the shapes of parameters."""
    sizes = [p.numel() for p in parameters]
    flat = torch.zeros(sum(sizes), dtype=torch.float64, device=parameters[0].device)
    parts = zip(parameters, flat.split(sizes), strict=True)
    return flat, {p: part.view(p.shape) for p, part in parts}


def zeros_of(model: nn.Module) -> Totals:
    """Return float64 zeros for every trainable parameter."""
    return flat_zeros([p for p in model.parameters() if p.requires_grad])[1]


@final
@dataclass(frozen=True, slots=True)
class Unit:
    """What a unit contributes, the norms that it is clipped by, and perhaps its objective."""

    totals: Totals
    lengths: list[float]


@final
class Trial:
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
        """Take a model, how its contributions are found, and the shape of its micro-batches."""
        self.model, self.contributions = model, contributions
        self.shapes, self.units, self.count, self.device = (inputs, targets), units, rows, device
        self.groups: Groups = ()
        self.objective: SummedObjective | None = None

    def rows(self, seed: int, count: int) -> tuple[Tensor, Tensor]:
        """Return generated inputs and targets."""
        x, y = self.shapes
        return (
            x.rows(count, seed=2 * seed, device=self.device),
            y.rows(count, seed=2 * seed + 1, device=self.device),
        )

    def batch(self, company: int | None) -> tuple[Tensor, Tensor, Tensor]:
        """Return a whole micro-batch; padding, where there is no company."""
        total = self.units * self.count
        inside = torch.full((total,), company is not None, device=self.device)
        if company is not None:
            return *self.rows(company, total), inside
        x, y = (shape.padding(total, device=self.device) for shape in self.shapes)
        return x, y, inside

    def vector(self, own: tuple[Tensor, Tensor], *, place: int, company: int | None) -> Unit:
        """Return what a unit contributes, in float64."""
        return self._vector(own, place, *self.batch(company))

    def beside_hard_rows(self, own: tuple[Tensor, Tensor]) -> list[Unit]:
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
    ) -> Unit:
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
        return Unit(totals, lengths)

    @staticmethod
    def _length(parts: list[LayerPart], group: frozenset[nn.Parameter], place: int) -> float:
        """Return what the contribution of a unit to a group is clipped by."""
        mine = [part for part in parts if part.owner in group]
        squares, spans = (
            sum((values[place] for values in found), start=torch.zeros(())).cpu().double().numpy()
            for found in ([part.squares for part in mine], [part.spans for part in mine])
        )
        return float(Clipping(bound=1).lengths(squares, spans))


def shares_apart(groups: Groups, one: Unit, another: Unit) -> tuple[float, float]:
    """Return the largest differences of a clip group, and of a length, each over its norm.

    Whatever is not a number counts as infinitely far apart.
    """
    sums = [0.0]
    for group in groups:
        norm = sum(float(one.totals[p].square().sum()) for p in group) ** 0.5
        moved = sum(float((one.totals[p] - another.totals[p]).square().sum()) for p in group) ** 0.5
        sums.append(moved / norm if norm else float(moved > 0))
    lengths = [0.0]
    for length, now in zip(one.lengths, another.lengths, strict=True):
        lengths.append(abs(length - now) / abs(length) if length else float(now != 0))
    first, second = (
        math.inf if any(map(math.isnan, found)) else max(found) for found in (sums, lengths)
    )
    return first, second
