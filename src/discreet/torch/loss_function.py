"""The training objective, one number for each example.

Trust: kernel.

Definition.  An objective is a function of outputs and targets.  Its value for a row is its value
for a batch that holds this row alone, and training minimizes the sum over rows.  Rows are never
passed to it together: ``vmap`` runs it on each of them, so that no mean over a batch, class weight
or ignored target of one row can affect another.
A few objectives of PyTorch are known by identity, and called with ``reduction="none"``: the same
numbers, sooner.  A class that the outputs do not have is ignored there, as -100 is, and adds zero.

An objective whose value for a batch is neither the sum nor the mean of these numbers is refused: it
would not be what was meant.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast, final

import torch
import torch.nn.functional as F  # noqa: N812  its usual name
from torch import Tensor
from torch.func import vmap

from discreet.errors import NotPerExample, WrongKind

Objective = Callable[[Tensor, Tensor], Tensor]

_IGNORED: Final = -100
_ELEMENTWISE: Final = (F.mse_loss, F.binary_cross_entropy_with_logits)
KNOWN: Final = (F.cross_entropy, *_ELEMENTWISE)
"""Objectives that are known by identity."""


@final
@dataclass(frozen=True, slots=True)
class SummedObjective:
    """An objective, summed over rows that it sees one by one."""

    objective: Objective

    def __call__(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the sum over all rows."""
        return self.each(outputs, targets).sum()

    def each(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return one number for each row."""
        known = _known(self.objective, outputs, targets)
        if known is not None:
            return known
        if outputs.shape[0] == 1:
            return self._one(outputs, targets)[None]
        return vmap(lambda row, target: self._one(row[None], target[None]))(outputs, targets)

    def _one(self, output: Tensor, target: Tensor) -> Tensor:
        """Return the number of a single row."""
        return self.objective(output, target).sum()

    @classmethod
    def tested(cls, objective: Objective, outputs: Tensor, targets: Tensor) -> SummedObjective:
        """Find out whether an objective is one of single rows, on outputs of generated rows."""
        if getattr(objective, "weight", None) is not None and (
            getattr(objective, "reduction", "mean") == "mean"
        ):
            raise _refused("it divides by the weights of the classes in a batch")
        found = cls(objective)
        outputs, targets = _widened(outputs), _widened(targets)
        with torch.no_grad(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Using a target size")  # see below
            value = _tried(objective, outputs, targets)
            rows = outputs.shape[0]
            if not isinstance(value, Tensor) or value.shape not in {(), (rows,), (rows, 1)}:
                raise _refused("it returns neither one number nor one for each example")
            try:
                single = found.each(outputs, targets).double()
            except Exception as failure:
                raise _refused(
                    f"vmap cannot run it on single rows ({type(failure).__name__})"
                ) from failure
        if value.dim():
            if torch.allclose(value.double().flatten(), single, rtol=1e-4, atol=1e-6):
                return found
            raise _refused("what it gives for an example depends on the others")
        for total in (single.mean(), single.sum()):
            if torch.allclose(value.double(), total, rtol=1e-4, atol=1e-6):
                return found
        told = "it is neither the sum nor the mean of what it gives for single examples"
        if targets.is_floating_point() and outputs.shape != targets.shape:
            told += (
                f"; outputs of {tuple(outputs.shape)} and targets of {tuple(targets.shape)} are "
                "broadcast, so that every output meets every target: give y[:, None], perhaps"
            )
        raise _refused(told)


def _tried(objective: object, outputs: Tensor, targets: Tensor) -> object:
    """Return what an objective gives for generated rows."""
    if not callable(objective) or isinstance(objective, type):
        kind = "the class " if isinstance(objective, type) else "a "
        named = kind + getattr(objective, "__name__", type(objective).__name__)
        raise WrongKind(
            f"the objective is {named}, not a function: give torch.nn.functional.cross_entropy, "
            "say, or nn.CrossEntropyLoss()."
        )
    try:
        return objective(outputs, targets)
    except Exception as failure:
        raise WrongKind(
            f"the objective cannot be computed for outputs of {tuple(outputs.shape)}, "
            f"{outputs.dtype}, and targets of {tuple(targets.shape)}, {targets.dtype} "
            f"({type(failure).__name__}: {' '.join(str(failure).split())[:200]}): give targets as "
            "the objective takes them, such as y.long() for classes and y.float()[:, None] for "
            "numbers."
        ) from failure


def _widened(values: Tensor) -> Tensor:
    """Return float32 in place of shorter floats, whose sums are too coarse to be compared."""
    return values.float() if values.dtype in {torch.float16, torch.bfloat16} else values


def _known(objective: Objective, outputs: Tensor, targets: Tensor) -> Tensor | None:
    """Return what a well-known objective gives for each row, or nothing."""
    loss: Any = objective
    if loss is F.cross_entropy and outputs.dim() == 2 and targets.dim() == 1:
        inside = (targets >= 0) & (targets < outputs.shape[1])
        classes = torch.where(inside, targets, _IGNORED)
        return cast("Tensor", loss(outputs, classes, reduction="none"))
    if objective in _ELEMENTWISE and outputs.shape == targets.shape and outputs.dim() > 1:
        return cast("Tensor", loss(outputs, targets, reduction="none")).flatten(1).mean(1)
    return None


def _refused(why: str) -> NotPerExample:
    return NotPerExample(
        what=f"the objective is not one of single examples: {why}.",
        why="each example is clipped by itself, so what it contributes must be its own.",
        do="give a function such as torch.nn.functional.cross_entropy without class weights, or "
        "one that returns a number for each example (reduction='none') from tensor operations "
        "alone.",
    )
