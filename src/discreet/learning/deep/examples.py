"""Contributions of any model: the gradient of each example by itself, with ``vmap(grad)``.

Trust: kernel.

Whatever no theorem covers (other padding, attention modules, recurrent layers, weights used twice,
bare parameters) is differentiated example by example; the contribution is the vector of floats that
comes out.  Slower, and as large as the model for each example of a chunk.
"""

from __future__ import annotations

import warnings
from typing import final

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from discreet.learning.deep.layers.part import Expanded, LayerPart
from discreet.learning.deep.objectives import SummedObjective


@final
class ExampleGradients:
    """Contributions of a model by one gradient for each example."""

    def __init__(
        self, model: nn.Module, objective: SummedObjective, *, chunk: int | None = None
    ) -> None:
        """Take a model, its objective, and how many examples fit into memory at once."""
        self.model, self.objective, self.chunk = model, objective, chunk

    def gradients(self, inputs: Tensor, targets: Tensor) -> dict[nn.Parameter, Tensor]:
        """Return one gradient for each row and trainable parameter."""
        named = {k: p for k, p in self.model.named_parameters() if p.requires_grad}
        fixed = {k: p.detach() for k, p in self.model.named_parameters() if not p.requires_grad}
        fixed |= dict(self.model.named_buffers())

        def of_one(values: dict[str, Tensor], row: Tensor, target: Tensor) -> Tensor:
            output = functional_call(self.model, (values, fixed), (row[None],))
            return self.objective(output, target[None])

        each = vmap(grad(of_one), (None, 0, 0), randomness="different", chunk_size=self.chunk)
        with warnings.catch_warnings():  # operations without a rule of their own run one by one
            warnings.filterwarnings("ignore", message="There is a performance drop")
            found = each({k: p.detach() for k, p in named.items()}, inputs, targets)
        return {named[name]: values for name, values in found.items()}

    def parts(self, inputs: Tensor, targets: Tensor, inside: Tensor, units: int) -> list[LayerPart]:
        """Return one part for each parameter."""
        found: list[LayerPart] = []
        for parameter, rows in self.gradients(inputs, targets).items():
            with torch.no_grad():
                lines = rows.detach().flatten(1)
                lines = torch.where(
                    inside.to(lines.device)[:, None], lines, torch.zeros_like(lines)
                )
                lines = lines.reshape(units, -1, lines.shape[1]).sum(1)
                found.append(Expanded.of(parameter, lines))
        return found
