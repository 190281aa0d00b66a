"""The loop of DP-SGD: sample, clip each example's gradient, add up, add noise, update.

Trust: kernel.  Nothing of a batch leaves but the noisy sum.

A step is: a Poisson sample of the units; their per-example gradients, clipped and added up in exact
enough floats; the floor to a grid and exact noise; the result as a gradient for the optimizer.
Around it, marks in the ledger say how far noise may be drawn before it is (key ``marked-steps``),
and checkpoints keep what was paid for.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Final, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.errors import EntropyError, LayerNotProvable, OtherRun
from discreet.exact import whole
from discreet.extend import answer_failed_error
from discreet.noise import Entropy
from discreet.torch.arguments import check_mode, check_updates
from discreet.torch.banded_noise import BandedBatches, BandedSums
from discreet.torch.marks import Marks
from discreet.torch.noise_ahead import NoiseAhead
from discreet.torch.noisy_sum import (
    BatchSums,
    DeviceNoise,
    cells_of,
    handed_over,
    refuse_unsound,
    released,
)
from discreet.torch.progress import RunProgress, Step
from discreet.torch.rows import fresh_coins
from discreet.torch.sampling import UnitRows
from discreet.torch.side_counts import adapted
from discreet.torch.trial import TriedModel, Writes

_BLOCKS: Final = 20


@final
class TrainingRun:
    """Releases the noisy sums of a run, one after another."""

    def __init__(  # noqa: PLR0913  a model, its data, and how it is run
        self,
        tried: TriedModel,
        units: UnitRows,
        sums: BatchSums,
        progress: RunProgress,
        *,
        optimizer: torch.optim.Optimizer,
        every: int | None,
        processes: int | None,
        adaptive: bool,
        constant_work: bool,
        entropy: Entropy,
    ) -> None:
        """Take what a step needs; ``constant_work`` computes as if every batch had its cap."""
        self.plan, self.tried, self.units, self.sums = progress.plan, tried, units, sums
        self.progress, self._optimizer, self._entropy = progress, optimizer, entropy
        self._adaptive, self._constant_work = adaptive, constant_work
        self._processes = None if processes is None else whole(processes, name="processes", low=0)
        self._every = max(1, -(-self.plan.steps // _BLOCKS))
        if every is not None:
            self._every = whole(every, name="every", low=1)
        self._turns: BandedBatches | None = None
        self._banded = BandedSums(self.plan.band)

    def steps(self, lost: str, *, update: bool) -> Generator[Step, None, None]:
        """Pay, then release one sum after another; ``update`` lets the optimizer use each.

        A loop that is left between two steps, or by Ctrl-C, ends in order: no step is charged
        again.
        """
        check_mode()
        if update:
            check_updates(self.tried.model, self._optimizer)
        run = self.progress
        marks = run.begin(lost, remembered=self._banded.next_step)
        if marks is None:
            return
        if self.plan.band.width > 1 and self._banded.next_step != run.taken:
            self._new_parts()
        marked, seen = run.taken, False
        try:
            with self._noise() as noise:
                while run.taken < self.plan.steps:
                    run.check_process()
                    if run.taken >= marked:
                        run.save(marks)
                        marked = min(run.taken + self._every, self.plan.steps)
                        marks.mark(marked)
                    self._check_model(marks)
                    began = time.perf_counter()
                    total = self._clipped_sum(self._sample(run.taken))
                    drawn = noise.take()
                    seen = True
                    metrics, sound = self._release(total, drawn)
                    if update:
                        self._optimizer.step()
                        self._optimizer.zero_grad(set_to_none=True)
                    self._refuse_unsound(sound)
                    run.taken += 1
                    seen = False
                    yield Step(run.taken, self.plan.steps, time.perf_counter() - began, metrics)
            run.end(marks)
        except (GeneratorExit, KeyboardInterrupt, EntropyError):
            run.taken += seen  # a released sum counts, even if its update failed
            run.leave(marks)
            raise

    def _noise(self) -> DeviceNoise:
        """Draw the noise of the next steps, on the device of the model."""
        law, count = self.plan.band.law(self.plan.one), self.plan.one.coordinates
        ahead = NoiseAhead(law, count, processes=self._processes, entropy=self._entropy)
        return DeviceNoise(ahead, self.sums.device)

    def _new_parts(self) -> None:
        """Put units into parts, and forget earlier sums, if noise is banded."""
        self._turns = BandedBatches(
            self.plan.band, self.plan.batches, units=self.units.units, entropy=self._entropy
        )
        self._banded = BandedSums(self.plan.band)

    def _check_model(self, marks: Marks) -> None:
        """Refuse a model that is not the one that was tried; nothing of this step is drawn."""
        try:
            self.tried.check()
        except OtherRun:
            self.progress.leave(marks)
            raise

    def _sample(self, step: int) -> NDArray[np.int64]:
        """Draw a batch: the rows of each unit on a line, and -1 for no row."""
        if self._turns is None:
            drawn = self.plan.batches.draw(self.units.units, self._entropy)
        else:
            drawn = self._turns.draw(step)
        rows = self.units.of(drawn)
        if self._constant_work:
            empty = np.full((self.plan.one.units - rows.shape[0], rows.shape[1]), -1, np.int64)
            rows = np.concatenate([rows, empty])
        return rows

    def _clipped_sum(self, rows: NDArray[np.int64]) -> Tensor:
        """Add up clipped contributions; a failure closes the run, and hides its reason (T2)."""
        model, total, misused = self.tried.model, None, False
        before = Writes.of(model)
        try:
            with fresh_coins(self.sums.device, self._entropy):
                total = self.sums.total(rows, factor=self.progress.factor)
        except EntropyError:
            raise
        except LayerNotProvable:
            misused = True
        except Exception:  # noqa: BLE001, S110  its text may quote the data; replaced below
            pass
        if before.changed(model) is None and total is not None:
            return total
        self.progress.close()
        if before.changed(model) is not None:
            raise OtherRun(
                what="a forward pass of this run has written to a tensor of the model.",
                why="it may hold something of the rows, without noise; nothing of this step is "
                "shown.",
                do="discard this model, and replace what writes; the run is closed.",
            )
        if misused:
            raise OtherRun(
                what="a forward pass of this run has used a layer twice, not row by row, or at "
                "more positions than at planning.",
                why="norms were proved for layers that are used once, row by row, and rounding was "
                "priced for those positions; nothing of this step is shown.",
                do="keep one forward for the whole run, or make a new Training for the changed "
                "one; this run is closed.",
            )
        raise answer_failed_error()

    def _release(self, total: Tensor, noise: Tensor) -> tuple[dict[str, float], Tensor]:
        """Release a sum with noise that is used once, as gradients; return bought metrics."""
        if self._turns is None:
            noisy, sound = released(self.plan.one, total, noise)
        else:
            cells, sound = cells_of(self.plan.one, total)
            measured = self._banded.measured(
                cells, noise.to(total.device), step=self.progress.taken
            )
            step = float(self.plan.one.grid.step)
            noisy = (self._banded.estimate(measured.double()) + 0.5) * step
        count = noisy.numel() - len(self.plan.side.names)
        handed_over(noisy[:count].div_(self.plan.batch), self.tried.parameters)
        metrics = self.plan.side.told(noisy[count:].cpu().numpy(), batch=self.plan.batch)
        if self._adaptive:
            self.progress.factor = adapted(self.progress.factor, metrics["clipped"])
        return metrics, sound

    def _refuse_unsound(self, sound: Tensor) -> None:
        """Close the run if what was released cannot have been a sum: nothing is taken again."""
        if not bool(sound):
            self.progress.close()
            refuse_unsound(sound)
