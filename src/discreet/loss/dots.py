"""A pair of finite laws above a profile that is known at finitely many points.

Trust: kernel.

Theorem (key ``dots``; Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022).  A profile h is
convex, so between two points it lies below the chord; after the last point it only falls.  If the
same bounds hold in both directions, h(1/a) = 1 - 1/a + h(a)/a, and the chords are the profile of
the symmetric pair with c_j at loss -log a_j and a_j c_j at +log a_j, where c_j is the change of
slope at a_j, with the last bound at infinity and the rest at 0.  Bounds that break convexity may
be lowered to their convex hull, because the true profile is convex.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Final

from discreet.exact import float_up
from discreet.loss.elementary import exp
from discreet.loss.pairs.finite import FinitePair

__all__ = ["dotted_pair", "sampled_points"]

Point = tuple[Fraction, Fraction]

_KNOTS: Final = 96
_FAR: Final = 256.0
_NEAR: Final = 1e-9
_NEGLIGIBLE: Final = Fraction(1, 10**18)
_ONE: Final = Fraction(1)


def dotted_pair(points: Sequence[Point]) -> FinitePair:
    """Return the symmetric pair whose profile joins the points (ratio, bound), from ratio 1 on.

    >>> from fractions import Fraction
    >>> pair = dotted_pair([(Fraction(1), Fraction(1, 3)), (Fraction(2), Fraction(0))])
    >>> pair.p
    (Fraction(2, 3), Fraction(1, 3))
    """
    hull = _hull(points)
    last = hull[-1][1]
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(hull)]
    kinks = [
        (hull[j + 1][0], after - before)
        for j, (before, after) in enumerate(zip(slopes, [*slopes[1:], Fraction(0)], strict=True))
    ]
    kinks, rest = _fitted(kinks, 1 - last)
    p = [ratio * kink for ratio, kink in kinks] + [kink for _, kink in reversed(kinks)]
    q = [kink for _, kink in kinks] + [ratio * kink for ratio, kink in reversed(kinks)]
    p, q = [*p, rest, last, Fraction(0)], [*q, rest, Fraction(0), last]
    kept = [(a, b) for a, b in zip(p, q, strict=True) if a or b]
    return FinitePair(tuple(a for a, _ in kept), tuple(b for _, b in kept))


def _hull(points: Sequence[Point]) -> list[Point]:
    """Return the lower convex hull of points with increasing ratios; bounds above one are cut."""
    hull: list[Point] = []
    for ratio, bound in points:
        fresh = (ratio, min(bound, _ONE, hull[-1][1] if hull else _ONE))
        while len(hull) > 1 and _above(hull[-2], hull[-1], fresh):
            hull.pop()
        hull.append(fresh)
    return hull


def _above(left: Point, middle: Point, right: Point) -> bool:
    run, rise = right[0] - left[0], right[1] - left[1]
    return (middle[1] - left[1]) * run >= rise * (middle[0] - left[0])


def _fitted(kinks: list[Point], mass: Fraction) -> tuple[list[Point], Fraction]:
    """Fit the kinks to the finite mass; where there are too many, the chord across 1 is lower."""
    rest = mass - sum(((1 + ratio) * kink for ratio, kink in kinks), Fraction(0))
    while rest < 0:
        (ratio, kink), kinks = kinks[0], kinks[1:]
        rest += (1 + ratio) * kink
        if rest >= 0:
            kinks, rest = [(ratio, rest / (1 + ratio)), *kinks], Fraction(0)
    return kinks, rest


def sampled_points(curve: Callable[[Fraction], Fraction], largest: float) -> list[Point]:
    """Evaluate a bound h(ratio) on a grid of epsilons that ends where it is negligible.

    ``largest`` is an epsilon above which nothing more is lost; it may be infinite.

    >>> from fractions import Fraction
    >>> len(sampled_points(lambda a: max(2 - a, Fraction(0)) / 4, 0.7)) > 50
    True
    """
    far = min(largest, _FAR)
    floor = curve(exp(Fraction(far)).low) + _NEGLIGIBLE
    end = min(far, 1.0)
    while end < far and curve(exp(Fraction(end)).low) > floor:
        end = min(2 * end, far)
    while end > _NEAR and curve(exp(Fraction(end) / 2).low) <= floor:
        end /= 2
    top = Fraction(float_up(exp(Fraction(end)).high))
    ratios = [Fraction(float_up(exp(Fraction(end * j / _KNOTS)).high)) for j in range(_KNOTS)]
    return [(ratio, curve(ratio)) for ratio in sorted({_ONE, *ratios, top})]
