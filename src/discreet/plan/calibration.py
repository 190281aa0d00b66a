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
from statistics import NormalDist
from typing import Final, final

from discreet.accounting import Node
from discreet.errors import OutOfRange
from discreet.loss import GaussianDP, ZeroConcentrated, least_scale
from discreet.plan.parts import GAUSSIAN, LAPLACE, OPTIMAL, Keys, Level, Part, Totals, shorter_tail
from discreet.plan.prices import Price, epsilon_at, epsilon_sum, loss_of, rho_sum
from discreet.plan.sketch import Sketch
from discreet.plan.split import shares
from discreet.plan.tree import Releases, tree_of
from discreet.units import PrivacyUnit, Relation

__all__ = ["Calibrated", "by_epsilon", "by_point", "by_rho", "smaller_errors"]

_BITS: Final = 14
_CLOSE: Final = 1.01  # less is not worth another try
_TRIES: Final = 3
_FURTHER: Final = 0.1
_HALF: Final = Fraction(1, 2)
_NEARLY: Final = 1 - Fraction(1, 1 << 20)
_HINT: Final = 0.95  # which part of delta to aim at
_LEAST: Final = 1e-6
_LARGEST: Final = 10**4


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
    apart = delta * _HALF if sketch.keys is not None else Fraction(0)
    start = float(_gaussian_rho(epsilon, (delta - apart) * _NEARLY))
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


def smaller_errors(sketch: Sketch, epsilon: Fraction, delta: Fraction, confidence: Fraction) -> str:
    """Return the law that promises the smaller weighted sum of errors at a price, by formula.

    Errors are counted in units of what one unit contributes.

    >>> from discreet.plan.distances import Distances
    >>> from discreet.units import person
    >>> def law(groups):
    ...     far = Distances(low=0, high=5, groups=groups, available=None)
    ...     sketch = Sketch(parts=(Totals(measure="count", distances=far),), weights=(1,),
    ...                     fixed=(None,), unit=person("patient"))
    ...     return smaller_errors(sketch, Fraction(1), Fraction(1, 10**6), Fraction(19, 20))
    >>> law(1), law(50)
    ('LAPLACE', 'GAUSSIAN')
    """
    if epsilon > _LARGEST or not sketch.parts:
        return LAPLACE
    rho = _gaussian_rho(epsilon, delta)
    relation, miss = sketch.unit.relation, float(1 - confidence)
    pure = concentrated = 0.0
    for part, weight, one, other in zip(
        sketch.parts,
        sketch.weights,
        shares(sketch.weights, epsilon),
        shares(sketch.weights, rho),
        strict=True,
    ):
        first, second = _errors(part, relation, (float(one), float(other)), miss)
        if isinstance(part, Keys) and part.law not in {LAPLACE, OPTIMAL}:
            second *= shorter_tail(delta / part.places(relation))
        pure, concentrated = pure + weight * first, concentrated + weight * second
    return GAUSSIAN if concentrated < pure else LAPLACE


def _errors(
    part: Part, relation: Relation, shares_of: tuple[float, float], miss: float
) -> tuple[float, float]:
    """Estimate the error of a part for a share of epsilon, and for a share of rho."""
    epsilon, rho = shares_of
    root = math.sqrt(2 * rho)
    match part:
        case Totals(distances=far):
            most = max(far.most, 1)
            wide = math.sqrt(far.moved_squared(relation)) / most
            normal = NormalDist().inv_cdf(1 - miss / 2)
            return far.moved(relation) / most * -math.log(miss) / epsilon, wide * normal / root
        case Level(groups=groups, leaves=leaves, rows=rows):
            far_off = float(part.moved(relation)) / rows * math.log(leaves / miss)
            return 2 * groups * far_off / epsilon, math.sqrt(groups) * far_off / root
        case Keys():
            places = part.places(relation)
            return places / epsilon, math.sqrt(places) / root


@functools.lru_cache(maxsize=256)
def _gaussian_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the rho of the least Gaussian noise for a distance of 1, with continuous noise."""
    scale = least_scale(
        lambda square: GaussianDP(mu_squared=1 / square), epsilon=epsilon, delta=delta, bits=_BITS
    )
    return 1 / (2 * scale)
