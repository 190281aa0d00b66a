"""Several views of each row: an example contributes the mean of what its views would.

Trust: kernel.

Definition.  Every row that is drawn is turned into K views by a function of the user's, which is
called with a copy of one row and returns one of the same shape and type.  What the unit contributes
is the mean over its views, and is clipped once.
Theorem (key ``augmented-views``).  A run with K views costs what a run with one does, beside the
rounding of K times as many products.
    Proof.  Give the coins of all views away.  Given them, the mean of the views of unit i is a
    vector that depends on its own rows and public values, and clipping bounds it by C whatever K is
    (key ``gradient-sum``).  Coins do not depend on the data, so the divergence is a mean over
    coins of divergences that one pair dominates.
Views are called one by one, so that no row can reach another through the function.  Their coins are
PyTorch's, seeded for each step from the system's randomness: a unit that enters a batch shifts the
stream for those after it, which a reader could undo only if the seed was known.

Clipping the sum of K views to K times the threshold, and scaling to 1 / K, is the same as clipping
their mean: so views are rows of their unit, and thresholds are multiplied by K.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.errors import NotPerExample
from discreet.learning.deep.batch_sums import RowTensors
from discreet.learning.deep.generated import RowShape

Augment = Callable[[Tensor], Tensor]


@final
@dataclass(frozen=True, slots=True)
class ViewedRows:
    """Rows, each in K views; it is used as :class:`RowTensors` is."""

    rows: RowTensors
    views: int
    augment: Augment

    @property
    def shapes(self) -> tuple[RowShape, RowShape]:
        """Shape and type of one row of each."""
        return self.rows.shapes

    def take(self, rows: NDArray[np.int64], device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
        """Return the views of rows one after another, their targets, and which are real."""
        plain, targets, inside = self.rows.take(rows, torch.device("cpu"))
        again = inside.repeat_interleave(self.views)
        x = plain.repeat_interleave(self.views, 0)
        for place in torch.nonzero(again).flatten().tolist():
            x[place] = self.view(x[place])
        y = targets.repeat_interleave(self.views, 0)
        return x.to(device), y.to(device), again.to(device)

    def view(self, row: Tensor) -> Tensor:
        """Return one view of a row; refuse another shape or type."""
        made = self.augment(row.clone())
        if not isinstance(made, Tensor) or made.shape != row.shape or made.dtype != row.dtype:
            raise NotPerExample(
                what="augment does not return a tensor of the shape and type of its row.",
                why="every micro-batch has one shape, and a view takes the place of its row.",
                do="give a function of one row, such as a random shift that pads with zeros.",
            )
        return made
