"""Profiles from laws on a lattice: tilt, convolve once, add up.

Trust: kernel.

Theorem (key ``tilted-lattice``).  Let each loss have a law on the lattice h Z that bounds its
profile (see ``Law``).  With K = sum of n_i ln M_i(c) and r the convolution of the laws tilted by
e**(cx) and divided by M_i(c), the product's finite profile is
e**K sum_k r_k e**(-c x_k) g(eps - x_k),
where g is the profile of what is not on the lattice (a Gaussian, or nothing).  A cyclic convolution
of length N puts the tilted mass outside its window in wrong places: that mass is at most tau
(Chernoff), and changes the sum by at most e**(K + K_g - c eps) tau.

The rounding of transforms (key ``transform-error``) enters as a bound eta on each entry
(docs/proofs/accounting.md, section 6); every term is relative to e**(K - c eps), so small profiles
are as accurate as large.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, final

import numpy as np
from scipy import fft  # type: ignore[import-untyped]

from discreet.loss.engine.closed import gaussians
from discreet.loss.engine.rounding import UNIT
from discreet.loss.pairs.pair import Floats, Law

__all__ = ["Lattice", "Side", "Tilted"]

Side = Literal["above", "below"]

_TAIL: Final = math.log(1e13)
_LARGEST: Final = 1 << 20


@final
@dataclass(frozen=True, slots=True)
class Lattice:
    """Laws with counts on one lattice, and a Gaussian beside it."""

    side: Side
    step: Fraction
    laws: tuple[tuple[Law, int], ...]
    square: float

    def cumulant(self, c: float) -> float:
        """Evaluate the sum of ln M_i(c); c may be negative."""
        slope = c * float(self.step)
        total = 0.0
        for law, count in self.laws:
            weights, top = _weigh(law, slope)
            total += count * (slope * law.start + top + math.log(float(weights.sum())))
        return total

    @classmethod
    def of(
        cls, side: Side, step: Fraction, laws: Sequence[tuple[Law, int]], square: float
    ) -> Lattice:
        """Gather laws; masses too small for their own logarithm move to the side of the bound."""
        kept = []
        for law, count in laws:
            faint = (law.mass < 1e-300) & (law.mass > 0)
            mass = np.where(faint, 1e-300 if side == "above" else 0.0, law.mass)
            kept.append((Law(law.start, mass, law.infinite, law.drift), count))
        return cls(side, step, tuple(kept), square)

    def drift(self) -> float:
        """How far the laws together may shift the loss."""
        return sum(count * law.drift for law, count in self.laws) * (1 + 1e-12)

    def infinite(self) -> float:
        """The mass of infinite losses, rounded towards the side of the bound."""
        log_finite = sum(
            count * math.log1p(-min(law.infinite, 1.0)) if law.infinite < 1 else -math.inf
            for law, count in self.laws
        )
        return -math.expm1(log_finite) * (1 + (1e-14 if self.side == "above" else -1e-14))

    def tilted(self, c: float) -> Tilted | None:
        """Convolve under the tilt c > 0; None if the window would not fit."""
        empty = any(not law.mass.any() for law, _ in self.laws)
        window = None if empty else self._window(c)
        if window is None:
            return None
        start, length = window
        h, total = float(self.step), self.cumulant(c)
        logs = np.zeros(length // 2 + 1, np.complex128)
        spread = np.zeros(length // 2 + 1)
        stages = 16 * UNIT * math.log2(length)
        offset, relative = 0, 0.0
        for law, count in self.laws:
            center, weights = _tilt(law, c * h, length)
            value = fft.rfft(weights)
            size = np.maximum(np.abs(value), 1e-300)
            log_value = np.log(np.where(size <= 1e-300, 1e-300, value))
            logs += count * log_value
            slack = np.log1p((stages + 8 * UNIT) / size)
            spread += count * (slack + UNIT * (16 + (8 + len(self.laws)) * np.abs(log_value)))
            offset += count * (law.start + center)
            reach = c * h * max(abs(law.start), abs(law.start + len(law.mass)))
            relative += count * UNIT * (96 + math.log2(len(law.mass) + 1) + 24 * reach)
        product = np.exp(logs)
        modulus = np.abs(product)
        wrong = modulus * (np.expm1(np.minimum(spread, 50.0)) + 2 * stages)
        mass = fft.irfft(product, length)
        eta = float(2 * wrong.sum() / length)
        return Tilted(
            self, c, total, np.roll(mass, (offset - start) % length), start, eta, relative
        )

    def _window(self, c: float) -> tuple[int, int] | None:
        """Cover all but 1e-13 of the tilted law on each side (Chernoff)."""
        base, h = self.cumulant(c), float(self.step)
        shifts = [c * f for f in (0.03, 0.1, 0.3, 1.0, 3.0)] + [1.0 / (h * 1e3), 10.0]
        high = min((self.cumulant(c + s) - base + _TAIL) / s for s in shifts)
        low = max((base - self.cumulant(c - s) - _TAIL) / s for s in shifts)
        ends = [
            (sum(n * law.start for law, n in self.laws)),
            (sum(n * (law.start + len(law.mass) - 1) for law, n in self.laws)),
        ]
        first = max(math.floor(low / h) - 2, ends[0])
        last = min(math.ceil(high / h) + 2, ends[1])
        length = max(last - first + 1, 16)
        if length > _LARGEST:
            return None
        return first, int(fft.next_fast_len(length, real=True))


def _weigh(law: Law, slope: float) -> tuple[Floats, float]:
    """Tilt the masses, divided by about the largest of them; return that one's logarithm too."""
    exponent = slope * np.arange(len(law.mass))
    with np.errstate(divide="ignore"):
        top = float((exponent + np.log(law.mass)).max())
    return law.mass * np.exp(np.minimum(exponent - top, 700.0)), top


