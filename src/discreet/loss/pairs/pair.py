"""What every dominating pair can say about itself.

Trust: kernel.

Definition.  A pair (P, Q) of laws stands for the two worst neighboring outputs, in one direction.
Its privacy loss is L = ln(P/Q) under P, and its profile is the hockey-stick divergence
delta(eps) = P[L = inf] + E_P[(1 - e**(eps - L))+ ; L < inf], for every real eps.

Theorem (key ``dominating-pair``).  If each mechanism is dominated by its pair at every real eps,
an adaptive composition is dominated by the product of the pairs, and the losses of a product are
independent and add up (Zhu, Dong and Wang 2022, theorem 10).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import ClassVar, Protocol, Self

from discreet.loss.bracket import Bracket
from discreet.loss.pairs.distribution import PrivacyLossDistribution, Transform

__all__ = ["Counted", "Pair", "PairFamily", "ProfileCurve", "transforms"]

ProfileCurve = Callable[[float], Bracket]
"""A profile known point by point: its finite part at any eps >= 0."""


class Pair(Protocol):
    """The law of a privacy loss, in one direction."""

    spread: ClassVar[bool]
    """Whether part of the loss is spread over an interval, so that a finer lattice is tighter."""

    def reverse(self) -> Pair:
        """Swap the two laws."""
        ...

    def group(self, k: int) -> Pair | None:
        """Return the pair at k times the distance, where the family knows it exactly."""
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

    def largest(self) -> float:
        """Bound the largest finite loss from above."""
        ...

    def reached(self) -> float:
        """Bound the largest finite loss from below: losses come as close to it as they like."""
        ...

    def closed(self, count: int) -> ProfileCurve | None:
        """Give the closed form of the count-fold product, where there is one."""
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
    def bundle(cls, pairs: Sequence[tuple[Self, int]]) -> Transform | None:
        """Gather pairs of this family, with counts, for the contour; None if it cannot."""
        ...


Counted = tuple[tuple[Pair, int], ...]
"""A product: pairs, each with how often it occurs."""


class PairFamily:
    """What holds for most families: symmetric, no atoms, no infinite loss, for no engine."""

    __slots__ = ()

    spread: ClassVar[bool] = True

    def reverse(self) -> Self:
        """The pair is symmetric."""
        return self

    def cumulant(self, t: float) -> float:
        """Every family has its own."""
        raise NotImplementedError

    def log_moment(self, t: float) -> float:
        """The cumulant; infinite if a loss is."""
        return math.inf if self.infinity().high else self.cumulant(t)

    def infinity(self) -> Bracket:
        """No loss is infinite."""
        return Bracket(0.0, 0.0)

    def largest(self) -> float:
        """The loss has no largest value."""
        return math.inf

    def reached(self) -> float:
        """Every value is exceeded."""
        return math.inf

    def closed(self, count: int) -> ProfileCurve | None:  # noqa: ARG002
        """There is no closed form."""
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
    def bundle(cls, pairs: Sequence[tuple[Self, int]]) -> Transform | None:  # noqa: ARG003
        """No line of orders serves this family."""
        return None


def transforms(pairs: Counted) -> list[Transform] | None:
    """Gather the transforms of all families of a product; None where a family has none."""
    families: dict[type, list[tuple[Pair, int]]] = {}
    for pair, count in pairs:
        families.setdefault(type(pair), []).append((pair, count))
    bundles = [family.bundle(members) for family, members in families.items()]  # type: ignore[attr-defined]
    return None if any(bundle is None for bundle in bundles) else bundles
