"""Sums in float32 that are short enough to be priced; their totals are added up in float64.

Trust: kernel.

Theorem (key ``short-sums``).  Where each coordinate of a contribution is one product of floats (a
vector of floats, or an outer product), the products of a scaled contribution have its own norm, at
most C.  A chunk of them is added up in float32, and eight such sums: :func:`roundings` lie between
a product and a number that is then added up in float64.  So a total of B contributions is off by at
most g B C more, g being the rounding of these in float32.  Proof in docs/proofs/learning.md.

Scales are float32, between 2**-126 and 2**10 or zero (:func:`discreet.learning.clipping.shortened`)
and factors are below 2**64, or else their squares overflow and their scale is zero.  So a number
that is flushed to zero below 2**-126 moves a product by less than 2**-50, and the slack has room.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

import torch
from torch import Tensor

from discreet.learning.clipping import SINGLE, rounding

_FEWEST: Final = 32
_MOST: Final = 256
_CHUNKS: Final = 8
_SHARE: Final = Fraction(1, 100)
_SMALL: Final = 1 << 20
"""Numbers of all outer products whose chunks are multiplied at once."""
_ROOM: Final = 1 << 19
"""Numbers of products of chunks that are held at a time, where lines are shorter than that."""
_MODES: Final = ("ONEDNN_DEFAULT_FPMATH_MODE", "DNNL_DEFAULT_FPMATH_MODE")
_kept = threading.local()


def chunk_lines(units: int) -> int:
    """Return how many lines are added up in a chunk, for batches of so many units.

    Longer chunks are sooner done, and round more: so they are as long as rounding moves the totals
    of both neighbors by less than a hundredth of the bound, but no shorter than 32.

    >>> [chunk_lines(units) for units in (256, 1024, 4096)]
    [256, 64, 32]
    """
    lines = _FEWEST
    while lines < _MOST and 2 * units * rounding(roundings(2 * lines), SINGLE) <= _SHARE:
        lines *= 2
    return lines


def roundings(lines: int) -> int:
    """Return how many roundings a product passes, with so many lines in a chunk.

    They are those of the scale, the product, the additions in a chunk, and seven of these sums.

    >>> roundings(32)
    40
    """
    return lines + _CHUNKS


def priced_lines(short: int) -> int:
    """Return how many lines a chunk may have where so many roundings are priced; none without.

    >>> priced_lines(40), priced_lines(0)
    (32, 0)
    """
    return max(0, short - _CHUNKS)


def add_short_products(  # noqa: PLR0913, PLR0917  two totals, two factors, and how they are added
    weight: Tensor, bias: Tensor | None, left: Tensor, right: Tensor, scales: Tensor, chunk: int
) -> None:
    """Add the sum of scaled outer products of lines to a float64 total, and that of the left ones.

    >>> total = torch.zeros(1, 2, dtype=torch.float64)
    >>> one, two = torch.tensor([[3.0], [1.0]]), torch.tensor([[1.0, 2.0], [5.0, 7.0]])
    >>> add_short_products(total, None, one, two, torch.tensor([1.0, 0.5]), 32)
    >>> total.tolist()
    [[5.5, 9.5]]
    """
    first = bias is not None or left.shape[1] <= right.shape[1]
    one, other = left.float(), right.float()
    one, other = (one * scales[:, None], other) if first else (one, other * scales[:, None])
    if one.shape[0] * weight.numel() <= _SMALL:
        for lines, others in zip(_chunks(one, chunk), _chunks(other, chunk), strict=True):
            weight += torch.bmm(lines.transpose(1, 2), others).double().sum(0)
    else:
        _add_blocks(weight, one, other, chunk)
    if bias is not None:
        for chunks in _chunks(one, chunk):
            bias += chunks.sum(1).double().sum(0)


def _add_blocks(weight: Tensor, one: Tensor, other: Tensor, chunk: int) -> None:
    """Add the products of blocks of chunks, some coordinates of ``one`` at a time."""
    tall, wide = weight.shape
    step = min(tall, max(1, _ROOM // (_CHUNKS * wide)))
    room = _room(one, _CHUNKS * step * wide)
    for first in range(0, tall, step):
        columns = slice(first, first + step)
        total = weight[columns]
        for start, chunks, size in _blocks(one.shape[0], chunk):
            rows = slice(start, start + chunks * size)
            lines, others = (each[rows].view(chunks, size, -1) for each in (one, other))
            found = room[: chunks * total.numel()].view(chunks, *total.shape)
            total += torch.bmm(lines[..., columns].transpose(1, 2), others, out=found).sum(0)


def _room(like: Tensor, numbers: int) -> Tensor:
    """Return memory that this thread has used before, if there is enough: fresh pages take long."""
    room: Tensor | None = getattr(_kept, "room", None)
    if room is None or room.numel() < numbers or room.device != like.device:
        room = like.new_empty(numbers)
        if numbers <= _ROOM:
            _kept.room = room
    return room


def add_short_lines(total: Tensor, lines: Tensor, scales: Tensor, chunk: int) -> None:
    """Add the sum of scaled lines to a flat float64 total."""
    both = _chunks(lines.float(), chunk), _chunks(scales[:, None], chunk)
    for chunks, each in zip(*both, strict=True):
        total += torch.bmm(each.transpose(1, 2), chunks).double().sum((0, 1))


def full_precision() -> bool:
    """Say whether settings let products of float32 keep all bits; else sums are in float64 (T6).

    >>> full_precision()
    True
    """
    modes = (os.environ.get(name, "STRICT") for name in _MODES)
    strict = all(mode.upper() == "STRICT" for mode in modes)
    return strict and torch.get_float32_matmul_precision() == "highest"


def _blocks(count: int, chunk: int) -> Iterator[tuple[int, int, int]]:
    """Yield where blocks of chunks begin, and how many chunks of how many lines they have."""
    start = 0
    for chunks, size in ((_CHUNKS, chunk), (1, chunk), (1, 1)):
        while count - start >= chunks * size:
            taken = size if size > 1 else count - start
            yield start, chunks, taken
            start += chunks * taken


def _chunks(lines: Tensor, chunk: int) -> Iterator[Tensor]:
    """Yield all full chunks of lines at once, and then those that are left."""
    full = lines.shape[0] // chunk * chunk
    if full:
        yield lines[:full].unflatten(0, (-1, chunk))
    if full < lines.shape[0]:
        yield lines[None, full:]
