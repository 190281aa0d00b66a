"""Scenarios that may be the worst, and how to keep few of them.

Trust: kernel.

Definition.  A scenario says which cells of the public domain the changed records lie in.  What the
tree releases there is dominated by a bag of pairs, each with a count; the price of a tree is the
largest over scenarios, question by question.
Theorem (key ``dominance``).  Composing keeps domination, so a scenario that another one dominates
may be dropped before both are composed with the same rest, without changing the price.  When one
bag dominates another: :mod:`discreet.accounting.worst_case.bag_dominance`.
Where too many remain, some are replaced by one bag above them all: the price may rise, and it is no
longer that of a scenario that exists.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final, final

from discreet.accounting.worst_case.bag_dominance import BagDominance, PairCounts
from discreet.exact import exact_sum
from discreet.loss.composition import Composition
from discreet.loss.pairs.gaussian import GaussianPair
from discreet.loss.pairs.pair import Pair
from discreet.loss.pairs.randomized_response import ResponsePair
from discreet.loss.renyi.curve import RenyiCurve
from discreet.loss.renyi.moment_growth import concentration

Moments = tuple[float, ...]
"""Bounds on moments, one for each of the orders."""

ScenarioCell = tuple[str, int, int, int]
"""A column, a side (1 old, 2 new), an atom of the column, and how many rows lie there."""

MAX_SCENARIOS: Final = 2048
"""More incomparable scenarios than this are merged."""

COMPARED_SCENARIOS: Final = 12
"""How many of the largest and of the nearest options one is compared with; more do not pay."""

MOMENT_ORDERS: Final = (
    0.25,
    0.5,
    1.0,
    2.0,
    3.0,
    5.0,
    8.0,
    12.0,
    18.0,
    27.0,
    40.0,
    60.0,
    90.0,
    135.0,
)
"""Orders at which moments are kept; they add up where options are composed."""

MOMENT_ROUNDING: Final = 1e-9
"""Relative error of a sum of moments, with room to spare.

