"""Signed Hadamard response: a node and a side, in one noisy sign of a random row.

Trust: kernel.

Definition.  The code of node i and side s (0 left, 1 right) is 2 i + s.  A report is that of
Hadamard response about the node, with its sign turned for the right side.
Theorem (key ``signed-hadamard``; Cormode, Kulkarni and Srivastava 2019, Answering Range Queries
Under Local Differential Privacy).  Two sides of one node have opposite signs in every row, so the
loss is that of one coin, exactly epsilon.  Let C reports support the left side of a node, and p be
the chance of a true sign: (C/n - 1/2)/(p - 1/2) estimates the share of the left side minus that of
the right one without bias, with at most the variance of Hadamard response: half of what estimating
both sides would have.
Proof.  Turning a sign by the value is a bijection of reports.  Those who
hold the right side support the left one with chance 1 - p, and all others with chance 1/2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange
from discreet.exact import Interval, whole
from discreet.local.randomizers.hadamard import Hadamard
from discreet.local.randomizers.oracle import FrequencyOracle
from discreet.local.randomizers.randomizer import (
    Bytes,
    Reports,
    checked_codes,
    local_epsilon,
    value_count,
)
from discreet.mechanisms.mechanism import Number
from discreet.mechanisms.randomized_response import response_chances
from discreet.noise import SYSTEM, Entropy

_MOST: Final = 1 << 24


@final
@dataclass(frozen=True, slots=True, init=False)
class SignedHadamard(FrequencyOracle):
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
            raise OutOfRange(
                what="the number of values is odd.",
                why="each node has two sides.",
                do="give twice the number of nodes.",
            )
        object.__setattr__(self, "epsilon", local_epsilon(epsilon))
        object.__setattr__(self, "values", count)

    @property
    def _nodes(self) -> Hadamard:
        return Hadamard(epsilon=self.epsilon, values=max(self.values // 2, 2))

    @property
    def bits(self) -> int:
        """Return how many bits name a row and a sign."""
        return self._nodes.bits

    def exact_chances(self) -> tuple[Fraction, Fraction]:
        """Return the chance of a true sign, and a half, for other nodes."""
        return self._nodes.exact_chances()

    def telling_chances(self) -> tuple[Fraction, Fraction]:
        """Return the chances of the true and the wrong sign: two sides differ in every row."""
        return response_chances(self.epsilon, 2)

    def run_each(self, codes: NDArray[np.integer[Any]], *, entropy: Entropy = SYSTEM) -> Reports:
        """Return one integer for each person: the lowest bit is the sign."""
        truths = checked_codes(codes, self.values)
        reports = self._nodes.run_each(truths >> 1, entropy=entropy)
        return reports ^ (truths & 1).astype(reports.dtype)

    def reference_pmf(self, value: int) -> dict[int, Interval]:
        """Return the chance of every row and sign."""
        code = whole(value, name="the code of a value", low=0, high=self.values - 1)
        law = self._nodes.reference_pmf(code >> 1)
        return {report ^ (code & 1): chance for report, chance in law.items()}

    @property
    def raised(self) -> int:
        """Return 1: a report is one of the things that are counted."""
        return 1

    def tally(self, reports: Reports) -> NDArray[np.int64]:
        """Count the reports of each row and sign."""
        return self._nodes.tally(reports)

    def supports(self, tally: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many reports support each side: all others support the other side."""
        left = self._nodes.supports(tally)[: self.values // 2]
        return np.stack([left, tally.sum() - left], axis=1).ravel()

    def pack(self, reports: Reports) -> Bytes:
        """Write each report in bytes, the lowest first."""
        return self._nodes.pack(reports)

    def unpack(self, rows: Bytes) -> tuple[Reports, NDArray[np.bool_]]:
        """Read reports; a row beyond the matrix is not valid."""
        return self._nodes.unpack(rows)
