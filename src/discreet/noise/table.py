"""Inverse transform sampling through a guide table, with lazily revealed bits.

Trust: kernel.  Proofs are in docs/proofs/noise.md.

Definition.  A distribution on indices 0, 1, 2, ... has boundaries F_0 < F_1 < ...; the outcome of a
uniform U is the number of boundaries that are at most U.  ``Boundaries`` encloses them, at any
scale 2**bits, between integers ``low[j] <= 2**bits * F_j <= high[j]``.

Theorem (key ``lazy-inversion``).  Let u be the first n bits of U.  Boundary j is certainly at most
U if ``u >= high[j]`` and certainly above U if ``u < low[j]``.  The table answers only when one of
the two holds for every boundary, and otherwise reveals more bits of the same U.  So it returns the
outcome of U itself, regardless of the width of the enclosures.

Three stages, each reached by few: a prefix of ``guide_bits`` looked up in a table of cells; for
cells that a boundary crosses, ``word_bits`` compared with an array of enclosures; and for the few
words that an enclosure still contains, Python integers at growing precision.

Narrow two-sided noise has one table over 0, 1, -1, 2, -2, ...; wide noise has one over blocks.

Definition.  Write k = Q m + r with m = 2**b and r in [0, m).  Within block Q the weight w(k) lies
between its smallest value a and its largest value z, at the two ends of the block.  The table draws
    (Q, flat)      with weight m a, then r uniform, accepted outright;
    (Q, residual)  with weight m (z - a), then r uniform, accepted with probability
                   (w(k) - a)/(z - a).
Theorem (key ``block-mixture``).  An accepted k has mass proportional to a + (z - a)(w - a)/(z - a),
which is w(k).  A rejected attempt is repeated from the start, so k is returned with weight w(k).
Residuals are a few percent, and flat outcomes cost two looks at random bits and no floats.
"""

from __future__ import annotations

import bisect
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import INT64_MAX, INT64_MIN
from discreet.certified import exp_neg
from discreet.noise.bernoulli import SIZES, CoinSizes, flip
from discreet.noise.decay import Decay
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
    """Enclosures of the first boundaries; nothing is beyond the last of a finite distribution."""

    low: list[int]
    high: list[int]
    finite: bool


class Law(Protocol):
    """A distribution on indices that a table can sample."""

    def boundaries(self, bits: int) -> Boundaries:
        """Enclose boundaries at scale 2**bits until about 2**-bits of mass is left."""
        ...

    def guide_values(self, count: int) -> NDArray[np.int64]:
        """Return what the guide shows for each leading index: a value, or VOID to ask further."""
        ...


def boundaries(low: list[int], high: list[int], rest: int, bits: int) -> Boundaries:
    """Turn enclosures of weights, and of the sum of all later ones, into those of boundaries."""
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
    """Return the values of cells in the narrowest type, and the one that marks void cells."""
    cells = np.where(settled, values[index], VOID)
    largest = int(np.abs(cells[cells != VOID]).max(initial=0))
    kind = next(k for k in (np.int16, np.int32, np.int64) if largest < np.iinfo(k).max)
    void = int(np.iinfo(kind).min)
    return np.where(cells == VOID, void, cells).astype(kind), void


@final
class Table:
    """A guide table over a distribution, ready to sample."""

    def __init__(self, law: Law, sizes: TableSizes) -> None:
        """Certify the boundaries and mark each cell that none of them crosses."""
        self._boundaries = functools.lru_cache(maxsize=8)(law.boundaries)
        self._sizes = sizes
        known = self._boundaries(sizes.word_bits)
        self._finite = known.finite
        # one row more than boundaries: a finite distribution ends there, others are never settled
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
        """Overwrite ``out`` with guide values of independent outcomes, lowest bits uniform.

        Return the places at which the guide is void, with the index and the offset there.
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


_GUARD_BITS: Final = 64  # bits that the recurrences may lose, and more


@final
@dataclass(frozen=True, slots=True)
class SignedLaw:
    """Weights exp(-h(|k|)), the integers k in the order 0, 1, -1, 2, -2, ..."""

    _decay: Decay

    def boundaries(self, bits: int) -> Boundaries:
        scale = bits + 2 * _GUARD_BITS
        count = self._decay.reach(bits + 8) + 1
        lows, highs = self._decay.progression(start=0, step=1, count=count, bits=scale)
        low = [lows[0], *(weight for weight in lows[1:] for _ in range(2))]
        high = [highs[0], *(weight for weight in highs[1:] for _ in range(2))]
        beyond = self._decay.beyond(start=count, step=1, bits=scale)
        return boundaries(low, high, 2 * beyond, bits)

    def guide_values(self, count: int) -> NDArray[np.int64]:
        """Return 0, 1, -1, 2, -2, ..."""
        return signed(np.arange(count))


def signed(index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Map 0, 1, 2, 3, 4, ... to 0, 1, -1, 2, -2, ..."""
    half = (index + 1) >> 1
    return np.where(index & 1, half, -half)


