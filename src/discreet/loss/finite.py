"""The pair of any two laws on finitely many outcomes, and of its groups.

Trust: kernel.

Definition.  Outcome i has probability p[i] under P and q[i] under Q, exactly; its loss is
ln(p[i]/q[i]), infinite where q[i] = 0 < p[i].

Definition.  The power curve of a pair is g(a), the largest P(S) over tests S with Q(S) <= a.  For
finite laws it is concave and linear between corners, with one segment of slope p/q for each ratio.
Theorem (key ``group-profile``; Dong, Roth and Su 2022, theorem 2.14).  If each of k steps from one
table to another is dominated by the pair, every test has P(S) <= g(g(... g(Q(S)))), k times, and
the pair whose power curve is that composition dominates the group.
Proof.  A step raises the chance of any S from b to at most g(b), and g does not fall.  A concave
rising function of a concave rising function is concave, so it is the power curve of some pair.

Few losses, one by one: exact products of atoms, beside one profile that is known everywhere.

Theorem (key ``few-losses``).  Let a product have two independent parts, the first with finite
losses x_i of masses p_i.  Its finite profile is sum_i p_i D(eps - x_i), where D is the finite
profile of the second, at real arguments.  If the second part is a list too, with losses y_j of
masses q_j in rising order, then for y_{k-1} <= e < y_k and g = y_k - e
D(e) = N_k + (1 - e**-g) F_k, where F_k is the sum of q_j e**(y_k - y_j) and N_k that of
q_j (1 - e**(y_k - y_j)), over j >= k.
Proof.  Condition on the first loss.  1 - e**(e - y_j) = (1 - e**(y_k - y_j)) + e**(y_k - y_j)
(1 - e**-g), and losses up to e do not count.

F_k = q_k + e**(y_k - y_{k+1}) F_{k+1} and N_k = N_{k+1} + (1 - e**(y_k - y_{k+1})) F_{k+1}: every
term is at least zero, so nothing cancels, and n atoms on each side stand for n**2 losses.  How
lists bound a profile from both sides: docs/proofs/accounting.md, section 14.

Products of pairs: taken apart, and exact where all laws are finite.

Definition.  Let r_0 > r_1 > ... be the finite ratios p/q of the outcomes of a product, equal ones
merged, and P_j, Q_j the masses of the outcomes with the j largest ratios.  With a = e**eps, the
finite part of the profile is P_j - a Q_j for r_j <= a <= r_{j-1}: straight between its corners.

Theorem (key ``dominating-pair``).  Ratios of a product multiply, and the profile is the largest of
the lines P_i - a Q_i.  Masses are kept between integers over 2**bits, to 256 bits of the smallest
of them; ratios are exact (docs/proofs/accounting.md, section 3).

Definition.  A leak is a pair whose loss is infinite with chance delta and zero otherwise.  Beside a
leak the finite part of any profile is (1 - delta) times what it is without, and the mass of
infinite losses is known; so leaks need no engine.  All Gaussians are one.  Some pairs are products
themselves and name their factors.
"""

from __future__ import annotations

import bisect
import functools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, pairwise
from operator import neg
from typing import Final, Self, final

import numpy as np

from discreet.errors import OutOfRange
from discreet.exact import float_down, float_up
from discreet.loss.elementary import exp, log
from discreet.loss.pair import (
    Counted,
    Floats,
    LossList,
    NormalPair,
    Pair,
    PairFamily,
    PrivacyLossDistribution,
    is_normal,
    knows_finite_parts,
)
from discreet.loss.pure_pairs import AtomTransform, LossAtoms
from discreet.loss.rounding import UNIT, Bracket, bound_above, bound_below

Probabilities = tuple[Fraction, ...]
PowerCurve = list[tuple[Fraction, Fraction]]

_LONGEST: Final = 64


