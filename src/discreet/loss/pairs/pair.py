"""What every dominating pair can say about itself.

Trust: kernel.

What every dominating pair can say about itself.

Definition.  A pair (P, Q) of laws stands for the two worst neighboring outputs, in one direction.
Its privacy loss is L = ln(P/Q) under P, and its profile is the hockey-stick divergence
delta(eps) = P[L = inf] + E_P[(1 - e**(eps - L))+ ; L < inf], for every real eps.

Theorem (key ``dominating-pair``).  If each mechanism is dominated by its pair at every real eps,
an adaptive composition is dominated by the product of the pairs, and the losses of a product are
independent and add up (Zhu, Dong and Wang 2022, theorem 10).

The engines meet a pair through two further views:

``PrivacyLossDistribution``        masses on a lattice of losses that bound the profile from above
or from below; ``Transform``  ln E[e**(zL); L < inf] on a vertical line of complex orders, with
error bounds.

Pairs that stand for releases of which a Renyi curve is known as well.

Theorem (key ``two-bounds``).  Let each step of an adaptive composition, whatever was seen before,
be dominated by its pair and, both ways, have Renyi divergences below its curve.  Then for every
choice of steps the profile of the whole is at most what the curves of those steps and the pairs of
the others allow together.  So the least of these bounds holds, at each epsilon and each delta.
Proof.  Each choice names one bound that every step satisfies after every prefix, which is all that
the composition of pairs and curves asks for (docs/proofs/accounting.md, section 10).

What a pair and a curve say of one release is more than either: nothing shorter is the product.
From below only a law that satisfies both can serve.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol, Self, TypeGuard, final

import numpy as np
from numpy.typing import NDArray

from discreet.loss.bracket import Bracket
from discreet.loss.renyi.divergences import RenyiCurve

__all__ = [
    "Complexes",
    "CumulantLine",
    "Floats",
    "Pair",
    "PrivacyLossDistribution",
    "ProfileCurve",
    "Transform",
    "TwoBounds",
    "knows_curve",
]

Floats = NDArray[np.floating[Any]]
Complexes = NDArray[np.complexfloating[Any, Any]]

ProfileCurve = Callable[[float], Bracket]
"""A profile known point by point: its finite part at any eps >= 0."""


@final
@dataclass(frozen=True, slots=True)
class PrivacyLossDistribution:
    """Masses at the losses ``(start + k) * step``; the step is known to whoever asked for the law.

    A law from above bounds the profile at eps by its own at eps - drift, one from below by its
    own at eps + drift.  ``infinite`` is the mass at an infinite loss.
    """

    start: int
    mass: Floats
    infinite: float = 0.0
    drift: float = 0.0


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


class TwoBounds(Pair, Protocol):
    """A pair that knows a curve of the releases it stands for."""

    def curve(self) -> RenyiCurve:
        """Bound the divergences of the releases in both directions."""
        ...

    def gain(self, t: float) -> float:
        """Say about how far t D_(1+t) of the curve lies below that of the pair; only a hint."""
        ...

    def attained(self) -> Pair:
        """Give a pair, symmetric and no larger than either bound, for ends from below."""
        ...


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
