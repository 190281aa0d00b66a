"""Numbers of float32 as float64, and times a scale of their line.

Trust: kernel.

PyTorch's own conversion on a GPU reaches half of what its memory gives.  Where Triton comes with
PyTorch, two kernels of one line each take its place (a tenth of a transformer's step on an H200).
"""

from __future__ import annotations

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
    """Say whether the kernels take these values."""
    return (
        values.device.type == "cuda"
        and values.dtype == torch.float32
        and values.numel() >= _FEW
        and values.is_contiguous()
        and triton is not None
    )


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
