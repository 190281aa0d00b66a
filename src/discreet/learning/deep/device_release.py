"""The release of a private sum where the model is: floor, noise, and back, on its device.

Trust: kernel.

The same steps as ``PrivateSum.release``, bit for bit: multiplying by a power of two and rounding
down are exact in float64, integers are added as int64, and what comes back is post-processing.
"""

from __future__ import annotations

from types import TracebackType
from typing import final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.errors import OutOfRange, WrongKind
from discreet.learning.noise_processes.noise_ahead import NoiseAhead
from discreet.learning.private_sum import PrivateSum


def released(one: PrivateSum, total: Tensor, noise: NDArray[np.int64] | Tensor) -> Tensor:
    """Return a total with noise, in its own units.

    A total is finite and small, whatever the data: each unit adds at most the bound.

    Args:
        one: the sum, its grid and its noise.
        total: float64, on any device.
        noise: draws of ``one.noise``, used once.
    """
    if total.shape != (one.coordinates,) or noise.shape != (one.coordinates,):
        raise WrongKind(
            what="the total or its noise has another length than was planned.",
            why="the price rests on how many numbers are released.",
            do="give one number for each coordinate.",
        )
    step = float(one.grid.step)
    cells = (total / step).floor_()
    low, high = torch.aminmax(cells)  # neither is below a number that is not one
    small = (low > -(2.0**62)) & (high < 2.0**62)
    drawn = (noise if isinstance(noise, Tensor) else torch.from_numpy(noise)).to(total.device)
    values = cells.to(torch.int64).add_(drawn).to(torch.float64).add_(0.5).mul_(step)
    if not bool(small):
        raise OutOfRange(
            what="a total is not finite, or beyond what a batch can add up to.",
            why="contributions are bounded, so this is no sum of them.",
            do="report it: this is a mistake of the library.",
        )
    return values


@final
class DeviceNoise:
    """Noise that is drawn ahead, on the device of a model; each tensor is handed out once.

    Where processes draw for a GPU, it copies from their memory, which stays where it is meanwhile.
    """

    def __init__(self, ahead: NoiseAhead, device: torch.device) -> None:
        """Take what draws, and where noise is needed."""
        self._ahead, self._device = ahead, device
        self._fixed: NDArray[np.int64] | None = None

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
        with self._ahead.lent() as array:
            self._fix()
            drawn = torch.from_numpy(array).to(self._device, non_blocking=True)
            torch.cuda.current_stream(self._device).synchronize()  # then it may be drawn again
        return drawn

    def close(self) -> None:
        """Stop to draw."""
        if self._fixed is not None:
            torch.cuda.cudart().cudaHostUnregister(self._fixed.ctypes.data)
            self._fixed = None
        self._ahead.close()

    def _fix(self) -> None:
        """Keep the memory of processes in place, so that copies need no other; a refusal is one."""
        memory = self._ahead.memory
        if self._fixed is None and memory is not None:
            torch.cuda.cudart().cudaHostRegister(memory.ctypes.data, memory.nbytes, 0)
            self._fixed = memory
