"""The discrete Gaussian law.

Trust: kernel.

Definition.  P[Z = k] = exp(-k**2 / (2 variance)) / (sum of the same over all integers).
The parameter is called ``variance`` after its continuous model; the variance of the law itself lies
just below it, and ``moments`` says where.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.exact import ExactNumber, Interval
from discreet.noise.blocks import BlockSampler
from discreet.noise.distribution import BITS, Distribution, Moments, complement, log_of
from discreet.noise.entropy import SYSTEM, Entropy, checked_entropy
from discreet.noise.exponential import Scaled
from discreet.noise.gaussian_tail import normalizer, tail_ratio, variance_bounds
from discreet.noise.limits import (
    TABLE_FROM,
    checked_count,
    checked_least,
    checked_scale,
    empty,
)
from discreet.noise.series import Decay
from discreet.noise.signed import SignedSampler
from discreet.noise.table import TableSizes
from discreet.noise.tablefree import SIZES, FreeSizes, Parameters, gaussian_into

__all__ = ["DiscreteGaussian"]

_NARROW: Final = 64**2


@final
@dataclass(frozen=True, slots=True, init=False)
class DiscreteGaussian(Distribution):
    """Integer noise with P[Z = k] proportional to exp(-k**2 / (2 variance)).

    >>> law = DiscreteGaussian(variance=4)
    >>> law.pmf(0), law.quantile("0.975")
    (0.19947114020071635, 4)
    >>> law.log_survival(75)  # about 1e-314
    -723.6120857088201
    """

    variance: Fraction

    def __init__(self, *, variance: ExactNumber) -> None:
        """Take an exact variance between 2**-400 and 2**114."""
        object.__setattr__(self, "variance", checked_scale(variance, name="variance", power=2))

    @property
    def decay(self) -> Decay:
        """The exponent of the weights."""
        return Decay(quadratic=1 / (2 * self.variance))

    def _sample(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        """Return independent draws; values beyond int64 stop at its ends."""
        out = empty(count)
        if count < TABLE_FROM:
            gaussian_into(out, Parameters.same(self.variance), entropy)
        else:
            _sampler(self.variance).sample_into(out, entropy)
        return out

    def beyond(
        self, least: int, count: int, entropy: Entropy = SYSTEM, *, sizes: FreeSizes = SIZES
    ) -> NDArray[np.int64]:
        """Return independent draws of Z given that Z >= ``least``, which is not negative.

        >>> bool((DiscreteGaussian(variance=4).beyond(40, 100) >= 40).all())
        True
        """
        from discreet.noise.beyond import gaussian_beyond_into  # noqa: PLC0415  rare

        out = empty(checked_count(count))
        bits = checked_entropy(entropy)
        gaussian_beyond_into(out, self.variance, checked_least(least), bits, sizes)
        return out

    def _pmf(self, k: int, bits: int) -> Interval:
        """Enclose P[Z = k]."""
        total = normalizer(self.variance, bits)
        factor = Interval(1 / total.high, 1 / total.low)
        return Scaled(self.decay.exponent(abs(k)), factor).bounds(bits)

    def _cdf(self, k: int, bits: int) -> Interval:
        """Enclose P[Z <= k]."""
        return self._survival(-k - 1, bits)

    def _survival(self, k: int, bits: int) -> Interval:
        """Enclose P[Z > k]."""
        if k < 0:
            return complement(self._tail(-k - 1, bits).bounds(bits))
        return self._tail(k, bits).bounds(bits)

    def _log_survival(self, k: int, bits: int) -> Interval:
        """Enclose ln P[Z > k], at any depth."""
        if k < 0:
            return log_of(self._survival(k, bits), bits)
        return self._tail(k, bits).log_bounds(bits)

    def moments(self) -> Moments:
        """Enclose mean and variance."""
        zero = Interval(Fraction(0), Fraction(0))
        return Moments(mean=zero, variance=variance_bounds(self.variance, BITS))

    def _guess(self, chance: Fraction) -> int:
        tail = float(min(chance, 1 - chance))
        size = -NormalDist().inv_cdf(tail) * math.sqrt(self.variance) if tail else 0.0
        return round(math.copysign(size, chance - Fraction(1, 2)))

    def _tail(self, k: int, bits: int) -> Scaled:
        ratio, total = tail_ratio(self.variance, k + 1, bits), normalizer(self.variance, bits)
        factor = Interval(ratio.low / total.high, ratio.high / total.low)
        return Scaled(self.decay.exponent(k + 1), factor)


@functools.lru_cache(maxsize=32)
def _sampler(variance: Fraction) -> SignedSampler | BlockSampler:
    decay = Decay(quadratic=1 / (2 * variance))
    if variance <= _NARROW:
        return SignedSampler(decay, TableSizes())
    return BlockSampler(decay, math.isqrt(math.floor(variance)).bit_length() - 6, TableSizes())
