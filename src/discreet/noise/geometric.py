"""The geometric law.

Trust: kernel.

Definition.  P[Z = k] = (1 - a) a**k with a = exp(-1/scale), for k = 0, 1, 2, ...; P[Z > k] =
a**(k+1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from discreet.exact import ExactNumber, Interval
from discreet.noise.distribution import BITS, Distribution, Moments, complement
from discreet.noise.entropy import Entropy
from discreet.noise.exponential import Scaled, ratio
from discreet.noise.limits import checked_scale, empty
from discreet.noise.tablefree import Parameters, geometric_into

__all__ = ["Geometric"]

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
        return Scaled(k / self.scale, complement(ratio(self.scale, bits))).bounds(bits)

    def _cdf(self, k: int, bits: int) -> Interval:
        """Enclose P[Z <= k]."""
        extra = 2 * math.ceil(self.scale).bit_length()
        return complement(self._survival(k, bits + extra))

    def _survival(self, k: int, bits: int) -> Interval:
        """Enclose P[Z > k]."""
        if k < 0:
            return _ONE
        return Scaled((k + 1) / self.scale, _ONE).bounds(bits)

    def _log_survival(self, k: int, bits: int) -> Interval:
        """Enclose ln P[Z > k], at any depth."""
        exponent = Fraction(max(0, k + 1)) / self.scale
        return Scaled(exponent, _ONE).log_bounds(bits)

    def moments(self) -> Moments:
        """Enclose mean and variance: a / (1 - a) and a / (1 - a)**2."""
        a = ratio(self.scale, 2 * BITS)
        return Moments(
            mean=Interval(a.low / (1 - a.low), a.high / (1 - a.high)),
            variance=Interval(a.low / (1 - a.low) ** 2, a.high / (1 - a.high) ** 2),
        )
