"""Messages between the processes of a group.

Trust: kernel.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


def told(message: Any) -> Any:
    """Send a message to all, or receive one."""
    held = [message]
    dist.broadcast_object_list(held, src=0)
    return held[0]


def _bytes(values: Tensor) -> Tensor:
    """Return values as bytes, which every backend carries."""
    return values.detach().cpu().contiguous().flatten().view(torch.uint8)


def broadcast(values: Tensor) -> None:
    """Give all processes the values of rank 0."""
    carried = _bytes(values).clone()
    dist.broadcast(carried, src=0)
    if dist.get_rank() and not torch.equal(carried, _bytes(values)):
        with torch.no_grad():
            values.copy_(carried.view(values.dtype).view(values.shape))


def send(values: Tensor, rank: int) -> None:
    """Send values to one process."""
    if values.numel():
        dist.send(_bytes(values), rank)


def received(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """Receive values from rank 0."""
    values = torch.empty(shape, dtype=dtype)
    if values.numel():
        carried = torch.empty(values.nbytes, dtype=torch.uint8)
        dist.recv(carried, 0)
        values = carried.view(dtype).view(shape)
    return values
