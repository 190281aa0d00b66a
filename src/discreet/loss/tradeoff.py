"""From a profile to the trade-off between false alarms and missed detections.

Trust: kernel.

Theorem (key ``tradeoff-duality``; Wasserman and Zhou 2010; Dong, Roth and Su 2022).  A test that
accuses wrongly with chance alpha misses with chance at least
    1 - h(a) - a alpha           and     (1 - r(a) - alpha) / a           for every a >= 1,
where h is the profile of one direction and r that of the other; the best of these bounds is the
trade-off.  Every a is sound, so a is searched for in floats and the bound evaluated exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from discreet.exact import float_down
from discreet.loss.elementary import exp

__all__ = ["missed_detections"]

Curve = Callable[[float], float]

_GOLDEN: Final = (math.sqrt(5) - 1) / 2
_MOST_STEPS: Final = 16
_GAIN: Final = Fraction(1, 10**12)
_NARROW: Final = 1e-7


def missed_detections(forward: Curve, backward: Curve, false_alarm: Fraction) -> float:
    """Bound the chance of a miss from below, from upper bounds delta(epsilon) in both directions.

    >>> from discreet.loss import Pure
    >>> curve = lambda e: Pure(epsilon=1).delta(epsilon=e)
    >>> round(missed_detections(curve, curve, Fraction(1, 10)), 4)
    0.7282
    """

    def direct(epsilon: float) -> Fraction:
        return 1 - Fraction(forward(epsilon)) - exp(Fraction(epsilon)).high * false_alarm

    def swapped(epsilon: float) -> Fraction:
        return (1 - Fraction(backward(epsilon)) - false_alarm) * exp(-Fraction(epsilon)).low

    found = max(_largest(direct), _largest(swapped), Fraction(0))
    return float_down(min(found, 1 - false_alarm))


def _largest(bound: Callable[[float], Fraction]) -> Fraction:
    """Climb over epsilon >= 0 to the one peak, then refine it by golden section."""
    grid, values = [0.0], [bound(0.0)]
    while len(grid) < _MOST_STEPS and (len(grid) < 3 or values[-1] > values[-3] + _GAIN):
        grid.append(2.0 * grid[-1] if grid[-1] >= 0.5 else grid[-1] + 0.125)
        values.append(bound(grid[-1]))
    best = max(range(len(grid)), key=values.__getitem__)
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = bound(left), bound(right)
    while high - low > _NARROW:
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = bound(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = bound(right)
    return max(values[best], at_left, at_right)
