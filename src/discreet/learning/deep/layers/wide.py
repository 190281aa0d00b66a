"""Numbers of float32 as float64, and times a scale of their line.

Trust: kernel.

PyTorch's own conversion on a GPU reaches half of what its memory gives.  Where Triton comes with
PyTorch, two kernels of one line each take its place.  A conversion is exact and a product rounded
once, so there is one right answer: before they are used on a device, both are compared with
PyTorch's on numbers of all kinds, bit for bit, and left alone where they differ.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import torch
from torch import Tensor

try:
    import triton
    import triton.language as tl
except ImportError:  # PyTorch for CPUs comes without
    triton = None

_FEW: Final = 1 << 20
"""Below so many numbers, to start a kernel takes longer than to run it."""
_BLOCK: Final = 1024


def widened(values: Tensor) -> Tensor:
    """Return values as float64.

    >>> widened(torch.tensor([0.1])).tolist()
    [0.10000000149011612]
    """
    return _widened(values) if _fast(values) else values.double()


def scaled(lines: Tensor, scales: Tensor) -> Tensor:
    """Return lines as float64, each times its scale, which is a float64.

    >>> scaled(torch.tensor([[1.0, 2.0]]), torch.tensor([0.1], dtype=torch.float64)).tolist()
    [[0.1, 0.2]]
    """
    fast = _fast(lines) and scales.dtype == torch.float64 and scales.is_contiguous()
    return _scaled(lines, scales) if fast else lines * scales[:, None]


def _fast(values: Tensor) -> bool:
    """Say whether the kernels take these values, and are right on their device."""
    return (
        values.device.type == "cuda"
        and values.dtype == torch.float32
        and values.numel() >= _FEW
        and values.is_contiguous()
        and triton is not None
        and _right(values.device)
    )


@cache
def _right(device: torch.device) -> bool:
    """Compare the kernels with PyTorch, on every kind of number."""
    bits = torch.arange(-(2**31), 2**31, 4099, device=device).to(torch.int32)
    values = bits[: bits.numel() // 1000 * 1000].view(torch.float32).view(-1, 1000)
    count = values.shape[0]
    scales = torch.linspace(-400, 4, count, dtype=torch.float64, device=device).exp()
    scales[::7] = 0.0
    try:
        both = (
            (_widened(values), values.double()),
            (_scaled(values, scales), values * scales[:, None]),
        )
    except Exception:  # noqa: BLE001  whatever a compiler raises: then there are no kernels
        return False
    return all(torch.equal(one.isnan(), other.isnan()) and _same(one, other) for one, other in both)


def _same(one: Tensor, other: Tensor) -> bool:
    """Say whether all numbers have the same bits; which NaN is of no account."""
    words = (torch.where(each.isnan(), 0.0, each).view(torch.int64) for each in (one, other))
    return bool(torch.equal(*words))


def _widened(values: Tensor) -> Tensor:
    out = torch.empty(values.shape, dtype=torch.float64, device=values.device)
    count = values.numel()
    with torch.cuda.device(values.device):
        _widen[(triton.cdiv(count, _BLOCK),)](values, out, count, size=_BLOCK)
    return out


def _scaled(lines: Tensor, scales: Tensor) -> Tensor:
    out = torch.empty(lines.shape, dtype=torch.float64, device=lines.device)
    width = lines.shape[1]
    size = min(_BLOCK, triton.next_power_of_2(width))
    with torch.cuda.device(lines.device):
        _scale[(lines.shape[0], triton.cdiv(width, size))](lines, scales, out, width, size=size)
    return out


if triton is not None:

    @triton.jit  # type: ignore[untyped-decorator]
    def _widen(values, out, count, size: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        places = tl.program_id(0).to(tl.int64) * size + tl.arange(0, size)
        inside = places < count
        found = tl.load(values + places, mask=inside)
        tl.store(out + places, found.to(tl.float64), mask=inside)

    @triton.jit  # type: ignore[untyped-decorator]
    def _scale(lines, scales, out, width, size: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        line = tl.program_id(0).to(tl.int64)
        places = tl.program_id(1) * size + tl.arange(0, size)
        inside = places < width
        found = tl.load(lines + line * width + places, mask=inside)
        tl.store(
            out + line * width + places, found.to(tl.float64) * tl.load(scales + line), mask=inside
        )
