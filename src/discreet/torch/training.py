"""DP-SGD: a private training run of a PyTorch model, planned, paid, drawn and recorded.

Trust: kernel.

The whole run is charged before the first row is read.  Every iterate is then paid for: stopping in
view of weights or of public data is free, and nothing is given back.  Each step draws a minibatch
by exact coins (Poisson sampling), clips per-example gradients of the loss function, releases their
sum with noise, and hands it to the user's own optimizer as a gradient.  Nothing else of the data
leaves: no objective, no norm, no batch size.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any, final

from discreet.extend import missing_extra

try:
    import torch
    from torch import nn
except ModuleNotFoundError:
    missing_extra("PyTorch", "learning")
from discreet.exact import whole
from discreet.ledger import Ledger
from discreet.noise import SYSTEM, Entropy
from discreet.torch.arguments import (
    check_mode,
    check_optimizer,
    check_payer,
    check_population,
    checked_rows,
    checked_sums,
    checked_views,
    checked_word,
    clip_groups,
    data_of,
    either,
    normalized_groups,
    steps_of,
)
from discreet.torch.layer_parts import chunk_lines, priced_lines, roundings
from discreet.torch.loop import TrainingRun
from discreet.torch.loss_function import Objective
from discreet.torch.noisy_sum import BatchSums
from discreet.torch.per_example import check_model
from discreet.torch.progress import Checkpoint, RunProgress, Step, StepBar, TrainingReport
from discreet.torch.rows import Augment, RowTensors
from discreet.torch.sampling import UnitRows
from discreet.torch.side_counts import SideCounts
from discreet.torch.training_plan import TrainingPlan, cap_of, plan_training
from discreet.torch.trial import try_model
from discreet.units import PrivacyUnit


def _first_without_result(plan: TrainingPlan, ledger: Ledger, folder: Path | None) -> TrainingPlan:
    """Name a run: the first name without a result on record, or that of the folder's checkpoint."""
    begun = None if folder is None else Checkpoint.owner(folder)
    named, number = plan, 1
    while named.digest != begun and ledger.find(named.digest) is not None:
        number += 1
        named = dataclasses.replace(plan, name=f"{plan.name} {number}")
    return named


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
        steps: int | None = None,
        epochs: object = None,
        clip: object = None,
        max_grad_norm: object = None,
        delta: object,
        epsilon: object = None,
        sigma: object = None,
        noise_multiplier: object = None,
        rows_per_unit: int = 1,
        micro_batch: int | None = None,
        clipping: str = "norm",
        sums: str = "double",
        views: int = 1,
        augment: Augment | None = None,
        metrics: Mapping[str, object] | None = None,
        band: int = 1,
        constant_work: bool = False,
        name: str | None = None,
        folder: str | Path | None = None,
        every: int | None = None,
        public_weights: str | None = None,
        processes: int | None = None,
        entropy: Entropy = SYSTEM,
    ) -> None:
        """Plan a run; nothing is spent, and no value of the data is looked at.

        Args:
            model: any module; it stays yours, and so does its optimizer.
            objective: the loss function, of outputs and targets, such as cross_entropy.
            data: inputs and targets, and the unit of each row if units are not rows; a
                ``TensorDataset`` will do.
            optimizer: what turns noisy gradients into steps.
            ledger: who pays.
            unit: who is protected; the unit of the ledger.
            population: the largest number of units, which is public.
            batch: how many units a step draws on average.
            steps: how many noisy sums are released.
            epochs: in place of steps, how often each unit is drawn on average.
            clip: the clipping norm, 1 by default, or one for each group of parameters by prefix.
            max_grad_norm: the same, by its name in Opacus.
            delta: see epsilon.
            epsilon: what the run may lose at delta; the noise follows.
            sigma: the noise multiplier, in place of epsilon.
            noise_multiplier: the same, by its name in Opacus.
            rows_per_unit: how many rows of a unit count, at most.
            micro_batch: how many units are computed at once, fitted to the model by default;
                changes speed and memory alone.
            clipping: "norm", "normalized" to divide each contribution by its norm plus a hundredth
                of clip, or "adaptive" to move the threshold toward the median norm by a noisy
                count.
            sums: "double", or "single" to add up in float32 on a CPU: faster, with more slack.
            views: how many views of a row are averaged before clipping.
            augment: a function of one row that returns a random view of it, or ``ShiftedImages``.
            metrics: what each step releases besides the gradient: "objective" with its largest
                value, "clipped".
            band: over how many steps noise is spread, so that later steps take it off again.
            constant_work: compute every step as if its batch was the largest possible one.
            name: distinguishes runs of the same plan; by default "training", and "training 2" once
                that has a result on record.
            folder: where checkpoints are kept; without one, an interrupted run starts over.
            every: after how many steps a checkpoint is written.
            public_weights: the source of weights that were trained on public data.
            processes: how many processes draw noise while the model computes; fitted to its size by
                default.
            entropy: random bits.
        """
        check_mode()
        check_optimizer(check_model(model), optimizer)
        check_payer(ledger, unit)
        inputs, targets, names = data_of(data, unit)
        units = UnitRows(int(inputs.shape[0]) if names is None else names, rows=rows_per_unit)
        check_population(units, population)
        steps = steps_of(steps, epochs, population=population, batch=batch)
        clip = either(1, clip=clip, max_grad_norm=max_grad_norm)
        sigma = either(None, sigma=sigma, noise_multiplier=noise_multiplier)
        kind = checked_word(clipping, {"norm", "normalized", "adaptive"}, name="clipping")
        single = checked_sums(sums, model)
        side = SideCounts.of(metrics, adaptive=kind == "adaptive")
        times = checked_views(views, augment)
        rows = checked_rows(rows_per_unit, unit) * times
        source = RowTensors(inputs, targets, times, augment)
        source.view(source.shapes[0].rows(1, seed=0, device=torch.device("cpu"))[0])
        cap = cap_of(population=population, batch=batch, steps=steps, delta=delta)
        chunk = chunk_lines(cap) if single else 0
        given = clip_groups(model, clip)
        tried = try_model(
            model,
            objective,
            shapes=source.shapes,
            rows=rows,
            cap=cap,
            units=None if micro_batch is None else whole(micro_batch, name="micro_batch", low=1),
        )
        plan = plan_training(
            name="training" if name is None else name,
            unit=unit,
            population=population,
            batch=batch,
            steps=steps,
            delta=delta,
            epsilon=epsilon,
            sigma=sigma,
            band=band,
            clip=given,
            coordinates=sum(p.numel() for p in tried.parameters),
            rows=rows,
            micro=tried.units,
            positions=-(-tried.engine.positions // rows),
            short=roundings(chunk) if chunk else 0,
            side=side,
            memory=tried.engine.memory,
            layers=tried.engine.layers,
            model={
                "parameters": [
                    [name, list(p.shape), str(p.dtype), p.requires_grad]
                    for name, p in model.named_parameters()
                ],
                "optimizer": type(optimizer).__name__,
                "clipping": kind,
                "views": times,
            },
            notes=() if public_weights is None else (f"public weights: {public_weights}",),
        )
        where = None if folder is None else Path(folder)
        if name is None:
            plan = _first_without_result(plan, ledger, where)
        added = BatchSums(
            model,
            tried.engine,
            source,
            groups=normalized_groups(model, given, views=times),
            micro=tried.units,
            normalized=kind == "normalized",
            device=next(iter(model.parameters())).device,
            chunk=priced_lines(plan.one.short),
            side=side,
            objective=tried.objective,
        )
        progress = RunProgress(
            plan,
            model,
            optimizer,
            ledger,
            folder=where,
            public_weights=public_weights,
        )
        self.model, self.optimizer, self.ledger, self.plan = model, optimizer, ledger, plan
        self._run = TrainingRun(
            tried,
            units,
            added,
            progress,
            optimizer=optimizer,
            every=every,
            processes=processes,
            adaptive=kind == "adaptive",
            constant_work=constant_work,
            entropy=entropy,
        )

    # --- running ------------------------------------------------------------------------------

    def fit(self, *, bar: bool = True, lost: str = "told") -> TrainingReport:
        """Pay, train to the end, and record the weights; Ctrl-C stops in order and is raised.

        A run that was interrupted goes on from its checkpoint.  The steps after it may have been
        seen, so they are charged again, unless ``lost="untold"``: the owner's assertion that they
        were not.
        """
        shown = StepBar(self.plan.steps, active=bar and sys.stderr.isatty())
        with contextlib.closing(self.steps(lost=lost)) as steps:
            for step in steps:
                shown.show(step)
        shown.end()
        return self.report

    resume = fit

    def __iter__(self) -> Iterator[Step]:
        """Yield after each step; leaving the loop early is free, and gives nothing back."""
        return self.steps()

    def steps(self, *, lost: str = "told") -> Generator[Step, None, None]:
        """Pay, then take one step after another."""
        return self._run.steps(lost, update=True)

    def gradients(self, *, lost: str = "told") -> Generator[Step, None, None]:
        """Pay, then put one noisy gradient after another into ``.grad``; the loop updates.

        It replaces ``backward`` in a custom training loop: the gradient has been released once it
        returns, so any use of it, by the loop or the optimizer, is free.
        """
        return self._run.steps(lost, update=False)

    @property
    def report(self) -> TrainingReport:
        """What the run has done so far."""
        return self._run.progress.report()
