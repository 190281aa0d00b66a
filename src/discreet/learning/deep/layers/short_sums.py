"""Sums in float32 that are short enough to be priced; their totals are added up in float64.

Trust: kernel.

Theorem (key ``short-sums``).  Where each coordinate of a contribution is one product of floats (a
vector of floats, or an outer product), the products of a scaled contribution have its own norm, at
most C.  32 of them are added up in float32, and eight such sums: ``ROUNDINGS`` lie between a
product and a number that is then added up in float64.  So a total of B contributions is off by at
most g B C more, g being the rounding of these in float32.  Proof in docs/proofs/learning.md.

Scales are float32, between 2**-126 and 2**10 or zero (:func:`discreet.learning.clipping.shortened`)
and factors are below 2**64, or else their squares overflow and their scale is zero.  So a number
that is flushed to zero below 2**-126 moves a product by less than 2**-50, and the slack has room.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import torch
from torch import Tensor

_CHUNK: Final = 32
_CHUNKS: Final = 8
ROUNDINGS: Final = _CHUNK + _CHUNKS
"""Of a scaled product: the scale, the product, 31 additions, and seven of these sums."""
_LAST_BIT: Final = 1 + 2.0**-23


def add_short_products(
    weight: Tensor, bias: Tensor | None, left: Tensor, right: Tensor, scales: Tensor
) -> None:
    """Add the sum of scaled outer products of lines to a float64 total, and that of the left ones.

    >>> total = torch.zeros(1, 2, dtype=torch.float64)
    >>> one, two = torch.tensor([[3.0], [1.0]]), torch.tensor([[1.0, 2.0], [5.0, 7.0]])
    >>> add_short_products(total, None, one, two, torch.tensor([1.0, 0.5]))
    >>> total.tolist()
    [[5.5, 9.5]]
    """
    first = left.shape[1] <= right.shape[1]
    room = left.new_empty((_CHUNKS, *weight.shape), dtype=torch.float32)  # fresh pages take long
    for start, chunks, size in _blocks(left.shape[0]):
        rows = slice(start, start + chunks * size)
        one, other = left[rows].float(), right[rows].float()
        each = scales[rows, None]
        one, other = (one * each, other) if first else (one, other * each)
        one, other = (lines.reshape(chunks, size, -1) for lines in (one, other))
        weight += torch.bmm(one.transpose(1, 2), other, out=room[:chunks]).sum(0)
        if bias is not None:
            alone = one if first else one * each.view(chunks, size, 1)
            bias += alone.sum(1).sum(0)


def add_short_lines(total: Tensor, lines: Tensor, scales: Tensor) -> None:
    """Add the sum of scaled lines to a flat float64 total."""
    for start in range(0, lines.shape[0], _CHUNK):
        rows = slice(start, start + _CHUNK)
        total += torch.mv(lines[rows].float().T, scales[rows])


def full_precision() -> bool:
    """Say whether products keep all bits of float32: PyTorch can be told to drop some.

    >>> full_precision()
    True
    """
    one, other = torch.zeros(2, _CHUNK, _CHUNK)
    one[0], one[1], other[0], other[1] = _LAST_BIT, 1.0, 1.0, _LAST_BIT
    ones, total = torch.ones(_CHUNK), torch.zeros(_CHUNK, _CHUNK, dtype=torch.float64)
    add_short_products(total, None, one, other, ones)
    flat = torch.zeros(_CHUNK, dtype=torch.float64)
    ones[1] = _LAST_BIT
    add_short_lines(flat, one, ones)
    return bool((total == 2 * _LAST_BIT).all() and (flat == 2 * _LAST_BIT).all())


def _blocks(count: int) -> Iterator[tuple[int, int, int]]:
    """Yield where blocks of chunks begin, and how many chunks of how many lines they have."""
    start = 0
    for chunks, size in ((_CHUNKS, _CHUNK), (1, _CHUNK), (1, 1)):
        while count - start >= chunks * size:
            taken = size if size > 1 else count - start
            yield start, chunks, taken
            start += chunks * taken
