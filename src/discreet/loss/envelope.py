"""One pair above several: what a choice between losses costs when the choice may adapt.

Trust: kernel.

Definition.  The envelope of pairs is a pair whose profile is the largest of theirs at every ratio.
Theorem (key ``adaptive-choice``).  If a release is dominated by one of several pairs, and which one
may depend on earlier outputs, then its composition with other releases is dominated by the product
with the envelope; composing each choice apart and taking the largest is not enough.
Proof.  The largest of convex, falling functions is convex and falling, so it is the profile of some
pair.  That pair dominates the release whatever the choice, so ``dominating-pair`` applies.

For finite pairs the envelope is exact.  A finite profile h(a) = sum of (p - a q)+ is linear between
the ratios p/q; so is the largest of several, between their ratios and the points where two cross.
Atoms come back from it as changes of slope: q = change at a, p = a q.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Final

from discreet.loss.pairs.finite import FinitePair

__all__ = ["finite_envelope"]

_ZERO: Final = Fraction(0)
_ONE: Final = Fraction(1)


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
        for at, (a, b) in enumerate(pairwise(own)):
            left, right = one[at] - two[at], one[at + 1] - two[at + 1]
            if left * right < 0:
                crossings.add(a + (b - a) * left / (left - right))
    return sorted({*own, *crossings})
