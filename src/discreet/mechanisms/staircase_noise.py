"""The staircase law on the integers.

Trust: kernel.

Definition.  With sensitivity d, a step r in {1, ..., d} and b = e^-epsilon, P[|Z| = m] is constant
on stairs: for m = k d + u with 0 <= u < d,

    P[Z = m] = P[Z = -m] = (1 - b) b^j / D,   j = k if u < r, else k + 1,
    D = 2r - 1 + b (2(d - r) + 1).

Theorem (key ``staircase-sampler``).  Let G be geometric with P[G >= k] = b^k; let B be 0 or 1 with
odds r to b (d - r); let U be uniform on r values if B = 0, else on d - r values.  With a fair sign,
and minus zero rejected, G d + B r + U has this law.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import INT64_MAX
from discreet.certified import exp_neg
from discreet.exact import Interval, positive, whole
from discreet.noise import Distribution, Entropy, Geometric, Moments, Uniform
from discreet.noise.distribution import complement
from discreet.noise.exponential import Scaled, ratio
from discreet.noise.finite import WeightedTable
from discreet.noise.limits import checked_scale
from discreet.noise.table import TableSizes

__all__ = ["StaircaseNoise"]

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
        """Draw so many signs and magnitudes, and leave out minus zero."""
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
        return Scaled((periods + (rest >= self.step)) * self.epsilon, share).bounds(bits)

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

        return Scaled(
            periods * self.epsilon, Interval(share(b.low, b.high), share(b.high, b.low))
        ).bounds(bits)

    def _power_mean(self, b: Interval, power: int) -> Interval:
        """Enclose E|Z|**power for power 1 or 2; numerator and D grow with b."""

        def numerator(x: Fraction) -> Fraction:
            first, second = (_moment(x, self.step, self.sensitivity, n) for n in (0, 1))
            d, odds = self.sensitivity, x / (1 - x)
            if power == 1:
                return 2 * (d * first * odds + second)
            third = _moment(x, self.step, self.sensitivity, 2)
            return 2 * (d * d * first * odds * (1 + x) / (1 - x) + 2 * d * second * odds + third)

        return Interval(
            numerator(b.low) / self._total(b.high), numerator(b.high) / self._total(b.low)
        )


def _moment(b: Fraction, r: int, d: int, power: int) -> Fraction:
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
