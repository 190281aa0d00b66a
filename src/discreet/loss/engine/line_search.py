"""Searches in one number: where a bound crosses delta, and which order of moments is best.

Trust: kernel.

A search only proposes; the returned point is one at which the bound itself was evaluated.  So the
upper end has upper(eps) <= delta, hence a true profile of at most delta, and the lower end has
lower(eps) > delta, hence a true epsilon above it.

Definition.  A function of one number has one valley if it falls up to some point and rises from
there on; it may be infinite beyond some point on the right.  ``minimizer`` looks for its bottom by
golden sections, and by parabolas where they help.

Theorem (key ``renyi-to-approximate``).  For every t > 0, (1 - e**-u)+ <= C(t) e**(tu) with
C(t) = t**t / (1 + t)**(1 + t), so delta(eps) <= P[L = inf] + C(t) e**(K(t) - t eps), where
K(t) = ln E_P[e**(tL); L < inf] (Canonne, Kamath and Steinke 2020, proposition 12).

Every order gives a valid bound, so an optimizer may stop anywhere.  Where K is quadratic between
some orders, K(t) = rho t (t + 1) + a + bt, the best t of the piece is where
2 rho t + rho + b - eps + ln(t / (1 + t)), which rises with t, passes zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, final

import numpy as np

from discreet.loss.engine.rounding import LOG_MARGIN, PRODUCT_MARGIN, TINIEST
from discreet.loss.pairs.distribution import Floats

_ROUNDS: Final = 60


def smallest_epsilon(
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


def largest_epsilon_above(
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


_PART: Final = (3 - math.sqrt(5)) / 2
_CLOSE: Final = 2e-8  # closer than that, rounding decides which of two values is smaller
_MINIMIZER_ROUNDS: Final = 60


def minimizer(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the point with the smallest value of all that were tried, both ends included.

    Around the best point x so far lie the ends a < x < b of the valley; the next point is the
    bottom of the parabola through the three best ones, if that is well inside and closer than half
    of the step before the last one, and else a golden section of the longer side.
    """
    a, b = low, high
    x = second = third = a + _PART * (b - a)
    fx = f_second = f_third = function(x)
    step = before = b - a
    for _ in range(_MINIMIZER_ROUNDS):
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


def log_constant(t: float) -> float:
    """Bound ln C(t) from above."""
    return (
        t * math.log(t) - (1 + t) * math.log1p(t) + PRODUCT_MARGIN * (1 + t * abs(math.log(t)) + t)
    )


@final
@dataclass(frozen=True, slots=True)
class MomentBound:
    """A profile bounded through its cumulants alone; ``cumulant`` rounds up.

    The best orders, at an epsilon and for a delta, are remembered.
    """

    cumulant: Callable[[float], float]
    limit: float = math.inf
    _orders: dict[tuple[bool, float], float] = field(default_factory=dict, compare=False)

    def log_delta(self, eps: float, t: float) -> float:
        """Bound ln of the finite part of the profile through one order."""
        value = self.cumulant(t) - t * eps
        return value + log_constant(t) + LOG_MARGIN * (1 + abs(value) + t * eps)

    def order_at(self, eps: float) -> float:
        """Return the order that bounds the profile at eps best, of those tried."""
        if (True, eps) not in self._orders:
            self._orders[True, eps] = self._best(lambda t: self.log_delta(eps, t))
        return self._orders[True, eps]

    def delta(self, eps: float) -> float:
        """Bound the finite part of the profile at eps >= 0."""
        t = self.order_at(eps)
        return min(1.0, math.exp(min(0.0, self.log_delta(eps, t))) * (1 + LOG_MARGIN))

    def order_for(self, delta: float) -> float:
        """Return the order that bounds the epsilon at delta best, of those tried."""
        if (False, delta) not in self._orders:
            self._orders[False, delta] = self._best(lambda t: self._solved(delta, t))
        return self._orders[False, delta]

    def epsilon(self, delta: float) -> float:
        """Bound the epsilon at which the finite part of the profile is at most delta > 0."""
        if delta >= 1.0:
            return 0.0
        return max(0.0, self._solved(delta, self.order_for(delta)))

    def _solved(self, delta: float, t: float) -> float:
        total = self.cumulant(t) + log_constant(t) - math.log(delta)
        if not math.isfinite(total):
            return math.inf
        return total / t + LOG_MARGIN * (1 + abs(total) / t + abs(math.log(delta)) / t)

    def _best(self, objective: Callable[[float], float]) -> float:
        """Search the orders on a logarithmic scale; both objectives have one valley.

        For K is convex and so is ln C: the first objective is convex, and the second is a convex
        function over the order.
        """
        capped = min(self.limit, 1e7)
        top = math.log(capped)
        low = min(-9.0, top - 9.0)
        return min(
            math.exp(minimizer(lambda x: objective(min(math.exp(x), capped)), low, top)), capped
        )


