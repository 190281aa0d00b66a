"""Uniform random sets of a fixed size, for many people at once, as rows of bits.

Trust: kernel.

Theorem (key ``uniform-sets``).  Flip one coin for each of k values, again while the number of ones
is outside a window; then add uniform zeros until w are ones.  The row is a uniform w-subset, and
the value that was added last, the guest, is uniform among its members.
Proof.  Every step treats all values alike, so every set of w - 1 is equally likely, and each of the
k - w + 1 guests; so each pair of a w-set and a member of it is equally likely.

A uniform zero is found by drawing values until one is not in the set.  Coins of a chance near w/k,
and a window just below w, leave a few to add, and not w.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.local.randomizers.bitmap import row_size
from discreet.noise import Entropy, Uniform
from discreet.noise.bernoulli import packed_coins

_FEW: Final = 4  # members that are found sooner one by one
_TRIES: Final = 4  # rows that are flipped for each one that is needed


def uniform_sets(
    count: int, values: int, size: int, entropy: Entropy
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return a uniform set for each person, and a uniform member of each.

    >>> from discreet.noise import SYSTEM
    >>> rows, guests = uniform_sets(5, 12, 3, SYSTEM)
    >>> np.bitwise_count(rows).sum(axis=1).tolist(), guests.shape
    ([3, 3, 3, 3, 3], (5,))
    """
    rows, missing = _first_members(count, values, size, entropy)
    flat, draw = rows.reshape(-1), Uniform(below=values)
    guests = np.empty(count, np.int64)
    open_ = np.arange(count)
    starts = open_ * rows.shape[1]
    while open_.size:
        drawn = draw.sample(open_.size, entropy)
        place = (drawn >> 3) + starts
        bit = np.left_shift(1, drawn & 7, dtype=np.uint8, casting="unsafe")
        byte = flat[place]
        missing -= (byte & bit) == 0
        byte |= bit
        flat[place] = byte
        full = missing == 0
        guests[open_[full]] = drawn[full]
        again = ~full
        open_, starts, missing = open_[again], starts[again], missing[again]
    return rows, guests


def _first_members(
    count: int, values: int, size: int, entropy: Entropy
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return rows with fewer than ``size`` ones, and how many each one lacks."""
    if size <= _FEW:
        return np.zeros((count, row_size(values)), np.uint8), np.full(count, size, np.int64)
    chance, window = first_chance(values, size)
    kept, left = [], count
    while left > 0:
        rows = packed_coins(chance, _TRIES * left, values, entropy)
        lacking = np.uint32(size - 1) - _ones(rows)  # one less; wraps around where none lacks
        inside = np.flatnonzero(lacking < window)[:left]
        kept.append((rows.take(inside, axis=0), lacking[inside].astype(np.int64) + 1))
        left -= inside.size
    return np.concatenate([rows for rows, _ in kept]), np.concatenate([lack for _, lack in kept])


def first_chance(values: int, size: int) -> tuple[Fraction, int]:
    """Return the chance of the first coins, and how many members they may leave to add.

    The window is 2/3 of a standard deviation of the number of ones, which a fourth of all rows hit.
    The chance has few bits, so that few rounds settle its coins, and aims at the window's middle.

    >>> first_chance(128, 34)
    (Fraction(1, 4), 3)
    """
    spread = math.isqrt(size * (values - size) // values)
    window = 1 + 2 * spread // 3
    middle = size - Fraction(1 + window, 2)
    parts = 2
    while True:
        nearest = round(middle * parts / values)
        off = abs(Fraction(nearest * values, parts) - middle)
        if 0 < nearest < parts and 2 * off <= spread + 1:
            return Fraction(nearest, parts), window
        parts *= 2


def _ones(rows: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Count the ones of each row."""
    words = rows.view(np.uint64) if rows.shape[1] % 8 == 0 else rows
    return np.bitwise_count(words) @ np.ones(words.shape[1], np.uint32)
