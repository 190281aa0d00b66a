"""A private training run of a PyTorch model: planned, paid, drawn, recorded.

Trust: kernel.

The whole run is charged before the first row is read.  Every iterate is then paid for: stopping in
view of weights or of public data is free, and nothing is given back.  Each step draws a batch by
exact coins, adds up clipped contributions, releases the sum with noise, and hands it to the user's
own optimizer as a gradient.  Nothing else of the data leaves: no objective, no norm, no batch size.
"""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, final

import numpy as np

from discreet.release.frames import missing_extra

try:
    import torch
    from torch import Tensor, nn
except ModuleNotFoundError:
    missing_extra("PyTorch", "learning")

from discreet.errors import (
    EntropyError,
    NotSampled,
    OtherRun,
    OutOfRange,
    OverBudget,
    RunFenced,
    WrongKind,
)
from discreet.exact import whole
from discreet.learning.checkpoint import Checkpoint, torn
from discreet.learning.deep.batch_sums import BatchSums, RowTensors
from discreet.learning.deep.choice import check_model, choose
from discreet.learning.deep.device_release import released
from discreet.learning.deep.independence import measured_drift
from discreet.learning.deep.model_state import (
    ModelModes,
    ModelState,
    changed_in_a_step,
    refuse_change,
)
from discreet.learning.deep.objectives import Objective, SummedObjective
from discreet.learning.deep.training_data import (
    clip_groups,
    data_of,
    is_normalized,
    normalized_groups,
    weights_digest,
)
from discreet.learning.marks import Marks, run_history
from discreet.learning.noise_ahead import NoiseAhead
from discreet.learning.sampling import UnitRows
from discreet.learning.training_plan import plan_training
from discreet.learning.training_report import Interruptible, Step, StepBar, TrainingReport
from discreet.ledger import Ledger
from discreet.ledger.values import StoredAnswer
from discreet.noise import SYSTEM, Entropy
from discreet.session.record import answer_failed_error
from discreet.units import PrivacyUnit

_BLOCKS: Final = 20


