"""One pair above several, for adaptive choices; chains of steps, and groups.

Trust: kernel.

Definition.  The envelope of pairs is a pair whose profile is the largest of theirs at every ratio.
Theorem (key ``adaptive-choice``; Zhu, Dong and Wang 2022, Optimal Accounting of Differential
Privacy via Characteristic Function).  If a release is dominated by one of several pairs, and which
one may depend on earlier outputs, then its composition with other releases is dominated by the
product with the envelope; composing each choice apart and taking the largest is not enough.
Proof.  The largest of convex, falling functions is convex and falling, so it is the profile of some
pair.  That pair dominates the release regardless of the choice, so ``dominating-pair`` applies.

For finite pairs the envelope is exact.  A finite profile h(a) = sum of (p - a q)+ is linear between
the ratios p/q; so is the largest of several, between their ratios and the points where two cross.
Atoms come back from it as changes of slope: q = change at a, p = a q.
Otherwise the envelope is a curved pair.  With f(r) = r**(t+1), E_Q[f(R)] is 1 plus the integral of
f''(a) (h(a) - (1 - a)+), so the excess over 1 of its moment is at most the sum of the others'.

Definition.  The outline of a pair is its upper polygon at all ratios.  A cell between two nodes
belongs to one test, which is passed with probability ``first`` under the first distribution and
``second`` under the second: the polygon has height h, slope -second and intercept first on it.
Bounds that add up profiles of several pairs, each at a ratio of its own, are least if the tests
behind the ratios agree; which nodes are matched affects how tight a bound is, never whether it
holds.

Theorem (key ``group-profile``; Dong, Roth and Su 2022, theorem 2.14).  From (P, R) and (R, Q):
h_PQ(ab) <= h_PR(a) + a h_RQ(b), for all a, b > 0.  With ratios whose tests have one probability
under R, this is the power curve of (P, R) applied to that of (R, Q).
Proof.  P(S) - ab Q(S) = P(S) - a R(S) + a (R(S) - b Q(S)).
Moments: with 1/p + 1/q = 1 Hölder's inequality gives, for the moments K of the steps,
K(t) <= K_PR(p (t + 1) - 1) / p + K_RQ(q t) / q.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange, WrongKind
from discreet.loss.composition import Composition
from discreet.loss.curved_pair import (
    CurvedPair,
    LossEnds,
    grain_of,
    table_of_composition,
    tabulated,
)
from discreet.loss.dominance import largest_only
from discreet.loss.dots import Floats
from discreet.loss.finite import FinitePair
from discreet.loss.lattice import common_divisor
from discreet.loss.moments import group_delta, group_renyi
from discreet.loss.pair import Pair
from discreet.loss.polygon import HalfProfile, ProfileTable
from discreet.loss.pure_pairs import ResponsePair
from discreet.loss.rho import MomentGrowth, cumulant, growth, largest_growth, summed_moments
from discreet.loss.rounding import MOMENT_MARGIN, NODE_MARGIN, UNIT, Bracket

_MOST_OUTCOMES: Final = 64
_ALL_MASS: Final = Fraction(1)


def product_as_finite_pair(composition: Composition) -> FinitePair | None:
    """Return a composition as one finite pair; None if it is not finite, or not small."""
    if composition.renyi is not None or not composition.pairs:
        return None
    masses: dict[Fraction | None, tuple[Fraction, Fraction]] = {Fraction(1): (_ALL_MASS, _ALL_MASS)}
    for pair, count in composition.pairs:
        if not isinstance(pair, FinitePair) or count > _MOST_OUTCOMES:
            return None
        for _ in range(count):
            masses = _times(masses, pair)
            if len(masses) > _MOST_OUTCOMES:
                return None
    both = sorted(masses.values(), reverse=True)
    return FinitePair(tuple(p for p, _ in both), tuple(q for _, q in both))


def _times(
    masses: dict[Fraction | None, tuple[Fraction, Fraction]], pair: FinitePair
) -> dict[Fraction | None, tuple[Fraction, Fraction]]:
    products: dict[Fraction | None, tuple[Fraction, Fraction]] = {}
    for p, q in masses.values():
        for more, other in zip(pair.p, pair.q, strict=True):
            first, second = p * more, q * other
            if first or second:
                ratio = first / second if second else None
                old = products.get(ratio, (Fraction(0), Fraction(0)))
                products[ratio] = (old[0] + first, old[1] + second)
    return products


_ZERO: Final = Fraction(0)
_ONE: Final = Fraction(1)


def upper_envelope(compositions: Sequence[Composition]) -> Composition:
    """Return one composition above all of them, at every ratio; all have one direction."""
    if not compositions:
        raise WrongKind("nothing is joined; give at least one composition.")
    if len(compositions) == 1:
        return compositions[0]
    for composition in compositions:
        if any(pair.infinity().low >= 1 for pair, _ in composition.pairs):
            return composition  # nothing is protected, so nothing is above it
    kept = largest_only(compositions)
    if len(kept) == 1:
        return kept[0]
    finite = [_only_finite(composition) for composition in kept]
    known = [pair for pair in finite if pair is not None]
    if len(known) == len(finite):
        return Composition(((finite_envelope(known), 1),))
    return Composition.of(EnvelopePair(tuple(sorted(kept, key=repr))))


@final
@dataclass(frozen=True, slots=True)
class EnvelopePair(CurvedPair):
    """The shape of the largest of several profiles."""

    parts: tuple[Composition, ...]

    def reverse(self) -> EnvelopePair:
        return EnvelopePair(tuple(sorted((part.reverse() for part in self.parts), key=repr)))

    def half_profile(self) -> HalfProfile:
        return tabulated(self._bounds, self.ends(), self.parts)

    def _bounds(self, eps: Floats) -> tuple[Floats, Floats]:
        profiles = [part.deltas(eps) for part in self.parts]
        return np.max([low for low, _ in profiles], axis=0), np.max(
            [high for _, high in profiles], axis=0
        )

    def whole(self, eps: float) -> Bracket:
        return Bracket.largest(part.delta(eps) for part in self.parts)

    def ends(self) -> LossEnds:
        """Take the largest of each; corners lie where the parts have theirs, or where two cross."""
        grains = [grain_of(part) for part in self.parts]
        known = [grain for grain in grains if grain is not None]
        return LossEnds(
            Bracket.largest(part.infinity() for part in self.parts),
            max(part.largest_below() for part in self.parts),
            max(part.largest() for part in self.parts),
            common_divisor(known) if len(known) == len(grains) else None,
        )

    def moment(self, t: float) -> float:
        return summed_moments([(part, 1) for part in self.parts], t)

    def growth(self) -> MomentGrowth | None:
        return largest_growth(self.parts, len(self.parts))


def _only_finite(composition: Composition) -> FinitePair | None:
    match composition.pairs:
        case ((FinitePair() as pair, 1),) if composition.renyi is None:
            return pair
    return None


def finite_envelope(pairs: Sequence[FinitePair]) -> FinitePair:
    """Return the pair whose profile is the largest of the pairs' profiles."""
    knots = _knots(pairs)
    heights = [max(_profile(pair, knot) for pair in pairs) for knot in knots]
    slopes = [
        (right - left) / (b - a)
        for (a, b), (left, right) in zip(pairwise(knots), pairwise(heights), strict=True)
    ]
    atoms = [(_ZERO, _ONE + slopes[0])]  # what the first distribution never shows
    for knot, (before, after) in zip(knots[1:], pairwise([*slopes, _ZERO]), strict=True):
        atoms.append((knot * (after - before), after - before))
    atoms.append((heights[-1], _ZERO))  # what the second distribution never shows
    kept = sorted((p, q) for p, q in atoms if p or q)[::-1]
    return FinitePair(tuple(p for p, _ in kept), tuple(q for _, q in kept))


