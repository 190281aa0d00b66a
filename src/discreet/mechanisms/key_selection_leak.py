"""How likely a threshold is reached by groups that only the units in question lift above it.

Trust: kernel.

Theorem (key ``threshold-leak``).  Let k units be in at most g groups each, on top of groups that
counted too little to be shown, and let each add up to M = ``most`` to a group.  A group that j of
them enter is seen with chance at most q(j) = P[Z >= distance + 1 - j M], where ``distance`` is that
from the least count that may be shown to the threshold.  Any of the groups is seen with chance at
most

    max(1 - (1 - q(1))**(k g), 1 - (1 - q(k))**g).

Proof.  The noises are independent, so none is seen with the product of 1 - q(j) over all groups,
where the j are at most k and add up to at most k g.  1 - q(j) = F(distance - j M) with the
distribution function F of Z, which is log-concave because the noise is.  So -ln(1 - q(j)) is convex
in j >= 1 and lies below its chord from 1 to k; divided by j, it is largest at one of the two ends.
The sum over all groups is at most k g times that.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from statistics import NormalDist
from typing import Final

from discreet.exact import float_up, whole
from discreet.noise import DiscreteGaussian, DiscreteLaplace

__all__ = ["leaked", "likely_distance"]

_SPARE: Final = 128
_SURE: Final = 1 - 2.0**-50
_FAINT: Final = 1e-300


def leaked(
    law: DiscreteLaplace | DiscreteGaussian,
    *,
    distance: int,
    groups: int,
    steps: int = 1,
    most: int = 1,
) -> Fraction:
    """Bound the chance that any group is seen: a float, rounded up.

    >>> noise = DiscreteLaplace(scale=1)
    >>> float(leaked(noise, distance=14, groups=1))
    6.07896203477883e-07
    >>> leaked(noise, distance=14, groups=1, steps=2) == leaked(noise, distance=13, groups=1)
    True
    >>> leaked(noise, distance=14, groups=1, most=5) == leaked(noise, distance=10, groups=1)
    True
    """
    units, each = whole(steps, name="steps", low=1), whole(most, name="most", low=1)
    one = _from(law, distance + 1 - each)
    if units == 1:
        return _any_of(groups, one)
    all_ = _from(law, distance + 1 - units * each)
    return max(_any_of(units * groups, one), _any_of(groups, all_))


@functools.lru_cache(maxsize=1024)
def _from(law: DiscreteLaplace | DiscreteGaussian, least: int) -> Fraction:
    """Bound the chance of at least so much noise."""
    return law.survival_bounds(least - 1).high


def likely_distance(
    law: DiscreteLaplace | DiscreteGaussian, *, chance: Fraction, groups: int, most: int = 1
) -> int:
    """Estimate the least distance at which no more than a chance leaks, by continuous formulas.

    >>> likely_distance(DiscreteLaplace(scale=1), chance=Fraction(1, 10**6), groups=1)
    14
    """
    rare = -math.expm1(math.log1p(-min(float(chance), _SURE)) / groups) or _FAINT
    if isinstance(law, DiscreteLaplace):
        rate = 1 / float(law.scale)
        far = -math.log(rare * (1 + math.exp(-rate))) / rate
    else:
        far = -NormalDist().inv_cdf(max(rare, _FAINT)) * math.sqrt(law.variance) + 0.5
    return max(math.ceil(far), 0) + most - 1


def _any_of(count: int, chance: Fraction) -> Fraction:
    """Return 1 - (1 - chance)**count, rounded up to a float."""
    bits = _SPARE + (chance.denominator // chance.numerator).bit_length()
    one = 1 << bits
    result, power, rest = one, one - math.ceil(chance * one), count
    while rest:  # every product is rounded down
        if rest & 1:
            result = result * power >> bits
        power = power * power >> bits
        rest >>= 1
    return Fraction(float_up(Fraction(one - result, one)))
