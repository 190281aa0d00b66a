"""What an engine sees of a loss: its distribution on a lattice, its atoms, its cumulants on a line.

Trust: kernel.

``PrivacyLossDistribution`` bounds a profile from above or from below by masses on a lattice;
``LossList`` names the losses one by one, where they are few; ``Transform`` gives
ln E[e**(zL); L < inf] on a vertical line of complex orders, with error bounds.

Products of lists.  Losses add up and masses multiply.  Masses are positive, so an entry that is a
sum of n products errs by n + 1 units relatively, in whatever order they are added; losses that
agree up to rounding are merged, and how far they lay apart is added to the drift.  Masses below
``_FLOOR`` are taken off the list and counted as missing (docs/proofs/accounting.md, section 14).

What every dominating pair can say about itself, and what some pairs know beyond that.

Definition.  A pair (P, Q) of laws stands for the two worst neighboring outputs, in one direction.
Its privacy loss is L = ln(P/Q) under P, and its profile is the hockey-stick divergence
delta(eps) = P[L = inf] + E_P[(1 - e**(eps - L))+ ; L < inf], for every real eps.

Theorem (key ``dominating-pair``).  If each mechanism is dominated by its pair at every real eps,
an adaptive composition is dominated by the product of the pairs, and the losses of a product are
independent and add up (Zhu, Dong and Wang 2022, theorem 10).

Theorem (key ``two-bounds``; Zhu, Dong and Wang 2022, theorem 10; Mironov 2017, proposition 1).
Let each step of an adaptive composition, whatever was seen before, be dominated by its pair and,
both ways, have Rényi divergences below its curve.  Then for every choice of steps the profile of
the whole is at most what the curves of those steps and the pairs of the others allow together.  So
the least of these bounds holds, at each epsilon and each delta.
Proof.  Each choice names one
bound that every step satisfies after every prefix, which is all that the composition of pairs and
curves asks for (docs/proofs/accounting.md, section 10).

A pair and a curve together say more about one release than either alone, and no single pair says
the same.  From below only a pair that satisfies both bounds can serve.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, Self, TypeGuard, final

import numpy as np
from numpy.typing import NDArray

from discreet.loss.rounding import CUT_MARGIN, TINIEST, UNIT, Bracket

if TYPE_CHECKING:  # for annotations alone
    from discreet.loss.moments import RenyiCurve


Floats = NDArray[np.floating[Any]]
Complexes = NDArray[np.complexfloating[Any, Any]]

LARGEST_PLACE: Final = 1 << 50
"""Places on a lattice up to this one are whole numbers as floats too, as are their small sums."""


@final
@dataclass(frozen=True, slots=True)
class PrivacyLossDistribution:
    """Masses at the losses ``(start + k) * step``, for a step that the caller chose.

    A distribution from above bounds the profile at eps by its own at eps - drift, one from below by
    its own at eps + drift.  ``infinite`` is the mass at an infinite loss.
    """

    start: int
    mass: Floats
    infinite: float = 0.0
    drift: float = 0.0


_FLOOR: Final = 1e-70
_CLOSE: Final = 2.0**-46  # of the largest loss: closer atoms are one
_MOST_SUMS: Final = 1 << 19  # sums of two losses that are sorted
_MOST_STEPS: Final = 1 << 23  # products of masses on one lattice
_LONGEST: Final = 1 << 15


@final
@dataclass(frozen=True, slots=True)
class LossList:
    """Finitely many finite losses in rising order, with their masses.

    A list stands for a law whose atoms have the listed masses, each within a relative ``error``, at
    places within ``drift`` of the listed ones; atoms of a total mass of at most ``missing`` may lie
    anywhere else.  On a lattice, where ``grain`` is known, the list has no gaps (masses may be
    zero), and the first loss is ``start * grain``.

    >>> coin = LossList.on_lattice(-1, np.array([0.25, 0.0, 0.75]), Fraction(1, 2), error=0.0)
    >>> coin.times(coin).mass.tolist()
    [0.0625, 0.0, 0.375, 0.0, 0.5625]
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
    ) -> LossList:
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
        cls, losses: Floats, mass: Floats, *, error: float, drift: float, missing: float
    ) -> LossList:
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

    def times(self, other: LossList) -> LossList | None:
        """List the losses of two independent parts; None where that is too much work."""
        error = (self.error + other.error + self.error * other.error) * (1 + 4 * UNIT)
        missing = (self.missing + other.missing) * (1 + CUT_MARGIN)  # masses are about one
        sizes = len(self.mass), len(other.mass)
        if self.grain is not None and self.grain == other.grain:
            if sizes[0] * sizes[1] > _MOST_STEPS:
                return None
            mass = np.convolve(self.mass, other.mass)
            error += UNIT * (min(sizes) + 4)
            start = self.start + other.start
            if abs(start) > LARGEST_PLACE:
                return None
            return LossList.on_lattice(start, mass, self.grain, error=error, missing=missing)
        if sizes[0] * sizes[1] > _MOST_SUMS:
            return None
        losses = np.add.outer(self.losses, other.losses).ravel()
        mass = np.multiply.outer(self.mass, other.mass).ravel()
        drift = self.drift + other.drift + UNIT * float(np.abs(losses).max(initial=0.0))
        return LossList.merged(
            losses, mass, error=error + 4 * UNIT, drift=drift * (1 + 4 * UNIT), missing=missing
        )

    def power(self, count: int) -> LossList | None:
        """List the losses of independent copies; None where that is too much work."""
        total: LossList | None = None
        square: LossList | None = self
        while square is not None and len(square.mass) <= _LONGEST:
            if count % 2:
                total = square if total is None else total.times(square)
                if total is None:
                    return None
            count //= 2
            if not count:
                return total
            square = square.times(square)
        return None


