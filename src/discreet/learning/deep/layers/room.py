"""Memory for vectors of units, kept between micro-batches.

Trust: kernel.

Fresh memory costs as much time as the products that are written to it: the system clears each page
before it lends it.  So the vectors of a layer are written where those of the last micro-batch were,
unless somebody still holds a part of that one: what is scaled by a unit's own norm must not change
under it.  During a micro-batch, layers that share an input share the products of its positions.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import final

import torch
from torch import Tensor, nn

from discreet.learning.deep.layers.part import LayerPart


@final
class Room:
    """Lends one tensor for each parameter, to the parts of one micro-batch at a time.

    >>> room, weight = Room(), nn.Parameter(torch.zeros(2))
    >>> first = room.lines(weight, (3, 2), torch.float32)
    >>> room.begin()
    >>> room.lines(weight, (3, 2), torch.float32).data_ptr() == first.data_ptr()
    True
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self._kept: dict[nn.Parameter, Tensor] = {}
        self._users: list[weakref.ref[LayerPart]] = []
        self._pairs: dict[object, tuple[Tensor, Tensor, Tensor]] = {}

    def begin(self) -> None:
        """Begin a micro-batch; what parts of the last one still hold is left to them."""
        if any(user() is not None for user in self._users):
            self._kept = {}
        self._users, self._pairs = [], {}

    def lines(self, parameter: nn.Parameter, shape: tuple[int, int], dtype: torch.dtype) -> Tensor:
        """Return memory for one line for each row of data, with any values."""
        kept = self._kept.get(parameter)
        if kept is None or len(kept) < shape[0] or kept.dtype != dtype:
            kept = self._kept[parameter] = torch.empty(shape, dtype=dtype)
        return kept[: shape[0]]

    def pairs(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return inputs to be multiplied later, and the products of all pairs of positions.

        Inputs are found by their place in memory, which stays theirs as long as they are kept.
        """
        key = (inputs.data_ptr(), inputs.shape, inputs.stride(), inputs.dtype)
        if key not in self._pairs:
            wide = inputs.double()
            kept = inputs if inputs.device.type == "cpu" else wide  # a CPU widens block by block
            self._pairs[key] = inputs, kept, torch.bmm(wide, wide.transpose(1, 2))
        _, kept, products = self._pairs[key]
        return kept, products

    def lend(self, parts: Iterable[LayerPart]) -> None:
        """Remember who holds the memory until the next micro-batch."""
        self._users = [weakref.ref(part) for part in parts]
        self._pairs = {}
