"""What every dominating pair can say about itself.

Trust: kernel.

Definition.  A pair (P, Q) of laws stands for the two worst neighboring outputs, in one direction.
Its privacy loss is L = ln(P/Q) under P, and its profile is the hockey-stick divergence
delta(eps) = P[L = inf] + E_P[(1 - e**(eps - L))+ ; L < inf], for every real eps.

Theorem (key ``dominating-pair``).  If each mechanism is dominated by its pair at every real eps,
an adaptive composition is dominated by the product of the pairs, and the losses of a product are
independent and add up (Zhu, Dong and Wang 2022, theorem 10).

The engines meet a pair through two further views:

``Law``        masses on a lattice of losses that bound the profile from above or from below;
``Transform``  ln E[e**(zL); L < inf] on a vertical line of complex orders, with error bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol, Self, final

import numpy as np
from numpy.typing import NDArray

from discreet.loss.bracket import Bracket

__all__ = ["Complexes", "Curve", "Floats", "Law", "Line", "Pair", "Transform"]

Floats = NDArray[np.floating[Any]]
Complexes = NDArray[np.complexfloating[Any, Any]]

Curve = Callable[[float], Bracket]
"""A profile known point by point: its finite part at any eps >= 0."""


@final
@dataclass(frozen=True, slots=True)
class Law:
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
class Line:
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

    def line(self, order: float, heights: Floats) -> Line:
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

    def closed(self, count: int) -> Curve | None:
        """Give the closed form of the count-fold product, where there is one."""
        ...

    def grain(self) -> Fraction | None:
        """Give a spacing on whose multiples all atoms lie; zero if there are no atoms."""
        ...

    def above(self, step: Fraction) -> Law | None:
        """Bound the profile from above on a lattice; None if that is not known."""
        ...

    def below(self, step: Fraction) -> Law | None:
        """Bound the profile from below on a lattice; None if that is not known."""
        ...

    @classmethod
    def bundle(cls, pairs: Sequence[tuple[Self, int]]) -> Transform | None:
        """Gather pairs of this family, with counts, for the contour; None if it cannot."""
        ...
