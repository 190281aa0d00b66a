"""What one layer knows about the contributions of a micro-batch: norms, and scaled sums.

Trust: kernel.

Definition.  Unit i contributes a vector v_i to the parameters of a layer.  A part gives, for each
unit, at least its squared norm and at least the sum of |g||a| over its products (its span), and for
scales c_i the total of c_i v_i in float64 (key ``gradient-sum``).

``Expanded`` holds every v_i as a vector of floats: the contribution *is* that vector, so it does
not matter how it was rounded on the way, as long as it depends on unit i alone.
Parts that hold factors g and a multiply in float64, where products of float32 or narrower numbers
neither overflow nor underflow.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn

from discreet.learning.clipping import raised

Totals = dict[nn.Parameter, Tensor]
"""Float64 totals of each trainable parameter, in its shape."""


class LayerPart(ABC):
    """The contributions of a micro-batch to some parameters."""

    squares: Tensor
    spans: Tensor

    @property
    @abstractmethod
    def owner(self) -> nn.Parameter:
        """One of its parameters; all of them are clipped together."""

    @abstractmethod
    def add(self, scales: Tensor, totals: Totals, *, drop: bool = True) -> None:
        """Add the scaled contributions of all units to the totals.

        ``drop`` may be false where no scale is zero.
        """


def squared(values: Tensor) -> Tensor:
    """Return at least the sum of squares of each line, in float64."""
    lines = values.flatten(1)
    return lengths(lines).square() * raised(4)


def lengths(lines: Tensor) -> Tensor:
    """Return at least the norm along the last dimension, in float64."""
    norms = torch.linalg.vector_norm(lines, dim=-1, dtype=torch.float64)
    return norms * raised(lines.shape[-1] + 4)


@final
@dataclass(slots=True, eq=False)
class Expanded(LayerPart):
    """A vector of floats for each unit."""

    parameter: nn.Parameter
    vectors: Tensor
    squares: Tensor
    spans: Tensor

    @classmethod
    def of(cls, parameter: nn.Parameter, vectors: Tensor) -> Expanded:
        """Take one line for each unit, with one number for each coordinate."""
        lines = vectors.flatten(1)
        squares = squared(lines)
        return cls(parameter, lines, squares, squares.sqrt() * raised(2))

    @property
    def owner(self) -> nn.Parameter:
        """Its parameter."""
        return self.parameter

    def add(self, scales: Tensor, totals: Totals, *, drop: bool = True) -> None:
        """Add the scaled lines."""
        lines = finite(self.vectors, scales, drop)
        totals[self.parameter] += (scales @ lines.double()).view_as(self.parameter)


def finite(values: Tensor, scales: Tensor, drop: bool) -> Tensor:  # noqa: FBT001  told by callers
    """Return the values, with zeros for units whose scale is zero: infinity times 0 is NaN."""
    if not drop:
        return values
    kept = (scales != 0).view(-1, *[1] * (values.dim() - 1))
    return torch.where(kept, values, torch.zeros((), dtype=values.dtype, device=values.device))


def positions(values: Tensor, units: int) -> Tensor:
    """Return values as units x positions x features; rows of a unit are positions, too."""
    return values.reshape(units, -1, values.shape[-1])
