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
from torch.nn.parameter import is_lazy

from discreet.errors import DiscreetError, ExamplesMix, LayerNotProvable, OutOfRange, WrongKind
from discreet.learning.deep.examples import ExampleGradients
from discreet.learning.deep.factors import (
    PROVED,
    Calls,
    Contributions,
    RecordedFactors,
    misused,
    most_positions,
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
    if any(map(_compiled, model.modules())):
        raise LayerNotProvable(
            what="the model, or a module of it, is compiled.",
            why="compiled code calls no layer, so nothing can be recorded.",
            do="give the model itself, before torch.compile.",
        )
    if not any(p.requires_grad for p in model.parameters()):
        raise OutOfRange(
            what="no parameter of the model is trainable.",
            why="there is nothing to learn, and noise would be paid for in vain.",
            do="set requires_grad on the layers to train.",
        )
    empty = next((n for n, p in model.named_parameters() if p.is_meta or is_lazy(p)), None)
    if empty is not None:
        raise WrongKind(
            what=f"the parameter '{empty}' has no values yet.",
            why="it is on the device 'meta' or of a lazy module, and nothing can be computed.",
            do="load the weights, or call a lazy module once on public rows.",
        )
    _check_numbers(model)
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
        if isinstance(module, nn.Embedding | nn.EmbeddingBag) and module.sparse:
            raise LayerNotProvable(
                what=f"{type(module).__name__} '{name}' has sparse gradients.",
                why="the lines that they have would name the tokens of a batch, and noise is added "
                "to all lines.",
                do="leave sparse out.",
            )
        if getattr(module, "max_norm", None) is not None:
            raise ExamplesMix(
                what=f"{type(module).__name__} '{name}' has a max_norm.",
                why="it scales the lines of the tokens that it meets in place, so that weights "
                "tell which tokens there are, without noise.",
                do="leave max_norm out.",
            )
    return model


def _check_numbers(model: nn.Module) -> None:
    """Refuse weights of types that contributions cannot be computed in."""
    other = next(
        (n for n, p in model.named_parameters() if p.requires_grad and p.is_complex()), None
    )
    if other is not None:
        raise LayerNotProvable(
            what=f"the parameter '{other}' holds complex numbers.",
            why="contributions are clipped and rounded as real numbers.",
            do="train its real and imaginary part as two parameters of floats.",
        )
    half = next((n for n, p in model.named_parameters() if p.dtype == torch.float16), None)
    if half is not None:
        raise LayerNotProvable(
            what=f"the parameter '{half}' is in float16.",
            why="gradients below 6e-8 become 0 and ones above 65504 infinite, and there is no "
            "scaler: one that adapts would look at private gradients.",
            do="use bfloat16 or float32, such as model.float().",
        )


def _compiled(module: nn.Module) -> bool:
    return hasattr(module, "_orig_mod") or module._compiled_call_impl is not None  # noqa: SLF001


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
            why = _unused(calls, recorder.layers) or misused(calls, inputs.shape[0])
            positions = recorder.positions = most_positions(calls) // units
    if why is None:
        lines = tuple(
            f"{name or 'model'}: {type(layer).__name__}, recorded"
            for name, layer in recorder.layers
        )
        memory = sum(a.nbytes + g.nbytes for _, _, a, g in calls)
        return ModelEngine(recorder, lines, max(1, positions), memory)
    examples = _examples(model, objective, inputs[:2], targets[:2], why)
    way = "one gradient after another" if examples.one_by_one else "one gradient for each example"
    line = f"whole model: {way}, since {why}"
    memory = inputs.shape[0] * sum(p.nbytes for p in model.parameters() if p.requires_grad)
    return ModelEngine(examples, (line,), 1, memory)


def _examples(
    model: nn.Module, objective: SummedObjective, inputs: Tensor, targets: Tensor, why: str
) -> ExampleGradients:
    """Return the way by single gradients: all at once, or one by one where vmap has no rule."""
    failures: list[Exception] = []
    for one_by_one in (False, True):
        examples = ExampleGradients(model, objective, one_by_one=one_by_one)
        try:
            examples.gradients(inputs, targets)
        except DiscreetError:
            raise
        except Exception as failure:  # noqa: BLE001  on generated rows: whatever PyTorch raises
            failures.append(failure)
        else:
            return examples
    raise LayerNotProvable(
        what=f"contributions of this model cannot be computed: {why}, and a gradient of one "
        f"example fails with {type(failures[-1]).__name__}.",
        why="each example is clipped by itself, and so must be differentiated by itself.",
        do="replace or freeze the layer that cannot be differentiated for a single row.",
    ) from failures[-1]


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


def _unused(calls: Calls, layers: list[tuple[str, nn.Module]]) -> str | None:
    """Say which layer was not used: nothing is known of how it would be."""
    used = {name for name, *_ in calls}
    return next((f"'{name}' is used 0 times" for name, _ in layers if name not in used), None)
