"""What every dominating pair can say about itself, and what some pairs know beyond that.

Trust: kernel.

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
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final, Protocol, Self, TypeGuard

from discreet.loss.bracket import Bracket
from discreet.loss.engine.rounding import UNIT

if TYPE_CHECKING:  # for annotations alone: the curve and the distributions know no pair
    from discreet.loss.pairs.distribution import (
        Floats,
        LossList,
        PrivacyLossDistribution,
        Transform,
    )
    from discreet.loss.renyi.curve import RenyiCurve

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
    >>> from discreet.loss.pairs.gaussian import DiscreteGaussianPair, GaussianPair
    >>> pairs = GaussianPair(Fraction(1)), DiscreteGaussianPair(Fraction(1), 1)
    >>> [knows_finite_parts(pair) for pair in pairs]
    [True, False]
    """
    return getattr(type(pair), "finite_parts", None) is not PairFamily.finite_parts


def knows_curve(pair: Pair) -> TypeGuard[TwoBounds]:
    """Say whether a pair knows a curve of its releases.

    >>> from fractions import Fraction
    >>> from discreet.loss.pairs.gaussian import GaussianPair
    >>> knows_curve(GaussianPair(Fraction(1)))
    False
    """
    return _kind_knows(type(pair))


@functools.cache
def _kind_knows(kind: type) -> bool:
    return all(hasattr(kind, name) for name in ("curve", "gain", "attained"))
