"""The release of a private sum where the model is: floor, noise, and back, on its device.

Trust: kernel.

The same steps as ``PrivateSum.release``, bit for bit: multiplying by a power of two and rounding
down are exact in float64, integers are added as int64, and what comes back is post-processing.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.errors import OutOfRange, WrongKind
from discreet.learning.private_sum import PrivateSum


def released(one: PrivateSum, total: Tensor, noise: NDArray[np.int64]) -> Tensor:
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
    cells = torch.floor(total / step)
    if not bool((cells.abs() < 2.0**62).all()):
        raise OutOfRange(
            what="a total is not finite, or beyond what a batch can add up to.",
            why="contributions are bounded, so this is no sum of them.",
            do="report it: this is a mistake of the library.",
        )
    drawn = torch.from_numpy(noise).to(total.device, non_blocking=True)
    return (cells.to(torch.int64) + drawn).to(torch.float64).add_(0.5).mul_(step)
