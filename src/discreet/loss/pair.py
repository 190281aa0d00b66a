"""A dominating pair: what it says about itself, and what an engine sees of it.

Trust: kernel.

Definition.  A pair (P, Q) of distributions stands for the two worst neighboring outputs, in one
direction.  Its privacy loss is L = ln(P/Q) under P, and its profile is the hockey-stick divergence
delta(eps) = P[L = inf] + E_P[(1 - e**(eps - L))+ ; L < inf], for every real eps.

Theorem (key ``dominating-pair``).  If each mechanism is dominated by its pair at every real eps,
an adaptive composition is dominated by the product of the pairs, and the losses of a product are
independent and add up (Zhu, Dong and Wang 2022, theorem 10).

Theorem (key ``two-bounds``; Zhu, Dong and Wang 2022, theorem 10; Mironov 2017, proposition 1; proof
in docs/proofs/accounting.md, section 10).  Let each step of an adaptive composition, whatever was
seen before, be dominated by its pair and, both ways, have Rényi divergences below its curve.  Then
for every choice of steps the profile of the whole is at most what the curves of those steps and the
pairs of the others allow together.  So the least of these bounds holds, at each epsilon and delta.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, final

import numpy as np
from numpy.typing import NDArray

from discreet.loss.dots import Floats, PrivacyLossDistribution, above_points, below_points
from discreet.loss.rounding import UNIT, Bracket

if TYPE_CHECKING:  # for annotations alone: curves and lists know no pair
    from discreet.loss.finite import Atoms
    from discreet.loss.moments import RenyiCurve
    from discreet.loss.rho import MomentGrowth

Complexes = NDArray[np.complexfloating[Any, Any]]

LARGEST_PLACE: Final = 1 << 50
"""Places on a lattice up to this one are integers as floats too, as are their small sums."""

LARGEST_LOSS: Final = 10**50
"""Engines multiply losses with counts and orders, in floats; none of them has to go beyond this."""

ProfileCurve = Callable[[float], Bracket]
"""A profile known point by point: its finite part at any eps >= 0."""

_NEVER: Final = Bracket(0.0, 0.0)
_UNCOUNTED: Final = 1e-40  # what is beyond on the right counts as infinite (section 12)
_SHALLOW: Final = 1e-20  # what is beyond on the left moves up: almost unnoticed
_FAR: Final = 300.0


@final
@dataclass(frozen=True, slots=True)
class CumulantLine:
    """Cumulants at the points c + i t_j: the complex values, and a bound on their error.

    The error bounds ``ln(1 + |computed - true| / |computed|)`` of the transform itself, plus the
    rounding of its logarithm; summed over independent losses it bounds the product's error.
    """

    value: Complexes
    error: Floats


class Transform(ABC):
    """The cumulants of a bundle of pairs, each counted with its multiplicity.

    ``terms`` is how many terms each cumulant adds up, and ``highest`` a height above which it would
    need too many.
    """

    __slots__ = ()

    highest: ClassVar[float] = math.inf

    @property
    def terms(self) -> int:
        return 1

    @abstractmethod
    def real(self, orders: Floats) -> tuple[Floats, Floats]:
        """Cumulants at real orders above zero (perhaps infinite), and bounds on their errors."""

    @abstractmethod
    def line(self, order: float, heights: Floats) -> CumulantLine:
        """Cumulants at order + i heights."""

    def decay(self, order: float, height: float) -> float:  # noqa: ARG002  (atoms never decay)
        """Bound ln sup over s >= height of |E e**((order + is)L)| / E e**(order L)."""
        return 0.0


class Pair(ABC):
    """The distribution of a privacy loss, in one direction.

    The methods below hold for most families: symmetric, no atoms, no infinite loss, no engine.
    """

    __slots__ = ()

    spread: ClassVar[bool] = True
    """Whether part of the loss is spread over an interval, so that a finer lattice is tighter."""

    rare_losses: ClassVar[bool] = False
    """Whether its largest losses are rare, as on a sample: an event may hold most of them."""

    two_bounds: ClassVar[bool] = False
    """Whether it knows a curve of the releases it stands for: then it has the next two methods.
    """

    def curve(self) -> RenyiCurve:
        """Bound the divergences of the releases in both directions."""
        raise NotImplementedError

    def attained(self) -> Pair:
        """Give a pair, symmetric and no larger than either bound, for ends from below."""
        raise NotImplementedError

    def growth(self) -> MomentGrowth | None:
        """Bound how fast the cumulants grow, if losses have no end; None if that is not known."""
        return None

    def cumulant(self, t: float) -> float:
        """Bound ln E_P[e**(tL); L < inf] from above for t > 0."""
        transform = self.transform_of([(self, 1)])
        if transform is None:
            return math.inf
        value, error = transform.real(np.array([t]))
        return float(value[0] + 2 * error[0])

    @abstractmethod
    def group(self, k: int) -> Pair | None:
        """Return the pair at k times the distance, if the family knows it exactly."""

    def reverse(self) -> Pair:
        """Swap the two distributions."""
        return self

    def factors(self) -> tuple[Pair, ...]:
        """Return pairs whose product is this one or dominates it; none is a product again."""
        return (self,)

    def log_moment(self, t: float) -> float:
        """Bound ln E_P[e**(tL)] from above for t > 0; infinite when an infinite loss can occur."""
        return math.inf if self.infinity().high else self.cumulant(t)

    def infinity(self) -> Bracket:
        """Enclose P[L = inf]."""
        return _NEVER

    def exact_infinity(self) -> Fraction | None:
        """Give P[L = inf] exactly; None if that is not known."""
        return None

    def smoothed(self, bits: int) -> tuple[Fraction, Fraction] | None:  # noqa: ARG002
        """Give the square of mu of a Gaussian that dominates it with a leak, and the leak.

        The leak is about 2**-bits, if it can be chosen; None if there is no such Gaussian.
        """
        return None

    def largest(self) -> float:
        """Bound the largest finite loss from above."""
        return math.inf

    def largest_below(self) -> float:
        """Bound the largest finite loss from below: losses come as close to it as they like."""
        return math.inf

    def boundless(self) -> bool:
        """Return True if losses beyond ``LARGEST_LOSS`` are likely: they count as infinite."""
        return LARGEST_LOSS < self.largest_below() < math.inf

    def closed_form(self) -> ProfileCurve | None:
        """Give the finite part at one eps >= 0 as a function; None if it takes an engine."""
        return None if type(self).finite_parts is Pair.finite_parts else self._at_one_point

    def _at_one_point(self, eps: float) -> Bracket:
        low, high = self._finite_parts(np.array([eps]))
        return Bracket.within(float(low[0]), float(high[0]), ceil=1.0)

    def _finite_parts(self, eps: Floats) -> tuple[Floats, Floats]:
        known = self.finite_parts(eps)
        return (np.zeros(len(eps)), np.ones(len(eps))) if known is None else known

    def atoms(self) -> Atoms | None:
        """List all finite losses; None if they are too many."""
        return None

    def finite_parts(self, eps: Floats) -> tuple[Floats, Floats] | None:  # noqa: ARG002
        """Bound E_P[(1 - e**(eps - L))+ ; L < inf] at many real eps; None if that takes long."""
        return None

    def grain(self) -> Fraction | None:
        """Give a spacing on whose multiples all atoms lie; zero if there are no atoms."""
        return Fraction(0)

    def above(self, step: Fraction) -> PrivacyLossDistribution | None:
        """Bound the profile from above on a lattice; None if that is not known."""
        atoms = self.atoms()
        if atoms is not None:
            return atoms.above(step, self.infinity().high)
        ends = self._span()
        if not ends:
            return None

        def upper(eps: Floats) -> Floats:  # beyond the largest loss not even rounding is left
            return np.where(eps < self.largest(), self._finite_parts(eps)[1], 0.0)

        return above_points(upper, ends, step)

    def below(self, step: Fraction) -> PrivacyLossDistribution | None:
        """Bound the profile from below on a lattice; None if that is not known."""
        atoms = self.atoms()
        if atoms is not None:
            return atoms.below(step, self.infinity().low)
        ends = self._span()
        return ends and below_points(self._finite_parts, ends, 1 - UNIT, step)

    def _span(self) -> tuple[float, float] | None:
        """Cover the losses that are worth counting, if the profile is known at many points."""
        if self.closed_form() is None or type(self).finite_parts is Pair.finite_parts:
            return None
        return -self.reverse()._end(_SHALLOW), self._end(_UNCOUNTED)  # noqa: SLF001

    def _end(self, floor: float) -> float:
        if (largest := self.largest()) <= _FAR:
            return largest
        tries = (1.25**k / 64 for k in range(44))
        return next((x for x in tries if self._at_one_point(x).high <= floor), _FAR)

    @classmethod
    def transform_of(cls, pairs: Sequence[tuple[Self, int]]) -> Transform | None:  # noqa: ARG003
        """Gather pairs of this family, with counts, for the contour; None if it cannot."""
        return None

    def _without_infinity(self, whole: Bracket) -> Bracket:
        """Take the mass of infinite losses off a profile."""
        infinite = self.infinity()
        slack = UNIT * infinite.high
        return Bracket.within(whole.low - infinite.high - slack, whole.high - infinite.low + slack)


Counted = tuple[tuple[Pair, int], ...]
"""A product: pairs, each with how often it occurs."""


def transforms(pairs: Counted) -> list[Transform] | None:
    """Gather the transforms of all families of a product; None if a family has none."""
    families: dict[type[Pair], list[tuple[Pair, int]]] = {}
    for pair, count in pairs:
        families.setdefault(type(pair), []).append((pair, count))
    bundles = []
    for family, members in families.items():
        bundle = family.transform_of(members)
        if bundle is None:
            return None
        bundles.append(bundle)
    return bundles
