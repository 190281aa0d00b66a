"""Direct response: report the value itself, or another one (k-ary randomized response).

Trust: kernel.

Definition.  The distribution of ``RandomizedResponse`` on the codes of a domain (keys
``response-mechanism`` and ``response-estimate``), with arrays in place of lists.  A report supports
the value that it names: p = e^epsilon / (e^epsilon + k - 1) and q = 1 / (e^epsilon + k - 1).
It is the best oracle for few values: k < 3 e^epsilon + 2 against optimized unary response.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

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
from discreet.mechanisms.randomized_response import respond, response_chances
from discreet.noise import SYSTEM, Entropy
from discreet.noise.entropy import word_type

_MOST: Final = 1 << 24
_CHUNK: Final = 1 << 16  # people whose words stay in the cache


@final
@dataclass(frozen=True, slots=True, init=False)
class Direct(IntegerReports, FrequencyOracle):
    """Report the value with probability e^epsilon / (e^epsilon + k - 1), else another one, evenly.

    >>> round(Direct(epsilon=1, values=10).variance().nearest(), 4)
    3.6302
    >>> Direct(epsilon=1, values=10).run_each(np.array([3, 1, 4])).shape
    (3,)
    """

    name: ClassVar[str] = "direct"

    epsilon: Fraction
    values: int

    def __init__(self, *, epsilon: Number, values: int) -> None:
        """Take the loss of a report, and how many values there are."""
        freeze(self, epsilon=local_epsilon(epsilon), values=value_count(values, high=_MOST))

    @property
    def outcomes(self) -> int:
        """Return the number of values."""
        return self.values

    def exact_chances(self) -> tuple[Fraction, Fraction]:
        """Return the probabilities of the true value and of one other."""
        return response_chances(self.epsilon, self.values)

    def telling_chances(self) -> tuple[Fraction, Fraction]:
        """Return the same: a report supports one value."""
        return self.exact_chances()

    def run_each(self, codes: NDArray[np.integer[Any]], *, entropy: Entropy = SYSTEM) -> Reports:
        """Return one code for each person."""
        truths = checked_codes(codes, self.values)
        reports = np.empty(truths.size, word_type(self.bits))
        for start in range(0, truths.size, _CHUNK):
            part = truths[start : start + _CHUNK]
            reports[start : start + _CHUNK] = respond(part, self.epsilon, self.values, entropy)
        return reports

    def reference_pmf(self, value: int) -> dict[int, Interval]:
        """Return the probability of every code."""
        truth = whole(value, name="the code of a value", low=0, high=self.values - 1)
        kept, lied = self.chances()
        return {code: kept if code == truth else lied for code in range(self.values)}

    def supports(self, tally: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the counters themselves."""
        return tally.copy()
