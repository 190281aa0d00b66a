"""Symmetric noise on the integers, and its first family: the discrete Laplace distribution.

Trust: kernel.

Definition.  Let a = exp(-1/scale).  The discrete Laplace distribution, which is the two-sided
geometric one, has P[Z = k] = (1 - a)/(1 + a) * a**|k| for every integer k, and
P[Z > k] = a**(k+1) / (1 + a) for k >= 0.

By symmetry P[Z <= k] = P[Z > -k - 1], so all probabilities follow from the tails P[Z > k], k >= 0.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import INT64_MAX
from discreet.errors import WrongKind
from discreet.exact import ExactNumber, Interval, freeze, whole
from discreet.noise.decay import Decay, ScaledExponential, complement, log_of, ratio
from discreet.noise.distribution import BITS, Distribution, Moments, checked_scale, empty
from discreet.noise.entropy import SYSTEM, Entropy, checked_count, checked_entropy
from discreet.noise.tablefree import SIZES, FreeSizes, Parameters, laplace_beyond_into, laplace_into

TABLE_FROM: Final = 1 << 16
"""Draws of one call from which on a table is used.

The choice depends on nothing but the count, so that a keyed stream repeats its noise.  Between
machines whose exp or log differ in the last place, a close call may read more words on one of them,
with probability below 2**-38 a draw; what follows in the stream then differs.
"""


class TwoSidedLaw(Distribution):
    """Integer noise with P[Z = k] proportional to exp(-h(|k|))."""

    __slots__ = ()

    @property
    @abstractmethod
    def decay(self) -> Decay:
        """The exponent h of the weights."""

    @property
    @abstractmethod
    def _block_bits(self) -> int | None:
        """How wide the blocks of a table are, as a power of two; None for single integers."""

    @property
    @abstractmethod
    def parameter(self) -> Fraction:
        """Its scale, or its variance."""

    @staticmethod
    @abstractmethod
    def draw_each_into(
        out: NDArray[np.int64],
        parameters: Parameters,
        entropy: Entropy,
        sizes: FreeSizes = SIZES,
        /,
    ) -> None:
        """Overwrite ``out`` with draws, one for each parameter of the family, without a table."""

    @abstractmethod
    def _beyond_into(
        self, out: NDArray[np.int64], least: int, entropy: Entropy, sizes: FreeSizes
    ) -> None:
        """Overwrite ``out`` with independent draws of Z given that Z >= ``least`` >= 0."""

    @abstractmethod
    def _tail(self, k: int, bits: int) -> ScaledExponential:
        """Enclose P[Z > k] for k >= 0."""

    @abstractmethod
    def estimated_quantile(self, tail: float) -> float:
        """Return about which k >= 0 has P[Z >= k] = tail, by continuous formulas."""

    def _guess(self, chance: Fraction) -> int:
        tail = float(min(chance, 1 - chance))
        size = self.estimated_quantile(tail) if tail else 0.0
        return round(math.copysign(size, chance - Fraction(1, 2)))

    def _sample(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        out = empty(count)
        if count < TABLE_FROM:
            self.draw_each_into(out, Parameters.same(self.parameter), entropy)
        else:
            from discreet.noise.table import table_sampler  # noqa: PLC0415  long samples only

            table_sampler(self.decay, self._block_bits).sample_into(out, entropy)
        return out

    def beyond(
        self, least: int, count: int, entropy: Entropy = SYSTEM, *, sizes: FreeSizes = SIZES
    ) -> NDArray[np.int64]:
        """Return independent draws of Z given that Z >= ``least``, which is not negative."""
        out = empty(checked_count(count))
        source = checked_entropy(entropy)
        self._beyond_into(out, whole(least, name="least", low=0, high=INT64_MAX), source, sizes)
        return out

    def _cdf(self, k: int, bits: int) -> Interval:
        return self._survival(-k - 1, bits)

    def _survival(self, k: int, bits: int) -> Interval:
        if k < 0:
            return complement(self._tail(-k - 1, bits).bounds(bits))
        return self._tail(k, bits).bounds(bits)

    def _log_survival(self, k: int, bits: int) -> Interval:
        if k < 0:
            return log_of(self._survival(k, bits), bits)
        return self._tail(k, bits).log_bounds(bits)


def drawn_together(
    laws: Sequence[TwoSidedLaw],
    counts: Sequence[int],
    entropy: Entropy = SYSTEM,
    *,
    sizes: FreeSizes = SIZES,
) -> list[NDArray[np.int64]]:
    """Draw from a few distributions of one family, some thousand values, at the cost of one."""
    if not laws:
        return []
    family = type(laws[0])
    if any(type(law) is not family for law in laws):
        raise WrongKind("the noise is of several families; draw Laplace and Gaussian noise apart.")
    whose = np.repeat(np.arange(len(laws)), [checked_count(count) for count in counts])
    exact = [law.parameter for law in laws]
    floats = np.array([float(parameter) for parameter in exact])[whose]
    out = np.empty(whose.size, np.int64)
    parameters = Parameters(floats, lambda index: exact[whose[index]])
    family.draw_each_into(out, parameters, checked_entropy(entropy), sizes)
    return np.split(out, np.cumsum(counts)[:-1])


_NARROW: Final = 16  # up to here single integers have a table, beyond blocks of them


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
        freeze(self, scale=checked_scale(scale, name="scale"))

    @property
    def decay(self) -> Decay:
        return Decay(linear=1 / self.scale)

    @property
    def _block_bits(self) -> int | None:
        return None if self.scale <= _NARROW else max(1, math.floor(self.scale).bit_length() - 5)

    @property
    def parameter(self) -> Fraction:
        return self.scale

    draw_each_into = staticmethod(laplace_into)

    def _beyond_into(
        self, out: NDArray[np.int64], least: int, entropy: Entropy, sizes: FreeSizes
    ) -> None:
        laplace_beyond_into(out, self.scale, least, entropy, sizes)

    def _pmf(self, k: int, bits: int) -> Interval:
        a = ratio(self.scale, bits)
        factor = Interval((1 - a.high) / (1 + a.high), (1 - a.low) / (1 + a.low))
        return ScaledExponential(abs(k) / self.scale, factor).bounds(bits)

    def moments(self) -> Moments:
        """Enclose mean and variance: 0 and 2a / (1 - a)**2."""
        a = ratio(self.scale, 2 * BITS)
        variance = Interval(2 * a.low / (1 - a.low) ** 2, 2 * a.high / (1 - a.high) ** 2)
        return Moments(mean=Interval(Fraction(0), Fraction(0)), variance=variance)

    def estimated_quantile(self, tail: float) -> float:
        rate = 1 / float(self.scale)
        return -math.log(tail * (1 + math.exp(-rate))) / rate

    def _tail(self, k: int, bits: int) -> ScaledExponential:
        a = ratio(self.scale, bits)
        return ScaledExponential((k + 1) / self.scale, Interval(1 / (1 + a.high), 1 / (1 + a.low)))
