"""Which way the contributions of a model are found, and why.

Trust: kernel.  A layer is proved by its exact type and all attributes, and used once; if any
trainable layer is not, the whole model is differentiated example by example.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn

from discreet.errors import DiscreetError, ExamplesMix, LayerNotProvable, OutOfRange, WrongKind
from discreet.learning.deep.examples import ExampleGradients
from discreet.learning.deep.factors import (
    PROVED,
    Contributions,
    RecordedFactors,
    trainable_layers,
)
from discreet.learning.deep.objectives import SummedObjective


@final
@dataclass(frozen=True, slots=True)
class ModelEngine:
    """A way to find contributions, the lines of a plan about it, and how long sums are.

    ``positions`` is the most products that one unit adds to any coordinate, and ``memory`` how many
    bytes the factors or gradients of a micro-batch take.
    """

    contributions: Contributions
    layers: tuple[str, ...]
    positions: int
    memory: int = 0


def check_model(model: object) -> nn.Module:
    """Refuse what cannot be trained privately whatever the data."""
    if not isinstance(model, nn.Module):
        raise WrongKind(
            what=f"the model is a {type(model).__name__}, not a torch.nn.Module.",
            why="contributions are found layer by layer.",
            do="give a module; models without torch are in discreet.learning, too.",
        )
    if hasattr(model, "_orig_mod"):
        raise LayerNotProvable(
            what="the model is compiled.",
            why="compiled code calls no layer, so nothing can be recorded.",
            do="give the model itself, before torch.compile.",
        )
    if not any(p.requires_grad for p in model.parameters()):
        raise OutOfRange(
            what="no parameter of the model is trainable.",
            why="there is nothing to learn, and noise would be paid for in vain.",
            do="set requires_grad on the layers to train.",
        )
    for name, module in model.named_modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and (  # noqa: SLF001
            module.training or module.running_mean is None
        ):
            channels = module.num_features
            groups = next(n for n in (8, 4, 2, 1) if channels % n == 0)
            raise ExamplesMix(
                what=f"{type(module).__name__} '{name}' mixes examples.",
                why="it divides by the mean and spread of a batch, so that one example moves what "
                "all others contribute, and clipping bounds nothing.",
                do=f"use GroupNorm({groups}, {channels}), or freeze it with .eval().",
            )
        if getattr(module, "max_norm", None) is not None:
            raise ExamplesMix(
                what=f"{type(module).__name__} '{name}' has a max_norm.",
                why="it scales the lines of the tokens that it meets in place, so that weights "
                "tell which tokens there are, without noise.",
                do="leave max_norm out.",
            )
    return model


def choose(
    model: nn.Module, objective: SummedObjective, inputs: Tensor, targets: Tensor, *, units: int
) -> ModelEngine:
    """Choose the way for a model, from one run on generated rows."""
    why = _unproved(model)
    recorder = RecordedFactors(model, objective)
    positions = 1
    if why is None:
        try:
            calls = recorder.record(inputs, targets)
        except LayerNotProvable:
            why = "forwards run twice"
        else:
            why = _misused(calls, recorder.layers, inputs.shape[0])
            positions = max(
                (_positions(layer, a, g) // units for _, layer, a, g in calls), default=1
            )
    if why is None:
        lines = tuple(
            f"{name or 'model'}: {type(layer).__name__}, recorded"
            for name, layer in recorder.layers
        )
        memory = sum(a.nbytes + g.nbytes for _, _, a, g in calls)
        return ModelEngine(recorder, lines, max(1, positions), memory)
    examples = ExampleGradients(model, objective)
    try:
        examples.gradients(inputs[:2], targets[:2])
    except DiscreetError:
        raise
    except Exception as failure:
        raise LayerNotProvable(
            what=f"contributions of this model cannot be computed: {why}, and vmap fails with "
            f"{type(failure).__name__}.",
            why="each example is clipped by itself, and so must be differentiated by itself.",
            do="replace the layer that vmap does not support, or freeze it.",
        ) from failure
    line = f"whole model: one gradient for each example, since {why}"
    memory = inputs.shape[0] * sum(p.nbytes for p in model.parameters() if p.requires_grad)
    return ModelEngine(examples, (line,), 1, memory)


def _unproved(model: nn.Module) -> str | None:
    """Say which layer no theorem covers."""
    seen: Counter[int] = Counter()
    for name, layer in trainable_layers(model):
        if type(layer) not in PROVED:
            return f"{type(layer).__name__} '{name}' is not among the proved layers"
        reason = PROVED[type(layer)][0](layer)
        if reason is not None:
            return f"of {type(layer).__name__} '{name}': {reason}"
        if hasattr(layer, "parametrizations") or layer._forward_pre_hooks:  # noqa: SLF001
            return f"{type(layer).__name__} '{name}' is parametrized"
        if any(not isinstance(p, nn.Parameter) for p in (layer.weight,)):
            return f"the weight of '{name}' is computed"
        seen.update(id(p) for p in layer.parameters(recurse=False) if p.requires_grad)
    if any(count > 1 for count in seen.values()):
        return "a weight is shared by several layers"
    return None


def _misused(
    calls: list[tuple[str, nn.Module, Tensor, Tensor]],
    layers: list[tuple[str, nn.Module]],
    rows: int,
) -> str | None:
    """Say which layer was used in a way that no theorem covers."""
    used = Counter(id(layer) for _, layer, _, _ in calls)
    for name, layer in layers:
        if used[id(layer)] != 1:
            return f"'{name}' is used {used[id(layer)]} times"
    for name, _, a, g in calls:
        if a.shape[0] != rows or g.shape[0] != rows:
            return f"'{name}' sees rows in another order than the data's"
        if a.dtype.is_floating_point and a.dtype not in _NARROW:
            return f"'{name}' computes in {a.dtype}"
    return None


_NARROW = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def _positions(layer: nn.Module, a: Tensor, g: Tensor) -> int:
    """Return how many products the rows together add to a coordinate at most."""
    if isinstance(layer, nn.Linear | nn.Embedding):
        return int(g.numel() // g.shape[-1])
    return int(a.shape[0])
