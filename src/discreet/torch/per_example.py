"""Per-example gradients: from recorded factors if a theorem covers each layer, else by ``vmap``.

Trust: kernel.

*Recorded*.  Hooks record the input of each layer with trainable parameters and the position of its
output in the autograd graph, so that outputs need not be kept; one call of ``torch.autograd.grad``
gives their gradients, and the gradients of parameters are never computed. What a layer makes of the
two is proved in :mod:`discreet.torch.layers`, by its exact type and all attributes, for a layer
that is called once and sees one row of the data in each of its own: norms of several calls would be
added as if their contributions were orthogonal.  Rounding is priced for as many positions as at
planning.  So every pass that is added up is checked for both, and not the one at planning alone.
Hooks exist during a call only: the model stays the user's own.

*Example by example*.  If any trainable layer is not covered (other padding, attention modules,
recurrent layers, weights used twice, bare parameters), the whole model is differentiated by
``vmap(grad)``; the contribution is the vector of floats that comes out.  Slower, and as large as
the model for each example.  If ``vmap`` has no rule for an operation (GRU, RNN, activation
checkpointing), gradients are computed one after another.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol, final

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge
from torch.func import functional_call, grad, vmap
from torch.nn.parameter import is_lazy

from discreet.errors import DiscreetError, ExamplesMix, LayerNotProvable, OutOfRange, WrongKind
from discreet.torch.layer_parts import Expanded, LayerPart, Room, Streams
from discreet.torch.layers import (
    CONVOLUTIONS,
    NORMALIZATIONS,
    convolution_parts,
    embedding_parts,
    linear_parts,
    normalization_parts,
    refuse_convolution,
    refuse_embedding,
    refuse_linear,
    refuse_normalization,
    refuse_root_mean_square,
    refuse_transposed,
    root_mean_square_parts,
    transposed_parts,
)
from discreet.torch.loss_function import SummedObjective


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


Calls = list[tuple[str, nn.Module, Tensor, Tensor]]
Parts = Callable[..., list[LayerPart]]

PROVED: Final[dict[type[nn.Module], tuple[Callable[[nn.Module], str | None], Parts]]] = {
    nn.Linear: (refuse_linear, linear_parts),
    nn.Embedding: (refuse_embedding, embedding_parts),
    **dict.fromkeys(CONVOLUTIONS, (refuse_convolution, convolution_parts)),
    **dict.fromkeys(NORMALIZATIONS, (refuse_normalization, normalization_parts)),
}
_TRANSFORMERS: Final = "transformers."


def proved(kind: type[nn.Module]) -> tuple[Callable[[nn.Module], str | None], Parts] | None:
    """Return the theorem of a layer: why it may not apply, and what it says; or nothing.

    Layers of Transformers are known by name, so that the library need not be loaded.
    """
    if kind in PROVED or not kind.__module__.startswith(_TRANSFORMERS):
        return PROVED.get(kind)
    if kind.__qualname__ == "Conv1D":
        return refuse_transposed, transposed_parts
    if kind.__qualname__.endswith("RMSNorm"):
        return refuse_root_mean_square, root_mean_square_parts
    return None


ROOMY: Final = frozenset({nn.Linear, *CONVOLUTIONS})
"""Layers whose vectors are worth keeping memory for."""


def _parts_of(layer: nn.Module) -> Parts:
    theorem = proved(type(layer))
    if theorem is None:
        raise TypeError(type(layer).__name__)  # refused at planning
    return theorem[1]


class Contributions(Protocol):
    """A way to find out what each unit of a micro-batch contributes."""

    def parts(self, inputs: Tensor, targets: Tensor, inside: Tensor, units: int) -> list[LayerPart]:
        """Return the parts of all trainable parameters.

        Padding of a unit that has real rows adds nothing to its part.  The part of a unit without
        any is meaningless, and the caller leaves it out of its sums.

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
                    found += _parts_of(layer)(layer, a, g, units, *kept)
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
    if isinstance(layer, nn.Linear | nn.Embedding) or _parts_of(layer) is transposed_parts:
        return int(g.numel() // g.shape[-1])
    return int(a.shape[0])


_NARROW: Final = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def _masked(gradients: Tensor, inside: Tensor) -> Tensor:
    """Return zeros for padding rows, even if the model's output there is not finite."""
    dense = gradients if gradients.is_contiguous() else gradients.movedim(1, -1)
    if dense.is_contiguous() and not dense[:1].nbytes % 8:  # eight bytes are looked at at once
        lines = dense.view(len(dense), -1).view(torch.int64)
        kept = torch.where(inside[:, None], lines, 0).view(dense.dtype).view(dense.shape)
        return kept if dense is gradients else kept.movedim(-1, 1)
    kept = inside.view(-1, *[1] * (gradients.dim() - 1))
    return torch.where(kept, gradients, gradients.new_zeros(()))


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
    """Refuse models that cannot be trained privately on any data."""
    if not isinstance(model, nn.Module):
        raise WrongKind(
            f"the model is a {type(model).__name__}, not a torch.nn.Module: give a module; models "
            "without torch are in discreet.models."
        )
    if any(map(_compiled, model.modules())):
        raise LayerNotProvable(
            what="the model, or a module of it, is compiled.",
            why="compiled code calls no layer, so nothing can be recorded.",
            do="give the model itself, before torch.compile.",
        )
    if not any(p.requires_grad for p in model.parameters()):
        raise OutOfRange(
            "no parameter of the model is trainable: set requires_grad on the layers to train."
        )
    empty = next((n for n, p in model.named_parameters() if p.is_meta or is_lazy(p)), None)
    if empty is not None:
        raise WrongKind(
            f"the parameter '{empty}' has no values yet: load the weights, or call a lazy module "
            "once on public rows."
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
                "say which tokens there are, without noise.",
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
    """Return the way by single gradients: all at once, or one by one if vmap has no rule."""
    failures: list[Exception] = []
    for one_by_one in (False, True):
        examples = ExampleGradients(model, objective, one_by_one=one_by_one)
        try:
            examples.gradients(inputs, targets)
        except DiscreetError:
            raise
        except Exception as failure:  # noqa: BLE001  on generated rows: any error of PyTorch
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
        theorem = proved(type(layer))
        if theorem is None:
            return f"{type(layer).__name__} '{name}' is not among the proved layers"
        reason = theorem[0](layer)
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
