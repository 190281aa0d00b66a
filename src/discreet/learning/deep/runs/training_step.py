"""One step of a run: draw a batch, add it up, release the noisy sum, and let the optimizer use it.

Trust: kernel.  Nothing of the batch leaves but the noisy sum.
"""

from __future__ import annotations

from typing import final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.errors import LayerNotProvable, OtherRun
from discreet.learning.banded_noise import BandedBatches, BandedSums
from discreet.learning.deep.device_release import cells_of, handed_over, refuse_unsound, released
from discreet.learning.deep.model_state import ModelState, changed_in_a_step, used_otherwise
from discreet.learning.deep.runs.ranks import RankLost, Ranks
from discreet.learning.deep.runs.step_sums import StepSums
from discreet.learning.deep.tried_model import TriedModel
from discreet.learning.run_charges import RunCharges
from discreet.learning.sampling import UnitRows
from discreet.learning.seats import seated
from discreet.learning.training_plan import TrainingPlan
from discreet.noise import Entropy
from discreet.session.record import answer_failed_error


@final
class TrainingStep:
    """Takes the steps of a run."""

    def __init__(  # noqa: PLR0913  a model, its data, and who adds up
        self,
        tried: TriedModel,
        plan: TrainingPlan,
        units: UnitRows,
        sums: StepSums,
        charges: RunCharges,
        *,
        optimizer: torch.optim.Optimizer,
        entropy: Entropy,
        ranks: Ranks | None = None,
        constant_work: bool = False,
    ) -> None:
        """Take what a step needs; ``constant_work`` computes as if every batch had its cap."""
        self.tried, self.plan, self.units, self.sums = tried, plan, units, sums
        self.charges, self.optimizer, self.entropy = charges, optimizer, entropy
        self.ranks, self.constant_work = ranks, constant_work
        self.begin()

    def begin(self) -> None:
        """Put units into parts, and forget earlier sums, where noise is banded."""
        self._turns: BandedBatches | None = None
        if self.plan.band.width > 1:
            self._turns = BandedBatches(
                self.plan.band, self.plan.batches, units=self.units.units, entropy=self.entropy
            )
            self._banded = BandedSums(self.plan.band)
        self._measured = 0

    def goes_on(self, step: int) -> bool:
        """Whether a step follows the last one that this process released; or ``begin`` again."""
        return self._turns is None or self._banded.goes_on(step)

    def measure(self, *, step: int = 0, factor: float = 1.0) -> Tensor:
        """Add up the batch of a step; nobody has seen anything of it."""
        self.tried.check()
        self._measured = step
        return self._total(step, factor)

    def take(self, total: Tensor, noise: Tensor) -> dict[str, float]:
        """Release a sum with noise that is used once; return the metrics that were bought."""
        noisy, self._sound = self._released(total, noise)
        count = noisy.numel() - len(self.plan.side.names)
        self.hand_over(noisy[:count].div_(self.plan.batch))
        return self.plan.side.told(noisy[count:].cpu().numpy(), batch=self.plan.batch)

    def update(self) -> None:
        """Let the optimizer use the gradients that were released."""
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def check(self) -> None:
        """Close the run if what was released cannot have been a sum: nothing is taken again."""
        if not bool(self._sound):
            self.charges.close()
            refuse_unsound(self._sound)

    def _released(self, total: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Return the noisy sum or the banded estimate of it, and whether the sum was sound."""
        if self._turns is None:
            return released(self.plan.one, total, noise)
        cells, sound = cells_of(self.plan.one, total)
        measured = self._banded.measured(cells, noise.to(total.device), step=self._measured)
        step = float(self.plan.one.grid.step)
        return (self._banded.estimate(measured.double()) + 0.5) * step, sound

    def _seats(self, step: int) -> NDArray[np.int64]:
        """Draw a batch, and seat it: the rows of each unit on a line, and -1 for nobody."""
        if self._turns is None:
            drawn = self.plan.batches.draw(self.units.units, self.entropy)
        else:
            drawn = self._turns.draw(step)
        rows = self.units.of(drawn)
        if self.plan.seats:
            return seated(rows, seats=self.plan.seats, entropy=self.entropy)
        if self.constant_work:
            empty = np.full((self.plan.one.units - rows.shape[0], rows.shape[1]), -1, np.int64)
            rows = np.concatenate([rows, empty])
        return rows

    def _total(self, step: int, factor: float) -> Tensor:
        """Draw a batch and add it up; a failure closes the run, and says nothing of its reason."""
        before = ModelState.of(self.tried.model)
        rows = self._seats(step)
        total: Tensor | None = None
        misused = changed = False
        adding = self.sums if self.ranks is None else self.ranks
        try:
            total = adding.total(rows, factor=factor, entropy=self.entropy)
        except RankLost:  # no error of a model, an objective or an augmentation
            raise
        except LayerNotProvable:
            misused = True
        except OtherRun:
            changed = True
        except Exception:  # noqa: BLE001, S110  its text may quote the data; replaced below
            pass
        if changed or before.changed(self.tried.model) is not None:
            self.charges.close()
            raise changed_in_a_step()
        if misused:
            self.charges.close()
            raise used_otherwise()
        if total is None:  # raised here, where the other error is out of sight
            self.charges.close()
            raise answer_failed_error()
        return total

    def hand_over(self, values: Tensor) -> None:
        """Set the gradients of all trainable parameters."""
        handed_over(values, self.tried.parameters)
