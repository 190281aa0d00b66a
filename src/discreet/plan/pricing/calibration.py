"""Calibration: releases whose composed loss is a price, and the price of releases.

Trust: kernel.  Every result is proved to cost no more than was asked.

Theorem (keys ``filter-basic``, ``filter-concentrated``, ``filter-approximate``).  Epsilons and
deltas of independent releases add up, and so do rhos outside events of known chance.  The loss that
accounting works out for the whole tree is never larger, and often smaller; these sums are exact,
and found at once.

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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, final

from discreet.accounting import Leaf, Node, Repeat
from discreet.accounting.currencies import point_price
from discreet.accounting.requests import RequestPricer
from discreet.errors import OutOfRange
from discreet.exact import exact_sum, float_up
from discreet.loss import Approximate, PrivacyLoss, Pure, ZeroConcentrated
from discreet.loss.calibration import least_fitting, least_scale
from discreet.loss.notions import GaussianDP
from discreet.mechanisms import Gaussian, Laplace
from discreet.plan.pricing.group_sensitivity import Releases
from discreet.plan.pricing.release_composition import composition_of
from discreet.plan.pricing.release_parts import UnpricedRelease
from discreet.units import PrivacyUnit

if TYPE_CHECKING:  # for annotations alone
    from discreet.mechanisms import NoisyKeys, SumKeys


_NONE: Final = Fraction(0)
Sum = tuple[Fraction, Fraction]
"""A number, and the chance of the event outside which it holds."""


def epsilon_sum(tree: Node, unit: PrivacyUnit) -> Sum | None:
    """Return the sum of epsilons, outside the sum of deltas; None if one has no epsilon.

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
        SumKeys,
    )

    match source:
        case OptimalKeys():
            places = 2 * source.groups if two_sided else source.groups
            return places * pure_rho(source.epsilon), places * source.delta
        case NoisyKeys() | SumKeys():
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


def _noisy_keys_rho(keys: NoisyKeys | SumKeys, places: int) -> Sum:
    if isinstance(keys.noise, Laplace):
        return places * pure_rho(keys.most / keys.noise.scale), keys.leak()
    square = getattr(keys, "squared", keys.most**2)
    return places * square / (2 * keys.noise.variance), keys.leak()


