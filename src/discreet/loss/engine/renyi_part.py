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

    def _lines(self) -> list[tuple[float, float]]:
        """Orders t in rising order, and upper bounds on K(t) + ln C(t)."""
        top = 1e4 if self.curve.limit is None else float(self.curve.limit - 1)
        scale = [top * math.exp(-0.06 * k) for k in range(219, -1, -1)]
        found = [(t, self.curve.log_moment(t)) for t in scale]
        known = [(t, m + log_constant(t)) for t, m in found if math.isfinite(m)]
        return [(t, top + 1e-13 * (1 + abs(top))) for t, top in known]

    def above(self, step: Fraction) -> Law | None:
        """Connect the dots of the bound."""
        lines = _envelope(self._lines())
        reach = min(300.0, max(1.0, 1.1 * min((top - _DEEP) / t for t, top in lines)))
        start, x = knots(-reach, reach, step)
        high = np.exp(_lowest(lines, np.abs(x)))
        left = np.minimum(x, 0.0)
        mirrored = -np.expm1(left) + np.exp(left) * high
        upper = np.minimum(np.where(x >= 0, high, mirrored) * (1 + 1e-13), 1.0)
        return above_knots(start, x, upper, step)

    def below(self, step: Fraction) -> Law | None:  # noqa: ARG002  (a curve bounds from above only)
        """Nothing is known."""
        return None


def _envelope(lines: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Keep the lines top - t eps that are lowest somewhere, t rising."""
    kept: list[tuple[float, float]] = []
    for t, top in lines:
        while len(kept) > 1:
            (s, before), (r, last) = kept[-2], kept[-1]
            if (last - before) * (t - r) < (top - last) * (r - s):
                break  # they cross in this order
            kept.pop()
        kept.append((t, top))
    return kept


def _lowest(lines: list[tuple[float, float]], eps: Floats) -> Floats:
    """Bound ln h at eps >= 0 by the line that is lowest there; any line would be sound."""
    t, top = np.array(lines).T
    crossings = np.maximum.accumulate(np.diff(top) / np.diff(t))
    at = np.searchsorted(crossings, eps)
    return np.asarray(np.minimum(top[at] - t[at] * (1 - 1e-13) * eps, 0.0))
