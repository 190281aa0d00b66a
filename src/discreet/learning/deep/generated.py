"""Generated rows of the shape of the data, on which a model is tried before anything is paid.

Trust: public.

Shapes and types of rows are public; their values are not looked at.  Real numbers are drawn from a
normal law, tokens and classes are 0 or 1, which every model has.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, final

import torch
from torch import Tensor, nn

DROPOUTS: Final = (
    nn.Dropout,
    nn.Dropout1d,
    nn.Dropout2d,
    nn.Dropout3d,
    nn.AlphaDropout,
    nn.FeatureAlphaDropout,
)
"""The exact types whose masks are independent of the data; a subclass may do anything."""


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

    def constant(self, count: int, value: float, *, device: torch.device) -> Tensor:
        """Return rows of one number, or of zeros where it is not one of their type."""
        if not self.dtype.is_floating_point:
            return self.padding(count, device=device)
        if math.isfinite(value):  # the largest number of the type, where there is none as large
            most = torch.finfo(self.dtype).max
            value = min(max(value, -most), most)
        return torch.full((count, *self.shape), value, dtype=self.dtype, device=device)

    def padding(self, count: int, *, device: torch.device) -> Tensor:
        """Return the public constant that fills up a micro-batch."""
        return torch.zeros((count, *self.shape), dtype=self.dtype, device=device)


def same_values(one: Tensor, other: Tensor) -> bool:
    """Compare shapes, types and values; what is not a number equals itself.

    >>> same_values(torch.tensor([1.0, torch.nan]), torch.tensor([1.0, torch.nan]))
    True
    """
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(((one == other) | ((one != one) & (other != other))).all())  # noqa: PLR0124


@contextmanager
def without_dropout(model: nn.Module) -> Iterator[None]:
    """Switch dropout off, whose masks are independent of the data and of each other."""
    active = [m for m in model.modules() if type(m) in DROPOUTS and m.training]
    for module in active:
        module.training = False
    try:
        yield
    finally:
        for module in active:
            module.training = True
