"""Rényi divergences and mu of the standard mechanisms in closed form, and what one order proves.

Trust: kernel.  All values are rounded up.

Definition.  D_a(P||Q) = log E_P[(P/Q)**(a-1)] / (a - 1) for an order a > 1.
Theorem (key ``renyi-forms``; Mironov 2017; Bun and Steinke 2016; Mironov, Talwar and Zhang 2019).
    Gaussian of sensitivity mu deviations:   a mu**2 / 2.
    Laplace of sensitivity e scales:
        log[(a e**((a-1)e) + (a-1) e**(-a e)) / (2a-1)] / (a-1).
    Any eps-DP mechanism, and attained by randomized response:
        log[(e**(a eps) + e**((1-a) eps)) / (1 + e**eps)] / (a-1).
    Poisson-sampled Gaussian at a whole order, with the record removed:
        log[sum_j C(a,j) (1-q)**(a-j) q**j e**((j*j-j) mu**2/2)] / (a-1).

Theorem (key ``renyi-to-approximate``; Canonne, Kamath and Steinke 2020, proposition 12; Asoodeh et
al. 2020; Balle et al. 2020).  If D_a(P||Q) <= r for one order a > 1, then
    delta(eps) <= e**((a-1)(r-eps)) (1 - 1/a)**a / (a - 1)
    eps(delta) <= r + log((a-1)/a) - (log delta + log a) / (a - 1).
Both hold at every order, so the order may be chosen by any search: what is returned is evaluated
at the chosen rational order, in exact arithmetic, and rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from discreet.exact import Interval, float_up
from discreet.loss.elementary import BITS, exp, log, normal_cdf, normal_quantile_up
from discreet.loss.parameters import (
    checked_delta,
    checked_epsilon,
    checked_order,
    checked_parameter,
    dyadic_up,
)


def gaussian_renyi(*, mu_squared: Fraction, order: object) -> float:
    """Return a mu**2 / 2, rounded up."""
    return float_up(checked_order(order) * mu_squared / 2)


def pure_renyi(*, epsilon: object, order: object) -> float:
    """Return the largest divergence of an epsilon-DP mechanism, rounded up."""
    loss, a = checked_epsilon(epsilon), checked_order(order)
    # log[(e**(a e) + e**((1-a) e)) / (1+e**e)] = (a-1) e + log[(1 + e**((1-2a) e)) / (1 + e**-e)]
    top, bottom = exp((1 - 2 * a) * loss), exp(-loss)
    return float_up(loss + log((1 + top.high) / (1 + bottom.low)).high / (a - 1))


def pure_to_gaussian_mu(*, epsilon: object) -> Fraction:
    """Return the least mu whose Gaussian loses as much as epsilon-DP: 2 Phi^-1(e**eps/(1+e**eps)).

    Theorem (key ``pure-to-gaussian``; Dong, Roth and Su 2022): both trade-offs meet on the
    diagonal, and the Gaussian's is below elsewhere.  Rounded up.

    >>> float(pure_to_gaussian_mu(epsilon=1))
    1.2320353853449029
    """
    loss = checked_epsilon(epsilon)
    if loss == 0:
        return Fraction(0)
    decay = exp(-loss)
    chance = Interval(decay.low / (1 + decay.low), decay.high / (1 + decay.high))
    guess = -2 * normal_quantile_up(chance)
    step = max(guess, Fraction(1)) / 2**50
    while normal_cdf(-guess / 2).high > chance.low:  # mu is proved when Phi(-mu/2) <= 1/(1+e**eps)
        guess, step = guess + step, 2 * step
    return dyadic_up(guess)


_GOLDEN: Final = (math.sqrt(5) - 1) / 2
_FIRST: Final = -48
_POWERS: Final = [10 ** (j / 8) for j in range(_FIRST, 65)]


def renyi_epsilon(*, order: object, value: object, delta: object) -> float:
    """Return an epsilon that one Rényi order proves at this delta, rounded up."""
    chance = checked_delta(delta)
    a, bound = checked_order(order), checked_parameter(value, name="value")
    return _epsilon(a, bound, chance)


def renyi_delta(*, order: object, value: object, epsilon: object) -> float:
    """Return a delta that one Rényi order proves at this epsilon, rounded up."""
    loss = checked_epsilon(epsilon)
    a, bound = checked_order(order), checked_parameter(value, name="value")
    return _delta(a, bound, loss)


def concentrated_epsilon(*, rho: object, delta: object) -> float:
    """Return the least epsilon that single orders of rho-zCDP prove, rounded up."""
    strength, chance = checked_parameter(rho, name="rho"), checked_delta(delta)
    if strength == 0 or chance >= 1:
        return 0.0
    if chance == 0:
        return math.inf
    slope, depth = float(strength), float(log(chance).low)

    def objective(t: float) -> float:
        return (1 + t) * slope - math.log1p(1 / t) - (depth + math.log1p(t)) / t

    a = 1 + Fraction(_least(objective, math.sqrt(-depth / slope) if slope else math.inf))
    return _epsilon(a, a * strength, chance)


def concentrated_delta(*, rho: object, epsilon: object) -> float:
    """Return the least delta that single orders of rho-zCDP prove, rounded up."""
    strength, loss = checked_parameter(rho, name="rho"), checked_epsilon(epsilon)
    if strength == 0:
        return 0.0
    slope, start = float(strength), float(loss)

    def objective(t: float) -> float:
        return t * ((1 + t) * slope - start) - (1 + t) * math.log1p(1 / t) - math.log(t)

    a = 1 + Fraction(_least(objective, start / slope if slope else math.inf))
    return _delta(a, a * strength, loss)


def _epsilon(a: Fraction, bound: Fraction, chance: Fraction) -> float:
    if chance >= 1:
        return 0.0
    if chance == 0:
        return math.inf
    shape = log((a - 1) / a).high - (log(chance).low + log(a).low) / (a - 1)
    return max(float_up(bound + shape), 0.0)


def _delta(a: Fraction, bound: Fraction, loss: Fraction) -> float:
    exponent = (a - 1) * (bound - loss) + a * log((a - 1) / a).high - log(a - 1).low
    if exponent >= 0:
        return 1.0
    grid = Fraction(math.ceil(exponent * 2**BITS), 2**BITS)  # a short argument for exp
    return float_up(exp(grid).high)


def _least(objective: Callable[[float], float], guess: float) -> float:
    """Search t = order - 1 on a grid of powers, then by golden section; any answer is sound.

    Both objectives have one valley (:mod:`discreet.loss.engine.line_search`), so that the best
    point of the grid is reached by going downhill, from whichever point is next to the guess.
    """
    last = len(_POWERS) - 1
    best = round(8 * math.log10(min(max(guess, _POWERS[0]), _POWERS[-1]))) - _FIRST
    here = objective(_POWERS[best])
    for step in (1, -1):
        while 0 <= best + step <= last:
            there = objective(_POWERS[best + step])
            if there > here or (there == here and step > 0):
                break
            best, here = best + step, there
    low = math.log(_POWERS[max(best - 1, 0)])
    high = math.log(_POWERS[min(best + 1, last)])
    for _ in range(48):
        span = _GOLDEN * (high - low)
        if objective(math.exp(high - span)) <= objective(math.exp(low + span)):
            high = low + span
        else:
            low = high - span
    return math.exp((low + high) / 2)
