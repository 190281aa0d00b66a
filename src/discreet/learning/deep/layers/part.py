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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

import torch
from torch import Tensor, nn

from discreet.learning.clipping import raised
from discreet.learning.deep.layers.short_sums import add_short_lines, add_short_products

_BLOCK: Final = 1 << 17
"""Numbers of a block on a CPU: one megabyte of float64."""
_LARGE: Final = 1 << 26
"""Numbers of a block elsewhere: half a gigabyte of float64."""
_SHORT: Final = 4096
"""How many squares are added up in float32."""
LOST: Final = 2.0**-56
"""What every norm has added to it: more than squares below 2**-126 can add up to."""
_SMALLEST: Final = 2.0**-500
Totals = dict[nn.Parameter, Tensor]
"""Float64 totals of each trainable parameter, in its shape."""


def flat_zeros(parameters: Sequence[nn.Parameter]) -> tuple[Tensor, Totals]:
    """Return one line of float64 zeros, and its parts in the shapes of parameters."""
    sizes = [p.numel() for p in parameters]
    flat = torch.zeros(sum(sizes), dtype=torch.float64, device=parameters[0].device)
    parts = zip(parameters, flat.split(sizes), strict=True)
    return flat, {p: part.view(p.shape) for p, part in parts}


def zeros_of(model: nn.Module) -> Totals:
    """Return float64 zeros for every trainable parameter."""
    return flat_zeros([p for p in model.parameters() if p.requires_grad])[1]


class LayerPart(ABC):
    """The contributions of a micro-batch to some parameters."""

    squares: Tensor
    spans: Tensor

    @property
    @abstractmethod
    def owner(self) -> nn.Parameter:
        """One of its parameters; all of them are clipped together."""

    def lines(self) -> tuple[Tensor, ...]:
        """All that it knows of units, one line for each of them."""
        return self.squares, self.spans

    @abstractmethod
    def add(self, scales: Tensor, totals: Totals, *, drop: bool = True, chunk: int = 0) -> None:
        """Add the scaled contributions of all units to the totals.

        Sums are in float64.  Scales in float32 and chunks of some lines allow short sums in float32
        where each coordinate is one product (:mod:`discreet.learning.deep.layers.short_sums`).
        ``drop`` may be false where all norms are finite.
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
    """
    width = lines.shape[-1]
    if lines.dtype == torch.float64 or not width:
        return torch.linalg.vector_norm(lines, dim=-1, dtype=torch.float64) * raised(width + 6)
    if width <= _SHORT:
        return _raised_norms(_root_of_squares(lines), width)
    full = width // _SHORT * _SHORT
    parts = [_root_of_squares(lines[..., :full].unflatten(-1, (-1, _SHORT)))]
    if full < width:
        parts.append(_root_of_squares(lines[..., None, full:]))
    norms = _raised_norms(torch.cat(parts, -1), _SHORT)
    return norms.square().sum(-1).sqrt() * raised(norms.shape[-1] + 6)


def _raised_norms(roots: Tensor, width: int) -> Tensor:
    """Return at least the norms that roots of sums of so many squares in float32 stand for."""
    return roots.double().mul_(1.0 + (width + 8) * 2.0**-24).add_(LOST)


def _root_of_squares(lines: Tensor) -> Tensor:
    """Return norms in float32, infinite where a square is; PyTorch squares no number on its own."""
    if lines.shape[-1] == 1:
        return lines[..., 0].float().square().sqrt()
    return torch.linalg.vector_norm(lines, dim=-1, dtype=torch.float32)


def blocks(lines: Tensor) -> Iterator[slice]:
    """Yield rows that are worth converting at once: on a CPU, as many as its caches hold."""
    count = lines.shape[0]
    numbers = _BLOCK if lines.device.type == "cpu" else _LARGE
    size = max(1, numbers // max(1, lines.shape[1]))
    for start in range(0, count, size):
        yield slice(start, start + size)


def add_products(  # noqa: PLR0913, PLR0917  two totals, two factors, and how they are added
    weight: Tensor,
    bias: Tensor | None,
    left: Tensor,
    right: Tensor,
    scales: Tensor,
    chunk: int = 0,
) -> None:
    """Add the sum of scaled outer products of lines to a float64 total, and that of the left ones.

    One factor is multiplied by the scale, in float64: the narrower one, if both must be converted.
    A total of so many lines is off by as many roundings, however they are cut into blocks.
    """
    if chunk and torch.float64 not in {left.dtype, right.dtype}:
        add_short_products(weight, bias, left, right, scales, chunk)
        return
    scales = scales.double()
    first = left.shape[1] <= right.shape[1] or right.dtype == torch.float64
    for rows in blocks(right if first else left):
        each, one, other = scales[rows], left[rows], right[rows]
        if first:
            times = one * each[:, None]
            weight.addmm_(times.T, other.double())
            if bias is not None:
                bias += times.sum(0)
        else:
            wide = one.double()
            weight.addmm_(wide.T, other * each[:, None])
            if bias is not None:
                bias.addmv_(wide.T, each)


def add_lines(total: Tensor, lines: Tensor, scales: Tensor, chunk: int = 0) -> None:
    """Add the sum of scaled lines to a flat float64 total."""
    if chunk and lines.dtype != torch.float64:
        add_short_lines(total, lines, scales, chunk)
        return
    scales = scales.double()
    for rows in blocks(lines):
        wide, each = lines[rows].double(), scales[rows]
        if lines.device.type == "cpu":
            total[None].addmm_(each[None], wide)  # up to four times as fast as the transpose
        else:
            total.addmv_(wide.T, each)


@final
@dataclass(slots=True, eq=False)
class Expanded(LayerPart):
    """A vector of floats for each unit."""

    parameter: nn.Parameter
    vectors: Tensor
    squares: Tensor
    spans: Tensor
    channels_last: bool

    @classmethod
    def of(
        cls, parameter: nn.Parameter, vectors: Tensor, *, channels_last: bool = False
    ) -> Expanded:
        """Take one line for each unit, with one number for each coordinate.

        With ``channels_last``, the second dimension of the parameter is the last one of a line.
        """
        lines = vectors.flatten(1)
        squares = squared(lines)
        return cls(parameter, lines, squares, squares.sqrt() * raised(2), channels_last)

    @property
    def owner(self) -> nn.Parameter:
        """Its parameter."""
        return self.parameter

    def lines(self) -> tuple[Tensor, ...]:
        """Vectors and norms."""
        return self.vectors, self.squares, self.spans

    def add(self, scales: Tensor, totals: Totals, *, drop: bool = True, chunk: int = 0) -> None:
        """Add the scaled lines."""
        lines, total = finite(self.vectors, scales, drop), totals[self.parameter]
        if not self.channels_last:
            add_lines(total.view(-1), lines, scales, chunk)
            return
        ordered = total.movedim(1, -1)
        mine = total.new_zeros(ordered.shape)
        add_lines(mine.view(-1), lines, scales, chunk)
        ordered += mine


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
    wide = values.double()
    return torch.bmm(wide, wide.transpose(1, 2))
