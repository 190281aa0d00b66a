"""How far training has moved each weight: adapters that were never trained are noticed.

Trust: public.  Weights are released by the run, so their movement is too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn

from discreet.errors import OtherRun


@final
@dataclass(frozen=True, slots=True)
class Movement:
    """The trainable weights of a model as they were, to be compared with what they became.

    >>> layer = nn.Linear(2, 1, bias=False)
    >>> before = Movement.of(layer)
    >>> with torch.no_grad():
    ...     _ = layer.weight.add_(0.5)
    >>> round(before.distances(layer)["weight"], 3)
    0.707
    """

    weights: Mapping[str, Tensor]

    @classmethod
    def of(cls, model: nn.Module) -> Movement:
        """Copy the trainable weights, to the CPU."""
        trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
        return cls({name: p.detach().cpu().clone() for name, p in trained.items()})

    def distances(self, model: nn.Module) -> dict[str, float]:
        """Return the L2 distance of each weight from where it began."""
        now = dict(model.named_parameters())
        return {
            name: float(torch.linalg.vector_norm((now[name].detach().cpu() - old).float()))
            for name, old in self.weights.items()
        }

    def check(self, model: nn.Module) -> dict[str, float]:
        """Return the distances; raise if a weight has not moved.

        Every step adds noise to every coordinate, so a weight that did not change was not trained.
        """
        moved = self.distances(model)
        still = [name for name, distance in moved.items() if distance == 0]
        if still:
            more = f" and {len(still) - 1} more" if len(still) > 1 else ""
            raise OtherRun(
                what=f"the trainable weight '{still[0]}'{more} did not move in this run.",
                why="every step adds noise to the gradient of every trainable weight, so a weight "
                "that stays as it was has not been trained.",
                do="look for a learning rate of 0, an optimizer that was made before the adapter "
                "was added, or weights that were replaced during training.",
            )
        return moved
