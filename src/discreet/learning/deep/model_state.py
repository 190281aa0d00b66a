"""What a model keeps from one call to the next, and whether a call has changed it.

Trust: kernel.

A parameter, a buffer or a plain tensor that a forward pass writes to carries something of the rows
out of a step without noise: running statistics, embeddings that are scaled in place
(``max_norm``).  The state of a model is compared before anything is paid, by value on generated
rows, and around the sum of every step, by object and by the counter that PyTorch raises with each
write.  A write through ``.data`` raises no counter; the values on generated rows show it.
Attributes that are no tensors are compared by :mod:`discreet.learning.deep.memory.plain_values`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor, nn

from discreet.errors import ExamplesMix, OtherRun
from discreet.learning.deep.generated import same_values
from discreet.learning.deep.memory.attributes import tensors_of
from discreet.learning.deep.memory.plain_values import (
    Plain,
    first_difference,
    held_values,
    plain_values,
)


@final
@dataclass(frozen=True, slots=True)
class ModelState:
    """The tensors of a model, the counters of their writes, and perhaps their values.

    ``plain`` are its attributes that are no tensors.
    """

    held: tuple[tuple[str, Tensor, int, Tensor | None], ...]
    plain: Plain

    @classmethod
    def of(cls, model: nn.Module, *, values: bool = False) -> ModelState:
        """Read the state of a model.

        Args:
            model: any module.
            values: keep a copy of all values, too.
        """
        return cls(
            tuple(
                (name, value, writes_to(value), value.detach().clone() if values else None)
                for name, value in tensors_of(model)
            ),
            plain_values(model),
        )

    def changed(self, model: nn.Module) -> str | None:
        """Return the name of a tensor or attribute that is another one now, or was written to."""
        now = dict(tensors_of(model))
        for name, value, writes, copy in self.held:
            other = now.pop(name, None)
            if other is not value:
                return name
            if copy is None and writes_to(value) != writes:
                return name
            if copy is not None and not same_values(value, copy):
                return name
        return next(iter(now), None) or first_difference(self.plain, plain_values(model))


@final
@dataclass(frozen=True, slots=True)
class ModelModes:
    """The modules of a model, and which of them are in training mode."""

    modules: tuple[tuple[str, nn.Module, bool], ...]

    @classmethod
    def of(cls, model: nn.Module) -> ModelModes:
        """Read the modules of a model."""
        return cls(tuple((name, module, module.training) for name, module in model.named_modules()))

    def check(self, model: nn.Module) -> None:
        """Refuse a model whose modules are others now, or are in another mode."""
        now = ModelModes.of(model).modules
        same = len(now) == len(self.modules) and all(
            a[1] is b[1] and a[2] == b[2] for a, b in zip(now, self.modules, strict=True)
        )
        if not same:
            raise OtherRun(
                what="modules of the model were replaced, or changed between .train() and .eval().",
                why="contributions were tested with the modules and modes at planning; a batch "
                "normalization that wakes up mixes examples.",
                do="set each module to its mode of that time before the next step, or make a new "
                "Training.",
            )


@final
@dataclass(frozen=True, slots=True)
class TensorForms:
    """Type, shape, strides and device of every tensor of a model: they choose the kernels."""

    forms: tuple[tuple[Any, ...], ...]

    @classmethod
    def of(cls, model: nn.Module) -> TensorForms:
        """Read the tensors of a model."""
        return cls(
            tuple(
                (name, value.dtype, value.layout, value.shape, _steps(value), value.device)
                for name, value in tensors_of(model)
            )
        )

    def check(self, model: nn.Module) -> None:
        """Refuse a model of which a tensor has another form now, is gone or is new."""
        now = TensorForms.of(model).forms
        if now != self.forms:
            other = set(now) ^ set(self.forms)
            name = min((form[0] for form in other), default="of another order")
            raise OtherRun(
                what=f"the type, shape, strides or device of the tensor '{name}' of the model are "
                "others than at planning.",
                why="they choose how numbers are computed, and contributions were tested with "
                "those before.",
                do="convert the model before you make a Training, or make a new one.",
            )


def _steps(value: Tensor) -> tuple[int, ...]:
    return value.stride() if value.layout is torch.strided else ()


def refuse_change(before: ModelState, model: nn.Module) -> None:
    """Refuse a model that was changed by being used on generated rows."""
    name = before.changed(model)
    if name is not None:
        raise ExamplesMix(
            what=f"the tensor or attribute '{name}' changes when the model is used.",
            why="it carries something of the rows from one step to the next, without noise; even a "
            "count of calls tells how many rows were drawn.",
            do="freeze the module that owns it with .eval(), or replace it.",
        )


def refuse_memory(before: Plain, objective: object) -> None:
    """Refuse an objective that was changed by being used on generated rows."""
    name = first_difference(before, held_values(objective))
    if name is not None:
        raise ExamplesMix(
            what=f"'{name}', which the objective holds, changes when it is used.",
            why="it carries something of the rows from one step to the next, without noise; even a "
            "count of calls tells how many rows were drawn.",
            do="let the objective return its number and keep nothing; what is to be told of a step "
            "is bought by metrics=.",
        )


def changed_in_a_step() -> OtherRun:
    """Return the error for a model, an objective or views that kept something of a step."""
    return OtherRun(
        what="a forward pass of this run has changed a tensor or an attribute of the model, or an "
        "attribute of its objective or augment.",
        why="it may hold something of the rows, without noise, so nothing of this step is told.",
        do="discard this model, and replace what writes; the run is closed.",
    )


def used_otherwise() -> OtherRun:
    """Return the error for a model whose layers are not used as they were at planning."""
    return OtherRun(
        what="a forward pass of this run has used a layer twice, not row by row, or at more "
        "positions than at planning.",
        why="norms were proved for layers that are used once, row by row, and rounding was priced "
        "for those positions; nothing of this step is told.",
        do="keep one forward for the whole run, or make a new Training for the changed one; this "
        "run is closed.",
    )


def writes_to(value: Tensor) -> int:
    """Return how often a tensor was written to in place."""
    return -1 if value.is_inference() else value._version  # noqa: SLF001  PyTorch has no other name
