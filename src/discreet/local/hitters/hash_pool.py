"""A public pool of hash functions that are linear over two elements.

Trust: public.  Which function is used is drawn without looking at the value, and a report of its
cell is private whatever the function is; a bad pool costs accuracy.

Definition.  Function s maps a word to t bits: bit r is the parity of the bits of the word that row
(s, r) selects.  Rows are public: SplitMix64 (Steele, Lea and Flood 2014) of their numbers.
Theorem (key ``linear-hash``; Carter and Wegman 1979, Universal Classes of Hash Functions).  If
rows are uniform and independent, two different words share a cell with chance 1/g, g = 2**t, and
whether a third word shares it with the first is independent of that.  Proof.  Words share a cell
if all t rows have even parity on their difference, which half of all rows have; two different
nonzero differences are linearly independent. So a pool of m functions has the floor of key
``pool-floor``. Assumes, for accuracy alone: rows, which are fixed and public, behave like uniform
ones.

Theorem (key ``linear-hash-decoding``).  If T[s, y] reports have function s and cell y, the number
of reports that support a word v is 1/g times the sum over s and c of W[s, c] (-1)**(z(s, c) . v): W
is the Walsh-Hadamard transform of each row of T, and z(s, c) the sum of the rows of s that c
selects.  Proof.  The sum over c of (-1)**(c . (h_s(v) - y)) is g if y = h_s(v), and 0 otherwise.
For all K extensions of one prefix that is one transform: m g additions and K log K, not m K.  So
the pool can be large, and its floor low.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.local.hitters.words import Words, bit_field, limbs_of, prefix_limbs
from discreet.local.randomizers.hadamard import transform_in_place

Integers = NDArray[np.int64]

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND: Final = np.uint64(0x94D049BB133111EB)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class HashPool:
    """``size`` functions from words of ``width`` bits to 2**``cell_bits`` cells.

    >>> pool = HashPool(size=4, width=8, cell_bits=2)
    >>> pool.cells(np.array([[7 << 56], [7 << 56]], np.uint64), np.array([0, 3])).shape
    (2,)
    """

    size: int
    width: int
    cell_bits: int

    def cells(self, words: Words, functions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cell of each word, by the function of each person."""
        ones = np.bitwise_count(self.rows(functions) & words[:, None, :]).sum(
            axis=2, dtype=np.int64
        )
        return np.asarray((ones & 1) @ (1 << np.arange(self.cell_bits)))

    def rows(self, functions: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the rows of functions: function, row, limb."""
        shape = (len(functions), self.cell_bits, limbs_of(self.width))
        inner = np.arange(shape[1] * shape[2], dtype=np.uint64)
        number = functions.astype(np.uint64)[:, None] * np.uint64(len(inner)) + inner
        return _mixed(number).reshape(shape)

    def supports(
        self, counts: Integers, *, prefixes: Sequence[int], before: int, length: int
    ) -> Integers:
        """Return how many reports support each extension, to ``length`` bits, of each prefix.

        ``counts`` has a row for each function, and a column for each cell.
        """
        sums, waves = _row_sums(self), _transformed(counts)
        places = bit_field(sums, start=before, length=length - before).ravel()
        size = 1 << (length - before)
        found = np.empty((len(prefixes), size), np.int64)
        for spectrum, prefix in zip(found, prefixes, strict=True):
            chosen = prefix_limbs(prefix, length=before, limbs=sums.shape[2])
            odd = np.bitwise_count(sums & chosen).sum(axis=2, dtype=np.uint8) & 1
            signed = np.where(odd, -waves, waves).ravel()
            spectrum[:] = np.rint(np.bincount(places, weights=signed, minlength=size))
            transform_in_place(spectrum)
        return found.ravel() >> self.cell_bits


def _transformed(counts: Integers) -> NDArray[np.float64]:
    """Transform each row of counters."""
    waves = counts.astype(np.int64)
    half = 1
    while half < waves.shape[1]:
        pairs = waves.reshape(len(waves), -1, 2, half)
        first, second = pairs[:, :, 0, :], pairs[:, :, 1, :]
        first += second
        second *= -2
        second += first
        half *= 2
    return waves.astype(float)


@functools.lru_cache(maxsize=2)
def _row_sums(pool: HashPool) -> NDArray[np.uint64]:
    """Return all sums of the rows of each function: function, which rows, limb."""
    rows = pool.rows(np.arange(pool.size))
    sums = np.zeros((pool.size, 1 << pool.cell_bits, rows.shape[2]), np.uint64)
    for row in range(pool.cell_bits):
        known = sums[:, : 1 << row]
        sums[:, 1 << row : 2 << row] = known ^ rows[:, row, None, :]
    return sums


def _mixed(number: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return SplitMix64 of each number."""
    mixed = (number + np.uint64(1)) * _GOLDEN
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    return mixed ^ (mixed >> np.uint64(31))
