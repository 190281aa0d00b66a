"""When one product of pairs certainly loses no less than another.

Trust: kernel.

Theorem (key ``dominance``; Zhu, Dong and Wang 2022).  Domination survives products, so it is
enough to match the pairs of the smaller product with distinct, larger pairs of the other.  Within
the Gaussian, Laplace, bounded-range and randomized-response families the larger parameter
dominates; at one epsilon randomized response dominates the Laplace pair, and that the
bounded-range pair, since (1 - u)**2 / (1 - e**-epsilon) <= 1 - u for u = e**((x - epsilon)/2), x
>= -epsilon.  A longer move under the same discrete Gaussian or Laplace noise dominates a shorter
one (key ``log-concave-moves``), and narrower discrete Laplace noise wider (key ``wider-laplace``);
at distance 1 it is randomized response, and at no distance does it exceed the one of its largest
loss. Of curves that are lines the steeper dominates.  A pair that knows a curve as well dominates
only what is below both.  A matching that is not found proves nothing.

Theorem (key ``wider-laplace``; the quotient of characteristic functions is a/b + (1 - a/b) times
that of ratio b but for a positive factor; enumeration in tests).  Discrete Laplace noise with
ratio b is that with ratio a < b plus independent noise, so its losses are dominated at every
distance.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.exact import exact_sum
from discreet.loss.elementary import log
from discreet.loss.finite import FinitePair
from discreet.loss.gaussian import DiscreteGaussianPair, GaussianPair, SmoothedGaussianPair
from discreet.loss.pair import Pair
from discreet.loss.pure_pairs import (
    BoundedRangePair,
    DiscreteLaplacePair,
    LaplacePair,
    ResponsePair,
)

if TYPE_CHECKING:  # for annotations alone: a composition arrives with its methods
    from discreet.loss.composition import Composition


def largest_loss(composition: Composition) -> Fraction | None:
    """Bound the largest loss, exactly if the pairs are known so; None if it is infinite."""
    if composition.renyi is not None:
        return None
    terms: list[Fraction] = []
    for pair, count in composition.pairs:
        if any(part.infinity().high > 0 for part in (pair, *pair.factors())):
            return None
        match pair:
            case BoundedRangePair(epsilon=value):
                terms.append(count * value)
            case LaplacePair(epsilon=value) | ResponsePair(epsilon=value):
                terms.append(count * value)
            case DiscreteLaplacePair(scale=scale, distance=distance):
                terms.append(count * distance / scale)
            case FinitePair():
                ratios = [p / q for p, q in zip(pair.p, pair.q, strict=True) if p and q]
                terms.append(count * (log(max(ratios)).high if ratios else Fraction(0)))
            case _:
                largest = pair.largest()
                if math.isinf(largest):
                    return None
                terms.append(count * Fraction(largest))
    return exact_sum(terms)


def dominates(larger: Composition, smaller: Composition) -> bool:
    """Return True if a matching proves that ``larger`` dominates ``smaller``."""
    if larger == smaller:
        return True
    if smaller.renyi is not None and smaller.renyi != larger.renyi:
        lines = larger.renyi and larger.renyi.line, smaller.renyi.line
        if lines[0] is None or lines[1] is None or lines[0] < lines[1]:
            return False
    free = Counter(dict(larger.pairs))
    needed = Counter(dict(smaller.pairs))
    shared = free & needed
    free, needed = free - shared, needed - shared
    ranked = sorted(free, key=_rank)
    first = sorted(needed.items(), key=lambda item: _rank(item[0]), reverse=True)
    return all(_take(free, ranked, pair, count) for pair, count in first)


def largest_only(compositions: Sequence[Composition]) -> tuple[Composition, ...]:
    """Drop repeated compositions, and those that another one dominates."""
    kept: list[Composition] = []
    for composition in dict.fromkeys(compositions):
        if not any(dominates(other, composition) for other in kept):
            kept = [other for other in kept if not dominates(composition, other)]
            kept.append(composition)
    return tuple(kept)


def _take(free: Counter[Pair], ranked: list[Pair], pair: Pair, count: int) -> bool:
    """Use up the smallest free pairs that dominate this one."""
    for candidate in ranked:
        if count == 0:
            break
        if free[candidate] and _above(candidate, pair):
            used = min(count, free[candidate])
            free[candidate] -= used
            count -= used
    return count == 0


def _above(larger: Pair, smaller: Pair) -> bool:  # noqa: C901  (one case for each family)
    match larger, smaller:
        case GaussianPair(mu_squared=big), GaussianPair(mu_squared=small):
            proved = small <= big
        case SmoothedGaussianPair(big, leak, rho), SmoothedGaussianPair(small, chance, other):
            proved = small <= big and chance <= leak and other <= rho
        case SmoothedGaussianPair(mu_squared=big, rho=rho), GaussianPair(mu_squared=small):
            proved = small <= min(big, 2 * rho)
        case DiscreteGaussianPair(v, big), DiscreteGaussianPair(w, small):
            proved = v == w and small <= big
        case DiscreteLaplacePair(scale, big), DiscreteLaplacePair(other, small):
            proved = scale <= other and small <= big
        case ResponsePair(epsilon=big), DiscreteLaplacePair(scale, distance):
            proved = distance <= big * scale
        case DiscreteLaplacePair(scale=scale), ResponsePair(epsilon=small, delta=chance):
            proved = chance == 0 and small * scale <= 1
        case LaplacePair(epsilon=big) | ResponsePair(epsilon=big), LaplacePair(epsilon=small):
            proved = small <= big
        case (
            BoundedRangePair(epsilon=big) | LaplacePair(epsilon=big) | ResponsePair(epsilon=big),
            BoundedRangePair(epsilon=small),
        ):
            proved = small <= big
        case ResponsePair(epsilon=e, delta=d), ResponsePair(epsilon=small, delta=chance):
            proved = small <= e and chance <= d
        case _:
            proved = larger == smaller
    return bool(proved)


def _rank(pair: Pair) -> Fraction:
    match pair:
        case GaussianPair(mu_squared=value) | SmoothedGaussianPair(mu_squared=value):
            return value
        case DiscreteGaussianPair(distance=value):
            return Fraction(value)
        case DiscreteLaplacePair(scale, value):
            return value / scale
        case BoundedRangePair(epsilon=value):
            return value
        case LaplacePair(epsilon=value) | ResponsePair(epsilon=value):
            return value
        case _:
            return Fraction(0)
