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
from discreet.noise.entropy import Entropy, Words

_CHUNK: Final = 1 << 16  # values that all steps find in the cache
_DRAWN: Final = 1 << 20  # words of one request: each has a cipher to set up
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


def _guide(
    values: NDArray[np.int64], index: NDArray[np.intp], settled: NDArray[np.bool_]
) -> tuple[NDArray[np.signedinteger[Any]], int]:
    """Return the values of cells in the narrowest type, and the one that stands for void."""
    cells = np.where(settled, values[index], VOID)
    largest = int(np.abs(cells[cells != VOID]).max(initial=0))
    kind = next(k for k in (np.int16, np.int32, np.int64) if largest < np.iinfo(k).max)
    void = int(np.iinfo(kind).min)
    return np.where(cells == VOID, void, cells).astype(kind), void


@final
class Table:
    """A guide table over a law, ready to sample."""

    __slots__ = (
        "_boundaries",
        "_ceiling",
        "_ends",
        "_finite",
        "_first",
        "_floor",
        "_guide",
        "_sizes",
        "_void",
    )

    def __init__(self, law: Law, sizes: TableSizes) -> None:
        """Certify the boundaries and mark each cell that none of them crosses."""
        self._boundaries = functools.lru_cache(maxsize=8)(law.boundaries)
        self._sizes = sizes
        known = self._boundaries(sizes.word_bits)
        self._finite = known.finite
        # one row more than boundaries: a finite law ends there, any other is never settled there
        self._floor = np.array([*known.low, 0], dtype=np.uint64)
        self._ceiling = np.array([max(high, 1) - 1 for high in known.high], dtype=np.uint64)
        self._ends = np.append(self._ceiling, np.uint64(2**64 - 1))
        shift = sizes.word_bits - sizes.guide_bits
        first = np.arange(1 << sizes.guide_bits, dtype=np.uint64) << np.uint64(shift)
        index, settled = self._settle(first, first | np.uint64((1 << shift) - 1))
        self._first = index.astype(np.int64)
        self._guide, self._void = _guide(law.guide_values(len(self._floor)), index, settled)

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
        self, out: NDArray[np.int64], entropy: Entropy, offset_bits: int = 0
    ) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.int64]]:
        """Overwrite ``out`` with guide values of independent outcomes, each below a uniform offset.

        An offset of ``offset_bits`` fills the lowest bits, which guide values leave zero.  Returned
        are the places where the guide is void, with the index of the outcome and the offset there.
        """
        opened: list[tuple[NDArray[np.intp], Words, Words]] = []
        for start in range(0, out.size, _DRAWN):
            part = out[start : start + _DRAWN]
            prefix = entropy.words(part.size, self._sizes.guide_bits)
            offset = entropy.words(part.size, offset_bits) if offset_bits else prefix
            void = self._read_guide(part, prefix, offset if offset_bits else None)
            opened.append((void + start, prefix[void], offset[void]))
        if not opened:
            return np.empty(0, np.intp), np.empty(0, np.int64), np.empty(0, np.int64)
        place, prefix, offset = (np.concatenate(part) for part in zip(*opened, strict=True))
        return place, self._refine(prefix, entropy), offset.astype(np.int64)

    def _read_guide(
        self, out: NDArray[np.int64], prefix: Words, offset: Words | None
    ) -> NDArray[np.intp]:
        """Overwrite ``out`` with guide values, offsets included; return where they are void."""
        if offset is not None and offset.dtype == np.uint64:
            offset = offset.view(np.int64)  # bits: NumPy takes int64 and uint64 for floats
        voids, places = [], np.empty(min(_CHUNK, out.size), np.intp)  # what NumPy indexes with
        for start in range(0, out.size, _CHUNK):
            here = slice(start, min(start + _CHUNK, out.size))
            place = places[: here.stop - start]
            place[:] = prefix[here]
            cells = self._guide.take(place, mode="clip")
            voids.append((cells == self._void).nonzero()[0] + start)
            if offset is None:
                out[here] = cells
            else:
                np.bitwise_or(cells, offset[here], out=out[here])
        return np.concatenate(voids)

    def _refine(self, prefix: Words, entropy: Entropy) -> NDArray[np.int64]:
        """Reveal the rest of the word behind each prefix, and settle its index.

        A cell has few boundaries, so the first index of the cell, or the next, mostly settles it.
        """
        sizes = self._sizes
        more = sizes.word_bits - sizes.guide_bits
        word = prefix.astype(np.uint64) << np.uint64(more)
        word |= entropy.words(prefix.size, more)
        index = self._first[prefix]
        index += word > self._ends[index]
        open_ = np.flatnonzero(word >= self._floor[index])
        if open_.size:
            rest = word[open_]
            index[open_], settled = self._settle(rest, rest)
            for place in open_[~settled]:
                index[place] = self.resolve(int(word[place]), sizes.word_bits, entropy)
        return index

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
        void, index, _ = self._table.look_up(out, entropy)
        out[void] = signed(index)
