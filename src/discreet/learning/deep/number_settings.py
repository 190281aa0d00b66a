"""How PyTorch is told to compute: settings of a process that decide the last bits of numbers.

Trust: kernel.

What an example contributes in other company is compared under the settings at planning (key
``random-seats``).  Products that drop bits, other kernels, other threads, numbers below the normal
range that become zero, or automatic conversions to short floats round otherwise, and nobody has
tried whether rows beside one matter then; so a step under other settings is refused, before a row
of it is read.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, final

import torch

from discreet.errors import OtherRun

_HELD: Final = (
    "backends.fp32_precision",
    "backends.mkldnn.enabled",
    *(f"backends.mkldnn.{part}fp32_precision" for part in ("", "matmul.", "conv.", "rnn.")),
    *(f"backends.cudnn.{name}" for name in ("enabled", "benchmark", "deterministic")),
    *(f"backends.cudnn.{part}fp32_precision" for part in ("", "conv.", "rnn.")),
    "backends.cudnn.allow_tf32",
    "backends.cuda.matmul.fp32_precision",
    "backends.cuda.matmul.allow_tf32",
    "backends.cuda.matmul.allow_fp16_accumulation",
    "backends.cuda.matmul.allow_fp16_reduced_precision_reduction",
    "backends.cuda.matmul.allow_bf16_reduced_precision_reduction",
)
_ASKED: Final = (
    "get_default_dtype",
    "get_float32_matmul_precision",
    "get_num_threads",
    "are_deterministic_algorithms_enabled",
    *(f"backends.cuda.{kind}_sdp_enabled" for kind in ("flash", "mem_efficient", "math", "cudnn")),
)
_DEVICES: Final = ("cpu", "cuda")
_WHOLE: Final = ("ieee", "none")
_MODES: Final = ("ONEDNN_DEFAULT_FPMATH_MODE", "DNNL_DEFAULT_FPMATH_MODE")


@final
@dataclass(frozen=True, slots=True)
class NumberSettings:
    """The settings of this process, by name; whatever a version of PyTorch has not is None.

    >>> before = NumberSettings.now()
    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     before.changed()
    'autocast on cpu'
    """

    values: tuple[tuple[str, Any], ...]

    @classmethod
    def now(cls) -> NumberSettings:
        """Read all settings."""
        held = [(name, _read(name)) for name in _HELD]
        asked = [(name, _read(name, lambda found: found())) for name in _ASKED]
        casts = [
            (
                f"autocast on {device}",
                torch.is_autocast_enabled(device) and torch.get_autocast_dtype(device),
            )
            for device in _DEVICES
        ]
        return cls((*held, *asked, *casts, ("set_flush_denormal", _flushes())))

    def differs_from(self, other: NumberSettings) -> str | None:
        """Return the name of a setting that is another one there."""
        both = zip(self.values, other.values, strict=True)
        return next((name for (name, ours), (_, theirs) in both if ours != theirs), None)

    def changed(self) -> str | None:
        """Return the name of a setting that is another one now."""
        return self.differs_from(NumberSettings.now())

    def check(self) -> None:
        """Refuse to go on under other settings."""
        name = self.changed()
        if name is not None:
            raise OtherRun(
                what=f"a setting of PyTorch is another one than at planning: {name}.",
                why="it decides how numbers are rounded, and whether that depends on the examples "
                "beside one was tried before.",
                do="set it back before the next step, or make a new Training under the new one.",
            )


def _flushes() -> bool:
    """Say whether numbers below the normal range become zero on a CPU; PyTorch tells nobody."""
    smallest = torch.full((1,), torch.finfo(torch.float32).tiny)
    return not bool((smallest * 0.5).view(torch.int32))


def whole_products() -> bool:
    """Say whether products of float32 on a CPU may keep all bits, as far as settings tell.

    Libraries choose by size whether to drop bits, so that no product of one size speaks for others.

    >>> whole_products()
    True
    """
    if any(os.environ.get(name, "STRICT").upper() != "STRICT" for name in _MODES):
        return False
    named = ("backends.mkldnn.matmul.", "backends.mkldnn.", "backends.")
    found = [_read(f"{name}fp32_precision") for name in named]
    if found[0] is None:
        return bool(_read("get_float32_matmul_precision", lambda read: read()) == "highest")
    return found[0] == "ieee" or all(value in _WHOLE for value in found)


def _read(name: str, use: Callable[[Any], Any] = lambda found: found) -> Any:
    """Return a setting; nothing where there is none, or where old and new names contradict."""
    try:
        return use(reduce(getattr, name.split("."), torch))
    except (AttributeError, RuntimeError):
        return None
