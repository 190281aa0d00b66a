"""The progress of a run: its checkpoints, its initial state, its records and its reports.

Trust: kernel (T3).

A checkpoint is one file, written aside and renamed, or not there at all.  It holds the weights, the
optimizer and the step; never a random generator, since noise that is drawn twice would reveal
data.  It begins with the SHA-256 digest of everything after it, and names the run that it belongs
to.  A report is made of public values alone.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, final

import torch
from torch import Tensor, nn

from discreet.errors import BadCheckpoint, OtherRun, RunFenced, WrongKind
from discreet.ledger import Ledger, StoredAnswer
from discreet.torch.arguments import weights_digest
from discreet.torch.marks import Marks, RunCharges, check_lost
from discreet.torch.training_plan import TrainingPlan

_FILE: Final = "checkpoint"
_LENGTH: Final = 8
_DIGEST: Final = 32


@final
@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A step of a run, and the state of model and optimizer after it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Checkpoint(run="a" * 64, step=7, state=b"weights").write(Path(folder))
    ...     Checkpoint.read(Path(folder), run="a" * 64).step
    7
    """

    run: str
    step: int
    state: bytes

    def write(self, folder: Path, *, check: Callable[[], None] = lambda: None) -> None:
        """Write it whole, or leave what was there.

        Args:
            folder: where.
            check: refuses an attempt that was overtaken, right before anything is replaced.
        """
        aside = folder / f"{_FILE}.{os.getpid()}.new"
        try:
            self._write_aside(aside)
            check()
            aside.replace(folder / _FILE)
            _sync_folder(folder)
        except (OSError, ValueError) as failure:
            raise _unusable(folder, failure) from failure
        finally:
            _remove(aside)

    def try_out(self, folder: Path) -> None:
        """Find out whether it could be written, and leave nothing."""
        aside = folder / f"{_FILE}.{os.getpid()}.new"
        try:
            self._write_aside(aside)
        except (OSError, ValueError) as failure:
            raise _unusable(folder, failure) from failure
        finally:
            _remove(aside)

    def _write_aside(self, aside: Path) -> None:
        """Write it under another name."""
        head = json.dumps({"run": self.run, "step": self.step}).encode("ascii")
        body = len(head).to_bytes(_LENGTH, "little") + head + self.state
        aside.parent.mkdir(parents=True, exist_ok=True)
        with aside.open("wb") as file:
            file.write(hashlib.sha256(body).digest() + body)
            file.flush()
            os.fsync(file.fileno())

    @classmethod
    def owner(cls, folder: Path) -> str | None:
        """Return the run whose checkpoint is in a folder, if one can be read there."""
        try:
            with (folder / _FILE).open("rb") as file:
                head = file.read(_DIGEST + _LENGTH)
                size = int.from_bytes(head[_DIGEST:], "little")
                return str(json.loads(file.read(min(size, 1 << 16)))["run"])
        except (OSError, ValueError, KeyError):
            return None

    @classmethod
    def read(cls, folder: Path, *, run: str) -> Checkpoint | None:
        """Return the checkpoint of a run, or None."""
        try:
            text = (folder / _FILE).read_bytes()
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as failure:
            raise _unusable(folder, failure) from failure
        digest, body = text[:_DIGEST], text[_DIGEST:]
        if digest != hashlib.sha256(body).digest():
            raise torn("it is torn")
        size = int.from_bytes(body[:_LENGTH], "little")
        head = json.loads(body[_LENGTH : _LENGTH + size])
        found = cls(head["run"], head["step"], body[_LENGTH + size :])
        if found.run != run:
            raise OtherRun(
                what="the checkpoint in the folder is of no use: it belongs to another run.",
                why="weights of another model, plan or data would be trained on as if they were "
                "these.",
                do="give each run a folder of its own, and resume it with the same arguments.",
            )
        return found


def _remove(aside: Path) -> None:
    try:
        aside.unlink(missing_ok=True)
    except OSError:  # the path is not a folder; the failure above says so
        return


def _sync_folder(folder: Path) -> None:
    """Make a renamed file last."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def torn(why: str) -> BadCheckpoint:
    """Say what to do about a checkpoint that cannot be used."""
    return BadCheckpoint(
        what=f"the checkpoint in the folder is of no use: {why}.",
        why="training on from a part of a state would be another run.",
        do="put a good copy back, or delete the file and resume: an object that still holds the "
        "weights goes on from them, and otherwise steps that were drawn are charged again.",
    )


def _unusable(folder: Path, failure: OSError | ValueError) -> BadCheckpoint:
    reason = getattr(failure, "strerror", None) or failure
    return BadCheckpoint(
        what=f"no checkpoint can be kept in {folder}: {reason}.",
        why="steps whose weights are lost must be paid for a second time.",
        do="mend the folder or name another one, and resume; weights in memory are still there.",
    )


@final
@dataclass(frozen=True, slots=True)
class Step:
    """One step that was taken; it says nothing about the rows but metrics that were bought."""

    number: int
    steps: int
    seconds: float
    metrics: Mapping[str, float] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingReport:
    """What a run has done, and what it has cost; made of public values alone."""

    plan: TrainingPlan
    taken: int
    attempts: int
    charged_again: int
    untold: bool
    public_weights: str | None
    weights: str | None

    def __str__(self) -> str:
        """Show it on a few lines."""
        lines = [str(self.plan), f"{self.taken} of {self.plan.steps} steps taken"]
        if self.charged_again:
            lines.append(f"{self.charged_again} steps charged again after an interruption")
        if self.untold:
            lines.append("the owner vouches that nobody saw the steps that were lost")
        if self.public_weights:
            lines.append(f"started from public weights: {self.public_weights}")
        if self.weights:
            lines.append(f"weights on record: sha256 {self.weights}")
        return "\n".join(lines)


@final
class StepBar:
    """Steps and time, and nothing else."""

    def __init__(self, steps: int, *, active: bool) -> None:
        """Take how many steps there are."""
        self._steps, self._active, self._began = steps, active, time.perf_counter()

    def show(self, step: Step) -> None:
        """Show how far the run is."""
        if self._active:
            passed = time.perf_counter() - self._began
            sys.stderr.write(f"\r{step.number}/{self._steps} steps, {passed:.0f} s")
            sys.stderr.flush()

    def end(self) -> None:
        """Leave the line."""
        if self._active:
            sys.stderr.write("\n")


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
        """Charge the run and the redrawn steps; return the marks of this attempt.

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
                "the state of the model or of its optimizer cannot be read back: give the "
                "optimizer plain numbers, such as lr=float(rate) for one of NumPy."
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
