"""The geometric law, and the discrete Laplace law, which is the two-sided geometric one.

Trust: kernel.

Let a = exp(-1/scale).
Definition.  The geometric law has P[Z = k] = (1 - a) a**k for k = 0, 1, 2, ..., and
P[Z > k] = a**(k+1).
Definition.  The discrete Laplace law has P[Z = k] = (1 - a)/(1 + a) * a**|k| for every integer k;
P[Z > k] = a**(k+1) / (1 + a) for k >= 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.exact import ExactNumber, Interval
from discreet.noise.chance import Decay, ScaledExponential, complement, ratio
from discreet.noise.distribution import BITS, Distribution, Moments, checked_scale, empty
from discreet.noise.entropy import Entropy
from discreet.noise.rare_events import laplace_beyond_into
from discreet.noise.tablefree import FreeSizes, Parameters, geometric_into, laplace_into
from discreet.noise.two_sided import TwoSidedLaw

_ONE = Interval(Fraction(1), Fraction(1))
_NONE = Interval(Fraction(0), Fraction(0))


@final
@dataclass(frozen=True, slots=True, init=False)
class Geometric(Distribution):
    """Waiting times: k >= 0 with P[Z = k] proportional to exp(-k / scale).

    >>> law = Geometric(scale=3)
    >>> law.quantile("0.95"), int(law.sample(1000).min()) >= 0
    (8, True)
    """

    scale: Fraction

    def __init__(self, *, scale: ExactNumber) -> None:
        """Take an exact scale between 2**-200 and 2**50."""
        object.__setattr__(self, "scale", checked_scale(scale, name="scale"))

    def _sample(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        """Return independent draws; values beyond int64 stop at its end."""
        out = empty(count)
        geometric_into(out, Parameters.same(self.scale), entropy)
        return out

    def _pmf(self, k: int, bits: int) -> Interval:
        """Enclose P[Z = k]."""
        if k < 0:
            return _NONE
        return ScaledExponential(k / self.scale, complement(ratio(self.scale, bits))).bounds(bits)

    def _cdf(self, k: int, bits: int) -> Interval:
        """Enclose P[Z <= k]."""
        extra = 2 * math.ceil(self.scale).bit_length()
        return complement(self._survival(k, bits + extra))

    def _survival(self, k: int, bits: int) -> Interval:
        """Enclose P[Z > k]."""
        if k < 0:
            return _ONE
        return ScaledExponential((k + 1) / self.scale, _ONE).bounds(bits)

    def _log_survival(self, k: int, bits: int) -> Interval:
        """Enclose ln P[Z > k], at any depth."""
        exponent = Fraction(max(0, k + 1)) / self.scale
        return ScaledExponential(exponent, _ONE).log_bounds(bits)

    def moments(self) -> Moments:
        """Enclose mean and variance: a / (1 - a) and a / (1 - a)**2."""
        a = ratio(self.scale, 2 * BITS)
        return Moments(
            mean=Interval(a.low / (1 - a.low), a.high / (1 - a.high)),
            variance=Interval(a.low / (1 - a.low) ** 2, a.high / (1 - a.high) ** 2),
        )


_NARROW: Final = 16


@final
@dataclass(frozen=True, slots=True, init=False)
class DiscreteLaplace(TwoSidedLaw):
    """Integer noise with P[Z = k] proportional to exp(-|k| / scale).

    >>> law = DiscreteLaplace(scale=2)
    >>> law.pmf(0), law.quantile("0.975")
    (0.24491866240370913, 6)
    >>> law.sample(1000).dtype
    dtype('int64')
    """

    scale: Fraction

    def __init__(self, *, scale: ExactNumber) -> None:
        """Take an exact scale between 2**-200 and 2**50."""
        object.__setattr__(self, "scale", checked_scale(scale, name="scale"))

    @property
    def decay(self) -> Decay:
        """The exponent of the weights."""
        return Decay(linear=1 / self.scale)

    @property
    def _block_bits(self) -> int | None:
        return None if self.scale <= _NARROW else max(1, math.floor(self.scale).bit_length() - 5)

    @property
    def parameter(self) -> Fraction:
        """The scale."""
        return self.scale

    draw_each_into = staticmethod(laplace_into)

    def _beyond_into(
        self, out: NDArray[np.int64], least: int, entropy: Entropy, sizes: FreeSizes
    ) -> None:
        laplace_beyond_into(out, self.scale, least, entropy, sizes)

    def _pmf(self, k: int, bits: int) -> Interval:
        """Enclose P[Z = k]."""
        a = ratio(self.scale, bits)
        factor = Interval((1 - a.high) / (1 + a.high), (1 - a.low) / (1 + a.low))
        return ScaledExponential(abs(k) / self.scale, factor).bounds(bits)

    def moments(self) -> Moments:
        """Enclose mean and variance: 0 and 2a / (1 - a)**2."""
        a = ratio(self.scale, 2 * BITS)
        variance = Interval(2 * a.low / (1 - a.low) ** 2, 2 * a.high / (1 - a.high) ** 2)
        return Moments(mean=Interval(Fraction(0), Fraction(0)), variance=variance)

    def estimated_quantile(self, tail: float) -> float:
        """Return about which k >= 0 has P[Z >= k] = tail."""
        rate = 1 / float(self.scale)
        return -math.log(tail * (1 + math.exp(-rate))) / rate

    def _tail(self, k: int, bits: int) -> ScaledExponential:
        a = ratio(self.scale, bits)
        return ScaledExponential((k + 1) / self.scale, Interval(1 / (1 + a.high), 1 / (1 + a.low)))
