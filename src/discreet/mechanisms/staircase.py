"""The staircase mechanism and its noise: the least that pure differential privacy allows.

Trust: kernel.

Definition.  With sensitivity d, a step r in {1, ..., d} and b = e^-epsilon, P[|Z| = m] is constant
on stairs: for m = k d + u with 0 <= u < d,

    P[Z = m] = P[Z = -m] = (1 - b) b^j / D,   j = k if u < r, else k + 1,
    D = 2r - 1 + b (2(d - r) + 1).

Theorem (key ``staircase-sampler``).  Let G be geometric with P[G >= k] = b^k; let B be 0 or 1 with
odds r to b (d - r); let U be uniform on r values if B = 0, else on d - r values.  With a fair sign,
and minus zero rejected, G d + B r + U has this law.

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
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import INT64_MAX
from discreet.certified import exp_neg
from discreet.errors import WrongKind
from discreet.exact import Interval, positive, whole
from discreet.loss import PrivacyLoss, Pure
from discreet.mechanisms.additive import Additive, integers
from discreet.mechanisms.mechanism import Mechanism, Number, ReferenceLaw, factor, steps_at
from discreet.noise import SYSTEM, Distribution, Entropy, Geometric, Moments, Uniform
from discreet.noise.categorical import WeightedTable
from discreet.noise.chance import ScaledExponential, complement, ratio
from discreet.noise.distribution import checked_scale
from discreet.noise.table import TableSizes

_BITS: Final = 64
_SIZES: Final = TableSizes(guide_bits=8)
_NONE: Final = Interval(Fraction(0), Fraction(0))


@final
@dataclass(frozen=True, slots=True, init=False)
class StaircaseNoise(Distribution):
    """Integer noise whose law goes down a staircase, a factor of e^epsilon each ``sensitivity``.

    >>> law = StaircaseNoise(epsilon=Fraction(3), sensitivity=4, step=1)
    >>> law.pmf(1) == law.pmf(4) and round(law.pmf(0) / law.pmf(1), 6)  # e^3
    20.085537
    """

    epsilon: Fraction
    sensitivity: int
    step: int

    def __init__(self, *, epsilon: Fraction, sensitivity: int, step: int) -> None:
        """Take the height of a stair, the width of a period, and where in it the stair is."""
        object.__setattr__(self, "epsilon", positive(epsilon, name="epsilon"))
        width = whole(sensitivity, name="sensitivity", low=1, high=1 << 57)
        checked_scale(width / self.epsilon, name="sensitivity / epsilon")
        object.__setattr__(self, "sensitivity", width)
        object.__setattr__(self, "step", whole(step, name="step", low=1, high=width))

    def _sample(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        """Return independent draws; values beyond int64 stop at its ends."""
        parts = [np.empty(0, np.int64)]
        while count:
            parts.append(self.attempt(count, entropy))
            count -= parts[-1].size
        return np.concatenate(parts)

    def attempt(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        """Draw ``count`` signs and magnitudes, and reject minus zero."""
        r, d = self.step, self.sensitivity
        periods = Geometric(scale=1 / self.epsilon).sample(count, entropy)
        magnitude = np.minimum(periods, INT64_MAX // d - 1) * d
        inner = Uniform(below=r).sample(count, entropy)
        if r < d:
            low = _stairs(self.epsilon, r, d).sample(count, entropy) == 1
            outer = r + Uniform(below=d - r).sample(count, entropy)
            inner = np.where(low, outer, inner)
        magnitude += inner
        negative = entropy.words(count, 1).astype(np.bool_)
        signed = np.where(negative, -magnitude, magnitude)
        kept: NDArray[np.int64] = signed[~(negative & (magnitude == 0))]
        return kept

    def _pmf(self, k: int, bits: int) -> Interval:
        """Enclose P[Z = k]."""
        periods, rest = divmod(abs(k), self.sensitivity)
        b = self._decay(bits)
        share = Interval((1 - b.high) / self._total(b.high), (1 - b.low) / self._total(b.low))
        return ScaledExponential((periods + (rest >= self.step)) * self.epsilon, share).bounds(bits)

    def _cdf(self, k: int, bits: int) -> Interval:
        """Enclose P[Z <= k]."""
        return self._survival(-k - 1, bits)

    def _survival(self, k: int, bits: int) -> Interval:
        """Enclose P[Z > k]."""
        if k < 0:
            return complement(self._tail(-k, bits))
        return self._tail(k + 1, bits)

    def moments(self) -> Moments:
        """Enclose mean and variance."""
        b = self._decay(4 * _BITS)
        return Moments(mean=_NONE, variance=self._power_mean(b, 2))

    def mean_magnitude(self) -> Interval:
        """Enclose E|Z|."""
        return self._power_mean(self._decay(4 * _BITS), 1)

    def _decay(self, bits: int) -> Interval:
        return ratio(1 / self.epsilon, bits)

    def _total(self, b: Fraction) -> Fraction:
        """Return D; it grows with b."""
        return 2 * self.step - 1 + b * (2 * (self.sensitivity - self.step) + 1)

    def _tail(self, m: int, bits: int) -> Interval:
        """Enclose P[Z >= m] for m >= 1.

        With A stairs of height 1 and B of height b left in the period of m, it is
        b^k (A + b (B - A + r) + b^2 (d - r - B)) / D, and no coefficient is negative.
        """
        r, d = self.step, self.sensitivity
        periods, u = divmod(m, d)
        upper, lower = max(r - u, 0), d - max(u, r)
        b = self._decay(bits)

        def share(x: Fraction, y: Fraction) -> Fraction:
            return (upper + x * (lower - upper + r) + x * x * (d - r - lower)) / self._total(y)

        return ScaledExponential(
            periods * self.epsilon, Interval(share(b.low, b.high), share(b.high, b.low))
        ).bounds(bits)

    def _power_mean(self, b: Interval, power: int) -> Interval:
        """Enclose E|Z|**power for power 1 or 2; numerator and D grow with b."""

        def numerator(x: Fraction) -> Fraction:
            first, second = (_law_moment(x, self.step, self.sensitivity, n) for n in (0, 1))
            d, odds = self.sensitivity, x / (1 - x)
            if power == 1:
                return 2 * (d * first * odds + second)
            third = _law_moment(x, self.step, self.sensitivity, 2)
            return 2 * (d * d * first * odds * (1 + x) / (1 - x) + 2 * d * second * odds + third)

        return Interval(
            numerator(b.low) / self._total(b.high), numerator(b.high) / self._total(b.low)
        )


def _law_moment(b: Fraction, r: int, d: int, power: int) -> Fraction:
    """Return the sum of u**power over u < r, plus b times that over r <= u < d."""
    inner, all_of_it = (_power_sum(n, power) for n in (r, d))
    return inner + b * (all_of_it - inner)


def _power_sum(n: int, power: int) -> int:
    """Return the sum of u**power over 0 <= u < n."""
    return (n, n * (n - 1) // 2, (n - 1) * n * (2 * n - 1) // 6)[power]


@functools.lru_cache(maxsize=64)
def _stairs(epsilon: Fraction, r: int, d: int) -> WeightedTable:
    """Return a coin with odds of r to b (d - r): 1 is the lower stair."""

    def weights(bits: int) -> tuple[list[int], list[int]]:
        low, high = exp_neg(epsilon, bits)
        return [r << bits, (d - r) * low], [r << bits, (d - r) * high]

    return WeightedTable(weights, _SIZES)


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