def _profile(pair: FinitePair, ratio: Fraction) -> Fraction:
    return sum((p - ratio * q for p, q in zip(pair.p, pair.q, strict=True) if p > ratio * q), _ZERO)


def _knots(pairs: Sequence[FinitePair]) -> list[Fraction]:
    """Return the ratios between which every profile, and their largest, is linear; 0 first."""
    ratios = {p / q for pair in pairs for p, q in zip(pair.p, pair.q, strict=True) if q}
    own = sorted({_ZERO, _ONE, *ratios})
    values = [[_profile(pair, knot) for knot in own] for pair in pairs]
    crossings = set()
    for one, two in combinations(values, 2):
        for index, (a, b) in enumerate(pairwise(own)):
            left, right = one[index] - two[index], one[index + 1] - two[index + 1]
            if left * right < 0:
                crossings.add(a + (b - a) * left / (left - right))
    return sorted({*own, *crossings})


_ALL_LOST: Final = 1 - 1e-12  # infinite losses of which the rest is not worth a table


@final
@dataclass(frozen=True, slots=True, eq=False)
class UpperPolygon:
    """Nodes (x, value), rising in x, and the error rates of the tests of the cells between them."""

    x: Floats
    value: Floats
    first: Floats
    second: Floats

    @classmethod
    def of(cls, table: ProfileTable) -> UpperPolygon:
        forward, backward = table.forward, table.backward
        falls, rises = forward.slopes(), backward.slopes()
        under = (
            1 - backward.value[:-1] - np.exp(backward.x[:-1]) * rises
        )  # 1 - Q of the reversed test
        return cls(
            np.concatenate([-backward.x[:0:-1], forward.x]),
            np.concatenate([table.upper(-backward.x[:0:-1]), forward.value]),
            _falling(
                np.concatenate(
                    [1 - rises[::-1], forward.value[:-1] + np.exp(forward.x[:-1]) * falls]
                )
            ),
            _falling(np.concatenate([under[::-1], falls])),
        )


