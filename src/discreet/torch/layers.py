"""What each layer contributes to a per-example gradient: norms and sums from recorded factors.

Trust: kernel.

*Linear*.  Theorem.  With inputs a_t and output gradients g_t at positions t, the weight's
contribution is the sum of g_t a_t^T and the bias's the sum of g_t.  At one position, the squared
norm of both is |g|^2 (|a|^2 + 1) and the span |g| (|a| + 1).  At several, that of the weight is the
sum over t, t' of (g_t . g_t')(a_t . a_t'), and its span the sum of |g_t||a_t|, each norm with
2**-56 added to it: numbers below 2**-126 may count in a sum and not in a norm, if threads flush
them or do not, and must not be scaled up.  In float64 the double sum is off by at most g span^2, g
being the rounding of p + q + 4 operations and the additions: it is added.  If positions are
many, the sum of g_t a_t^T is formed as floats, and is the contribution; so is the sum of g_t,
wherever there are several.

*Convolutions*.  The vector of a unit is formed as floats, in the precision of the model, and *is*
its contribution; its norm is that of these floats.  On a CPU it comes from strided views of
the padded input, by ``Tensor.unfold``; on a GPU from one product for each place of the kernel, of
the gradient and the padded input moved by one distance, so that no window is copied.  Padding
other than zeros, and transposed or lazy layers, are left to
:mod:`discreet.torch.per_example`: a norm and a gradient that pad differently released 1.72 times
the bound in another library.

*Normalization* of each example by itself (LayerNorm, GroupNorm, RMSNorm).  With x the normalized
input and g the output gradient, the weight's contribution is the sum of x g over positions, the
bias's the sum of g.  Both are formed as floats, and are the contribution.

*Embeddings*.  With tokens k_t and output gradients g_t, the contribution is g_t added to line k_t
for each t.  Its squared norm is the sum of g_t . g_t' over pairs of equal tokens, and its span the
sum of |g_t|.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

import torch
import torch.nn.functional as F  # noqa: N812  its usual name
from torch import Tensor, nn

from discreet.torch.clipping import raised
from discreet.torch.layer_parts import (
    LOST,
    Expanded,
    LayerPart,
    Room,
    Totals,
    add_products,
    at_least_zero,
    finite,
    flushed,
    gram,
    lengths,
    positions,
)

_PAIRS: Final = {"cpu": 32}
"""How many coordinates a weight has for each pair of positions before pairs are sooner done."""
_PAIRS_ELSEWHERE: Final = 2
_MANY: Final = 16
"""Positions from which vectors of float32 are sooner formed than pairs and float64 products."""
_VECTORS: Final = 1 << 23
"""Numbers that such vectors of a micro-batch may have: 32 megabytes of float32."""

_TALL: Final = 8
"""How many times as many outputs as inputs a weight has whose transposed vectors are formed."""


def refuse_linear(layer: nn.Module) -> str | None:
    """Say why a layer is not covered by the theorem, or nothing."""
    return None if type(layer) is nn.Linear else f"{type(layer).__name__} is not a plain Linear"


def linear_parts(
    layer: nn.Linear, inputs: Tensor, gradients: Tensor, units: int, room: Room | None = None
) -> list[LayerPart]:
    """Return the parts of a linear layer."""
    a, g = flushed(positions(inputs, units)), flushed(positions(gradients, units))
    weight = layer.weight if layer.weight.requires_grad else None
    bias = layer.bias if layer.bias is not None and layer.bias.requires_grad else None
    if a.shape[1] == 1 and weight is not None:
        return [_Products.of(weight, bias, a[:, 0], g[:, 0])]
    kept = room or Room()
    parts: list[LayerPart] = [] if bias is None else [Expanded.of(bias, g.sum(1))]
    if weight is None:
        return parts
    if not _as_vectors(a, weight):
        return [_Pairs.of(weight, a, g, kept), *parts]
    return [Expanded.of(weight, _vectors(weight, a, g, kept)), *parts]


def _vectors(weight: nn.Parameter, a: Tensor, g: Tensor, room: Room) -> Tensor:
    """Return the sum of g_t a_t^T of each unit, as floats.

    A CPU takes two to six times as long for a tall matrix times a narrow one as for its transpose,
    such as for the second factor of a LoRA: then the transposed product is formed, and copied.
    """
    if a.device.type != "cpu":
        return torch.bmm(g.transpose(1, 2), a)
    units = a.shape[0]
    out = room.lines(weight, (units, weight.numel()), a.dtype).view(units, *weight.shape)
    if weight.shape[0] < _TALL * weight.shape[1]:
        return torch.bmm(g.transpose(1, 2), a, out=out)
    return out.copy_(torch.bmm(a.transpose(1, 2), g).transpose(1, 2))


def _as_vectors(a: Tensor, weight: nn.Parameter) -> bool:
    """Say whether the vector of each unit is formed, by sizes alone."""
    units, places = int(a.shape[0]), int(a.shape[1])
    if weight.numel() < _PAIRS.get(a.device.type, _PAIRS_ELSEWHERE) * places**2:
        return True
    return a.device.type == "cpu" and places >= _MANY and units * weight.numel() <= _VECTORS


def refuse_transposed(layer: nn.Module) -> str | None:
    """Say why a ``Conv1D`` of Transformers is not covered, or nothing."""
    weight, bias = getattr(layer, "weight", None), getattr(layer, "bias", None)
    matrix = isinstance(weight, nn.Parameter) and weight.dim() == 2
    return (
        None
        if matrix and isinstance(bias, nn.Parameter)
        else "its weight is not a matrix, or it has no bias"
    )


def transposed_parts(
    layer: nn.Module, inputs: Tensor, gradients: Tensor, units: int, room: Room | None = None
) -> list[LayerPart]:
    """Return the parts of a linear layer whose weight is stored transposed (``Conv1D`` of GPT-2).

    The weight's contribution is the sum of a_t g_t^T: that of a linear layer whose inputs are
    g_t and whose output gradients are a_t.
    """
    a, g = flushed(positions(inputs, units)), flushed(positions(gradients, units))
    weight, bias = layer.weight, layer.bias
    parts: list[LayerPart] = []
    if isinstance(bias, nn.Parameter) and bias.requires_grad:
        parts.append(Expanded.of(bias, g.sum(1)))
    if not isinstance(weight, nn.Parameter) or not weight.requires_grad:
        return parts
    if a.shape[1] == 1:
        return [_Products.of(weight, None, g[:, 0], a[:, 0]), *parts]
    if not _as_vectors(a, weight):
        return [_Pairs.of(weight, g, a, Room()), *parts]
    return [Expanded.of(weight, _vectors(weight, g, a, room or Room())), *parts]


@final
@dataclass(slots=True, eq=False)
class _Products(LayerPart):
    """One position: a weight, and perhaps a bias."""

    weight: nn.Parameter
    bias: nn.Parameter | None
    a: Tensor
    g: Tensor
    squares: Tensor
    spans: Tensor

    @classmethod
    def of(cls, weight: nn.Parameter, bias: nn.Parameter | None, a: Tensor, g: Tensor) -> _Products:
        one = 0.0 if bias is None else 1.0
        long, wide = lengths(g), lengths(a)
        squares = long.square() * (wide.square() + one) * raised(8)
        return cls(weight, bias, a, g, squares, long * (wide + one) * raised(8))

    @property
    def owner(self) -> nn.Parameter:
        return self.weight

    def lines(self) -> tuple[Tensor, ...]:
        return self.a, self.g, self.squares, self.spans

    def add(self, scales: Tensor, totals: Totals, *, drop: bool = True, chunk: int = 0) -> None:
        g, a = finite(self.g, scales, drop), finite(self.a, scales, drop)
        bias = None if self.bias is None else totals[self.bias]
        add_products(totals[self.weight], bias, g, a, scales, chunk)


@final
@dataclass(slots=True, eq=False)
class _Pairs(LayerPart):
    """Several positions, and a weight."""

    weight: nn.Parameter
    a: Tensor
    g: Tensor
    squares: Tensor
    spans: Tensor

    @classmethod
    def of(cls, weight: nn.Parameter, a: Tensor, g: Tensor, room: Room) -> _Pairs:
        places, width = a.shape[1], a.shape[2] + g.shape[2]
        wide, others = room.pairs(a)
        pairs = gram(g)
        long, large = (each.diagonal(dim1=1, dim2=2).sqrt() + LOST for each in (pairs, others))
        spans = (long * large).sum(1) * raised(width + places + 8)
        squares = at_least_zero((pairs * others).sum((1, 2)))
        squares = squares + (raised(width + places**2 + 8) - 1.0) * spans**2
        return cls(weight, wide, g, squares, spans)

    @property
    def owner(self) -> nn.Parameter:
        return self.weight

    def lines(self) -> tuple[Tensor, ...]:
        return self.a, self.g, self.squares, self.spans

    def add(self, scales: Tensor, totals: Totals, *, drop: bool = True, chunk: int = 0) -> None:  # noqa: ARG002  in float64
        g, a = (finite(each, scales, drop).flatten(0, 1) for each in (self.g, self.a))
        each = scales.double().repeat_interleave(self.g.shape[1])
        add_products(totals[self.weight], None, g, a, each)


_WINDOWS: Final = 1 << 18
"""Numbers that are copied at once on a CPU: one megabyte of float32."""
_FEW: Final = 16
"""Numbers of a line of places or of a window that are too few to be copied line by line."""
_COPIED: Final = frozenset({"cpu"})
"""Devices on which windows are copied, block by block; others multiply shifted places."""
_ALIGNED: Final = 8
"""A divisor of the widths of products that a GPU multiplies fast, in any precision."""
_TOGETHER: Final = 8
"""Contiguous numbers of a window, from which windows are copied if there are few positions."""
Convolution: TypeAlias = nn.Conv1d | nn.Conv2d | nn.Conv3d
CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


def refuse_convolution(layer: nn.Module) -> str | None:
    """Say why a layer is not covered, or nothing."""
    if type(layer) not in CONVOLUTIONS:
        return f"{type(layer).__name__} is not a plain convolution"
    if layer.padding_mode != "zeros":
        return f"its padding mode is {layer.padding_mode!r}"
    return None


def convolution_parts(
    layer: Convolution, inputs: Tensor, gradients: Tensor, units: int, room: Room | None = None
) -> list[LayerPart]:
    """Return the parts of a convolution."""
    parts: list[LayerPart] = []
    if layer.weight.requires_grad and gradients.device.type not in _COPIED:
        vectors = _weights_of_units(layer, inputs, gradients, units)
        parts.append(Expanded.of(layer.weight, vectors, channels_last=True))
    elif layer.weight.requires_grad:
        last = _channels_last(layer, gradients)
        vectors = _weights(layer, inputs, gradients, room or Room(), last=last)
        parts.append(Expanded.of(layer.weight, _by_unit(vectors, units), channels_last=last))
    if layer.bias is not None and layer.bias.requires_grad:
        vectors = gradients.flatten(2).sum(2)
        parts.append(Expanded.of(layer.bias, _by_unit(vectors, units)))
    return parts


def _channels_last(layer: Convolution, gradients: Tensor) -> bool:
    """Say whether the numbers of a window are copied together, by sizes alone."""
    together = int(layer.kernel_size[-1] * layer.weight.shape[1])
    return gradients.shape[-1] < _FEW and together >= _TOGETHER


def _weights(
    layer: Convolution, inputs: Tensor, gradients: Tensor, room: Room, *, last: bool
) -> Tensor:
    """Return the weight gradient of each row, flat."""
    rows, groups = inputs.shape[0], layer.groups
    windows = _windows(layer, inputs, last=last)
    g = gradients.reshape(rows * groups, -1, gradients.shape[2:].numel())
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


def _weights_of_units(layer: Convolution, inputs: Tensor, gradients: Tensor, units: int) -> Tensor:
    """Return the weight gradient of each unit, flat, channels last, as a GPU computes it soonest.

    Places of all rows of a unit are multiplied at once.  With a stride of 1, what a weight is
    multiplied by is the padded input, moved by one distance at all places, so nothing is copied for
    each weight; places of the padding have a gradient of zero.
    """
    g = gradients.movedim(1, -1)
    if layer.groups == 1 and set(layer.stride) == {1}:
        return _by_shifts(layer, inputs, g, units)
    windows = _windows(layer, inputs, last=True).unflatten(0, (units, -1)).transpose(1, 2)
    each = g.unflatten(-1, (layer.groups, -1)).unflatten(0, (units, -1)).movedim(-2, 1)
    x = windows.reshape(units * layer.groups, -1, layer.weight[0].numel())
    return torch.bmm(each.reshape(*x.shape[:2], -1).transpose(1, 2), x).reshape(units, -1)


def _by_shifts(layer: Convolution, inputs: Tensor, g: Tensor, units: int) -> Tensor:
    """Return the weight gradient of each unit, with one product for each place of the kernel."""
    padding = layer._reversed_padding_repeated_twice  # noqa: SLF001  that of 'same', too
    channels = inputs.shape[1]
    before, behind = [*padding[-2::-2], 0], [*padding[::-2], -channels % _ALIGNED]
    x = _framed(inputs.movedim(1, -1), before, behind)
    kernel, room = layer.kernel_size, x.shape[1:-1]
    left_over = [size - own for size, own in zip(room, g.shape[1:-1], strict=True)]
    wide = _framed(g, [0] * len(before), [*left_over, 0])
    x, wide = (each.view(units, -1, each.shape[-1]) for each in (x, wide))
    places = (
        range(0, size * step, step) for size, step in zip(kernel, layer.dilation, strict=True)
    )
    shifts = [
        sum(place * math.prod(room[axis + 1 :]) for axis, place in enumerate(each))
        for each in itertools.product(*places)
    ]
    kept = x.shape[1] - shifts[-1]  # all others have a gradient of zero
    left = wide[:, :kept].transpose(1, 2)
    found = g.new_empty(units, g.shape[-1], len(shifts), x.shape[-1])
    for place, shift in enumerate(shifts):
        torch.bmm(left, x[:, shift : shift + kept], out=found[:, :, place])
    return found[..., :channels].flatten(1)


def _framed(values: Tensor, before: list[int], behind: list[int]) -> Tensor:
    """Return values with zeros around all dimensions but the first; eight bytes move at once."""
    own = values.shape[1:]
    sizes = (sum(each) for each in zip(before, own, behind, strict=True))
    framed = values.new_zeros(len(values), *sizes)
    ends = zip(before, own, strict=True)
    inside = framed[(slice(None), *(slice(low, low + size) for low, size in ends))]
    together = 8 // values.element_size()
    if values.is_contiguous() and framed.shape[-1] == own[-1] and own[-1] % together == 0:
        inside, values = inside.view(torch.int64), values.view(torch.int64)
    inside.copy_(values)
    return framed


def _windows(layer: Convolution, inputs: Tensor, *, last: bool) -> Tensor:
    """Return what each weight is multiplied by at each place, as a view of as few copies.

    Its dimensions are rows, groups, then channels, kernel and places, or with ``last`` places,
    kernel and channels.  The last axis is cut first: if its windows are short, copies of them
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


