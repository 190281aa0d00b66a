"""Laplace noise on one person's number, in the local model: for study.

Trust: kernel.

Definition.  A device reports its whole number plus two-sided geometric noise.  Any two numbers of
the range are neighbors, so the distance is the width of the range, not the share of one person in a
sum: an age from 18 to 100 with noise of scale 3 has an epsilon of 82/3 (key ``laplace-mechanism``).
It is no ``Randomizer``: reports have no end, so no wire takes them, and
``WindowResponse.minimax`` has half the variance at an epsilon of 1 and a quarter at 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange
from discreet.exact import Interval, whole
from discreet.loss import PrivacyLoss, Pure
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.mechanism import Mechanism, Number, ReferenceLaw, steps_at
from discreet.noise import SYSTEM, Entropy


@final
@dataclass(frozen=True, slots=True, init=False)
class LaplaceReport(Mechanism[int, int]):
    """Report a whole number with Laplace noise.

    >>> age = LaplaceReport(low=18, high=100, scale=3)
    >>> age.epsilon
    Fraction(82, 3)
    >>> isinstance(age.run(42), int)
    True
    """

    low: int
    high: int
    noise: Laplace

    def __init__(self, *, low: int, high: int, scale: Number) -> None:
        """Take the public range, and the scale of the noise."""
        object.__setattr__(self, "low", whole(low, name="low"))
        object.__setattr__(self, "high", whole(high, name="high", low=self.low + 1))
        object.__setattr__(self, "noise", Laplace(scale=scale))

    @property
    def epsilon(self) -> Fraction:
        """Return the loss of one report."""
        return Fraction(self.high - self.low) / self.noise.scale

    def loss(self, *, distance: Number = 1) -> PrivacyLoss:
        """Return the loss between any two numbers of the range.  It is tight."""
        if steps_at(distance) == 0:
            return Pure(epsilon=0)
        return self.noise.loss(distance=self.high - self.low)

    def error(self, *, confidence: Number) -> int | Fraction:
        """Return how far a report is from its sender's number, at most."""
        return self.noise.error(confidence=confidence)

    def variance(self) -> Interval:
        """Enclose the variance of one report, whatever the number."""
        return self.noise.law.moments().variance

    def run(self, value: int, *, entropy: Entropy = SYSTEM) -> int:
        """Return one report."""
        return int(self.run_each(np.array([self._inside(value)]), entropy=entropy)[0])

    def run_each(
        self, numbers: NDArray[np.integer[Any]], *, entropy: Entropy = SYSTEM
    ) -> NDArray[np.int64]:
        """Return one report for each person."""
        if numbers.size and not self.low <= numbers.min() <= numbers.max() <= self.high:
            raise _outside()
        return numbers.astype(np.int64) + self.noise.law.sample(numbers.size, entropy)

    def reference_pmf(self, value: int) -> ReferenceLaw:
        """Return the chance of every report."""
        return self.noise.reference_pmf(self._inside(value))

    def _inside(self, value: int) -> int:
        number = whole(value, name="the number")
        if not self.low <= number <= self.high:
            raise _outside()
        return number


def _outside() -> OutOfRange:
    return OutOfRange(
        what="a number is outside the public range.",
        why="the loss is counted between numbers inside it.",
        do="clamp numbers to the range first.",
    )
