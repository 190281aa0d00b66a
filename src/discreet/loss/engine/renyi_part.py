"""What a Renyi curve allows, as a law on a lattice beside the laws of pairs.

Trust: kernel.

Theorem (key ``renyi-to-approximate``).  A curve bounds the profile by h(a) = min over orders of
C(t) e**(K(t)) a**-t for a >= 1, and by 1 - a + a h(1/a) for a < 1, in both directions.  Composing
the largest profile that a curve allows with a product of pairs bounds the whole, however the parts
are interleaved (Vadhan and Zhang 2023; the pairs' answers can be drawn up front).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, final

import numpy as np

from discreet.loss.engine.knots import above_knots, knots
from discreet.loss.engine.moments import log_constant
from discreet.loss.pairs.pair import Floats, Law
from discreet.loss.renyi_curve import RenyiCurve

__all__ = ["RenyiPart"]

_DEEP: Final = math.log(1e-40)


@final
@dataclass(frozen=True, slots=True)
class RenyiPart:
    """A curve that joins the lattice from above; nothing is known from below."""

    curve: RenyiCurve

    spread: ClassVar[bool] = True

    def grain(self) -> Fraction | None:
        """There are no atoms to respect."""
        return Fraction(0)

    def _orders(self) -> list[float]:
        top = 1e4 if self.curve.limit is None else float(self.curve.limit - 1)
        scale = [top * math.exp(-0.12 * k) for k in range(110)]
        return [t for t in scale if math.isfinite(self.curve.log_moment(t))]

    def _log_bound(self, eps: Floats) -> Floats:
        """Bound ln h at eps >= 0 by the best of many orders."""
        best = np.zeros(len(eps))
        for t in self._orders():
            top = self.curve.log_moment(t) + log_constant(t)
            line = top - t * eps
            best = np.minimum(best, line + 1e-13 * (1 + abs(top) + t * eps))
        return best

    def above(self, step: Fraction) -> Law | None:
        """Connect the dots of the bound."""
        reach = 1.0
        while float(self._log_bound(np.array([reach]))[0]) > _DEEP and reach < 300:
            reach *= 1.3
        start, x = knots(-reach, reach, step)
        high = np.exp(self._log_bound(np.maximum(x, 0.0)))
        other = np.exp(self._log_bound(np.maximum(-x, 0.0)))
        mirrored = -np.expm1(np.minimum(x, 0.0)) + np.exp(np.minimum(x, 0.0)) * other
        upper = np.minimum(np.where(x >= 0, high, mirrored) * (1 + 1e-13), 1.0)
        return above_knots(start, x, upper, step)

    def below(self, step: Fraction) -> Law | None:  # noqa: ARG002  (a curve bounds from above only)
        """Nothing is known."""
        return None
