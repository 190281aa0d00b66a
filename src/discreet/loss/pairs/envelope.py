"""One pair above several, for adaptive choices, and one pair for a small finite product.

Trust: kernel.

Definition.  The outcomes of the product are the tuples of outcomes; probabilities multiply.
Outcomes with the same ratio p/q are merged, which changes neither the profile nor that of any
mixture of the two laws, since a mixture is a function of the ratio.

Definition.  The envelope of pairs is a pair whose profile is the largest of theirs at every ratio.
Theorem (key ``adaptive-choice``; Zhu, Dong and Wang 2022, Optimal Accounting of Differential
Privacy via Characteristic Function).  If a release is dominated by one of several pairs, and which
one may depend on earlier outputs, then its composition with other releases is dominated by the
product with the envelope; composing each choice apart and taking the largest is not enough.
Proof.
The largest of convex, falling functions is convex and falling, so it is the profile of some pair.
That pair dominates the release whatever the choice, so ``dominating-pair`` applies.

For finite pairs the envelope is exact.  A finite profile h(a) = sum of (p - a q)+ is linear between
the ratios p/q; so is the largest of several, between their ratios and the points where two cross.
Atoms come back from it as changes of slope: q = change at a, p = a q.

Otherwise the envelope is a curved pair.  Its moments: with f(r) = r**(t+1), E_Q[f(R)] is 1 plus the
integral of f''(a) (h(a) - (1 - a)+), so that the excess over 1 of the envelope's moment is at most
the sum of the excesses of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Final, final

import numpy as np

from discreet.errors import WrongKind
from discreet.loss.bracket import Bracket
from discreet.loss.composition import Composition
from discreet.loss.dominance import largest_only
from discreet.loss.engine.lattice_search import common_divisor
from discreet.loss.pairs.composition_curve import (
    grain_of,
    profiles_at,
    summed_moments,
    tabulated_shape,
)
from discreet.loss.pairs.curved_pair import LossEnds, curved_composition
from discreet.loss.pairs.distribution import Floats
from discreet.loss.pairs.finite import FinitePair
from discreet.loss.pairs.polygon import HalfProfile
from discreet.loss.renyi.moment_growth import MomentGrowth, largest_growth

_MOST_OUTCOMES: Final = 64
_ALL_MASS: Final = Fraction(1)


def product_as_finite_pair(composition: Composition) -> FinitePair | None:
    """Return a composition as one finite pair; None where it is not finite, or not small.

    >>> third, half = Fraction(1, 3), Fraction(1, 2)
    >>> coin = FinitePair((third, 2 * third), (half, half))
    >>> product_as_finite_pair(Composition(((coin, 2),))).p
    (Fraction(4, 9), Fraction(4, 9), Fraction(1, 9))
    """
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
    """Return one composition above all of them, at every ratio; all have one direction.

    >>> from discreet.loss.pairs.laplace import LaplacePair
    >>> from discreet.loss.pairs.randomized_response import ResponsePair
    >>> one = Composition(((ResponsePair(Fraction(1)), 1),))
    >>> two = Composition(((LaplacePair(Fraction(6, 5)), 1),))
    >>> round(upper_envelope([one, two]).delta(1.1).high, 11)
    0.0487705755
    """
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
    return curved_composition(EnvelopeShape(tuple(sorted(kept, key=repr))))


@final
@dataclass(frozen=True, slots=True)
class EnvelopeShape:
    """The shape of the largest of several profiles."""

    parts: tuple[Composition, ...]

    def reverse(self) -> EnvelopeShape:
        """Swap the two neighbors."""
        return EnvelopeShape(tuple(sorted((part.reverse() for part in self.parts), key=repr)))

    def half_profile(self) -> HalfProfile:
        """Evaluate all profiles."""
        return tabulated_shape(self._bounds, self.ends(), self.parts)

    def _bounds(self, eps: Floats) -> tuple[Floats, Floats]:
        profiles = [profiles_at(part, eps) for part in self.parts]
        return np.max([low for low, _ in profiles], axis=0), np.max(
            [high for _, high in profiles], axis=0
        )

    def profile(self, eps: float) -> Bracket:
        """Take the largest."""
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

    def cumulant(self, t: float) -> float:
        """Add up the excesses over 1."""
        return summed_moments([(part, 1) for part in self.parts], t)

    def growth(self) -> MomentGrowth | None:
        """Take the largest, and the logarithm of their number."""
        return largest_growth(self.parts, len(self.parts))


def _only_finite(composition: Composition) -> FinitePair | None:
    """Return the only pair of a composition, if it is finite."""
    match composition.pairs:
        case ((FinitePair() as pair, 1),) if composition.renyi is None:
            return pair
    return None


def finite_envelope(pairs: Sequence[FinitePair]) -> FinitePair:
    """Return the pair whose profile is the largest of the pairs' profiles.

    >>> half = Fraction(1, 2)
    >>> even = FinitePair((half, half), (half, half))
    >>> sure = FinitePair((Fraction(1), Fraction(0)), (half, half))
    >>> finite_envelope([even, sure]).p
    (Fraction(1, 1), Fraction(0, 1))
    """
    knots = _knots(pairs)
    heights = [max(_profile(pair, knot) for pair in pairs) for knot in knots]
    slopes = [
        (right - left) / (b - a)
        for (a, b), (left, right) in zip(pairwise(knots), pairwise(heights), strict=True)
    ]
    atoms = [(_ZERO, _ONE + slopes[0])]  # what the first law never shows
    for knot, (before, after) in zip(knots[1:], pairwise([*slopes, _ZERO]), strict=True):
        atoms.append((knot * (after - before), after - before))
    atoms.append((heights[-1], _ZERO))  # what the second law never shows
    kept = sorted((p, q) for p, q in atoms if p or q)[::-1]
    return FinitePair(tuple(p for p, _ in kept), tuple(q for _, q in kept))


def _profile(pair: FinitePair, ratio: Fraction) -> Fraction:
    """Return h(ratio), exactly."""
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
