"""A whole profile as polygons above and below it, at every ratio.

Trust: kernel.

Theorem (key ``dots``).  Let polygons bound h_PQ and h_QP at ratios from 1 on.  As
h_PQ(a) = 1 - a + a h_QP(1/a), which maps lines to lines, together they bound h_PQ everywhere.
Where the two upper polygons meet at 1 in a corner that points up, h_PQ lies below the line across
it, because it is convex; so do all answers that are read from the table.

A pair that is known by bounds on its profile, in both directions.

Definition.  A shape bounds h_PQ(a) for ratios a >= 1, and its reverse bounds h_QP(a); together
they bound the profile at every ratio.  Where the bounds enclose a profile, the pair is the one with
that profile.  Where they are known from above only, the pair is the one whose profile joins them.

Theorem (key ``dots``).  Every function that is convex, falls from 1 at 0 and is nowhere below
(1 - a)+ is the profile of a pair.  Upper bounds of a convex function stay bounds when they are
joined by chords, so the pair dominates whatever the bounds are true of.

What defines a pair is its shape; the table is worked out when it is needed, and kept.

The profile of a composition at many points, by the fastest engine, and its table.

Theorem keys: ``contour-aliasing``, ``tilted-lattice``.

A composition that is sampled, chosen or grouped is asked for its profile thousands of times; the
table asks once at each of its knots.  Theorem key: ``dots``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Final, Protocol, final

import numpy as np

from discreet.loss.composition import Composition
from discreet.loss.moments import log_constant
from discreet.loss.pair import Floats, Pair, PrivacyLossDistribution, ProfileCurve
from discreet.loss.polygon import (
    Bounds,
    HalfProfile,
    Polygon,
    above_knots,
    below_polygon,
    knots,
    tabulated_profile,
)
from discreet.loss.rho import MomentGrowth, cumulant, growth
from discreet.loss.rounding import (
    CHORD_MARGIN,
    LOG_MARGIN,
    MOMENT_MARGIN,
    NODE_MARGIN,
    UNIT,
    Bracket,
)

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
    """Return how far right the losses move so that the last corner stays where it nearly is."""
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
    """Return True if node i of a side is above the line from node j of the other to node i + 1."""
    b = math.exp(-float(other.x[j]))
    low = b * float(other.value[j]) - math.expm1(-float(other.x[j]))  # seen from this side
    a, c = math.exp(float(side.x[i])), math.exp(float(side.x[i + 1]))
    share = (a - b) / (c - b)
    return float(side.value[i]) > low * (1 - share) + float(side.value[i + 1]) * share


def _cut(side: Polygon, start: int, value: float) -> Polygon:
    """Begin at ratio 1 with a value, then go on from a node."""
    return Polygon(np.append(0.0, side.x[start:]), np.append(value, side.value[start:]))


_LOW: Final = 0.01  # an order at which a moment is known if it is at any


@final
@dataclass(frozen=True, slots=True)
class LossEnds:
    """The infinite losses of a shape, bounds on its largest finite one, and its grain."""

    infinite: Bracket
    largest_below: float
    largest: float
    grain: Fraction | None = None


class Shape(Hashable, Protocol):
    """What defines a curved pair, seen in one direction; equal shapes have equal profiles."""

    def reverse(self) -> Shape:
        """Swap the two distributions."""
        ...

    def half_profile(self) -> HalfProfile:
        """Draw the profile at ratios from 1 on."""
        ...

    def profile(self, eps: float) -> Bracket | None:
        """Enclose the profile at eps >= 0 without the table; None where the table defines it."""
        ...

    def ends(self) -> LossEnds:
        """Say where the losses end."""
        ...

    def cumulant(self, t: float) -> float:
        """Bound ln E_P[e**(tL); L < inf] from above for t > 0; perhaps by infinity."""
        ...

    def growth(self) -> MomentGrowth | None:
        """Bound how fast the cumulants grow; None where that is not known."""
        ...


class TableShape:
    """A shape whose table defines the pair."""

    __slots__ = ()

    def profile(self, eps: float) -> Bracket | None:  # noqa: ARG002
        return None


@final
@dataclass(frozen=True, slots=True)
class CurvedPair(Pair):
    """The pair of a shape."""

    shape: Shape
    _hash: int = field(init=False, repr=False, compare=False)

    rare_losses: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash(self.shape))

    def __hash__(self) -> int:
        return self._hash

    def reverse(self) -> CurvedPair:
        return CurvedPair(self.shape.reverse())

    def group(self, k: int) -> CurvedPair | None:
        return self if k == 1 else None

    def table(self) -> ProfileTable:
        return _table(self)

    def cumulant(self, t: float) -> float:
        """Add up the table, and bound what lies beyond it by higher moments."""
        return _cumulant(self, t)

    def infinity(self) -> Bracket:
        return _ends(self).infinite

    def largest(self) -> float:
        return _ends(self).largest

    def largest_below(self) -> float:
        """Ask the shape."""
        return _ends(self).largest_below

    def growth(self) -> MomentGrowth | None:
        """A loss that ends grows no faster; otherwise ask the shape."""
        largest = self.largest()
        return MomentGrowth(linear=largest) if math.isfinite(largest) else self.shape.growth()

    def closed_form(self, count: int) -> ProfileCurve | None:
        return self._finite if count == 1 else None

    def _finite(self, eps: float) -> Bracket:
        whole = self.shape.profile(eps)
        if whole is None:
            table, here = self.table(), np.array([eps])
            high = float(table.upper(here)[0])
            whole = Bracket.within(min(float(table.lower(here)[0]), high), high, ceil=1.0)
        return self._without_infinity(whole)

    def grain(self) -> Fraction | None:
        return _ends(self).grain

    def finite_parts(self, eps: Floats) -> tuple[Floats, Floats]:
        return self.table().finite_parts(eps, self.infinity())

    def above(self, step: Fraction) -> PrivacyLossDistribution | None:
        return self.table().above(step, self.infinity())

    def below(self, step: Fraction) -> PrivacyLossDistribution | None:
        return self.table().below(step, self.infinity())


def curved_composition(shape: Shape) -> Composition:
    """Return the composition of one curved pair."""
    return Composition(((CurvedPair(shape), 1),))


@functools.lru_cache(maxsize=256)
def _side(shape: Shape) -> HalfProfile:
    return shape.half_profile()


@functools.lru_cache(maxsize=128)
def _table(pair: CurvedPair) -> ProfileTable:
    return ProfileTable.of(_side(pair.shape), _side(pair.shape.reverse()))


@functools.lru_cache(maxsize=256)
def _ends(pair: CurvedPair) -> LossEnds:
    """Ask the shape; where it cannot say, let all that the table leaves at its end be infinite."""
    ends = pair.shape.ends()
    cut = ends.infinite.high > 0 and _side(pair.shape).upper_only
    if not cut and (math.isfinite(ends.largest) or math.isfinite(pair.shape.cumulant(_LOW))):
        return ends
    outer = pair.table().forward
    last, left = float(outer.x[-1]), float(outer.value[-1])
    low = left * (1 - NODE_MARGIN) if cut else ends.infinite.low
    infinite = Bracket.within(low, max(left, low), ceil=1.0)
    return LossEnds(infinite, last * (1 - NODE_MARGIN), last, ends.grain)


@functools.lru_cache(maxsize=1 << 14)
def _cumulant(pair: CurvedPair, t: float) -> float:
    ends = _ends(pair)
    value, last = pair.table().cumulant(t, ends.infinite.low)
    if last >= ends.largest:
        return value
    left = float(pair.table().forward.value[-1]) - ends.infinite.low
    value = float(
        np.logaddexp(value, beyond_table(pair.shape.cumulant, t, last, (left, ends.largest)))
    )
    return min(value + LOG_MARGIN * (1 + abs(value)), pair.shape.cumulant(t))


def beyond_table(
    moment: Callable[[float], float], t: float, last: float, end: tuple[float, float]
) -> float:
    """Bound ln of t (t+1) times the integral of a**(t-1) D(a) from e**last on, K by ``moment``.

    D(a) <= C(s) e**(K(s)) a**-s for every s > 0; and it is at most ``left``, and ends somewhere.
    Where the two bounds meet, the second takes over from the first.
    """
    left, largest = end
    best = math.log(left * (t + 1)) + t * largest if left > 0 else -math.inf
    for s in (1.2 * t + 0.5, 1.5 * t + 1, 2.5 * t + 4, 4 * t + 32):
        top = log_constant(s) + moment(s)
        best = min(best, top - (s - t) * last + math.log(t * (t + 1) / (s - t)))
        if left > 0 and math.isfinite(top):
            meet = max((top - math.log(left)) / s, last)
            whole = math.log(left * (t + 1) * s / (s - t)) + t * meet
            best = min(best, whole + MOMENT_MARGIN * (1 + abs(top) + s * meet))
    return best + MOMENT_MARGIN * (1 + abs(best)) if math.isfinite(best) else best


_FINE: Final = 6e-6
_COARSE: Final = 1.2e-5


def tabulated_shape(bounds: Bounds, ends: LossEnds, parts: Iterable[Composition]) -> HalfProfile:
    """Tabulate a profile that is made of compositions: coarsely, where one has no closed form."""
    closed = all(part.has_closed_form for part in parts)
    return tabulated_profile(
        bounds,
        largest=ends.largest,
        infinite=ends.infinite.low,
        tolerance=_FINE if closed else _COARSE,
    )


def grain_of(composition: Composition) -> Fraction | None:
    """Return the grain of a single pair, on which the corners of its profile lie."""
    if composition.renyi is None and len(composition.pairs) == 1:
        return composition.pairs[0][0].grain()
    return None


@final
@dataclass(frozen=True, slots=True)
class CompositionShape:
    """The shape of a composition: its own profile."""

    composition: Composition

    def reverse(self) -> CompositionShape:
        return CompositionShape(self.composition.reverse())

    def half_profile(self) -> HalfProfile:
        own = self.composition
        return tabulated_shape(own.deltas, self.ends(), [own])

    def profile(self, eps: float) -> Bracket:
        return self.composition.delta(eps)

    def ends(self) -> LossEnds:
        whole = self.composition
        return LossEnds(whole.infinity(), whole.largest_below(), whole.largest(), grain_of(whole))

    def cumulant(self, t: float) -> float:
        return cumulant(self.composition, t)

    def growth(self) -> MomentGrowth | None:
        return growth(self.composition)


def as_one_pair(composition: Composition) -> Pair:
    """Return the pair of a composition of one, or a curved pair for the whole.

    >>> from discreet.loss.gaussian import GaussianPair
    >>> as_one_pair(Composition(((GaussianPair(Fraction(1)), 1),)))
    GaussianPair(mu_squared=Fraction(1, 1))
    """
    match composition.pairs:
        case ((pair, 1),) if composition.renyi is None:
            return pair
    return CurvedPair(CompositionShape(composition))


@functools.lru_cache(maxsize=128)
def table_of_composition(composition: Composition) -> ProfileTable:
    """Return the polygons around the profile of a composition."""
    pair = as_one_pair(composition)
    return (
        pair.table()
        if isinstance(pair, CurvedPair)
        else CurvedPair(CompositionShape(composition)).table()
    )
