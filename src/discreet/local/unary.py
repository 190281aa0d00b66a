"""Unary response: one bit for each value, each bit noisy (basic RAPPOR without memory, and OUE).

Trust: kernel.

Definition.  A report has one bit for each of k values.  That of the sender's value is 1 with
probability p, all others with probability q, independently.  It supports the values whose bit is 1.
    symmetric   p = e^(epsilon/2) / (e^(epsilon/2) + 1), q = 1 - p (Erlingsson, Pihur and Korolova
                2014): every bit of the one-hot row is turned with probability q;
    optimized   p = 1/2, q = 1 / (e^epsilon + 1) (Wang, Blocki, Li and Jha 2017): the least variance
                at share 0 of all p and q.
Theorem (key ``unary-oracle``).  Two values differ in two bits, so the loss is that of two coins and
their largest ratio p (1 - q) / (q (1 - p)), which is e^epsilon for both.

A report is a row of bytes, the bit of code 0 lowest in the first; bits beyond the last are 0.

Sets of values as rows of bits: one bit of a person's row, and the sums of all columns.

Column sums take carry-save adders on whole words (positional population count; Muła, Kurz and
Lemire 2018).  Three rows of weight w are one row of weight w, the sum of their bits modulo 2, and
one of weight 2w, the carries.  So n rows become a few rows of each weight in n steps, each on as
many bits as a word has.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import WrongKind
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
from discreet.mechanisms.mechanism import Number
from discreet.mechanisms.randomized_response import response_chances
from discreet.noise import SYSTEM, Bernoulli, Entropy
from discreet.noise.bernoulli import packed_coins

_MOST: Final = 1 << 20
_CODINGS: Final = ("symmetric", "optimized")


@final
@dataclass(frozen=True, slots=True, init=False)
class Unary(FrequencyOracle):
    """Report a noisy bit for each value.

    >>> round(Unary(epsilon=1, values=128).variance().nearest(), 4)
    3.6827
    >>> round(Unary(epsilon=1, values=128, coding="symmetric").variance().nearest(), 4)
    3.9177
    """

    name: ClassVar[str] = "unary"
    parameters: ClassVar[tuple[str, ...]] = ("values", "coding")

    epsilon: Fraction
    values: int
    coding: str

    def __init__(self, *, epsilon: Number, values: int, coding: str = "optimized") -> None:
        """Take the loss of a report, how many values there are, and which coding."""
        if coding not in _CODINGS:
            raise WrongKind(
                "the coding of a unary response is neither symmetric nor optimized; give "
                'coding="optimized" or coding="symmetric".'
            )
        freeze(
            self,
            epsilon=local_epsilon(epsilon),
            values=value_count(values, high=_MOST),
            coding=coding,
        )

    @property
    def bits(self) -> int:
        """Return one bit for each value."""
        return self.values

    def exact_chances(self) -> tuple[Fraction, Fraction]:
        """Return how often the sender's bit is 1, and any other."""
        if self.coding == "symmetric":
            return response_chances(self.epsilon / 2, 2)
        return Fraction(1, 2), response_chances(self.epsilon, 2)[1]

    def telling_chances(self) -> tuple[Fraction, Fraction]:
        """Return how often one bit of two is 1: the sender's, and the other."""
        p, q = self.exact_chances()
        return p * (1 - q), q * (1 - p)

    def run_each(self, codes: NDArray[np.integer[Any]], *, entropy: Entropy = SYSTEM) -> Reports:
        """Return one row of bits for each person; the sender's bit is drawn separately."""
        truths = checked_codes(codes, self.values)
        p, q = self.exact_chances()
        reports = packed_coins(q, truths.size, self.values, entropy)
        own = Bernoulli(p=p).flips(truths.size, entropy).view(np.uint8)
        place, bit = cells(truths, reports.shape[1])
        flat = reports.reshape(-1)
        flat[place] = (flat[place] & ~bit) | bit * own
        return reports

    def reference_pmf(self, value: int) -> dict[bytes, Interval]:
        """Return the probability of each of the 2**k rows of bits."""
        truth = whole(value, name="the code of a value", low=0, high=self.values - 1)
        p, q = self.exact_chances()
        ones = [p if code == truth else q for code in range(self.values)]
        law = {}
        for row in itertools.product((0, 1), repeat=self.values):
            chance = Fraction(1)
            for bit, one in zip(row, ones, strict=True):
                chance *= one if bit else 1 - one
            law[np.packbits(np.array(row, np.uint8), bitorder="little").tobytes()] = Interval(
                chance, chance
            )
        return law

    def tally(self, reports: Reports) -> NDArray[np.int64]:
        """Count the ones of each value."""
        return column_sums(reports.view(np.uint8), self.values)

    def supports(self, tally: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the counters themselves."""
        return tally.copy()

    def pack(self, reports: Reports) -> Bytes:
        """Return the rows themselves."""
        return reports.view(np.uint8)

    def unpack(self, rows: Bytes) -> tuple[Reports, NDArray[np.bool_]]:
        """Read rows; one with bits beyond the last value is not valid."""
        checked_rows(rows, self.report_bytes)
        last = self.values - 8 * (row_size(self.values) - 1)
        valid = rows[:, -1] >> np.uint8(last - 1) <= 1
        return rows[valid], valid


Codes = NDArray[np.integer[Any]]

_CHUNK: Final = 1 << 18  # bytes that all steps find in the cache
_FEW: Final = 24  # rows that are added up bit by bit


def row_size(columns: int) -> int:
    """Return how many bytes hold the bits of a row.

    >>> row_size(12)
    2
    """
    return (columns + 7) // 8


def cells(codes: Codes, size: int) -> tuple[NDArray[np.intp], Bytes]:
    """Return the byte, among all rows, and the bit in it that hold each person's code.

    >>> [part.tolist() for part in cells(np.array([3, 9]), 2)]
    [[0, 3], [8, 2]]
    """
    place = np.arange(0, size * len(codes), size, dtype=np.intp)
    place += codes >> 3
    return place, np.left_shift(1, codes & 7, dtype=np.uint8, casting="unsafe")


def column_sums(rows: Bytes, columns: int) -> NDArray[np.int64]:
    """Return how many rows have a 1 in each column.

    >>> column_sums(np.array([[5, 1], [4, 1]], np.uint8), 9).tolist()
    [1, 0, 2, 0, 0, 0, 0, 0, 2]
    """
    sums = np.zeros(columns, np.int64)
    step = max(3, _CHUNK // rows.shape[1])
    for start in range(0, len(rows), step):
        weight, current = 1, rows[start : start + step]
        while len(current):
            left, carries = _carry_save(current)
            sums += weight * _added(left, columns)
            weight, current = 2 * weight, carries
    return sums


def _carry_save(rows: Bytes) -> tuple[Bytes, Bytes]:
    """Return a few rows of the same weight, and the carries, which weigh twice as much."""
    carries = []
    while len(rows) > _FEW:
        third = len(rows) // 3
        first, second, last = rows[:third], rows[third : 2 * third], rows[2 * third : 3 * third]
        odd = first ^ second
        carry = odd & last
        carry |= first & second
        carries.append(carry)
        odd ^= last
        rows = np.concatenate([odd, rows[3 * third :]]) if len(rows) % 3 else odd
    return rows, np.concatenate(carries) if carries else rows[:0]


def _added(rows: Bytes, columns: int) -> NDArray[np.int64]:
    single = np.unpackbits(rows, axis=1, count=columns, bitorder="little")
    sums: NDArray[np.int64] = single.sum(axis=0, dtype=np.int64)
    return sums


def members_of_bitmap(rows: Bytes, columns: int, size: int) -> Bytes:
    """Write the columns of the ``size`` ones of each row, in order, as short as each may be.

    >>> members_of_bitmap(np.array([[0b10010]], np.uint8), 8, 2).tolist()  # 1 and 4: 100 001
    [[33]]
    """
    width = (columns - 1).bit_length()
    single = np.unpackbits(rows, axis=1, count=columns, bitorder="little")
    members = single.nonzero()[1].reshape(len(rows), size)
    names = (members[:, :, None] >> np.arange(width)) & 1
    return np.packbits(
        names.reshape(len(rows), size * width).astype(np.uint8), axis=1, bitorder="little"
    )


def bitmap_of_members(rows: Bytes, columns: int, size: int) -> tuple[Bytes, NDArray[np.bool_]]:
    """Read columns written in order; a row with any other spelling is not valid.

    >>> bitmap_of_members(np.array([[33], [12]], np.uint8), 8, 2)[1].tolist()
    [True, False]
    """
    width = (columns - 1).bit_length()
    single = np.unpackbits(rows, axis=1, bitorder="little")
    names = single[:, : size * width].reshape(len(rows), size, width)
    members = names @ (1 << np.arange(width))
    valid = (np.diff(members, axis=1) > 0).all(axis=1) & (members[:, -1] < columns)
    valid &= ~single[:, size * width :].any(axis=1)
    bitmap = np.zeros((int(valid.sum()), columns), np.uint8)
    np.put_along_axis(bitmap, members[valid], 1, axis=1)
    return np.packbits(bitmap, axis=1, bitorder="little"), valid
