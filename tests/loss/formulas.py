"""Published closed forms, rounded up, with which the tests compare the accountant.

Theorems.  Balle, Barthe and Gaboardi 2018 (samples); Mironov 2017, Mironov, Talwar and Zhang 2019
(Rényi divergences); Bun, Dwork, Rothblum and Steinke 2018 and Dong, Roth and Su 2022 (groups);
Feldman, McMillan and Talwar 2021 (shuffling).
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from discreet.exact import float_up, whole
from discreet.loss.elementary import exp, log
from discreet.loss.parameters import (
    checked_epsilon,
    checked_order,
    checked_parameter,
    checked_rate,
)

_FAR: Final = Fraction(1000)

Curve = Callable[[Fraction], float]


def poisson_epsilon(*, epsilon: object, rate: object) -> float:
    """Return log(1 + rate (e**epsilon - 1)), rounded up; delta becomes rate * delta.

    >>> poisson_epsilon(epsilon=1, rate="0.01")
    0.01703686323617655
    """
    return float_up(log(1 + checked_rate(rate) * (exp(checked_epsilon(epsilon)).high - 1)).high)


def inner_ratio(ratio: Fraction, rate: Fraction) -> Fraction:
    """Return 1 + (ratio - 1) / rate: the ratio at which the unsampled profile is read.

    >>> inner_ratio(Fraction(3, 2), Fraction(1, 10))
    Fraction(6, 1)
    """
    return 1 + (ratio - 1) / rate


def poisson_profile(curve: Curve, *, rate: object, epsilon: object) -> float:
    """Return delta of a removed record after sampling, from the curve delta(epsilon) before.

    The same map serves samples of fixed size, with the curve of a replaced record and rate m/n.

    >>> from discreet.loss import GaussianDP
    >>> before = GaussianDP(mu=1)
    >>> poisson_profile(lambda e: before.delta(epsilon=e), rate="0.1", epsilon="0.5")
    0.002032536920340358
    """
    chance = checked_rate(rate)
    inner = log(inner_ratio(_ratio(epsilon), chance)).low
    return float_up(chance * Fraction(curve(max(inner, Fraction(0)))))


def poisson_replace_profile(
    remove: Curve, replace: Curve, *, rate: object, epsilon: object
) -> float:
    """Return a bound on delta of a replaced record after Poisson sampling.

    >>> from discreet.loss import GaussianDP
    >>> one, two = GaussianDP(mu=1), GaussianDP(mu=2)
    >>> poisson_replace_profile(
    ...     lambda e: one.delta(epsilon=e), lambda e: two.delta(epsilon=e),
    ...     rate="0.1", epsilon="0.3",
    ... )
    0.016499159718296474
    """
    chance = checked_rate(rate)
    sampled = _ratio(epsilon)
    ratio = inner_ratio(sampled, chance)
    inner, share = max(log(ratio).low, Fraction(0)), sampled / ratio
    first, second = Fraction(remove(inner)), Fraction(replace(inner))
    return float_up(chance * ((1 - share) * first + share * second))


def _ratio(epsilon: object) -> Fraction:
    """Return e**epsilon rounded down; a profile is larger at a smaller ratio."""
    return exp(min(checked_epsilon(epsilon), _FAR)).low


_LARGEST_EXPONENT: Final = 10**5


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


_CUT: Final = Fraction(3, 8)
