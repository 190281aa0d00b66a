"""Amplification by sampling: a secret sample hides who was in it.

Trust: kernel.

Theorems (Balle, Barthe and Gaboardi 2018; key ``amplification``).  Let a mechanism with profile h
run on a sample that is secret, fresh and drawn as stated.
    Poisson sampling at rate q, a record removed:   h'(a) = q h(1 + (a - 1)/q)   for a >= 1;
        so (eps, delta) becomes (log(1 + q (e**eps - 1)), q delta).
    m of n without replacement, a record replaced:  the same with q = m/n and the replace profile.
    Poisson sampling, a record replaced:            with a' = 1 + q (a - 1) and b = a'/a,
        h'(a') <= q ((1 - b) h_remove(a) + b h_replace(a)).
A sample that is used twice is one sample: amplify the composition, not each use.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final

from discreet.exact import float_up
from discreet.loss.elementary import exp, log, log1p_scaled
from discreet.loss.limits import checked_epsilon, checked_rate

__all__ = ["inner_ratio", "poisson_epsilon", "poisson_profile", "poisson_replace_profile"]

Curve = Callable[[Fraction], float]

_FAR: Final = Fraction(1000)


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
