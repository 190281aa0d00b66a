"""Small two-sided laws: one table over 0, 1, -1, 2, -2, ...

Trust: kernel.
"""

from __future__ import annotations

from typing import final

import numpy as np
from numpy.typing import NDArray

from discreet.noise.entropy import Entropy
from discreet.noise.series import Decay
from discreet.noise.table import CHUNK, Boundaries, Table, TableSizes, boundaries

__all__ = ["SignedLaw", "SignedSampler"]

_GUARD_BITS = 64


@final
class SignedLaw:
    """The law with weights exp(-h(|k|)), its integers k in the order 0, 1, -1, 2, -2, ..."""

    __slots__ = ("_decay",)

    def __init__(self, decay: Decay) -> None:
        """Keep the decay."""
        self._decay = decay

    def boundaries(self, bits: int) -> Boundaries:
        """Enclose the boundaries, so many that less than 2**-bits of mass is beyond."""
        scale = bits + 2 * _GUARD_BITS
        count = self._decay.reach(bits + 8) + 1
        half = self._decay.progression(start=0, step=1, count=count, bits=scale)
        low, high = half.low[:1], half.high[:1]
        for at in range(1, count):
            low += half.low[at], half.low[at]
            high += half.high[at], half.high[at]
        beyond = self._decay.beyond(start=count, step=1, bits=scale)
        return boundaries(low, high, 2 * beyond, bits)

    def guide_values(self, count: int) -> NDArray[np.int64]:
        """Return 0, 1, -1, 2, -2, ..."""
        return signed(np.arange(count))


def signed(index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Map 0, 1, 2, 3, 4, ... to 0, 1, -1, 2, -2, ...

    >>> signed(np.arange(5)).tolist()
    [0, 1, -1, 2, -2]
    """
    half = (index + 1) >> 1
    return np.where(index & 1, half, -half)


@final
class SignedSampler:
    """Exact draws from a small two-sided law."""

    __slots__ = ("_table",)

    def __init__(self, decay: Decay, sizes: TableSizes) -> None:
        """Build the table."""
        self._table = Table(SignedLaw(decay), sizes)

    def sample_into(self, out: NDArray[np.int64], entropy: Entropy) -> None:
        """Overwrite ``out`` with independent draws."""
        for start in range(0, out.size, CHUNK):
            part = out[start : start + CHUNK]
            cells, void, index = self._table.look_up(part.size, entropy)
            part[:] = cells
            part[void] = signed(index)
