"""Find the epsilon at which a bound on a profile crosses delta, and check it there.

Trust: kernel.

A search only proposes; the returned point is one at which the bound itself was evaluated.  So the
upper end has upper(eps) <= delta, hence a true profile of at most delta, and the lower end has
lower(eps) > delta, hence a true epsilon above it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

__all__ = ["last_above", "smallest"]

_ROUNDS: Final = 60


def smallest(
    bound: Callable[[float], float], delta: float, *, high: float, guess: float, tolerance: float
) -> float:
    """Return a point, close to the smallest, at which a falling bound is at most delta.

    ``high`` must be such a point, or is returned unexamined when nothing better is found.
    """
    right, value = high, -math.inf
    left, other = 0.0, bound(0.0)
    if other <= delta:
        return 0.0
    x = min(max(guess, 0.0), high)
    for turn in range(_ROUNDS):
        width = right - left
        if width <= tolerance:
            break
        here = bound(x)
        if here <= delta:
            right, value = x, here
        else:
            left, other = x, here
        slow = turn > 6 and turn % 2 and right - left > 0.25 * width
        middle = 0.5 * (left + right)
        x = middle if slow else _next((left, other), (right, value), delta, tolerance)
    return right


def last_above(
    bound: Callable[[float], float], delta: float, *, high: float, tolerance: float
) -> float:
    """Return a point, close to the largest, at which a falling bound is above delta; else 0."""
    right = high
    for power in (0, 0.6, 1.3, 2, 3, 4, 5, 6, 7, 8):  # a bound is best near the answer
        widen = tolerance * 10.0**power
        x = high - widen
        if x <= 0.0:
            break
        if bound(x) > delta:
            return x if widen <= 4 * tolerance else _refined(bound, delta, x, right, 8)
        right = x
    return _refined(bound, delta, 0.0, right, 30)


def _refined(
    bound: Callable[[float], float], delta: float, left: float, right: float, rounds: int
) -> float:
    """Bisect; the left end is where the bound is above delta, or zero."""
    for _ in range(rounds):
        x = 0.5 * (left + right)
        if bound(x) > delta:
            left = x
        else:
            right = x
    return left


def _next(
    left: tuple[float, float], right: tuple[float, float], delta: float, tolerance: float
) -> float:
    """Propose by the secant of ln(bound), kept inside and pushed towards a bracket."""
    (low, above), (high, below) = left, right
    width = high - low
    if not (below > 0.0 and math.isfinite(above) and math.log(below) < math.log(above)):
        return 0.5 * (low + high)
    share = (math.log(above) - math.log(delta)) / (math.log(above) - math.log(below))
    margin = max(0.4 * tolerance, 1e-3 * width) if min(share, 1 - share) < 0.1 else 0.0
    x = low + width * share  # then lean past the crossing, so that the far end moves too
    x = x - margin if share > 0.5 else x + margin
    inside = 0.01 * min(width, tolerance)
    return min(max(x, low + inside), high - inside)
