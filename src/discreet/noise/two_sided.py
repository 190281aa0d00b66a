"""Laws that are symmetric around zero: draws by tables or without, and tails on both sides.

Trust: kernel.

By symmetry P[Z <= k] = P[Z > -k - 1], so all chances follow from the tails P[Z > k] for k >= 0.

A few distributions of one family, drawn together at the cost of one.

A call takes as long as a thousand draws.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import INT64_MAX
from discreet.errors import WrongKind
from discreet.exact import Interval, whole
from discreet.noise.chance import Decay, ScaledExponential, complement, log_of
from discreet.noise.distribution import Distribution, empty
from discreet.noise.entropy import SYSTEM, Entropy, checked_count, checked_entropy
from discreet.noise.tablefree import SIZES, FreeSizes, Parameters

TABLE_FROM: Final = 1 << 16
"""Draws of one call from which on a table is used.

The choice depends on nothing but the count, so that a keyed stream repeats its noise.  Between
machines whose exp or log differ in the last place, a close call may read more words on one of them,
with a chance below 2**-38 a draw; what follows in the stream then differs.
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
        """What tells it from the other laws of its family: a scale, or a variance."""

    @staticmethod
    @abstractmethod
    def draw_each_into(
        out: NDArray[np.int64],
        parameters: Parameters,
        entropy: Entropy,
        sizes: FreeSizes = SIZES,
        /,
    ) -> None:
        """Overwrite ``out`` with independent draws of laws of the family, without a table."""

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
        """Return independent draws; values beyond int64 stop at its ends."""
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
        """Return independent draws of Z given that Z >= ``least``, which is not negative.

        >>> from discreet.noise import DiscreteLaplace
        >>> bool((DiscreteLaplace(scale=2).beyond(40, 100) >= 40).all())
        True
        """
        out = empty(checked_count(count))
        source = checked_entropy(entropy)
        start = whole(least, name="least", low=0, high=INT64_MAX)
        self._beyond_into(out, start, source, sizes)
        return out

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


_AT_ONCE: Final = FreeSizes(tries=6)  # of 1000 numbers, one in four is accepted less often


def drawn_together(
    laws: Sequence[TwoSidedLaw],
    counts: Sequence[int],
    entropy: Entropy = SYSTEM,
    *,
    sizes: FreeSizes = _AT_ONCE,
) -> list[NDArray[np.int64]]:
    """Draw so many values of each law, all of one family; for a few thousand values at most.

    >>> from discreet.noise import DiscreteLaplace
    >>> few, many = drawn_together([DiscreteLaplace(scale=2), DiscreteLaplace(scale=9)], [1, 3])
    >>> few.shape, many.shape
    ((1,), (3,))
    """
    if not laws:
        return []
    family = type(laws[0])
    if any(type(law) is not family for law in laws):
        raise WrongKind(
            "laws of several families are to be drawn together; draw Laplace and Gaussian noise "
            "apart."
        )
    whose = np.repeat(np.arange(len(laws)), [checked_count(count) for count in counts])
    exact = [law.parameter for law in laws]
    floats = np.array([float(parameter) for parameter in exact])[whose]
    out = np.empty(whose.size, np.int64)
    parameters = Parameters(floats, lambda index: exact[whose[index]])
    family.draw_each_into(out, parameters, checked_entropy(entropy), sizes)
    return np.split(out, np.cumsum(counts)[:-1])
