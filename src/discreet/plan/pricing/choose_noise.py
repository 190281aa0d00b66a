"""Laplace or Gaussian noise: which of them errs less at a price, by formula.

Trust: public.  Either law keeps the price; which one is taken is about accuracy.

Definition.  A column is what an aggregate adds up of noises: for each part of the release a factor,
in the units of the answer.  Both laws divide the price by ``split-shares``, and the law is
the one with the smaller product of the errors of all columns: so no unit of measurement matters,
and of one column it is the error itself.  How small the groups are that are shown matters only
where there is no column at all: errors come first.

    Gaussian noises add up to one whose variance is the sum of theirs
    Laplace noises of scales a, b, ... exceed x with the chance of ``laplace-sum``
    a choice of a leaf misses the best score by the scale times ln(leaves / miss), about

Theorem (key ``laplace-sum``).  Let X be a sum of independent continuous Laplace noises of different
scales a_1, ..., a_k.  Then P[|X| > x] is the sum of w_i exp(-x / a_i), where w_i is the product of
a_i**2 / (a_i**2 - a_j**2) over all other j.
Proof.  The characteristic function of X is the product of 1 / (1 + a_i**2 t**2), which as a
fraction in t**2 is the sum of w_i / (1 + a_i**2 t**2): X is a mixture, with weights of either sign.
Scales that are equal are moved apart by less than one part in a thousand, and scales below one part
in 10**100 of the largest are left out: weights are squares of scales over the largest, which then
neither overflow nor vanish, whatever the unit of measurement.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import Final

from discreet.plan.pricing.calibration import KEYS_PART, gaussian_rho
from discreet.plan.pricing.release_parts import (
    GAUSSIAN,
    LAPLACE,
    OPTIMAL,
    LeafPart,
    NoisyTotals,
    Part,
    PartitionSelection,
    shorter_tail,
)
from discreet.plan.pricing.unpriced_release import UnpricedRelease, price_shares
from discreet.units import Relation

_LARGEST: Final = 10**4
_APART: Final = 1e-3
_SLIGHT: Final = 1e-100
_TURNS: Final = 60


def choose_noise(
    sketch: UnpricedRelease, epsilon: Fraction, delta: Fraction, confidence: Fraction
) -> str:
    """Return the law that promises the smaller errors at a price, by formula.

    >>> from discreet.plan.pricing.group_sensitivity import GroupSensitivity
    >>> from discreet.units import person
    >>> def law(groups):
    ...     far = GroupSensitivity(low=0, high=5, groups=groups, available=None)
    ...     sketch = UnpricedRelease(parts=(NoisyTotals(measure="count", distances=far),),
    ...     weights=(1,),
    ...                     fixed=(None,), unit=person("patient"),
    ...                     columns=(((0, Fraction(1)),),))
    ...     return choose_noise(sketch, Fraction(1), Fraction(1, 10**6), Fraction(19, 20))
    >>> law(1), law(50)
    ('LAPLACE', 'GAUSSIAN')
    """
    if epsilon > _LARGEST or not sketch.parts:
        return LAPLACE
    apart = Fraction(0) if sketch.keys is None else delta * KEYS_PART
    rho = gaussian_rho(epsilon, delta - apart)
    epsilons, rhos = price_shares(sketch.weights, epsilon), price_shares(sketch.weights, rho)
    relation, miss = sketch.unit.relation, float(1 - confidence)
    if not sketch.columns:
        return _by_keys(sketch, float(epsilon), float(rho), delta)
    better = 0.0
    errors: dict[int, tuple[float, float]] = {}  # a thousand quantiles are one part
    for column in sketch.columns:
        pure, concentrated = [], []
        for place, factor in column:
            if place not in errors:
                part = sketch.parts[place]
                errors[place] = (
                    _laplace(part, relation, float(epsilons[place]), miss),
                    _gaussian(part, relation, float(rhos[place]), miss),
                )
            one, other = errors[place]
            pure.append(float(abs(factor)) * one)
            concentrated.append(float(abs(factor)) * other)
        chosen = isinstance(sketch.parts[column[0][0]], LeafPart)
        first = pure[0] if chosen else laplace_error(pure, miss)
        second = concentrated[0] if chosen else math.hypot(*concentrated) * _normal(miss)
        if first and second:
            better += math.log(first / second)
    return GAUSSIAN if better > 0 else LAPLACE


def laplace_error(scales: Iterable[float], miss: float) -> float:
    """Return about what a sum of Laplace noises exceeds with some chance.

    >>> round(laplace_error([2.0], 0.05), 3), round(laplace_error([1.0, 1.0], 0.05), 2)
    (5.991, 4.11)
    """
    falling = sorted((scale for scale in scales if scale), reverse=True)
    top = falling[0] if falling else 0.0
    known = _different([scale / top for scale in falling if scale > top * _SLIGHT])
    return top * _reach(tuple(known), miss)


@functools.lru_cache(maxsize=256)
def _reach(known: tuple[float, ...], miss: float) -> float:
    """Return the same for scales of which the largest is 1, or none; most sums have just one."""
    terms = [
        (math.prod(a * a / (a * a - b * b) for j, b in enumerate(known) if j != i), a)
        for i, a in enumerate(known)
    ]

    def beyond(reach: float) -> float:
        return sum([weight * math.exp(-reach / scale) for weight, scale in terms])

    low, high = 0.0, -math.log(miss) * sum(known)
    for _ in range(_TURNS):
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(middle) <= miss else (middle, high)
    return high


def _different(falling: Sequence[float]) -> list[float]:
    """Move scales apart that are nearly equal."""
    apart: list[float] = []
    for scale in falling:
        apart.append(min(scale, apart[-1] * (1 - _APART)) if apart else scale)
    return apart


def _normal(miss: float) -> float:
    return NormalDist().inv_cdf(1 - miss / 2)


def _laplace(part: Part, relation: Relation, epsilon: float, miss: float) -> float:
    """Return the scale of a part for a share of epsilon, or the error of a choice."""
    match part:
        case NoisyTotals(distances=far):
            moved = far.moved(relation)
            return moved / epsilon if moved else 0.0
        case LeafPart():
            return part.error_by_epsilon(epsilon, relation, miss)
        case PartitionSelection(most=most):
            return part.places(relation) * most / epsilon


def _gaussian(part: Part, relation: Relation, rho: float, miss: float) -> float:
    """Return the deviation of a part for a share of rho, or the error of a choice."""
    root = math.sqrt(2 * rho)
    match part:
        case NoisyTotals(distances=far):
            square = far.moved_squared(relation)
            return math.sqrt(square) / root if square else 0.0
        case LeafPart():
            return part.error_by_rho(rho, relation, miss)
        case PartitionSelection(most=most):
            return math.sqrt(part.places(relation)) * most / root


def _by_keys(sketch: UnpricedRelease, epsilon: float, rho: float, delta: Fraction) -> str:
    """Return the law that shows smaller groups, where nothing else is asked for."""
    keys = sketch.keys
    if keys is None or keys.law in {LAPLACE, OPTIMAL}:
        return LAPLACE
    places = keys.places(sketch.unit.relation)
    wide = math.sqrt(places / (2 * rho)) * shorter_tail(delta / places)
    return GAUSSIAN if wide < places / epsilon else LAPLACE
