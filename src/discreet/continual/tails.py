"""How far a weighted sum of noise can be from zero, at most, with a probability.

Trust: public.  A bug here misstates an error bar; it costs no privacy.

Let S = sum of w_i Z_i for independent draws Z_i, all |w_i| <= m, and spread f = sum of w_i**2.
Theorem (key ``chernoff-sum``).  With K(t) = ln E exp(t Z), P[|S| > r] <= 2 exp(f/m**2 K(m t) - t r)
for every t > 0.  Proof.  K(t) / t**2 does not fall with t > 0 for the discrete Laplace law, so
K(w t) <= (w/m)**2 K(m t); the rest is Markov's inequality.
    discrete Laplace, scale s:  K(t) = 2 ln(1 - a) - ln(1 - a e**t) - ln(1 - a e**-t), t < 1/s,
    which is -ln(1 - c (cosh t - 1)), a series in t**2 without negative coefficients;
    discrete Gaussian, v:  K(t) <= v t**2 / 2 (Canonne, Kamath and Steinke 2020), so weights may
    have any size.
Theorem (key ``smoothed-sum``).  Let N be normal with standard deviation s, independent of S.  Then
P[|S| > r] <= P[|S + N| > r - 4 s] / P[|N| <= 4 s], because |S| > r and |N| <= 4 s make
|S + N| > r - 4 s.
    Where the weights are known, the right side is a Fourier series whose terms, products of
    E cos(w_i t Z), fall like exp(-s**2 t**2 / 2); s is a hundredth of the standard deviation of S.
    For the discrete Gaussian law with v > 9/4 the weights do not matter: let N = sum of w_i N_i for
    normal N_i of variance s**2 = tau**2 v / (v - tau**2), tau = 3/2.  By Poisson's formula
    Z_i + N_i has at most 1 + 1.1e-19 times the normal density of variance v + s**2, so S + N has at
    most that to the number of draws times the density of variance f (v + s**2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.exact import float_up
from discreet.noise import DiscreteGaussian, DiscreteLaplace

__all__ = ["reach_of_blend", "reach_of_sum"]

_NORMAL: Final = NormalDist()
_OUTSIDE: Final = 2 * _NORMAL.cdf(-4.0)
_TRIES: Final = 200
_TAU_SQUARED: Final = 2.25
_ETA: Final = 1.1e-19  # above 2 (e**-q + e**-4q + ...) for q = 2 pi**2 tau**2 = 44.4
_SMALLEST: Final = 1e-300
_SLIP: Final = 1e-11  # above the rounding of a series
_ROUNDING: Final = 1 + 1e-9  # above the rounding of the few elementary functions below


def reach_of_sum(
    law: DiscreteLaplace | DiscreteGaussian,
    *,
    spread: Fraction,
    draws: int,
    tail: Fraction,
    most: float = 1.0,
) -> float:
    """Return an r with P[|S| > r] <= tail, for so many draws with weights of at most this size.

    >>> law = DiscreteGaussian(variance=10**6)
    >>> round(reach_of_sum(law, spread=Fraction(4), draws=9, tail=Fraction(1, 20)))
    3932
    """
    size, chance = float_up(spread), max(float(tail), _SMALLEST)
    if isinstance(law, DiscreteLaplace):
        return most * _chernoff(float_up(law.scale), size / most**2, chance) * _ROUNDING
    variance = float_up(law.variance)
    found = math.sqrt(2 * size * variance * math.log(2 / chance))
    if variance > 2 * _TAU_SQUARED:
        extra = _TAU_SQUARED * variance / (variance - _TAU_SQUARED)
        inside = (1 - _OUTSIDE) * math.exp(-_ETA * draws)
        quantile = -_NORMAL.inv_cdf(chance * inside / 2)
        normal = quantile * math.sqrt(variance + extra) + 4 * math.sqrt(extra)
        found = min(found, math.sqrt(size) * normal)
    return found * _ROUNDING


def _chernoff(scale: float, spread: float, chance: float) -> float:
    """Minimize (f K(t) + ln(2 / chance)) / t over a grid; every t gives a bound."""

    def bound(theta: float) -> float:
        whole, near, far = (-math.expm1(-x / scale) for x in (1.0, 1 - theta, 1 + theta))
        cumulant = math.log(whole / near) + math.log(whole / far)
        return (spread * cumulant + math.log(2 / chance)) * scale / theta

    return min(bound(at / _TRIES) for at in range(1, _TRIES))


def reach_of_blend(
    law: DiscreteLaplace | DiscreteGaussian,
    *,
    weights: Sequence[tuple[float, int]],
    tail: Fraction,
) -> float:
    """Return an r with P[|S| > r] <= tail, for weights of at most 1 with their multiplicities.

    >>> law = DiscreteLaplace(scale=10)
    >>> round(reach_of_blend(law, weights=[(0.5, 8)], tail=Fraction(1, 20)))
    41
    """
    draws = sum(count for _, count in weights)
    spread = sum((Fraction(weight) ** 2 * count for weight, count in weights), Fraction(0))
    most = max(abs(weight) for weight, _ in weights)
    bound = reach_of_sum(law, spread=spread, draws=draws, tail=tail, most=most)
    if tail < 1000 * Fraction(_SLIP):
        return bound
    deviation = math.sqrt(float(spread * law.moments().variance.high))
    width = deviation / 100
    deep = reach_of_sum(law, spread=spread, draws=draws, tail=Fraction(1, 10**15), most=most)
    beyond = _series(law, weights, width, deep + 10 * width)
    wanted, low, high = float(tail) * (1 - _OUTSIDE) - _SLIP, 0.0, bound
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(middle) <= wanted else (middle, high)
    return min(bound, high + 4 * width)


def _series(
    law: DiscreteLaplace | DiscreteGaussian,
    weights: Sequence[tuple[float, int]],
    width: float,
    half: float,
) -> Callable[[float], float]:
    """Return P[|S + N| > x] on a ring of twice the half length."""
    terms = math.ceil(9 * half / (width * math.pi))
    angles = np.arange(1.0, terms + 1) * (math.pi / half)
    logs = -((width * angles) ** 2) / 2
    for weight, count in weights:
        logs += count * _log_mean_cosine(law, weight * angles)
    sizes = 2 * np.exp(logs) / (angles * half)
    return lambda x: 1 - x / half - float((np.sin(angles * x) * sizes).sum())


def _log_mean_cosine(
    law: DiscreteLaplace | DiscreteGaussian, angles: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return ln E cos(t Z)."""
    if isinstance(law, DiscreteLaplace):
        return -np.log1p((np.sin(angles / 2) / math.sinh(0.5 / float(law.scale))) ** 2)
    variance, turn = float(law.variance), 2 * math.pi
    if variance < 0.5:
        sizes = {k: math.exp(-k * k / (2 * variance)) for k in range(1, 8)}
        waves = sum(2 * size * np.cos(k * angles) for k, size in sizes.items())
        return np.asarray(np.log((1 + waves) / (1 + 2 * sum(sizes.values()))))
    near = np.abs(angles - turn * np.round(angles / turn))
    turns = [turn * m for m in (-2, -1, 0, 1, 2)]  # by Poisson's formula; more are below 1e-16
    bells = sum(np.exp(variance * (near**2 - (near + each) ** 2) / 2) for each in turns)
    total = sum(math.exp(-variance * each**2 / 2) for each in turns)
    return np.asarray(np.log(bells / total) - variance * near**2 / 2)
