"""What is minimized, one number for each example.

Trust: kernel.

Definition.  An objective is a function of outputs and targets.  It returns one number for each
example, their sum, or their mean; a mean is multiplied by the public number of examples in a
micro-batch.  An objective that divides by anything else of its companions, such as the weights of
their classes, is refused: what one example contributes would depend on others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from discreet.errors import NotPerExample

Objective = Callable[[Tensor, Tensor], Tensor]


@final
@dataclass(frozen=True, slots=True)
class SummedObjective:
    """An objective, and by what to multiply it to get the sum over examples."""

    objective: Objective
    kind: str

    def __call__(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the sum over all examples."""
        value = self.objective(outputs, targets)
        if self.kind == "each":
            return value.sum()
        return value * outputs.shape[0] if self.kind == "mean" else value

    @classmethod
    def tested(cls, objective: Objective, outputs: Tensor, targets: Tensor) -> SummedObjective:
        """Find out what an objective returns, on outputs of generated examples."""
        with torch.no_grad():
            value = objective(outputs, targets)
            rows = outputs.shape[0]
            if not isinstance(value, Tensor) or value.shape not in {(), (rows,), (rows, 1)}:
                raise _refused("it returns neither one number nor one for each example")
            single = torch.stack(
                [objective(outputs[i : i + 1], targets[i : i + 1]).sum() for i in range(rows)]
            ).double()
        if value.dim():
            return cls(objective, _checked("each", value.double().flatten(), single))
        total = single.sum()
        for kind, scale in (("mean", rows), ("sum", 1)):
            if torch.allclose(value.double() * scale, total, rtol=1e-4, atol=1e-6):
                return cls(objective, kind)
        raise _refused("it is neither the sum nor the mean of what it gives for single examples")


def _checked(kind: str, value: Tensor, single: Tensor) -> str:
    if torch.allclose(value, single, rtol=1e-4, atol=1e-6):
        return kind
    raise _refused("what it gives for an example depends on the others")


def _refused(why: str) -> NotPerExample:
    return NotPerExample(
        what=f"the objective is not one of single examples: {why}.",
        why="each example is clipped by itself, so what it contributes must be its own.",
        do="give a function such as torch.nn.functional.cross_entropy without class weights or "
        "ignored targets, or one that returns a number for each example (reduction='none').",
    )
