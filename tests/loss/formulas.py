"""Published closed forms, rounded up, with which the tests compare the accountant.

Theorems.  Balle, Barthe and Gaboardi 2018 (samples); Mironov 2017, Mironov, Talwar and Zhang 2019
(Rényi divergences); Bun, Dwork, Rothblum and Steinke 2018 and Dong, Roth and Su 2022 (groups);
Feldman, McMillan and Talwar 2021 (shuffling).
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from discreet.errors import OutOfRange
from discreet.exact import float_up, whole
from discreet.loss.elementary import exp, log, log1p_scaled, sqrt
from discreet.loss.parameters import (
    checked_count,
    checked_delta,
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
    return float_up(log1p_scaled(checked_rate(rate), checked_epsilon(epsilon)).high)


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


def group_truncated_concentrated(
    *, rho: object, largest_order: object, size: int
) -> tuple[Fraction, Fraction]:
    """Return (k**2 rho, largest order / k) for divergences bounded by rho times the order.

    >>> group_truncated_concentrated(rho="0.1", largest_order=50, size=5)
    (Fraction(5, 2), Fraction(10, 1))
    """
    count = checked_count(size, name="size")
    strength = checked_parameter(rho, name="rho")
    return count**2 * strength, checked_parameter(largest_order, name="largest_order") / count


def group_profile(
    curve: Callable[[Fraction], float], epsilon: Fraction, size: int, *, parts: int = 12
) -> float:
    """Bound the profile of a group at epsilon, from a curve delta(epsilon) of one unit.

    Epsilon is split between the first step and the rest in the best of a number of ways; every
    split is sound.

    >>> from discreet.loss.notions import Pure
    >>> pure = Pure(epsilon="0.5")
    >>> round(group_profile(lambda e: pure.delta(epsilon=e), Fraction(1, 2), 2), 6)
    0.244919
    """
    if size == 1:
        return curve(epsilon)

    def total(share: Fraction) -> float:
        rest = group_profile(curve, epsilon - share, size - 1, parts=parts)
        return float_up(Fraction(curve(share)) + exp(share).high * Fraction(rest))

    shares = [epsilon * j / parts for j in range(parts + 1)]
    values = [total(share) for share in shares]
    best = min(range(parts + 1), key=values.__getitem__)
    low, high = shares[max(best - 1, 0)], shares[min(best + 1, parts)]
    seen = values[best]
    for _ in range(24):
        left, right = low + (high - low) * _CUT, high - (high - low) * _CUT
        first, second = total(left), total(right)
        seen = min(seen, first, second)
        low, high = (low, right) if first <= second else (left, high)
    return min(seen, 1.0)


def shuffled_epsilon_closed_form(*, epsilon: object, population: int, delta: object) -> float:
    """Return the closed-form bound of Feldman, McMillan and Talwar, rounded up.

    It needs epsilon <= log(n / (16 log(2 / delta))); ``Shuffle`` is tighter and has no condition.

    >>> shuffled_epsilon_closed_form(epsilon=1, population=1000, delta=1e-6)
    0.5662014894828012
    """
    local, chance = checked_epsilon(epsilon), checked_delta(delta)
    people = checked_count(population, name="population", low=2)
    grown = exp(min(local, _FAR))  # beyond, the condition fails
    if chance == 0 or grown.high * 16 * log(2 / chance).high > people:
        raise OutOfRange(
            what="the closed form does not cover this epsilon, population and delta.",
            why="it is proved only for epsilon <= log(n / (16 log(2 / delta))).",
            do="use Shuffle(epsilon=..., population=...), which has no such condition.",
        )
    root = sqrt(grown.high * log(4 / chance).high / people).high
    factor = (grown.high - 1) / (grown.low + 1)
    return float_up(log(1 + factor * (8 * root + 8 * grown.high / people)).high)
