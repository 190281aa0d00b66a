"""How far a run is: what it begins with, saves, ends with and records.

Trust: kernel.
"""

from __future__ import annotations

import io
import json
import os
import pickle
from contextlib import suppress
from pathlib import Path
from typing import Any, final

import torch
from torch import Tensor, nn

from discreet.errors import OtherRun, RunFenced, WrongKind
from discreet.learning.checkpoint import Checkpoint, torn
from discreet.learning.deep.arguments import weights_digest
from discreet.learning.deep.training_report import TrainingReport
from discreet.learning.marks import Marks, RunCharges, check_lost
from discreet.learning.training_plan import TrainingPlan
from discreet.ledger import Ledger
from discreet.ledger.values import StoredAnswer


@final
class RunProgress:
    """The steps that a run has taken, in memory, in its folder and on record."""

    def __init__(  # noqa: PLR0913  what a run consists of
        self,
        plan: TrainingPlan,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        ledger: Ledger,
        *,
        folder: Path | None,
        public_weights: str | None,
    ) -> None:
        """Take a run that has not begun."""
        self.plan, self._model, self._optimizer = plan, model, optimizer
        self._charges, self._folder, self._public = RunCharges(ledger, plan), folder, public_weights
        self._device = next(iter(model.parameters())).device
        self._process = os.getpid()
        self.taken = 0
        self.factor = 1.0
        """By how much clipping thresholds have been adapted."""
        self._begun = False
        self._unrecorded: tuple[Marks, int] | None = None
        self._weights: str | None = None

    def check_process(self) -> None:
        """Refuse a forked child, which would draw under the attempt of its parent (T4)."""
        if self._process != os.getpid():
            raise RunFenced(
                what="a forked process goes on with the run of its parent.",
                why="if both went on, steps would be drawn twice and paid for once.",
                do="let the parent finish; to train in a child, make the Training there.",
            )

    def begin(self, lost: str, *, remembered: int | None) -> Marks | None:
        """Charge the run, and what is drawn a second time; return the marks of this attempt.

        A run that has ended gives its weights back, and nothing to mark.

        Args:
            lost: whether steps that were lost may have been seen.
            remembered: the step at which banded noise could go on with its parts, if any.
        """
        self.check_process()
        check_lost(lost)
        kept = self._kept()
        if self._folder is not None and not self._charges.charged:
            Checkpoint(self.plan.digest, 0, self._written()).try_out(self._folder)
        self._record_stop()
        started = self._charges.pay()
        if isinstance(started, StoredAnswer):
            self._load_recorded(started)
            return None
        if kept is not None and self._begun and self.taken > kept.step:
            kept = None  # the weights in memory are newer
        at = self.taken if kept is None else kept.step
        marks = self._charges.begin(started, at=at, lost=lost, fresh=remembered != at)
        if kept is not None:
            self._load(kept)
        self._begun = True
        return marks

    def save(self, marks: Marks) -> None:
        """Write a checkpoint, unless another process has gone on; if that fails, stop in order."""
        self.check_process()
        marks.check()
        if self._folder is None:
            return
        try:
            kept = Checkpoint(self.plan.digest, self.taken, self._written())
            kept.write(self._folder, check=marks.check)
        except RunFenced:
            raise
        except Exception:
            self._stop(marks)
            raise

    def leave(self, marks: Marks) -> None:
        """End an attempt in order: the next one pays for no step again.

        If another process has gone on, nothing of this one is kept.
        """
        self._unrecorded = marks, self.taken
        with suppress(RunFenced):
            self.save(marks)
            self._stop(marks)

    def _stop(self, marks: Marks) -> None:
        """Record how far an attempt has come that draws no more."""
        self._unrecorded = marks, self.taken
        self._record_stop()

    def _record_stop(self) -> None:
        """Record a stop, if one is not on record; if that fails, the next attempt does it first.

        An attempt that began meanwhile has paid as if the steps up to the mark were lost.
        """
        if self._unrecorded is not None:
            marks, drawn = self._unrecorded
            with suppress(RunFenced):
                marks.check()
                marks.stop(drawn)
            self._unrecorded = None

    def close(self) -> None:
        """Close the run: a step has failed, and its reason is not shown."""
        self._charges.close()

    def end(self, marks: Marks) -> None:
        """Save the last step, and store a manifest of the weights in the ledger."""
        self.save(marks)
        digest = weights_digest(self._model)
        manifest = {
            "answer": "weights",
            "plan": self.plan.digest,
            "step": self.taken,
            "sha256": digest,
            "public_weights": self._public,
        }
        self._charges.record(manifest, marks)
        self._weights = digest

    def report(self) -> TrainingReport:
        """Return what the run has done so far."""
        return TrainingReport(
            plan=self.plan,
            taken=self.taken,
            attempts=self._charges.attempts,
            charged_again=self._charges.again,
            untold=self._charges.untold,
            public_weights=self._public,
            weights=self._weights,
        )

    # --- the state in a checkpoint: released sums and public values, and no generator -----------

    def _written(self) -> bytes:
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

    def _read(self, state: bytes) -> Any:
        return torch.load(io.BytesIO(state), map_location=self._device, weights_only=True)

    def _kept(self) -> Checkpoint | None:
        """Return the checkpoint in the folder, if any; it is of this run and this model."""
        if self._folder is None:
            return None
        kept = Checkpoint.read(self._folder, run=self.plan.digest)
        if kept is None:
            return None
        try:
            state = self._read(kept.state)
            same = _shapes(state["model"]) == _shapes(self._model.state_dict())
        except Exception as failure:
            raise torn("it cannot be read") from failure
        if not same:
            raise torn("the model has other parts than the one it was written for")
        return kept

    def _load(self, kept: Checkpoint) -> None:
        """Put a state back into model and optimizer."""
        state = self._read(kept.state)
        self._model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        self.taken, self.factor = kept.step, float(state["factor"])

    def _load_recorded(self, stored: StoredAnswer) -> None:
        """Go back to the weights of a run that has ended, if they are at hand."""
        manifest = json.loads(stored.answer)
        kept = self._kept()
        if kept is not None:
            self._load(kept)
        if weights_digest(self._model) != manifest["sha256"]:
            raise OtherRun(
                what=f"the run '{self.plan.name}' has ended, and its weights are not these.",
                why="one run has one result; a second one would be drawn again, and not paid for.",
                do="load the weights of that run, or leave name out, and the new run names itself.",
            )
        self.taken, self._weights = int(manifest["step"]), manifest["sha256"]


def _shapes(state: dict[str, Any]) -> dict[str, Any]:
    return {name: value.shape for name, value in state.items() if isinstance(value, Tensor)}
