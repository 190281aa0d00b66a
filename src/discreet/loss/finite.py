"""Finite distributions: lists of losses, their products, and the pair of two finite distributions.

Trust: kernel.

Theorem (key ``few-losses``; condition on the first loss).  Let a product have two independent
parts, the first with finite losses x_i of masses p_i.  Its finite profile is
sum_i p_i D(eps - x_i), where D is the finite profile of the second, at real arguments.

Losses add up and masses multiply.  An entry that is a sum of n products errs by n + 1 units
relatively; losses that agree up to rounding are merged, and how far they lay apart is added to the
drift.  Masses below ``_FLOOR`` count as missing (docs/proofs/accounting.md, section 14).

Definition.  Outcome i has probability p[i] under P and q[i] under Q, exactly; its loss is
ln(p[i]/q[i]), infinite if q[i] = 0 < p[i].
Definition.  The power curve of a pair is g(a), the largest P(S) over tests S with Q(S) <= a.  For
finite distributions it is concave and linear between corners, with one segment of slope p/q for
each ratio.  The power curve of k steps is the k-th iterate (key ``group-profile``).
"""

from __future__ import annotations

import bisect
import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Final, Self, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange
from discreet.exact import float_down, float_up
from discreet.loss.dots import Floats, PrivacyLossDistribution
from discreet.loss.pair import LARGEST_PLACE, Counted, CumulantLine, Pair, Transform
from discreet.loss.rounding import (
    CUT_MARGIN,
    TINIEST,
    UNIT,
    Bracket,
    bound_above,
    bound_below,
    reduced,
)

_FLOOR: Final = 1e-70
_CLOSE: Final = 2.0**-46  # of the largest loss: closer atoms are one
_MOST_SUMS: Final = 1 << 19  # sums of two losses that are sorted
_MOST_STEPS: Final = 1 << 23  # products of masses on one lattice
_MOST_ATOMS: Final = 1 << 15  # of a list that is asked for its profile
_MOST_LISTED: Final = 1 << 14  # of one pair
_LONGEST: Final = 1 << 26  # of a lattice
_NEGLIGIBLE: Final = 1e-12  # of a delta: so much may be missing


