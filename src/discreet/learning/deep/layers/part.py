"""What one layer knows about the contributions of a micro-batch: norms, and scaled sums.

Trust: kernel.

Definition.  Unit i contributes a vector v_i to the parameters of a layer.  A part gives, for each
unit, at least its squared norm and at least the sum of |g||a| over its products (its span), and for
scales c_i the total of c_i v_i in float64 (key ``gradient-sum``).

``Expanded`` holds every v_i as a vector of floats: the contribution *is* that vector, so it does
not matter how it was rounded on the way, as long as it depends on unit i alone.
Parts that hold factors g and a multiply in float64, where products of float32 or narrower numbers
neither overflow nor underflow; float64 factors are flushed to zero below 2**-500.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

import torch
from torch import Tensor, nn

from discreet.learning.clipping import raised
from discreet.learning.deep.layers.short_sums import add_short_lines, add_short_products
from discreet.learning.deep.layers.wide import scaled, widened

_BLOCK: Final = 1 << 17
"""Numbers of a block on a CPU: one megabyte of float64."""
_LARGE: Final = 1 << 26
"""Numbers of a block elsewhere: half a gigabyte of float64."""
_SHORT: Final = 4096
"""How many squares are added up in float32."""
_LOST: Final = 2.0**-56
_SMALLEST: Final = 2.0**-500
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

        Scales in float64 are for sums in float64.  Scales in float32 allow short sums in float32,
        where each coordinate is one product (:mod:`discreet.learning.deep.layers.short_sums`).
        ``drop`` may be false where no scale is zero.
        """


def squared(values: Tensor) -> Tensor:
    """Return at least the sum of squares of each line, in float64."""
    lines = values.flatten(1)
    return lengths(lines).square() * raised(4)


def lengths(lines: Tensor) -> Tensor:
    """Return at least the norm along the last dimension, in float64.

    Float32 and narrower numbers are squared and added up in float32, at most 4096 at a time: the
    root r is off by a factor of less than 1 + (n + 8) 2**-24, and what squares lose below 2**-126
    adds less than 2**-56 to the norm.  Both are added, so a norm is at most 1/4000 too large.
    Where a square overflows, the norm is infinite: numbers above 2**63 are taken as not finite.
    A norm must not depend on the place of its line.  Kernels of CUDA add up lines in another order
    where they do not begin at multiples of 16 bytes: those are added up in float64.
    """
    width = lines.shape[-1]
    if lines.dtype == torch.float64 or not width or not _aligned(lines):
        return torch.linalg.vector_norm(lines, dim=-1, dtype=torch.float64) * raised(width + 6)
    full = width // _SHORT * _SHORT
    cuts = [lines[..., :full].unflatten(-1, (-1, _SHORT))] if full else []
    if full < width:
        cuts.append(lines[..., None, full:])
    parts = [_root_of_squares(cut) for cut in cuts]
    norms = torch.cat(parts, -1).double() * (1.0 + (min(width, _SHORT) + 8) * 2.0**-24) + _LOST
    if norms.shape[-1] == 1:
        return norms.squeeze(-1)
    return norms.square().sum(-1).sqrt() * raised(norms.shape[-1] + 6)


def _root_of_squares(lines: Tensor) -> Tensor:
    """Return norms in float32, infinite where a square is; PyTorch squares no number on its own."""
    if lines.shape[-1] == 1:
        return lines[..., 0].float().square().sqrt()
    return torch.linalg.vector_norm(lines, dim=-1, dtype=torch.float32)


def _aligned(lines: Tensor) -> bool:
    """Say whether lines begin where the order of their sums is the same for all."""
    if lines.device.type == "cpu":
        return True
    places = (lines.data_ptr(), *(step * lines.element_size() for step in lines.stride()[:-1]))
    return not any(place % 16 for place in places)


def blocks(lines: Tensor) -> Iterator[slice]:
    """Yield rows that are worth converting at once: on a CPU, as many as its caches hold."""
    count = lines.shape[0]
    numbers = _BLOCK if lines.device.type == "cpu" else _LARGE
    size = max(1, numbers // max(1, lines.shape[1]))
    for start in range(0, count, size):
        yield slice(start, start + size)


def add_products(
    weight: Tensor, bias: Tensor | None, left: Tensor, right: Tensor, scales: Tensor
) -> None:
    """Add the sum of scaled outer products of lines to a float64 total, and that of the left ones.

    One factor is multiplied by the scale, in float64: the narrower one, if both must be converted.
    A total of so many lines is off by as many roundings, however they are cut into blocks.
    """
    if scales.dtype == torch.float32:
        if torch.float64 not in {left.dtype, right.dtype}:
            add_short_products(weight, bias, left, right, scales)
            return
        scales = scales.double()
    first = left.shape[1] <= right.shape[1] or right.dtype == torch.float64
    for rows in blocks(right if first else left):
        each, one, other = scales[rows], left[rows], right[rows]
        if first:
            times = scaled(one, each)
            weight.addmm_(times.T, widened(other))
            if bias is not None:
                bias += times.sum(0)
        else:
            wide = widened(one)
            weight.addmm_(wide.T, scaled(other, each))
            if bias is not None:
                bias.addmv_(wide.T, each)


def add_lines(total: Tensor, lines: Tensor, scales: Tensor) -> None:
    """Add the sum of scaled lines to a flat float64 total."""
    if scales.dtype == torch.float32 and lines.dtype != torch.float64:
        add_short_lines(total, lines, scales)
        return
    scales = scales.double()
    for rows in blocks(lines):
        total.addmv_(widened(lines[rows]).T, scales[rows])


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
        add_lines(totals[self.parameter].view(-1), finite(self.vectors, scales, drop), scales)


def finite(values: Tensor, scales: Tensor, drop: bool) -> Tensor:  # noqa: FBT001  told by callers
    """Return the values, with zeros for units whose scale is zero: infinity times 0 is NaN."""
    if not drop:
        return values
    kept = (scales != 0).view(-1, *[1] * (values.dim() - 1))
    return torch.where(kept, values, torch.zeros((), dtype=values.dtype, device=values.device))


def flushed(values: Tensor) -> Tensor:
    """Return float64 factors with zeros in place of numbers below 2**-500, whose squares underflow.

    A factor that is too small for its square is one whose product with a large one has no norm.
    Float32 and narrower numbers have none of these.
    """
    if values.dtype != torch.float64:
        return values
    return torch.where(values.abs() < _SMALLEST, torch.zeros_like(values), values)


def at_least_zero(squares: Tensor) -> Tensor:
    """Return sums with rounding errors below zero taken off; what is not finite is infinite."""
    return torch.where(squares.isfinite(), squares.clamp_min(0.0), torch.inf)


def positions(values: Tensor, units: int) -> Tensor:
    """Return values as units x positions x features; rows of a unit are positions, too."""
    return values.reshape(units, -1, values.shape[-1])


def gram(values: Tensor) -> Tensor:
    """Return the products of all pairs of positions of a unit, in float64."""
    wide = widened(values)
    return torch.bmm(wide, wide.transpose(1, 2))
