"""A release with its parts known and its price open.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from discreet.plan.noises import UNITS, Choice, Noise
from discreet.plan.parts import GAUSSIAN, Keys, Level, Part, Totals
from discreet.plan.split import divided, shares
from discreet.plan.tree import Releases
from discreet.units import PrivacyUnit

if TYPE_CHECKING:  # loaded when keys are chosen
    from discreet.mechanisms import NoisyKeys, OptimalKeys

    Release = OptimalKeys | NoisyKeys | Noise | Choice

__all__ = ["Column", "Sketch"]

Column = tuple[tuple[int, Fraction], ...]
"""The places of parts, and by what the noise of each is multiplied."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """The parts of a release, how many aggregates need each, and epsilons that are fixed.

    ``columns`` says for each aggregate which noises it adds up, and by which factors.

    >>> from discreet.plan.distances import Distances
    >>> from discreet.units import person
    >>> far = Distances(low=0, high=5, groups=1, available=1)
    >>> sketch = Sketch(parts=(Totals(measure="count", distances=far),), weights=(1,),
    ...                 fixed=(None,), unit=person("patient"))
    >>> sketch.by_epsilon(Fraction(1, 2), Fraction(0)).noises[0].mechanism.scale
    Fraction(10, 1)
    """

    parts: tuple[Part, ...]
    weights: tuple[int, ...]
    fixed: tuple[Fraction | None, ...]
    unit: PrivacyUnit
    columns: tuple[Column, ...] = ()

    @property
    def keys(self) -> Keys | None:
        """The choice of keys, if there is one."""
        return next((part for part in self.parts if isinstance(part, Keys)), None)

    def by_epsilon(self, total: Fraction, delta: Fraction) -> Releases:
        """Divide an epsilon; delta goes to the keys."""
        if not self.parts:
            return Releases()
        return self.with_epsilons(self.epsilons(total), delta)

    def epsilons(self, total: Fraction) -> tuple[Fraction, ...]:
        """Return the epsilon of each part."""
        return divided(self.weights, self.fixed, total)

    def by_rho(self, total: Fraction, delta: Fraction, law: str = GAUSSIAN) -> Releases:
        """Divide a rho; delta goes to the keys."""
        if not self.parts:
            return Releases()
        return self.with_rhos(shares(self.weights, total), delta, law)

    def with_epsilons(self, epsilons: Iterable[Fraction], delta: Fraction) -> Releases:
        """Give each part its epsilon."""
        relation = self.unit.relation
        return self._releases(
            part.within_epsilon(share, relation, delta)
            if isinstance(part, Keys)
            else part.within_epsilon(share, relation)
            for part, share in zip(self.parts, epsilons, strict=True)
        )

    def with_rhos(self, rhos: Iterable[Fraction], delta: Fraction, law: str) -> Releases:
        """Give each part its rho."""
        relation = self.unit.relation
        found: list[Release | tuple[Choice, ...]] = []
        for part, share in zip(self.parts, rhos, strict=True):
            match part:
                case Keys():
                    found.append(part.within_rho(share, relation, delta, law))
                case Totals():
                    found.append(part.within_rho(share, relation, law))
                case Level():
                    found.append(part.within_rho(share, relation))
        return self._releases(found)

    def _releases(self, found: Iterable[Release | tuple[Choice, ...]]) -> Releases:
        several = [one if isinstance(one, tuple) else (one,) for one in found]
        each, keys = [one for some in several for one in some], self.keys
        return Releases(
            selection=next((one for one in each if not isinstance(one, Noise | Choice)), None),
            chosen_by=UNITS if keys is None else keys.measure,
            noises=tuple(one for one in each if isinstance(one, Noise)),
            choices=tuple(one for one in each if isinstance(one, Choice)),
        )
