"""What releases are proved to cost: sums of what each costs by its own theorem.

Trust: kernel.

Theorem (keys ``filter-basic``, ``filter-concentrated``, ``filter-approximate``).  Epsilons and
deltas of independent releases add up, and so do rhos outside events of known chance.  The loss that
accounting works out for the whole tree is never larger, and often smaller; these sums are exact,
and found at once.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from discreet.accounting import Leaf, Node, Repeat
from discreet.accounting.admission import point_price
from discreet.accounting.request import Asker
from discreet.loss import PrivacyLoss, Pure
from discreet.mechanisms import Gaussian, Laplace
from discreet.plan.distances import TWO_SIDED
from discreet.units import PrivacyUnit

if TYPE_CHECKING:  # loaded when keys or leaves are chosen
    from discreet.mechanisms import NoisyKeys, OptimalKeys

__all__ = ["Price", "epsilon_at", "epsilon_sum", "loss_of", "rho_sum"]

_NONE = Fraction(0)
Sum = tuple[Fraction, Fraction]
"""A number, and the chance of the event outside which it holds."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a plan is proved to cost: epsilon outside delta, and rho outside an event ``beside``.

    None stands for a number that is not known.

    >>> Price(epsilon=Fraction(1, 2)).rho is None
    True
    """

    epsilon: Fraction | None = None
    delta: Fraction = _NONE
    rho: Fraction | None = None
    beside: Fraction = _NONE


@functools.lru_cache(maxsize=256)
def loss_of(tree: Node, unit: PrivacyUnit) -> PrivacyLoss:
    """Return the loss of one unit, as accounting works it out.

    >>> from discreet.units import row
    >>> loss_of(Leaf(Laplace(scale=2)), row()).epsilon(delta=0)
    0.5
    """
    return Asker(unit=unit).loss(tree)


@functools.lru_cache(maxsize=256)
def epsilon_at(tree: Node, unit: PrivacyUnit, delta: Fraction) -> Fraction | None:
    """Return the epsilon of one unit at a delta, rounded up; None where there is none.

    >>> from discreet.units import row
    >>> float(epsilon_at(Leaf(Gaussian(sigma=9)), row(), Fraction(1, 10**6))) < 1
    True
    """
    found = loss_of(tree, unit).epsilon(delta=delta)
    return None if math.isinf(found) else Fraction(found)


def epsilon_sum(tree: Node, unit: PrivacyUnit) -> Sum | None:
    """Return the sum of epsilons, outside the sum of deltas; None where one has no epsilon.

    >>> from discreet.units import row
    >>> epsilon_sum(Leaf(Laplace(scale=2)) * 3, row())
    (Fraction(3, 2), Fraction(0, 1))
    """
    inserted = 1 if unit.relation in TWO_SIDED else 0
    epsilon = delta = _NONE
    for leaf, count in _leaves(tree, 1):
        found = point_price(leaf.price(1, inserted))
        if found is None:
            return None
        epsilon, delta = epsilon + count * found[0], delta + count * found[1]
    return epsilon, delta


def rho_sum(tree: Node, unit: PrivacyUnit) -> Sum:
    """Return the sum of rhos, outside the sum of deltas.

    >>> from discreet.units import row
    >>> rho_sum(Leaf(Gaussian(sigma=2)) * 4, row())
    (Fraction(1, 2), Fraction(0, 1))
    """
    rho = delta = _NONE
    for leaf, count in _leaves(tree, 1):
        one, chance = _rho(leaf, two_sided=unit.relation in TWO_SIDED)
        rho, delta = rho + count * one, delta + count * chance
    return rho, delta


def _leaves(node: Node, count: int) -> Iterator[tuple[Leaf, int]]:
    if isinstance(node, Leaf):
        yield node, count
        return
    times = node.count if isinstance(node, Repeat) else 1
    for _, child in node.branches():
        yield from _leaves(child, count * times)


def _rho(leaf: Leaf, *, two_sided: bool) -> Sum:
    """Return the rho of one release by the theorem of its mechanism."""
    source, distance = leaf.source, leaf.added
    if two_sided:
        distance = leaf.replaced if isinstance(leaf.replaced, Fraction) else 2 * leaf.added
    match source:
        case Laplace(scale=scale):
            return _pure_rho(math.floor(distance) / scale), _NONE
        case Gaussian():
            found = source.concentrated(distance=distance, coordinates=leaf.coordinates)
            return found.rho, _NONE
    from discreet.mechanisms import (  # noqa: PLC0415  as above
        Exponential,
        NoisyKeys,
        OptimalKeys,
    )

    match source:
        case OptimalKeys() | NoisyKeys():
            return _keys_rho(source, 2 * source.groups if two_sided else source.groups)
        case Exponential(scale=scale):
            return (2 * distance / scale) ** 2 / 8, _NONE  # scores may move either way
        case _:
            message = f"{type(source).__name__} is not released by any plan"
            raise TypeError(message)


def _keys_rho(keys: OptimalKeys | NoisyKeys, places: int) -> Sum:
    from discreet.mechanisms import OptimalKeys  # noqa: PLC0415  as above

    if isinstance(keys, OptimalKeys):
        return places * _pure_rho(keys.epsilon), places * keys.delta
    if isinstance(keys.noise, Laplace):
        return places * _pure_rho(keys.most / keys.noise.scale), keys.leak()
    return places * keys.noise.concentrated(distance=keys.most).rho, keys.leak()


def _pure_rho(epsilon: Fraction) -> Fraction:
    """Return the rho of a pure loss; of a very large one half its square."""
    return Pure(epsilon=epsilon).concentrated() if epsilon <= 10**6 else epsilon * epsilon / 2