_HALVINGS: Final = 6
_NEWTON: Final = 4
_LAST: Final = 1e7
_FIRST: Final = 1e-9
_TOGETHER: Final = 1 << 18  # values that are worked out at a time


def moment_deltas(rho: float, orders: Floats, moments: Floats, eps: Floats) -> Floats:
    """Bound a profile at many eps >= 0 through K(t) <= rho t (t + 1) + k(t).

    k joins the ``moments`` at the ``orders`` t by straight lines, from zero at zero on; there may
    be none, so that k is zero.  k is a cumulant, hence rises: a smaller value at a larger order
    holds at a smaller one too.

    >>> float(moment_deltas(0.5, np.zeros(0), np.zeros(0), np.array([4.0]))[0]) < 1e-3
    True
    """
    if len(orders):
        places, heights = np.append(0.0, orders), np.append(0.0, moments)
        heights = np.minimum.accumulate(heights[::-1])[::-1]
    else:
        places, heights = np.array([0.0, _LAST]), np.zeros(2)
    pieces = max(1, _TOGETHER // len(places))
    parts = [
        _log_deltas(rho, places[:, None], heights[:, None], eps[start : start + pieces])
        for start in range(0, len(eps), pieces)
    ]
    best = np.concatenate(parts) if parts else np.zeros(0)
    return np.minimum(np.exp(best) * (1 + LOG_MARGIN) + TINIEST, 1.0)


def _log_deltas(rho: float, places: Floats, heights: Floats, eps: Floats) -> Floats:
    """Bound the logarithm of the same through the best order of each piece, and at most by zero."""
    (left, right), (low, high) = (places[:-1], places[1:]), (heights[:-1], heights[1:])
    slope = (high - low) / (right - left)
    below = np.log(np.maximum(left, np.minimum(_FIRST, right / 2)))
    above = np.log(right)
    for _ in range(_HALVINGS):
        x = (below + above) / 2
        t = np.exp(x)
        falls = 2 * rho * t + rho + slope - eps + x - np.log1p(t) < 0
        below, above = np.where(falls, x, below), np.where(falls, above, x)
    x = (below + above) / 2
    for _ in range(_NEWTON):
        t = np.exp(x)
        miss = 2 * rho * t + rho + slope - eps + x - np.log1p(t)
        x = np.clip(x - miss / (2 * rho * t + 1 / (1 + t)), below, above)
    t = np.clip(np.exp(x), left, right)
    line = low + (high - low) * np.minimum((t - left) / (right - left), 1.0)
    moment = rho * t * (t + 1) + line
    factor = t * np.log(t) - (1 + t) * np.log1p(t)
    size = 1 + moment + t * eps + t * np.abs(np.log(t)) + t
    bounds = moment - t * eps + factor + 2 * LOG_MARGIN * size
    return np.asarray(np.minimum(bounds.min(axis=0), 0.0))
