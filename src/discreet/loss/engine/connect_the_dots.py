"""Privacy loss distributions on a lattice, from a profile at its points or from a Rényi curve.

Trust: kernel.

Theorem (key ``connect-the-dots``).  h(a) = delta(ln a) is convex and falls from h(0) = 1.  Straight
lines between its values at the lattice are the profile of a law on the lattice that bounds h from
above.  On one cell h lies above the extensions of the chords of both neighboring cells; lowering
the values at both ends by the largest gap between chord and extensions gives lines below h.
A law with slopes s_k on [a_k, a_{k+1}] has Q-masses s_{k-1} - s_k.  Raising slopes (from the right)
or lowering them (from the left) until they are ordered keeps the side of the bound, and so does a
line below a corner that points up.

Values and slopes come with brackets, so rounding is on the safe side throughout
(docs/proofs/accounting.md, section 6).

Theorem (key ``renyi-to-approximate``).  A curve bounds the profile by h(a) = min over orders of
C(t) e**(K(t)) a**-t for a >= 1, and by 1 - a + a h(1/a) for a < 1, in both directions.  Composing
the largest profile that a curve allows with a product of pairs bounds the whole, however the parts
are interleaved (Vadhan and Zhang 2023; the pairs' answers can be drawn up front).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.exact import float_down, float_up
from discreet.loss.engine.line_search import log_constant, moment_deltas
from discreet.loss.engine.rounding import CUT_MARGIN, MOMENT_MARGIN, NODE_MARGIN, UNIT
from discreet.loss.pairs.distribution import LARGEST_PLACE, Floats, PrivacyLossDistribution
from discreet.loss.pairs.polygon import Polygon
from discreet.loss.renyi.curve import RenyiCurve

_ROUNDS: Final = 60


def knots(low: float, high: float, step: Fraction) -> tuple[int, Floats]:
    """Cover [low, high] by lattice points, with one to spare on each side."""
    start = math.floor(Fraction(low) / step) - 1
    count = math.ceil(Fraction(high) / step) + 2 - start
    return start, (start + np.arange(count)) * float(step)


def above_knots(
    start: int, x: Floats, upper: Floats, step: Fraction, total: float = 1.0
) -> PrivacyLossDistribution:
    """Connect upper values at the knots; what is left at the last one counts as infinite.

    ``total`` is at least the value at a = 0: 1, or less for the finite part of a profile.
    """
    a, rise = np.exp(x), math.expm1(float(step))
    slopes = (upper[:-1] - upper[1:]) / (a[:-1] * rise)
    slopes = np.maximum.accumulate(np.maximum(slopes, 0.0)[::-1])[::-1] * (1 + 8 * UNIT)
    mass = np.empty(len(x))
    mass[1:-1] = a[1:-1] * (slopes[:-1] - slopes[1:])
    mass[-1] = a[-1] * slopes[-1]
    mass[0] = max(total - float(upper[0]) - float(a[0] * slopes[0]), 0.0) + 16 * UNIT
    infinite = float(upper[-1])
    relative, drift = _errors(x)
    return PrivacyLossDistribution(start, mass * (1 + relative), infinite * (1 + relative), drift)


def below_knots(
    start: int, x: Floats, ends: tuple[Floats, Floats], finite: float, step: Fraction
) -> PrivacyLossDistribution:
    """Connect values that are lowered enough to keep the lines below the profile.

    ``ends`` bound the finite profile from both sides; ``finite`` is at most its value at a = 0.
    """
    lower, upper = ends
    a, h = np.exp(x), float(step)
    width = a[:-1] * math.expm1(h)
    steep = np.concatenate([[np.inf], (upper[:-2] - lower[1:-1]) / width[:-1]])
    flat = np.concatenate([np.maximum(lower[1:-1] - upper[2:], 0.0) / width[1:], [0.0]])
    left, right = lower[:-1], lower[1:]
    with np.errstate(invalid="ignore", divide="ignore"):
        where = (left - right - flat * width) / (steep - flat)  # the extensions meet here
    where = np.clip(np.nan_to_num(where, nan=0.0), 0.0, width)
    share = where / width
    bottom = np.maximum(left - np.minimum(steep, 1e300) * where, right + flat * (width - where))
    gap = np.maximum(left * (1 - share) + right * share - bottom, 0.0)
    gap = gap * (1 + CUT_MARGIN) + 16 * UNIT * left
    drop = np.maximum(np.append(gap, 0.0), np.append(0.0, gap))
    value = np.maximum(lower - drop, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):  # where the right end stops at zero,
        pivot = (
            bottom * (1 - CUT_MARGIN) / (1 - share)
        )  # the line through it must pass below the vertex
    cap = np.where(value[1:] > 0.0, np.inf, np.nan_to_num(np.maximum(pivot, 0.0), posinf=1.0))
    value[:-1] = np.minimum(value[:-1], cap)
    value[0] = min(value[0], max(0.0, finite - a[0]) * (1 - 16 * UNIT))  # below finite - a
    kept = _convex(value, h)
    across = a[kept[:-1]] * np.expm1(np.diff(kept) * h)
    slopes = np.maximum(value[kept[:-1]] - value[kept[1:]], 0.0) / across
    slopes = np.minimum.accumulate(np.minimum(slopes, 1.0))
    mass = np.zeros(len(x))
    mass[kept[1:-1]] = a[kept[1:-1]] * (slopes[:-1] - slopes[1:])
    mass[-1] = a[-1] * slopes[-1]
    relative, drift = _errors(x)
    return PrivacyLossDistribution(start, mass * (1 - relative), 0.0, drift)


def _convex(value: Floats, h: float) -> NDArray[np.intp]:
    """Leave out corners that point up, all at once and again, until few are left.

    The line across a chain of such corners lies below it, so the function only falls.
    """
    kept = np.arange(len(value))
    for _ in range(_ROUNDS):
        left, middle, right = kept[:-2], kept[1:-1], kept[2:]
        whole = np.expm1((left - right) * h)
        near = np.expm1((middle - right) * h) / whole
        far = np.exp((middle - right) * h) * np.expm1((left - middle) * h) / whole
        stays = value[middle] <= value[left] * near + value[right] * far
        if stays.all():
            break
        kept = kept[np.concatenate([[True], stays, [True]])]
    return kept


def below_polygon(
    polygon: Polygon, finite: float, step: Fraction
) -> PrivacyLossDistribution | None:
    """Put a convex polygon, which falls to zero, on a lattice from below.

    The polygon is the largest of its lines, one for each cell, of zero, and of finite - a, where
    ``finite`` is at most its value at a = 0.  Move each corner to the nearest lattice point, down
    to the lower of the two lines that meet there: then both ends of each new edge are below one
    line of the polygon.  The last corner moves to the left, and no other one to the same place.
    """
    h = float(step)
    x, value = polygon.x, polygon.value
    if len(x) == 1 or not value[0] > 0:
        return None
    place = np.rint(x / h)
    if not float(np.abs(place).max()) <= LARGEST_PLACE:
        return None
    place[-1] = math.floor(float(x[-1]) / h)
    place[:-1] = np.minimum(place[:-1], place[-1] - 1)
    before, after = _lines(polygon, place * h)
    before[0] = finite - math.exp(place[0] * h)
    bound = np.minimum(before, after)
    bound, bound[-1] = bound - 64 * UNIT * np.abs(bound), 0.0
    order = np.lexsort((bound, place))
    place, bound = place[order], bound[order]
    first = np.append(True, np.diff(place) > 0)
    place, bound = _ended(place[first], bound[first], h)
    if len(place) < 2:
        return None
    kept = Polygon.hull(place * h, bound)
    where = np.rint(kept.x / h).astype(np.int64)
    a = np.exp(kept.x)
    slopes = np.minimum.accumulate(np.minimum(np.append(1.0, kept.slopes() * (1 - 32 * UNIT)), 1.0))
    mass = np.zeros(int(where[-1] - where[0]) + 1)
    mass[where - where[0]] = a * (slopes - np.append(slopes[1:], 0.0))
    relative, drift = _errors(kept.x)
    return PrivacyLossDistribution(int(where[0]), mass * (1 - relative), 0.0, drift)


def _lines(polygon: Polygon, places: Floats) -> tuple[Floats, Floats]:
    """Follow the lines of the cells before and after each node to a point near it."""
    x, value = polygon.x, polygon.value
    falls = polygon.slopes() * np.exp(x[:-1])  # in units of the left end of each cell
    before, after = np.append(0.0, falls * np.exp(np.diff(x))), np.append(falls, 0.0)
    along = np.expm1(places - x)
    return value - before * along, value - after * along


def _ended(place: Floats, bound: Floats, h: float) -> tuple[Floats, Floats]:
    """Let an edge that falls below zero end on the lattice before it does."""
    under = np.flatnonzero(bound < 0)
    if not len(under):
        return place, bound
    last = int(under[0])
    while last:
        left, right = bound[last - 1], min(bound[last], 0.0)
        width = math.expm1((place[last] - place[last - 1]) * h)
        zero = math.floor(place[last - 1] + math.log1p(width * left / (left - right)) / h)
        if left > 0 and zero > place[last - 1]:
            return np.append(place[:last], zero), np.append(bound[:last], 0.0)
        last -= 1
        bound = np.append(bound[:last], min(bound[last], 0.0))
    return place[:0], bound[:0]


def _errors(x: Floats) -> tuple[float, float]:
    size = float(np.abs(x[[0, -1]]).max())
    return UNIT * (96 + 16 * size), 8 * UNIT * size


_REACH: Final = 300.0  # of a curve on a lattice: e**-300 is below every delta
_UNCOUNTED: Final = math.log(1e-40)  # what is left beyond counts as infinite (section 12)


@final
@dataclass(frozen=True, slots=True)
class RenyiPart:
    """A curve that joins the lattice from above; nothing is known from below."""

    curve: RenyiCurve

    spread: ClassVar[bool] = True

    def grain(self) -> Fraction | None:
        """There are no atoms to respect."""
        return Fraction(0)

    def largest(self) -> float:
        """Dots end there."""
        return _REACH

    def _lines(self) -> list[tuple[float, float]]:
        """Orders t in rising order, and upper bounds on K(t) + ln C(t)."""
        top = 1e4 if self.curve.limit is None else float(self.curve.limit - 1)
        scale = [top * math.exp(-0.06 * k) for k in range(219, -1, -1)]
        moments = [(t, self.curve.log_moment(t)) for t in scale]
        known = [(t, m + log_constant(t)) for t, m in moments if math.isfinite(m)]
        return [(t, top + MOMENT_MARGIN * (1 + abs(top))) for t, top in known]

    def above(self, step: Fraction) -> PrivacyLossDistribution | None:
        """Connect the dots of the bound."""
        lines = _envelope(self._lines())
        reach = min(_REACH, max(1.0, 1.1 * min((top - _UNCOUNTED) / t for t, top in lines)))
        start, x = knots(-reach, reach, step)
        high = np.exp(_lowest(lines, np.abs(x)))
        left = np.minimum(x, 0.0)
        mirrored = -np.expm1(left) + np.exp(left) * high
        upper = np.minimum(np.where(x >= 0, high, mirrored) * (1 + NODE_MARGIN), 1.0)
        return above_knots(start, x, upper, step)

    def finite_parts(self, eps: Floats) -> tuple[Floats, Floats]:
        """Bound what the curve allows at many real eps, by the best order of each."""
        orders, moments = _known_moments(self.curve)
        high = moment_deltas(float_up(self.curve.rho), orders, moments, np.abs(eps))
        left = np.minimum(eps, 0.0)
        mirrored = (-np.expm1(left) + np.exp(left) * high) * (1 + NODE_MARGIN)
        return np.zeros(len(eps)), np.minimum(np.where(eps >= 0, high, mirrored), 1.0)

    def below(self, step: Fraction) -> PrivacyLossDistribution | None:  # noqa: ARG002  (a curve bounds from above only)
        """Nothing is known."""
        return None


@functools.lru_cache(maxsize=64)
def _known_moments(curve: RenyiCurve) -> tuple[Floats, Floats]:
    """Return the orders t at which a curve is known, rounded down, and upper bounds on K(t)."""
    orders = [float_down(order - 1) for order in curve.orders]
    known = zip(curve.orders, curve.values, strict=True)
    moments = [float_up((order - 1) * value) for order, value in known]
    return np.array(orders), np.array(moments)


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
    line = np.searchsorted(crossings, eps)
    return np.asarray(np.minimum(top[line] - t[line] * (1 - NODE_MARGIN) * eps, 0.0))
