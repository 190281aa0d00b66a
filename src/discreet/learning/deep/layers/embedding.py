"""Embeddings: contributions that touch the rows of a unit's own tokens.

Trust: kernel.

With tokens k_t and output gradients g_t, the contribution is g_t added to line k_t for each t.  Its
squared norm is the sum of g_t . g_t' over pairs of equal tokens, and its span the sum of |g_t|.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from torch import Tensor, nn

from discreet.learning.clipping import raised
from discreet.learning.deep.layers.part import (
    LayerPart,
    Totals,
    at_least_zero,
    finite,
    gram,
    lengths,
    positions,
)


def refuse_embedding(layer: nn.Module) -> str | None:
    """Say why a layer is not covered, or nothing."""
    if type(layer) is not nn.Embedding:
        return f"{type(layer).__name__} is no plain Embedding"
    special = {
        "padding_idx": layer.padding_idx is not None,
        "max_norm": layer.max_norm is not None,
        "scale_grad_by_freq": layer.scale_grad_by_freq,
        "sparse": layer.sparse,
    }
    named = [name for name, used in special.items() if used]
    return f"it has {' and '.join(named)}" if named else None


def embedding_parts(
    layer: nn.Embedding, inputs: Tensor, gradients: Tensor, units: int
) -> list[LayerPart]:
    """Return the part of an embedding."""
    g = positions(gradients, units)
    tokens = inputs.reshape(units, -1)
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
