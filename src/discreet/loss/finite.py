"""The pair of any two distributions on finitely many outcomes, and of its groups.

Trust: kernel.

Definition.  Outcome i has probability p[i] under P and q[i] under Q, exactly; its loss is
ln(p[i]/q[i]), infinite where q[i] = 0 < p[i].

Definition.  The power curve of a pair is g(a), the largest P(S) over tests S with Q(S) <= a.  For
finite distributions it is concave and linear between corners, with one segment of slope p/q for
each ratio. Theorem (key ``group-profile``; Dong, Roth and Su 2022, theorem 2.14).  If each of k
steps from one table to another is dominated by the pair, every test has P(S) <= g(g(... g(Q(S)))),
k times, and the pair whose power curve is that composition dominates the group. Proof.  A step
raises the probability of any S from b to at most g(b), and g does not fall.  A concave rising
function of a concave rising function is concave, so it is the power curve of some pair.
"""

from __future__ import annotations

import bisect
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Final, Self, final

import numpy as np

from discreet.errors import OutOfRange
from discreet.exact import float_down, float_up
from discreet.loss.atoms import Atoms, AtomTransform
from discreet.loss.pair import Pair, ProfileCurve
from discreet.loss.rounding import UNIT, Bracket

Probabilities = tuple[Fraction, ...]
PowerCurve = list[tuple[Fraction, Fraction]]

_LONGEST: Final = 64


def chained_laws(
    p: Probabilities, q: Probabilities, size: int
) -> tuple[Probabilities, Probabilities]:
    """Return the pair of distributions that dominates ``size`` steps of the pair (p, q).

    >>> two, third = Fraction(2, 3), Fraction(1, 3)
    >>> chained_laws((two, third), (third, two), 2)[0]
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


def _power_curve(p: Probabilities, q: Probabilities) -> PowerCurve:
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


def _compose(outer: PowerCurve, inner: PowerCurve) -> PowerCurve:
    """Return the corners of outer(inner(a))."""
    heights = [b for _, b in inner]
    places = {a for a, _ in inner}
    for corner, _ in outer:
        if heights[0] < corner < heights[-1]:
            index = bisect.bisect_left(
                heights, corner
            )  # the first inner corner at this height or up
            (a, low), (b, high) = inner[index - 1], inner[index]
            places.add(a + (b - a) * (corner - low) / (high - low))
    return [(a, _value(outer, _value(inner, a))) for a in sorted(places)]


def _value(curve: PowerCurve, place: Fraction) -> Fraction:
    index = bisect.bisect_left([a for a, _ in curve], place)
    if index == 0:
        return curve[0][1]
    (a, low), (b, high) = curve[index - 1], curve[index]
    return low + (high - low) * (place - a) / (b - a)


@final
@dataclass(frozen=True, slots=True)
class FinitePair(Pair):
    """Two finite distributions, given as exact probabilities of the same outcomes.

    >>> half, third = Fraction(1, 2), Fraction(1, 3)
    >>> FinitePair((half, half), (third, 2 * third)).reverse().p
    (Fraction(1, 3), Fraction(2, 3))
    """

    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        laws = (self.p, self.q)
        if len(self.p) != len(self.q) or any(sum(law) != 1 or min(law) < 0 for law in laws):
            raise OutOfRange(
                "two finite laws do not match, or do not add up to one; give exact probabilities "
                "of the same outcomes, each list with sum 1."
            )
        object.__setattr__(self, "_hash", hash(laws))

    def __hash__(self) -> int:  # kept: fractions take long to hash
        return self._hash

    def reverse(self) -> FinitePair:
        return FinitePair(self.q, self.p)

    def group(self, k: int) -> FinitePair | None:
        """Chain the pair with itself, exactly; long chains grow too many outcomes for that."""
        if k > _LONGEST:
            return None
        return self if k == 1 else FinitePair(*chained_laws(self.p, self.q, k))

    def cumulant(self, t: float) -> float:
        if not len(self.atoms().mass):
            return -math.inf
        value, error = AtomTransform(((self.atoms(), 1),)).real(np.array([t]))
        return float(value[0] + 2 * error[0])

    def infinity(self) -> Bracket:
        mass = self.exact_infinity()
        return Bracket(float_down(mass), float_up(mass))

    def exact_infinity(self) -> Fraction:
        return sum((p for p, q in zip(self.p, self.q, strict=True) if q == 0), Fraction(0))

    def closed_form(self, count: int) -> ProfileCurve | None:
        return self._from_atoms if count == 1 else None

    def largest(self) -> float:
        largest = float(self.atoms().losses.max(initial=-math.inf))
        return largest + 16 * UNIT * abs(largest) if math.isfinite(largest) else 0.0

    def largest_below(self) -> float:
        """The largest finite loss."""
        largest = float(self.atoms().losses.max(initial=-math.inf))
        return largest - 16 * UNIT * abs(largest) if math.isfinite(largest) else 0.0

    def ratios(self) -> dict[Fraction, Fraction]:
        return _ratios(self)

    def grain(self) -> Fraction | None:
        return None

    def atoms(self) -> Atoms:
        return _atoms(self)

    @classmethod
    def transform_of(cls, pairs: Sequence[tuple[Self, int]]) -> AtomTransform | None:
        """Gather the atoms; distributions without a common outcome leave nothing to gather."""
        if not all(len(pair.atoms().mass) for pair, _ in pairs):
            return None
        return AtomTransform(tuple((pair.atoms(), count) for pair, count in pairs))


@functools.lru_cache(maxsize=128)
def _atoms(pair: FinitePair) -> Atoms:
    both = sorted(
        (_log_ratio(p, q), float(p)) for p, q in zip(pair.p, pair.q, strict=True) if p and q
    )
    losses, mass = np.array(both, float).reshape(-1, 2).T
    return Atoms(losses, mass, 8 * UNIT, 16 * UNIT * float(np.abs(losses).max(initial=0.0)))


@functools.lru_cache(maxsize=128)
def _ratios(pair: FinitePair) -> dict[Fraction, Fraction]:
    masses: dict[Fraction, Fraction] = {}
    for p, q in zip(pair.p, pair.q, strict=True):
        if p and q:
            masses[p / q] = masses.get(p / q, Fraction(0)) + p
    return masses


def _log_ratio(p: Fraction, q: Fraction) -> float:
    """Take ln(p/q) within 8 units of its size, near one as elsewhere."""
    ratio = p / q
    if Fraction(1, 2) < ratio < 2:
        return math.log1p(float(ratio - 1))
    shift = ratio.numerator.bit_length() - ratio.denominator.bit_length()
    return shift * math.log(2) + math.log(ratio / Fraction(2) ** shift)
