"""Find the bottom of a valley: golden sections, and parabolas where they help.

Trust: public.  Whatever is found is where a bound is evaluated, and it holds everywhere.

Definition.  A function of one number has one valley if it falls up to some point and rises from
there on; it may be infinite beyond some point on the right.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

__all__ = ["lowest"]

_PART: Final = (3 - math.sqrt(5)) / 2
_CLOSE: Final = 2e-8  # closer than that, rounding decides which of two values is smaller
_ROUNDS: Final = 60


def lowest(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the point with the smallest value of all that were tried, both ends included.

    Around the best point x so far lie the ends a < x < b of the valley; the next point is the
    bottom of the parabola through the three best ones, if that is well inside and closer than half
    of the step before the last one, and else a golden section of the longer side.

    >>> round(lowest(lambda x: (x - 2) ** 2 + 0.1 * abs(x - 2) ** 3, -9.0, 16.0), 6)
    2.0
    """
    a, b = low, high
    x = second = third = a + _PART * (b - a)
    fx = f_second = f_third = function(x)
    step = before = b - a
    for _ in range(_ROUNDS):
        middle = 0.5 * (a + b)
        least = _CLOSE * (1 + abs(x))
        if abs(x - middle) <= 2 * least - 0.5 * (b - a):
            break
        move = _parabola((x, fx), (second, f_second), (third, f_third))
        inside = move is not None and a + 2 * least < x + move < b - 2 * least
        if move is not None and inside and abs(move) < 0.5 * abs(before):
            before, step = step, move
        else:
            before = (a if x >= middle else b) - x
            step = _PART * before
        y = x + (step if abs(step) >= least else math.copysign(least, step))
        fy = function(y)
        if fy < fx or (math.isinf(fx) and y < x):
            a, b = (x, b) if y >= x else (a, x)
            third, f_third, second, f_second, x, fx = second, f_second, x, fx, y, fy
        else:
            a, b = (y, b) if y < x else (a, y)
            if fy <= f_second or second == x:
                third, f_third, second, f_second = second, f_second, y, fy
            elif fy <= f_third or third in {x, second}:
                third, f_third = y, fy
    return min((function(low), low), (fx, x), (function(high), high))[1]


def _parabola(
    first: tuple[float, float], second: tuple[float, float], third: tuple[float, float]
) -> float | None:
    """Return how far the extreme of the parabola through three points is from the first."""
    (x, fx), (w, fw), (v, fv) = first, second, third
    if not (math.isfinite(fx) and math.isfinite(fw) and math.isfinite(fv)):
        return None
    r, q = (x - w) * (fx - fv), (x - v) * (fx - fw)
    top, bottom = (x - v) * q - (x - w) * r, 2 * (q - r)
    return -top / bottom if bottom else None