def _rest(mass: Floats, kept: NDArray[np.bool_], error: float) -> float:
    """Bound the mass that is not kept; what underflowed is below the tiniest float."""
    faint = mass[~kept]
    return float(faint.sum()) * (1 + error + UNIT * len(mass)) + TINIEST * len(faint)


@final
@dataclass(frozen=True, slots=True)
class CumulantLine:
    """Cumulants at the points c + i t_j: the complex values, and a bound on their error.

    The error bounds ``ln(1 + |computed - true| / |computed|)`` of the transform itself, plus the
    rounding of its logarithm; summed over independent losses it bounds the product's error.
    """

    value: Complexes
    error: Floats


class Transform(Protocol):
    """The cumulants of a bundle of pairs, each counted with its multiplicity."""

    def real(self, orders: Floats) -> tuple[Floats, Floats]:
        """Cumulants at real orders above zero (perhaps infinite), and bounds on their errors."""
        ...

    def line(self, order: float, heights: Floats) -> CumulantLine:
        """Cumulants at order + i heights."""
        ...

    def decay(self, order: float, height: float) -> float:
        """Bound ln sup over s >= height of |E e**((order + is)L)| / E e**(order L)."""
        ...


LARGEST_LOSS: Final = 10**50
"""Engines multiply losses with counts and orders, in floats; none of them has to go beyond this."""

ProfileCurve = Callable[[float], Bracket]
"""A profile known point by point: its finite part at any eps >= 0."""


