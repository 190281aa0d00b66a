"""How far a run is: what it begins with, saves, ends with and records.

Trust: kernel.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import final

from torch import nn

from discreet.errors import OtherRun, RunFenced
from discreet.learning.checkpoint import Checkpoint, torn
from discreet.learning.deep.runs.saved_state import SavedState
from discreet.learning.deep.runs.training_report import TrainingReport
from discreet.learning.deep.runs.training_step import TrainingStep
from discreet.learning.deep.training_data import weights_digest
from discreet.learning.marks import Marks
from discreet.learning.run_charges import check_lost
from discreet.learning.training_plan import TrainingPlan
from discreet.ledger.values import StoredAnswer


@final
class RunProgress:
    """The steps that a run has taken, in memory, in its folder and on record."""

    def __init__(
        self,
        plan: TrainingPlan,
        stepper: TrainingStep,
        saved: SavedState,
        *,
        folder: Path | None,
        public_weights: str | None,
    ) -> None:
        """Take a run that has not begun."""
        self.plan, self.stepper, self.saved = plan, stepper, saved
        self._charges, self._folder, self._public = stepper.charges, folder, public_weights
        self.taken = self._lost = 0
        self._begun = False
        self._seal: bytes | None = None
        self._unrecorded: tuple[Marks, int] | None = None
        self._weights: str | None = None

    @property
    def _model(self) -> nn.Module:
        return self.stepper.tried.model

    def begin(self, lost: str) -> Marks | None:
        """Charge the run, and what is drawn a second time; return the marks of this attempt.

        A run that has ended gives its weights back, and nothing to mark.
        """
        check_lost(lost)
        kept = self._kept()
        if self._folder is not None and not self._charges.charged:
            Checkpoint(self.plan.digest, 0, self.saved.written()).try_out(self._folder)
        self._record_stop()
        started = self._charges.pay()
        if isinstance(started, StoredAnswer):
            self._load_recorded(started)
            return None
        if kept is not None and self._begun and self.taken > kept.step:
            kept = None  # the weights in memory are newer
        if kept is not None:
            self.saved.refuse_other_values(kept)
        at = self.taken if kept is None else kept.step
        fresh = not self.stepper.goes_on(at)
        marks = self._charges.begin(started, at=at, lost=lost, fresh=fresh)
        if kept is not None:
            self._load(kept)
        if fresh:
            self.stepper.begin()
        self._begun, self._lost = True, 0
        return marks

    def save(self, marks: Marks) -> None:
        """Write a checkpoint, unless somebody else has gone on; if that fails, stop in order."""
        marks.check()
        if self._folder is None:
            return
        try:
            kept = Checkpoint(self.plan.digest, self.taken, self.saved.written())
            self._seal = kept.write(self._folder, over=self._seal, check=marks.check)
        except RunFenced:
            raise
        except Exception:
            self._stop(marks)
            raise

    def leave(self, marks: Marks, *, lost: int = 0) -> None:
        """End an attempt in order: whoever goes on from what is saved pays for lost steps alone.

        These are steps that were drawn after the last one, and not released.
        """
        self._lost = lost
        self._unrecorded = marks, self.taken + lost
        self.save(marks)
        self._stop(marks)

    def _stop(self, marks: Marks) -> None:
        """Record how far an attempt has come that draws no more."""
        self._unrecorded = marks, self.taken + self._lost
        self._record_stop()

    def _record_stop(self) -> None:
        """Record a stop, if one is not on record; where that fails, the next attempt does it first.

        Whoever began meanwhile has paid as if the steps up to the mark were lost.
        """
        if self._unrecorded is not None:
            marks, drawn = self._unrecorded
            with suppress(RunFenced):
                marks.check()
                marks.stop(drawn)
            self._unrecorded = None

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

    def _kept(self) -> Checkpoint | None:
        """Return the checkpoint in the folder, if any; it is of this run and this model."""
        if self._folder is None:
            return None
        kept = Checkpoint.read(self._folder, run=self.plan.digest)
        self._seal = None if kept is None else kept.seal
        if kept is not None and kept.step > self.plan.steps:
            raise torn("no run has such a step")
        return None if kept is None else self.saved.check(kept)

    def _load(self, kept: Checkpoint) -> None:
        self.saved.load(kept)
        self.taken = kept.step

    def _load_recorded(self, stored: StoredAnswer) -> None:
        """Go back to the weights of a run that has ended, if they are at hand."""
        manifest = json.loads(stored.answer)
        kept = self._kept()
        if kept is not None:
            self._load(kept)
        if weights_digest(self._model) != manifest["sha256"]:
            raise OtherRun(
                what="this run has ended, and its weights are not these.",
                why="one run has one result; a second one would be drawn again, and not paid for.",
                do="load the weights of that run, or give the new run another name.",
            )
        self.taken, self._weights = int(manifest["step"]), manifest["sha256"]
