"""Convolutions: the contribution of a unit from strided views of its padded input.

Trust: kernel.

The vector of a unit is formed as floats, in the precision of the model, and *is* its contribution;
its norm is that of these floats.  Views come from ``Tensor.unfold``: a call of ``F.unfold`` takes
eighty times as long on CUDA.  Padding other than zeros, and transposed or lazy layers, are left to
:mod:`discreet.learning.deep.examples`: a norm and a gradient that pad differently released 1.72
times the bound in another library.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import torch
import torch.nn.functional as F  # noqa: N812  its usual name
from torch import Tensor, nn

from discreet.learning.deep.layers.part import Expanded, LayerPart
from discreet.learning.deep.layers.room import Room

_WINDOWS: Final = 1 << 18
"""Numbers that are copied at once on a CPU: one megabyte of float32."""
_FEW: Final = 16
"""Numbers of a line of places or of a window that are too few to be copied line by line."""
_TOGETHER: Final = 8
"""Numbers of a window that lie together, from which windows are copied where places are few."""
Convolution: TypeAlias = nn.Conv1d | nn.Conv2d | nn.Conv3d
CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


def refuse_convolution(layer: nn.Module) -> str | None:
    """Say why a layer is not covered, or nothing."""
    if type(layer) not in CONVOLUTIONS:
        return f"{type(layer).__name__} is no plain convolution"
    if layer.padding_mode != "zeros":
        return f"its padding mode is {layer.padding_mode!r}"
    return None


def convolution_parts(
    layer: Convolution, inputs: Tensor, gradients: Tensor, units: int, room: Room | None = None
) -> list[LayerPart]:
    """Return the parts of a convolution."""
    parts: list[LayerPart] = []
    if layer.weight.requires_grad:
        last = _channels_last(layer, gradients)
        vectors = _weights(layer, inputs, gradients, room or Room(), last=last)
        parts.append(Expanded.of(layer.weight, _by_unit(vectors, units), channels_last=last))
    if layer.bias is not None and layer.bias.requires_grad:
        vectors = gradients.flatten(2).sum(2)
        parts.append(Expanded.of(layer.bias, _by_unit(vectors, units)))
    return parts


def _channels_last(layer: Convolution, gradients: Tensor) -> bool:
    """Say whether the numbers of a window are copied together, by sizes alone."""
    short = gradients.device.type == "cpu" and gradients.shape[-1] < _FEW
    together = int(layer.kernel_size[-1] * layer.weight.shape[1])
    return short and together >= _TOGETHER


def _weights(
    layer: Convolution, inputs: Tensor, gradients: Tensor, room: Room, *, last: bool
) -> Tensor:
    """Return the weight gradient of each row, flat."""
    rows, groups = inputs.shape[0], layer.groups
    windows = _windows(layer, inputs, last=last)
    g = gradients.reshape(rows * groups, -1, gradients.shape[2:].numel())
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
        if last:
            x = taken.view(-1, g.shape[2], lines.shape[2])
        else:
            x = taken.view(-1, lines.shape[2], g.shape[2]).transpose(1, 2)
        torch.bmm(g[each], x, out=lines[each])
    return found


def _windows(layer: Convolution, inputs: Tensor, *, last: bool) -> Tensor:
    """Return what each weight is multiplied by at each place, as a view of as few copies.

    Its dimensions are rows, groups, then channels, kernel and places, or with ``last`` places,
    kernel and channels.  The last axis is cut first: where its windows are short, copies of them
    make lines of the others long.
    """
    others = len(layer.kernel_size) - 1
    padding = layer._reversed_padding_repeated_twice  # noqa: SLF001  that of 'same', too
    padded = F.pad(inputs, padding) if any(padding) else inputs
    windows = padded.unflatten(1, (layer.groups, -1)).movedim(2, -1)
    if last:
        windows = windows.contiguous()
    windows = _cut(layer, windows, others, dim=2 + others).movedim((2 + others, -1), (2, -2))
    if last and windows.shape[-2:].numel() < _FEW:
        windows = windows.contiguous()
    for axis in range(others):
        windows = _cut(layer, windows, axis, dim=3 + axis)
    places, channel = (*range(3, 3 + others), 2), 4 + others
    kernel = (*range(5 + others, 5 + 2 * others), 3 + others)
    order = (*places, *kernel, channel) if last else (channel, *kernel, *places)
    return windows.permute(0, 1, *order)


def _cut(layer: Convolution, values: Tensor, axis: int, *, dim: int) -> Tensor:
    """Return a view with the windows of one axis of the kernel as the last dimension."""
    step = layer.dilation[axis]
    size = step * (layer.kernel_size[axis] - 1) + 1
    return values.unfold(dim, size, layer.stride[axis])[..., ::step]


def _by_unit(vectors: Tensor, units: int) -> Tensor:
    """Add up the rows of each unit."""
    if vectors.shape[0] == units:
        return vectors
    return vectors.reshape(units, -1, vectors.shape[1]).sum(1)
