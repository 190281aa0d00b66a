"""Normalization of each example by itself: LayerNorm, GroupNorm, RMSNorm.

Trust: kernel.

With x the normalized input and g the output gradient, the weight's contribution is the sum of x g
over positions, the bias's the sum of g.  Both are formed as floats, and are the contribution.
"""

from __future__ import annotations

import torch.nn.functional as F  # noqa: N812  its usual name
from torch import Tensor, nn

from discreet.learning.deep.layers.part import Expanded, LayerPart

NORMALIZATIONS = (nn.LayerNorm, nn.GroupNorm, nn.RMSNorm)


def refuse_normalization(layer: nn.Module) -> str | None:
    """Say why a layer is not covered, or nothing."""
    if type(layer) in NORMALIZATIONS:
        return None
    return f"{type(layer).__name__} is no plain normalization of single examples"


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
