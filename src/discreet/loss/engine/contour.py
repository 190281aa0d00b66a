"""Profiles from complex moments: a trapezoidal sum that is an upper bound by construction.

Trust: kernel.

Theorem (key ``contour-aliasing``).  For c > 0 with K(c) = ln E[e**(cL); L < inf] finite, the
finite profile is the integral of e**(K(z) - z eps) / (2 pi i z (z+1)) over Re z = c (Alghamdi,
Gomez, Asoodeh, Calmon, Kosut and Sankar 2023, theorem 3.1).  Its trapezoidal sum with spacing
2 pi / T equals sum over k of e**(ckT) delta(eps + kT) (Poisson summation).  Every term is at least
zero, so the sum is at least the profile; and the terms k != 0 add up to at most
e**(-cT) / (1 - e**(-cT)) plus, for any c' > c,
C(c') e**(K(c') - c'(eps + T) + cT) / (1 - e**(-(c' - c)T)).

Cutting the sum at height t_n leaves out at most e**(K(c) - c eps) E(t_n) / (pi t_{n-1}), where E(t)
bounds |e**(K(c + is) - K(c))| for s >= t.  Rounding
(key ``contour-rounding``): docs/proofs/accounting.md, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from discreet.loss.bracket import Bracket
from discreet.loss.engine.line_search import largest_epsilon_above, smallest_epsilon
from discreet.loss.engine.rounding import UNIT, bound_above, bound_below
from discreet.loss.pairs.distribution import Complexes, Floats, Transform

__all__ = ["Contour"]

_ORDERS: Final[Floats] = np.exp(np.linspace(math.log(2e-3), math.log(2e3), 80))
_CONSTANT: Final[Floats] = _ORDERS * np.log(_ORDERS) - (1 + _ORDERS) * np.log1p(_ORDERS) + 1e-12
_GAPS: Final[Floats] = _ORDERS[None, :] - _ORDERS[:, None]
_MOST: Final = 4096
_ALIAS: Final = math.log(1e-10)  # of delta
_TINY: Final = math.log(1e-11)


@final
@dataclass(frozen=True, slots=True)
class _Sum:
    """One trapezoidal sum: everything in it is relative to e**(K(c) - c eps)."""

    c: float
    period: float
    base: float
    wrong: float  # of the base
    heights: Floats
    weights: Complexes
    left_out: float
    rounding: float
    per_eps: float
    orders: Floats
    cumulants: Floats

    def ends(self, eps: float) -> tuple[float, float]:
        """Bound the finite profile at eps from both sides."""
        phase = self.heights * eps
        value = float(self.weights.real @ np.cos(phase) + self.weights.imag @ np.sin(phase))
        slack = self.left_out + self.rounding + self.per_eps * abs(eps)
        scale = self.base - self.c * eps
        loose = self.wrong + 16 * UNIT * (1 + abs(self.base) + self.c * abs(eps))
        high = max(value + slack, 0.0) * math.exp(min(scale + loose, 700.0))
        low = (value - slack) * math.exp(min(scale - loose, 700.0)) - self.alias(eps)
        return bound_below(low), bound_above(high)

    def upper(self, eps: float) -> float:
        """The upper end alone."""
        return self.ends(eps)[1]

    def lower(self, eps: float) -> float:
        """The lower end alone."""
        return self.ends(eps)[0]

    def alias(self, eps: float) -> float:
        """Bound the terms of the sum that belong to other points."""
        left = math.exp(-self.c * self.period) / -math.expm1(-self.c * self.period)
        gap = (self.orders - self.c) * self.period
        log_right = self.cumulants - self.orders * eps - gap
        right = np.exp(np.minimum(log_right, 700.0)) / -np.expm1(-gap)
        return (left + float(right.min(initial=math.inf))) * (1 + 1e-9)


@final
class Contour:
    """The contour engine for one composition."""

    __slots__ = ("_error", "_real", "_safe", "_sums", "_transforms")

    def __init__(self, transforms: Sequence[Transform]) -> None:
        """Evaluate the real orders; they plan the contour and bound its aliases."""
        self._transforms = tuple(transforms)
        self._real, self._error = np.zeros(len(_ORDERS)), np.zeros(len(_ORDERS))
        for transform in self._transforms:
            value, error = transform.real(_ORDERS)
            self._real, self._error = self._real + value, self._error + error
        self._error = self._error + 8 * UNIT * np.abs(np.nan_to_num(self._real, posinf=0.0))
        safe = self._real + 2 * self._error + 1e-12 * (1 + np.abs(self._real))
        self._safe = np.where(np.isnan(safe), np.inf, safe)  # an order that says nothing
        self._sums: dict[tuple[int, float], _Sum | None] = {}

    def ceiling(self, delta: float, rho: float = 0.0) -> float:
        """Bound epsilon through the real orders alone, beside a curve of that rho."""
        values = (self._safe + _curve(rho) + _CONSTANT - math.log(delta)) / _ORDERS
        return bound_above(float(values.min()) * (1 + 1e-12) + 1e-12)

    def delta_ceiling(self, eps: float, rho: float = 0.0) -> float:
        """Bound the profile through the real orders alone, beside a curve of that rho."""
        exponent = float((self._safe + _curve(rho) + _CONSTANT - _ORDERS * eps).min())
        return min(1.0, math.exp(min(exponent + 1e-12 * (1 + abs(exponent)), 0.0)))

    def order_at(self, eps: float) -> float:
        """Return the real order that bounds the profile at eps best."""
        return float(_ORDERS[int((self._safe + _CONSTANT - _ORDERS * eps).argmin())])

    def order_for(self, delta: float) -> float:
        """Return the real order that bounds the epsilon at delta best."""
        return float(_ORDERS[int(((self._safe + _CONSTANT - math.log(delta)) / _ORDERS).argmin())])

    def epsilon(self, delta: float, ceiling: float) -> Bracket:
        """Enclose the epsilon of the finite profile, known to be at most the ceiling."""
        best = Bracket(0.0, ceiling)
        guess = 0.85 * ceiling
        for attempt in range(3):
            total = self._plan(delta, guess)
            if total is None:
                return best
            tolerance = 2e-9 * max(1.0, best.high)
            start = 0.95 * ceiling if attempt == 0 else best.high
            high = smallest_epsilon(
                total.upper, delta, high=best.high, guess=start, tolerance=tolerance
            )
            low = largest_epsilon_above(total.lower, delta, high=high, tolerance=tolerance)
            best = Bracket(max(best.low, low), high)
            if best.width <= 1e-7 * max(1.0, high):
                return best
            guess = 0.98 * high if attempt == 0 else 0.9 * high
        return best

    def delta(self, eps: float) -> Bracket:
        """Enclose the finite profile at eps >= 0."""
        high = self.delta_ceiling(eps)
        best = Bracket(0.0, high)
        guess = 0.05 * high
        for _ in range(3):
            total = self._plan(max(guess, 1e-290), eps)
            if total is None:
                return best
            low, high = total.ends(eps)
            best = Bracket(max(best.low, low), max(best.low, low, min(best.high, high)))
            if best.width <= 1e-8 * best.high or best.high < 1e-290:
                return best
            guess = max(best.low, 1e-3 * best.high)
        return best

    def _plan(self, delta: float, eps: float) -> _Sum | None:
        """Choose order and period for few points at a negligible alias; evaluate the sum."""
        need = -math.log(delta) - _ALIAS
        with np.errstate(invalid="ignore", divide="ignore"):
            left = need / _ORDERS
            over = (self._safe + _CONSTANT - _ORDERS * eps + need)[None, :] / _GAPS
            right = np.where(_GAPS > 0, over, np.inf).min(axis=1)
            bend = np.gradient(np.gradient(self._real, _ORDERS), _ORDERS)
            width = np.sqrt(np.maximum(bend, 1e-300))
            period = np.maximum(np.maximum(left, right), 4 * width) * 1.02
            excess = self._real - _ORDERS * eps - math.log(delta)
            usable = (excess < 20) & np.isfinite(period) & np.isfinite(width)
            cost = np.where(usable, period / width * np.exp(np.clip(excess - 6, 0.0, 50.0)), np.inf)
        index = int(np.argmin(cost))
        if not math.isfinite(cost[index]):
            return None
        spacing = _short(2 * math.pi / float(period[index]))
        key = (index, spacing)
        if key not in self._sums:
            if len(self._sums) > 16:
                self._sums.clear()
            self._sums[key] = self._evaluate(index, spacing, delta, eps, float(width[index]))
        return self._sums[key]

    def _evaluate(
        self, index: int, spacing: float, delta: float, eps: float, width: float
    ) -> _Sum | None:
        c, base = float(_ORDERS[index]), float(self._real[index])
        limit = _TINY + math.log(delta) - (base - c * eps)
        count = max(12, int(min(6 / (width * spacing), _MOST - 2)) + 2)
        while True:
            left_out = self._decay(c, spacing * count) - math.log(math.pi * spacing * (count - 1))
            if left_out < limit or count >= _MOST:
                break
            count = min(_MOST, int(count * 1.25) + 1)
        if left_out > limit + 9:  # more than about 1e-7 of delta: not worth evaluating
            return None
        heights = spacing * np.arange(count)
        return self._weigh(index, heights, math.exp(left_out) * (1 + 1e-9))

    def _weigh(self, index: int, heights: Floats, left_out: float) -> _Sum:
        c, base, wrong = float(_ORDERS[index]), float(self._real[index]), float(self._error[index])
        value, error = np.zeros(len(heights), np.complex128), np.zeros(len(heights))
        size = np.zeros(len(heights))
        for transform in self._transforms:
            line = transform.line(c, heights)
            value, error, size = value + line.value, error + line.error, size + np.abs(line.value)
        z = c + 1j * heights
        weights = np.exp(value - base) / (z * (z + 1)) * (heights[1] / math.pi)
        weights[0] *= 0.5
        modulus = np.abs(weights)
        relative = np.expm1(np.minimum(error + wrong, 50.0)) + UNIT * (
            64 + 8 * (size + abs(base)) + 2 * len(heights)
        )
        per_eps = 8 * UNIT * float(modulus @ heights)
        left_out *= math.exp(min(wrong, 1.0))
        later = c * (1 + 1e-9) < _ORDERS
        return _Sum(
            c,
            2 * math.pi / float(heights[1]) * (1 - 4 * UNIT),
            base,
            wrong,
            heights,
            weights,
            left_out,
            float(modulus @ relative) * (1 + 1e-9),
            per_eps,
            _ORDERS[later],
            (self._safe + _CONSTANT)[later],
        )

    def _decay(self, c: float, height: float) -> float:
        total = 0.0
        for transform in self._transforms:
            total += min(0.0, transform.decay(c, height))
            if total < -120:
                break
        return total


def _curve(rho: float) -> Floats:
    """Bound t D_(1+t) from above."""
    return np.asarray(rho * _ORDERS * (1 + _ORDERS) * (1 + 1e-12))


def _short(value: float) -> float:
    """Round down to 26 significant bits, so that multiples of it are exact floats."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(math.floor(mantissa * 2**26), exponent - 26)