def _falling(chances: Floats) -> Floats:
    return np.minimum.accumulate(np.clip(chances, 0.0, 1.0)) if len(chances) else chances


def matched_nodes(*chances: Floats) -> list[NDArray[np.intp]]:
    """Return, for each outline, the nodes to use together; ``chances`` belong to its cells."""
    levels = np.sort(np.concatenate([np.array([2.0]), *chances]))[::-1]
    return [np.searchsorted(-own, -levels, side="right") for own in chances]


def half_profile_through(x: Floats, value: Floats) -> HalfProfile:
    """Return the side of upper bounds at some x, one of them at most 0, or nearly so.

    A profile falls, by at most 1 per unit of the ratio, and is convex.
    """
    order = np.lexsort((value, x))
    x, value = x[order], np.minimum.accumulate(np.minimum(value[order], 1.0))
    rising = np.append(np.diff(x) > 0, True)
    x, value = x[rising], value[rising]
    ahead = int(np.searchsorted(x, 0.0, side="right"))
    if ahead == 0:
        start = float(value[0]) + math.expm1(float(x[0]))
    elif ahead == len(x):
        start = float(value[-1])
    else:
        left, right = float(x[ahead - 1]), float(x[ahead])
        share = -math.expm1(left) / (math.exp(right) - math.exp(left))
        start = float(value[ahead - 1]) * (1 - share) + float(value[ahead]) * share
    places, values = np.append(0.0, x[ahead:]), np.append(start, value[ahead:]) * (1 + NODE_MARGIN)
    kept = _apart(places, 1e-8 * float(places[-1]))
    return HalfProfile.of_nodes(places[kept], np.minimum(values[kept], 1.0))


def _apart(x: Floats, gap: float) -> list[int]:
    """Leave out nodes so close to the last one that their slopes would be all rounding."""
    kept = [0]
    for place, here in enumerate(x.tolist()):
        if here - x[kept[-1]] > gap:
            kept.append(place)
    return kept


_LONGEST: Final = 1024  # steps that are chained one by one, if their losses end
_LARGEST_GROUP: Final = 1 << 16
_EXPONENTS: Final = (1.1, 1.5, 2.0, 3.0, 11.0)


