"""Tails of sums of noise, and which blocks of a binary tree make up a prefix.

Trust: public.  A bug here misstates an error bar; it costs no privacy.  Proofs are in
docs/proofs/mechanisms.md.

Let S = sum of w_i Z_i for independent draws Z_i, all |w_i| <= m, and spread f = sum of w_i**2.
Theorem (key ``chernoff-sum``; Chernoff 1952).  With K(t) = ln E exp(t Z), P[|S| > r] <= 2
exp(f/m**2 K(m t) - t r) for every t > 0.  Proof.  K(t) / t**2 does not fall with t > 0 for discrete
Laplace noise, so K(w t) <= (w/m)**2 K(m t); the rest is Markov's inequality.
    discrete Laplace, scale s:  K(t) = 2 ln(1 - a) - ln(1 - a e**t) - ln(1 - a e**-t), t < 1/s,
    which is -ln(1 - c (cosh t - 1)), a series in t**2 without negative coefficients;
    discrete Gaussian, v:  K(t) <= v t**2 / 2 (Canonne, Kamath and Steinke 2020), so weights may
    have any size.
Theorem (key ``smoothed-sum``).  Let N be normal with standard deviation s, independent of S.  Then
P[|S| > r] <= P[|S + N| > r - 4 s] / P[|N| <= 4 s].  For the discrete Gaussian with v > 9/4 the
weights do not matter.

Definition.  The distribution of a plain sum of k draws is the k-th power of that of one, by Fourier
transforms on a ring so long that less than 1e-18 wraps around.
Transforms err by less than 1e-11 of probability; the half-width is the smallest but for that much.
If the noise is too wide for a table, Chernoff's bound is used (key ``chernoff-sum``).

Definition.  Block (h, t) covers the 2**h positions up to t, for every t that 2**h divides.
Fact (key ``dyadic-blocks``; Fenwick 1994, A New Data Structure for Cumulative Frequency Tables).
The first t positions are the disjoint union of one block for each binary digit 1 of t: after t
comes ``t - lowest(t)``, and so on down to 0.  Position p is in at most one block of each height,
and in ``depth(n)`` of them in all if p = 1, which is the most.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.exact import float_up
from discreet.noise import DiscreteGaussian, DiscreteLaplace


def height(t: int) -> int:
    """Return the largest h such that 2**h divides t >= 1.

    >>> [height(t) for t in range(1, 9)]
    [0, 1, 0, 2, 0, 1, 0, 3]
    """
    return (t & -t).bit_length() - 1


def lowest(t: int) -> int:
    """Return the largest power of two that divides t >= 1.

    >>> [lowest(t) for t in range(1, 9)]
    [1, 2, 1, 4, 1, 2, 1, 8]
    """
    return t & -t


def depth(length: int) -> int:
    """Return how many heights there are among the first ``length`` positions.

    >>> [depth(n) for n in (1, 2, 3, 4, 1023, 1024)]
    [1, 2, 2, 3, 10, 11]
    """
    return length.bit_length()


def digits(t: int) -> list[int]:
    """Return the ends of the blocks that make up the first t positions, the last one first.

    >>> digits(13)  # 13, then 9 to 12, then 1 to 8
    [13, 12, 8]
    """
    ends = []
    while t:
        ends.append(t)
        t -= lowest(t)
    return ends


Law = DiscreteLaplace | DiscreteGaussian

_NORMAL: Final = NormalDist()
OUTSIDE: Final = 2 * _NORMAL.cdf(-4.0)
_TRIES: Final = 200  # points of the grid on which Chernoff's bound is minimized
_TAU_SQUARED: Final = 2.25  # of docs/proofs/mechanisms.md (smoothed-sum)
_ETA: Final = 1.1e-19  # above 2 (e**-q + e**-4q + ...) for q = 2 pi**2 tau**2 = 44.4
_SMALLEST: Final = 1e-300  # tails below count as this much, so that logarithms stay finite
SLIP: Final = 1e-11  # above the rounding of a series
_ROUNDING: Final = 1 + 1e-9  # above the rounding of the few elementary functions below


def sum_half_width(
    law: Law, *, spread: Fraction, draws: int, tail: Fraction, most: float = 1.0
) -> float:
    """Return an r with P[|S| > r] <= tail, for ``draws`` draws with weights of at most ``most``.

    >>> law = DiscreteGaussian(variance=10**6)
    >>> round(sum_half_width(law, spread=Fraction(4), draws=9, tail=Fraction(1, 20)))
    3932
    """
    size, chance = float_up(spread), max(float(tail), _SMALLEST)
    if isinstance(law, DiscreteLaplace):
        return most * _chernoff(float_up(law.scale), size / most**2, chance) * _ROUNDING
    variance = float_up(law.variance)
    half_width = math.sqrt(2 * size * variance * math.log(2 / chance))
    if variance > 2 * _TAU_SQUARED:
        extra = _TAU_SQUARED * variance / (variance - _TAU_SQUARED)
        inside = (1 - OUTSIDE) * math.exp(-_ETA * draws)
        quantile = -_NORMAL.inv_cdf(chance * inside / 2)
        normal = quantile * math.sqrt(variance + extra) + 4 * math.sqrt(extra)
        half_width = min(half_width, math.sqrt(size) * normal)
    return half_width * _ROUNDING


def _chernoff(scale: float, spread: float, chance: float) -> float:
    """Minimize (f K(t) + ln(2 / chance)) / t over a grid; every t gives a bound."""

    def bound(theta: float) -> float:
        whole, near, far = (-math.expm1(-x / scale) for x in (1.0, 1 - theta, 1 + theta))
        cumulant = math.log(whole / near) + math.log(whole / far)
        return (spread * cumulant + math.log(2 / chance)) * scale / theta

    return min(bound(step / _TRIES) for step in range(1, _TRIES))


_WRAPPED: Final = Fraction(1, 10**18)  # the probability that may wrap around a ring
_LARGEST: Final = 1 << 22  # the longest ring that is transformed; beyond, Chernoff's bound


def plain_sum_half_width(law: Law, count: int, tail: Fraction) -> int:
    """Return the smallest r with P[|sum of ``count`` draws| > r] <= tail.

    >>> from discreet.noise import DiscreteLaplace
    >>> law = DiscreteLaplace(scale=2)
    >>> plain_sum_half_width(law, 1, Fraction(1, 20)), plain_sum_half_width(law, 10, Fraction(1,
    ...     20))
    (6, 18)
    """
    bound = math.floor(sum_half_width(law, spread=Fraction(count), draws=count, tail=tail))
    widest = sum_half_width(law, spread=Fraction(count), draws=count, tail=_WRAPPED)
    if tail < 100 * SLIP or 2 * widest + 3 > _LARGEST:
        return bound
    beyond = _beyond(law, count, math.ceil(widest))
    return min(bound, int(np.argmax(beyond + SLIP <= float(tail))))


@functools.lru_cache(maxsize=16)
def _beyond(law: Law, count: int, widest: int) -> NDArray[np.float64]:
    size = 1 << (2 * widest + 2).bit_length()
    steps = np.minimum(np.arange(size), size - np.arange(size))
    powers = np.fft.rfft(_pmf(law, steps)).real ** count
    chances = np.clip(np.fft.irfft(powers, size)[: widest + 1], 0.0, 1.0)
    tails = np.cumsum(chances[::-1])[::-1]  # from r on, on one side
    return np.asarray(2 * np.append(tails[1:], 0.0))


def _pmf(law: Law, steps: NDArray[np.int64]) -> NDArray[np.float64]:
    if isinstance(law, DiscreteLaplace):
        rate = float(1 / law.scale)
        return np.asarray(math.tanh(rate / 2) * np.exp(-rate * steps))
    return np.asarray(law.pmf(0) * np.exp(-(steps.astype(float) ** 2) / float(2 * law.variance)))
