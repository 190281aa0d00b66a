"""The release of a private sum where the model is: floor, noise, and back, on its device.

Trust: kernel.

The same steps as ``PrivateSum.release``, bit for bit: multiplying by a power of two and rounding
down are exact in float64, integers are added as int64, and what comes back is post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Final, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from discreet.errors import OutOfRange, WrongKind
from discreet.learning.noise_ahead import NoiseAhead
from discreet.learning.private_sum import PrivateSum

_BLOCK: Final = 1 << 17
"""Numbers that are floored at once on a CPU: one megabyte of float64."""


def released(
    one: PrivateSum, total: Tensor, noise: NDArray[np.int64] | Tensor
) -> tuple[Tensor, Tensor]:
    """Return a total with noise, in its own units, and whether all of the total is sound.

    Noise is written over the total: nobody needs the sum without it again, and its memory serves.

    Args:
        one: the sum, its grid and its noise.
        total: float64, on any device; overwritten.
        noise: draws of ``one.noise``, used once.
    """
    if total.shape != (one.coordinates,) or noise.shape != (one.coordinates,):
        raise WrongKind(
            what="the total or its noise has another length than was planned.",
            why="the price rests on how many numbers are released.",
            do="give one number for each coordinate.",
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

    A total is finite and small, whatever the data: each unit adds at most the bound.  One that is
    not counts as 0; :func:`refuse_unsound` tells of it, once a GPU has nothing else to do.
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
            what="a total is not finite, or beyond what a batch can add up to.",
            why="contributions are bounded, so this is no sum of them.",
            do="report it: this is a mistake of the library.",
        )


@final
class DeviceNoise:
    """Noise that is drawn ahead, on the device of a model; each tensor is handed out once.

    Where processes draw for a GPU, it copies from their memory, which stays where it is meanwhile,
    beside whatever the GPU computes.
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
