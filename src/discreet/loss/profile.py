"""The profile: the tight notion, kept as products of dominating pairs in each direction.

Trust: kernel.

Definition.  A profile holds, for a unit that is removed and for one that is added, alternatives:
one of them dominates the release.  delta(eps) is the largest over alternatives and directions.
Directions are composed apart (key ``dominating-pair``), because one unit is either removed from all
releases or added to all.  Which alternative dominates may depend on earlier outputs, so several are
replaced by one pair above them all before they are composed (key ``adaptive-choice``).

A group moves every pair by itself, since each stands for a release of its own.  The factors of an
*indivisible* profile do not: together they bound one release at one step, and what each would be at
two steps they do not say.  Its group chains the product as a whole (key ``group-profile``).

Groups, samples and joins are loaded when first used: few questions need their tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final, Self, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange
from discreet.exact import float_down, float_up
from discreet.loss.composition import Composition
from discreet.loss.dominance import dominates, largest_loss, largest_only
from discreet.loss.pair import Pair
from discreet.loss.parameters import (
    checked_count,
    checked_delta,
    checked_epsilon,
    checked_order,
    checked_rate,
)
from discreet.loss.privacy_loss import (
    PrivacyLoss,
    checked_loss,
    missed_detections,
    missed_on_grid,
    several,
)
from discreet.loss.rho import least_rho
from discreet.loss.rounding import Bracket
from discreet.notebook import short_repr

_STEPS: Final = 64
_NAMED: Final = 3  # so many parts are shown by name
_SMALL: Final = Fraction(1, 10**4)  # a delta that no curve of tests shows
_FAR: Final = 30.0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Profile(PrivacyLoss):
    """Alternatives in each direction, each a product of dominating pairs.

    >>> from discreet.loss import Pure
    >>> ten = Pure(epsilon="0.1").power(10)
    >>> ten.epsilon(delta=0), ten.epsilon(delta=1e-5) < 1
    (1.0, True)
    """

    remove: tuple[Composition, ...]
    add: tuple[Composition, ...]
    indivisible: bool = field(default=False, repr=False)  # compared: it changes what groups lose

    @classmethod
    def symmetric(cls, composition: Composition) -> Self:
        """Use one composition in both directions, reversed in the second."""
        return cls(remove=(composition,), add=(composition.reverse(),))

    @classmethod
    def of(cls, pair: Pair) -> Self:
        return cls.symmetric(Composition(pairs=((pair, 1),), renyi=None))

    @classmethod
    def of_symmetric(cls, pair: Pair) -> Self:
        """Use one pair, known to have the same profile both ways, in both directions."""
        same = (Composition(pairs=((pair, 1),), renyi=None),)
        return cls(remove=same, add=same)

    def __str__(self) -> str:
        first, *others = self._all()
        parts = [
            short_repr(pair) if n == 1 else f"{n} x {short_repr(pair)}" for pair, n in first.pairs
        ]
        if first.renyi is not None:
            parts.append(short_repr(first.renyi))
        text = " and ".join(parts[:_NAMED]) or "nothing"
        text += f" and {len(parts) - _NAMED} more" if len(parts) > _NAMED else ""
        text += f", or {len(others)} other" + "s" * (len(others) > 1) if others else ""
        bound = self.pure_bound()
        least = "no epsilon" if bound is None else f"epsilon {float_up(bound):.6g}"
        return f"loss of {text}; {least} at delta 0"

    def profile(self) -> Profile:
        return self

    def as_one(self) -> Profile:
        """Return the same profile, as the bound of one release: its factors are not its parts."""
        return replace(self, indivisible=True)

    def _all(self) -> tuple[Composition, ...]:
        if self.remove is self.add and len(self.add) == 1:
            return self.add
        return tuple(dict.fromkeys((*self.remove, *self.add)))

    def delta(self, epsilon: object) -> float:
        target = float_down(checked_epsilon(epsilon))
        return max(composition.delta_above(target) for composition in self._all())

    def delta_interval(self, epsilon: object) -> Bracket:
        exact = checked_epsilon(epsilon)
        bracket = Bracket.largest(
            composition.delta(float_down(exact)) for composition in self._all()
        )
        if (right := float_up(exact)) == exact:
            return bracket
        low = max(composition.delta(right).low for composition in self._all())
        return Bracket(min(low, bracket.high), bracket.high)

    def epsilon(self, delta: object) -> float:
        chance = checked_delta(delta)
        largest = max(each.epsilon_above(chance) for each in self._all())
        bound = self.pure_bound() if chance == 0 else None
        return largest if bound is None else min(largest, float_up(bound))

    def interval(self, delta: object) -> Bracket:
        chance = checked_delta(delta)
        bracket = Bracket.largest(composition.epsilon(chance) for composition in self._all())
        bound = self.pure_bound() if chance == 0 else None
        if bound is None:
            return bracket
        high = min(bracket.high, float_up(bound))
        return Bracket(min(bracket.low, high), high)

    def pure_bound(self) -> Fraction | None:
        bounds = [largest_loss(composition) for composition in self._all()]
        known = [bound for bound in bounds if bound is not None]
        return max(known) if len(known) == len(bounds) else None

    def concentrated(self) -> Fraction | None:
        """Return a rho within a thousandth of the least; None if a loss can be infinite."""
        rhos = [least_rho(composition) for composition in self._all()]
        known = [rho for rho in rhos if rho is not None]
        return max(known) if len(known) == len(rhos) else None

    def renyi(self, order: object) -> float:
        t = float_up(checked_order(order) - 1)
        return max(
            math.nextafter(composition.log_moment(t) / t, math.inf) for composition in self._all()
        )

    def tradeoff(self, false_alarm: object) -> float:
        """Return the least probability of a miss over alternatives and directions, rounded down."""
        alarm = checked_delta(false_alarm, name="false_alarm")
        return min(
            missed_detections(composition.delta_above, composition.reverse().delta_above, alarm)
            for composition in self._all()
        )

    def tradeoffs(self, false_alarms: Iterable[object]) -> NDArray[np.float64]:
        """Return probabilities of a miss, rounded down, by one grid of epsilons for all of them.

        They lie slightly below those of ``tradeoff``, which takes much longer for each.
        """
        alarms = [
            checked_delta(value, name="false_alarm")
            for value in several(false_alarms, "false_alarms")
        ]
        end = min(self.epsilon(_SMALL), _FAR)
        grid = [end * step / _STEPS for step in range(_STEPS + 1)]
        curves = [
            missed_on_grid(c.delta_above, c.reverse().delta_above, alarms, grid)
            for c in self._all()
        ]
        return np.asarray(np.min(np.array(curves, float), axis=0))

    def compose(self, other: PrivacyLoss) -> Profile:
        ours, theirs = self._one_alternative(), checked_loss(other).profile()._one_alternative()  # noqa: SLF001
        return Profile(
            remove=(ours.remove[0].compose(theirs.remove[0]),),
            add=(ours.add[0].compose(theirs.add[0]),),
            indivisible=ours.indivisible or theirs.indivisible,
        )

    def power(self, count: int) -> Profile:
        times = checked_count(count, low=0)
        if times == 1:
            return self
        ours = self._one_alternative()
        return replace(ours, remove=(ours.remove[0].power(times),), add=(ours.add[0].power(times),))

    def _one_alternative(self) -> Profile:
        """Return one alternative in each direction that dominates all of them."""
        if len(self.remove) == len(self.add) == 1:
            return self
        from discreet.loss.envelope import upper_envelope

        return replace(self, remove=(upper_envelope(self.remove),), add=(upper_envelope(self.add),))

    def group(self, size: int) -> Profile:
        """Move every pair to several times its distance, or chain an indivisible product.

        A product from ``compose`` and ``power`` stands for as many releases as it has factors, each
        with a pair above it for every neighbor.  If a product merely bounds one release, its
        group is not that of the pairs: say so by ``as_one``.  The mechanism itself, asked for its
        loss at the distance, may know a smaller one.
        Each step of a chain may have another alternative above it, so several are replaced by one
        pair above them all before it is chained (key ``adaptive-choice``).
        """
        count = checked_count(size, name="size")
        if count == 1:
            return self
        from discreet.loss.envelope import grouped, repeated

        far = repeated if self.indivisible else grouped
        ours = self._one_alternative()
        return replace(ours, remove=(far(ours.remove[0], count),), add=(far(ours.add[0], count),))

    def join(self, other: PrivacyLoss) -> PrivacyLoss:
        """Keep the alternatives of both, without those that others dominate."""
        if checked_loss(other).dominates(self):
            marked = self.indivisible and isinstance(other, Profile)
            return other.profile().as_one() if marked else other
        theirs = other.profile()
        return Profile(
            remove=largest_only((*self.remove, *theirs.remove)),
            add=largest_only((*self.add, *theirs.add)),
            indivisible=self.indivisible or theirs.indivisible,
        )

    def dominates(self, other: PrivacyLoss) -> bool:
        theirs = other.profile()
        return _covered(self.remove, theirs.remove) and _covered(self.add, theirs.add)

    def sampled(self, *, rate: object) -> Profile:
        chance = checked_rate(rate)
        if chance == 1:
            return self
        from discreet.loss.poisson_sampling import poisson_sample

        return replace(
            self,
            remove=poisson_sample(self.remove, chance, removed=True),
            add=poisson_sample(self.add, chance, removed=False),
        )

    def sampled_without_replacement(self, *, size: int, population: int) -> Profile:
        people = checked_count(population, name="population")
        taken = checked_count(size, name="size")
        rate = checked_rate(Fraction(taken, people), name="size / population")
        if rate == 1:
            return self
        from discreet.loss.amplification import FixedSizePair

        return Profile.of_symmetric(FixedSizePair(largest_only(self._all()), rate))

    def shuffled(self, *, population: int) -> Profile:
        local = self.pure_bound()
        if local is None:
            raise OutOfRange(
                "the local randomizer has no finite epsilon at delta 0; shuffle a Pure loss, such "
                "as that of randomized response."
            )
        from discreet.loss.shuffle import Shuffle

        return Profile.of_symmetric(Shuffle(epsilon=local, population=population))


def _covered(larger: tuple[Composition, ...], smaller: tuple[Composition, ...]) -> bool:
    return all(any(dominates(big, small) for big in larger) for small in smaller)
