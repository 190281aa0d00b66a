"""The state of a run in a checkpoint: weights, optimizer, and the factor of thresholds.

Trust: kernel.  It is made of released sums and public values, and holds no generator.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from typing import Any, final

import torch
from torch import nn

from discreet.errors import WrongKind
from discreet.learning.checkpoint import Checkpoint, torn


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
            shapes = [_shapes(state["model"]), _shapes(self._model.state_dict())]
            groups = [
                [len(group["params"]) for group in each["param_groups"]]
                for each in (state["optimizer"], self._optimizer.state_dict())
            ]
            float(state.get("factor", 1))
        except (
            pickle.UnpicklingError,
            RuntimeError,
            KeyError,
            TypeError,
            AttributeError,
        ) as failure:
            raise torn("it cannot be read") from failure
        if shapes[0] != shapes[1] or groups[0] != groups[1]:
            raise torn("model or optimizer have other parts than those it was written for")
        return kept

    def load(self, kept: Checkpoint) -> None:
        """Put a state that was checked back into model and optimizer."""
        state = self._read(kept.state)
        self._model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        self.factor = float(state.get("factor", 1))  # earlier versions had none

    def _read(self, state: bytes) -> Any:
        return torch.load(io.BytesIO(state), map_location=self._device, weights_only=True)


def _shapes(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names of a state and the shapes of its tensors."""
    return {name: getattr(value, "shape", None) for name, value in state.items()}
