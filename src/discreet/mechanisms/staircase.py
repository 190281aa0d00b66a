"""The staircase mechanism: the least noise that pure differential privacy allows.

Trust: kernel.

Theorem (key ``staircase``; Geng and Viswanath 2016).  Among all noise added to an integer query of
sensitivity d, whatever the answer, the smallest E|Z| (and the smallest variance) at epsilon-DP is
that of a staircase law with the right step.  On the reals the best E|Z| is
d e^(epsilon/2) / (e^epsilon - 1), against d / epsilon of Laplace noise: worth it from epsilon 2 on.
Its loss does not shrink with the distance: any move of 1 to d crosses at most one stair and may
cross one, so the loss at distance t is exactly ceil(t / d) epsilon.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from discreet.errors import WrongKind
from discreet.exact import Interval, positive, whole
from discreet.loss import PrivacyLoss, Pure
from discreet.mechanisms.additive import Additive, integers
from discreet.mechanisms.arguments import Number, factor, steps_at
from discreet.mechanisms.mechanism import Mechanism, ReferenceLaw
from discreet.mechanisms.staircase_noise import StaircaseNoise
from discreet.noise import SYSTEM, Entropy

__all__ = ["Staircase"]


@final
@dataclass(frozen=True, slots=True, init=False)
class Staircase(Mechanism[int, int]):
    """Add staircase noise to an integer.

    >>> count = Staircase(epsilon=4, sensitivity=10)
    >>> count.step, count.loss(distance=10).epsilon(delta=0)
    (2, 4.0)
    >>> isinstance(count.run(1000), int)
    True
    """

    epsilon: Fraction
    sensitivity: int
    step: int

    def __init__(self, *, epsilon: Number, sensitivity: int, step: int | None = None) -> None:
        """Take the loss at a distance, and perhaps the width of the upper stair.

        Without a step the one with the smallest E|Z| is chosen.
        """
        price = factor(epsilon, name="epsilon")
        width = whole(sensitivity, name="sensitivity", low=1)
        law = StaircaseNoise(epsilon=price, sensitivity=width, step=1 if step is None else step)
        if step is None:
            best = self.best_step(epsilon=price, sensitivity=width)
            law = StaircaseNoise(epsilon=price, sensitivity=width, step=best)
        object.__setattr__(self, "epsilon", law.epsilon)
        object.__setattr__(self, "sensitivity", law.sensitivity)
        object.__setattr__(self, "step", law.step)

    @staticmethod
    def best_step(*, epsilon: Number, sensitivity: int, power: int = 1) -> int:
        """Return the step of the smallest E|Z|**power, for power 1 or 2.

        The step changes the accuracy only, so floats may choose it.  The moment is a convex
        function of the step over a linear one, so it falls and then rises.

        >>> Staircase.best_step(epsilon=1, sensitivity=1000)  # near 1000 / (1 + e^(1/2))
        378
        """
        price = float(positive(factor(epsilon, name="epsilon"), name="epsilon"))
        d = whole(sensitivity, name="sensitivity", low=1)
        low, high = 1, d
        moment = _moment(price, d, whole(power, name="power", low=1, high=2))
        while low < high:
            middle = (low + high) // 2
            if moment(middle) <= moment(middle + 1):
                high = middle
            else:
                low = middle + 1
        return low

    def loss(self, *, distance: Number = 1) -> PrivacyLoss:
        """Return the pure loss between integers at this distance; no smaller epsilon will do."""
        apart = steps_at(distance)
        return Pure(epsilon=-(-apart // self.sensitivity) * self.epsilon)

    def error(self, *, confidence: Number) -> int | Fraction:
        """Return the exact error."""
        return self._additive().error(confidence, 1)

    def mean_magnitude(self) -> Interval:
        """Enclose the expected error E|Z|."""
        return self.noise().mean_magnitude()

    def run(self, value: int, *, entropy: Entropy = SYSTEM) -> int:
        """Return the value plus noise."""
        return int(self._additive().run(_integer(value), entropy))

    def reference_pmf(self, value: int) -> ReferenceLaw:
        """Return the law of the answer as a function of an integer."""
        return self._additive().reference_pmf(_integer(value))

    def noise(self) -> StaircaseNoise:
        """Return the law of the noise."""
        return _noise(self.epsilon, self.sensitivity, self.step)

    def _additive(self) -> Additive:
        return Additive(self.noise(), None)


def _integer(value: object) -> int:
    number = integers(value, name="value")
    if not isinstance(number, int):
        raise WrongKind(
            what="the value is not one integer.",
            why="staircase noise is priced for one number; each further one costs as much again.",
            do="give an int, or use Laplace noise for vectors.",
        )
    return number


@functools.lru_cache(maxsize=64)
def _noise(epsilon: Fraction, sensitivity: int, step: int) -> StaircaseNoise:
    return StaircaseNoise(epsilon=epsilon, sensitivity=sensitivity, step=step)


def _moment(epsilon: float, d: int, power: int) -> Callable[[int], float]:
    """Return E|Z|**power as a function of the step, in floats and up to a constant factor."""
    b, rest, unit = math.exp(-epsilon), -math.expm1(-epsilon), 1 / d

    def below(x: float, n: int) -> float:
        """Sum u**n over the places u below x, times the unit."""
        return (x, x * (x - unit) / 2, (x - unit) * x * (2 * x - unit) / 6)[n]

    def moment(r: int) -> float:
        x = r / d
        total = 2 * x - unit + b * (2 * (1 - x) + unit)
        first, second, third = (below(x, n) + b * (below(1, n) - below(x, n)) for n in range(3))
        if power == 1:
            return (first * b + second * rest) / total
        return (first * b * (1 + b) + 2 * second * b * rest + third * rest**2) / total

    return moment