@final
@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """Finitely many finite losses in rising order, with their masses.

    A list stands for a distribution whose atoms have the listed masses, each within a relative
    ``error``, at places within ``drift`` of the listed ones; atoms of a total mass of at most
    ``missing`` may lie anywhere else.  On a lattice, if ``grain`` is known, the list has no gaps
    (masses may be zero), and the first loss is ``start * grain``.
    """

    losses: Floats
    mass: Floats
    error: float
    drift: float = 0.0
    missing: float = 0.0
    start: int = 0
    grain: Fraction | None = None

    @classmethod
    def on_lattice(
        cls, start: int, mass: Floats, grain: Fraction, *, error: float, missing: float = 0.0
    ) -> Atoms:
        """List the multiples of the grain from ``start`` on, without faint masses at both ends."""
        kept = mass >= _FLOOR
        missing += _rest(mass, kept, error)
        places = np.flatnonzero(kept)
        if not len(places):
            return cls(np.zeros(0), np.zeros(0), error, 0.0, missing)
        first, last = int(places[0]), int(places[-1]) + 1
        losses = np.arange(start + first, start + last) * float(grain)
        drift = 4 * UNIT * max(abs(float(losses[0])), abs(float(losses[-1])))
        mass = np.where(kept[first:last], mass[first:last], 0.0)
        return cls(losses, mass, error, drift, missing, start + first, grain)

    @classmethod
    def merged(
        cls, losses: Floats, mass: Floats, *, error: float, drift: float, missing: float = 0.0
    ) -> Atoms:
        """Sort the losses, merge those that differ by rounding alone, and drop faint ones."""
        kept = mass >= _FLOOR
        missing += _rest(mass, kept, error)
        losses, mass = losses[kept], mass[kept]
        if not len(losses):
            return cls(losses, mass, error, drift, missing)
        order = np.argsort(losses)
        losses, mass = losses[order], mass[order]
        close = _CLOSE * float(np.abs(losses).max())
        firsts = np.append(0, np.flatnonzero(np.diff(losses) > close) + 1)
        lasts = np.append(firsts[1:], len(losses)) - 1
        apart = float((losses[lasts] - losses[firsts]).max())
        many = int((lasts - firsts).max()) + 1
        total = np.add.reduceat(mass, firsts)
        return cls(losses[firsts], total, error + UNIT * many, drift + apart * (1 + UNIT), missing)

    def times(self, other: Atoms) -> Atoms | None:
        """List the losses of two independent parts; None if that is too much work."""
        error = (self.error + other.error + self.error * other.error) * (1 + 4 * UNIT)
        missing = (self.missing + other.missing) * (1 + CUT_MARGIN)  # masses are about one
        sizes = len(self.mass), len(other.mass)
        if self.grain is not None and self.grain == other.grain:
            start = self.start + other.start
            if sizes[0] * sizes[1] > _MOST_STEPS or abs(start) > LARGEST_PLACE:
                return None
            mass = np.convolve(self.mass, other.mass)
            error += UNIT * (min(sizes) + 4)
            return Atoms.on_lattice(start, mass, self.grain, error=error, missing=missing)
        if sizes[0] * sizes[1] > _MOST_SUMS:
            return None
        losses = np.add.outer(self.losses, other.losses).ravel()
        mass = np.multiply.outer(self.mass, other.mass).ravel()
        drift = self.drift + other.drift + UNIT * float(np.abs(losses).max(initial=0.0))
        return Atoms.merged(
            losses, mass, error=error + 4 * UNIT, drift=drift * (1 + 4 * UNIT), missing=missing
        )

    def power(self, count: int) -> Atoms | None:
        """List the losses of independent copies; None if that is too much work."""
        total: Atoms | None = None
        square: Atoms | None = self
        while square is not None and len(square.mass) <= _MOST_ATOMS:
            if count % 2:
                total = square if total is None else total.times(square)
                if total is None:
                    return None
            count //= 2
            if not count:
                return total
            square = square.times(square)
        return None

    def upper(self, eps: float) -> float:
        value, slack = self._total(eps - self._moved(eps))
        return bound_above(value * (1 + slack) + self.missing * (1 + 4 * UNIT) + TINIEST)

    def lower(self, eps: float) -> float:
        value, slack = self._total(eps + self._moved(eps))
        return bound_below(value * (1 - slack) - TINIEST)

    def profile(self, eps: float) -> Bracket:
        return Bracket.within(self.lower(eps), self.upper(eps), ceil=1.0)

    def _total(self, eps: float) -> tuple[float, float]:
        first = int(np.searchsorted(self.losses, eps, side="right"))
        share = -np.expm1(eps - self.losses[first:])
        value = float((self.mass[first:] * share).sum())  # a product of arrays would wake threads
        return value, (self.error + UNIT * (2 * len(self.mass) + 16)) * (1 + 8 * UNIT)

    def _moved(self, eps: float) -> float:
        """How far the losses may be off, and their distances to eps when rounded."""
        reach = (
            max(abs(float(self.losses[0])), abs(float(self.losses[-1]))) if len(self.mass) else 0
        )
        return (self.drift + 8 * UNIT * (reach + abs(eps))) * (1 + 8 * UNIT)

    def above(self, step: Fraction, infinite: float = 0.0) -> PrivacyLossDistribution | None:
        """Spread each atom over its two neighbors on the lattice."""
        mass = self.mass * (1 + self.error + 4 * UNIT)
        infinite = (infinite + self.missing) * (1 + 2 * UNIT)
        aligned = self._aligned(step)
        if aligned is not None:
            return _placed(aligned, mass, infinite, 0.0)
        h, x = float(step), self.losses
        cell = np.floor(x / h)
        share = -np.expm1(np.minimum(cell * h - x, 0.0)) / -math.expm1(-h)
        drift = self.drift + 64 * UNIT * float(np.abs(x).max(initial=0.0)) + 64 * UNIT * h
        up = np.minimum(mass, mass * share * (1 + 64 * UNIT))
        both, weights = np.concatenate([cell, cell + 1]), np.concatenate([mass - up, up])
        return _placed(_whole(both), weights * (1 + 2 * UNIT), infinite, drift)

    def below(self, step: Fraction, infinite: float = 0.0) -> PrivacyLossDistribution | None:
        """Move each atom down to the lattice; those that are not listed are dropped."""
        mass = self.mass * (1 - self.error - 4 * UNIT)
        aligned = self._aligned(step)
        if aligned is not None:
            return _placed(aligned, mass, infinite, 0.0)
        x = self.losses
        drift = self.drift + 64 * UNIT * float(np.abs(x).max(initial=0.0))
        return _placed(_whole(np.floor(x / float(step))), mass, infinite, drift)

    def _aligned(self, step: Fraction) -> NDArray[np.int64] | None:
        if self.grain is None or (self.grain / step).denominator != 1:
            return None
        ratio = (self.grain / step).numerator
        return _whole(np.arange(self.start, self.start + len(self.mass)), ratio)


