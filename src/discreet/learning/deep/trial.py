"""What one unit contributes, in micro-batches of generated rows.

Trust: kernel.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
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

    def whole(self, company: int) -> Unit:
        """Return the sum of a whole micro-batch, each unit with a sign, and the lengths of all."""
        x, y, inside = self.batch(company)
        torch.manual_seed(0)
        parts = self.contributions.parts(x, y, inside, self.units)
        stream = torch.Generator().manual_seed(company)
        signs = 2.0 * torch.randint(0, 2, (self.units,), generator=stream) - 1
        totals = zeros_of(self.model)
        for part in parts:
            part.add(signs.to(device=self.device, dtype=torch.float64), totals)
        lengths = [
            self._length(parts, group, place)
            for group in self.groups
            for place in range(self.units)
        ]
        return Unit(totals, lengths + self._told(x, y).tolist())

    def lines(
        self, x: Tensor, y: Tensor, inside: Tensor
    ) -> list[tuple[nn.Parameter | None, Tensor]]:
        """Return all that is known of the units of a micro-batch, and to what they contribute it.

        What is told of the objective is contributed to no parameter.
        """
        torch.manual_seed(0)
        found: list[tuple[nn.Parameter | None, Tensor]] = [
            (part.owner, value)
            for part in self.contributions.parts(x, y, inside, self.units)
            for value in part.lines()
        ]
        return found if self.objective is None else [*found, (None, self._told(x, y))]

    def _told(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the objective of each unit, where it is told."""
        if self.objective is None:
            return torch.zeros(0, dtype=torch.float64)
        with torch.no_grad():
            return self.objective.each(self.model(x), y).double().reshape(self.units, -1).sum(1)

    def companions(self, seed: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield whole micro-batches: ordinary rows, padding, and rows that no test thinks of.

        Only real numbers can be huge, tiny or not finite: where inputs are tokens, targets alone.
        """
        yield self.batch(seed)
        yield self.batch(None)
        total = self.units * self.count
        inside = torch.ones(total, dtype=torch.bool, device=self.device)
        if any(shape.dtype.is_floating_point for shape in self.shapes):
            for value in _HARD:
                x, y = (shape.constant(total, value, device=self.device) for shape in self.shapes)
                yield x, y, inside

    def bad_targets(self, seed: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield micro-batches whose targets are ignored, or no class; with them a step may fail.

        On a GPU there are none: a bad index ends its process, and not just the call.
        """
        dtype, total = self.shapes[1].dtype, self.units * self.count
        if dtype.is_floating_point or dtype == torch.bool or self.device.type != "cpu":
            return
        inside = torch.ones(total, dtype=torch.bool, device=self.device)
        for value in _TARGETS:
            if torch.iinfo(dtype).min <= value <= torch.iinfo(dtype).max:
                x, y = self.rows(seed, total)
                yield x, y.fill_(value), inside

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
        return Unit(totals, lengths + self._told(x, y)[place : place + 1].tolist())

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
        norm = math.hypot(*(_norm(one.totals[p]) for p in group))
        moved = math.hypot(*(_norm(one.totals[p] - another.totals[p]) for p in group))
        sums.append(_share(moved, norm))
    lengths = [0.0]
    for length, now in zip(one.lengths, another.lengths, strict=True):
        lengths.append(_share(abs(length - now), abs(length)))
    first, second = (
        math.inf if any(map(math.isnan, found)) else max(found) for found in (sums, lengths)
    )
    return first, second


def _share(moved: float, norm: float) -> float:
    """Return a difference over a norm: above zero for every difference that there is."""
    if moved == 0:
        return 0.0
    return max(moved / norm, math.ulp(0.0)) if norm else math.inf


def _norm(values: Tensor) -> float:
    """Return the norm of float64 numbers; those whose squares underflow count, too."""
    largest = float(values.abs().max()) if values.numel() else 0.0
    if not 0 < largest < math.inf:
        return largest
    return largest * math.sqrt(float((values / largest).square().sum()))
