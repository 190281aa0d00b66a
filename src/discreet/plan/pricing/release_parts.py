"""The parts of a release before their price is known, and how a price is divided among them.

Trust: kernel.  Shares add up to the price, whatever they are; how good they are is about accuracy.

Definition.  A part is what is released of one measure: its noisy totals, one level of a histogram,
or which keys are shown.  For a share epsilon, or a share rho, of the price it gives the mechanism
that spends no more.
Theorem (key ``part-prices``).  Let d and D be the L1 distance and the squared L2 distance of one
step of the relation (key ``plan-distances``), g the groups of a unit, w = g, or 2 g if units are
replaced.  Then a share is kept by

    Laplace noise of scale d / epsilon          epsilon, as d / scale
    Gaussian noise of variance D / (2 rho)      rho, as D / (2 variance)
    Laplace noise of scale d / sqrt(2 rho)      rho, as e tanh(e / 2) <= e**2 / 2, e = d / scale
    g choices of scale 2 g q / epsilon          epsilon, as each has a range of 2 q / scale
    g choices of scale q sqrt(g / (2 rho))      rho, as g (2 q / scale)**2 / 8
    keys with epsilon / w and delta / w in each of w groups, or sqrt(2 rho / w) and delta / w
    coordinates of simplexes that choose keys: what their noise does, and delta (key ``sum-keys``)
    noisy counts that choose keys, moved by M in each of w groups: as Laplace or Gaussian noise
                                                for d = w M and D = w M**2, and delta

if a quantile may have several choices, each for a part of its share, and q bounds how far a unit
moves the scores of one of g groups: ``rows`` times
the weight of the choice, twice that if units are replaced, and ``rows`` if there is only one group.
Proof.  The first five are ``laplace-mechanism``, ``gaussian-mechanism``, ``pure-to-concentrated``
and ``exponential-mechanism``, and the last is ``optimal-keys-loss`` or ``threshold-keys``.  If a
unit is replaced, its g groups and the g of the other are at most 2 g; choices in two of them, in
each of which only one of the units has rows, have together twice the range of one of them, as if
one group had moved twice as far.  Scales and variances are rounded up, shares down.

Definition.  The weight w of a part is twice the number of aggregates that need it; the number of
all aggregates, and at least two, for a choice of keys; and zero for a number that no unit moves
(key ``always-there``).  A variance weighs four on the mean that it needs, and one on its squares:
to first order their noises have factors 2 |t| h and 1, for a mean that is t from the middle of
bounds that are h away.
Theorem (key ``split-shares``).  Let the error of a part with share s be c / s, in units of
what one unit contributes, with the same c for all parts.  Of all shares that add up to S, those
proportional to the roots of the weights have the smallest weighted sum of errors, (sum of the
roots)**2 c / S.
Proof.  By Cauchy and Schwarz, (sum of sqrt(w))**2 = (sum of sqrt(w / s) sqrt(s))**2 is at most
(sum of w / s) S, with equality if w / s**2 is the same for all.
For Laplace noise s is an epsilon, and c / s its scale; for Gaussian noise s is a rho, and c / s its
variance.  Aggregates may name an epsilon of their own, which their parts share equally; the other
parts divide what is left.
"""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, final

from discreet.errors import WrongKind
from discreet.mechanisms import Gaussian, Laplace
from discreet.plan.noise_errors import ranks_around, ranks_aside
from discreet.plan.pricing.group_sensitivity import (
    UNITS,
    GroupSensitivity,
    LeafChoice,
    LeafUse,
    Noise,
    QuantileChoice,
    QuantileSpan,
    Releases,
    scores_moved,
    spans_of,
    steps_up,
)
from discreet.units import PrivacyUnit, Relation

if TYPE_CHECKING:  # for annotations alone
    from discreet.mechanisms import NoisyKeys, OptimalKeys, SumKeys
    from discreet.plan.statistics.contribution_bounds import ContributionBounds
    from discreet.requests.engine_request import Leaves

    Release = OptimalKeys | NoisyKeys | Noise | LeafChoice
    Selection = OptimalKeys | NoisyKeys | SumKeys


LAPLACE: Final = "LAPLACE"
GAUSSIAN: Final = "GAUSSIAN"
OPTIMAL: Final = "OPTIMAL"
SMALLEST: Final = "SMALLEST"

