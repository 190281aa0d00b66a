"""How far public counts are from true ones, by noisy counts that were drawn after they were fixed.

Trust: public.  A bug here misstates an error bar; it costs no privacy.

Let d_1, ..., d_n be the differences between true counts and fixed whole numbers, D the sum of their
absolute values, and S = |d_1 + Z_1| + ... + |d_n + Z_n| what noisy counts show, with independent
noise Z of a discrete Gaussian law.  The triangle inequality gives D <= S + |Z|_1, which counts the
noise twice: S itself is about as large as the noise where D is nothing.
Theorem (key ``noisy-distance``).  Let h_t(k) be the mean of exp(-t |k + Z|), and s_k the largest of
(ln beta - n ln h_t(k)) / t over some rates t > 0.  With chance at least 1 - beta, D < n k for every
whole number k with S <= s_k.
Proof.  exp(-t |k|) and the law of Z are log-concave and even on the integers, and so is their
convolution h_t (Hoggar 1974).  Hence ln h_t, interpolated, is concave and falls with |k|, and if
D >= n K, the product of all h_t(d_i) is at most h_t(D / n)**n <= h_t(K)**n (Jensen).  By Markov's
inequality P[S <= s] <= exp(t s) times that product, which is at most beta for s = s_K and the rate
that attains it.  Take K = floor(D / n).  The bound fails for some k only if n k <= D, so k <= K,
and S <= s_k <= s_K, since h_t falls: an event of chance beta at most.
The whole numbers have to be fixed before the noise is drawn: those of the model that a round began
with are, those of a model that was fitted to the noisy counts are not.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np

from discreet.exact import float_up
from discreet.noise import DiscreteGaussian

_RATES: Final = np.geomspace(0.02, 3.0, 24)
"""Values of t, in one over the standard deviation."""
_FARTHEST: Final = 10.0
"""The largest k that is tried, in standard deviations; the sums below reach 14 of them."""
_REACH: Final = 14.0
_ROUNDING: Final = 1e-11
_SMALLEST: Final = 1e-300


def noisy_distance(
    law: DiscreteGaussian, *, seen: float, cells: int, missed: Fraction
) -> float | None:
    """Return what D stays below but for this chance, where S is ``seen``; None beyond all tables.

    >>> law = DiscreteGaussian(variance=10_000)
    >>> noisy_distance(law, seen=80_000, cells=1000, missed=Fraction(1, 100))
    41000.0
    """
    deviation = math.sqrt(float_up(law.variance))
    wanted = math.log(max(float(missed), _SMALLEST))
    rates = _RATES / deviation
    noise = np.arange(-math.ceil(_REACH * deviation), math.ceil(_REACH * deviation) + 1)
    chances = np.exp(-(noise**2) / (2 * deviation**2))
    chances /= chances.sum()

    def beyond(k: int) -> bool:
        """Whether as little as was seen is too unlikely if D is n k or more."""
        shifted = np.exp(-rates[:, None] * np.abs(k + noise))
        logs = np.log(shifted @ chances) + _ROUNDING
        return bool((rates * seen + cells * logs <= wanted).any())

    low, high = 0, math.floor(_FARTHEST * deviation)
    if high < 1 or not beyond(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return float(cells * high)