ln E e**(tL) is at least 0 for t > 0, so nothing cancels: a sum of n such numbers is off by at most
n 2**-53 of itself, to first order, which is below 1e-9 for n up to eight million.
"""

_MIDDLE: Final = 6
_NO_PAIRS: Final = PairCounts()
_ZERO: Final = Fraction(0)
_EVERYTHING: Final = Composition(((ResponsePair(_ZERO, Fraction(1)), 1),))


@final
@dataclass(frozen=True, slots=True)
class Scenario:
    """A bag, the cells in which it arises, and whether its price is attained there.

    ``known_moments`` are :attr:`moments`, or what they follow from: a composition, or a function.
    """

    bag: PairCounts = _NO_PAIRS
    known_moments: Moments | Composition | Callable[[], Moments] = field(
        default=(0.0,) * len(MOMENT_ORDERS), compare=False
    )
    cells: tuple[ScenarioCell, ...] = ()
    attained: bool = True

    @property
    def moments(self) -> Moments:
        """Bounds on ln E e**(tL), but for the rounding of their sums.

        They are worked out when they are first asked for, which is where scenarios are compared.
        """
        known = self.known_moments
        if isinstance(known, tuple):
            return known
        found = known.log_moments(MOMENT_ORDERS) if isinstance(known, Composition) else known()
        object.__setattr__(self, "known_moments", found)
        return found


@final
class Frontier:
    """Numbers the pairs of one tree, and keeps the options that can be worst."""

    def __init__(self) -> None:
        """Start without any pairs."""
        self._elements: list[Pair | RenyiCurve] = []
        self._numbers: dict[Pair | RenyiCurve, int] = {}
        self._bags = BagDominance(self._elements)
        self._known: dict[PairCounts, Composition] = {}

    # Between bags and compositions

    def option(self, composition: Composition, *, attained: bool = True) -> Scenario:
        """Turn a composition into an option."""
        if is_unprotected(composition):
            composition = _EVERYTHING
        counts: dict[int, int] = {}
        square = rho = _ZERO
        for pair, count in composition.pairs:
            if isinstance(pair, GaussianPair):
                square += pair.mu_squared * count
            else:
                counts[self._number(pair)] = count
        curve = composition.renyi
        if curve is not None and curve.orders:
            counts[self._number(curve)] = 1
        elif curve is not None:
            rho = curve.rho
        bag = PairCounts(tuple(sorted(counts.items())), square, rho)
        self._known.setdefault(bag, composition)
        return Scenario(bag, composition, (), attained)

    def composition(self, option: Scenario) -> Composition:
        """Turn an option back into a composition."""
        bag = option.bag
        if bag not in self._known:
            pairs: list[tuple[Pair, int]] = []
            curves = [RenyiCurve(rho=bag.rho)] if bag.rho else []
            for number, count in bag.counts:
                element = self._elements[number]
                if isinstance(element, RenyiCurve):
                    curves.append(element.times(count))
                else:
                    pairs.append((element, count))
            if bag.square:
                pairs.append((GaussianPair(bag.square), 1))
            renyi = functools.reduce(operator.add, curves) if curves else None
            self._known[bag] = Composition(tuple(pairs), renyi)
        return self._known[bag]

    def _number(self, element: Pair | RenyiCurve) -> int:
        number = self._numbers.setdefault(element, len(self._elements))
        if number == len(self._elements):
            self._elements.append(element)
        return number

    # Alternatives

    def pruned(self, options: Iterable[Scenario], most: int = MAX_SCENARIOS) -> list[Scenario]:
        """Drop what is provably dominated; merge neighbors where too many are left."""
        found = list(options)
        if len(found) <= 1:
            return found
        kept: list[Scenario] = []
        for option in sorted(found, key=_size, reverse=True):
            if not any(
                self.dominates(other, option)
                for other in (*kept[:COMPARED_SCENARIOS], *kept[-COMPARED_SCENARIOS:])
            ):
                kept.append(option)
        while len(kept) > most:
            merged = [self.upper_bound(kept[first : first + 2]) for first in range(0, len(kept), 2)]
            kept = self.pruned(merged, most=len(kept))
        return kept

    def union(self, lists: Iterable[Iterable[Scenario]]) -> list[Scenario]:
        """Gather alternatives."""
        return self.pruned(option for options in lists for option in options)

    def dominates(self, one: Scenario, other: Scenario) -> bool:
        """Say whether the other can be forgotten; attained ones yield to attained ones only.

        A larger composition has larger moments, so that most comparisons need no matching.  Where
        rounding hides that they are not larger, the pairs are matched, and decide.
        """
        if other.attained and not one.attained:
            return False
        if any(
            a < b * (1 - MOMENT_ROUNDING) for a, b in zip(one.moments, other.moments, strict=True)
        ):
            return False
        return self._bags.dominates(one.bag, other.bag)

    def upper_bound(self, options: Sequence[Scenario]) -> Scenario:
        """Return one option above several: each pair as often as where it is most frequent.

        Or the concentrated curve that bounds them all, where that is lower.
        """
        if len(options) == 1:
            return options[0]
        counts: dict[int, int] = {}
        for option in options:
            for number, count in option.bag.counts:
                counts[number] = max(count, counts.get(number, 0))
        bag = PairCounts(
            tuple(sorted(counts.items())),
            max(option.bag.square for option in options),
            max(option.bag.rho for option in options),
        )
        every = self.option(self.composition(Scenario(bag)), attained=False)
        rhos = [concentration(self.composition(option)) for option in options]
        known = [rho for rho in rhos if rho is not None]
        if len(known) < len(rhos):
            return every
        line = self.option(Composition((), RenyiCurve(rho=max(known))), attained=False)
        return min(every, line, key=_size)

    # Composition

    def product(self, lists: Iterable[Sequence[Scenario]]) -> list[Scenario]:
        """Compose independent choices; a choice without options leaves none."""
        products = [Scenario()]
        for options in lists:
            composed = [compose_scenarios(left, right) for left in products for right in options]
            single = len(products) == 1 or len(options) == 1  # nothing new can be dominated
            products = composed if single else self.pruned(composed)
        return products


def is_unprotected(composition: Composition) -> bool:
    """Say whether nothing is protected: two laws have no outcome in common."""
    return any(pair.infinity().low >= 1 for pair, _ in composition.pairs)


def compose_scenarios(*options: Scenario) -> Scenario:
    """Compose options, in a time that is linear in their number.

    Moments are left to be added up, except where that would wait for other sums: chains of such
    sums would be as deep as they are long.
    """
    counts: dict[int, int] = {}
    cells: list[ScenarioCell] = []
    for option in options:
        for number, count in option.bag.counts:
            counts[number] = counts.get(number, 0) + count
        cells += option.cells
        if callable(option.known_moments):
            _ = option.moments
    square = exact_sum(option.bag.square for option in options)
    rho = exact_sum(option.bag.rho for option in options)
    bag = PairCounts(tuple(sorted(counts.items())), square, rho)
    attained = all(option.attained for option in options)
    return Scenario(bag, lambda: _added_moments(options), tuple(cells), attained)


def _added_moments(options: Sequence[Scenario]) -> Moments:
    moments = [0.0] * len(MOMENT_ORDERS)
    for option in options:
        moments = list(map(operator.add, moments, option.moments))
    return tuple(moments)


def times(option: Scenario, count: int) -> Scenario:
    """Compose an option with itself."""
    if count == 1:
        return option
    bag = option.bag
    counts = tuple((number, power * count) for number, power in bag.counts)
    return replace(
        option,
        bag=PairCounts(counts, bag.square * count, bag.rho * count),
        known_moments=lambda: tuple(moment * count for moment in option.moments),
    )


def _size(option: Scenario) -> tuple[float, bool]:
    return option.moments[_MIDDLE], option.attained