KEYS_USE: Final = ("", None)
"""What stands for the choice of keys among the inputs of a release."""

LEVELS: Final = "levels"
"""What stands for all levels of a histogram among the inputs of a release."""

VALUE_SHARE: Final = Fraction(9, 10)
"""The part of the price of a quantile that goes to the value, and not to its interval."""

STILL: Final = Fraction(1, 64)
"""The scale of noise on a number that no unit moves: it is zero, but for a chance of 2**-91."""

_BITS: Final = 40
_LARGEST: Final = Fraction(50)  # above it there is no privacy left to lose
_FARTHEST: Final = 1 << 60
_SURE: Final = Fraction(19, 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyTotals:
    """The noisy totals of a measure, or the noisy number of units."""

    measure: str
    distances: GroupSensitivity

    @property
    def use(self) -> tuple[str, None]:
        return self.measure, None

    def within_epsilon(self, epsilon: Fraction, relation: Relation) -> Noise:
        moved = self.distances.moved(relation)
        return self._noise(Laplace(scale=steps_up(moved) / epsilon if moved else STILL))

    def within_rho(self, rho: Fraction, relation: Relation, law: str) -> Noise:
        square = self.distances.moved_squared(relation)
        if law == LAPLACE or not square:
            return self.within_epsilon(root_down(2 * rho) if square else rho, relation)
        return self._noise(Gaussian(variance=dyadic_up(square / (2 * rho))))

    def _noise(self, mechanism: Laplace | Gaussian) -> Noise:
        return Noise(measure=self.measure, mechanism=mechanism, distances=self.distances)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafPart(ABC):
    """One value of each group, chosen among the leaves of a histogram.

    ``intervals`` says whether a part of the price may go to intervals.
    """

    measure: str
    leaves: int
    rows: int
    groups: int
    available: int | None
    confidence: Fraction = _SURE
    intervals: bool = True

    @classmethod
    def of(cls, histogram: Leaves, limits: ContributionBounds, **more: Any) -> Self:
        """Return the part of a histogram that is measured within some limits."""
        return cls(
            measure=histogram.name,
            leaves=histogram.leaves,
            rows=histogram.rows,
            groups=limits.groups,
            available=limits.available,
            **more,
        )

    @property
    def claims(self) -> dict[str, Any]:
        """What a choice says of the rows that a unit has in the histogram."""
        names = ("measure", "rows", "groups", "available")
        return {name: getattr(self, name) for name in names}

    @property
    @abstractmethod
    def use(self) -> LeafUse:
        """The histogram, and what is chosen from it."""

    @abstractmethod
    def within_epsilon(self, epsilon: Fraction, relation: Relation) -> tuple[LeafChoice, ...]:
        """Return choices for a share of epsilon."""

    @abstractmethod
    def within_rho(self, rho: Fraction, relation: Relation) -> tuple[LeafChoice, ...]:
        """Return choices for a share of rho."""

    @abstractmethod
    def error_by_epsilon(self, epsilon: float, relation: Relation, miss: float) -> float:
        """Estimate how far a value is off with some chance, for a share of epsilon."""

    @abstractmethod
    def error_by_rho(self, rho: float, relation: Relation, miss: float) -> float:
        """Estimate how far a value is off with some chance, for a share of rho."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredPart(LeafPart):
    """Leaves that are chosen by their scores."""

    @property
    @abstractmethod
    def weight(self) -> Fraction:
        """How far one row more or less moves every score."""

    @property
    def value_share(self) -> Fraction:
        """The part of the share that goes to the value itself."""
        return Fraction(1)

    @abstractmethod
    def choices(self, scale: Callable[[Fraction], Fraction]) -> tuple[LeafChoice, ...]:
        """Return what is chosen, with the scale that each part of the share allows."""

    def moved(self, relation: Relation) -> Fraction:
        """Return how far a unit moves the scores of one of its groups."""
        return scores_moved(
            self.weight, rows=self.rows, available=self.available, two_sided=relation.replaces
        )

    def within_epsilon(self, epsilon: Fraction, relation: Relation) -> tuple[LeafChoice, ...]:
        whole = 2 * self.groups * self.moved(relation)
        return self.choices(lambda share: whole / (share * epsilon))

    def within_rho(self, rho: Fraction, relation: Relation) -> tuple[LeafChoice, ...]:
        moved = self.moved(relation)
        return self.choices(lambda share: moved / root_down(2 * share * rho / self.groups))

    def error_by_epsilon(self, epsilon: float, relation: Relation, miss: float) -> float:
        far_off = 2 * self.groups * float(self.moved(relation)) * math.log(self.leaves / miss)
        return far_off / (epsilon * float(self.value_share))

    def error_by_rho(self, rho: float, relation: Relation, miss: float) -> float:
        far_off = float(self.moved(relation)) * math.log(self.leaves / miss)
        return math.sqrt(self.groups / float(self.value_share)) * far_off / math.sqrt(2 * rho)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileLevel(ScoredPart):
    """One value of each group, chosen by its rank, and a span around it, for its interval.

    With nine tenths of the share a value errs by a ninth more than if nothing were spent on its
    interval.  The lowest and the highest value are ends themselves: beyond them nothing can be
    said, since one row more may lie anywhere.
    """

    level: Fraction

    @property
    def use(self) -> LeafUse:
        return self.measure, self.level

    @property
    def weight(self) -> Fraction:
        """How far one row more or less moves every score (key ``leaf-scores``)."""
        return max(self.level, 1 - self.level)

    @property
    def value_share(self) -> Fraction:
        """The part of the share that goes to the value itself."""
        return VALUE_SHARE if self.intervals and 0 < self.level < 1 else Fraction(1)

    def choices(
        self, scale: Callable[[Fraction], Fraction]
    ) -> tuple[QuantileChoice | QuantileSpan, ...]:
        """Choose a value, and a span around it, with the scale that a share allows."""
        side = int(self.level == 0) - int(self.level == 1)
        value = self._choice(scale(self.value_share), side, 1 - self.confidence)
        return (value,) if self.value_share == 1 else (value, self._span(scale(1 - VALUE_SHARE)))

    def _span(self, scale: Fraction) -> QuantileSpan:
        from discreet.mechanisms import Exponential  # noqa: PLC0415  rare

        select = Exponential(candidates=len(spans_of(self.leaves)), scale=scale)
        return QuantileSpan(
            level=self.level,
            offset=min(ranks_around(select, 1 - _SURE), _FARTHEST),
            mechanism=select,
            leaves=self.leaves,
            **self.claims,
        )

    def _choice(self, scale: Fraction, side: int, missed: Fraction) -> QuantileChoice:
        from discreet.mechanisms import Exponential  # noqa: PLC0415  rare

        select = Exponential(candidates=self.leaves, scale=scale)
        aside = ranks_aside(self.level, select, missed, above=side > 0) if side else 0
        return QuantileChoice(
            level=self.level,
            offset=side * min(aside, _FARTHEST),
            mechanism=select,
            **self.claims,
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSelection:
    """Which groups are shown, by the chance that their number of units gives them.

    ``law`` is that of the noise on the number of units, or ``OPTIMAL`` for none; None is the same
    law as that of totals.  ``SMALLEST`` is the one that shows smaller groups: without noise for a
    share of epsilon, and with Gaussian noise for a share of rho, whose tails are shorter.
    With noise, ``measure`` may be another count, to which a unit adds at most ``most``.
    """

    law: str | None
    groups: int
    fewest: int
    measure: str = UNITS
    most: int = 1

    @property
    def use(self) -> tuple[str, None]:
        return KEYS_USE

    def places(self, relation: Relation) -> int:
        """Return how many groups one step of a relation changes."""
        return relation.sides * self.groups

    def within_epsilon(
        self, epsilon: Fraction, relation: Relation, delta: Fraction
    ) -> OptimalKeys | NoisyKeys:
        """Return a choice of keys for a share of epsilon, and a delta."""
        return self._keys(epsilon / self.places(relation), relation, delta)

    def within_rho(
        self, rho: Fraction, relation: Relation, delta: Fraction, law: str
    ) -> OptimalKeys | NoisyKeys:
        """Return a choice of keys for a share of rho, and a delta."""
        places = self.places(relation)
        if (self.law or law) in {GAUSSIAN, SMALLEST}:
            variance = dyadic_up(places * self.most**2 / (2 * rho))
            return _noisy(self, Gaussian(variance=variance), delta)
        return self._keys(root_down(2 * rho / places), relation, delta)

    def _keys(
        self, epsilon: Fraction, relation: Relation, delta: Fraction
    ) -> OptimalKeys | NoisyKeys:
        if self.law not in {OPTIMAL, SMALLEST}:
            return _noisy(self, Laplace(scale=self.most / epsilon), delta)
        from discreet.mechanisms import OptimalKeys  # noqa: PLC0415  rare

        return OptimalKeys(
            epsilon=min(epsilon, _LARGEST),
            delta=delta / self.places(relation),
            groups=self.groups,
            relation=Relation.ADD_REMOVE,
            fewest=self.fewest,
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SumSelection:
    """Which groups are shown, by what their noisy coordinates add up to, at no share of the price.

    A unit's coordinates in a group add up to ``most``, their squares to at most ``squared``.
    """

    measure: str
    coordinates: int
    most: int
    squared: int
    groups: int
    fewest: int

    law: ClassVar[str | None] = None
    """That of the coordinates."""

    def places(self, relation: Relation) -> int:
        """Return how many groups one step of a relation changes."""
        return relation.sides * self.groups

    def by(self, noises: Iterable[Noise], delta: Fraction) -> SumKeys:
        """Return the choice by noise that is drawn in any case."""
        (noise,) = (each.mechanism for each in noises if each.measure == self.measure)
        return _summed(self, noise, delta)


Part = NoisyTotals | LeafPart | PartitionSelection


@functools.lru_cache(maxsize=256)
def _summed(keys: SumSelection, noise: Laplace | Gaussian, delta: Fraction) -> SumKeys:
    from discreet.mechanisms import SumKeys  # noqa: PLC0415  rare

    return SumKeys.for_delta(
        delta=delta,
        noise=noise,
        coordinates=keys.coordinates,
        most=keys.most,
        squared=keys.squared,
        groups=keys.groups,
        relation=Relation.ADD_REMOVE,
        fewest=keys.fewest,
    )


@functools.lru_cache(maxsize=256)
def _noisy(keys: PartitionSelection, noise: Laplace | Gaussian, delta: Fraction) -> NoisyKeys:
    from discreet.mechanisms import NoisyKeys  # noqa: PLC0415  rare

    return NoisyKeys.for_delta(
        delta=delta,
        noise=noise,
        groups=keys.groups,
        relation=Relation.ADD_REMOVE,
        fewest=keys.fewest,
        most=keys.most,
    )


def root_down(value: Fraction) -> Fraction:
    """Return a number whose square is at most a positive one, to twelve digits.

    >>> root_down(Fraction(1, 4)), 0 < 2 - root_down(Fraction(2)) ** 2 < 1e-11
    (Fraction(1, 2), True)
    """
    size = value.numerator.bit_length() - value.denominator.bit_length()
    shift = _BITS - size // 2
    scaled = value * Fraction(4) ** shift
    return math.isqrt(math.floor(scaled)) / Fraction(2) ** shift


def dyadic_up(value: Fraction) -> Fraction:
    """Round a positive number up, to twelve digits.

    >>> dyadic_up(Fraction(3, 2)), 0 < dyadic_up(Fraction(1, 3)) - Fraction(1, 3) < 1e-12
    (Fraction(3, 2), True)
    """
    shift = _BITS - (value.numerator.bit_length() - value.denominator.bit_length())
    above, below = value.numerator, value.denominator
    if shift >= 0:
        return Fraction(-(-(above << shift) // below), 1 << shift)
    return Fraction(-(-above // (below << -shift)) << -shift)


_ROOT_BITS: Final = 10


def price_shares(weights: Sequence[int], total: Fraction) -> tuple[Fraction, ...]:
    """Divide a total in proportion to the roots of weights, to three digits; 0 gets nothing.

    >>> price_shares([1, 1, 4], Fraction(1))
    (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2))
    """
    roots = [math.isqrt(weight << 2 * _ROOT_BITS) for weight in weights]
    whole = sum(roots) or 1
    return tuple(total * Fraction(root, whole) for root in roots)


def divide_epsilon(
    weights: Sequence[int], fixed: Sequence[Fraction | None], total: Fraction
) -> tuple[Fraction, ...]:
    """Divide an epsilon if some parts have one of their own.

    >>> divide_epsilon([1, 1, 1], [None, Fraction(1, 2), None], Fraction(1))
    (Fraction(1, 4), Fraction(1, 2), Fraction(1, 4))
    """
    left = total - sum((share for share in fixed if share is not None), Fraction(0))
    open_ = [weight for weight, share in zip(weights, fixed, strict=True) if share is None]
    if left < 0 or (any(open_) and left == 0):
        raise WrongKind(
            what="the epsilons of single aggregates use up more than the whole epsilon.",
            why="all of them together are what the question costs.",
            do="raise epsilon in OPTIONS, or lower those of the aggregates.",
        )
    rest = iter(price_shares(open_, left))
    return tuple(next(rest) if share is None else share for share in fixed)


NoiseTerms = tuple[tuple[int, Fraction], ...]
"""The places of parts, and by what the noise of each is multiplied."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class UnpricedRelease:
    """The parts of a release, the weight of each, and epsilons that are fixed.

    ``columns`` says for each aggregate which noises it adds up, and by which factors; ``sums``
    chooses keys by one of the parts.

    >>> from discreet.plan.pricing.group_sensitivity import GroupSensitivity
    >>> from discreet.units import person
    >>> far = GroupSensitivity(low=0, high=5, groups=1, available=1)
    >>> sketch = UnpricedRelease(parts=(NoisyTotals(measure="count", distances=far),), weights=(1,),
    ...                 fixed=(None,), unit=person("patient"))
    >>> sketch.by_epsilon(Fraction(1, 2), Fraction(0)).noises[0].mechanism.scale
    Fraction(10, 1)
    """

    parts: tuple[Part, ...]
    weights: tuple[int, ...]
    fixed: tuple[Fraction | None, ...]
    unit: PrivacyUnit
    columns: tuple[NoiseTerms, ...] = ()
    sums: SumSelection | None = None

    @property
    def keys(self) -> PartitionSelection | SumSelection | None:
        """The choice of keys, if there is one."""
        bought = (part for part in self.parts if isinstance(part, PartitionSelection))
        return next(bought, self.sums)

    def by_epsilon(self, total: Fraction, delta: Fraction) -> Releases:
        """Divide an epsilon; delta goes to the keys."""
        if not self.parts:
            return Releases()
        return self.with_epsilons(self.epsilons(total), delta)

    def epsilons(self, total: Fraction) -> tuple[Fraction, ...]:
        """Return the epsilon of each part."""
        return divide_epsilon(self.weights, self.fixed, total)

    def by_rho(self, total: Fraction, delta: Fraction, law: str = GAUSSIAN) -> Releases:
        """Divide a rho; delta goes to the keys."""
        if not self.parts:
            return Releases()
        return self.with_rhos(price_shares(self.weights, total), delta, law)

    def with_epsilons(self, epsilons: Iterable[Fraction], delta: Fraction) -> Releases:
        """Give each part its epsilon."""
        relation = self.unit.relation
        priced = (
            part.within_epsilon(share, relation, delta)
            if isinstance(part, PartitionSelection)
            else part.within_epsilon(share, relation)
            for part, share in zip(self.parts, epsilons, strict=True)
        )
        return self._releases(priced, delta)

    def with_rhos(self, rhos: Iterable[Fraction], delta: Fraction, law: str) -> Releases:
        """Give each part its rho."""
        relation = self.unit.relation
        priced: list[Release | tuple[LeafChoice, ...]] = []
        for part, share in zip(self.parts, rhos, strict=True):
            match part:
                case PartitionSelection():
                    priced.append(part.within_rho(share, relation, delta, law))
                case NoisyTotals():
                    priced.append(part.within_rho(share, relation, law))
                case LeafPart():
                    priced.append(part.within_rho(share, relation))
        return self._releases(priced, delta)

    def _releases(
        self, priced: Iterable[Release | tuple[LeafChoice, ...]], delta: Fraction
    ) -> Releases:
        several = [one if isinstance(one, tuple) else (one,) for one in priced]
        released, keys = [one for some in several for one in some], self.keys
        noises = tuple(one for one in released if isinstance(one, Noise))
        selection: Selection | None = next(
            (one for one in released if not isinstance(one, Noise | LeafChoice)), None
        )
        return Releases(
            selection=selection if self.sums is None else self.sums.by(noises, delta),
            chosen_by=keys.measure if isinstance(keys, PartitionSelection) else UNITS,
            noises=noises,
            choices=tuple(one for one in released if isinstance(one, LeafChoice)),
        )
