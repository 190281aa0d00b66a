"""The float64 total of one step: clipped contributions of a batch, and what is told beside them.

Trust: kernel.

A batch is cut into micro-batches; the last one is padded by zeros where the graphs of a GPU need
one shape (:mod:`discreet.learning.deep.captured`).  Norms decide scales on the CPU
(:mod:`discreet.learning.clipping`); products are added up in float64 on the device of the model.
The scale of a place that nobody takes is zero, whatever a model makes of the padding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from discreet.learning.clipping import Clipping, raised, shortened
from discreet.learning.deep.captured import CapturedFactors, captured
from discreet.learning.deep.choice import ModelEngine
from discreet.learning.deep.layers.part import LayerPart, flat_zeros
from discreet.learning.deep.layers.short_sums import full_precision
from discreet.learning.deep.objectives import SummedObjective
from discreet.learning.deep.rows import RowSource
from discreet.learning.side_counts import NOTHING_BESIDE, WEIGHT, SideCounts, centered_lengths


@final
@dataclass(frozen=True, slots=True)
class ClipGroup:
    """Parameters that are clipped together, to a public threshold.

    ``bound`` is what the group adds to the normalized sum at most; all groups together add 1.
    """

    parameters: frozenset[nn.Parameter]
    bound: Clipping
    threshold: float


@final
class BatchSums:
    """Adds up what the units of a batch contribute."""

    def __init__(  # noqa: PLR0913  a model, its data and its micro-batches
        self,
        model: nn.Module,
        engine: ModelEngine,
        data: RowSource,
        *,
        groups: tuple[ClipGroup, ...],
        micro: int,
        normalized: bool,
        device: torch.device,
        chunk: int = 0,
        side: SideCounts = NOTHING_BESIDE,
        objective: SummedObjective | None = None,
    ) -> None:
        """Take a model, how its contributions are found, and how they are clipped.

        ``chunk`` is how many lines are added up in float32, where each coordinate of a part is one
        product and products keep all bits.  Otherwise sums are in float64, as by default.
        ``side`` is what is told beside the sum; the mean objective needs an ``objective``.
        """
        self.model, self.data, self.groups = model, data, groups
        self.engine = captured(model, engine, device) if len(groups) == 1 else engine
        self.micro, self.normalized, self.device = micro, normalized, device
        self.chunk, self.side, self.objective = chunk, side, objective
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.coordinates = sum(p.numel() for p in self.parameters)

    def total(self, rows: NDArray[np.int64], *, factor: float = 1.0) -> Tensor:
        """Return the total of all coordinates, those of what is told beside at the end.

        Args:
            rows: the rows of each drawn unit on a line, -1 for none.
            factor: a public number by which thresholds have been adapted.
        """
        flat, totals = flat_zeros(self.parameters)
        beside = dict.fromkeys(self.side.names, 0.0)
        chunk = self.chunk if self.chunk and full_precision() else 0
        for part_rows in self.micro_batches(rows):
            x, y, inside = self.data.take(part_rows, self.device)
            taken: NDArray[np.bool_] = np.any(part_rows >= 0, axis=1)
            parts = self.engine.contributions.parts(x, y, inside, len(part_rows))
            with torch.no_grad():
                ratios = self._add(parts, totals, factor, taken, chunk)
            if "clipped" in beside:
                beside["clipped"] += float(np.where(taken, centered_lengths(ratios), 0.0).sum())
            if "objective" in beside:
                beside["objective"] += self._told(x, y, inside, len(part_rows))
            del parts  # their memory is used again
        if not beside:
            return flat
        extra = torch.tensor(list(beside.values()), dtype=torch.float64, device=flat.device)
        return torch.cat([flat, extra * float(WEIGHT)])

    def _add(
        self,
        parts: list[LayerPart],
        totals: dict[nn.Parameter, Tensor],
        factor: float,
        taken: NDArray[np.bool_],
        chunk: int,
    ) -> NDArray[np.float64]:
        """Scale, add and leave the parts of one micro-batch; return norms over their thresholds.

        Finite norms are those of finite factors, so that a scale of zero makes zeros of them.
        """
        ratios = np.zeros(len(taken))
        for group in self.groups:
            mine = [part for part in parts if part.owner in group.parameters]
            parts[:] = [part for part in parts if part.owner not in group.parameters]
            if not mine:
                continue
            squares = sum(part.squares for part in mine) * raised(len(mine))
            spans = sum(part.spans for part in mine) * raised(len(mine))
            both = torch.stack([squares, spans]).cpu().numpy()
            threshold = group.threshold * factor
            bound = float(group.bound.bound)
            most = np.inf if self.normalized else bound / threshold
            extra = threshold / 100 if self.normalized else 0.0
            scales = group.bound.scales(both[0], both[1], most=most, added=extra) * taken
            used = shortened(scales) if chunk else scales
            on_device = torch.from_numpy(used).to(self.device)
            drop = not np.isfinite(both).all()
            while mine:  # what was added up makes room for the next
                mine.pop(0).add(on_device, totals, drop=drop, chunk=chunk)
            ratios = np.maximum(ratios, group.bound.lengths(both[0], both[1]) / threshold)
        return ratios

    def _told(self, x: Tensor, y: Tensor, inside: Tensor, units: int) -> float:
        """Return the sum of the centered mean objectives, by one more forward pass."""
        assert self.objective is not None  # noqa: S101  given where it is told
        real = inside.to(x.device)
        with torch.no_grad():
            each = self.objective.each(self.model(x), y).double()
            each = torch.where(real, each, torch.zeros_like(each)).reshape(units, -1)
            counts = real.reshape(units, -1).sum(1)
            means = (each.sum(1) / counts.clamp_min(1)).cpu().numpy()
        there = counts.cpu().numpy() > 0
        return float(np.where(there, self.side.centered_objectives(means), 0.0).sum())

    def micro_batches(self, rows: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Cut a batch into parts of at most ``micro`` units."""
        whole = isinstance(self.engine.contributions, CapturedFactors)
        for start in range(0, rows.shape[0], self.micro):
            part = rows[start : start + self.micro]
            if whole and part.shape[0] < self.micro:
                filler = np.full((self.micro - part.shape[0], rows.shape[1]), -1, np.int64)
                part = np.concatenate([part, filler])
            yield part