NORMALIZATIONS = (nn.LayerNorm, nn.GroupNorm, nn.RMSNorm)


def refuse_root_mean_square(layer: nn.Module) -> str | None:
    """Say why an ``RMSNorm`` of Transformers is not covered, or nothing."""
    weight = getattr(layer, "weight", None)
    plain = isinstance(weight, nn.Parameter) and weight.dim() == 1
    names = {name for name, _ in layer.named_parameters(recurse=False)}
    if plain and names == {"weight"} and isinstance(_epsilon(layer), float):
        return None
    return "it is not a plain normalization by the root mean square"


def _epsilon(layer: nn.Module) -> Any:
    return getattr(layer, "variance_epsilon", getattr(layer, "eps", None))


def root_mean_square_parts(
    layer: nn.Module, inputs: Tensor, gradients: Tensor, units: int
) -> list[LayerPart]:
    """Return the part of an ``RMSNorm`` of Transformers, which normalizes in float32.

    A class that computes something else under this name is refused by the comparison with
    autograd (:mod:`discreet.torch.trial`).
    """
    weight = layer.weight
    if not isinstance(weight, nn.Parameter) or not weight.requires_grad:
        return []
    wide = inputs.float()
    normal = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + _epsilon(layer))
    values = normal.to(inputs.dtype) * gradients
    return [Expanded.of(weight, values.reshape(units, -1, weight.numel()).sum(1))]


