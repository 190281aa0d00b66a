"""Wide two-sided laws: a table over blocks of 2**b integers.

Trust: kernel.

Definition.  Write k = Q m + r with m = 2**b and r in [0, m).  Within block Q the weight w(k) lies
between its smallest value a and its largest value z, at the two ends of the block.  The table draws
    (Q, flat)      with weight m a, then r uniform, accepted outright;
    (Q, residual)  with weight m (z - a), then r uniform, accepted with chance (w(k) - a)/(z - a).

Theorem (key ``block-mixture``).  An accepted k has mass proportional to a + (z - a)(w - a)/(z - a),
which is w(k).  A rejected attempt is repeated from the start, so the law of what is returned is w.

Blocks are so narrow that residuals are a few percent; flat outcomes are settled by the guide, so
nearly every draw costs two looks at random bits and no floating point at all.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import INT64_MAX, INT64_MIN
from discreet.certified import exp_neg
from discreet.noise.bernoulli import SIZES, CoinSizes, flip
from discreet.noise.chance import Decay
from discreet.noise.entropy import Entropy
from discreet.noise.table import (
    VOID,
    Boundaries,
    SignedSampler,
    Table,
    TableSizes,
    boundaries,
)

_GUARD_BITS: Final = 64


@final
class BlockLaw:
    """The law of (block, flat or residual).

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
        """Enclose boundaries until less than 2**-bits of mass is left."""
        scale, m = bits + 2 * _GUARD_BITS, self._width
        count = max(self.near // 2, self._decay.reach(bits + 8) // m + 2)

        def weights(start: int, count: int) -> list[tuple[int, int]]:
            run = self._decay.progression(start=start, step=m, count=count, bits=scale)
            return list(zip(run.low, run.high, strict=True))

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
    """Map 0, 1, 2, 3, ... to 0, -1, 1, -2, ...

    >>> block_number(np.arange(5)).tolist()
    [0, -1, 1, -2, 2]
    """
    return np.where(index & 1, ~(index >> 1), index >> 1)


@final
class BlockSampler:
    """Exact draws from a wide two-sided law."""

    __slots__ = ("_bits", "_coins", "_decay", "_law", "_linear", "_quadratic", "_table")

    def __init__(
        self, decay: Decay, block_bits: int, sizes: TableSizes, coins: CoinSizes = SIZES
    ) -> None:
        """Build the table over blocks of 2**block_bits integers."""
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
        """Flip the residual coins: heads with chance (w(k) - a) / (z - a)."""
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
    """Return the sampler of a two-sided law: over blocks of integers, or over single ones."""
    if block_bits is None:
        return SignedSampler(decay, TableSizes())
    return BlockSampler(decay, block_bits, TableSizes())
