"""When one bag of pairs dominates another.

Trust: kernel.

Theorem (key ``dominance``).  A bag dominates another if distinct pairs of it dominate those of the
other; Gaussian pairs and concentrated curves are added up first.  Randomized response dominates a
product of pairs whose largest losses sum to its epsilon (key ``randomized-response``); one long
move under discrete Laplace or Gaussian noise dominates several that sum to its length (key
``log-concave-moves``), for Laplace noise also where theirs is wider (key ``wider-laplace``).
Not every matching is tried: a bag may dominate another although that is not found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, final

from discreet.loss.composition import Composition
from discreet.loss.dominance import dominates, largest_loss
from discreet.loss.pairs.gaussian import DiscreteGaussianPair
from discreet.loss.pairs.laplace import DiscreteLaplacePair
from discreet.loss.pairs.pair import Pair
from discreet.loss.pairs.randomized_response import ResponsePair
from discreet.loss.renyi.curve import RenyiCurve

_MOST_ROOMS: Final = 12
"""How many equal pairs are filled with others; more do not pay."""
_ZERO: Final = Fraction(0)


@final
@dataclass(frozen=True, slots=True)
class PairCounts:
    """Numbered pairs and curves with counts; Gaussians and concentrated curves as two sums."""

    counts: tuple[tuple[int, int], ...] = ()
    square: Fraction = _ZERO
    rho: Fraction = _ZERO


@final
@dataclass(frozen=True, slots=True)
class BagDominance:
    """Compares bags of the pairs and curves that ``elements`` numbers, which may become more.

    >>> bags = BagDominance([ResponsePair(Fraction(2)), ResponsePair(Fraction(1))])
    >>> strong, weak = PairCounts(((0, 1),)), PairCounts(((1, 2),))
    >>> bags.dominates(strong, weak), bags.dominates(weak, strong)
    (True, False)
    """

    elements: Sequence[Pair | RenyiCurve]
    _above: dict[tuple[int, int], bool] = field(default_factory=dict, init=False, repr=False)
    _bounds: dict[int, Fraction | None] = field(default_factory=dict, init=False, repr=False)

    def dominates(self, larger: PairCounts, smaller: PairCounts) -> bool:
        """Say whether distinct pairs of the larger bag dominate those of the smaller one."""
        if larger == smaller:
            return True
        if larger.square < smaller.square or larger.rho < smaller.rho:
            return False
        free = dict(larger.counts)
        needed: list[tuple[int, int]] = []
        for number, count in smaller.counts:
            shared = min(count, free.get(number, 0))
            if shared:
                free[number] -= shared
            if shared < count:
                needed.append((number, count - shared))
        left = [(number, self._taken(free, number, count)) for number, count in needed]
        return self._packed(free, [(number, count) for number, count in left if count])

    def _taken(self, free: dict[int, int], number: int, count: int) -> int:
        """Use up free pairs that dominate this one; return how many are left without."""
        for candidate, left in free.items():
            room = self._room(candidate)
            if room is not None and self._share(room, number) is not None:
                continue  # it may hold several
            if count and left and self._larger(candidate, number):
                used = min(left, count)
                free[candidate] -= used
                count -= used
        return count

    def _packed(self, free: dict[int, int], needed: list[tuple[int, int]]) -> bool:
        """Fit several pairs into one of a family in which moves, or largest losses, add up."""
        rooms: list[tuple[Pair, Fraction]] = []
        for number, count in free.items():
            room = self._room(number)
            if room is not None:
                rooms += [room] * min(count, _MOST_ROOMS)
        rooms.sort(key=lambda room: isinstance(room[0], ResponsePair))
        for number, count in needed:
            for _ in range(count):
                for place, (pair, size) in enumerate(rooms):
                    share = self._share((pair, size), number)
                    if share is not None and share <= size:
                        rooms[place] = (pair, size - share)
                        break
                else:
                    return False
        return True

    def _room(self, number: int) -> tuple[Pair, Fraction] | None:
        """Return a pair that can stand above several, and how much of them it can hold."""
        match self.elements[number]:
            case ResponsePair(epsilon=epsilon) as pair:
                return pair, epsilon
            case DiscreteLaplacePair(distance=distance) as pair:
                return pair, Fraction(distance)
            case DiscreteGaussianPair(distance=distance) as pair:
                return pair, Fraction(distance)
            case _:
                return None

    def _share(self, room: tuple[Pair, Fraction], number: int) -> Fraction | None:
        """Return how much of a room a pair takes; None where it does not belong there."""
        match room[0], self.elements[number]:
            case ResponsePair(), _:
                return self._bound(number)
            case DiscreteLaplacePair(scale=s), DiscreteLaplacePair(scale=t, distance=d) if s <= t:
                return Fraction(d)
            case DiscreteGaussianPair(variance=v), DiscreteGaussianPair(variance=w, distance=d):
                return Fraction(d) if v == w else None
            case _:
                return None

    def _bound(self, number: int) -> Fraction | None:
        """Return the largest loss of a pair in both directions, exactly; None where there is none.

        Randomized response dominates what it bounds both ways; one way is not enough.
        """
        if number not in self._bounds:
            element = self.elements[number]
            bound = None
            if not isinstance(element, RenyiCurve):
                ways = [Composition(((pair, 1),)) for pair in (element, element.reverse())]
                known = [largest for largest in map(largest_loss, ways) if largest is not None]
                bound = max(known) if len(known) == len(ways) else None
            self._bounds[number] = bound
        return self._bounds[number]

    def _larger(self, one: int, other: int) -> bool:
        key = (one, other)
        if key not in self._above:
            first, second = self.elements[one], self.elements[other]
            if isinstance(first, RenyiCurve) or isinstance(second, RenyiCurve):
                self._above[key] = False
            else:
                pair, under = Composition(((first, 1),)), Composition(((second, 1),))
                self._above[key] = dominates(pair, under)
        return self._above[key]