def refuse_normalization(layer: nn.Module) -> str | None:
    """Say why a layer is not covered, or nothing."""
    if type(layer) in NORMALIZATIONS:
        return None
    return f"{type(layer).__name__} is not a plain normalization of single examples"


def normalization_parts(
    layer: nn.LayerNorm | nn.GroupNorm | nn.RMSNorm, inputs: Tensor, gradients: Tensor, units: int
) -> list[LayerPart]:
    """Return the parts of a normalization."""
    if isinstance(layer, nn.GroupNorm):
        normal = F.group_norm(inputs, layer.num_groups, eps=layer.eps)
    elif isinstance(layer, nn.LayerNorm):
        normal = F.layer_norm(inputs, layer.normalized_shape, eps=layer.eps)
    else:
        normal = F.rms_norm(inputs, layer.normalized_shape, eps=layer.eps)
    parts: list[LayerPart] = []
    bias = getattr(layer, "bias", None)
    for parameter, values in ((layer.weight, normal * gradients), (bias, gradients)):
        if parameter is not None and parameter.requires_grad:
            parts.append(Expanded.of(parameter, _per_unit(layer, values, units)))
    return parts


def _per_unit(layer: nn.Module, values: Tensor, units: int) -> Tensor:
    """Add up all positions of a unit."""
    if isinstance(layer, nn.GroupNorm):  # rows x channels x positions
        rows = values.flatten(2).sum(2) if values.dim() > 2 else values
        return rows.reshape(units, -1, rows.shape[1]).sum(1)
    return values.reshape(units, -1, layer.weight.numel()).sum(1)


