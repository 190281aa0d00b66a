"""Contributions of any model: the gradient of each example by itself, with ``vmap(grad)``.

Trust: kernel.

Whatever no theorem covers (other padding, attention modules, recurrent layers, weights used twice,
bare parameters) is differentiated example by example; the contribution is the vector of floats that
comes out.  Slower, and as large as the model for each example.  Where ``vmap`` has no rule for an
operation (GRU, RNN, activation checkpointing), gradients are computed one after another.
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
        self, model: nn.Module, objective: SummedObjective, *, one_by_one: bool = False
    ) -> None:
        """Take a model and its objective; ``one_by_one`` does without ``vmap``."""
        self.model, self.objective, self.one_by_one = model, objective, one_by_one

    def gradients(self, inputs: Tensor, targets: Tensor) -> dict[nn.Parameter, Tensor]:
        """Return one gradient for each row and trainable parameter."""
        named = {k: p for k, p in self.model.named_parameters() if p.requires_grad}
        if self.one_by_one:
            return self._one_after_another(list(named.values()), inputs, targets)
        fixed = {k: p.detach() for k, p in self.model.named_parameters() if not p.requires_grad}
        fixed |= dict(self.model.named_buffers())

        def of_one(values: dict[str, Tensor], row: Tensor, target: Tensor) -> Tensor:
            output = functional_call(self.model, (values, fixed), (row[None],))
            return self.objective(output, target[None])

        each = vmap(grad(of_one), (None, 0, 0), randomness="different")
        with warnings.catch_warnings():  # operations without a rule of their own run one by one
            warnings.filterwarnings("ignore", message="There is a performance drop")
            found = each({k: p.detach() for k, p in named.items()}, inputs, targets)
        return {named[name]: values for name, values in found.items()}

    def _one_after_another(
        self, parameters: list[nn.Parameter], inputs: Tensor, targets: Tensor
    ) -> dict[nn.Parameter, Tensor]:
        lines = []
        with torch.enable_grad():
            for row, target in zip(inputs, targets, strict=True):
                value = self.objective(self.model(row[None]), target[None])
                lines.append(torch.autograd.grad(value, parameters, materialize_grads=True))
        by_parameter = zip(*lines, strict=True)
        return {p: torch.stack(rows) for p, rows in zip(parameters, by_parameter, strict=True)}

    def parts(self, inputs: Tensor, targets: Tensor, inside: Tensor, units: int) -> list[LayerPart]:
        """Return one part for each parameter."""
        found: list[LayerPart] = []
        for parameter, rows in self.gradients(inputs, targets).items():
            with torch.no_grad():
                lines = rows.detach().reshape(len(rows), -1)  # a parameter may be one number
                if len(lines) > units:
                    real = inside.to(lines.device)[:, None]
                    lines = torch.where(real, lines, torch.zeros_like(lines))
                    lines = lines.reshape(units, -1, lines.shape[1]).sum(1)
                found.append(Expanded.of(parameter, lines))
        return found