def _tilt(law: Law, slope: float, length: int) -> tuple[int, Floats]:
    """Tilt a law, divide by its total, and wrap it around its mean."""
    weights, _ = _weigh(law, slope)
    weights /= weights.sum()
    place = np.arange(len(weights))
    center = round(float(weights @ place))
    wrapped = np.bincount((place - center) % length, weights=weights, minlength=length)
    return center, np.asarray(wrapped, np.float64)


@final
@dataclass(frozen=True, slots=True)
class Tilted:
    """A convolution under one tilt, from which the profile near its epsilon is read."""

    lattice: Lattice
    c: float
    total: float
    mass: Floats
    start: int
    eta: float
    relative: float

    def bound(self, eps: float) -> float:
        """Bound the finite profile at eps from the side of the lattice."""
        sign = 1.0 if self.lattice.side == "above" else -1.0
        eps = eps - sign * self.lattice.drift() * (1 + 1e-9)
        first, last = self._relevant(eps)
        x = (self.start + np.arange(first, last)) * float(self.lattice.step) - eps
        weight, extra = self._weights(x)
        entries = np.maximum(self.mass[first:last] + sign * self.eta, 0.0)
        value = float(entries @ weight)
        ends = (self.start, self.start + len(self.mass))
        span = max(abs(end) for end in ends) * float(self.lattice.step)
        reach = self.c * (span + 2 * abs(eps)) + abs(self.total) + extra
        relative = self.relative + UNIT * (len(x) + 64 * reach + 64) + 1e-12
        inside = value * (1 + sign * relative)
        outside = sign * 2.2e-13
        scale = self.total + extra - self.c * eps
        return max(0.0, float(inside + outside)) * math.exp(min(scale, 700.0))

    def _relevant(self, eps: float) -> tuple[int, int]:
        """Without a Gaussian only losses above eps count, and far ones less than e**-45 each."""
        if self.lattice.square > 0.0:
            return 0, len(self.mass)
        h = float(self.lattice.step)
        first = math.floor(eps / h) - 1 - self.start
        last = math.ceil((eps + 45.0 / self.c) / h) + 2 - self.start
        return min(max(first, 0), len(self.mass)), min(max(last, 0), len(self.mass))

    def _weights(self, x: Floats) -> tuple[Floats, float]:
        """e**(-cx) g(-x) in units of the largest it can be, and the exponent of that unit."""
        square = self.lattice.square
        if square == 0.0:
            positive = np.maximum(x, 0.0)
            return np.exp(-self.c * positive) * -np.expm1(-positive), 0.0
        value, error = gaussians(square, -x)
        sign = 1.0 if self.lattice.side == "above" else -1.0
        bounded = np.maximum(value + sign * error, 0.0)
        steep = np.maximum(-x / math.sqrt(square) - math.sqrt(square) / 2, 0.0)
        with np.errstate(divide="ignore"):
            log_value = np.minimum(np.log(bounded), -0.49999999 * steep * steep)
        ceiling = self.c * (self.c + 1) * square / 2
        return np.exp(np.minimum(log_value - self.c * x - ceiling, 0.0)), ceiling
