"""How much memory steps take beside what is there already; imports nothing of its own."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from pathlib import Path


def growth(step: Callable[[], object], *, times: int = 3) -> float:
    """Return by how many bytes steps raise the resident memory of this process at most, on Linux.

    Model, batch and libraries are there before; what the allocator keeps is given back first.
    """
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    for _ in range(times):
        step()
    return _status("VmHWM") - before


def _status(name: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return float(next(line for line in lines if line.startswith(name)).split()[1]) * 1024