class Pair(Protocol):
    """The law of a privacy loss, in one direction."""

    spread: ClassVar[bool]
    """Whether part of the loss is spread over an interval, so that a finer lattice is tighter."""

    normal: ClassVar[bool]
    """Whether the loss is that of one continuous Gaussian: a ``NormalPair``."""

    gaussian_noise: ClassVar[bool]
    """Whether the noise is Gaussian, continuous or discrete."""

    rare_losses: ClassVar[bool]
    """Whether its largest losses are rare, as on a sample: an event may hold most of them."""

    def reverse(self) -> Pair:
        """Swap the two laws."""
        ...

    def group(self, k: int) -> Pair | None:
        """Return the pair at k times the distance, where the family knows it exactly."""
        ...

    def factors(self) -> tuple[Pair, ...]:
        """Return pairs whose product is this one or dominates it; none is a product again."""
        ...

    def log_moment(self, t: float) -> float:
        """Bound ln E_P[e**(tL)] from above for t > 0; infinite when an infinite loss can occur."""
        ...

    def cumulant(self, t: float) -> float:
        """Bound ln E_P[e**(tL); L < inf] from above for t > 0."""
        ...

    def infinity(self) -> Bracket:
        """Enclose P[L = inf]."""
        ...

    def smoothed(self, bits: int) -> tuple[Fraction, Fraction] | None:
        """Give the square of mu of a Gaussian that dominates it beside a leak, and the leak.

        The leak is about 2**-bits, where it can be chosen; None where there is no such Gaussian.
        """
        ...

    def exact_infinity(self) -> Fraction | None:
        """Give P[L = inf] exactly; None if that is not known."""
        ...

    def largest(self) -> float:
        """Bound the largest finite loss from above."""
        ...

    def largest_below(self) -> float:
        """Bound the largest finite loss from below: losses come as close to it as they like."""
        ...

    def boundless(self) -> bool:
        """Say whether losses beyond ``LARGEST_LOSS`` are likely: they count as infinite."""
        ...

    def closed_form(self, count: int) -> ProfileCurve | None:
        """Give the closed form of the count-fold product, where there is one."""
        ...

    def ratios(self) -> dict[Fraction, Fraction] | None:
        """Give the mass under P of each finite ratio P/Q; None where they are not finitely many."""
        ...

    def listed(self) -> LossList | None:
        """List all finite losses; None where they are not few."""
        ...

    def finite_parts(self, eps: Floats) -> tuple[Floats, Floats] | None:
        """Bound E_P[(1 - e**(eps - L))+ ; L < inf] at many real eps; None if that takes long."""
        ...

    def grain(self) -> Fraction | None:
        """Give a spacing on whose multiples all atoms lie; zero if there are no atoms."""
        ...

    def above(self, step: Fraction) -> PrivacyLossDistribution | None:
        """Bound the profile from above on a lattice; None if that is not known."""
        ...

    def below(self, step: Fraction) -> PrivacyLossDistribution | None:
        """Bound the profile from below on a lattice; None if that is not known."""
        ...

    @classmethod
    def transform_of(cls, pairs: Sequence[tuple[Self, int]]) -> Transform | None:
        """Gather pairs of this family, with counts, for the contour; None if it cannot."""
        ...


Counted = tuple[tuple[Pair, int], ...]
"""A product: pairs, each with how often it occurs."""


_NEVER: Final = Bracket(0.0, 0.0)