@functools.lru_cache(maxsize=4096)
def pure_rho(epsilon: Fraction) -> Fraction:
    """Return the rho of a pure loss; of a very large one half its square.

    >>> pure_rho(Fraction(10**7)) == 10**14 / 2
    True
    """
    return Pure(epsilon=epsilon).concentrated() if epsilon <= 10**6 else epsilon * epsilon / 2


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

    >>> from discreet.accounting import Leaf
    >>> from discreet.mechanisms import Laplace
    >>> from discreet.units import row
    >>> loss_of(Leaf(Laplace(scale=2)), row()).epsilon(delta=0)
    0.5
    """
    return RequestPricer(unit=unit).loss(tree)


@functools.lru_cache(maxsize=256)
def epsilon_at(tree: Node, unit: PrivacyUnit, delta: Fraction) -> Fraction | None:
    """Return the epsilon of one unit at a delta, rounded up; None if there is none.

    >>> from discreet.accounting import Leaf
    >>> from discreet.mechanisms import Gaussian
    >>> from discreet.units import row
    >>> float(epsilon_at(Leaf(Gaussian(sigma=9)), row(), Fraction(1, 10**6))) < 1
    True
    """
    epsilon = loss_of(tree, unit).epsilon(delta=delta)
    return None if math.isinf(epsilon) else Fraction(epsilon)


@functools.lru_cache(maxsize=256)
def epsilon_nearly(tree: Node, unit: PrivacyUnit, delta: Fraction) -> Fraction | None:
    """Return an epsilon that is kept at a delta, at most about a thousandth above the tight one.

    Compositions of noise and selections take seconds to be worked out more closely than that.  It
    is never above the epsilon of their rho, by which noise is scaled if an epsilon is asked for.

    >>> from discreet.accounting import Leaf
    >>> from discreet.mechanisms import Gaussian
    >>> from discreet.units import row
    >>> float(epsilon_nearly(Leaf(Gaussian(sigma=9)), row(), Fraction(1, 10**6))) < 1
    True
    """
    loss = loss_of(tree, unit)
    epsilon = loss.epsilon(delta=delta)
    rho, beside = rho_sum(tree, unit)
    if not beside:
        epsilon = min(epsilon, ZeroConcentrated(rho=rho).epsilon(delta=delta))
    return None if math.isinf(epsilon) else Fraction(epsilon)


def price_of(tree: Node, unit: PrivacyUnit, delta: Fraction | None) -> Price:
    """Return what a composition is proved to cost one unit, in epsilon and in rho.

    >>> from discreet.accounting import Leaf
    >>> from discreet.loss import ZeroConcentrated
    >>> from discreet.units import row
    >>> price_of(Leaf(ZeroConcentrated(rho="0.1")), row(), None)
    Price(epsilon=None, delta=Fraction(0, 1), rho=Fraction(1, 10), beside=Fraction(0, 1))
    """
    rho, beside = rho_sum(tree, unit)
    if delta is not None:
        epsilon = epsilon_nearly(tree, unit, delta)
        return Price(epsilon=epsilon, delta=delta, rho=rho, beside=beside)
    pure = epsilon_sum(tree, unit)
    epsilon, chance = (None, beside) if pure is None else pure
    return Price(epsilon=epsilon, delta=chance, rho=rho, beside=beside)


KEYS_PART: Final = Fraction(1, 2)
"""Which part of delta goes to the choice of keys if noise needs one as well."""

_BITS: Final = 14
_SLIGHT: Final = Fraction(1, 10**5)
_STRONG: Final = 50
_RARE: Final = Fraction(1, 10**200)
_ROOT: Final = math.sqrt(0.5)
_CLOSE: Final = 1.01  # less is not worth another try
_TRIES: Final = 3
_FURTHER: Final = 0.1
_PATIENCE: Final = 20  # then steps double: choices have a delta that falls with no small step
_NEARLY: Final = 1 - Fraction(1, 1 << 20)
_HINT: Final = 0.95  # which part of delta to aim at
_LEAST: Final = 1e-6
_WEAK: Final = 50
_OFTEN: Final = Fraction(1, 100)  # a delta above this is worth no second of work


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """Releases, their composition, what it costs, and the delta that its epsilon is about."""

    releases: Releases
    tree: Node
    price: Price
    delta: Fraction | None = None


def by_epsilon(sketch: UnpricedRelease, epsilon: Fraction, delta: Fraction) -> Calibrated:
    """Divide an epsilon; delta goes to the keys."""
    return counted_in_epsilon(sketch.by_epsilon(epsilon, delta), sketch.unit)


def by_rho(sketch: UnpricedRelease, rho: Fraction, delta: Fraction, law: str) -> Calibrated:
    """Divide a rho; delta goes to the keys, or else says where epsilon is read off."""
    releases = sketch.by_rho(rho, delta, law)
    return counted_in_rho(releases, sketch.unit, delta)


def counted_in_epsilon(releases: Releases, unit: PrivacyUnit) -> Calibrated:
    """Add up epsilons and deltas."""
    tree = composition_of(releases, unit)
    total = epsilon_sum(tree, unit)
    if total is None:
        raise OutOfRange(
            what="the noise that is asked for has no price in epsilon alone.",
            why="Gaussian noise is private outside an event of some chance only.",
            do="give a delta, or ask for Laplace noise.",
        )
    rho, beside = rho_sum(tree, unit)
    price = Price(epsilon=total[0], delta=total[1], rho=rho, beside=beside)
    return Calibrated(releases=releases, tree=tree, price=price)


def counted_in_rho(releases: Releases, unit: PrivacyUnit, delta: Fraction) -> Calibrated:
    """Add up rhos, and read off epsilon if there is a delta.

    It is that of all releases together, or, since choices by rank and an epsilon in the hundreds
    take long to be worked out, of any releases with that rho.
    """
    tree = composition_of(releases, unit)
    rho, beside = rho_sum(tree, unit)
    epsilon = None
    if delta > beside and (releases.choices or rho > _WEAK):
        rest = (delta - beside) / (1 - beside)
        epsilon = Fraction(ZeroConcentrated(rho=rho).epsilon(delta=rest))
    elif delta:
        epsilon = epsilon_at(tree, unit, delta)
    chance = delta if epsilon is not None else beside
    price = Price(epsilon=epsilon, delta=chance, rho=rho, beside=beside)
    return Calibrated(releases=releases, tree=tree, price=price, delta=delta or None)


@functools.lru_cache(maxsize=256)
def by_point(sketch: UnpricedRelease, epsilon: Fraction, delta: Fraction) -> Calibrated:
    """Divide nearly the largest rho that is proved to keep (epsilon, delta)."""
    apart = delta * KEYS_PART if sketch.keys is not None else Fraction(0)
    start = float(gaussian_rho(epsilon, (delta - apart) * _NEARLY))
    slope = max((float(epsilon) ** 2 - start**2) / (4 * start), 1.0)
    best: tuple[float, Releases, Node] | None = None
    rho, tries = start, 0
    while best is None or tries < _TRIES:
        releases = sketch.by_rho(Fraction(rho), apart)
        tree = composition_of(releases, sketch.unit)
        quick = bool(releases.choices) and delta > _OFTEN
        reached = _delta_reached(tree, sketch.unit, epsilon, quick=quick)
        if reached <= delta and (best is None or rho > best[0]):
            best = rho, releases, tree
        tries += 1
        room, used = float(delta - apart), max(reached - float(apart), float(delta) * _LEAST)
        change = math.log(_HINT * room / used) / slope  # ln delta falls by the slope with ln rho
        change = min(max(change, -1.0), 1.0)
        if tries >= _TRIES:
            change = -_FURTHER * 2 ** min(max(tries - _PATIENCE, 0), 7)
        rho *= math.exp(change)
        if best is not None and rho < best[0] * _CLOSE:
            break
    _, releases, tree = best
    total, beside = rho_sum(tree, sketch.unit)
    price = Price(epsilon=epsilon, delta=delta, rho=total, beside=beside)
    return Calibrated(releases=releases, tree=tree, price=price, delta=delta)


def _delta_reached(tree: Node, unit: PrivacyUnit, epsilon: Fraction, *, quick: bool) -> float:
    """Return a delta that releases keep, of all together, or, quickly, of any with their rho."""
    if not quick:
        return loss_of(tree, unit).delta(epsilon=epsilon)
    rho, beside = rho_sum(tree, unit)
    return float_up(Fraction(ZeroConcentrated(rho=rho).delta(epsilon=epsilon)) + beside)


@functools.lru_cache(maxsize=256)
def gaussian_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the rho of the least Gaussian noise for a distance of 1, with continuous noise.

    In floating point if that is accurate, which is for prices that people ask for.
    """
    if _SLIGHT <= epsilon <= _STRONG and _RARE <= delta < 1:
        given = float(epsilon), float(delta)
        guess = 1.2 * math.log(1.25 / given[1]) / given[0] ** 2  # 3/5 of what textbooks take
        return 1 / (
            2 * least_fitting(lambda square: _excess(float(square), *given), _BITS, guess=guess)
        )
    scale = least_scale(
        lambda square: GaussianDP(mu_squared=1 / square), epsilon=epsilon, delta=delta, bits=_BITS
    )
    return 1 / (2 * scale)


def _excess(square: float, epsilon: float, delta: float) -> float:
    """Compare the delta of continuous noise with a target: at most zero if it is kept."""
    wide = math.sqrt(square)
    far, near = epsilon * wide + 0.5 / wide, epsilon * wide - 0.5 / wide
    reached = 0.5 * (math.erfc(near * _ROOT) - math.exp(epsilon) * math.erfc(far * _ROOT))
    if reached <= 0:
        return -math.inf
    return math.sqrt(-math.log(delta)) - math.sqrt(max(0.0, -math.log(reached)))
