"""Linear layers: norms and sums from inputs and output gradients, without the products.

Trust: kernel.

Theorem.  With inputs a_t and output gradients g_t at positions t, the weight's contribution is the
sum of g_t a_t^T and the bias's the sum of g_t.  Its squared norm is
    |g|^2 (|a|^2 + 1)  at one position,   sum over t, t' of (g_t . g_t')(a_t . a_t' + 1)
at several; the span is the sum of |g_t| (|a_t| + 1).  In float64 the double sum is off by at most
g span^2, g being the rounding of p + q + 4 operations and the additions: it is added.
Where positions are many, the sum of g_t a_t^T is formed as floats, and is the contribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import torch
from torch import Tensor, nn

from discreet.learning.clipping import raised
from discreet.learning.deep.layers.part import (
    Expanded,
    LayerPart,
    Totals,
    add_lines,
    add_products,
    at_least_zero,
    finite,
    flushed,
    gram,
    lengths,
    positions,
)
from discreet.learning.deep.layers.room import Room

_PAIRS: Final = 32
"""How many coordinates a weight has for each pair of positions before pairs are sooner done."""
_MANY: Final = 16
"""Positions from which vectors of float32 are sooner formed than pairs and float64 products."""
_VECTORS: Final = 1 << 23
"""Numbers that such vectors of a micro-batch may have: 32 megabytes of float32."""


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
    if weight is None or not _as_vectors(a, weight):
        return [_Products.of(weight, bias, a, g)]
    out = None
    if a.device.type == "cpu":
        out = (
            (room or Room())
            .lines(weight, (units, weight.numel()), a.dtype)
            .view(units, *weight.shape)
        )
    parts: list[LayerPart] = [Expanded.of(weight, torch.bmm(g.transpose(1, 2), a, out=out))]
    return parts if bias is None else [*parts, Expanded.of(bias, g.sum(1))]


def _as_vectors(a: Tensor, weight: nn.Parameter) -> bool:
    """Say whether the vector of each unit is formed, by sizes alone."""
    units, places = int(a.shape[0]), int(a.shape[1])
    if places == 1:
        return False
    if weight.numel() < _PAIRS * places**2:
        return True
    return a.device.type == "cpu" and places >= _MANY and units * weight.numel() <= _VECTORS


@final
@dataclass(slots=True, eq=False)
class _Products(LayerPart):
    weight: nn.Parameter | None
    bias: nn.Parameter | None
    a: Tensor
    g: Tensor
    squares: Tensor
    spans: Tensor

    @classmethod
    def of(
        cls, weight: nn.Parameter | None, bias: nn.Parameter | None, a: Tensor, g: Tensor
    ) -> _Products:
        one = 0.0 if bias is None else 1.0
        places, width = a.shape[1], a.shape[2] + g.shape[2]
        long = lengths(g)
        wide = torch.zeros_like(long) if weight is None else lengths(a)
        spans = (long * (wide + one)).sum(1) * raised(places + 8)
        if places == 1:
            squares = (long.square() * (wide.square() + one)).sum(1) * raised(8)
        else:
            pairs = gram(g)
            if weight is not None:
                pairs *= gram(a).add_(one)
            squares = at_least_zero(pairs.sum((1, 2)))
            squares = squares + (raised(width + places**2 + 8) - 1.0) * spans**2
        return cls(weight, bias, a, g, squares, spans)

    @property
    def owner(self) -> nn.Parameter:
        owner = self.bias if self.weight is None else self.weight
        assert owner is not None  # noqa: S101  a part is made for one of the two
        return owner

    def add(self, scales: Tensor, totals: Totals, *, drop: bool = True) -> None:
        g, places = finite(self.g, scales, drop).flatten(0, 1), self.g.shape[1]
        each = scales if places == 1 else scales.double().repeat_interleave(places)
        bias = None if self.bias is None else totals[self.bias]
        if self.weight is not None:
            inputs = finite(self.a, scales, drop).flatten(0, 1)
            add_products(totals[self.weight], bias, g, inputs, each)
        elif bias is not None:
            add_lines(bias, g, each)