class PairFamily:
    """What holds for most families: symmetric, no atoms, no infinite loss, for no engine."""

    __slots__ = ()

    spread: ClassVar[bool] = True
    normal: ClassVar[bool] = False
    gaussian_noise: ClassVar[bool] = False
    rare_losses: ClassVar[bool] = False

    def factors(self) -> tuple[Pair, ...]:
        """The pair is no product."""
        return (self,)  # type: ignore[return-value]  # every family has a group

    def reverse(self) -> Self:
        """The pair is symmetric."""
        return self

    def cumulant(self, t: float) -> float:
        """Every family has its own."""
        raise NotImplementedError

    def log_moment(self, t: float) -> float:
        """The cumulant; infinite if a loss is."""
        return math.inf if self.infinity().high else self.cumulant(t)

    def smoothed(self, bits: int) -> tuple[Fraction, Fraction] | None:  # noqa: ARG002
        """None is known."""
        return None

    def infinity(self) -> Bracket:
        """No loss is infinite."""
        return _NEVER

    def exact_infinity(self) -> Fraction | None:
        """Only bounds are known."""
        return None

    def largest(self) -> float:
        """The loss has no largest value."""
        return math.inf

    def largest_below(self) -> float:
        """Every value is exceeded."""
        return math.inf

    def boundless(self) -> bool:
        """Most families are not."""
        return False

    def closed_form(self, count: int) -> ProfileCurve | None:  # noqa: ARG002
        """There is no closed form."""
        return None

    def _without_infinity(self, whole: Bracket) -> Bracket:
        """Take the mass of infinite losses off a profile."""
        infinite = self.infinity()
        slack = UNIT * infinite.high
        return Bracket.within(whole.low - infinite.high - slack, whole.high - infinite.low + slack)

    def ratios(self) -> dict[Fraction, Fraction] | None:
        """There are more than finitely many."""
        return None

    def listed(self) -> LossList | None:
        """There are too many to list."""
        return None

    def finite_parts(self, eps: Floats) -> tuple[Floats, Floats] | None:  # noqa: ARG002
        """One point takes as long as many."""
        return None

    def grain(self) -> Fraction | None:
        """There are no atoms."""
        return Fraction(0)

    def above(self, step: Fraction) -> PrivacyLossDistribution | None:  # noqa: ARG002
        """No lattice serves this family."""
        return None

    def below(self, step: Fraction) -> PrivacyLossDistribution | None:  # noqa: ARG002
        """No lattice serves this family."""
        return None

    @classmethod
    def transform_of(cls, pairs: Sequence[tuple[Self, int]]) -> Transform | None:  # noqa: ARG003
        """No line of orders serves this family."""
        return None


def transforms(pairs: Counted) -> list[Transform] | None:
    """Gather the transforms of all families of a product; None where a family has none."""
    families: dict[type, list[tuple[Pair, int]]] = {}
    for pair, count in pairs:
        families.setdefault(type(pair), []).append((pair, count))
    bundles = [family.transform_of(members) for family, members in families.items()]  # type: ignore[attr-defined]
    return None if any(bundle is None for bundle in bundles) else bundles


class NormalPair(Pair, Protocol):
    """N(mu, 1) against N(0, 1); all of them in a product are one."""

    @property
    def mu_squared(self) -> Fraction:
        """The square of mu."""
        ...

    def times(self, count: int) -> NormalPair:
        """Run it count times."""
        ...

    def compose(self, other: NormalPair) -> NormalPair:
        """Run both."""
        ...


def is_normal(pair: Pair) -> TypeGuard[NormalPair]:
    """Say whether a pair is that of one continuous Gaussian."""
    return pair.normal


class TwoBounds(Pair, Protocol):
    """A pair that knows a curve of the releases it stands for."""

    def curve(self) -> RenyiCurve:
        """Bound the divergences of the releases in both directions."""
        ...

    def gain(self, t: float) -> float:
        """Estimate how far t D_(1+t) of the curve lies below that of the pair; only a hint."""
        ...

    def attained(self) -> Pair:
        """Give a pair, symmetric and no larger than either bound, for ends from below."""
        ...


def knows_finite_parts(pair: Pair) -> bool:
    """Say whether a pair knows its profile at many points at once, without asking for one.

    >>> from fractions import Fraction
    >>> from discreet.loss.gaussian import DiscreteGaussianPair, GaussianPair
    >>> pairs = GaussianPair(Fraction(1)), DiscreteGaussianPair(Fraction(1), 1)
    >>> [knows_finite_parts(pair) for pair in pairs]
    [True, False]
    """
    return getattr(type(pair), "finite_parts", None) is not PairFamily.finite_parts


def knows_curve(pair: Pair) -> TypeGuard[TwoBounds]:
    """Say whether a pair knows a curve of its releases.

    >>> from fractions import Fraction
    >>> from discreet.loss.gaussian import GaussianPair
    >>> knows_curve(GaussianPair(Fraction(1)))
    False
    """
    return _kind_knows(type(pair))


@functools.cache
def _kind_knows(kind: type) -> bool:
    return all(hasattr(kind, name) for name in ("curve", "gain", "attained"))
