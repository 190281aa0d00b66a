"""Rényi curves, bounds through moments of one order, and searches in one number.

Trust: kernel.

A search only proposes; the returned point is one at which the bound itself was evaluated.  So the
upper end has upper(eps) <= delta, hence a true profile of at most delta, and the lower end has
lower(eps) > delta, hence a true epsilon above it.

Theorem (key ``renyi-to-approximate``; Canonne, Kamath and Steinke 2020, proposition 12; Asoodeh et
al. 2020).  For every t > 0, (1 - e**-u)+ <= C(t) e**(tu) with C(t) = t**t / (1 + t)**(1 + t), so
delta(eps) <= P[L = inf] + C(t) e**(K(t) - t eps), where K(t) = ln E_P[e**(tL); L < inf].  It holds
at every order, so the order may be chosen by any search.

Definition.  D_a(P||Q) = ln E_P[(P/Q)**(a-1)] / (a-1) for a > 1.  A curve is an upper bound
D_a <= rho * a + v(a), where v is known at finitely many orders (or is zero at every order).

Theorem (key ``renyi-interpolation``; van Erven and Harremoes 2014, corollary 2).  t * D_{1+t} is
convex in t and vanishes at t = 0, so between two known orders it is below the chord.
Theorem (key ``renyi-forms``; Mironov 2017; Bun and Steinke 2016).  Any eps-DP mechanism has at most
D_a = log[(e**(a eps) + e**((1-a) eps)) / (1 + e**eps)] / (a-1), and randomized response attains it.
Theorem (key ``group-renyi``; Mironov 2017, proposition 11, with 1/p + 1/q = 1 left free).  Rényi
divergences along two steps satisfy, for conjugate p and q,
D_a(P||R) <= (a - 1/p)/(a - 1) D_{pa}(P||Q) + D_{q(a - 1/p)}(Q||R).
Theorem (key ``group-concentrated``; Bun and Steinke 2016).  A group of k units has k^2 rho.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np

from discreet.errors import OutOfRange
from discreet.exact import Interval, float_up
from discreet.loss.dots import Floats
from discreet.loss.elementary import exp, log, normal_cdf, normal_quantile_up
from discreet.loss.parameters import (
    checked_count,
    checked_delta,
    checked_epsilon,
    checked_order,
    dyadic_up,
)
from discreet.loss.rounding import LOG_MARGIN, PRODUCT_MARGIN, TINIEST, quotient_up

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


_GOLDEN: Final = (math.sqrt(5) - 1) / 2


def minimizer(
    function: Callable[[float], float], low: float, high: float, *, close: float = 1e-6
) -> float:
    """Return the point with the smallest value of all that golden sections try, ends included."""
    best = min((function(low), low), (function(high), high))
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    while high - low > close:
        if at_left <= at_right:
            best = min(best, (at_left, left))
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = function(left)
        else:
            best = min(best, (at_right, right))
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = function(right)
    return best[1]


def log_constant(t: float) -> float:
    """Bound ln C(t) from above."""
    return (
        t * math.log(t) - (1 + t) * math.log1p(t) + PRODUCT_MARGIN * (1 + t * abs(math.log(t)) + t)
    )


@final
@dataclass(frozen=True, slots=True)
class MomentBound:
    """A profile bounded through its cumulants alone; ``cumulant`` rounds up."""

    cumulant: Callable[[float], float]
    limit: float = math.inf

    def log_delta(self, eps: float, t: float) -> float:
        """Bound ln of the finite part of the profile through one order."""
        value = self.cumulant(t) - t * eps
        return value + log_constant(t) + LOG_MARGIN * (1 + abs(value) + t * eps)

    def order_at(self, eps: float) -> float:
        """Return the order that bounds the profile at eps best, of those tried."""
        return self._best(lambda t: self.log_delta(eps, t))

    def delta(self, eps: float) -> float:
        """Bound the finite part of the profile at eps >= 0."""
        t = self.order_at(eps)
        return min(1.0, math.exp(min(0.0, self.log_delta(eps, t))) * (1 + LOG_MARGIN))

    def order_for(self, delta: float) -> float:
        """Return the order that bounds the epsilon at delta best, of those tried."""
        return self._best(lambda t: self._solved(delta, t))

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
            math.exp(
                minimizer(lambda x: objective(min(math.exp(x), capped)), low, top, close=2e-8)
            ),
            capped,
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


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RenyiCurve:
    """An upper bound on the Rényi divergence of every order up to the largest known one.

    >>> curve = RenyiCurve(rho=Fraction(1, 2)) + RenyiCurve(rho=Fraction(1, 4))
    >>> curve.at(Fraction(2)), curve.log_moment(1.0)
    (Fraction(3, 2), 1.5)
    """

    rho: Fraction = Fraction(0)
    orders: tuple[Fraction, ...] = ()
    values: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in zip(self.orders, self.orders[1:], strict=False))
        ordered = rising and (not self.orders or self.orders[0] > 1)
        if not ordered or len(self.orders) != len(self.values):
            raise OutOfRange(
                "the orders of a Rényi curve do not fit its values; give increasing orders above "
                "1, and one value for each."
            )
        if self.rho < 0 or any(value < 0 for value in self.values):
            raise OutOfRange("a Rényi divergence is negative; give values of at least zero.")

    @property
    def limit(self) -> Fraction | None:
        """The largest order at which something is known; None if there is no largest."""
        return self.orders[-1] if self.orders else None

    @property
    def line(self) -> Fraction | None:
        """The rho of a curve that is a line; None for one with more to it."""
        return None if self.orders else self.rho

    def at(self, order: Fraction) -> Fraction | None:
        """Bound the divergence of an order; None above the largest known one."""
        if not self.orders:
            return self.rho * order
        if order > self.orders[-1]:
            return None
        index = bisect.bisect_left(self.orders, order)
        right, above = self.orders[index] - 1, self.values[index]
        left = self.orders[index - 1] - 1 if index else Fraction(0)
        below = self.values[index - 1] if index else Fraction(0)
        t = order - 1
        chord = (left * below * (right - t) + right * above * (t - left)) / (right - left)
        return self.rho * order + chord / t

    def log_moment(self, t: float) -> float:
        """Bound ln E_P[e**(tL)] = t D_{1+t} from above."""
        if not self.orders and self.rho and t > 0:
            top, bottom = t.as_integer_ratio()
            rho, rest = self.rho.as_integer_ratio()
            return quotient_up(top * (top + bottom) * rho, bottom * bottom * rest)
        exact = Fraction(t)
        value = self.at(1 + exact)
        return math.inf if value is None else float_up(exact * value)

    def __add__(self, other: RenyiCurve) -> RenyiCurve:
        if not self.orders and not other.orders:
            return RenyiCurve(rho=self.rho + other.rho)
        limits = [curve.orders[-1] for curve in (self, other) if curve.orders]
        known = sorted({order for order in (*self.orders, *other.orders) if order <= min(limits)})
        values = []
        for order in known:
            mine, theirs = self.at(order), other.at(order)
            if mine is not None and theirs is not None:
                values.append(mine + theirs)
        return RenyiCurve(orders=tuple(known), values=tuple(values))

    def times(self, count: int) -> RenyiCurve:
        return RenyiCurve(
            rho=self.rho * count,
            orders=self.orders,
            values=tuple(value * count for value in self.values),
        )


def pure_renyi(*, epsilon: object, order: object) -> float:
    """Return the largest divergence of an epsilon-DP mechanism, rounded up."""
    loss, a = checked_epsilon(epsilon), checked_order(order)
    # log[(e**(a e) + e**((1-a) e)) / (1+e**e)] = (a-1) e + log[(1 + e**((1-2a) e)) / (1 + e**-e)]
    top, bottom = exp((1 - 2 * a) * loss), exp(-loss)
    return float_up(loss + log((1 + top.high) / (1 + bottom.low)).high / (a - 1))


def pure_to_gaussian_mu(*, epsilon: object) -> Fraction:
    """Return the least mu whose Gaussian loses as much as epsilon-DP: 2 Phi^-1(e**eps/(1+e**eps)).

    Theorem (key ``pure-to-gaussian``; Dong, Roth and Su 2022): both trade-offs meet on the
    diagonal, and the Gaussian's is below elsewhere.  Rounded up.
    """
    loss = checked_epsilon(epsilon)
    if loss == 0:
        return Fraction(0)
    decay = exp(-loss)
    chance = Interval(decay.low / (1 + decay.low), decay.high / (1 + decay.high))
    guess = -2 * normal_quantile_up(chance)
    step = max(guess, Fraction(1)) / 2**50
    while normal_cdf(-guess / 2).high > chance.low:  # mu is proved when Phi(-mu/2) <= 1/(1+e**eps)
        guess, step = guess + step, 2 * step
    return dyadic_up(guess)


_ONE: Final = Fraction(1)
_EXACTLY: Final = 64  # steps without rounding
_LONGEST: Final = 1024
_LOWEST: Final = Fraction(1, 1 << 20)  # beside 1: an order so low bounds nothing
_GRID: Final = 1 << 80


def group_delta(*, epsilon: object, delta: object, size: int) -> Fraction:
    """Return delta (e**(k eps) - 1) / (e**eps - 1), rounded up; k delta if epsilon is 0."""
    loss, chance = checked_epsilon(epsilon), checked_delta(delta)
    count = checked_count(size, name="size")
    if chance == 0:
        return Fraction(0)
    if loss == 0:
        return min(count * chance, _ONE)
    # probability * e**((k-1) eps) * (1 - e**(-k eps)) / (1 - e**-eps), at most one
    if (count - 1) * loss > 1000:
        return _ONE
    step, whole = exp(-loss), exp(-count * loss)
    series = exp((count - 1) * loss).high * (1 - whole.low) / (1 - step.high)
    return min(Fraction(float_up(chance * series)), _ONE)


def group_renyi(curve: RenyiCurve, size: int) -> RenyiCurve:
    """Return a curve at several times the distance, by the best exponents that its orders allow."""
    count = checked_count(size, name="size")
    if not curve.orders:
        return RenyiCurve(rho=count**2 * curve.rho)
    if count > _LONGEST:
        raise _too_large(count)
    far = curve
    for step in range(1, count):
        top = far.orders[-1] * curve.orders[-1] / (far.orders[-1] + curve.orders[-1] - 1)
        if step >= _EXACTLY:
            top = Fraction(math.floor(top * _GRID), _GRID)  # lest its digits add up
        if top - 1 < _LOWEST:
            raise _too_large(count)
        orders = sorted({a for a in curve.orders if a < top} | {top})
        values = [(a, _longer(far, curve, a)) for a in orders]
        known = [(a, value) for a, value in values if value is not None]
        if step >= _EXACTLY:
            known = [(a, Fraction(math.ceil(value * _GRID), _GRID)) for a, value in known]
        far = RenyiCurve(orders=tuple(a for a, _ in known), values=tuple(v for _, v in known))
    return far


def _too_large(size: int) -> OutOfRange:
    return OutOfRange(
        f"a group of {size} is too large for a loss that is known by Rényi divergences; give a "
        "loss that is known otherwise, such as ZeroConcentrated or GaussianDP."
    )


def _longer(far: RenyiCurve, near: RenyiCurve, a: Fraction) -> Fraction | None:
    """Bound one order of the longer chain by the best exponent p; any p > 1 is sound."""
    largest, reach = far.orders[-1], near.orders[-1]
    exponents = {order / a for order in far.orders if order > a} | {1 + (largest - 1) / reach}
    exponents |= {1 + (1 - 1 / a) * Fraction(j, 8) for j in range(1, 33)}
    best: Fraction | None = None
    for p in exponents:
        first, second = far.at(p * a), near.at((p * a - 1) / (p - 1))
        if first is None or second is None:
            continue
        value = (a - 1 / p) / (a - 1) * first + second
        best = value if best is None else min(best, value)
    return best