def chained_laws(
    p: Probabilities, q: Probabilities, size: int
) -> tuple[Probabilities, Probabilities]:
    """Return the pair of laws that dominates ``size`` steps of the pair (p, q).

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
class FinitePair(PairFamily):
    """Two finite laws, given as exact probabilities of the same outcomes.

    >>> half, third = Fraction(1, 2), Fraction(1, 3)
    >>> FinitePair((half, half), (third, 2 * third)).reverse().p
    (Fraction(1, 3), Fraction(2, 3))
    """

    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse what is not a pair of laws."""
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
        """Swap the laws."""
        return FinitePair(self.q, self.p)

    def group(self, k: int) -> FinitePair | None:
        """Chain the pair with itself, exactly; long chains grow too many outcomes for that."""
        if k > _LONGEST:
            return None
        return self if k == 1 else FinitePair(*chained_laws(self.p, self.q, k))

    def cumulant(self, t: float) -> float:
        """Sum over the outcomes."""
        if not len(self.atoms().mass):
            return -math.inf
        value, error = AtomTransform(((self.atoms(), 1),)).real(np.array([t]))
        return float(value[0] + 2 * error[0])

    def infinity(self) -> Bracket:
        """The mass of outcomes that Q never shows."""
        mass = sum((p for p, q in zip(self.p, self.q, strict=True) if q == 0), Fraction(0))
        return Bracket(float_down(mass), float_up(mass))

    def largest(self) -> float:
        """The largest finite loss."""
        largest = float(self.atoms().losses.max(initial=-math.inf))
        return largest + 16 * UNIT * abs(largest) if math.isfinite(largest) else 0.0

    def largest_below(self) -> float:
        """The largest finite loss."""
        largest = float(self.atoms().losses.max(initial=-math.inf))
        return largest - 16 * UNIT * abs(largest) if math.isfinite(largest) else 0.0

    def ratios(self) -> dict[Fraction, Fraction]:
        """Gather the mass under P of each finite ratio."""
        return _ratios(self)

    def grain(self) -> Fraction | None:
        """The losses lie on no lattice."""
        return None

    def atoms(self) -> LossAtoms:
        """The finite losses."""
        return _atoms(self)

    def listed(self) -> LossList | None:
        """The same."""
        return self.atoms().listed()

    def above(self, step: Fraction) -> PrivacyLossDistribution | None:
        """Spread the atoms over the lattice."""
        return self.atoms().above(step, self.infinity().high)

    def below(self, step: Fraction) -> PrivacyLossDistribution | None:
        """Move the atoms down to the lattice."""
        return self.atoms().below(step, self.infinity().low)

    @classmethod
    def transform_of(cls, pairs: Sequence[tuple[Self, int]]) -> AtomTransform | None:
        """Gather the atoms; laws without a common outcome leave nothing to gather."""
        if not all(len(pair.atoms().mass) for pair, _ in pairs):
            return None
        return AtomTransform(tuple((pair.atoms(), count) for pair, count in pairs))


@functools.lru_cache(maxsize=128)
def _atoms(pair: FinitePair) -> LossAtoms:
    both = [(p, q) for p, q in zip(pair.p, pair.q, strict=True) if p and q]
    losses = np.array([_log_ratio(p, q) for p, q in both])
    return LossAtoms(losses, np.array([float(p) for p, _ in both]), None, 4 * UNIT)


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


_MOST_FIRST: Final = 1 << 15
_MOST_SECOND: Final = 1 << 13
_FARTHEST: Final = 100.0
_UNSURE: Final = 1e-13  # of a chance
_NEGLIGIBLE: Final = 1e-12  # of a delta: so much may be missing
_FAINT: Final = 1e-40  # masses whose share of a delta is lost in rounding, unless it is tiny
_CELLS: Final = 1 << 11  # into which losses that are not listed are spread

