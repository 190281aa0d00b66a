"""The pair of a group, from the pair of one unit: tests of growing power, one after another.

Trust: kernel.

Definition.  The power curve of a pair is g(a), the largest P(S) over tests S with Q(S) <= a.  For
finite laws it is concave and linear between corners, with one segment of slope p/q for each ratio.
Theorem (key ``group-profile``; Dong, Roth and Su 2022, theorem 2.14).  If each of k steps from one
table to another is dominated by the pair, every test has P(S) <= g(g(... g(Q(S)))), k times, and
the pair whose power curve is that composition dominates the group.
Proof.  A step raises the chance of any S from b to at most g(b), and g does not fall.  A concave
rising function of a concave rising function is concave, so it is the power curve of some pair.
"""

from __future__ import annotations

import bisect
from fractions import Fraction
from itertools import pairwise

__all__ = ["chained"]

Law = tuple[Fraction, ...]
Corners = list[tuple[Fraction, Fraction]]


def chained(p: Law, q: Law, size: int) -> tuple[Law, Law]:
    """Return the pair of laws that dominates ``size`` steps of the pair (p, q).

    >>> two, third = Fraction(2, 3), Fraction(1, 3)
    >>> chained((two, third), (third, two), 2)[0]
    (Fraction(2, 3), Fraction(1, 6), Fraction(1, 6))
    """
    once = _power_curve(p, q)
    total = once
    for _ in range(size - 1):
        total = _compose(once, total)
    start = total[0][1]
    atoms = [(start, Fraction(0))] if start else []
    for (a, low), (b, high) in pairwise(total):
        atoms.append((high - low, b - a))
    return tuple(up for up, _ in atoms), tuple(across for _, across in atoms)


def _power_curve(p: Law, q: Law) -> Corners:
    """Return the corners of g from a = 0 to a = 1, steepest segment first."""
    start = sum((a for a, b in zip(p, q, strict=True) if b == 0), Fraction(0))
    segments = sorted(
        ((a, b) for a, b in zip(p, q, strict=True) if b), key=lambda s: s[0] / s[1], reverse=True
    )
    corners = [(Fraction(0), start)]
    for up, across in segments:
        a, b = corners[-1]
        corners.append((a + across, b + up))
    return corners


def _compose(outer: Corners, inner: Corners) -> Corners:
    """Return the corners of outer(inner(a))."""
    heights = [b for _, b in inner]
    places = {a for a, _ in inner}
    for corner, _ in outer:
        if heights[0] < corner < heights[-1]:
            at = bisect.bisect_left(heights, corner)  # the first inner corner at this height or up
            (a, low), (b, high) = inner[at - 1], inner[at]
            places.add(a + (b - a) * (corner - low) / (high - low))
    return [(a, _value(outer, _value(inner, a))) for a in sorted(places)]


def _value(curve: Corners, at: Fraction) -> Fraction:
    index = bisect.bisect_left([a for a, _ in curve], at)
    if index == 0:
        return curve[0][1]
    (a, low), (b, high) = curve[index - 1], curve[index]
    return low + (high - low) * (at - a) / (b - a)
