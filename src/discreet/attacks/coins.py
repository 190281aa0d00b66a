"""How far apart two coins are: divergences and quantiles, rounded down.

Trust: public.

Theorem key: ``enclosure``.
"""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist
from typing import Final

from discreet.exact import float_down
from discreet.loss.elementary import exp, log
from discreet.loss.normal import normal_cdf

__all__ = ["normal_gap", "renyi_coins"]

_HALF: Final = Fraction(1, 2)


def renyi_coins(p: Fraction, q: Fraction, order: Fraction) -> Fraction | float:
    """Return the Rényi divergence of order > 1 of a coin p from a coin q, rounded down.

    >>> float(renyi_coins(Fraction(1, 2), Fraction(1, 4), Fraction(2)))  # ln 4/3
    0.2876820724517809
    """
    total = Fraction(0)
    for one, other in ((p, q), (1 - p, 1 - q)):
        if one == 0:
            continue
        if other == 0:
            return math.inf
        total += exp(log(other).low + order * log(one / other).low).low
    return log(total).low / (order - 1) if total > 0 else Fraction(0)


def normal_gap(p: Fraction, q: Fraction) -> float:
    """Return Phi^-1(p) - Phi^-1(q) for p > q, rounded down.

    >>> round(normal_gap(Fraction(3, 4), Fraction(1, 4)), 12)
    1.348979500392
    """
    if p == 1 or q == 0:
        return math.inf
    gap = _quantile(p, -1) - _quantile(q, 1)
    return float_down(max(gap, Fraction(0)))


def _quantile(chance: Fraction, side: int) -> Fraction:
    """Return a number close to the quantile: below it for side -1, above it for side 1."""
    small = min(chance, 1 - chance)
    rough = NormalDist().inv_cdf(max(float(small), 1e-300))
    guess = Fraction(rough if chance <= _HALF else -rough)
    step = max(abs(guess), Fraction(1)) / 2**50
    while not _beyond(guess, chance, side):
        guess, step = guess + side * step, 2 * step
    return guess


def _beyond(guess: Fraction, chance: Fraction, side: int) -> bool:
    found = normal_cdf(guess)
    return found.low >= chance if side > 0 else found.high <= chance