@final
class SignedSampler:
    """Exact draws from a small two-sided law."""

    def __init__(self, decay: Decay, sizes: TableSizes) -> None:
        self._table = Table(SignedLaw(decay), sizes)

    def sample_into(self, out: NDArray[np.int64], entropy: Entropy) -> None:
        void, index, _ = self._table.look_up(out, entropy)
        out[void] = signed(index)


@final
class BlockLaw:
    """The distribution of (block, flat or residual).

    Blocks are numbered i = 0, 1, 2, 3, ... for Q = 0, -1, 1, -2, ...  The ``near`` blocks that
    hold all but about 2**-64 of the mass come first with their flat outcomes, then with their
    residual ones; farther blocks follow with both outcomes in turn.
    """

    __slots__ = ("_decay", "_width", "near")

    def __init__(self, decay: Decay, width: int, reach_bits: int = 64) -> None:
        """Keep the decay and the width of a block; fix how many blocks count as near."""
        self._decay = decay
        self._width = width
        self.near = 2 * (decay.reach(reach_bits) // width + 1)

    def boundaries(self, bits: int) -> Boundaries:
        scale, m = bits + 2 * _GUARD_BITS, self._width
        count = max(self.near // 2, self._decay.reach(bits + 8) // m + 2)

        def weights(start: int, count: int) -> list[tuple[int, int]]:
            run = self._decay.progression(start=start, step=m, count=count, bits=scale)
            return list(zip(*run, strict=True))

        left = weights(0, count + 1)  # |k| at the inner ends of blocks 0, 1, 2, ...
        right = weights(m - 1, count)  # |k| at their outer ends
        mirror = weights(1, count)  # |k| at the inner ends of blocks -1, -2, ...
        flat: list[tuple[int, int]] = []
        residual: list[tuple[int, int]] = []
        for q in range(count):
            for inner, outer in ((left[q], right[q]), (mirror[q], left[q + 1])):
                flat.append(outer)
                residual.append((max(0, inner[0] - outer[1]), max(0, inner[1] - outer[0])))
        outcomes = flat[: self.near] + residual[: self.near]
        for block in range(self.near, 2 * count):
            outcomes += flat[block], residual[block]
        # all farther blocks together weigh no more than their inner ends do
        rest = sum(self._decay.beyond(start=count * m + k, step=m, bits=scale) for k in (0, 1))
        return boundaries([low for low, _ in outcomes], [high for _, high in outcomes], rest, bits)

    def guide_values(self, count: int) -> NDArray[np.int64]:
        """Return where flat outcomes of near blocks start, and nothing for any other outcome."""
        index = np.arange(count)
        number = block_number(index)
        kept = (index < self.near) & (np.abs(number) < INT64_MAX // self._width)
        return np.where(kept, np.where(kept, number, 0) * self._width, VOID)

    def decode(self, index: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return Q, and whether the outcome is residual, for each index."""
        beyond = index - 2 * self.near
        number = np.where(
            beyond < 0,
            np.where(index < self.near, index, index - self.near),
            self.near + beyond // 2,
        )
        residual = np.where(beyond < 0, index >= self.near, (beyond & 1) == 1)
        return block_number(number), residual


def block_number(index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Map 0, 1, 2, 3, ... to 0, -1, 1, -2, ..."""
    return np.where(index & 1, ~(index >> 1), index >> 1)


@final
class BlockSampler:
    """Exact draws from a wide two-sided law."""

    __slots__ = ("_bits", "_coins", "_decay", "_law", "_linear", "_quadratic", "_table")

    def __init__(
        self, decay: Decay, block_bits: int, sizes: TableSizes, coins: CoinSizes = SIZES
    ) -> None:
        self._decay = decay
        self._bits = block_bits
        self._coins = coins
        self._law = BlockLaw(decay, 1 << block_bits, sizes.word_bits)
        self._table = Table(self._law, sizes)
        self._linear, self._quadratic = float(decay.linear), float(decay.quadratic)

    def sample_into(self, out: NDArray[np.int64], entropy: Entropy) -> None:
        """Overwrite ``out`` with independent draws; values beyond int64 stop at its ends."""
        todo = self._attempt(out, entropy)
        while todo.size:
            fresh = np.empty(todo.size, np.int64)
            rejected = self._attempt(fresh, entropy)
            out[todo] = fresh
            todo = todo[rejected]

    def _attempt(self, out: NDArray[np.int64], entropy: Entropy) -> NDArray[np.intp]:
        """Fill ``out`` with one attempt each; return the places that were rejected."""
        void, index, offset = self._table.look_up(out, entropy, self._bits)
        block, residual = self._law.decode(index)
        out[void] = self._join(block, offset)
        drawn = np.flatnonzero(residual)
        if not drawn.size:
            return drawn
        heads = self._accept(block[drawn], offset[drawn], entropy)
        return void[drawn[~heads]]

    def _join(self, block: NDArray[np.int64], offset: NDArray[np.int64]) -> NDArray[np.int64]:
        most = INT64_MAX >> self._bits
        inside = np.clip(block, -most - 1, most)
        joined = (inside << self._bits) + offset
        return np.where(
            block == inside, joined, np.where(block < 0, np.int64(INT64_MIN), np.int64(INT64_MAX))
        )

    def _accept(
        self, block: NDArray[np.int64], offset: NDArray[np.int64], entropy: Entropy
    ) -> NDArray[np.bool_]:
        """Flip the residual coins: heads with probability (w(k) - a) / (z - a)."""
        span = (1 << self._bits) - 1
        ahead = block >= 0
        inner = np.where(ahead, block, ~block).astype(np.float64) * (span + 1.0) + ~ahead
        depth = np.where(ahead, offset, span - offset).astype(np.float64)

        def drop(depth: NDArray[np.float64] | float) -> NDArray[np.float64]:
            """Return w(inner + depth) / w(inner) - 1."""
            return np.expm1(-depth * (self._linear + self._quadratic * (2.0 * inner + depth)))

        floor = drop(float(span))
        estimate = (drop(depth) - floor) / -floor

        def chance(index: int) -> Callable[[int], tuple[int, int]]:
            return self._residual_chance(int(block[index]), int(offset[index]))

        return flip(estimate, chance, entropy, self._coins)

    def _residual_chance(self, block: int, offset: int) -> Callable[[int], tuple[int, int]]:
        """Enclose (w(k) - a) / (z - a); both parts are divided by z, lest deep blocks vanish."""
        m = 1 << self._bits
        ends = (block * m, block * m + m - 1)
        inner, outer = sorted(abs(end) for end in ends)
        top = self._decay.exponent(inner)
        here = self._decay.exponent(abs(block * m + offset)) - top
        last = self._decay.exponent(outer) - top

        def enclose(bits: int) -> tuple[int, int]:
            scale = bits + _GUARD_BITS + 2 * int(1 / last).bit_length()
            one = 1 << scale
            here_low, here_high = exp_neg(here, scale)
            last_low, last_high = exp_neg(last, scale)
            low = max(0, here_low - last_high) << bits
            high = (here_high - last_low) << bits
            return low // (one - last_low), -(-high // (one - last_high))

        return enclose


@functools.lru_cache(maxsize=64)
def table_sampler(decay: Decay, block_bits: int | None) -> SignedSampler | BlockSampler:
    """Return the sampler of two-sided noise: over blocks of integers, or over single ones."""
    if block_bits is None:
        return SignedSampler(decay, TableSizes())
    return BlockSampler(decay, block_bits, TableSizes())