def _rest(mass: Floats, kept: NDArray[np.bool_], error: float) -> float:
    """Bound the mass that is not kept; what underflowed is below the tiniest float."""
    faint = mass[~kept]
    return float(faint.sum()) * (1 + error + UNIT * len(mass)) + TINIEST * len(faint)


def _whole(index: NDArray[np.generic], ratio: int = 1) -> NDArray[np.int64] | None:
    """Give integers, times a ratio, as such; None if floats skip some of them."""
    size = float(np.abs(index).max(initial=0.0))
    if not size <= LARGEST_PLACE or size * ratio > LARGEST_PLACE:  # not a number fails too
        return None
    return index.astype(np.int64) * ratio


def _placed(
    where: NDArray[np.int64] | None, mass: Floats, infinite: float, drift: float
) -> PrivacyLossDistribution | None:
    """Put masses on the lattice; None if that would be absurdly long, or far out."""
    if where is None:
        return None
    if not len(where):
        return PrivacyLossDistribution(0, np.zeros(1), infinite, drift)
    start = int(where.min())
    if int(where.max()) - start > _LONGEST:
        return None
    total = np.asarray(np.bincount(where - start, weights=mass), np.float64)
    return PrivacyLossDistribution(start, total, infinite, drift)


@final
@dataclass(frozen=True, slots=True)
class AtomTransform(Transform):
    """The cumulants of finitely supported losses; they need not decay along a line."""

    items: tuple[tuple[Atoms, int], ...]

    @property
    def terms(self) -> int:
        return sum(len(atoms.mass) for atoms, _ in self.items)

    def real(self, orders: Floats) -> tuple[Floats, Floats]:
        value, error = np.zeros(len(orders)), np.zeros(len(orders))
        for atoms, count in self.items:
            exponent = np.outer(orders, atoms.losses)
            top = exponent.max(axis=1)
            weight = np.exp(exponent - top[:, None])
            value += count * (top + np.log(np.einsum("ij,j->i", weight, atoms.mass)))
            reach = np.abs(exponent).max(axis=1)
            error += count * (atoms.error + UNIT * (48 * reach + len(atoms.mass) + 64))
        return value, error

    def line(self, order: float, heights: Floats) -> CumulantLine:
        """Sum ln sum p e**(zx), with the oscillation reduced by the tilted mean."""
        value = np.zeros(len(heights), np.complex128)
        error = np.zeros(len(heights))
        for atoms, count in self.items:
            x = atoms.losses
            top = float((order * x).max())
            weight = atoms.mass * np.exp(order * x - top)
            total = float(weight.sum())
            center = float((weight * x).sum()) / total
            turned = np.exp(1j * np.outer(heights, x - center))
            phi = np.einsum("ij,j->i", turned, weight / total)
            reach = float(np.abs(x).max())
            bound = 2 * atoms.error + UNIT * (48 * (order + heights) * reach + 2 * len(x) + 64)
            value += count * (reduced(phi) + math.log(total) + top + 1j * heights * center)
            error += count * (
                np.log1p(bound / np.maximum(np.abs(phi), TINIEST))
                + UNIT * (16 + 4 * (order + heights) * reach)
            )
        return CumulantLine(value, error)


Ends = tuple[Floats, Floats]
"""Bounds at many points, from below and from above."""

_FAINT: Final = 1e-40  # masses whose share of a delta is lost in rounding, unless it is tiny


