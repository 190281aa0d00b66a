"""Hadamard response: one private bit about the value, and a public row that says which bit.

Trust: kernel.

Definition.  K is the least power of two above k.  A report is a row j, uniform below K and chosen
without looking at the value, and the sign H[j, v + 1] = (-1)**(number of ones in j & (v + 1)),
turned with probability 1 / (e^epsilon + 1).  Column 0 is constant and would reveal nothing.
Theorem (key ``hadamard-oracle``; Bassily and Smith 2015, Acharya, Sun and Zhang 2019).  Two columns
but the first agree on half of all rows.  So p = e^epsilon / (e^epsilon + 1) and q = 1/2, and at
share 0 the variance is ((e^epsilon + 1)/(e^epsilon - 1))**2 / n.
Decoding.  If T[j] is the number of reports of row j with sign + minus that with sign -, then
(H T)[v + 1] is the number of reports that support v minus that of the others: all counts take one
fast Walsh-Hadamard transform, in exact integers.

A report is an integer: twice its row, plus 1 if the sign is negative.

Signed Hadamard response: a node and a side, in one noisy sign of a random row.

Definition.  The code of node i and side s (0 left, 1 right) is 2 i + s.  A report is that of
Hadamard response about the node, with its sign turned for the right side.
Theorem (key ``signed-hadamard``; Cormode, Kulkarni and Srivastava 2019, Answering Range Queries
Under Local Differential Privacy).  Two sides of one node have opposite signs in every row, so the
loss is that of one coin, exactly epsilon.  Let C reports support the left side of a node, and p be
the probability of a true sign: (C/n - 1/2)/(p - 1/2) estimates the share of the left side minus
that of the right one without bias, with at most the variance of Hadamard response: half of what
estimating both sides would have.
Proof.  Turning a sign by the value is a bijection of reports.  Those who
hold the right side support the left one with probability 1 - p, and all others with probability
1/2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange
from discreet.exact import Interval, freeze, whole
from discreet.local.randomizer import (
    FrequencyOracle,
    IntegerReports,
    Reports,
    checked_codes,
    local_epsilon,
    value_count,
)
from discreet.mechanisms.mechanism import Number
from discreet.mechanisms.randomized_response import response_chances
from discreet.noise import SYSTEM, Bernoulli, Entropy
from discreet.noise.entropy import word_type

_MOST: Final = 1 << 24
_CHUNK: Final = 1 << 16  # people whose words stay in the cache


@final
@dataclass(frozen=True, slots=True, init=False)
class Hadamard(IntegerReports, FrequencyOracle):
    """Report one noisy sign of a random row of the Hadamard matrix.

    >>> Hadamard(epsilon=1, values=128).bits
    9
    >>> round(Hadamard(epsilon=1, values=128).variance().nearest(), 4)
    4.6827
    """

    name: ClassVar[str] = "hadamard"

    epsilon: Fraction
    values: int

    def __init__(self, *, epsilon: Number, values: int) -> None:
        """Take the loss of a report, and how many values there are."""
        freeze(self, epsilon=local_epsilon(epsilon), values=value_count(values, high=_MOST))

    @property
    def rows(self) -> int:
        """Return how many rows the matrix has: the least power of two above the values."""
        return 1 << self.values.bit_length()

    @property
    def outcomes(self) -> int:
        """Return two signs for each row."""
        return 2 * self.rows

    def exact_chances(self) -> tuple[Fraction, Fraction]:
        """Return the probability of the true sign, and a half."""
        return response_chances(self.epsilon, 2)[0], Fraction(1, 2)

    def telling_chances(self) -> tuple[Fraction, Fraction]:
        """Return half the probabilities of the true and the wrong sign: half of the rows tell."""
        kept, lied = response_chances(self.epsilon, 2)
        return kept / 2, lied / 2

    def run_each(self, codes: NDArray[np.integer[Any]], *, entropy: Entropy = SYSTEM) -> Reports:
        """Return one integer for each person."""
        truths = checked_codes(codes, self.values)
        coin = Bernoulli(p=response_chances(self.epsilon, 2)[1])
        width = self.values.bit_length()
        reports = np.empty(truths.size, word_type(self.bits))
        for start in range(0, truths.size, _CHUNK):
            part = truths[start : start + _CHUNK]
            rows = entropy.words(part.size, width).astype(reports.dtype, copy=False)
            columns = part.astype(reports.dtype)
            columns += 1
            columns &= rows
            negative = np.bitwise_count(columns) & 1
            negative ^= coin.flips(part.size, entropy).view(np.uint8)
            rows <<= 1
            rows |= negative
            reports[start : start + _CHUNK] = rows
        return reports

    def reference_pmf(self, value: int) -> dict[int, Interval]:
        """Return the probability of every row and sign."""
        truth = whole(value, name="the code of a value", low=0, high=self.values - 1)
        kept, lied = (
            Interval(chance / self.rows, chance / self.rows)
            for chance in response_chances(self.epsilon, 2)
        )
        law = {}
        for row in range(self.rows):
            sign = (row & (truth + 1)).bit_count() & 1
            law[2 * row + sign], law[2 * row + 1 - sign] = kept, lied
        return law

    def supports(self, tally: NDArray[np.int64]) -> NDArray[np.int64]:
        """Transform the counters."""
        supported = tally[0::2] - tally[1::2]
        transform_in_place(supported)
        supported += tally.sum()  # twice the supports
        supported >>= 1
        return supported[1 : self.values + 1]


def transform_in_place(signal: NDArray[np.int64]) -> None:
    """Multiply by the Hadamard matrix, in n log n additions; n is a power of two.

    >>> signal = np.array([1, 2, 3, 5])
    >>> transform_in_place(signal)
    >>> signal.tolist()
    [11, -3, -5, 1]
    """
    half = 1
    while half < signal.size:
        pairs = signal.reshape(-1, 2, half)
        first, second = pairs[:, 0, :], pairs[:, 1, :]
        first += second
        second *= -2
        second += first
        half *= 2


@final
@dataclass(frozen=True, slots=True, init=False)
class SignedHadamard(IntegerReports, FrequencyOracle):
    """Report a noisy sign of a node, turned for one of its two sides.

    >>> SignedHadamard(epsilon=1, values=8).bits
    4
    >>> SignedHadamard(epsilon=1, values=8).loss().epsilon(delta=0)
    1.0
    """

    name: ClassVar[str] = "signed hadamard"

    epsilon: Fraction
    values: int

    def __init__(self, *, epsilon: Number, values: int) -> None:
        """Take the loss of a report, and twice the number of nodes."""
        count = value_count(values, high=_MOST)
        if count % 2:
            raise OutOfRange("the number of values is odd; give twice the number of nodes.")
        freeze(self, epsilon=local_epsilon(epsilon), values=count)

    @property
    def _nodes(self) -> Hadamard:
        return Hadamard(epsilon=self.epsilon, values=max(self.values // 2, 2))

    @property
    def outcomes(self) -> int:
        """Return two signs for each row."""
        return self._nodes.outcomes

    def exact_chances(self) -> tuple[Fraction, Fraction]:
        """Return the probability of a true sign, and a half, for other nodes."""
        return self._nodes.exact_chances()

    def telling_chances(self) -> tuple[Fraction, Fraction]:
        """Return the probabilities of true and wrong signs: two sides differ in every row."""
        return response_chances(self.epsilon, 2)

    def run_each(self, codes: NDArray[np.integer[Any]], *, entropy: Entropy = SYSTEM) -> Reports:
        """Return one integer for each person: the lowest bit is the sign."""
        truths = checked_codes(codes, self.values)
        reports = self._nodes.run_each(truths >> 1, entropy=entropy)
        return reports ^ (truths & 1).astype(reports.dtype)

    def reference_pmf(self, value: int) -> dict[int, Interval]:
        """Return the probability of every row and sign."""
        code = whole(value, name="the code of a value", low=0, high=self.values - 1)
        law = self._nodes.reference_pmf(code >> 1)
        return {report ^ (code & 1): chance for report, chance in law.items()}

    def supports(self, tally: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many reports support each side: all others support the other side."""
        left = self._nodes.supports(tally)[: self.values // 2]
        return np.stack([left, tally.sum() - left], axis=1).ravel()
