"""Several views of each row: an example contributes the mean of what its views would.

Trust: kernel.

Definition.  Every row that is drawn is turned into K views by a function of the user's, which is
called with a copy of one row and returns one of the same shape and type.  What the unit contributes
is the mean over its views, and is clipped once.
Theorem (key ``augmented-views``; De, Berrada, Hayes, Smith and Balle 2022).  A run with K views
costs what a run with one does, beside the rounding of K times as many products.
    Proof.  Give the coins of all views away.  Given them, the mean of the views of unit i is a
    vector that depends on its own rows and public values, and clipping bounds it by C whatever K is
    (key ``gradient-sum``).  Coins do not depend on the data, so the divergence is a mean over
    coins of divergences that one pair dominates.
Views are called one by one, so that no row can reach another through the function.  Their coins are
those of PyTorch, Python and NumPy, which are set afresh for every unit, from words that are drawn
for each place of a batch whether a unit sits there or not (:mod:`discreet.learning.deep.coins`): a
unit that enters, and one that takes more coins than others, moves nobody else's.  A function with a
stream or a memory of its own is found by trying, and refused: with the same seed, it must make the
same view of a row, and take the same coins for it, whatever it has seen before.  Keeping views is a
memory, too: whether a row is among those that are kept follows from others.

Clipping the sum of K views to K times the threshold, and scaling to 1 / K, is the same as clipping
their mean: so views are rows of their unit, and thresholds are multiplied by K.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.errors import NotPerExample
from discreet.learning.deep.batch_sums import RowTensors
from discreet.learning.deep.coins import (
    kept_streams,
    own_streams,
    seeded,
    set_streams,
    stream_words,
    streams_of_torch,
)
from discreet.learning.deep.generated import RowShape, same_values
from discreet.learning.deep.memory.plain_values import first_difference, held_values
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

        A generated row is shown with other coins in each turn, right after the view of the turn
        before, and once more after others, one to dozens of them: a view that is kept comes back
        at one of these places, or takes no coins there.  A fair coin of its own is missed with a
        chance of 2**-16.  What the function holds must stay as it was.
        """
        one, *others = self.shapes[0].rows(2 * _TRIED, seed=3, device=_CPU)
        before, alike = held_values(self.augment), True
        for seed in range(_TRIED):
            view, streams = self._seeded(one, seed)
            for number, row in enumerate(others[: 2 * seed + 1], start=_TRIED):
                self._seeded(row, number)
            again, then = self._seeded(one, seed)
            alike = alike and same_values(view, again) and streams == then
        if not alike or first_difference(before, held_values(self.augment)) is not None:
            raise NotPerExample(
                what="augment makes another view of the same row from the same coins, or remembers "
                "something.",
                why="it has a stream of coins or a memory of its own, so that one row shifts "
                "what it makes of the rows after it, in a way that a reader may know.",
                do="let it draw from torch.rand, random.random or numpy.random's functions, "
                "whose seeds are secret, and remember nothing.",
            )

    def _seeded(self, row: Tensor, seed: int) -> tuple[Tensor, tuple[Any, ...]]:
        """Return a view of a row with known coins, and where all streams are after it."""
        with seeded(_CPU, seed):
            return self.view(row), (own_streams(), streams_of_torch(_CPU))

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
