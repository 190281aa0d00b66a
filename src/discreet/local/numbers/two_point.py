"""Two-point response: a number goes to one end of its range, and the end is reported privately.

Trust: kernel.

Definition (Duchi, Jordan and Wainwright 2018).  The codes are the ends, -1 and 1; a report is the
true end with chance e^epsilon / (1 + e^epsilon), else the other one.  It stands for the level
(e^epsilon + 1) / (e^epsilon - 1), with the sign of its end.
A number x has variance ((e^epsilon + 1) / (e^epsilon - 1))**2 - x**2 (key ``number-estimate``).
One bit a report; the worst variance falls to 1 and no further as epsilon grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from discreet.exact import whole
from discreet.local.numbers.number_randomizer import NumberRandomizer
from discreet.local.randomizers.randomizer import Reports, checked_codes, local_epsilon
from discreet.mechanisms.mechanism import Number
from discreet.mechanisms.randomized_response import respond, response_chances
from discreet.noise import SYSTEM, Entropy


@final
@dataclass(frozen=True, slots=True, init=False)
class TwoPoint(NumberRandomizer):
    """Report one of the two ends.

    >>> round(TwoPoint(epsilon=1).variance().nearest(), 3)
    4.683
    >>> TwoPoint(epsilon=1).run_each(np.array([0, 1, 1])).shape
    (3,)
    """

    name: ClassVar[str] = "two-point"

    epsilon: Fraction
    values: int

    def __init__(self, *, epsilon: Number, values: int = 2) -> None:
        """Take the loss of a report; there are two values, the ends of the range."""
        object.__setattr__(self, "epsilon", local_epsilon(epsilon))
        object.__setattr__(self, "values", whole(values, name="values", low=2, high=2))

    @property
    def outcomes(self) -> int:
        """Return 2."""
        return 2

    def points(self) -> tuple[Fraction, ...]:
        """Return the ends."""
        return Fraction(-1), Fraction(1)

    def levels(self) -> tuple[Fraction, ...]:
        """Return the ends, moved apart."""
        kept, lied = response_chances(self.epsilon, 2)
        return -1 / (kept - lied), 1 / (kept - lied)

    def law(self, code: int) -> tuple[Fraction, ...]:
        """Return the chances of both ends."""
        kept, lied = response_chances(self.epsilon, 2)
        return (lied, kept) if code else (kept, lied)

    def telling_chances(self) -> tuple[Fraction, Fraction]:
        """Return the chances of both ends."""
        return response_chances(self.epsilon, 2)

    def mean_squares(self) -> tuple[Fraction, ...]:
        """Return the square of the levels, which is the same for both."""
        square = self.levels()[1] ** 2
        return square, square

    def run_each(self, codes: NDArray[np.integer[Any]], *, entropy: Entropy = SYSTEM) -> Reports:
        """Return one end for each person."""
        ends = checked_codes(codes, 2).astype(np.int64, copy=False)
        return respond(ends, self.epsilon, 2, entropy).astype(np.uint8)
