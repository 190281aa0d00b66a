"""A whole profile as polygons above and below it, at every ratio.

Trust: kernel.

Theorem (key ``dots``).  Let polygons bound h_PQ and h_QP at ratios from 1 on.  As
h_PQ(a) = 1 - a + a h_QP(1/a), which maps lines to lines, together they bound h_PQ everywhere.
Where the two upper polygons meet at 1 in a corner that points up, h_PQ lies below the line across
it, because it is convex; so do all answers that are read from the table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np

from discreet.loss.bracket import Bracket
from discreet.loss.engine.connect_the_dots import above_knots, below_polygon, knots
from discreet.loss.engine.rounding import CHORD_MARGIN, UNIT
from discreet.loss.pairs.distribution import Floats, PrivacyLossDistribution
from discreet.loss.pairs.polygon import HalfProfile, Polygon

_SHIFT: Final = 2e-12  # a move to the right is kept as drift (section 12, products)
_NEARLY: Final = 0.3  # of a step: so far a polygon moves to end on the lattice
_SHALLOW: Final = 1e-20  # what lies beyond on the left moves up: hardly noticed
_MOST_KNOTS: Final = 1 << 20


@final
@dataclass(frozen=True, slots=True, eq=False)
class ProfileTable:
    """Polygons above h_PQ (``forward``) and h_QP (``backward``), and polygons below them."""

    forward: Polygon
    backward: Polygon
    floor_forward: Polygon
    floor_backward: Polygon
    atoms: tuple[Floats, Floats]  # of the upper polygons: logarithms of masses under P, and losses

    @classmethod
    def of(cls, forward: HalfProfile, backward: HalfProfile) -> ProfileTable:
        """Draw both sides, and cut the upper corner at 1 off, if there is one."""
        right, left = _bridged(forward.ceiling(), backward.ceiling())
        atoms = _atoms(right, left)
        if forward.upper_only:
            low = right.scaled(1 - 4 * CHORD_MARGIN), left.scaled(1 - 4 * CHORD_MARGIN)
        else:
            low = forward.floor(backward), backward.floor(forward)
        return cls(right, left, *low, atoms)

    def reverse(self) -> ProfileTable:
        """Swap the two laws."""
        mass, losses = self.atoms
        return ProfileTable(
            self.backward,
            self.forward,
            self.floor_backward,
            self.floor_forward,
            (mass - losses, -losses),
        )

    def sampled(self, rate: Fraction) -> ProfileTable:
        """Map the table of (P, Q) to that of ((1-q)Q + qP, Q), for 0 < q < 1.

        By key ``poisson-sampling`` the ratio a becomes 1 - q + qa and h becomes qh, so lines stay
        lines; reversed, the ratio b becomes b / (q + (1-q)b) and r becomes q r / (q + (1-q)b), and
        nothing is left at 1/(1-q).
        """
        right = _removed(self.forward, rate, up=True), _added(self.backward, rate, up=True)
        left = (
            _removed(self.floor_forward, rate, up=False),
            _added(self.floor_backward, rate, up=False),
        )
        return ProfileTable(*right, *left, _atoms(*right))

    def upper(self, eps: Floats) -> Floats:
        """Bound h_PQ(e**eps) from above, at any real eps."""
        right, left = self.forward.at(np.maximum(eps, 0.0)), self.backward.at(-eps)
        value = np.where(eps >= 0, right, _mirrored(eps, left))
        return np.minimum(value * (1 + CHORD_MARGIN), 1.0)

    def lower(self, eps: Floats) -> Floats:
        """Bound h_PQ(e**eps) from below, by a convex function of e**eps on each side of 1."""
        right, left = self.floor_forward.at(np.maximum(eps, 0.0)), self.floor_backward.at(-eps)
        return np.asarray(np.where(eps >= 0, right, _mirrored(eps, left)) * (1 - CHORD_MARGIN))

    def finite_parts(self, eps: Floats, infinite: Bracket) -> tuple[Floats, Floats]:
        """Bound h_PQ(e**eps) without the mass of infinite losses, from both sides."""
        low = self.lower(eps) * (1 - UNIT) - infinite.high * (1 + UNIT)
        high = self.upper(eps) * (1 + UNIT) - infinite.low * (1 - UNIT)
        return np.maximum(low, 0.0), np.maximum(high, 0.0)

    def cumulant(self, t: float, infinite: float) -> tuple[float, float]:
        """Bound ln E_P[e**(tL); L < inf] as far as the table goes, and give its last finite loss.

        With D = h - infinite, the moment is t (t+1) times the integral of a**(t-1) D(a).  Chords
        are the profile of atoms; what they leave at the last node counts up to that node.
        """
        mass, losses = self.atoms
        last = float(self.forward.x[-1])
        over = max(float(self.forward.value[-1]) - infinite, 0.0)
        rest = math.log(over * (t + 1)) + t * last if over else -math.inf
        terms = mass + t * losses
        top = max(float(terms.max()), rest)
        total = top + math.log(float(np.exp(terms - top).sum()) + math.exp(rest - top))
        reach = t * float(np.abs(losses).max())
        return total + UNIT * (len(terms) + 64 + 32 * (abs(top) + reach)), last

    def above(self, step: Fraction, infinite: Bracket) -> PrivacyLossDistribution | None:
        """Connect the dots of the upper polygon on a lattice."""
        start, x = self._knots(step)
        if not len(x):
            return None
        known = infinite.low * (1 - UNIT)
        upper = np.maximum(self.upper(x) - known, 0.0)
        law = above_knots(start, x, upper * (1 + UNIT), step, total=1.0 - known)
        return PrivacyLossDistribution(
            law.start, law.mass, (law.infinite + infinite.high) * (1 + UNIT), law.drift
        )

    def below(self, step: Fraction, infinite: Bracket) -> PrivacyLossDistribution | None:
        """Move the corners of the lower polygon to a lattice."""
        right, left = self.floor_forward, self.floor_backward
        start, x = self._knots(step)
        if not len(x):
            return None
        places = np.concatenate([-left.x[:0:-1], right.x])
        values = np.concatenate(
            [_mirrored(places[: len(left.x) - 1], left.value[:0:-1]), right.value]
        )
        values = values * (1 - CHORD_MARGIN) - infinite.high * (1 + CHORD_MARGIN)
        values = np.maximum(values - values[-1], 0.0)
        seen = places >= start * float(step)
        seen[np.flatnonzero(values == 0.0)[0] + 1 :] = False  # the first zero is the last corner
        shift = _to_lattice(float(places[seen][-1]), float(step))
        polygon = Polygon.hull(places[seen] + shift, values[seen])
        law = below_polygon(polygon, (1 - infinite.high) * (1 - CHORD_MARGIN), step)
        return law and PrivacyLossDistribution(
            law.start, law.mass, infinite.low, law.drift + 1.01 * shift
        )

    def _knots(self, step: Fraction) -> tuple[int, Floats]:
        left = self.backward
        deep = np.flatnonzero(left.value - left.value[-1] > _SHALLOW)
        low = float(left.x[min(deep[-1] + 1, len(left.x) - 1)]) if len(deep) else 0.0
        high = float(self.forward.x[-1])
        if low + high > _MOST_KNOTS * step:
            return 0, np.zeros(0)
        return knots(-low, high, step)


def _to_lattice(last: float, step: float) -> float:
    """Return how far to the right a law moves so that its last corner stays where it nearly is."""
    gap = math.ceil(last / step - 1e-9) * step - last
    return max(gap, 0.0) + _SHIFT if gap < _NEARLY * step else _SHIFT


def _mirrored(eps: Floats, other: Floats) -> Floats:
    """Return 1 - a + a h(1/a) at a = e**eps <= 1."""
    under = np.minimum(eps, 0.0)
    return np.asarray(np.exp(under) * other - np.expm1(under))


def _removed(side: Polygon, rate: Fraction, *, up: bool) -> Polygon:
    """Map a polygon on a >= 1 to 1 + q(a - 1), with values and places rounded up, or down."""
    sign = 64 * UNIT if up else -64 * UNIT
    x = np.log1p(float(rate) * np.expm1(side.x)) * (1 + sign)
    return _distinct(x, side.value * float(rate) * (1 + sign), up=up)


def _added(side: Polygon, rate: Fraction, *, up: bool) -> Polygon:
    """Map a polygon on b >= 1 to b / (q + (1-q)b), with values and places rounded."""
    q, sign = float(rate), 64 * UNIT if up else -64 * UNIT
    y = q * np.expm1(-side.x)  # b' = 1 / (1 + y)
    x = -np.log1p(y) * (1 + sign / (1 + y))
    value = side.value * q * np.exp(-side.x) / (1 + y) * (1 + sign / (1 - q))
    end = -math.log1p(-q) * (1 + sign / (1 - q))
    if up:
        return _distinct(np.append(x, end), np.append(value, 0.0), up=up)
    kept = x < end
    return _distinct(np.append(x[kept], end), np.append(value[kept], 0.0), up=up)


def _distinct(x: Floats, value: Floats, *, up: bool) -> Polygon:
    """Keep rising places: of equal ones the last value from above, or the first."""
    order = np.argsort(x, kind="stable")
    x, value = x[order], np.minimum.accumulate(value[order])
    apart = np.diff(x) > 0
    kept = np.append(apart, True) if up else np.append(True, apart)
    if not up:
        value = np.minimum.reduceat(value, np.flatnonzero(kept))
        return Polygon.hull(x[kept], value)
    return Polygon.hull(x[kept], value[kept])


def _atoms(right: Polygon, left: Polygon) -> tuple[Floats, Floats]:
    """Return the atoms of upper polygons: changes of slope are masses, what is left is at 1."""
    falls, rises = np.append(right.slopes(), 0.0), np.append(left.slopes(), 0.0)
    rest = max(1 - float(right.value[0] + falls[0] + rises[0]), 0.0) + 8 * UNIT
    with np.errstate(divide="ignore"):
        forward = np.log(np.maximum(-np.diff(falls), 0.0)) + right.x[1:]
        backward = np.log(np.maximum(-np.diff(rises), 0.0))
    return (
        np.concatenate([forward, backward, [math.log(rest)]]),
        np.concatenate([right.x[1:], -left.x[1:], [0.0]]),
    )


def _bridged(right: Polygon, left: Polygon) -> tuple[Polygon, Polygon]:
    """Draw the line below an upper corner at 1, and give the parts of both sides that are left."""
    value = min(float(right.value[0]), float(left.value[0]))
    right = Polygon(right.x, np.minimum(right.value, value))
    left = Polygon(left.x, np.minimum(left.value, value))
    if min(len(right.x), len(left.x)) == 1 or not _above(left, 1, right, 0):
        return right, left
    i, j = 1, 1  # nodes at which the line across ends, on the right and on the left
    while True:
        if i + 1 < len(right.x) and _above(left, j, right, i):
            i += 1
        elif j + 1 < len(left.x) and _above(right, i, left, j):
            j += 1
        else:
            break
    a, b = math.exp(float(right.x[i])), math.exp(-float(left.x[j]))
    low = b * float(left.value[j]) - math.expm1(-float(left.x[j]))
    share = (1 - b) / (a - b)
    value = min(value, (low * (1 - share) + float(right.value[i]) * share) * (1 + CHORD_MARGIN))
    return _cut(right, i, value), _cut(left, j, value)


def _above(other: Polygon, j: int, side: Polygon, i: int) -> bool:
    """Say whether node i of a side is above the line from node j of the other to node i + 1."""
    b = math.exp(-float(other.x[j]))
    low = b * float(other.value[j]) - math.expm1(-float(other.x[j]))  # seen from this side
    a, c = math.exp(float(side.x[i])), math.exp(float(side.x[i + 1]))
    share = (a - b) / (c - b)
    return float(side.value[i]) > low * (1 - share) + float(side.value[i + 1]) * share


def _cut(side: Polygon, start: int, value: float) -> Polygon:
    """Begin at ratio 1 with a value, then go on from a node."""
    return Polygon(np.append(0.0, side.x[start:]), np.append(value, side.value[start:]))
