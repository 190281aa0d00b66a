"""Inverse transform sampling through a guide table, with lazily revealed bits.

Trust: kernel.

Definition.  A law on indices 0, 1, 2, ... has boundaries F_0 < F_1 < ...; the outcome of a uniform
U is the number of boundaries that are at most U.  ``Boundaries`` encloses them, at any scale
2**bits, between integers ``low[j] <= 2**bits * F_j <= high[j]``.

Theorem (key ``lazy-inversion``).  Let u be the first n bits of U.  Boundary j is certainly at most
U if ``u >= high[j]`` and certainly above U if ``u < low[j]``.  The table answers only when one of
the two holds for every boundary, and otherwise reveals more bits of the same U.  What it returns
is therefore the outcome of U itself, whatever the width of the enclosures.

Three stages, each reached by few: a prefix of ``guide_bits`` looked up in a table of cells; for
cells that a boundary crosses, ``word_bits`` compared with an array of enclosures; and for the few
words that an enclosure still contains, Python integers at growing precision.

Narrow two-sided laws have one table over 0, 1, -1, 2, -2, ...
"""

from __future__ import annotations

import bisect
import functools
from dataclasses import dataclass
from typing import Any, Final, Protocol, final

import numpy as np
from numpy.typing import NDArray

from discreet.noise.chance import Decay
from discreet.noise.entropy import Entropy

CHUNK: Final = 1 << 16
VOID: Final = int(np.iinfo(np.int64).min)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TableSizes:
    """How many bits each stage reads; small sizes let tests enumerate every word."""

    guide_bits: int = 16
    word_bits: int = 64
    step_bits: int = 64


@final
@dataclass(frozen=True, slots=True)
class Boundaries:
    """Enclosures of the first boundaries; the law is finite if nothing lies beyond the last."""

    low: list[int]
    high: list[int]
    finite: bool


class Law(Protocol):
    """A law on indices that a table can sample."""

    def boundaries(self, bits: int) -> Boundaries:
        """Enclose boundaries at scale 2**bits until about 2**-bits of mass is left."""
        ...

    def guide_values(self, count: int) -> NDArray[np.int64]:
        """Return what the guide shows for each leading index: a value, or VOID to ask further."""
        ...


def boundaries(low: list[int], high: list[int], rest: int, bits: int) -> Boundaries:
    """Turn enclosures of weights, and of the sum of all later ones, into those of boundaries.

    >>> boundaries([1, 1], [1, 1], 0, 3)
    Boundaries(low=[4], high=[4], finite=True)
    """
    total_low, total_high = sum(low), sum(high) + rest
    lows, highs, sum_low, sum_high = [], [], 0, 0
    top = 1 << bits
    for weight_low, weight_high in zip(low, high, strict=True):
        sum_low += weight_low
        sum_high += weight_high
        lows.append((sum_low << bits) // total_high)
        highs.append(min(top, -((-sum_high << bits) // total_low)))
    if rest == 0:  # nothing beyond: the last boundary is 1, and no U reaches it
        lows.pop()
        highs.pop()
    return Boundaries(lows, highs, rest == 0)


@final
class Table:
    """A guide table over a law, ready to sample."""

    __slots__ = ("_boundaries", "_ceiling", "_finite", "_floor", "_guide", "_sizes", "_void")

    def __init__(self, law: Law, sizes: TableSizes) -> None:
        """Certify the boundaries and mark each cell that none of them crosses."""
        self._boundaries = functools.lru_cache(maxsize=8)(law.boundaries)
        self._sizes = sizes
        known = self._boundaries(sizes.word_bits)
        self._finite = known.finite
        # one row more than boundaries: a finite law ends there, any other is never settled there
        self._floor = np.array([*known.low, 0], dtype=np.uint64)
        self._ceiling = np.array([max(high, 1) - 1 for high in known.high], dtype=np.uint64)
        self._guide, self._void = self._make_guide(law.guide_values(len(self._floor)))

    def _make_guide(self, values: NDArray[np.int64]) -> tuple[NDArray[np.signedinteger[Any]], int]:
        shift = self._sizes.word_bits - self._sizes.guide_bits
        first = np.arange(1 << self._sizes.guide_bits, dtype=np.uint64) << np.uint64(shift)
        index, settled = self._settle(first, first | np.uint64((1 << shift) - 1))
        cells = np.where(settled, values[index], VOID)
        largest = int(np.abs(cells[cells != VOID]).max(initial=0))
        kind = next(k for k in (np.int16, np.int32, np.int64) if largest < np.iinfo(k).max)
        void = int(np.iinfo(kind).min)
        return np.where(cells == VOID, void, cells).astype(kind), void

    def _settle(
        self, first: NDArray[np.uint64], last: NDArray[np.uint64]
    ) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Find the index of each range of words, and whether all words of the range share it."""
        index = np.searchsorted(self._ceiling, first, side="left")
        settled = last < self._floor[index]
        if self._finite:
            settled |= index == len(self._ceiling)
        return index, settled

    def look_up(
        self, count: int, entropy: Entropy
    ) -> tuple[NDArray[np.signedinteger[Any]], NDArray[np.intp], NDArray[np.int64]]:
        """Draw ``count`` outcomes: guide values, where they are void, and the indices there."""
        prefix = entropy.words(count, self._sizes.guide_bits)
        cells = self._guide.take(prefix, mode="clip")
        void = np.flatnonzero(cells == self._void)
        return cells, void, self._refine(prefix[void], entropy)

    def _refine(
        self, prefix: NDArray[np.unsignedinteger[Any]], entropy: Entropy
    ) -> NDArray[np.int64]:
        """Reveal the rest of the word behind each prefix, and settle its index."""
        sizes = self._sizes
        more = sizes.word_bits - sizes.guide_bits
        word = prefix.astype(np.uint64) << np.uint64(more)
        word |= entropy.words(prefix.size, more)
        index, settled = self._settle(word, word)
        if not settled.all():
            for open_ in np.flatnonzero(~settled):
                index[open_] = self.resolve(int(word[open_]), sizes.word_bits, entropy)
        return index.astype(np.int64, copy=False)

    def resolve(self, word: int, bits: int, entropy: Entropy) -> int:
        """Settle one outcome in Python integers, revealing more bits as long as needed."""
        while True:
            known = self._boundaries(bits)
            index = bisect.bisect_right(known.high, word)
            if index < len(known.low):
                if word < known.low[index]:
                    return index
            elif known.finite:
                return index
            word = word << self._sizes.step_bits | entropy.bits(self._sizes.step_bits)
            bits += self._sizes.step_bits


_GUARD_BITS: Final = 64


@final
class SignedLaw:
    """The law with weights exp(-h(|k|)), its integers k in the order 0, 1, -1, 2, -2, ..."""

    __slots__ = ("_decay",)

    def __init__(self, decay: Decay) -> None:
        """Keep the decay."""
        self._decay = decay

    def boundaries(self, bits: int) -> Boundaries:
        """Enclose boundaries until less than 2**-bits of mass is left."""
        scale = bits + 2 * _GUARD_BITS
        count = self._decay.reach(bits + 8) + 1
        half = self._decay.progression(start=0, step=1, count=count, bits=scale)
        low, high = half.low[:1], half.high[:1]
        for size in range(1, count):
            low += half.low[size], half.low[size]
            high += half.high[size], half.high[size]
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
