"""How large the noise of a whole marginal is: quantiles of its L1 norm, and of one cell's.

Trust: public.  A bug here misstates an error bar; it costs no privacy.

Let a marginal be measured with independent noise in each cell.  A projection adds up m cells of it
for each cell of its own, so that its n cells have independent errors S_1, ..., S_n, each the sum of
m draws Z; of the marginal itself m is 1.
Theorem (key ``noise-norm``).  For every t > 0, with M(t) >= E exp(t |S_1|),
P[|S_1| + ... + |S_n| >= (n ln M(t) + ln(1 / beta)) / t] <= beta.
Proof.  Markov's inequality for exp(t (|S_1| + ... + |S_n|)), whose mean is at most M(t)**n.
What M may be:
    discrete Laplace, scale s, a = exp(-1/s), t < 1/s, m = 1:
    E exp(t |Z|) = (1 - a) / (1 + a) (1 + a e**t) / (1 - a e**t), a geometric series;
    any law, any m:  E exp(t |S|) <= E exp(t S) + E exp(-t S) = 2 exp(m K(t)), with the K of
    ``discreet.continual.sum_tails``;
    discrete Gaussian, variance v > 9/2: let N = N_1 + ... + N_m be normal, of variance
    m s**2, s**2 = tau**2 v / (v - tau**2), tau = 3/2, independent of S.  Given S, |S| is at most
    the mean of |S + N|, so E exp(t |S|) <= E exp(t |S + N|) by Jensen's inequality.  The density of
    S + N is at most (1 + 1.1e-19)**m times the normal one of variance V = m (v + s**2) (key
    ``smoothed-sum``), so 2 exp(V t**2 / 2) Phi(t sqrt(V)) times as much will do.
Every t gives a bound, so the best of a grid is taken; the results are raised by a part in 10**9,
which is far above the rounding errors.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.continual.sum_tails import plain_sum_half_width
from discreet.exact import float_up
from discreet.noise import DiscreteGaussian, DiscreteLaplace

Law = DiscreteLaplace | DiscreteGaussian
_Floats = NDArray[np.float64]

_TAU_SQUARED: Final = 2.25
_ETA: Final = 1.1e-19
_ROUNDING: Final = 1 + 1e-9
_GRID: Final = np.geomspace(1e-3, 60.0, 600)
"""Values of t, in one over the standard deviation."""
_SHARES: Final = np.linspace(0.002, 0.998, 500)
"""Values of t, as shares of one over the scale."""
_SMALLEST: Final = 1e-300


def noise_norm(law: Law, *, cells: int, missed: Fraction, draws: int = 1) -> float:
    """Return what the L1 norm of some cells' noise exceeds with at most this chance.

    >>> law = DiscreteGaussian(variance=100)
    >>> round(noise_norm(law, cells=8, missed=Fraction(1, 20)), 1)  # the mean is 64
    112.2
    >>> round(noise_norm(law, cells=4, draws=2, missed=Fraction(1, 20)), 1)
    95.3
    """
    wanted = -math.log(max(float(missed), _SMALLEST))
    if isinstance(law, DiscreteLaplace):
        rates, logs = _laplace(float_up(law.scale), draws)
    else:
        rates, logs = _gaussian(float_up(law.variance), draws)
    bound = float(((cells * logs + wanted) / rates).min()) * _ROUNDING
    if cells > 1:
        return bound
    return min(bound, float(plain_sum_half_width(law, draws, missed)))


def cell_noise(law: Law, *, missed: Fraction, draws: int = 1) -> float:
    """Return what the noise of one cell exceeds, to either side, with at most this chance.

    >>> cell_noise(DiscreteGaussian(variance=100), missed=Fraction(1, 20))
    20.0
    """
    return float(plain_sum_half_width(law, draws, missed))


def _laplace(scale: float, draws: int) -> tuple[_Floats, _Floats]:
    """Return some t, and the logarithm of M at each."""
    rates = _SHARES / scale
    if draws == 1:
        rise = np.exp((_SHARES - 1.0) / scale)  # a e**t
        fall = -math.expm1(-1.0 / scale) / (1.0 + math.exp(-1.0 / scale))
        return rates, math.log(fall) + np.log((1.0 + rise) / -np.expm1((_SHARES - 1.0) / scale))
    whole = math.log(-math.expm1(-1.0 / scale))
    near, far = (np.log(-np.expm1(-(1.0 + sign * _SHARES) / scale)) for sign in (-1.0, 1.0))
    return rates, math.log(2.0) + draws * (2.0 * whole - near - far)


def _gaussian(variance: float, draws: int) -> tuple[_Floats, _Floats]:
    if variance <= 2 * _TAU_SQUARED:
        rates = _GRID / math.sqrt(draws * variance)
        return rates, math.log(2.0) + _GRID**2 / 2.0
    from scipy.special import log_ndtr  # type: ignore[import-untyped]  # noqa: PLC0415  takes its time

    extra = _TAU_SQUARED * variance / (variance - _TAU_SQUARED)
    rates = _GRID / math.sqrt(draws * (variance + extra))
    return rates, math.log(2.0) + _GRID**2 / 2.0 + np.asarray(log_ndtr(_GRID)) + draws * _ETA