@final
@dataclass(frozen=True, slots=True, eq=False)
class Enumeration:
    """A list of losses, alone or with one more loss whose profile is known everywhere."""

    atoms: Atoms
    second: Callable[[Floats], Ends] | None = None

    def complete(self, delta: float) -> bool:
        """Return True if what is not on the list hardly counts at a delta."""
        return self.atoms.missing <= _NEGLIGIBLE * delta

    def upper(self, eps: float) -> float:
        if self.second is None:
            return self.atoms.upper(eps)
        value = self._total(self.second, eps - self.atoms._moved(eps), above=True)  # noqa: SLF001
        return bound_above(value + self.atoms.missing * (1 + 4 * UNIT))

    def lower(self, eps: float) -> float:
        if self.second is None:
            return self.atoms.lower(eps)
        moved = self.atoms._moved(eps)  # noqa: SLF001
        return bound_below(self._total(self.second, eps + moved, above=False))

    def delta(self, eps: float) -> Bracket:
        return Bracket.within(self.lower(eps), self.upper(eps), ceil=1.0)

    def _total(self, second: Callable[[Floats], Ends], eps: float, *, above: bool) -> float:
        mass, losses = self.atoms.mass, self.atoms.losses
        heavy = mass > _FAINT
        value = np.full(len(mass), float(above))  # what no profile exceeds, or falls below
        value[heavy] = second(eps - losses[heavy])[above]
        total = float((mass * value).sum())
        if len(mass) * _FAINT > total * UNIT:  # faint masses may count
            total = float((mass * second(eps - losses)[above]).sum())
        slack = (self.atoms.error + UNIT * (len(mass) + 16)) * (1 + 8 * UNIT)
        return total * (1 + slack if above else 1 - slack)


def _product(lists: Iterable[Atoms]) -> Atoms | None:
    total: Atoms | None = None
    for each in sorted(lists, key=lambda each: len(each.mass)):
        total = each if total is None else total.times(each)
        if total is None:
            return None
    return total


def listed_power(pairs: Counted) -> Sequence[Atoms | None]:
    """List the losses of each pair, as often as it occurs; None if they are many."""
    lists = ((pair.atoms(), count) for pair, count in pairs)
    return [
        atoms.power(count) if atoms is not None and 0 < len(atoms.mass) <= _MOST_LISTED else None
        for atoms, count in lists
    ]


@functools.lru_cache(maxsize=128)
def enumeration(pairs: Counted) -> Enumeration | None:
    """List the losses of a product, all or all but those of one pair; None if they are many."""
    lists, second = [], None
    for (pair, count), atoms in zip(pairs, listed_power(pairs), strict=True):
        if atoms is not None:
            lists.append(atoms)
        elif second is None and count == 1 and type(pair).finite_parts is not Pair.finite_parts:
            second = pair.finite_parts
        else:
            return None
    total = _product(lists)
    if total is None or (second is not None and len(total.mass) > _MOST_ATOMS):
        return None
    return Enumeration(total, second)  # type: ignore[arg-type]  # its bounds are known


def listed_product(pairs: Counted) -> Atoms | None:
    """List the losses of a product; None if they are many."""
    lists = listed_power(pairs)
    known = [each for each in lists if each is not None]
    total = _product(known) if len(known) == len(lists) else None
    return total if total is not None and len(total.mass) <= _MOST_LISTED else None


Probabilities = tuple[Fraction, ...]
PowerCurve = list[tuple[Fraction, Fraction]]

_LONGEST_CHAIN: Final = 64


def chained_laws(
    p: Probabilities, q: Probabilities, size: int
) -> tuple[Probabilities, Probabilities]:
    """Return the pair of distributions that dominates ``size`` steps of the pair (p, q)."""
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
    """Two finite distributions, given as exact probabilities of the same outcomes."""

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
        if k > _LONGEST_CHAIN:
            return None
        return self if k == 1 else FinitePair(*chained_laws(self.p, self.q, k))

    def cumulant(self, t: float) -> float:
        return Pair.cumulant(self, t) if len(self.atoms().mass) else -math.inf

    def infinity(self) -> Bracket:
        mass = self.exact_infinity()
        return Bracket(float_down(mass), float_up(mass))

    def exact_infinity(self) -> Fraction:
        return sum((p for p, q in zip(self.p, self.q, strict=True) if q == 0), Fraction(0))

    def largest(self) -> float:
        largest = float(self.atoms().losses.max(initial=-math.inf))
        return largest + 16 * UNIT * abs(largest) if math.isfinite(largest) else 0.0

    def largest_below(self) -> float:
        largest = float(self.atoms().losses.max(initial=-math.inf))
        return largest - 16 * UNIT * abs(largest) if math.isfinite(largest) else 0.0

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


def _log_ratio(p: Fraction, q: Fraction) -> float:
    """Take ln(p/q) within 8 units of its size, near one as elsewhere."""
    ratio = p / q
    if Fraction(1, 2) < ratio < 2:
        return math.log1p(float(ratio - 1))
    shift = ratio.numerator.bit_length() - ratio.denominator.bit_length()
    return shift * math.log(2) + math.log(ratio / Fraction(2) ** shift)
