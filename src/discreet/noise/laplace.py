"""The geometric law, and the discrete Laplace law, which is the two-sided geometric one.

Trust: kernel.

The geometric law.

Definition.  P[Z = k] = (1 - a) a**k with a = exp(-1/scale), for k = 0, 1, 2, ...; P[Z > k] =
a**(k+1).

The discrete Laplace law.

Definition.  P[Z = k] = (1 - a)/(1 + a) * a**|k| with a = exp(-1/scale), for every integer k.
Also called the two-sided geometric law.  P[Z > k] = a**(k+1) / (1 + a) for k >= 0.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.exact import ExactNumber, Interval
from discreet.noise.chance import ScaledExponential, ratio
from discreet.noise.distribution import BITS, Distribution, Moments, complement, log_of
from discreet.noise.entropy import SYSTEM, Entropy, checked_entropy
from discreet.noise.scale_limits import (
    TABLE_FROM,
    checked_count,
    checked_least,
    checked_scale,
    empty,
)
from discreet.noise.tablefree import SIZES, FreeSizes, Parameters, geometric_into, laplace_into

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from discreet.noise.table import Decay, SignedSampler
    from discreet.noise.wide_table import BlockSampler

__all__ = ["DiscreteLaplace", "Geometric"]

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
        """Take an exact scale between 2**-200 and 2**57."""
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
class DiscreteLaplace(Distribution):
    """Integer noise with P[Z = k] proportional to exp(-|k| / scale).

    >>> law = DiscreteLaplace(scale=2)
    >>> law.pmf(0), law.quantile("0.975")
    (0.24491866240370913, 6)
    >>> law.sample(1000).dtype
    dtype('int64')
    """

    scale: Fraction

    def __init__(self, *, scale: ExactNumber) -> None:
        """Take an exact scale between 2**-200 and 2**57."""
        object.__setattr__(self, "scale", checked_scale(scale, name="scale"))

    @property
    def decay(self) -> Decay:
        """The exponent of the weights."""
        from discreet.noise.table import Decay  # noqa: PLC0415  rare

        return Decay(linear=1 / self.scale)

    def _sample(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        """Return independent draws; values beyond int64 stop at its ends."""
        out = empty(count)
        if count < TABLE_FROM:
            laplace_into(out, Parameters.same(self.scale), entropy)
        else:
            _sampler(self.scale).sample_into(out, entropy)
        return out

    def beyond(
        self, least: int, count: int, entropy: Entropy = SYSTEM, *, sizes: FreeSizes = SIZES
    ) -> NDArray[np.int64]:
        """Return independent draws of Z given that Z >= ``least``, which is not negative.

        >>> bool((DiscreteLaplace(scale=2).beyond(40, 100) >= 40).all())
        True
        """
        from discreet.noise.rare_events import laplace_beyond_into  # noqa: PLC0415  rare

        out = empty(checked_count(count))
        bits = checked_entropy(entropy)
        laplace_beyond_into(out, self.scale, checked_least(least), bits, sizes)
        return out

    def _pmf(self, k: int, bits: int) -> Interval:
        """Enclose P[Z = k]."""
        a = ratio(self.scale, bits)
        factor = Interval((1 - a.high) / (1 + a.high), (1 - a.low) / (1 + a.low))
        return ScaledExponential(abs(k) / self.scale, factor).bounds(bits)

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
        """Enclose mean and variance: 0 and 2a / (1 - a)**2."""
        a = ratio(self.scale, 2 * BITS)
        variance = Interval(2 * a.low / (1 - a.low) ** 2, 2 * a.high / (1 - a.high) ** 2)
        return Moments(mean=Interval(Fraction(0), Fraction(0)), variance=variance)

    def _guess(self, chance: Fraction) -> int:
        tail = float(min(chance, 1 - chance))
        size = -math.log(2 * tail) * float(self.scale) if tail else 0.0
        return round(math.copysign(size, chance - Fraction(1, 2)))

    def _tail(self, k: int, bits: int) -> ScaledExponential:
        a = ratio(self.scale, bits)
        return ScaledExponential((k + 1) / self.scale, Interval(1 / (1 + a.high), 1 / (1 + a.low)))


@functools.lru_cache(maxsize=32)
def _sampler(scale: Fraction) -> SignedSampler | BlockSampler:
    from discreet.noise.table import Decay  # noqa: PLC0415  rare

    decay = Decay(linear=1 / scale)
    from discreet.noise.table import TableSizes  # noqa: PLC0415  rare

    if scale <= _NARROW:
        from discreet.noise.table import SignedSampler  # noqa: PLC0415  rare

        return SignedSampler(decay, TableSizes())
    from discreet.noise.wide_table import BlockSampler  # noqa: PLC0415  rare

    return BlockSampler(decay, max(1, math.floor(scale).bit_length() - 5), TableSizes())
