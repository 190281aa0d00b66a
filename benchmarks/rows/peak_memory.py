"""How much memory steps take beside what is there already; imports nothing of its own."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

_THRESHOLD: Final = "MALLOC_MMAP_THRESHOLD_"
_LARGE: Final = 1 << 17


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


@contextlib.contextmanager
def blocks_given_back() -> Iterator[None]:
    """Have processes that are started meanwhile keep no large block that is not used, on Linux.

    Holes that nothing fits in are no memory that a step needs.  There were 2 to 10 megabytes of
    them, in runs of the same steps.
    """
    before = os.environ.get(_THRESHOLD)
    os.environ[_THRESHOLD] = str(_LARGE)
    try:
        yield
    finally:
        if before is None:
            del os.environ[_THRESHOLD]
        else:
            os.environ[_THRESHOLD] = before


def _status(name: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return float(next(line for line in lines if line.startswith(name)).split()[1]) * 1024
