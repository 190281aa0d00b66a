"""How likely a threshold is reached by groups that only the units in question lift above it.

Trust: kernel.

Theorem (key ``threshold-leak``).  Let k units be in at most g groups each, on top of groups that
had too few units to be shown.  A group that j of them enter is seen with chance at most
q(j) = P[Z >= distance + 1 - j], where ``distance`` is that from the fewest units to the threshold.
Any of the groups is seen with chance at most

    max(1 - (1 - q(1))**(k g), 1 - (1 - q(k))**g).

Proof.  The noises are independent, so none is seen with the product of 1 - q(j) over all groups,
where the j are at most k and add up to at most k g.  1 - q(j) = F(distance - j) with the
distribution function F of Z, which is log-concave because the noise is.  So -ln(1 - q(j)) is convex
in j >= 1 and lies below its chord from 1 to k; divided by j, it is largest at one of the two ends.
The sum over all groups is at most k g times that.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from discreet.exact import float_up, whole
from discreet.noise import DiscreteGaussian, DiscreteLaplace

__all__ = ["leaked"]

_SPARE: Final = 128


def leaked(
    law: DiscreteLaplace | DiscreteGaussian, *, distance: int, groups: int, steps: int = 1
) -> Fraction:
    """Bound the chance that any group is seen: a float, rounded up.

    >>> noise = DiscreteLaplace(scale=1)
    >>> float(leaked(noise, distance=14, groups=1))
    6.07896203477883e-07
    >>> leaked(noise, distance=14, groups=1, steps=2) == leaked(noise, distance=13, groups=1)
    True
    """
    units = whole(steps, name="steps", low=1)
    one, all_ = (law.survival_bounds(distance - j).high for j in (1, units))
    return max(_any_of(units * groups, one), _any_of(groups, all_))


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
