"""The profile of a composition at many points, and its table.

Trust: kernel.

A composition that is sampled, chosen or grouped is asked for its profile thousands of times; the
table asks once at each of its knots.  Theorem key: ``dots``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from discreet.loss.bracket import Bracket
from discreet.loss.composition import Composition
from discreet.loss.growth import Growth, growth
from discreet.loss.pairs.curved import CurvedPair, Ends
from discreet.loss.pairs.pair import Pair
from discreet.loss.pairs.reader import is_fast, profiles
from discreet.loss.pairs.side import Side, tabulated
from discreet.loss.pairs.table import Table

__all__ = [
    "Plain",
    "cumulant",
    "grain_of",
    "only_pair",
    "patience",
    "summed",
    "table_of",
]

_FINE: Final = 6e-6
_COARSE: Final = 1.2e-5


def patience(composition: Composition) -> float:
    """Return how far apart the polygons of a table may be: answers without closed form are slow."""
    return _FINE if is_fast(composition) else _COARSE


def grain_of(composition: Composition) -> Fraction | None:
    """Return the grain of a single pair, on which the corners of its profile lie."""
    if composition.renyi is None and len(composition.pairs) == 1:
        return composition.pairs[0][0].grain()
    return None


def cumulant(composition: Composition, t: float) -> float:
    """Bound ln E_P[e**(tL); L < inf] from above, for t > 0."""
    if not composition.infinity().high:
        return composition.log_moment(t)
    total = math.fsum(count * pair.cumulant(t) for pair, count in composition.pairs)
    if composition.renyi is not None:
        total += composition.renyi.log_moment(t)
    return total + abs(total) * 2.0**-50


def summed(compositions: Iterable[tuple[Composition, int]], t: float) -> float:
    """Bound ln of the moment of a profile whose excess over (1 - a)+ is at most the sum of all.

    Without infinite losses it is ln(1 + sum of n (e**m - 1)) for the moments e**m; with them, the
    sum of the moments of all finite parts bounds that of the finite part.

    >>> from discreet.loss.pairs.gaussian import GaussianPair
    >>> one = Composition(((GaussianPair(Fraction(1)), 1),))
    >>> abs(summed([(one, 2)], 1.0) - math.log(2 * math.e - 1)) < 1e-9
    True
    """
    known = [(part, count, cumulant(part, t)) for part, count in compositions]
    top = max(value for _, _, value in known)
    if math.isinf(top):
        return top
    kept = not any(part.infinity().high for part, _, _ in known)
    total = math.fsum(count * math.exp(value - top) for _, count, value in known)
    whole = sum(count for _, count, _ in known)
    if kept and top < 1:
        excess = math.fsum(count * math.expm1(max(value, 0.0)) for _, count, value in known)
        return math.log1p(excess) * (1 + 1e-13) + 1e-300
    return top + math.log(total - (whole - 1) * math.exp(-top) * kept) + 1e-13 * (1 + abs(top))


@final
@dataclass(frozen=True, slots=True)
class Plain:
    """The shape of a composition: its own profile."""

    composition: Composition

    def reverse(self) -> Plain:
        """Swap the two neighbors."""
        return Plain(self.composition.reverse())

    def side(self) -> Side:
        """Evaluate the profile."""
        return tabulated(
            lambda eps: profiles(self.composition, eps),
            largest=self.composition.largest(),
            infinite=self.composition.infinity().low,
            tolerance=patience(self.composition),
        )

    def profile(self, eps: float) -> Bracket:
        """Ask the composition."""
        return self.composition.delta(eps)

    def ends(self) -> Ends:
        """Ask the composition."""
        whole = self.composition
        return Ends(whole.infinity(), whole.reached(), whole.largest(), grain_of(whole))

    def cumulant(self, t: float) -> float:
        """Add up the cumulants of the pairs."""
        return cumulant(self.composition, t)

    def growth(self) -> Growth | None:
        """Ask the composition."""
        return growth(self.composition)


def only_pair(composition: Composition) -> Pair:
    """Return the pair of a composition of one, or a curved pair for the whole.

    >>> from discreet.loss.pairs.gaussian import GaussianPair
    >>> only_pair(Composition(((GaussianPair(Fraction(1)), 1),)))
    GaussianPair(mu_squared=Fraction(1, 1))
    """
    match composition.pairs:
        case ((pair, 1),) if composition.renyi is None:
            return pair
    return CurvedPair(Plain(composition))


@functools.lru_cache(maxsize=128)
def table_of(composition: Composition) -> Table:
    """Return the polygons around the profile of a composition."""
    pair = only_pair(composition)
    return pair.table() if isinstance(pair, CurvedPair) else CurvedPair(Plain(composition)).table()
