"""A release with its parts known and its price open, and how a price is divided.

Trust: kernel.  Shares add up to the price, whatever they are; how good they are is about accuracy.

Definition.  The weight w of a part is the number of aggregates that need it, one for a choice of
keys, and zero for a number that no unit moves (key ``always-there``).
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

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, final

from discreet.errors import WrongKind
from discreet.plan.pricing.group_sensitivity import UNITS, LeafChoice, Noise, Releases
from discreet.plan.pricing.release_parts import (
    GAUSSIAN,
    LeafPart,
    NoisyTotals,
    Part,
    PartitionSelection,
)
from discreet.units import PrivacyUnit

_BITS: Final = 10


def price_shares(weights: Sequence[int], total: Fraction) -> tuple[Fraction, ...]:
    """Divide a total in proportion to the roots of weights, to three digits; 0 gets nothing.

    >>> price_shares([1, 1, 4], Fraction(1))
    (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2))
    """
    roots = [math.isqrt(weight << 2 * _BITS) for weight in weights]
    whole = sum(roots) or 1
    return tuple(total * Fraction(root, whole) for root in roots)


def divide_epsilon(
    weights: Sequence[int], fixed: Sequence[Fraction | None], total: Fraction
) -> tuple[Fraction, ...]:
    """Divide an epsilon where some parts have one of their own.

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


if TYPE_CHECKING:  # loaded when keys are chosen
    from discreet.mechanisms import NoisyKeys, OptimalKeys

    Release = OptimalKeys | NoisyKeys | Noise | LeafChoice


NoiseTerms = tuple[tuple[int, Fraction], ...]
"""The places of parts, and by what the noise of each is multiplied."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class UnpricedRelease:
    """The parts of a release, how many aggregates need each, and epsilons that are fixed.

    ``columns`` says for each aggregate which noises it adds up, and by which factors.

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

    @property
    def keys(self) -> PartitionSelection | None:
        """The choice of keys, if there is one."""
        return next((part for part in self.parts if isinstance(part, PartitionSelection)), None)

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
        return self._releases(
            part.within_epsilon(share, relation, delta)
            if isinstance(part, PartitionSelection)
            else part.within_epsilon(share, relation)
            for part, share in zip(self.parts, epsilons, strict=True)
        )

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
        return self._releases(priced)

    def _releases(self, priced: Iterable[Release | tuple[LeafChoice, ...]]) -> Releases:
        several = [one if isinstance(one, tuple) else (one,) for one in priced]
        released, keys = [one for some in several for one in some], self.keys
        return Releases(
            selection=next(
                (one for one in released if not isinstance(one, Noise | LeafChoice)), None
            ),
            chosen_by=UNITS if keys is None else keys.measure,
            noises=tuple(one for one in released if isinstance(one, Noise)),
            choices=tuple(one for one in released if isinstance(one, LeafChoice)),
        )
