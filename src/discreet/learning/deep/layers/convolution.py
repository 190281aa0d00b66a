"""Convolutions: the contribution of a unit from strided views of its padded input.

Trust: kernel.

The vector of a unit is formed as floats, in the precision of the model, and *is* its contribution;
its norm is that of these floats.  Views come from ``Tensor.unfold``: a call of ``F.unfold`` takes
eighty times as long on CUDA.  Padding other than zeros, and transposed or lazy layers, are left to
:mod:`discreet.learning.deep.examples`: a norm and a gradient that pad differently released 1.72
times the bound in another library.
"""

from __future__ import annotations

from typing import Final

import torch
import torch.nn.functional as F  # noqa: N812  its usual name
from torch import Tensor, nn

from discreet.learning.deep.layers.part import Expanded, LayerPart
from discreet.learning.deep.layers.room import Room

_WINDOWS: Final = 1 << 18
"""Numbers that are copied at once on a CPU: one megabyte of float32."""
CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


def refuse_convolution(layer: nn.Module) -> str | None:
    """Say why a layer is not covered, or nothing."""
    if type(layer) not in CONVOLUTIONS:
        return f"{type(layer).__name__} is no plain convolution"
    if layer.padding_mode != "zeros":
        return f"its padding mode is {layer.padding_mode!r}"
    return None


def convolution_parts(
    layer: nn.Conv1d | nn.Conv2d | nn.Conv3d,
    inputs: Tensor,
    gradients: Tensor,
    units: int,
    room: Room | None = None,
) -> list[LayerPart]:
    """Return the parts of a convolution."""
    parts: list[LayerPart] = []
    if layer.weight.requires_grad:
        vectors = _weights(layer, inputs, gradients, room or Room())
        parts.append(Expanded.of(layer.weight, _by_unit(vectors, units)))
    if layer.bias is not None and layer.bias.requires_grad:
        vectors = gradients.flatten(2).sum(2)
        parts.append(Expanded.of(layer.bias, _by_unit(vectors, units)))
    return parts


def _weights(
    layer: nn.Conv1d | nn.Conv2d | nn.Conv3d, inputs: Tensor, gradients: Tensor, room: Room
) -> Tensor:
    """Return the weight gradient of each row, flat."""
    groups, dims = layer.groups, len(layer.kernel_size)
    windows = F.pad(inputs, layer._reversed_padding_repeated_twice)  # noqa: SLF001  'same' too
    for axis in range(dims):
        size = layer.dilation[axis] * (layer.kernel_size[axis] - 1) + 1
        windows = windows.unfold(2 + axis, size, layer.stride[axis])
        windows = windows[..., :: layer.dilation[axis]]
    rows = inputs.shape[0]
    g = gradients.reshape(rows * groups, -1, gradients.shape[2:].numel())
    windows = windows.permute(0, 1, *range(2 + dims, 2 + 2 * dims), *range(2, 2 + dims))
    if inputs.device.type != "cpu":
        x = windows.reshape(g.shape[0], -1, g.shape[2])  # copies, which take room
        return torch.bmm(g, x.transpose(1, 2)).reshape(rows, -1)
    found = room.lines(layer.weight, (rows, layer.weight.numel()), g.dtype)
    size = min(rows, max(1, _WINDOWS // max(1, windows[:1].numel())))
    copies = torch.empty_like(windows[:size], memory_format=torch.contiguous_format)
    lines = found.view(rows * groups, g.shape[1], -1)
    for start in range(0, rows, size):
        part = windows[start : start + size]
        taken = copies[: part.shape[0]].copy_(part)
        each = slice(start * groups, (start + size) * groups)
        x = taken.view(-1, lines.shape[2], g.shape[2])
        torch.bmm(g[each], x.transpose(1, 2), out=lines[each])
    return found


def _by_unit(vectors: Tensor, units: int) -> Tensor:
    """Add up the rows of each unit."""
    if vectors.shape[0] == units:
        return vectors
    return vectors.reshape(units, -1, vectors.shape[1]).sum(1)
