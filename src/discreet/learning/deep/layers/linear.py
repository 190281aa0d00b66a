"""Linear layers: norms and sums from inputs and output gradients, without the products.

Trust: kernel.

Theorem.  With inputs a_t and output gradients g_t at positions t, the weight's contribution is the
sum of g_t a_t^T and the bias's the sum of g_t.  At one position, the squared norm of both is
|g|^2 (|a|^2 + 1) and the span |g| (|a| + 1).  At several, that of the weight is the sum over t, t'
of (g_t . g_t')(a_t . a_t'), and its span the sum of |g_t||a_t|, each norm with 2**-56 added to it:
numbers below 2**-126 may count in a sum and not in a norm, where threads flush them or do not, and
must not be scaled up.  In float64 the double sum is off
by at most g span^2, g being the rounding of p + q + 4 operations and the additions: it is added.
Where positions are many, the sum of g_t a_t^T is formed as floats, and is the contribution; so is
the sum of g_t, wherever there are several.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import torch
from torch import Tensor, nn

from discreet.learning.clipping import raised
from discreet.learning.deep.layers.part import (
    LOST,
    Expanded,
    LayerPart,
    Totals,
    add_products,
    at_least_zero,
    finite,
    flushed,
    gram,
    lengths,
    positions,
)
from discreet.learning.deep.layers.room import Room

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
    return None if type(layer) is nn.Linear else f"{type(layer).__name__} is no plain Linear"


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
