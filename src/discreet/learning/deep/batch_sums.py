"""The float64 total of the clipped contributions of a batch, micro-batch by micro-batch.

Trust: kernel.

Every micro-batch has one shape: as many units, each with as many rows, padded by a public constant.
Norms decide scales on the CPU (:mod:`discreet.learning.clipping`); products are added up in float64
on the device of the model.  The scale of a place that nobody takes is zero, whatever a model makes
of the constant: what an empty place adds is nothing, and so a unit more moves the sum by its own
contribution alone.

Rows are given to the model as they were tried: one after another in memory, whatever the strides of
the data are.  A library may have other kernels for other strides, which round otherwise.
Coins are those of a micro-batch (:mod:`discreet.learning.deep.coins`), and graphs of kernels are
recorded before the first of them, whoever was drawn (:mod:`discreet.learning.deep.captured`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from discreet.learning.clipping import Clipping, raised, shortened
from discreet.learning.deep.captured import CapturedFactors, captured
from discreet.learning.deep.choice import ModelEngine
from discreet.learning.deep.coins import set_streams, stream_words
from discreet.learning.deep.generated import RowShape
from discreet.learning.deep.layers.part import LayerPart
from discreet.learning.deep.layers.short_sums import full_precision
from discreet.learning.deep.number_settings import whole_products
from discreet.learning.deep.trial import flat_zeros
from discreet.learning.side_counts import centered_lengths
from discreet.noise import SYSTEM, Entropy


class RowSource(Protocol):
    """Rows that are read by number."""

    @property
    def shapes(self) -> tuple[RowShape, RowShape]:
        """Shape and type of one row of inputs and of targets."""
        ...

    @property
    def views(self) -> int:
        """How many rows are made of one."""
        ...

    def take(self, rows: NDArray[np.int64], device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
        """Return inputs and targets of rows, zeros where the number is -1, and which are real.

        The latter stays on the CPU: it is known there, and no GPU must be waited for.
        """
        ...


@final
@dataclass(frozen=True, slots=True)
class RowTensors:
    """Inputs and targets, row by row; values are read only for drawn units."""

    inputs: Tensor
    targets: Tensor

    @property
    def shapes(self) -> tuple[RowShape, RowShape]:
        """Shape and type of one row of each."""
        return RowShape.of(self.inputs), RowShape.of(self.targets)

    @property
    def views(self) -> int:
        """How many rows are made of one."""
        return 1

    def take(self, rows: NDArray[np.int64], device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
        """Return rows by number, zeros where the number is -1, and which are real."""
        flat = torch.from_numpy(rows.reshape(-1))
        inside = flat >= 0
        empty = torch.nonzero(~inside)[:, 0]
        index = flat.clamp_min(0).to(self.inputs.device)
        taken = []
        for values in (self.inputs, self.targets):
            if values.shape[0] == 0:
                chosen = torch.zeros((flat.numel(), *values.shape[1:]), dtype=values.dtype)
            else:
                chosen = values[index]
            chosen = chosen.to(device)
            if len(empty):
                chosen.index_fill_(0, empty.to(device), 0)  # a copy of the data's, as indices give
            taken.append(row_by_row(chosen))
        return taken[0], taken[1], inside


def row_by_row(values: Tensor) -> Tensor:
    """Return values in the layout in which models are tried.

    PyTorch takes any strides as contiguous along dimensions of one number, and chooses kernels by
    them; so strides themselves are compared.

    >>> row_by_row(torch.zeros(2, 4, 4, 1).permute(0, 3, 1, 2)).stride()
    (16, 16, 4, 1)
    """
    if values.stride() == torch.empty(values.shape, device="meta").stride():
        return values
    return values.clone(memory_format=torch.contiguous_format)


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
    ) -> None:
        """Take a model, how its contributions are found, and how they are clipped.

        ``chunk`` is how many lines are added up in float32, where each coordinate of a part is one
        product and products keep all bits.  Otherwise sums are in float64, as by default.
        """
        self.model, self.data, self.groups = model, data, groups
        self.engine = captured(model, engine, device) if len(groups) == 1 else engine
        self.micro, self.normalized, self.device = micro, normalized, device
        self.chunk = chunk if chunk and full_precision() else 0
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.coordinates = sum(p.numel() for p in self.parameters)

    def total(
        self,
        rows: NDArray[np.int64],
        *,
        factor: float = 1.0,
        counted: bool = False,
        entropy: Entropy = SYSTEM,
    ) -> tuple[Tensor, float]:
        """Return the total of all coordinates, and by how many more units are short than long.

        The latter is the sum of e_i of :mod:`discreet.learning.side_counts`.

        Args:
            rows: the rows of each drawn unit on a line, -1 for none.
            factor: a public number by which thresholds have been adapted.
            counted: whether short units were bought; they are not counted otherwise.
            entropy: random bits, for the coins of each micro-batch.
        """
        if isinstance(self.engine.contributions, CapturedFactors):
            count = self.micro * rows.shape[1] * self.data.views
            self.engine.contributions.prepare(self.data.shapes, rows=count, units=self.micro)
        flat, totals = flat_zeros(self.parameters)
        short = 0.0
        chunk = self.chunk if whole_products() else 0  # settings may have changed meanwhile
        for part_rows in self.micro_batches(rows):
            x, y, inside = self.data.take(part_rows, self.device)
            set_streams(self.device, stream_words(1, entropy)[0])
            parts = self.engine.contributions.parts(x, y, inside, self.micro)
            taken: NDArray[np.bool_] = np.any(part_rows >= 0, axis=1)
            with torch.no_grad():
                ratios = self._add(parts, totals, factor, taken, chunk)
            if counted:
                short += float(np.where(taken, centered_lengths(ratios), 0.0).sum())
            del parts  # their memory is used again
        return flat, short

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
        ratios = np.zeros(self.micro)
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

    def micro_batches(self, rows: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Cut a batch into parts of one shape, the last one padded."""
        for start in range(0, rows.shape[0], self.micro):
            part = rows[start : start + self.micro]
            if part.shape[0] < self.micro:
                filler = np.full((self.micro - part.shape[0], rows.shape[1]), -1, np.int64)
                part = np.concatenate([part, filler])
            yield part
