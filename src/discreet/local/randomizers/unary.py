"""Unary response: one bit for each value, each bit noisy (basic RAPPOR without memory, and OUE).

Trust: kernel.

Definition.  A report has one bit for each of k values.  That of the sender's value is 1 with chance
p, all others with chance q, independently.  It supports the values whose bit is 1.
    symmetric   p = e^(epsilon/2) / (e^(epsilon/2) + 1), q = 1 - p (Erlingsson, Pihur and Korolova
                2014): every bit of the one-hot row is turned with chance q;
    optimized   p = 1/2, q = 1 / (e^epsilon + 1) (Wang, Blocki, Li and Jha 2017): the least variance
                at share 0 of all p and q.
Theorem (key ``unary-oracle``).  Two values differ in two bits, so the loss is that of two coins and
their largest ratio p (1 - q) / (q (1 - p)), which is e^epsilon for both.

A report is a row of bytes, the bit of code 0 lowest in the first; bits beyond the last are 0.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import WrongKind
from discreet.exact import Interval, whole
from discreet.local.randomizers.bitmap import cells, column_sums, row_size
from discreet.local.randomizers.oracle import FrequencyOracle
from discreet.local.randomizers.randomizer import (
    Bytes,
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

    epsilon: Fraction
    values: int
    coding: str

    def __init__(self, *, epsilon: Number, values: int, coding: str = "optimized") -> None:
        """Take the loss of a report, how many values there are, and which coding."""
        if coding not in _CODINGS:
            raise WrongKind(
                what="the coding of a unary response is neither symmetric nor optimized.",
                why="it says with which chances bits are 1.",
                do='give coding="optimized" or coding="symmetric".',
            )
        object.__setattr__(self, "epsilon", local_epsilon(epsilon))
        object.__setattr__(self, "values", value_count(values, high=_MOST))
        object.__setattr__(self, "coding", coding)

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
        """Return one row of bits for each person; the sender's bit is drawn apart for everybody."""
        truths = checked_codes(codes, self.values)
        p, q = self.exact_chances()
        reports = packed_coins(q, truths.size, self.values, entropy)
        own = Bernoulli(p=p).flips(truths.size, entropy).view(np.uint8)
        place, bit = cells(truths, reports.shape[1])
        flat = reports.reshape(-1)
        flat[place] = (flat[place] & ~bit) | bit * own
        return reports

    def reference_pmf(self, value: int) -> dict[bytes, Interval]:
        """Return the chance of every row of bits, of which there are 2**k."""
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

    def describe(self) -> dict[str, str | int]:
        """Return name and parameters, ready for JSON."""
        return {
            "name": self.name,
            "epsilon": str(self.epsilon),
            "values": self.values,
            "coding": self.coding,
        }
