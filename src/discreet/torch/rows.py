"""Rows of the data, and generated rows of the same shape for trying a model.

Trust: kernel.

Rows are read by number, for drawn units alone; places that no row takes hold zeros.  Shapes and
types of rows are public.  Generated rows follow from them and a seed: reals are drawn from a normal
distribution, tokens and classes are 0 or 1, which every model has.

Several views of each row (augmentation multiplicity): an example contributes the mean of what its
views would.
Definition.  Every row that is drawn is turned into K views by a function of the user's, which is
called with a copy of one row and returns one of the same shape and type.  What the unit contributes
is the mean over its views, and is clipped once.
Theorem (key ``augmented-views``).  A run with K views costs as much as a run with one, except for
the rounding of K times as many products.
    Proof.  Give the coins of all views away.  Given them, the mean of the views of unit i is a
    vector that depends on its own rows and public values, and clipping bounds it by C for every K
    (key ``gradient-sum``).  Coins do not depend on the data, so the divergence is a mean over
    coins of divergences that one pair dominates.
Views are made one by one, from one row each; those of :class:`ShiftedImages`, which is known to
turn each row by itself, are made together.  Clipping the sum of K views to K times the threshold,
and scaling to 1 / K, is the same as clipping their mean: so views are rows of their unit, and
thresholds are multiplied by K.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.errors import NotPerExample, OutOfRange
from discreet.exact import whole
from discreet.noise import Entropy

Augment = Callable[[Tensor], Tensor]

_STATE_BEGINS: Final = 3  # words of 64 bits: a seed, how many are left, and the next one
_STATE_WORDS: Final = 624


@final
@dataclass(frozen=True, slots=True)
class RowShape:
    """Shape and type of one row of a tensor."""

    shape: tuple[int, ...]
    dtype: torch.dtype

    @classmethod
    def of(cls, values: Tensor) -> RowShape:
        """Read the shape of rows."""
        return cls(tuple(values.shape[1:]), values.dtype)

    def rows(self, count: int, *, seed: int, device: torch.device) -> Tensor:
        """Return rows that depend on the seed alone."""
        stream = torch.Generator().manual_seed(seed)
        size = (count, *self.shape)
        if self.dtype.is_floating_point:
            return torch.randn(size, generator=stream).to(device=device, dtype=self.dtype)
        return torch.randint(0, 2, size, generator=stream).to(device=device, dtype=self.dtype)


@final
@dataclass(frozen=True, slots=True)
class ShiftedImages:
    """Random views of images: shifted by some pixels, and mirrored by a fair coin.

    What a shift moves into an image is its own border, reflected.  A row is an image of
    channels x height x width.

    >>> image = torch.zeros(1, 3, 3)
    >>> ShiftedImages(pixels=2)(image).shape
    torch.Size([1, 3, 3])
    """

    pixels: int = 4
    mirrored: bool = True

    def __post_init__(self) -> None:
        """Refuse a number of pixels below 0."""
        whole(self.pixels, name="pixels", low=0)

    def __call__(self, row: Tensor) -> Tensor:
        """Return a view of one image."""
        return self.views(row[None])[0]

    def views(self, rows: Tensor) -> Tensor:
        """Return a view of each image, which depends on that image and on its own coins alone."""
        if rows.dim() != 4 or min(rows.shape[2:]) <= self.pixels:
            raise OutOfRange(
                "rows are not images of channels x height x width that are larger than their "
                "shifts: reshape the inputs, or shift by fewer pixels."
            )
        count, device = rows.shape[0], rows.device
        coins = torch.randint(0, 2 * self.pixels + 1, (2, count, 1), device=device) - self.pixels
        turned = torch.randint(0, 1 + self.mirrored, (count, 1), device=device)
        places = []
        for size, coin in zip(rows.shape[2:], coins, strict=True):
            place = (torch.arange(size, device=device) + coin).abs()
            places.append(size - 1 - (size - 1 - place).abs())
        down, across = places
        across = torch.where(turned > 0, across.flip(1), across)
        each = torch.arange(count, device=device)[:, None, None]
        return rows.movedim(1, -1)[each, down[:, :, None], across[:, None]].movedim(-1, 1)


@final
@dataclass(frozen=True, slots=True)
class RowTensors:
    """Inputs and targets, read by number for drawn units alone, each row perhaps in several views.

    >>> rows = RowTensors(torch.arange(3.0)[:, None], torch.zeros(3))
    >>> rows.take(np.array([[2], [-1]]), torch.device("cpu"))[0].tolist()
    [[2.0], [0.0]]
    """

    inputs: Tensor
    targets: Tensor
    views: int = 1
    augment: Augment | None = None

    @property
    def shapes(self) -> tuple[RowShape, RowShape]:
        """Shape and type of one row of each."""
        return RowShape.of(self.inputs), RowShape.of(self.targets)

    def take(self, rows: NDArray[np.int64], device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
        """Return inputs and targets of rows, zeros if the number is -1, and which are real.

        The latter stays on the CPU: it is known there, and no GPU must be waited for.  Views of a
        row come one after another.
        """
        flat = torch.from_numpy(rows.reshape(-1))
        inside = flat >= 0
        if self.augment is None:
            return (
                self._rows(self.inputs, flat, device),
                self._rows(self.targets, flat, device),
                inside,
            )
        again = inside.repeat_interleave(self.views)
        if type(self.augment) is ShiftedImages:
            images = self._rows(self.inputs, flat, device).repeat_interleave(self.views, 0)
            targets = self._rows(self.targets, flat, device).repeat_interleave(self.views, 0)
            return self.augment.views(images), targets, again
        x = self._rows(self.inputs, flat, torch.device("cpu")).repeat_interleave(self.views, 0)
        for place in torch.nonzero(again)[:, 0].tolist():
            x[place] = self.view(x[place])
        y = self._rows(self.targets, flat, device).repeat_interleave(self.views, 0)
        return x.to(device), y, again

    @staticmethod
    def _rows(values: Tensor, flat: Tensor, device: torch.device) -> Tensor:
        if values.shape[0] == 0:
            chosen = torch.zeros((flat.numel(), *values.shape[1:]), dtype=values.dtype)
        else:
            chosen = values[flat.clamp_min(0).to(values.device)]
        chosen = chosen.to(device)
        empty = torch.nonzero(flat < 0)[:, 0]
        if len(empty):
            chosen.index_fill_(0, empty.to(device), 0)  # a copy of the data's, as indices give
        return chosen.contiguous()

    def view(self, row: Tensor) -> Tensor:
        """Return one view of a row; refuse another shape or type."""
        made = row if self.augment is None else self.augment(row.clone())
        if not isinstance(made, Tensor) or made.shape != row.shape or made.dtype != row.dtype:
            raise NotPerExample(
                what="augment does not return a tensor of the shape and type of its row.",
                why="a view takes the place of its row.",
                do="give a function of one row, such as a random shift that pads with zeros.",
            )
        return made


@contextmanager
def fresh_coins(device: torch.device, entropy: Entropy) -> Iterator[None]:
    """Seed PyTorch's generators from secret bits for a while, and give the user's back.

    Dropout and views draw from them.  With a seed that the reader of a published script knows,
    masks of others would say whether a unit is there.  On a CPU the whole state of MT19937 is
    secret, since a seed keeps 32 bits of it.
    """
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(entropy.bits(63))
        state = torch.get_rng_state()
        words = state.numpy().view(np.uint64)[_STATE_BEGINS : _STATE_BEGINS + _STATE_WORDS]
        words[:] = entropy.words(_STATE_WORDS, 32)
        torch.set_rng_state(state)
        yield