@final
class Training:
    """A model, data and a ledger; ``fit`` pays and trains.

    >>> import tempfile
    >>> import discreet as dp
    >>> from discreet.accounting import Budget
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger.open(f"{folder.name}/a.ledger", unit=dp.row(),
    ...                      budget=Budget(epsilon=8, delta="1e-4"))
    >>> model = nn.Linear(4, 2)
    >>> run = Training(model, objective=nn.functional.cross_entropy,
    ...     data=(torch.zeros(100, 4), torch.zeros(100, dtype=torch.long)),
    ...     optimizer=torch.optim.SGD(model.parameters(), lr=1.0), ledger=ledger, unit=dp.row(),
    ...     population=100, batch=20, steps=5, clip=1, epsilon=1, delta="1e-5")
    >>> round(float(run.plan.sigma), 2)
    2.27
    >>> run.fit(bar=False).taken
    5
    >>> ledger.close(); folder.cleanup()
    """

    def __init__(  # noqa: PLR0913  a run depends on all of it
        self,
        model: nn.Module,
        *,
        objective: Objective,
        data: tuple[Any, ...],
        optimizer: torch.optim.Optimizer,
        ledger: Ledger,
        unit: PrivacyUnit,
        population: int,
        batch: int,
        steps: int,
        clip: object = 1,
        delta: object,
        epsilon: object = None,
        sigma: object = None,
        rows_per_unit: int = 1,
        micro_batch: int | None = None,
        clipping: str = "norm",
        name: str = "training",
        folder: str | Path | None = None,
        every: int | None = None,
        public_weights: str | None = None,
        processes: int | None = None,
        entropy: Entropy = SYSTEM,
    ) -> None:
        """Plan a run; nothing is spent, and no value of the data is looked at.

        Args:
            model: any module; it stays yours, and so does its optimizer.
            objective: a function of outputs and targets, such as cross_entropy.
            data: inputs and targets, and the unit of each row where units are not rows.
            optimizer: what turns noisy gradients into steps.
            ledger: who pays.
            unit: who is protected; the unit of the ledger.
            population: at most so many units, a public number.
            batch: how many units a step draws on average.
            steps: how many noisy sums are released.
            clip: the bound on a contribution, or one for each group of parameters by prefix.
            delta: see epsilon.
            epsilon: what the run may lose at delta; the noise follows.
            sigma: the noise multiplier, in place of epsilon.
            rows_per_unit: how many rows of a unit count, at most.
            micro_batch: how many units are computed at once; changes speed and memory alone.
            clipping: "norm", or "normalized" to scale all contributions to one length.
            name: tells runs of the same plan apart.
            folder: where checkpoints are kept; without one, an interrupted run starts over.
            every: after how many steps a checkpoint is written.
            public_weights: where weights come from that were trained on public data.
            processes: how many draw noise beside the model; fitted to its size by default.
            entropy: random bits.
        """
        self.model, self.optimizer, self.ledger = check_model(model), optimizer, ledger
        self._check_optimizer()
        if unit != ledger.unit:
            raise WrongKind(
                what="the unit of the run is not that of its ledger.",
                why="the ledger promises protection to its own unit.",
                do="give unit=ledger.unit.",
            )
        self._device = next(iter(self.model.parameters())).device
        inputs, targets, names = data_of(data, unit)
        self._units = UnitRows(int(inputs.shape[0]) if names is None else names, rows=rows_per_unit)
        if self._units.units > whole(population, name="population", low=1):
            raise NotSampled(
                what="the data has more units than its declared population.",
                why="the population is a public promise, and the chance of a large batch is "
                "computed from it.",
                do="declare a larger population; that it is an upper bound is enough.",
            )
        self._data = RowTensors(inputs, targets)
        groups = clip_groups(self.model, clip)
        rows = whole(rows_per_unit, name="rows_per_unit", low=1)
        size = whole(micro_batch or max(1, 256 // rows), name="micro_batch", low=1)
        size = min(size, max(1, 2 * whole(batch, name="batch", low=1)))
        shapes = self._data.shapes
        x = shapes[0].rows(size * rows, seed=1, device=self._device)
        y = shapes[1].rows(size * rows, seed=2, device=self._device)
        self._modes = ModelModes.of(self.model)
        fresh = ModelState.of(self.model, values=True)
        with torch.no_grad():
            outputs = self.model(x[: min(8, size * rows)])
        summed = SummedObjective.tested(objective, outputs, y[: outputs.shape[0]])
        engine = choose(self.model, summed, x, y, units=size)
        drift = measured_drift(
            self.model,
            engine.contributions,
            summed,
            inputs=shapes[0],
            targets=shapes[1],
            units=size,
            rows=rows,
            device=self._device,
            groups=tuple(group.parameters for group in normalized_groups(self.model, groups)),
        )
        refuse_change(fresh, self.model)
        self._parameters = [p for p in self.model.parameters() if p.requires_grad]
        self.plan = plan_training(
            name=name,
            unit=unit,
            population=population,
            batch=batch,
            steps=steps,
            clip=groups,
            coordinates=sum(p.numel() for p in self._parameters),
            delta=delta,
            epsilon=epsilon,
            sigma=sigma,
            rows=rows,
            micro=size,
            positions=-(-engine.positions // rows),
            drift=drift,
            layers=engine.layers,
            model=self._shape(clipping),
            notes=() if public_weights is None else (f"public weights: {public_weights}",),
        )
        self._sums = BatchSums(
            self.model,
            engine,
            self._data,
            groups=normalized_groups(self.model, groups),
            micro=self.plan.micro,
            normalized=is_normalized(clipping),
            device=self._device,
        )
        self._folder = None if folder is None else Path(folder)
        self._every = (
            max(1, -(-self.plan.steps // _BLOCKS))
            if every is None
            else whole(every, name="every", low=1)
        )
        self._processes, self._entropy, self._public = processes, entropy, public_weights
        self._taken = self._attempts = self._again = 0
        self._untold = self._stop = False
        self._weights: str | None = None
        self._begun = False

    # --- running ------------------------------------------------------------------------------

    def fit(self, *, bar: bool = True, lost: str = "told") -> TrainingReport:
        """Pay, train to the end, and record the weights; Ctrl-C ends after the current step.

        A run that was interrupted goes on from its checkpoint.  The steps after it may have been
        seen, so they are charged again, unless ``lost="untold"``: the owner's word that nobody did.
        """
        shown = StepBar(self.plan.steps, active=bar and sys.stderr.isatty())
        with self._interruptible():
            for step in self.steps(lost=lost):
                shown.show(step)
        shown.end()
        return self.report

    resume = fit

    def __iter__(self) -> Iterator[Step]:
        """Yield after each step; leaving the loop early is free, and gives nothing back."""
        return self.steps()

    def steps(self, *, lost: str = "told") -> Iterator[Step]:
        """Pay, then take one step after another."""
        marks = self._begin(lost)
        if marks is None:
            return
        one = self.plan.one
        marked = self._taken
        with NoiseAhead(
            one.law, one.coordinates, processes=self._processes, entropy=self._entropy
        ) as noise:
            while self._taken < self.plan.steps:
                if self._taken >= marked:
                    self._save(marks)
                    marked = min(self._taken + self._every, self.plan.steps)
                    marks.mark(marked)
                began = time.perf_counter()
                self._step(self._taken_noise(noise, marks))
                self._taken += 1
                try:
                    yield Step(self._taken, self.plan.steps, time.perf_counter() - began)
                except GeneratorExit:  # somebody leaves the loop
                    with contextlib.suppress(RunFenced):  # nothing of it is kept
                        self._leave(marks)
                    raise
                if self._stop:
                    self._leave(marks)
                    return
        self._save(marks)
        self._record(marks)

    def _taken_noise(self, noise: NoiseAhead, marks: Marks) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the noise of a step; where there is none, nothing was drawn, and the run ends."""
        marks.check_process()
        try:
            return noise.take()
        except EntropyError:
            self._leave(marks)
            raise

    def _leave(self, marks: Marks) -> None:
        """End an attempt in order: whoever goes on from what is saved pays for nothing again."""
        self._save(marks)
        marks.stop(self._taken)

    def _begin(self, lost: str) -> Marks | None:
        """Charge the run, and what is drawn a second time; return the marks of this attempt."""
        if lost not in {"told", "untold"}:
            raise OutOfRange(
                what="lost is neither 'told' nor 'untold'.",
                why="it says whether anybody may have seen the steps that were lost.",
                do="leave it out, unless you vouch that nobody did.",
            )
        plan = self.plan
        kept = self._kept()
        if self._folder is not None and self.ledger.find(plan.digest) is None:
            Checkpoint(plan.digest, 0, self._state()).try_out(self._folder)
        self.ledger.charge(plan.tree, key=plan.key, question=plan.digest, delta=plan.delta)
        seq = self.ledger.receipt.seq
        started = self.ledger.start(plan.key)
        if isinstance(started, StoredAnswer):
            self._load_recorded(started)
            return None
        before = run_history(self.ledger, plan.key, before=started.attempt)
        if kept is not None and self._begun and self._taken > kept.step:
            kept = None  # the weights in memory are newer
        again = before.drawn - (self._taken if kept is None else kept.step)
        if again > 0 and lost == "untold":
            self._untold = True
        elif again > 0:
            self._charge_again(again, started.attempt)
        if kept is not None:
            self._load(kept)
        self._begun, self._attempts = True, started.attempt
        return Marks(self.ledger, plan.key, started.attempt, seq=max(seq, before.seq))

    def _charge_again(self, steps: int, attempt: int) -> None:
        """Charge for lost steps: a release of its own, with its share of delta."""
        plan = self.plan
        try:
            self.ledger.charge(
                plan.tree_of(steps),
                key=f"{plan.key}/resume-{attempt}",
                delta=plan.delta * steps / plan.steps,
            )
        except OverBudget as refusal:
            raise OverBudget(
                what=f"{steps} steps that were lost cannot be paid for again: {refusal.what}",
                why=f"somebody may have seen them. {refusal.why}",
                do='if you vouch that nobody did, resume with lost="untold", which the report '
                f"tells; otherwise {refusal.do}",
            ) from refusal
        self._again += steps

    def _step(self, noise: np.ndarray[Any, np.dtype[np.int64]]) -> None:
        """Draw a batch, release its noisy sum, and let the optimizer use it."""
        self._check_parameters()
        total = self._total()
        self._hand_over(released(self.plan.one, total, noise) / self.plan.batch)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def _total(self) -> Tensor:
        """Draw a batch and add it up; a failure closes the run, and says nothing of its reason."""
        before = ModelState.of(self.model)
        drawn = self.plan.batches.draw(self._units.units, self._entropy)
        total: Tensor | None = None
        with contextlib.suppress(Exception):  # its text may quote the data; replaced below
            total, _ = self._sums.total(self._units.of(drawn))
        if before.changed(self.model) is not None:
            self.ledger.fail(self.plan.key)
            raise changed_in_a_step()
        if total is None:  # raised here, where the other error is out of sight
            self.ledger.fail(self.plan.key)
            raise answer_failed_error()
        return total

    def _hand_over(self, values: Tensor) -> None:
        """Set the gradients of all trainable parameters."""
        start = 0
        for parameter in self._parameters:
            part = values[start : start + parameter.numel()]
            parameter.grad = part.view(parameter.shape).to(
                device=parameter.device, dtype=parameter.dtype
            )
            start += parameter.numel()

    # --- state --------------------------------------------------------------------------------

    @property
    def report(self) -> TrainingReport:
        """What the run has done so far."""
        return TrainingReport(
            plan=self.plan,
            taken=self._taken,
            attempts=self._attempts,
            charged_again=self._again,
            untold=self._untold,
            public_weights=self._public,
            weights=self._weights,
        )

    def _state(self) -> bytes:
        file = io.BytesIO()
        torch.save(
            {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}, file
        )
        written = file.getvalue()
        try:
            self._read(written)
        except (pickle.UnpicklingError, RuntimeError) as failure:
            raise WrongKind(
                what="the state of the model or of its optimizer cannot be read back.",
                why="a checkpoint is read without running code, so it holds tensors and plain "
                "Python values alone.",
                do="give the optimizer plain numbers, such as lr=float(rate) for one of NumPy.",
            ) from failure
        return written

    def _read(self, state: bytes) -> Any:
        return torch.load(io.BytesIO(state), map_location=self._device, weights_only=True)

    def _save(self, marks: Marks) -> None:
        """Write a checkpoint, unless somebody else has gone on; if that fails, stop in order."""
        marks.check()
        if self._folder is None:
            return
        try:
            Checkpoint(self.plan.digest, self._taken, self._state()).write(self._folder)
        except Exception:
            marks.stop(self._taken)
            raise

    def _kept(self) -> Checkpoint | None:
        """Return the checkpoint in the folder, if any; it is of this run and this model."""
        if self._folder is None:
            return None
        kept = Checkpoint.read(self._folder, run=self.plan.digest)
        if kept is None:
            return None
        try:
            state = self._read(kept.state)
            shapes = [_shapes(state["model"]), _shapes(self.model.state_dict())]
            groups = [
                [len(group["params"]) for group in each["param_groups"]]
                for each in (state["optimizer"], self.optimizer.state_dict())
            ]
        except (pickle.UnpicklingError, RuntimeError, KeyError, TypeError) as failure:
            raise torn("it cannot be read") from failure
        if shapes[0] != shapes[1] or groups[0] != groups[1]:
            raise torn("model or optimizer have other parts than those it was written for")
        return kept

    def _load(self, kept: Checkpoint) -> None:
        state = self._read(kept.state)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self._taken = kept.step

    def _record(self, marks: Marks) -> None:
        """Store a manifest of the weights in the ledger."""
        digest = weights_digest(self.model)
        manifest = {
            "answer": "weights",
            "plan": self.plan.digest,
            "step": self._taken,
            "sha256": digest,
            "public_weights": self._public,
        }
        text = json.dumps(manifest, sort_keys=True, separators=(",", ":"))
        marks.check()
        stored = self.ledger.release(self.plan.key, text.encode("ascii"))
        if stored.answer != text.encode("ascii"):
            raise RunFenced(
                what="another process has ended this run with other weights.",
                why="one run has one result, and these weights are not on record.",
                do="use the weights of that process; discard these.",
            )
        self._weights = digest

    def _load_recorded(self, stored: StoredAnswer) -> None:
        """Go back to the weights of a run that has ended, if they are at hand."""
        manifest = json.loads(stored.answer)
        kept = self._kept()
        if kept is not None:
            self._load(kept)
        if weights_digest(self.model) != manifest["sha256"]:
            raise OtherRun(
                what="this run has ended, and its weights are not these.",
                why="one run has one result; a second one would be drawn again, and not paid for.",
                do="load the weights of that run, or give the new run another name.",
            )
        self._taken, self._weights = int(manifest["step"]), manifest["sha256"]

    def _shape(self, clipping: str) -> Mapping[str, Any]:
        """Describe model and optimizer by public facts."""
        return {
            "parameters": [
                [name, list(p.shape), str(p.dtype)]
                for name, p in self.model.named_parameters()
                if p.requires_grad
            ],
            "optimizer": type(self.optimizer).__name__,
            "clipping": clipping,
        }

    def _check_optimizer(self) -> None:
        known = {id(p) for p in self.model.parameters()}
        groups = getattr(self.optimizer, "param_groups", None)
        if groups is None or any(id(p) not in known for g in groups for p in g["params"]):
            raise WrongKind(
                what="the optimizer is not one of the parameters of this model.",
                why="it would update something else with noisy gradients, or nothing.",
                do="give, say, torch.optim.SGD(model.parameters(), lr=1).",
            )

    def _check_parameters(self) -> None:
        self._modes.check(self.model)
        now = [p for p in self.model.parameters() if p.requires_grad]
        if len(now) != len(self._parameters) or any(
            a is not b for a, b in zip(now, self._parameters, strict=True)
        ):
            raise OtherRun(
                what="parameters of the model were replaced in the middle of a run.",
                why="the plan was made, and contributions were tested, for those before.",
                do="make a new Training for the changed model.",
            )

    def _interruptible(self) -> Interruptible:
        def stop() -> None:
            self._stop = True

        self._stop = False
        return Interruptible(stop)


def _shapes(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names of a state and the shapes of its tensors."""
    return {name: getattr(value, "shape", None) for name, value in state.items()}
