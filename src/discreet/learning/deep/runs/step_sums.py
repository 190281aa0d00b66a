"""All coordinates of one step's sum: contributions, and what is told beside them.

Trust: kernel.

The randomness of PyTorch (dropout, views of rows) is seeded for each step from the system's, and
the user's own stream is left as it was.  A unit that enters a batch shifts the stream for those
after it; whoever knew the seed could tell from their masks that it is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.learning.deep.batch_sums import BatchSums
from discreet.learning.deep.objectives import SummedObjective
from discreet.learning.side_counts import WEIGHT, SideCounts
from discreet.noise import SYSTEM, Entropy

_SEED_BITS: Final = 63


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
            entropy: random bits, for the seed.
        """
        with secret_seed(self.sums.device, entropy):
            contributed, short = self.sums.total(rows, factor=factor)
            if not self.side.names:
                return contributed
            beside = [short if name == "clipped" else self._told(rows) for name in self.side.names]
        extra = torch.tensor(beside, dtype=torch.float64, device=contributed.device)
        return torch.cat([contributed, extra * float(WEIGHT)])

    def _told(self, rows: NDArray[np.int64]) -> float:
        """Return the sum of the centered objectives, by one more forward pass."""
        total = 0.0
        for part in self.sums.micro_batches(rows):
            x, y, real_rows = self.sums.data.take(part, self.sums.device)
            inside = real_rows.to(self.sums.device)
            with torch.no_grad():
                each = self.objective.each(self.sums.model(x), y).double()
                each = torch.where(inside, each, torch.zeros_like(each)).reshape(len(part), -1)
                counts = inside.reshape(len(part), -1).sum(1)
                means = (each.sum(1) / counts.clamp_min(1)).cpu().numpy()
            real = counts.cpu().numpy() > 0
            total += float(np.where(real, self.side.centered_objectives(means), 0.0).sum())
        return total


@contextmanager
def secret_seed(device: torch.device, entropy: Entropy) -> Iterator[None]:
    """Seed PyTorch from random bits, and give the user's own stream back afterward."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(entropy.bits(_SEED_BITS))
        yield
