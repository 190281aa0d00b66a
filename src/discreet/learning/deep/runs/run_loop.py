"""The loop of a run: marks before steps, checkpoints between them, noise that is used once.

Trust: kernel.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Final, final

from torch import Tensor

from discreet.accounting.budgets.spending import Guard
from discreet.errors import EntropyError, RunFenced
from discreet.exact import whole
from discreet.learning.deep.device_release import DeviceNoise
from discreet.learning.deep.runs.ranks import RankLost
from discreet.learning.deep.runs.run_arguments import check_mode, check_updates
from discreet.learning.deep.runs.run_progress import RunProgress
from discreet.learning.deep.runs.training_report import HeldInterrupt, Interruptible, Step
from discreet.learning.marks import Marks
from discreet.learning.noise_processes.noise_ahead import NoiseAhead
from discreet.learning.side_counts import adapted
from discreet.noise import Entropy

_BLOCKS: Final = 20


@final
class RunLoop:
    """Releases the noisy sums of a run, one after another."""

    def __init__(
        self,
        progress: RunProgress,
        *,
        every: int | None,
        processes: int | None,
        adaptive: bool,
        entropy: Entropy,
    ) -> None:
        """Take a run, after how many steps it saves, and who draws its noise."""
        self.plan, self._stepper, self._saved = progress.plan, progress.stepper, progress.saved
        self._progress, self._entropy = progress, entropy
        self._processes = None if processes is None else whole(processes, name="processes", low=0)
        self._adaptive = adaptive
        self._every = (
            max(1, -(-self.plan.steps // _BLOCKS))
            if every is None
            else whole(every, name="every", low=1)
        )
        self._guard = Guard()
        self._metrics: dict[str, float] = {}

    def steps(
        self, lost: str, *, update: bool, interrupt: Interruptible | None = None
    ) -> Iterator[Step]:
        """Pay, then release one sum after another; ``update`` lets the optimizer use each.

        Whoever leaves between two steps leaves in order, be it by ``interrupt`` after one of them.
        """
        run = self._progress
        check_mode()
        if update:
            check_updates(self._stepper.tried.model, self._stepper.optimizer)
        with self._guard:
            marks = run.begin(lost)
        if marks is None:
            return
        marked, midway = run.taken, False
        try:
            with self._noise() as noise:
                while run.taken < self.plan.steps:
                    with HeldInterrupt() as held, self._guard:
                        if run.taken == self.plan.steps:  # another thread has taken the last one
                            break
                        if run.taken >= marked:
                            run.save(marks)
                            marked = min(run.taken + self._every, self.plan.steps)
                            marks.mark(marked)
                        began, midway = time.perf_counter(), True
                        self._step_or_leave(noise, marks, update=update)
                        run.taken += 1
                        midway = False
                    took = time.perf_counter() - began
                    held.pass_on()
                    yield Step(run.taken, self.plan.steps, took, dict(self._metrics))
                    if interrupt is not None and interrupt.came:
                        break
            with self._guard:
                if run.taken < self.plan.steps:
                    run.leave(marks)
                else:
                    run.end(marks)
        except (GeneratorExit, KeyboardInterrupt):
            if not midway:
                self._leave(marks)
            raise

    def _noise(self) -> DeviceNoise:
        """Draw the noise of the steps to come, where the model computes."""
        law, count = self.plan.band.law(self.plan.one), self.plan.one.coordinates
        ahead = NoiseAhead(law, count, processes=self._processes, entropy=self._entropy)
        return DeviceNoise(ahead, self._stepper.sums.sums.device)

    def _leave(self, marks: Marks) -> None:
        """Leave between two steps; where somebody else has gone on, nothing of it is kept."""
        with HeldInterrupt() as held, self._guard, contextlib.suppress(RunFenced):
            self._progress.leave(marks)
        held.pass_on()

    def _step_or_leave(self, noise: DeviceNoise, marks: Marks, *, update: bool) -> None:
        """Take a step; where its noise or another process is missing, end the run in order.

        Only what comes before the release may end it so: a step that was seen is never taken again
        for nothing.  Nor is one whose batch has ended another process, or may have: that it did
        follows from rows, and would be asked of another batch for nothing.
        """
        marks.check_process()
        try:
            total = self._stepper.measure(step=self._progress.taken, factor=self._saved.factor)
            drawn = noise.take()
        except RankLost as ended:
            self._progress.leave(marks, lost=1)
            raise ended.told from None
        except EntropyError:  # of no row's making, and nothing was released
            self._progress.leave(marks)
            raise
        self.release(total, drawn)
        if update:
            self._stepper.update()
        self._stepper.check()

    def release(self, total: Tensor, noise: Tensor) -> None:
        """Release one noisy sum, and adapt the threshold to what it tells."""
        self._metrics = self._stepper.take(total, noise)
        if self._adaptive:
            self._saved.factor = adapted(self._saved.factor, self._metrics["clipped"])