@final
@dataclass(frozen=True, slots=True)
class ChainPair(CurvedPair):
    """(P, Q) from (P, R) and (R, Q)."""

    first: Composition
    second: Composition

    def reverse(self) -> ChainPair:
        return ChainPair(self.second.reverse(), self.first.reverse())

    def half_profile(self) -> HalfProfile:
        return half_profile_through(
            *two_step_bounds(
                UpperPolygon.of(table_of_composition(self.first)),
                UpperPolygon.of(table_of_composition(self.second)),
            )
        )

    def ends(self) -> LossEnds:
        one, two = self.first, self.second
        lost = one.infinity().high or two.infinity().high
        reached, largest = one.largest_below() + two.largest_below(), one.largest() + two.largest()
        slack = UNIT * (1 + largest) if math.isfinite(largest) else 0.0
        return LossEnds(
            Bracket(0.0, 1.0 if lost else 0.0), reached - 64 * slack, largest + 64 * slack
        )

    def moment(self, t: float) -> float:
        if self.first.infinity().high or self.second.infinity().high:
            return math.inf
        limit = self.growth()
        best = math.inf if limit is None else limit.at(t)
        for p in _EXPONENTS:
            one = cumulant(self.first, (p * (t + 1) - 1) * (1 + MOMENT_MARGIN)) / p
            two = cumulant(self.second, p * t / (p - 1) * (1 + MOMENT_MARGIN)) * (p - 1) / p
            best = min(best, max(one, 0.0) + max(two, 0.0))
        return best + MOMENT_MARGIN * (1 + best) if math.isfinite(best) else best

    def growth(self) -> MomentGrowth | None:
        one, two = growth(self.first), growth(self.second)
        lost = self.first.infinity().high or self.second.infinity().high
        return None if one is None or two is None or lost else one.then(two)


def two_step_bounds(one: UpperPolygon, two: UpperPolygon) -> tuple[Floats, Floats]:
    """Return ratios and bounds of the two steps, from the outlines of each."""
    i, j = matched_nodes(one.second, two.first)
    x = one.x[i] + two.x[j]
    value = one.value[i] + np.exp(np.minimum(one.x[i], 700.0)) * two.value[j]
    reach = float(np.abs(one.x).max() + np.abs(two.x).max())
    slack = UNIT * (64 + 4 * reach)
    return x + slack, np.minimum(value * (1 + slack), 1.0)


def chained(first: Composition, second: Composition) -> Composition:
    """Return a composition above (P, Q) from ordered compositions above (P, R) and (R, Q)."""
    for one, other in ((first, second), (second, first)):
        if other == Composition():
            return one
        if one.infinity().low > _ALL_LOST:
            return Composition(((ResponsePair(Fraction(0), Fraction(1)), 1),))
    return Composition.of(ChainPair(first, second))


def grouped(composition: Composition, size: int) -> Composition:
    """Move every pair of a composition to several times its distance.

    Pairs that do not know their group are chained with themselves.
    """
    renyi = None if composition.renyi is None else group_renyi(composition.renyi, size)
    total = Composition(pairs=(), renyi=renyi)
    for pair, count in composition.pairs:
        total = total.compose(_grouped_pair(pair, size).power(count))
    return total


def repeated(composition: Composition, size: int) -> Composition:
    """Chain a composition with itself, as one pair: what its factors are does not matter."""
    if size == 1:
        return composition
    half = repeated(composition, size // 2)
    return chained(half, half if size % 2 == 0 else repeated(composition, size - size // 2))


@functools.lru_cache(maxsize=1024)
def _grouped_pair(pair: Pair, size: int) -> Composition:
    moved = pair.group(size)
    if moved is not None:
        return Composition(((moved, 1),))
    if size > _LONGEST and (bound := _largest_response(pair)) is not None:
        pair = bound
    if isinstance(pair, ResponsePair):
        delta = group_delta(epsilon=pair.epsilon, delta=pair.delta, size=size)
        return Composition(((ResponsePair(size * pair.epsilon, delta), 1),))
    if size > _LARGEST_GROUP:
        raise OutOfRange(
            f"a group of {size} is too large for a loss without a largest value; ask for a group "
            f"of at most {_LARGEST_GROUP}."
        )
    half = _grouped_pair(pair, size // 2)
    return chained(half, half if size % 2 == 0 else _grouped_pair(pair, size - size // 2))


def _largest_response(pair: Pair) -> ResponsePair | None:
    """Return randomized response above a pair whose finite losses end, in both directions."""
    sides = (pair, pair.reverse())
    epsilon = max(side.largest() for side in sides)
    delta = max(side.infinity().high for side in sides)
    return ResponsePair(Fraction(epsilon), Fraction(delta)) if math.isfinite(epsilon) else None
