"""From an asked price to the noise that spends it.

Trust: kernel.  Whatever is returned was proved to cost no more than was asked.

Definition.  A price of epsilon is divided in epsilon: Laplace noise, and choices by rank.  A price
of rho is divided in rho: Gaussian noise, unless the question says otherwise.  A price of epsilon
and delta is divided in the way that promises smaller errors: in epsilon, all of delta going to the
choice of keys; or in rho, for the largest rho at which all releases together are proved to be
(epsilon, delta)-private, half of delta going to the choice of keys.
The rho starts at that of a continuous Gaussian, is corrected once or twice by how the certified
delta compares with the asked one, and is returned only if that is not above.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from discreet.accounting import Node
from discreet.errors import OutOfRange
from discreet.loss import ZeroConcentrated
from discreet.plan.laws import KEYS_PART, gaussian_rho
from discreet.plan.prices import Price, epsilon_at, epsilon_sum, loss_of, rho_sum
from discreet.plan.sketch import Sketch
from discreet.plan.tree import Releases, tree_of
from discreet.units import PrivacyUnit

__all__ = ["Calibrated", "by_epsilon", "by_point", "by_rho"]

_CLOSE: Final = 1.01  # less is not worth another try
_TRIES: Final = 3
_FURTHER: Final = 0.1
_NEARLY: Final = 1 - Fraction(1, 1 << 20)
_HINT: Final = 0.95  # which part of delta to aim at
_LEAST: Final = 1e-6


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """Releases, their composition, what it costs, and the delta that its epsilon is about."""

    releases: Releases
    tree: Node
    price: Price
    delta: Fraction | None = None


def by_epsilon(sketch: Sketch, epsilon: Fraction, delta: Fraction) -> Calibrated:
    """Divide an epsilon; delta goes to the keys."""
    return counted_in_epsilon(sketch.by_epsilon(epsilon, delta), sketch.unit)


def by_rho(sketch: Sketch, rho: Fraction, delta: Fraction, law: str) -> Calibrated:
    """Divide a rho; delta goes to the keys, or else says where epsilon is read off."""
    releases = sketch.by_rho(rho, delta, law)
    return counted_in_rho(releases, sketch.unit, delta)


def counted_in_epsilon(releases: Releases, unit: PrivacyUnit) -> Calibrated:
    """Add up epsilons and deltas."""
    tree = tree_of(releases, unit)
    found = epsilon_sum(tree, unit)
    if found is None:
        raise OutOfRange(
            what="the noise that is asked for has no price in epsilon alone.",
            why="Gaussian noise is private outside an event of some chance only.",
            do="give a delta, or ask for Laplace noise.",
        )
    rho, beside = rho_sum(tree, unit)
    price = Price(epsilon=found[0], delta=found[1], rho=rho, beside=beside)
    return Calibrated(releases=releases, tree=tree, price=price)


def counted_in_rho(releases: Releases, unit: PrivacyUnit, delta: Fraction) -> Calibrated:
    """Add up rhos, and read off epsilon where there is a delta.

    It is that of all releases together, or, since choices by rank take long to be worked out, of
    any releases with that rho.
    """
    tree = tree_of(releases, unit)
    rho, beside = rho_sum(tree, unit)
    epsilon = None
    if delta > beside and releases.choices:
        rest = (delta - beside) / (1 - beside)
        epsilon = Fraction(ZeroConcentrated(rho=rho).epsilon(delta=rest))
    elif delta:
        epsilon = epsilon_at(tree, unit, delta)
    chance = delta if epsilon is not None else beside
    price = Price(epsilon=epsilon, delta=chance, rho=rho, beside=beside)
    return Calibrated(releases=releases, tree=tree, price=price, delta=delta or None)


@functools.lru_cache(maxsize=256)
def by_point(sketch: Sketch, epsilon: Fraction, delta: Fraction) -> Calibrated:
    """Divide nearly the largest rho that is proved to keep (epsilon, delta)."""
    apart = delta * KEYS_PART if sketch.keys is not None else Fraction(0)
    start = float(gaussian_rho(epsilon, (delta - apart) * _NEARLY))
    slope = max((float(epsilon) ** 2 - start**2) / (4 * start), 1.0)
    best: tuple[float, Releases, Node] | None = None
    rho, tries = start, 0
    while best is None or tries < _TRIES:
        releases = sketch.by_rho(Fraction(rho), apart)
        tree = tree_of(releases, sketch.unit)
        found = loss_of(tree, sketch.unit).delta(epsilon=epsilon)
        if found <= delta and (best is None or rho > best[0]):
            best = rho, releases, tree
        tries += 1
        room, used = float(delta - apart), max(found - float(apart), float(delta) * _LEAST)
        change = math.log(_HINT * room / used) / slope  # ln delta falls by the slope with ln rho
        rho *= math.exp(min(max(change, -1.0), 1.0) if tries < _TRIES else -_FURTHER)
        if best is not None and rho < best[0] * _CLOSE:
            break
    _, releases, tree = best
    total, beside = rho_sum(tree, sketch.unit)
    price = Price(epsilon=epsilon, delta=delta, rho=total, beside=beside)
    return Calibrated(releases=releases, tree=tree, price=price, delta=delta)
