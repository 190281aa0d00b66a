"""Rényi divergences of the standard mechanisms, in closed form, rounded up.

Trust: kernel.

Definition.  D_a(P||Q) = log E_P[(P/Q)**(a-1)] / (a - 1) for an order a > 1.
Theorems (Mironov 2017; Bun and Steinke 2016; Mironov, Talwar and Zhang 2019).  key ``renyi-forms``.
    Gaussian of sensitivity mu deviations:   a mu**2 / 2.
    Laplace of sensitivity e scales:
        log[(a e**((a-1)e) + (a-1) e**(-a e)) / (2a-1)] / (a-1).
    Any eps-DP mechanism, and attained by randomized response:
        log[(e**(a eps) + e**((1-a) eps)) / (1 + e**eps)] / (a-1).
    Poisson-sampled Gaussian at a whole order, with the record removed:
        log[sum_j C(a,j) (1-q)**(a-j) q**j e**((j*j-j) mu**2/2)] / (a-1).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from discreet.exact import float_up, whole
from discreet.loss.elementary import exp, log
from discreet.loss.limits import checked_epsilon, checked_order, checked_parameter, checked_rate

__all__ = ["gaussian_renyi", "laplace_renyi", "pure_renyi", "sampled_gaussian_renyi"]

_LARGEST_EXPONENT: Final = 10**5


def gaussian_renyi(*, mu_squared: Fraction, order: object) -> float:
    """Return a mu**2 / 2, rounded up.

    >>> gaussian_renyi(mu_squared=Fraction(1, 4), order=4)
    0.5
    """
    return float_up(checked_order(order) * mu_squared / 2)


def pure_renyi(*, epsilon: object, order: object) -> float:
    """Return the largest divergence of an epsilon-DP mechanism, rounded up.

    >>> pure_renyi(epsilon=1, order=2)
    0.7353256640555192
    """
    loss, a = checked_epsilon(epsilon), checked_order(order)
    # log[(e**(a e) + e**((1-a) e)) / (1+e**e)] = (a-1) e + log[(1 + e**((1-2a) e)) / (1 + e**-e)]
    top, bottom = exp((1 - 2 * a) * loss), exp(-loss)
    return float_up(loss + log((1 + top.high) / (1 + bottom.low)).high / (a - 1))


def laplace_renyi(*, epsilon: object, order: object) -> float:
    """Return the divergence of Laplace noise moved by epsilon scales, rounded up.

    >>> laplace_renyi(epsilon=1, order=2)
    0.6191236299985929
    """
    loss, a = checked_epsilon(epsilon), checked_order(order)
    inner = (a + (a - 1) * exp((1 - 2 * a) * loss).high) / (2 * a - 1)
    return float_up(loss + log(inner).high / (a - 1))


def sampled_gaussian_renyi(*, mu: object, rate: object, order: int) -> float:
    """Return the divergence of one Poisson-sampled Gaussian release, rounded up.

    >>> sampled_gaussian_renyi(mu=1, rate="0.01", order=2)
    0.00017181342207454794
    """
    square = checked_parameter(mu, name="mu") ** 2
    chance, a = checked_rate(rate), whole(order, name="order", low=2, high=256)
    if a * a * square > _LARGEST_EXPONENT:
        return math.inf
    total = sum(
        math.comb(a, j) * (1 - chance) ** (a - j) * chance**j * exp((j * j - j) * square / 2).high
        for j in range(a + 1)
    )
    return float_up(log(Fraction(total)).high / (a - 1))
