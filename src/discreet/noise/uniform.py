"""The uniform law on 0, 1, ..., n - 1.

Trust: kernel.

Words with just enough bits are drawn until one is below n: each value then has the same chance, and
fewer than two words are needed on average.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from discreet.exact import Interval, whole
from discreet.noise.distribution import Distribution, Moments, complement
from discreet.noise.entropy import Entropy

__all__ = ["Uniform"]

_CHUNK = 1 << 16


@final
@dataclass(frozen=True, slots=True, init=False)
class Uniform(Distribution):
    """Integers below n, all equally likely.

    >>> law = Uniform(below=6)
    >>> law.pmf_bounds(5).low, law.quantile("0.5")
    (Fraction(1, 6), 2)
    >>> set(law.sample(1000).tolist()) <= set(range(6))
    True
    """

    below: int

    def __init__(self, *, below: int) -> None:
        """Take the first integer that is too large, between 1 and 2**63."""
        object.__setattr__(self, "below", whole(below, name="below", low=1, high=1 << 63))

    def _sample(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        """Return independent draws."""
        out = np.zeros(count, np.int64)
        width = (self.below - 1).bit_length()
        if width == 0:
            return out
        again = []
        for start in range(0, out.size, _CHUNK):
            part = out[start : start + _CHUNK]
            part[:] = entropy.words(part.size, width)
            again.append(np.flatnonzero(part >= self.below) + start)
        todo = np.concatenate(again) if again else np.empty(0, np.intp)
        while todo.size:
            fresh = entropy.words(todo.size, width).astype(np.int64)
            out[todo] = fresh
            todo = todo[fresh >= self.below]
        return out

    def _pmf(self, k: int, bits: int) -> Interval:  # noqa: ARG002  known exactly
        """Return P[Z = k], exactly."""
        return _exactly(Fraction(int(0 <= k < self.below), self.below))

    def _cdf(self, k: int, bits: int) -> Interval:  # noqa: ARG002  known exactly
        """Return P[Z <= k], exactly."""
        return _exactly(Fraction(min(max(k + 1, 0), self.below), self.below))

    def _survival(self, k: int, bits: int) -> Interval:
        """Return P[Z > k], exactly."""
        return complement(self._cdf(k, bits))

    def moments(self) -> Moments:
        """Return mean and variance: (n - 1)/2 and (n**2 - 1)/12."""
        return Moments(
            mean=_exactly(Fraction(self.below - 1, 2)),
            variance=_exactly(Fraction(self.below**2 - 1, 12)),
        )


def _exactly(value: Fraction) -> Interval:
    return Interval(value, value)
