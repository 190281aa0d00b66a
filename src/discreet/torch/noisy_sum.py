"""The clipped sum of a step, and its release, on the device of the model.

Trust: kernel.

A batch is cut into micro-batches.  On a GPU the last one is padded by zeros: kernels are chosen by
shape, and another shape would round what its units contribute differently.  Norms decide scales on
the CPU (:mod:`discreet.torch.clipping`); products are added up in float64 on the device of the
model.  The scale of an unused position is zero, so the model's output on padding does not matter.

The release floors the total to the grid and adds the noise: multiplying by a power of two and
rounding down are exact in float64, integers are added as int64, and what comes back is
post-processing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from discreet.errors import OutOfRange, WrongKind
from discreet.torch.clipping import Clipping, raised, shortened
from discreet.torch.graphs import captured
from discreet.torch.layer_parts import LayerPart, flat_zeros, full_precision
from discreet.torch.loss_function import SummedObjective
from discreet.torch.noise_ahead import NoiseAhead
from discreet.torch.per_example import ModelEngine
from discreet.torch.private_sum import PrivateSum
from discreet.torch.rows import RowTensors
from discreet.torch.side_counts import NOTHING_BESIDE, WEIGHT, SideCounts, centered_lengths

_BLOCK: Final = 1 << 17
"""Numbers that are floored at once on a CPU: one megabyte of float64."""


def released(
    one: PrivateSum, total: Tensor, noise: NDArray[np.int64] | Tensor
) -> tuple[Tensor, Tensor]:
    """Return a total with noise, in its own units, and whether all of the total is sound.

    Noise is added to the total in place: the exact sum is not needed again.

    Args:
        one: the sum, its grid and its noise.
        total: float64, on any device; overwritten.
        noise: draws of ``one.law``, used once.
    """
    if total.shape != (one.coordinates,) or noise.shape != (one.coordinates,):
        raise WrongKind(
            "the total or its noise has another length than was planned: give one number for each "
            "coordinate."
        )
    drawn = (noise if isinstance(noise, Tensor) else torch.from_numpy(noise)).to(total.device)
    step, sound = float(one.grid.step), _sound(one, total)
    size = _BLOCK if total.device.type == "cpu" else one.coordinates
    for part, more in zip(total.split(size), drawn.split(size), strict=True):
        cells = _floored(one, part, sound).add_(more)
        part.copy_(cells).add_(0.5).mul_(step)
    return total, sound


def cells_of(one: PrivateSum, total: Tensor) -> tuple[Tensor, Tensor]:
    """Return the steps of the grid at or below a total, and whether all of it is sound.

    A total is finite and small for any data: each unit adds at most the bound.  Any other total
    counts as 0; :func:`refuse_unsound` reports it once the GPU is idle.
    """
    sound = _sound(one, total)
    return _floored(one, total, sound), sound


def _sound(one: PrivateSum, total: Tensor) -> Tensor:
    """Say whether a total is finite and small: neither end is below a number that is not one."""
    most = float(one.grid.step) * 2.0**62
    low, high = torch.aminmax(total)
    return (low > -most) & (high < most)


def _floored(one: PrivateSum, total: Tensor, sound: Tensor) -> Tensor:
    """Return the steps at or below a total, or zeros if it is not sound."""
    cells = (total / float(one.grid.step)).floor_()
    return torch.where(sound, cells, 0.0).to(torch.int64)


def refuse_unsound(sound: Tensor) -> None:
    """Tell of a total that cannot have been one."""
    if not bool(sound):
        raise OutOfRange(
            "a total is not finite, or beyond what a batch can add up to: report it: this is a "
            "mistake of the library."
        )


@final
class DeviceNoise:
    """Noise that is drawn ahead, on the device of a model; each tensor is handed out once.

    When processes draw for a GPU, it copies from their memory, which stays in place meanwhile,
    while the GPU computes.
    """

    def __init__(self, ahead: NoiseAhead, device: torch.device) -> None:
        """Take what draws, and where noise is needed."""
        self._ahead, self._device = ahead, device
        self._fixed: NDArray[np.int64] | None = None
        self._aside: torch.cuda.Stream | None = None

    def __enter__(self) -> DeviceNoise:
        self._ahead.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def take(self) -> Tensor:
        """Return the noise of one step."""
        if self._device.type != "cuda":
            return torch.from_numpy(self._ahead.take())
        if self._aside is None:
            self._aside = torch.cuda.Stream(self._device)
        with torch.cuda.stream(self._aside):
            self._fix()
            drawn = torch.from_numpy(self._ahead.borrow()).to(self._device, non_blocking=True)
            self._aside.synchronize()  # then it may be drawn again
        drawn.record_stream(torch.cuda.current_stream(self._device))
        return drawn

    def close(self) -> None:
        """Stop to draw."""
        if self._fixed is not None:
            torch.cuda.cudart().cudaHostUnregister(_place(self._fixed))
            self._fixed = None
        self._ahead.close()

    def _fix(self) -> None:
        """Keep the memory of processes in place, so that copies need no other; a refusal is one."""
        memory = self._ahead.memory
        if self._fixed is None and memory is not None:
            torch.cuda.cudart().cudaHostRegister(_place(memory), memory.nbytes, 0)
            self._fixed = memory


def _place(memory: NDArray[np.int64]) -> int:
    return int(memory.__array_interface__["data"][0])


def handed_over(values: Tensor, parameters: Sequence[nn.Parameter]) -> None:
    """Set the gradients of parameters to the parts of one flat tensor, converted at once."""
    kinds = {(p.device, p.dtype) for p in parameters}
    flat = {kind: values.to(device=kind[0], dtype=kind[1]) for kind in kinds}
    start = 0
    for parameter in parameters:
        part = flat[parameter.device, parameter.dtype][start : start + parameter.numel()]
        parameter.grad = part.view(parameter.shape)
        start += parameter.numel()


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
        data: RowTensors,
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

        ``chunk`` is how many lines are added up in float32, if each coordinate of a part is one
        product and products keep all bits.  Otherwise, and by default, sums are in float64.
        ``side`` holds the quantities released in addition to the sum; the mean objective needs an
        ``objective``.
        """
        self.model, self.data, self.groups = model, data, groups
        self.engine = captured(model, engine, device) if len(groups) == 1 else engine
        self.micro, self.normalized, self.device = micro, normalized, device
        self.chunk, self.side, self.objective = chunk, side, objective
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.coordinates = sum(p.numel() for p in self.parameters)

    def total(self, rows: NDArray[np.int64], *, factor: float = 1.0) -> Tensor:
        """Return the total of all coordinates, with the side quantities at the end.

        Args:
            rows: the rows of each drawn unit on a line, -1 for none.
            factor: a public factor of adapted thresholds.
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
        assert self.objective is not None  # noqa: S101  required if it is released
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
        whole = self.device.type != "cpu"
        for start in range(0, rows.shape[0], self.micro):
            part = rows[start : start + self.micro]
            if whole and part.shape[0] < self.micro:
                filler = np.full((self.micro - part.shape[0], rows.shape[1]), -1, np.int64)
                part = np.concatenate([part, filler])
            yield part