Ends = tuple[Floats, Floats]
"""Bounds at many points, from below and from above."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Suffixes:
    """A list with the sums N and F from each loss on; after the last one, nothing."""

    losses: Floats
    near: Floats
    far: Floats
    relative: float

    @classmethod
    def of(cls, atoms: LossList) -> Self:
        """Add up from the largest loss down.  A step of F errs by 20 units, one of N by 40."""
        steps = np.append(np.diff(atoms.losses), math.inf)
        decay, share = np.exp(-steps).tolist(), (-np.expm1(-steps)).tolist()
        near, far = [0.0], [0.0]
        for mass, stay, move in zip(
            reversed(atoms.mass.tolist()), reversed(decay), reversed(share), strict=True
        ):
            near.append(near[-1] + move * far[-1])
            far.append(mass + stay * far[-1])
        relative = UNIT * 64 * (len(near) + 4)
        losses = np.append(atoms.losses, math.inf)
        return cls(losses, np.array(near[::-1]), np.array(far[::-1]), relative)

    def at(self, eps: Floats) -> Ends:
        """Bound D at many points, for the listed masses and places."""
        k = np.searchsorted(self.losses[:-1], eps, side="right")
        value = self.near[k] + -np.expm1(eps - self.losses[k]) * self.far[k]
        return value * (1 - self.relative), value * (1 + self.relative)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Enumeration:
    """A list of losses beside a profile: that of another list, or of one pair."""

    first: LossList
    second: Callable[[Floats], Ends]
    error: float
    drift: float
    missing: float
    reach: float

    @classmethod
    def of_lists(cls, first: LossList, second: LossList) -> Self:
        """Multiply two lists."""
        error = (first.error + second.error) * (1 + first.error)
        reach = max(float(np.abs(x).max(initial=0.0)) for x in (first.losses, second.losses))
        drift, missing = first.drift + second.drift, first.missing + second.missing
        return cls(first, _Suffixes.of(second).at, error, drift, missing, reach)

    @classmethod
    def beside(cls, first: LossList, second: Callable[[Floats], Ends]) -> Self:
        """Multiply a list with a profile."""
        reach = float(np.abs(first.losses).max(initial=0.0))
        return cls(first, second, first.error, first.drift, first.missing, reach)

    def complete(self, delta: float) -> bool:
        """Say whether what is not on the lists hardly counts at a delta."""
        return self.missing <= _NEGLIGIBLE * delta

    def upper(self, eps: float) -> float:
        """Bound the finite profile at eps >= 0 from above."""
        value = self._total(eps - self._moved(eps), above=True)
        return bound_above(value + self.missing * (1 + 4 * UNIT))

    def lower(self, eps: float) -> float:
        """Bound the finite profile at eps >= 0 from below."""
        return bound_below(self._total(eps + self._moved(eps), above=False))

    def delta(self, eps: float, *, low: bool = True) -> Bracket:
        """Enclose the finite profile at eps >= 0; without ``low``, from above."""
        high = min(self.upper(eps), 1.0)
        return Bracket(min(self.lower(eps), high) if low else 0.0, high)

    def _moved(self, eps: float) -> float:
        """How far the losses may be off, and their distances to eps when rounded."""
        return (self.drift + 8 * UNIT * (self.reach + abs(eps))) * (1 + 8 * UNIT)

    def _total(self, eps: float, *, above: bool) -> float:
        mass, losses = self.first.mass, self.first.losses
        heavy = mass > _FAINT
        value = np.full(len(mass), float(above))  # what no profile exceeds, or falls below
        value[heavy] = self.second(eps - losses[heavy])[above]
        total = float((mass * value).sum())
        if len(mass) * _FAINT > total * UNIT:  # faint masses may count
            total = float((mass * self.second(eps - losses)[above]).sum())
        slack = (self.error + UNIT * (len(mass) + 16)) * (1 + 8 * UNIT)
        return total * (1 + slack if above else 1 - slack)


@functools.lru_cache(maxsize=128)
def enumeration(pairs: Counted) -> Enumeration | None:
    """List the losses of a product, all or all but those of one pair; None if they are many."""
    lists: list[LossList] = []
    rest = None
    for pair, count in pairs:
        atoms = pair.listed()
        powers = None if atoms is None else atoms.power(count)
        if powers is not None:
            lists.append(powers)
        elif rest is None and count == 1 and knows_finite_parts(pair):
            rest = pair
        else:
            return None
    if not lists:
        return None
    lists.sort(key=lambda each: len(each.mass))
    if rest is not None:
        first = _product(lists, _MOST_FIRST)
        return None if first is None else Enumeration.beside(first, rest.finite_parts)  # type: ignore[arg-type]  # asked above
    halves = _halves(lists)
    return None if halves is None else Enumeration.of_lists(*halves)


def beside_curve(pairs: Counted, curve: Callable[[Floats], Ends]) -> Enumeration | None:
    """Multiply what a curve allows with a product, from above alone; None if losses are many.

    Losses without a list are spread over a lattice of their own (key ``connect-the-dots``).
    """
    lists = []
    for pair, count in pairs:
        atoms = pair.listed()
        powers = None if atoms is None else atoms.power(count)
        powers = _spread(pair, count) if powers is None else powers
        if powers is None:
            return None
        lists.append(powers)
    first = _product(sorted(lists, key=lambda each: len(each.mass)), _MOST_FIRST)
    return None if first is None else Enumeration.beside(first, curve)


def _spread(pair: Pair, count: int) -> LossList | None:
    """Bound the losses of one run from above by a list."""
    reach = pair.largest()
    if count > 1 or not 0 < reach < _FARTHEST or pair.infinity().high:
        return None
    law = pair.above(Fraction(reach) * 2 / _CELLS)
    if law is None:
        return None
    losses = (law.start + np.arange(len(law.mass))) * (reach * 2 / _CELLS)
    drift = law.drift + 8 * UNIT * float(np.abs(losses).max())
    return LossList(losses, law.mass, 8 * UNIT, drift, law.infinite)


_NOTHING: Final = LossList(np.zeros(1), np.ones(1), 0.0)


def _joined(one: LossList, other: LossList) -> LossList | None:
    return other if one is _NOTHING else one.times(other)


def _product(lists: Sequence[LossList], most: int) -> LossList | None:
    total: LossList | None = _NOTHING
    for each in lists:
        total = None if total is None else _joined(total, each)
    return total if total is not None and len(total.mass) <= most else None


def _halves(lists: list[LossList]) -> tuple[LossList, LossList] | None:
    """Share lists out between two products of about the same length."""
    first: LossList | None = _NOTHING
    second: LossList | None = _NOTHING
    for each in reversed(lists):  # the longest first
        if first is None or second is None:
            return None
        if len(first.mass) < len(second.mass):
            first = _joined(first, each)
        else:
            second = _joined(second, each)
    if first is None or second is None:
        return None
    if len(second.mass) > _MOST_SECOND:
        first, second = second, first
    fits = len(first.mass) <= _MOST_FIRST and len(second.mass) <= _MOST_SECOND
    return (first, second) if fits else None


def listed_product(pairs: Counted) -> LossList | None:
    """List the losses of a product; None where they are many.

    >>> from discreet.loss.pure_pairs import ResponsePair
    >>> listed_product(((ResponsePair(Fraction(1)), 2),)).losses.tolist()
    [-2.0, -1.0, 0.0, 1.0, 2.0]
    """
    lists = []
    for pair, count in pairs:
        atoms = pair.listed()
        powers = None if atoms is None else atoms.power(count)
        if powers is None:
            return None
        lists.append(powers)
    return _product(sorted(lists, key=lambda each: len(each.mass)), _MOST_SECOND)


def sampled_list(
    rate: Fraction, forward: LossList | None, backward: LossList, never: Bracket
) -> LossList | None:
    """List the losses of a Poisson sample, from those of the inner pair (P, Q) and of (Q, P).

    Removal draws from P with chance q and else from Q, and loses ln(1 - q + q e**x) where P
    loses x to Q; ``forward`` lists P.  Addition (without ``forward``) draws from Q and loses the
    negative of that.  ``never`` is the chance under Q of what P never shows: x is minus infinity.
    The map has a slope of at most 1 in x, so drifts hold; its argument errs by 24 units, which
    count 1/(1 - q) times at most.
    """
    q = float(rate)
    if not 1e-12 < q < 1 - 1e-6 or never.width > _UNSURE * never.high:
        return None
    share = 1.0 if forward is None else 1 - q
    parts = [(-backward.losses, backward.mass * share)]
    if forward is not None:
        parts.append((forward.losses, forward.mass * q))
    if never.high:
        parts.append((np.array([-math.inf]), np.array([never.high * share])))
    inner, mass = (np.concatenate(each) for each in zip(*parts, strict=True))
    losses = _sampled_losses(q, inner)
    lists = [backward] if forward is None else [forward, backward]
    error = max(_UNSURE if never.high else 0.0, *(each.error for each in lists)) + 16 * UNIT
    drift = max(each.drift for each in lists)
    drift += UNIT * (32 / (1 - q) + 32 * float(np.abs(losses).max()))
    missing = sum(each.missing for each in lists) * (1 + 4 * UNIT)
    return LossList.merged(
        -losses if forward is None else losses, mass, error=error, drift=drift, missing=missing
    )


def _sampled_losses(q: float, inner: Floats) -> Floats:
    """Evaluate ln(1 - q + q e**x)."""
    small = np.log1p(q * np.expm1(np.minimum(inner, 30.0)))
    with np.errstate(over="ignore"):
        large = inner + np.log(q + (1 - q) * np.exp(-np.maximum(inner, 30.0)))
    return np.where(inner > 30.0, large, small)


_SPARE: Final = 256  # bits kept of the smallest mass
_MOST_PRODUCTS: Final = 1 << 13  # products of atoms that are worth forming
_WIDEST: Final = 1 << 14  # bits of their common denominator


@final
@dataclass(frozen=True, slots=True)
class FiniteProfile:
    """A profile whose finite part has finitely many corners in e**eps."""

    infinite: Fraction
    ratios: tuple[Fraction, ...]
    least: tuple[tuple[int, int], ...]  # (P_j, Q_j), times 2**bits, rounded down
    most: tuple[tuple[int, int], ...]  # the same rounded up
    bits: int

    @classmethod
    def of(cls, infinite: Fraction, masses: dict[Fraction, Fraction]) -> Self:
        """Sort the ratios and add up the masses under both laws."""
        ratios = sorted(masses, reverse=True)
        both = [(masses[ratio], masses[ratio] / ratio) for ratio in ratios]
        bits = _SPARE + max((_smallness(mass) for pair in both for mass in pair), default=0)
        floors = [tuple((m.numerator << bits) // m.denominator for m in pair) for pair in both]
        ceilings = [tuple(-(-(m.numerator << bits) // m.denominator) for m in p) for p in both]
        return cls(infinite, tuple(ratios), _summed(floors), _summed(ceilings), bits)

    def _low(self, odds: Fraction) -> Fraction:
        """Bound the finite part at e**eps from below."""
        j = bisect_left(self.ratios, -odds, key=neg)
        return max(self._line(self.least[j][0], self.most[j][1], odds), Fraction(0))

    def _high(self, odds: Fraction) -> Fraction:
        """Bound the finite part at e**eps from above."""
        j = bisect_left(self.ratios, -odds, key=neg)
        return self._line(self.most[j][0], self.least[j][1], odds)

    def _line(self, p: int, q: int, odds: Fraction) -> Fraction:
        top, bottom = odds.numerator, odds.denominator
        return Fraction(p * bottom - q * top, bottom << self.bits)

    def delta(self, eps: float) -> Bracket:
        """Enclose the profile at eps >= 0."""
        low = high = self.infinite
        if self.ratios and eps < math.ceil(self.ratios[0]).bit_length():  # else above all ratios
            odds = exp(Fraction(eps))
            low, high = low + self._low(odds.high), high + self._high(odds.low)
        return Bracket.within(float_down(low), float_up(high), ceil=1.0)

    def epsilon(self, delta: Fraction) -> Bracket:
        """Enclose the smallest eps >= 0 with a profile of at most delta."""
        left = delta - self.infinite
        if left < 0:
            return Bracket(math.inf, math.inf)
        if self._high(Fraction(1)) <= left:
            return Bracket(0.0, 0.0)
        places = range(len(self.ratios))
        j = bisect_right(places, left, key=lambda i: self._high(self.ratios[i]))
        (p, q), (above, wide) = self.least[j], self.most[j]
        scaled = left * (1 << self.bits)
        low, high = (p - scaled) / wide, min((above - scaled) / q, self.ratios[j - 1])
        return Bracket(_log_down(low), _log_up(high))


def _smallness(mass: Fraction) -> int:
    return mass.denominator.bit_length() - mass.numerator.bit_length()


def _summed(masses: Iterable[tuple[int, ...]]) -> tuple[tuple[int, int], ...]:
    return tuple(accumulate(masses, lambda s, m: (s[0] + m[0], s[1] + m[1]), initial=(0, 0)))


def _log_down(odds: Fraction) -> float:
    short = Fraction(math.floor(odds * (1 << _SPARE)), 1 << _SPARE)
    return max(0.0, float_down(log(short).low)) if short > 1 else 0.0


def _log_up(odds: Fraction) -> float:
    short = Fraction(math.ceil(odds * (1 << _SPARE)), 1 << _SPARE)
    return max(0.0, float_up(log(short).high))


@functools.lru_cache(maxsize=128)
def finite_profile(pairs: Counted) -> FiniteProfile | None:
    """Work out one pair of finite laws, or a small product; None for anything else."""
    tables = []
    for pair, count in pairs:
        table = pair.ratios()
        if table is None:
            return None
        tables.append((table, count))
    if not tables:
        return None
    if sum(count for _, count in tables) == 1:
        masses: dict[Fraction, Fraction] | None = tables[0][0]
    else:
        masses = _product_of_products(tables)
    if masses is None:
        return None
    kept = Fraction(1)
    for table, count in tables:
        kept *= sum(table.values(), Fraction(0)) ** count
    return FiniteProfile.of(1 - kept, masses)


def _product_of_products(
    tables: Iterable[tuple[dict[Fraction, Fraction], int]],
) -> dict[Fraction, Fraction] | None:
    """Multiply the tables out, merging equal ratios; None where that is too much work."""
    masses, unit, work = {Fraction(1): 1}, 1, 0
    for table, count in tables:
        own = math.lcm(*(mass.denominator for mass in table.values()))
        if count * max(own.bit_length(), len(table)) > _WIDEST:
            return None
        atoms = [(ratio, int(mass * own)) for ratio, mass in table.items()]
        for _ in range(count):
            work, unit = work + len(masses) * len(atoms), unit * own
            if work > _MOST_PRODUCTS or unit.bit_length() > _WIDEST:
                return None
            fresh: dict[Fraction, int] = {}
            for ratio, mass in masses.items():
                for factor, share in atoms:
                    key = ratio * factor
                    fresh[key] = fresh.get(key, 0) + mass * share
            masses = fresh
    return {ratio: Fraction(mass, unit) for ratio, mass in masses.items()}


@final
@dataclass(frozen=True, slots=True)
class SplitProduct:
    """A product as engines want it: at most one Gaussian, in the last place, and leaks apart."""

    pairs: Counted
    leaks: Counted


def split_product(pairs: Iterable[tuple[Pair, int]]) -> SplitProduct:
    """Take a product apart."""
    rest: list[tuple[Pair, int]] = []
    leaks: list[tuple[Pair, int]] = []
    normal: NormalPair | None = None
    for pair, count in pairs:
        for part in pair.factors():
            if is_normal(part):
                repeated = part.times(count)
                normal = repeated if normal is None else normal.compose(repeated)
            elif part.exact_infinity() is not None and part.largest() == 0:
                leaks.append((part, count))
            else:
                rest.append((part, count))
    gaussian = ((normal, 1),) if normal is not None and normal.mu_squared else ()
    return SplitProduct((*rest, *gaussian), tuple(leaks))
