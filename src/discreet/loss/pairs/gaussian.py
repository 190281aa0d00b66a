"""The pair of the Gaussian mechanism: N(mu, 1) against N(0, 1).

Trust: kernel.

Definition.  L is normal with mean mu**2 / 2 and variance mu**2; ln E e**(zL) = z (z+1) mu**2 / 2.

Theorem (key ``gaussian-profile``).  delta(eps) = Phi(mu/2 - eps/mu) - e**eps Phi(-mu/2 - eps/mu)
(Balle and Wang 2018, theorem 8).  Products of Gaussian pairs are the Gaussian pair whose mu**2 is
the sum (Dong, Roth and Su 2022, corollary 2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self, final

import numpy as np

from discreet.loss.bracket import Bracket
from discreet.loss.engine.closed import gaussian
from discreet.loss.engine.rounding import UNIT, quotient_up
from discreet.loss.pairs.pair import Curve, Floats, Law, Line

__all__ = ["GaussianPair"]


@final
@dataclass(frozen=True, slots=True)
class GaussianPair:
    """N(mu, 1) against N(0, 1), by the exact square of mu.

    >>> GaussianPair(Fraction(1)).log_moment(2.0)
    3.0
    """

    mu_squared: Fraction

    spread: ClassVar[bool] = True

    def reverse(self) -> GaussianPair:
        """The pair is symmetric."""
        return self

    def group(self, k: int) -> GaussianPair:
        """The mean moves k times as far."""
        return GaussianPair(self.mu_squared * k * k)

    def cumulant(self, t: float) -> float:
        """Round t (t + 1) mu**2 / 2 up."""
        top, bottom = t.as_integer_ratio()
        square = self.mu_squared
        if not square or not top:
            return 0.0
        return quotient_up(
            top * (top + bottom) * square.numerator, 2 * bottom * bottom * square.denominator
        )

    def log_moment(self, t: float) -> float:
        """Round t (t + 1) mu**2 / 2 up."""
        return self.cumulant(t)

    def infinity(self) -> Bracket:
        """No loss is infinite."""
        return Bracket(0.0, 0.0)

    def largest(self) -> float:
        """The loss has no largest value."""
        return math.inf if self.mu_squared else 0.0

    def reached(self) -> float:
        """Every value is exceeded."""
        return self.largest()

    def closed(self, count: int) -> Curve:
        """Evaluate the normal law."""
        square = self.mu_squared * count
        return lambda eps: gaussian(square, eps)

    def grain(self) -> Fraction | None:
        """There are no atoms."""
        return Fraction(0)

    def above(self, step: Fraction) -> Law | None:  # noqa: ARG002  (engines use the closed form)
        """Gaussians are never put on a lattice."""
        return None

    def below(self, step: Fraction) -> Law | None:  # noqa: ARG002  (engines use the closed form)
        """Gaussians are never put on a lattice."""
        return None

    @classmethod
    def bundle(cls, pairs: Sequence[tuple[Self, int]]) -> _Transform:
        """Add up the squares."""
        return _Transform(float(sum(pair.mu_squared * count for pair, count in pairs)))


@final
@dataclass(frozen=True, slots=True)
class _Transform:
    square: float

    def real(self, orders: Floats) -> tuple[Floats, Floats]:
        value = orders * (orders + 1) * (0.5 * self.square)
        return value, 8 * UNIT * value

    def line(self, order: float, heights: Floats) -> Line:
        z = order + 1j * heights
        value = np.asarray(z * (z + 1) * (0.5 * self.square), np.complex128)
        return Line(value, 16 * UNIT * np.abs(z) * np.abs(z + 1) * self.square)

    def decay(self, order: float, height: float) -> float:  # noqa: ARG002  (the same at every order)
        return -0.5 * self.square * height * height * (1 - 8 * UNIT)
