"""Subset selection: report a random set of w values, more often one that has the true value in it.

Trust: kernel.

Definition.  Of all w-subsets of k values, those with the sender's value weigh e^epsilon, the others
1.  A report supports the values in it.
Theorem (key ``subset-oracle``; Ye and Barg 2018).  With E = e^epsilon, p = w E / (w E + k - w) and
q = (p (w - 1) + (1 - p) w) / (k - 1).  With w near k / (E + 1) no oracle has less variance in the
worst case, up to lower order terms.  w = 1 is direct response.

Sampling.  Let U be a uniform w-subset and e a uniform member of it.  If the sender's value is not
in U, it takes the place of e with probability w (E - 1) / (w E + k - w).  Then the set has the
value with probability p, and is uniform given that it does, and given that it does not
(``uniform_sets.py``).

Uniform random sets of a fixed size, for many people at once, as rows of bits.

Theorem (key ``uniform-sets``).  Flip one coin for each of k values, again while the number of ones
is outside a window; then add uniform zeros until w are ones.  The row is a uniform w-subset, and
the value that was added last, the guest, is uniform among its members.
Proof.  Every step treats all values alike, so every set of w - 1 is equally likely, and each of the
k - w + 1 guests; so each pair of a w-set and a member of it is equally likely.

A uniform zero is found by drawing values until one is not in the set.  Coins of a probability near
w/k, and a window just below w, leave a few to add, and not w.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.exact import Interval, freeze, whole
from discreet.local.randomizer import (
    Bytes,
    FrequencyOracle,
    Reports,
    checked_codes,
    checked_rows,
    local_epsilon,
    value_count,
)
from discreet.local.unary import (
    bitmap_of_members,
    cells,
    column_sums,
    members_of_bitmap,
    row_size,
)
from discreet.mechanisms.mechanism import Number
from discreet.mechanisms.randomized_response import inward_decay
from discreet.noise import SYSTEM, Bernoulli, Entropy, Uniform
from discreet.noise.bernoulli import packed_coins

_MOST: Final = 1 << 16
_CHUNK: Final = 1 << 20  # bytes of rows: the last few of them take many short steps


@final
@dataclass(frozen=True, slots=True, init=False)
class Subset(FrequencyOracle):
    """Report a set of values.

    >>> subset = Subset(epsilon=1, values=128)
    >>> subset.size, round(subset.variance().nearest(), 3)
    (34, 3.61)
    """

    name: ClassVar[str] = "subset"
    parameters: ClassVar[tuple[str, ...]] = ("values", "size")

    epsilon: Fraction
    values: int
    size: int

    def __init__(self, *, epsilon: Number, values: int, size: int | None = None) -> None:
        """Take the loss of a report, how many values there are, and how many a report names.

        Without a size it has the one of least variance at share 0.
        """
        loss, count = local_epsilon(epsilon), value_count(values, high=_MOST)
        freeze(self, epsilon=loss, values=count)
        chosen = best_size(loss, count) if size is None else size
        freeze(self, size=whole(chosen, name="size", low=1, high=count - 1))

    @property
    def named(self) -> bool:
        """Whether the names of all members are shorter than one bit for each value."""
        return self.size * (self.values - 1).bit_length() < self.values

    @property
    def bits(self) -> int:
        """Return one bit for each value, or the bits of all names if they are fewer."""
        return self.size * (self.values - 1).bit_length() if self.named else self.values

    def exact_chances(self) -> tuple[Fraction, Fraction]:
        """Return how often a set has the sender's value, and any other."""
        return _chances(inward_decay(self.epsilon), self.values, self.size)

    def telling_chances(self) -> tuple[Fraction, Fraction]:
        """Return how often a set has one value of two: the sender's, and the other."""
        p, k, w = self.exact_chances()[0], self.values, self.size
        return p * (k - w) / (k - 1), (1 - p) * w / (k - 1)

    def run_each(self, codes: NDArray[np.integer[Any]], *, entropy: Entropy = SYSTEM) -> Reports:
        """Return one row of bits for each person, with ``size`` ones."""
        truths = checked_codes(codes, self.values)
        reports = np.empty((truths.size, row_size(self.values)), np.uint8)
        step = max(1, _CHUNK // reports.shape[1])
        for start in range(0, truths.size, step):
            reports[start : start + step] = self._run_some(truths[start : start + step], entropy)
        return reports

    def _run_some(self, codes: NDArray[np.integer[Any]], entropy: Entropy) -> Bytes:
        """Draw sets without looking at any value, and who takes a place; then seat the values."""
        decay = inward_decay(self.epsilon)
        total = self.size + (self.values - self.size) * decay
        rows, guests = uniform_sets(codes.size, self.values, self.size, entropy)
        takes = Bernoulli(p=self.size * (1 - decay) / total).flips(codes.size, entropy)
        flat, width = rows.reshape(-1), rows.shape[1]
        place, bit = cells(codes, width)
        takes &= flat[place] & bit == 0
        guest_place, guest_bit = cells(guests, width)
        flat[guest_place] ^= guest_bit * takes
        flat[place] |= bit * takes
        return rows

    def reference_pmf(self, value: int) -> dict[bytes, Interval]:
        """Return the probability of every set of this size."""
        truth = whole(value, name="the code of a value", low=0, high=self.values - 1)
        decay = inward_decay(self.epsilon)
        total = (
            math.comb(self.values - 1, self.size - 1)
            + math.comb(self.values - 1, self.size) * decay
        )
        law = {}
        for members in itertools.combinations(range(self.values), self.size):
            row = np.zeros(self.values, np.uint8)
            row[list(members)] = 1
            chance = (1 if truth in members else decay) / total
            law[np.packbits(row, bitorder="little").tobytes()] = Interval(chance, chance)
        return law

    @property
    def raised(self) -> int:
        """Return the size of a set: each member is counted."""
        return self.size

    def tally(self, reports: Reports) -> NDArray[np.int64]:
        """Count the sets that have each value."""
        return column_sums(reports.view(np.uint8), self.values)

    def supports(self, tally: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the counters themselves."""
        return tally.copy()

    def pack(self, reports: Reports) -> Bytes:
        """Return the rows themselves, or the names of all members in order."""
        rows = reports.view(np.uint8)
        return members_of_bitmap(rows, self.values, self.size) if self.named else rows

    def unpack(self, rows: Bytes) -> tuple[Reports, NDArray[np.bool_]]:
        """Read sets; one of another size, or with an invalid value, is not valid."""
        checked_rows(rows, self.report_bytes)
        if self.named:
            return bitmap_of_members(rows, self.values, self.size)
        sizes = np.bitwise_count(rows).sum(axis=1, dtype=np.int64)
        last = self.values - 8 * (rows.shape[1] - 1)
        valid = (sizes == self.size) & (rows[:, -1] >> np.uint8(last - 1) <= 1)
        return rows[valid], valid


def _chances(decay: Fraction, k: int, w: int) -> tuple[Fraction, Fraction]:
    p = w / (w + (k - w) * decay)
    return p, (p * (w - 1) + (1 - p) * w) / (k - 1)


@functools.lru_cache(maxsize=64)
def best_size(epsilon: Fraction, values: int) -> int:
    """Return the size of least variance at share 0: one of the integers around k / (e^epsilon + 1).

    >>> best_size(Fraction(2), 128)
    15
    """
    decay = inward_decay(epsilon)
    middle = math.floor(values * decay / (1 + decay))

    def variance(size: int) -> Fraction:
        p, q = _chances(decay, values, size)
        return q * (1 - q) / (p - q) ** 2

    near = range(max(1, middle - 1), min(values - 1, middle + 2) + 1)
    return min(near, key=variance)


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
        lacking = np.uint32(size - 1) - _ones(rows)  # one less; wraps around if none lacks
        inside = np.flatnonzero(lacking < window)[:left]
        kept.append((rows.take(inside, axis=0), lacking[inside].astype(np.int64) + 1))
        left -= inside.size
    return np.concatenate([rows for rows, _ in kept]), np.concatenate([lack for _, lack in kept])


def first_chance(values: int, size: int) -> tuple[Fraction, int]:
    """Return the probability of the first coins, and how many members they may leave to add.

    The window is 2/3 of a standard deviation of the number of ones, which a fourth of all rows hit.
    The probability has few bits, so that few rounds settle its coins, and aims at the window's
    middle.

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
