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
those of PyTorch, Python and NumPy, which are set afresh for every unit, from words that are drawn
for each place of a batch whether a unit sits there or not (:mod:`discreet.learning.deep.coins`): a
unit that enters, and one that takes more coins than others, moves nobody else's.  A function with a
stream or a memory of its own is found by trying, and refused: with the same seed, it must make the
same view of a row whatever it has seen before.

Clipping the sum of K views to K times the threshold, and scaling to 1 / K, is the same as clipping
their mean: so views are rows of their unit, and thresholds are multiplied by K.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.errors import NotPerExample
from discreet.learning.deep.batch_sums import RowTensors
from discreet.learning.deep.coins import kept_streams, seeded, set_streams, stream_words
from discreet.learning.deep.generated import RowShape, same_values
from discreet.learning.deep.plain_values import first_difference, held_values
from discreet.noise import SYSTEM, Entropy

Augment = Callable[[Tensor], Tensor]

_TRIED: Final = 16
_CPU: Final = torch.device("cpu")


@final
@dataclass(frozen=True, slots=True)
class ViewedRows:
    """Rows, each in K views; it is used as :class:`RowTensors` is."""

    rows: RowTensors
    views: int
    augment: Augment
    entropy: Entropy = SYSTEM

    @property
    def shapes(self) -> tuple[RowShape, RowShape]:
        """Shape and type of one row of each."""
        return self.rows.shapes

    def take(self, rows: NDArray[np.int64], device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
        """Return the views of rows one after another, their targets, and which are real."""
        plain, targets, inside = self.rows.take(rows, _CPU)
        again = inside.repeat_interleave(self.views)
        x = plain.repeat_interleave(self.views, 0)
        units = zip(stream_words(len(rows), self.entropy), _units(again, len(rows)), strict=True)
        with kept_streams(_CPU):
            for words, places in units:
                set_streams(_CPU, words)
                for place in places:
                    x[place] = self.view(x[place])
        y = targets.repeat_interleave(self.views, 0)
        return x.to(device), y.to(device), again.to(device)

    def try_out(self) -> None:
        """Refuse a function whose view of a row follows from more than the row and seeded coins.

        Two generated rows are shown to it in turns; a fair coin of its own is missed with a chance
        of 2**-16.  What it keeps in attributes must stay as it was.
        """
        one, other = self.shapes[0].rows(2, seed=3, device=_CPU)
        before, alike = held_values(self.augment), True
        for seed in range(_TRIED):
            made = []
            for row, number in ((one, seed), (other, _TRIED + seed), (one, seed)):
                with seeded(_CPU, number):
                    made.append(self.view(row))
            alike = alike and same_values(made[0], made[2])
        if not alike or first_difference(before, held_values(self.augment)) is not None:
            raise NotPerExample(
                what="augment makes another view of the same row from the same coins, or remembers "
                "something.",
                why="it has a stream of coins or a memory of its own, so that one row shifts "
                "what it makes of the rows after it, in a way that a reader may know.",
                do="let it draw from torch.rand, random.random or numpy.random's functions, "
                "whose seeds are secret, and remember nothing.",
            )

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


def _units(real: Tensor, count: int) -> list[list[int]]:
    """Return the places of each unit at which there is a row."""
    lines = torch.arange(len(real)).reshape(count, -1)
    return [
        line[there].tolist() for line, there in zip(lines, real.reshape(count, -1), strict=True)
    ]
