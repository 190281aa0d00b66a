"""Profiles from complex moments: a trapezoidal sum that is an upper bound by construction.

Trust: kernel.

Theorem (key ``contour-aliasing``; Alghamdi, Gomez, Asoodeh, Calmon, Kosut and Sankar 2023, theorem
3.1, for the integral).  For c > 0 with K(c) = ln E[e**(cL); L < inf] finite, the finite profile is
the integral of e**(K(z) - z eps) / (2 pi i z (z+1)) over Re z = c.  Its trapezoidal sum with
spacing 2 pi / T equals sum over k of e**(ckT) delta(eps + kT) (Poisson summation).  Every term is
at least zero, so the sum is at least the profile; and the terms k != 0 add up to at most
e**(-cT) / (1 - e**(-cT)) plus, for any c' > c,
C(c') e**(K(c') - c'(eps + T) + cT) / (1 - e**(-(c' - c)T)).

Cutting the sum at height t_n leaves out at most e**(K(c) - c eps) E(t_n) / (pi t_{n-1}), where E(t)
bounds |e**(K(c + is) - K(c))| for s >= t (rounding: docs/proofs/accounting.md, section 4).

Theorem (key ``smoothed-contour``).  Let D be the finite profile of a product, and D_m that of its
product with the Gaussian pair of a small mu = m.  With f_m the density of the smoothed loss,
D_m - m**2 (1 + m) e**(m**2/8) f_m <= D <= D_m   at every eps, for 0 < m <= 0.2.
Proof: docs/proofs/accounting.md, section 15.

Both are sums along one line of orders: D_m with the factor 1/(z (z+1)), f_m without it.  The
Gaussian factor e**(-m**2 t**2 / 2) ends them although atoms do not decay, nor does what is nearly
one, such as a sample with a small rate.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from discreet.loss.dots import Floats
from discreet.loss.moments import largest_epsilon_above, smallest_epsilon
from discreet.loss.pair import Complexes, Transform
from discreet.loss.rounding import (
    CUT_MARGIN,
    ORDERS_MARGIN,
    TINIEST,
    UNIT,
    Bracket,
    bound_above,
    bound_below,
)

_NARROW: Final = 1e-7  # of a profile: good enough for a table
_REAL_ORDERS: Final = 80
_TRIED: Final = 4  # orders, the cheapest first
_POINTS: Final = (1 << 12, 1 << 15)  # of a sum at most: few at any of those orders, else many
_HIGHEST: Final = 1000.0  # if points are many: transforms take longer at great heights
_ALIASED: Final = math.log(1e-10)  # what aliases may be of delta
_LEFT_OUT: Final = math.log(1e-11)  # what a cut may leave out of delta
_APART: Final = 1e-9  # relatively: orders that are no later than c
_FADED: Final = 8.0  # standard deviations of the Gaussian factor
_WORK: Final = 1 << 21  # terms of one smoothed sum
_MOST_POINTS: Final = 1 << 16
_WIDEST: Final = 0.2
_DROPPED: Final = 1e-19  # weights below this part of the first are dropped (section 13)


@final
@dataclass(frozen=True, slots=True)
class _Sum:
    """One trapezoidal sum: everything in it is relative to e**(K(c) - c eps).

    ``smoothing`` is how far D_m may be above the profile in units of f_m, or zero; then the sum of
    f_m has the weights times ``orders``, z (z + 1).
    """

    c: float
    period: float
    base: float
    wrong: float  # of the base
    heights: Floats
    weights: Complexes
    orders: Complexes
    later: Floats  # orders above c, and their cumulants
    cumulants: Floats
    slack: tuple[float, float]  # of both sums
    per_eps: tuple[float, float]
    smoothing: float = 0.0

    def ends(self, eps: float, *, low: bool = True) -> tuple[float, float]:
        """Bound the finite profile at eps from both sides; without ``low``, from above."""
        phase = self.heights * eps
        value = float(self.weights.real @ np.cos(phase) + self.weights.imag @ np.sin(phase))
        scale = self.base - self.c * eps
        loose = self.wrong + 16 * UNIT * (1 + abs(self.base) + self.c * abs(eps))
        slack = self.slack[0] + self.per_eps[0] * abs(eps)
        most = math.exp(min(scale + loose, 700.0))
        high = bound_above(max(value + slack, 0.0) * most)
        if not low:
            return 0.0, high
        least = (value - slack) * math.exp(min(scale - loose, 700.0)) - self._alias(eps)
        if self.smoothing:
            turned = self.weights * self.orders * np.exp(-1j * phase)
            density = float(turned.real.sum()) + self.slack[1] + self.per_eps[1] * abs(eps)
            least -= self.smoothing * max(density, 0.0) * most
        return bound_below(least), high

    def upper(self, eps: float) -> float:
        return self.ends(eps, low=False)[1]

    def lower(self, eps: float) -> float:
        return self.ends(eps)[0]

    def _alias(self, eps: float) -> float:
        """Bound the terms of the sum that belong to other points."""
        left = math.exp(-self.c * self.period) / -math.expm1(-self.c * self.period)
        gap = (self.later - self.c) * self.period
        log_right = self.cumulants - self.later * eps - gap
        right = np.exp(np.minimum(log_right, 700.0)) / -np.expm1(-gap)
        return (left + float(right.min(initial=math.inf))) * (1 + CUT_MARGIN)


@functools.cache
def _grid() -> tuple[Floats, Floats, Floats]:
    """Return orders, upper bounds on ln C at each, and the gaps between all of them."""
    orders = np.exp(np.linspace(math.log(2e-3), math.log(2e3), _REAL_ORDERS))
    constant = orders * np.log(orders) - (1 + orders) * np.log1p(orders) + ORDERS_MARGIN
    return orders, constant, orders[None, :] - orders[:, None]


def short_spacing(period: float) -> float:
    """Round 2 pi / period down to 26 significant bits, so that multiples of it are exact floats."""
    mantissa, exponent = math.frexp(2 * math.pi / period)
    return math.ldexp(math.floor(mantissa * (1 << 26)), exponent - 26)


@final
class Contour:
    """The contour engine for one composition."""

    __slots__ = (
        "_constant",
        "_error",
        "_gaps",
        "_highest",
        "_orders",
        "_safe",
        "_terms",
        "_transforms",
        "_value",
    )

    def __init__(self, transforms: Sequence[Transform]) -> None:
        """Work out the cumulants at real orders, which plan a line and bound its aliases."""
        self._transforms, (self._orders, self._constant, self._gaps) = tuple(transforms), _grid()
        value, error = np.zeros(_REAL_ORDERS), np.zeros(_REAL_ORDERS)
        for transform in self._transforms:
            own, wrong = transform.real(self._orders)
            value, error = value + own, error + wrong
        self._error = error + 8 * UNIT * np.abs(np.nan_to_num(value, posinf=0.0))
        self._value = value
        safe = value + 2 * self._error + ORDERS_MARGIN * (1 + np.abs(value))
        self._safe = np.where(np.isnan(safe), np.inf, safe)  # an order that says nothing
        self._terms = sum(transform.terms for transform in transforms)
        self._highest = min(transform.highest for transform in transforms)

    def ceiling(self, delta: float) -> float:
        values = (self._safe + self._constant - math.log(delta)) / self._orders
        return bound_above(float(values.min()) * (1 + ORDERS_MARGIN) + ORDERS_MARGIN)

    def order_at(self, eps: float) -> float:
        """Return the real order that bounds the profile at eps best."""
        return float(self._orders[int(self._exponents(eps).argmin())])

    def order_for(self, delta: float) -> float:
        """Return the real order that bounds the epsilon at delta best."""
        values = (self._safe + self._constant - math.log(delta)) / self._orders
        return float(self._orders[int(values.argmin())])

    def epsilon(self, delta: float, ceiling: float) -> Bracket:
        """Enclose the epsilon of the finite profile, known to be at most the ceiling."""
        best = Bracket(0.0, ceiling)
        guess = 0.85 * ceiling
        for attempt in range(3):
            total = self._plan(delta, guess)
            if total is None:
                break
            start = 0.95 * ceiling if attempt == 0 else best.high
            best = _solved(total, delta, best, start)
            if best.width <= 1e-7 * max(1.0, best.high):
                return best
            guess = 0.98 * best.high if attempt == 0 else 0.9 * best.high
        smoothed = self._smoothed(delta, best.high)
        if smoothed is None:
            return best
        return _solved(smoothed, delta, best, 0.5 * (best.low + best.high))

    def deltas(self, eps: Floats) -> Iterator[Bracket]:
        """Enclose the finite profile at many eps >= 0, by few sums: each bounds it anywhere."""
        sums: list[_Sum] = []  # of this call alone, so that answers depend on nothing else
        for each in eps.tolist():
            ends = (total.ends(each) for total in sums)
            good = (end for end in ends if end[1] - end[0] <= _NARROW * end[1] < 10 * _NARROW)
            known = next(good, None)
            yield self._delta(each, sums) if known is None else Bracket.within(*known, ceil=1.0)

    def delta(self, eps: float) -> Bracket:
        best = self._delta(eps, [])
        if best.width <= _NARROW * best.high or best.high < 1e-290:
            return best
        smoothed = self._smoothed(max(best.low, 0.05 * best.high, 1e-290), eps)
        if smoothed is None:
            return best
        return best.meet(Bracket.within(*smoothed.ends(eps), ceil=1.0))

    def _delta(self, eps: float, sums: list[_Sum]) -> Bracket:
        """Enclose the profile without smoothing; sums that are evaluated join the list."""
        exponent = float(self._exponents(eps).min())
        high = min(1.0, math.exp(min(exponent + ORDERS_MARGIN * (1 + abs(exponent)), 0.0)))
        best = Bracket(0.0, high)
        guess = 0.05 * high
        for _ in range(3):
            total = self._plan(max(guess, 1e-290), eps)
            if total is None:
                return best
            sums.append(total)
            low, high = total.ends(eps)
            best = Bracket(max(best.low, low), max(best.low, low, min(best.high, high)))
            if best.width <= 1e-8 * best.high or best.high < 1e-290:
                return best
            guess = max(best.low, 1e-3 * best.high)
        return best

    def _plan(self, delta: float, eps: float) -> _Sum | None:
        """Choose order and period for few points at a negligible alias; evaluate the sum."""
        need = -math.log(delta) - _ALIASED
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            bend = np.gradient(np.gradient(self._value, self._orders), self._orders)
            width = np.sqrt(np.maximum(bend, TINIEST))
            period = np.maximum(self._periods(need, eps), 4 * width) * 1.02
            excess = self._value - self._orders * eps - math.log(delta)
            usable = (excess < 20) & np.isfinite(period) & np.isfinite(width)
            cost = np.where(usable, period / width * np.exp(np.clip(excess - 6, 0.0, 50.0)), np.inf)
        tried = [index for index in np.argsort(cost)[:_TRIED].tolist() if cost[index] < math.inf]
        for points, index in itertools.product(_POINTS, tried):  # an order may decay too slowly
            spacing = short_spacing(float(period[index]))
            most = min(points, max(_POINTS[0], int(_HIGHEST / spacing)))
            first = max(12, int(min(6 / (float(width[index]) * spacing), most - 2)) + 2)
            total = self._evaluate(index, spacing, delta, eps, (first, most))
            if total is not None:
                return total
        return None

    def _evaluate(
        self, index: int, spacing: float, delta: float, eps: float, counts: tuple[int, int]
    ) -> _Sum | None:
        """Add up as few points as will do, from the first count to the last one."""
        c, base = float(self._orders[index]), float(self._value[index])
        limit = _LEFT_OUT + math.log(delta) - (base - c * eps)
        count, most = counts
        while True:
            left_out = self._decay(c, spacing * count) - math.log(math.pi * spacing * (count - 1))
            if left_out < limit or count >= most:
                break
            count = min(most, int(count * 1.25) + 1)
        if left_out > limit + 9:  # more than about 1e-7 of delta: not worth evaluating
            return None
        heights = spacing * np.arange(count)
        return self._summed(index, heights, left_out)

    def _exponents(self, eps: float) -> Floats:
        """Bound ln of the profile at eps through each order."""
        return np.asarray(self._safe + self._constant - self._orders * eps)

    def _periods(self, need: float, eps: float) -> Floats:
        """Return for each order a period at which aliases are below e**-need at eps."""
        over = (self._exponents(eps) + need)[None, :] / self._gaps
        right = np.where(self._gaps > 0, over, np.inf).min(axis=1)
        return np.asarray(np.maximum(need / self._orders, right))

    def _line(self, c: float, heights: Floats) -> tuple[Complexes, Floats, Floats]:
        """Add up the cumulants at c + i heights, their errors, and their sizes."""
        value: Complexes = np.zeros(len(heights), np.complex128)
        error, size = np.zeros(len(heights)), np.zeros(len(heights))
        for transform in self._transforms:
            line = transform.line(c, heights)
            value, error, size = value + line.value, error + line.error, size + np.abs(line.value)
        return value, error, size

    def _summed(
        self, index: int, heights: Floats, log_left_out: float, width: float = 0.0
    ) -> _Sum | None:
        """Evaluate one sum; None if rounding has won.

        Without a ``width`` of smoothing the sum ends if ``log_left_out`` bounds the rest.  With
        one, its Gaussian factor ends both sums, and faint weights are dropped.
        """
        square = width * width
        c, wrong = float(self._orders[index]), float(self._error[index])
        base = float(self._value[index]) + c * (c + 1) * square / 2
        value, error, size = self._line(c, heights)
        z = c + 1j * heights
        orders = z * (z + 1)
        value, size = value + orders * (square / 2), size + np.abs(orders) * square
        if not max(wrong, float((value - base).real.max())) <= 1.0:
            return None
        weights = np.exp(value - base) / orders * (heights[1] / math.pi)
        weights[0] *= 0.5
        modulus = np.abs(weights)
        relative = np.expm1(np.minimum(error + wrong, 50.0)) + UNIT * (
            96 + 16 * (size + abs(base)) + 2 * len(heights)
        )
        left_out, beyond = math.exp(log_left_out + min(wrong, 1.0)) * (1 + CUT_MARGIN), 0.0
        wide, kept = modulus * np.abs(orders), modulus >= 0.0
        if width:
            last = float(heights[-1])
            faded = math.exp(-square * last**2 / 2 + min(wrong, 1.0)) / (math.pi * last)
            left_out, beyond = faded * (1 + CUT_MARGIN), faded / square * (1 + CUT_MARGIN)
            kept = modulus > _DROPPED * float(modulus[0])
        slack = [
            cut + float(each @ relative) * (1 + CUT_MARGIN) + float(each[~kept].sum())
            for cut, each in ((left_out, modulus), (beyond, wide))
        ]
        later = c * (1 + _APART) < self._orders
        raised = self._orders * (self._orders + 1) * square / 2 * (1 + CUT_MARGIN)
        return _Sum(
            c=c,
            period=2 * math.pi / float(heights[1]) * (1 - 4 * UNIT),
            base=base,
            wrong=wrong,
            heights=heights[kept],
            weights=weights[kept],
            orders=orders[kept],
            later=self._orders[later],
            cumulants=(self._safe + self._constant + raised)[later],
            slack=(slack[0], slack[1]),
            per_eps=(8 * UNIT * float(modulus @ heights), 8 * UNIT * float(wide @ heights)),
            smoothing=square * (1 + width) * math.exp(square / 8) * (1 + ORDERS_MARGIN),
        )

    def _decay(self, c: float, height: float) -> float:
        total = 0.0
        for transform in self._transforms:
            total += min(0.0, transform.decay(c, height))
            if total < -120:
                break
        return total

    def _smoothed(self, delta: float, eps: float) -> _Sum | None:
        """Choose the order, the period and the smoothing for one point; None if it would be wide.

        This serves losses with atoms, or nearly so, whose transforms hardly decay.
        """
        need = -math.log(delta) - _ALIASED
        with np.errstate(invalid="ignore", divide="ignore"):
            period = self._periods(need, eps) * 1.02
            excess = self._value - self._orders * eps - math.log(delta)
            cost = np.where(np.isfinite(period), excess + 0.1 * np.log(period), np.inf)
        index = int(np.argmin(cost))
        if not math.isfinite(cost[index]):
            return None
        spacing = short_spacing(float(period[index]))
        count = int(min(_MOST_POINTS, _WORK // self._terms, self._highest / spacing))
        width = _FADED / (spacing * max(count, 1))
        if count < 2 or not width <= _WIDEST:
            return None
        return self._summed(index, spacing * np.arange(count), -math.inf, width)


def _solved(total: _Sum, delta: float, known: Bracket, guess: float) -> Bracket:
    """Narrow an enclosure of the epsilon at which a profile is delta."""
    tolerance = 1e-9 * max(1.0, known.high)
    high = smallest_epsilon(total.upper, delta, high=known.high, guess=guess, tolerance=tolerance)
    low = largest_epsilon_above(total.lower, delta, high=high, tolerance=tolerance)
    return Bracket(min(max(known.low, low), high), high)