def refuse_embedding(layer: nn.Module) -> str | None:
    """Say why a layer is not covered, or nothing."""
    if type(layer) is not nn.Embedding:
        return f"{type(layer).__name__} is not a plain Embedding"
    special = {
        "max_norm": layer.max_norm is not None,
        "scale_grad_by_freq": layer.scale_grad_by_freq,
        "sparse": layer.sparse,
    }
    named = [name for name, used in special.items() if used]
    return f"it has {' and '.join(named)}" if named else None


def embedding_parts(
    layer: nn.Embedding, inputs: Tensor, gradients: Tensor, units: int
) -> list[LayerPart]:
    """Return the part of an embedding; the padding token learns nothing."""
    g = positions(gradients, units)
    tokens = inputs.reshape(units, -1)
    if layer.padding_idx is not None:
        g = torch.where((tokens == layer.padding_idx)[:, :, None], g.new_zeros(()), g)
    return [_Tokens.of(layer.weight, tokens, g)]


@final
@dataclass(slots=True, eq=False)
class _Tokens(LayerPart):
    weight: nn.Parameter
    tokens: Tensor
    g: Tensor
    squares: Tensor
    spans: Tensor

    @classmethod
    def of(cls, weight: nn.Parameter, tokens: Tensor, g: Tensor) -> _Tokens:
        places, width = g.shape[1], g.shape[2]
        spans = lengths(g).sum(1) * raised(places + 4)
        same = tokens[:, :, None] == tokens[:, None, :]
        pairs = gram(g).mul_(same)
        squares = at_least_zero(pairs.sum((1, 2)))
        squares = squares + (raised(width + places**2 + 8) - 1.0) * spans**2
        return cls(weight, tokens, g, squares, spans)

    @property
    def owner(self) -> nn.Parameter:
        return self.weight

    def lines(self) -> tuple[Tensor, ...]:
        return self.tokens, self.g, self.squares, self.spans

    def add(self, scales: Tensor, totals: Totals, *, drop: bool = True, chunk: int = 0) -> None:  # noqa: ARG002  in float64
        scaled = finite(self.g, scales, drop) * scales.double()[:, None, None]
        totals[self.weight].index_add_(0, self.tokens.flatten(), scaled.flatten(0, 1))
