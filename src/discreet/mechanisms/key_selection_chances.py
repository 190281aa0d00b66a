"""The largest chances of showing a group that epsilon and delta allow.

Trust: kernel.

Definition.  p_n is the chance that a group of n units is shown, p_0 = 0.  One unit more or less is
(epsilon, delta)-private for this one answer, shown or hidden, if and only if for all n and both
orders of n and n + 1

    p(n + 1) <= e**eps p(n) + delta,    1 - p(n) <= e**eps (1 - p(n + 1)) + delta,

and the same with n and n + 1 exchanged, which holds anyway where p does not fall.
Theorem (key ``optimal-keys``; Desfontaines, Voss, Gipson and Mandayam 2022).  The recursion

    p(n + 1) = min(e**eps p(n) + delta, 1 - e**-eps (1 - p(n) - delta), 1)

gives the largest of all such p(n), for every n at once.
Proof.  Each bound rises with p(n), so by induction no private choice shows a group more often.

Rounding.  p is kept as a whole number of steps of 2**-bits.  e**-eps is replaced by a rational
above it, delta by the whole step below, and every result goes down to a whole step.  That makes the
first bound smaller and the second too, so both inequalities hold for the numbers that are used.  No
p falls: both bounds are at least p(n), a whole step.  A step is at most 2**-64 delta, so that what
is lost to rounding stays below 2**-40 of p(n).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.certified import exp_neg
from discreet.errors import OutOfRange

__all__ = ["Chances", "checked_length", "halfway", "optimal_chances"]

_MOST: Final = 1 << 20
_STEEP: Final = 30.0
_TINY: Final = 1e-300


@final
@dataclass(frozen=True, slots=True, eq=False)
class Chances:
    """The chances of 0, 1, 2, ... units in steps of 2**-bits; from the last on, every one is 1.

    >>> few = optimal_chances(Fraction(1), Fraction(1, 8))
    >>> [round(float(few.at(n)), 4) for n in range(6)]
    [0.0, 0.125, 0.4648, 0.8491, 0.9905, 1.0]
    """

    parts: tuple[int, ...]
    bits: int
    estimates: NDArray[np.float64]

    @property
    def last(self) -> int:
        """From how many units on a group is shown for sure."""
        return len(self.parts) - 1

    def at(self, units: int) -> Fraction:
        """Return the chance of a number of units, exactly."""
        return Fraction(self.parts[min(max(units, 0), self.last)], 1 << self.bits)


@functools.lru_cache(maxsize=8)
def optimal_chances(epsilon: Fraction, delta: Fraction) -> Chances:
    """Follow the recursion until a group is shown for sure."""
    bits = 64 + (delta.denominator // delta.numerator).bit_length()
    one = 1 << bits
    step = (delta.numerator << bits) // delta.denominator
    fine = bits + 64
    shrink = min(exp_neg(epsilon, fine)[1], 1 << fine)  # e**-eps, or a little more
    parts = [0]
    while parts[-1] < one:
        before = parts[-1]
        grown = (before << fine) // shrink + step
        left = one - before - step
        parts.append(one if left <= 0 else min(grown, one - _up(left * shrink, fine)))
    return Chances(tuple(parts), bits, np.array([part / one for part in parts]))


def halfway(epsilon: Fraction, delta: Fraction) -> float:
    """Estimate from how many units on a group is shown more often than not.

    >>> round(halfway(Fraction(1), Fraction(1, 10**6)), 2)
    13.04
    """
    loss, chance = min(float(epsilon), _STEEP), max(float(delta), _TINY)
    rise = math.tanh(loss / 2) * (1 - chance)  # the chance starts as delta (e**(n eps) - 1) / ...
    return math.log1p(rise / chance) / loss if rise else 1 / (2 * chance)


def checked_length(epsilon: Fraction, delta: Fraction) -> None:
    """Refuse an epsilon and a delta so small that hardly any group would ever be shown.

    >>> checked_length(Fraction(1, 100), Fraction(1, 10**9))
    """
    if halfway(epsilon, delta) > _MOST / 2:
        raise OutOfRange(
            what=f"epsilon and delta are so small that no group of {_MOST} units would be sure to "
            "be shown.",
            why="the chance to be shown grows by delta, and by a factor of e**epsilon, a unit.",
            do="give more of the budget to the keys, fewer groups to each unit, or public keys.",
        )


def _up(value: int, bits: int) -> int:
    """Divide by 2**bits, rounding up."""
    return -(-value >> bits)
