"""Sums of epsilons and of rhos: what releases are proved to cost at most, exactly and at once.

Trust: kernel.

Theorem (keys ``filter-basic``, ``filter-concentrated``, ``filter-approximate``).  Epsilons and
deltas of independent releases add up, and so do rhos outside events of known chance.  The loss that
accounting works out for the whole tree is never larger, and often smaller; these sums are exact,
and found at once.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from discreet.accounting import Leaf, Node, Repeat
from discreet.accounting.currencies import point_price
from discreet.exact import exact_sum
from discreet.loss import Approximate, Pure, ZeroConcentrated
from discreet.mechanisms import Gaussian, Laplace
from discreet.units import PrivacyUnit

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from discreet.mechanisms import NoisyKeys

_NONE: Final = Fraction(0)
Sum = tuple[Fraction, Fraction]
"""A number, and the chance of the event outside which it holds."""


def epsilon_sum(tree: Node, unit: PrivacyUnit) -> Sum | None:
    """Return the sum of epsilons, outside the sum of deltas; None where one has no epsilon.

    >>> from discreet.units import row
    >>> epsilon_sum(Leaf(Laplace(scale=2)) * 3, row())
    (Fraction(3, 2), Fraction(0, 1))
    """
    inserted = int(unit.relation.replaces)
    points = []
    for leaf, count in _leaves(tree, 1):
        point = point_price(leaf.price(1, inserted))
        if point is None:
            return None
        points.append((point, count))
    return _sum_of(points)


def rho_sum(tree: Node, unit: PrivacyUnit) -> Sum:
    """Return the sum of rhos, outside the sum of deltas.

    >>> from discreet.units import row
    >>> rho_sum(Leaf(Gaussian(sigma=2)) * 4, row())
    (Fraction(1, 2), Fraction(0, 1))
    """
    two_sided = unit.relation.replaces
    return _sum_of([(_rho(leaf, two_sided=two_sided), count) for leaf, count in _leaves(tree, 1)])


def _sum_of(terms: Sequence[tuple[Sum, int]]) -> Sum:
    """Add up numbers, and the chances of the events outside which they hold."""
    numbers = exact_sum(one if count == 1 else count * one for (one, _), count in terms)
    return numbers, exact_sum(count * chance for (_, chance), count in terms if chance)


def _leaves(node: Node, count: int) -> Iterator[tuple[Leaf, int]]:
    waiting = [(node, count)]
    while waiting:
        below, often = waiting.pop()
        if isinstance(below, Leaf):
            yield below, often
            continue
        times = often * below.count if isinstance(below, Repeat) else often
        waiting += [(child, times) for _, child in reversed(below.branches())]


def _rho(leaf: Leaf, *, two_sided: bool) -> Sum:
    """Return the rho of one release by the theorem of its mechanism."""
    source, distance = leaf.source, leaf.added
    stated = _stated_rho(leaf.replaced if two_sided else source)
    if stated is not None:
        return stated
    if two_sided:
        distance = leaf.replaced if isinstance(leaf.replaced, Fraction) else 2 * leaf.added
    match source:
        case Laplace(scale=scale):
            return pure_rho(math.floor(distance) / scale), _NONE
        case Gaussian():
            return _gaussian_rho(source, distance, leaf.coordinates), _NONE
    from discreet.mechanisms import (  # noqa: PLC0415  as above
        Exponential,
        NoisyKeys,
        OptimalKeys,
    )

    match source:
        case OptimalKeys():
            places = 2 * source.groups if two_sided else source.groups
            return places * pure_rho(source.epsilon), places * source.delta
        case NoisyKeys():
            return _noisy_keys_rho(source, 2 * source.groups if two_sided else source.groups)
        case Exponential(scale=scale):
            return (2 * distance / scale) ** 2 / 8, _NONE  # scores may move either way
        case _:
            message = f"{type(source).__name__} is not released by any plan"
            raise TypeError(message)


@functools.lru_cache(maxsize=4096)
def _gaussian_rho(noise: Gaussian, distance: Fraction, coordinates: int) -> Fraction:
    return noise.concentrated(distance=distance, coordinates=coordinates).rho


def _stated_rho(loss: object) -> Sum | None:
    """Return the rho of a loss that a leaf states by itself; None if it is one of a mechanism."""
    match loss:
        case ZeroConcentrated():
            return loss.rho, _NONE
        case Pure():
            return pure_rho(loss.bound), _NONE
        case Approximate():  # a pure loss, outside its delta (Bun and Steinke 2016, lemma 8.8)
            return pure_rho(loss.epsilon_bound), loss.delta_bound
        case _:
            return None


def _noisy_keys_rho(keys: NoisyKeys, places: int) -> Sum:
    if isinstance(keys.noise, Laplace):
        return places * pure_rho(keys.most / keys.noise.scale), keys.leak()
    return places * keys.noise.concentrated(distance=keys.most).rho, keys.leak()


@functools.lru_cache(maxsize=4096)
def pure_rho(epsilon: Fraction) -> Fraction:
    """Return the rho of a pure loss; of a very large one half its square.

    >>> pure_rho(Fraction(10**7)) == 10**14 / 2
    True
    """
    return Pure(epsilon=epsilon).concentrated() if epsilon <= 10**6 else epsilon * epsilon / 2
