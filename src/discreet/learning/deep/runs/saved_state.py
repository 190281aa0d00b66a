"""The state of a run in a checkpoint: weights, optimizer, and the factor of thresholds.

Trust: kernel.  It is made of released sums and public values, and holds no generator.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from typing import Any, final

import torch
from torch import Tensor, nn

from discreet.errors import OtherRun, WrongKind
from discreet.learning.checkpoint import Checkpoint, torn
from discreet.learning.deep.generated import same_values
from discreet.learning.side_counts import FURTHEST


@final
class SavedState:
    """Writes and reads what a run goes on from."""

    def __init__(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, device: torch.device
    ) -> None:
        """Take what is saved, and where it is loaded to."""
        self._model, self._optimizer, self._device = model, optimizer, device
        self.factor = 1.0

    def written(self) -> bytes:
        """Return the state; refuse one that could not be read back."""
        file = io.BytesIO()
        state = {
            "model": self._model.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "factor": self.factor,
        }
        torch.save(state, file)
        try:
            self._read(file.getvalue())
        except (pickle.UnpicklingError, RuntimeError) as failure:
            raise WrongKind(
                what="the state of the model or of its optimizer cannot be read back.",
                why="a checkpoint is read without running code, so it holds tensors and plain "
                "Python values alone.",
                do="give the optimizer plain numbers, such as lr=float(rate) for one of NumPy.",
            ) from failure
        return file.getvalue()

    def check(self, kept: Checkpoint) -> Checkpoint:
        """Refuse a checkpoint of another model or optimizer."""
        try:
            state = self._read(kept.state)
            same = _shapes(state["model"]) == _shapes(self._model.state_dict())
            same &= _same_groups(state["optimizer"], self._optimizer.state_dict())
            same &= _fitting(state["optimizer"], self._optimizer)
            factor = float(state.get("factor", 1))
        except Exception as failure:  # whatever PyTorch makes of such a file; no row is in it
            raise torn("it cannot be read") from failure
        if not same:
            raise torn("model or optimizer have other parts than those it was written for")
        if not 1 / FURTHEST <= factor <= FURTHEST:
            raise torn("no run adapts its thresholds that far")
        return kept

    def refuse_other_values(self, kept: Checkpoint) -> None:
        """Refuse to go on from a checkpoint whose untrained values are not those of the model."""
        model, state = self._model, self._read(kept.state)["model"]
        named = model.named_parameters(remove_duplicate=False)
        trained = {name for name, parameter in named if parameter.requires_grad}
        for name, value in model.state_dict().items():
            known = name in trained or not isinstance(value, Tensor)
            if not known and not same_values(value, state[name]):
                raise OtherRun(
                    what=f"the checkpoint has other values in '{name}', which is not trained.",
                    why="the model was tried with the values that it has, and not with these.",
                    do="give the model its frozen values and buffers before you make a Training.",
                )

    def load(self, kept: Checkpoint) -> None:
        """Put a state that was checked back into model and optimizer."""
        state = self._read(kept.state)
        self._model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        self.factor = float(state.get("factor", 1))  # earlier versions had none

    def _read(self, state: bytes) -> Any:
        return torch.load(io.BytesIO(state), map_location=self._device, weights_only=True)


def _shapes(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names of a state, and the shapes and types of its tensors."""
    return {
        name: (getattr(value, "shape", None), getattr(value, "dtype", None))
        for name, value in state.items()
    }


def _same_groups(saved: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether groups have as many parameters, and numbers where the optimizer has numbers."""
    groups = [each["param_groups"] for each in (saved, now)]
    return len(groups[0]) == len(groups[1]) and all(
        len(before["params"]) == len(after["params"])
        and all(
            _numbers(value) in {None, _numbers(before.get(name, value))}
            for name, value in after.items()
        )
        for before, after in zip(*groups, strict=True)
    )


def _numbers(value: object) -> int | None:
    """Return how many numbers a setting of an optimizer has; nothing where it is something else."""
    each = value if isinstance(value, tuple | list) else [value]
    plain = (isinstance(v, float | int | Tensor) and not isinstance(v, bool) for v in each)
    return len(each) if all(plain) else None


def _fitting(saved: Mapping[str, Any], optimizer: torch.optim.Optimizer) -> bool:
    """Whether tensors of a state fit the parameters that they belong to.

    An optimizer of somebody else may keep what it likes.
    """
    if type(optimizer).__module__.partition(".")[0] not in {"torch", "discreet"}:
        return True
    shapes = [p.shape for group in optimizer.param_groups for p in group["params"]]
    return all(
        torch.broadcast_shapes(value.shape, shapes[number]) == shapes[number]
        for number, kept in saved["state"].items()
        for value in kept.values()
        if isinstance(value, Tensor)
    )
