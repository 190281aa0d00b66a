"""Contributions from recorded factors: one forward, one backward to the outputs of layers.

Trust: kernel.

Hooks record the input of each layer with trainable parameters, and where its output stands in the
graph of autograd, so that outputs need not be kept; one call of ``torch.autograd.grad`` gives their
gradients, and the gradients of parameters are never computed.  What a layer makes of the two is
proved in :mod:`discreet.learning.deep.layers`, for a layer that is called once and sees one row of
the data in each of its own: norms of several calls would be added as if their contributions were
orthogonal.  Rounding is priced for as many positions as at planning.  So every pass that is added
up is checked for both, and not the one at planning alone.
Hooks exist during a call only: the model stays the user's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final, Protocol, final

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge

from discreet.errors import LayerNotProvable
from discreet.learning.deep.layers.convolution import (
    CONVOLUTIONS,
    convolution_parts,
    refuse_convolution,
)
from discreet.learning.deep.layers.embedding import embedding_parts, refuse_embedding
from discreet.learning.deep.layers.linear import linear_parts, refuse_linear
from discreet.learning.deep.layers.normalization import (
    NORMALIZATIONS,
    normalization_parts,
    refuse_normalization,
)
from discreet.learning.deep.layers.part import LayerPart
from discreet.learning.deep.layers.room import Room
from discreet.learning.deep.objectives import SummedObjective
from discreet.learning.deep.streams import Streams

Calls = list[tuple[str, nn.Module, Tensor, Tensor]]
Parts = Callable[..., list[LayerPart]]

PROVED: Final[dict[type[nn.Module], tuple[Callable[[nn.Module], str | None], Parts]]] = {
    nn.Linear: (refuse_linear, linear_parts),
    nn.Embedding: (refuse_embedding, embedding_parts),
    **dict.fromkeys(CONVOLUTIONS, (refuse_convolution, convolution_parts)),
    **dict.fromkeys(NORMALIZATIONS, (refuse_normalization, normalization_parts)),
}
ROOMY: Final = frozenset({nn.Linear, *CONVOLUTIONS})
"""Layers whose vectors are worth keeping memory for."""


class Contributions(Protocol):
    """A way to find out what each unit of a micro-batch contributes."""

    def parts(self, inputs: Tensor, targets: Tensor, inside: Tensor, units: int) -> list[LayerPart]:
        """Return the parts of all trainable parameters.

        Padding of a unit that has real rows adds nothing to its part.  The part of a unit without
        any is of no use, and whoever adds up parts leaves it out.

        Args:
            inputs: the rows of all units, one after another, padded to a public number.
            targets: their targets.
            inside: which rows are real.
            units: how many units the rows are of, each with as many rows.
        """
        ...


def trainable_layers(model: nn.Module) -> list[tuple[str, nn.Module]]:
    """Return every module with trainable parameters of its own, by name."""
    return [
        (name, module)
        for name, module in model.named_modules()
        if any(p.requires_grad for p in module.parameters(recurse=False))
    ]


@final
class RecordedFactors:
    """Contributions of a model all of whose trainable layers are proved."""

    def __init__(self, model: nn.Module, objective: SummedObjective) -> None:
        """Take a model and its objective."""
        self.model, self.objective = model, objective
        self.layers = trainable_layers(model)
        self.positions: int | None = None
        """How many products a unit adds to a coordinate at most, once a plan rests on it."""
        self._room = Room()

    def record(self, inputs: Tensor, targets: Tensor) -> Calls:
        """Return each call of a layer: its name, itself, its input and the gradient of its output.

        A layer that was not used is left out: it contributes nothing.
        """
        calls: list[tuple[str, nn.Module, Tensor, GradientEdge]] = []
        handles = []
        for name, layer in self.layers:

            def hook(
                module: nn.Module, given: tuple[Any, ...], output: Tensor, name: str = name
            ) -> None:
                calls.append((name, module, given[0].detach(), get_gradient_edge(output)))

            handles.append(layer.register_forward_hook(hook))
        try:
            with torch.enable_grad():
                total = self.objective(self.model(inputs), targets)
                outputs = [call[3] for call in calls]
                gradients = torch.autograd.grad(total, outputs, allow_unused=True)
        finally:
            for handle in handles:
                handle.remove()
        if len(calls) != len(outputs):
            raise LayerNotProvable(
                what="forwards ran again in the backward pass (activation checkpointing).",
                why="inputs and outputs of layers are recorded once.",
                do="switch checkpointing off; gradients of parameters are not computed anyway.",
            )
        return [
            (name, layer, given, gradient.detach())
            for (name, layer, given, _), gradient in zip(calls, gradients, strict=True)
            if gradient is not None
        ]

    def parts(
        self,
        inputs: Tensor,
        targets: Tensor,
        inside: Tensor,
        units: int,
        streams: Streams | None = None,
    ) -> list[LayerPart]:
        """Return the parts of all layers, by the same operations wherever there is padding."""
        found: list[LayerPart] = []
        shared = inputs.shape[0] > units  # by rows that are real and rows that are not
        real = inside.to(inputs.device)
        recorded = self.record(inputs, targets)
        why = misused(recorded, inputs.shape[0])
        if self.positions is not None and most_positions(recorded) > self.positions * units:
            why = why or "sees more positions than at planning"
        if why is not None:
            raise LayerNotProvable(
                what=f"layer {why}.",
                why="norms bound contributions of layers that are used once, row by row, and "
                "rounding is priced for the positions at planning.",
                do="use every layer as in the pass at planning, or make a new Training.",
            )
        self._room.begin()
        beside = Streams(torch.device("cpu")) if streams is None else streams
        with torch.no_grad(), beside.beside():
            while recorded:
                _, layer, a, g = recorded.pop()
                with beside.on(a, g):
                    g = _masked(g, real) if shared else g
                    kept = (self._room,) if type(layer) in ROOMY else ()
                    found += PROVED[type(layer)][1](layer, a, g, units, *kept)
        self._room.lend(found)
        return found


def misused(calls: Calls, rows: int) -> str | None:
    """Say which layer was used in a way that no theorem covers."""
    used = Counter(name for name, *_ in calls)
    for name, _, a, g in calls:
        if used[name] > 1:
            return f"'{name}' is used {used[name]} times"
        if a.dim() == 0 or a.shape[0] != rows or g.shape[0] != rows:
            return f"'{name}' sees rows in another order than the data's"
        if a.dtype.is_floating_point and a.dtype not in _NARROW:
            return f"'{name}' computes in {a.dtype}"
    return None


def most_positions(calls: Calls) -> int:
    """Return how many products all rows together add to a coordinate at most."""
    return max((_positions(layer, a, g) for _, layer, a, g in calls), default=1)


def _positions(layer: nn.Module, a: Tensor, g: Tensor) -> int:
    if isinstance(layer, nn.Linear | nn.Embedding):
        return int(g.numel() // g.shape[-1])
    return int(a.shape[0])


_NARROW: Final = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def _masked(gradients: Tensor, inside: Tensor) -> Tensor:
    """Return zeros where a row is padding, whatever the model makes of it."""
    kept = inside.view(-1, *[1] * (gradients.dim() - 1))
    return torch.where(kept, gradients, gradients.new_zeros(()))
