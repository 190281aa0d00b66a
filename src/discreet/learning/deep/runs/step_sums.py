"""All coordinates of one step's sum: contributions, and what is told beside them.

Trust: kernel.

Every micro-batch has coins of its own (:mod:`discreet.learning.deep.coins`), in each of its passes.
An objective, and a function of views, sees private rows and must keep nothing of them: a sum in
which something that one of them holds has changed is not handed out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import starmap
from typing import final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.learning.deep.batch_sums import BatchSums
from discreet.learning.deep.coins import kept_streams, set_streams, stream_words
from discreet.learning.deep.memory.plain_values import Plain, first_difference, held_values
from discreet.learning.deep.model_state import changed_in_a_step
from discreet.learning.deep.objectives import SummedObjective
from discreet.learning.side_counts import WEIGHT, SideCounts
from discreet.noise import SYSTEM, Entropy


@final
class StepSums:
    """Adds up what a batch contributes, and what it tells beside."""

    def __init__(self, sums: BatchSums, side: SideCounts, objective: SummedObjective) -> None:
        """Take the sums of contributions, what is bought, and the objective."""
        self.sums, self.side, self.objective = sums, side, objective

    def total(
        self, rows: NDArray[np.int64], *, factor: float = 1.0, entropy: Entropy = SYSTEM
    ) -> Tensor:
        """Return the float64 total of all coordinates.

        Args:
            rows: the rows of each drawn unit on a line, -1 for none.
            factor: a public number by which thresholds have been adapted.
            entropy: random bits, for coins.
        """
        with self.nothing_kept():
            return self._total(rows, factor, entropy)

    @contextmanager
    def nothing_kept(self) -> Iterator[None]:
        """Refuse objectives and views that hold something else afterward."""
        before = self._held()
        yield
        if any(starmap(first_difference, zip(before, self._held(), strict=True))):
            raise changed_in_a_step()

    def _held(self) -> list[Plain]:
        """Return what objective and views hold."""
        held = (self.objective.objective, getattr(self.sums.data, "augment", None))
        return [held_values(each) for each in held]

    def _total(self, rows: NDArray[np.int64], factor: float, entropy: Entropy) -> Tensor:
        with kept_streams(self.sums.device):
            contributed, short = self.sums.total(
                rows, factor=factor, counted="clipped" in self.side.names, entropy=entropy
            )
            if not self.side.names:
                return contributed
            beside = [
                short if name == "clipped" else self._told(rows, entropy)
                for name in self.side.names
            ]
        extra = torch.tensor(beside, dtype=torch.float64, device=contributed.device)
        return torch.cat([contributed, extra * float(WEIGHT)])

    def _told(self, rows: NDArray[np.int64], entropy: Entropy) -> float:
        """Return the sum of the centered objectives, by one more forward pass."""
        total = 0.0
        for part in self.sums.micro_batches(rows):
            x, y, real_rows = self.sums.data.take(part, self.sums.device)
            inside = real_rows.to(self.sums.device)
            set_streams(self.sums.device, stream_words(1, entropy)[0])
            with torch.no_grad():
                each = self.objective.each(self.sums.model(x), y).double()
                each = torch.where(inside, each, torch.zeros_like(each)).reshape(len(part), -1)
                counts = inside.reshape(len(part), -1).sum(1)
                means = (each.sum(1) / counts.clamp_min(1)).cpu().numpy()
            real = counts.cpu().numpy() > 0
            total += float(np.where(real, self.side.centered_objectives(means), 0.0).sum())
        return total
