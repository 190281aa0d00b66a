"""Noise: which parts are released, by which law, and then by a price or by errors.

Trust: kernel.

Definition.  A column is what an aggregate adds up of noises: for each part of the release a factor,
in the units of the answer.  Both laws divide the price by ``split-shares``, and the law is
the one with the smaller product of the errors of all columns: so no unit of measurement matters,
and of one column it is the error itself.  Where groups are chosen privately, the root of the number
of units from which they are shown is one more factor: errors are about every group that is shown,
and that number only about those near it.

    Gaussian noises add up to one whose variance is the sum of theirs
    Laplace noises of scales a, b, ... exceed about x = s (k ln(1 / m) + (1 - k) sqrt(2) z(m)) with
    the chance m: s**2 = a**2 + b**2 + ..., k = (a**4 + b**4 + ...) / s**4, z that of a normal law;
    which is x for one noise and for very many, and off by 5 % at most for chances above .001
    a choice of a leaf misses the best score by the scale times ln(leaves / miss), about

Where groups are chosen privately by a noisy count that the answer needs in any case
(:mod:`discreet.plan.statistics.partition_selection`), it is released once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist
from typing import Final

from discreet.errors import OutOfRange, UnsupportedSQL, WrongKind
from discreet.mechanisms import Laplace
from discreet.mechanisms.sum_keys import sum_tail
from discreet.plan.binding.bound_question import BoundQuestion
from discreet.plan.error_forecast import ErrorTargets
from discreet.plan.estimator import Estimator
from discreet.plan.pricing.calibration import (
    KEYS_PART,
    Calibrated,
    Price,
    by_epsilon,
    by_point,
    by_rho,
    counted_in_epsilon,
    counted_in_rho,
    gaussian_rho,
)
from discreet.plan.pricing.cube_strategy import CubeStrategy
from discreet.plan.pricing.group_sensitivity import UNITS, GroupSensitivity, ReleaseInput
from discreet.plan.pricing.linear_strategy import CellSensitivity
from discreet.plan.pricing.quantile_tree import QuantileLevels
from discreet.plan.pricing.release_parts import (
    GAUSSIAN,
    KEYS_USE,
    LAPLACE,
    LEVELS,
    OPTIMAL,
    SMALLEST,
    LeafPart,
    NoisyTotals,
    Part,
    PartitionSelection,
    SumSelection,
    UnpricedRelease,
    price_shares,
)
from discreet.plan.pricing.requested_price import RequestedPrice
from discreet.plan.setting import MeasuredAggregates, Setting
from discreet.plan.statistics.answer_layout import AnswerLayout, Estimate
from discreet.plan.statistics.contribution_bounds import ContributionBounds
from discreet.plan.statistics.partition_selection import SelectionCount, SelectionRule
from discreet.plan.workload.strategies import StrategyPart
from discreet.query.expressions import Column, walk
from discreet.query.source_text import pointed
from discreet.requests.engine_request import (
    CellSums,
    DistinctCount,
    DistinctSum,
    Leaves,
    Measure,
    Total,
)
from discreet.units import Relation

MOST_EPSILON: Final = 10**4
"""Above it nothing is hidden, and noise is Laplace noise."""

_FAINT: Final = 1e-300


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
    if epsilon > MOST_EPSILON or not sketch.parts:
        return LAPLACE
    apart = Fraction(0) if sketch.keys is None else delta * KEYS_PART
    rho = gaussian_rho(epsilon, delta - apart)
    miss = float(1 - confidence)
    errors = column_errors(sketch, epsilon, rho, miss)
    better = sum(math.log(first / second) for first, second in errors if first and second)
    if sketch.keys is not None and sketch.keys.law not in {LAPLACE, OPTIMAL}:
        pure, concentrated = units_shown(sketch, epsilon, rho, delta)
        better += math.log(pure / concentrated) / 2
    return GAUSSIAN if better > 0 else LAPLACE


def column_errors(
    sketch: UnpricedRelease, epsilon: Fraction, rho: Fraction, miss: float
) -> list[tuple[float, float]]:
    """Return about how far each column is off, with Laplace noise and with Gaussian noise."""
    epsilons, rhos = price_shares(sketch.weights, epsilon), price_shares(sketch.weights, rho)
    relation = sketch.unit.relation
    errors: dict[int, tuple[float, float]] = {}  # a thousand quantiles are one part
    found = []
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
        found.append((first, second))
    return found


def laplace_error(scales: Iterable[float], miss: float) -> float:
    """Return about what a sum of Laplace noises exceeds with some chance.

    >>> round(laplace_error([2.0], 0.05), 3), round(laplace_error([1.0, 1.0], 0.05), 2)
    (5.991, 4.08)
    """
    known = [scale for scale in scales if scale]
    top = max(known, default=0.0)
    squares = [(scale / top) ** 2 for scale in known]
    total = sum(squares)
    single = sum(square * square for square in squares) / (total * total or 1)
    reach = -single * math.log(miss) + (1 - single) * math.sqrt(2) * _normal(miss)
    return top * math.sqrt(total) * reach


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
        case StrategyPart(distances=CellSensitivity(cells=CubeStrategy())):
            return part.gaussian_error(relation) / root
        case NoisyTotals(distances=far):
            square = far.moved_squared(relation)
            return math.sqrt(square) / root if square else 0.0
        case LeafPart():
            return part.error_by_rho(rho, relation, miss)
        case PartitionSelection(most=most):
            return math.sqrt(part.places(relation)) * most / root


def units_shown(
    sketch: UnpricedRelease, epsilon: Fraction, rho: Fraction, delta: Fraction
) -> tuple[float, float]:
    """Return about how many units half of the shown groups have, by Laplace and Gaussian noise.

    1 if groups are public.  Rows that choose are taken to be one of each unit.
    """
    keys, relation = sketch.keys, sketch.unit.relation
    if keys is None:
        return 1.0, 1.0
    places, shares = (
        keys.places(relation),
        [price_shares(sketch.weights, p) for p in (epsilon, rho)],
    )
    if isinstance(keys, SumSelection):
        at = next(i for i, part in enumerate(sketch.parts) if part.use == (keys.measure, None))
        part, chance = sketch.parts[at], max(float(delta) / keys.groups, _FAINT)
        scale = _laplace(part, relation, float(shares[0][at]), 1.0)
        deviation = _gaussian(part, relation, float(shares[1][at]), 1.0)
        pure = tail_reach(keys.coordinates, chance) * scale
        normal = -NormalDist().inv_cdf(max(float(KEYS_PART) * chance, _FAINT))
        concentrated = math.sqrt(keys.coordinates) * normal * deviation
        return keys.fewest + pure / keys.most, keys.fewest + concentrated / keys.most
    (one, *_), (other, *_) = shares
    each, chance = float(one) / places, max(float(delta) / places, _FAINT)
    rise = min(each, 1.0) if keys.law == SMALLEST else 1.0  # an optimal choice needs fewer
    pure = max(math.log(rise / (2 * chance)), 1.0) / each
    half = max(float(KEYS_PART) * chance, _FAINT)
    concentrated = math.sqrt(places / (2 * float(other))) * -NormalDist().inv_cdf(half)
    return keys.most * pure, keys.most * concentrated


def tail_reach(count: int, chance: float) -> float:
    """Return about what so many Laplace noises of scale 1 add up to with this chance.

    >>> round(tail_reach(1, 1e-9), 2), round(tail_reach(3, 1e-9), 2)
    (20.03, 24.55)
    """
    reach = -math.log(2 * min(chance, 0.4))
    for _ in range(_TURNS):  # exp(-x) times a polynomial: the logarithm of it moves slowly
        tail = float(sum_tail(Laplace(scale=_WIDE), count, math.ceil(reach * _WIDE)))
        reach += math.log(tail / chance)
    return reach


_WIDE: Final = 1 << 20
_TURNS: Final = 6


_LAWS: Final = {"LAPLACE_THRESHOLD": LAPLACE, "GAUSSIAN_THRESHOLD": GAUSSIAN, "OPTIMAL": OPTIMAL}


_LEAST_SURE: Final = Fraction(19, 20)
"""Extreme values and trees are aimed for this confidence, or a higher one that is asked for."""


def unpriced_release(setting: Setting, measured: MeasuredAggregates) -> UnpricedRelease:
    """Return the parts of a question, with weights and fixed epsilons."""
    uses, keys = _places(setting, measured), _keys(setting, measured)
    parts: list[Part] = [] if keys is None else [keys]
    first = len(parts)
    known = {each.name: each for each in measured.measures}
    needed = [use for use, place in uses.items() if place >= first]
    users = _users(measured)
    parts += [_part(setting, measured, use, known.get(use[0]), users) for use in needed]
    weights, fixed = _weights(setting, measured, uses, len(parts))
    weights = tuple(
        0  # no unit moves it
        if isinstance(part, NoisyTotals) and not part.distances.moved(setting.unit.relation)
        else weight
        for part, weight in zip(parts, weights, strict=True)
    )
    factors: dict[str, Fraction] = {}
    for part in parts:
        if isinstance(part, StrategyPart):
            factors |= part.factors()
    columns = tuple(
        tuple(
            (uses[_released(measured, use)], factor * factors.get(use[0], 1))
            for use, factor in single.error_terms().items()
        )
        for estimator in measured.estimators
        for single in estimator.single()
    )
    return UnpricedRelease(
        parts=tuple(parts),
        weights=weights,
        fixed=fixed,
        unit=setting.unit,
        columns=columns,
        sums=measured.sums,
    )


def _released(measured: MeasuredAggregates, use: ReleaseInput) -> ReleaseInput:
    """Return what is released for an input: a count of a workload is part of a histogram.

    So is a quantile, if several are asked for.
    """
    workload = measured.workload
    if isinstance(use[1], Fraction) and use[0] in measured.levels:
        return use[0], LEVELS
    return (workload.measure, None) if workload is not None and use[0] in workload.names else use


def needs_of(
    setting: Setting,
    measured: MeasuredAggregates,
    estimates: Sequence[Estimate],
    layout: AnswerLayout,
) -> Mapping[str, tuple[int, ...]]:
    """Return the places of the parts that each output needs."""
    places, uses = _places(setting, measured), measured.uses
    slots = {estimate.slot: use for estimate, use in zip(estimates, uses, strict=True)}
    return {
        output.name: tuple(
            dict.fromkeys(
                places[use]
                for node in walk(layout.unfolded(output.expression))
                if isinstance(node, Column)
                for use in slots[node.name]
            )
        )
        for output in layout.outputs
    }


def _places(setting: Setting, measured: MeasuredAggregates) -> dict[ReleaseInput, int]:
    """Return the place of each part, the choice of keys first; it may stand for a count as well."""
    known = [use for uses in measured.uses for use in uses]
    names = dict.fromkeys([KEYS_USE, *known] if _bought(setting, measured) else known)
    chooser = chooser_of(setting, measured)
    if chooser is None:
        return {use: place for place, use in enumerate(names)}
    shared = (chooser[0], None)
    names.pop(shared, None)  # a sum around zero needs no count, and is measured with one
    return {use: place for place, use in enumerate(names)} | {shared: 0}


def _keys(setting: Setting, measured: MeasuredAggregates) -> PartitionSelection | None:
    groups, limits = setting.groups, setting.limits
    if not _bought(setting, measured):
        return None
    chooser = chooser_of(setting, measured)
    law = SMALLEST if chooser is None else None
    if groups.strategy is not None:
        law = _LAWS[groups.strategy]
    measure, most = chooser or (UNITS, 1)
    return PartitionSelection(
        law=law, groups=limits.groups, fewest=groups.fewest, measure=measure, most=most
    )


def _bought(setting: Setting, measured: MeasuredAggregates) -> bool:
    """Whether a part of the price goes to the choice of groups, or to a count that chooses."""
    return setting.groups.chosen and measured.sums is None


def chooser_of(setting: Setting, measured: MeasuredAggregates) -> SelectionCount | None:
    """Return the count of the answer that chooses its groups, if one does."""
    if not _bought(setting, measured):
        return None
    counts: dict[str, Measure | None] = {measure.name: measure for measure in measured.measures}
    if measured.counts_units:
        counts[UNITS] = None
    return SelectionRule.of(setting.groups).among(counts)


def _users(measured: MeasuredAggregates) -> Mapping[ReleaseInput, Estimator]:
    """Return the first aggregate that needs each input."""
    found: dict[ReleaseInput, Estimator] = {}
    for estimator, uses in zip(measured.estimators, measured.uses, strict=True):
        for use in uses:
            found.setdefault(use, estimator)
    return found


def _part(
    setting: Setting,
    measured: MeasuredAggregates,
    use: ReleaseInput,
    measure: Measure | None,
    users: Mapping[ReleaseInput, Estimator],
) -> Part:
    """Return what is released for an input; who needs a leaf says how it is chosen."""
    workload, limits = measured.workload, setting.limits
    summed = measured.summed(use[0])
    if workload is not None and use[0] == workload.measure:
        candidates = workload.candidates(limits.groups, limits.available)
        return StrategyPart.of(use[0], candidates, setting.unit.relation, "each by itself")
    match measure:
        case None | Total() if summed is not None:
            bounds = (1, 1) if measure is None else (measure.low, measure.high)
            candidates = summed.candidates(_totals(use[0], bounds, limits).distances)
            return StrategyPart.of(use[0], candidates, setting.unit.relation, summed.first)
        case None:
            return _totals(UNITS, (1, 1), limits, always=limits.all_rows)
        case Total() | DistinctCount() | DistinctSum():
            return _totals(measure.name, measure.ends, limits)
        case Leaves(name=name) if use[1] == LEVELS:
            return QuantileLevels.of(
                measure,
                limits,
                confidence=_sure(setting, measured, use),
                intervals=setting.ask.intervals,
                levels=measured.levels[name],
                as_tree=setting.blind,
            )
        case CellSums():
            message = f"{use[0]} is part of a workload"
            raise LookupError(message)
        case Leaves():
            needed = users[use].leaf_part(use, measure, limits)
            sure = _sure(setting, measured, use)
            return replace(needed, confidence=sure, intervals=setting.ask.intervals)


def _sure(setting: Setting, measured: MeasuredAggregates, use: ReleaseInput) -> Fraction:
    """Return the confidence of each interval; those on which one number rests hold together."""
    together = max(
        1 if estimator.listed else len(estimator.choices())
        for estimator, uses in zip(measured.estimators, measured.uses, strict=True)
        if use in uses
    )
    return 1 - (1 - max(setting.ask.confidence, _LEAST_SURE)) / together


def _totals(
    name: str, bounds: tuple[int, int], limits: ContributionBounds, *, always: bool = False
) -> NoisyTotals:
    low, high = bounds
    far = GroupSensitivity(
        low=low, high=high, groups=limits.groups, available=limits.available, always=always
    )
    return NoisyTotals(measure=name, distances=far)


def _weights(
    setting: Setting,
    measured: MeasuredAggregates,
    places: Mapping[ReleaseInput, int],
    count: int,
) -> tuple[tuple[int, ...], tuple[Fraction | None, ...]]:
    """Add up what aggregates need of each part, and find the epsilons that they name.

    A choice of keys weighs half as much as all aggregates, and no less than one of them.
    """
    weights = [0] * count
    fixed: list[Fraction | None] = [None] * count
    bound = [inner for _, inner in setting.bound.aggregates]
    if _bought(setting, measured):
        fixed[0] = setting.clause.group_selection_epsilon
    for aggregate, estimator, uses in zip(bound, measured.estimators, measured.uses, strict=True):
        needed: dict[int, int] = {}
        for use in uses:
            place = places[use]
            needed[place] = max(needed.get(place, 0), estimator.weight(use))
        for place, weight in needed.items():
            weights[place] += weight
            if aggregate.epsilon is not None:
                share = aggregate.epsilon / len(uses)
                fixed[place] = max(share, fixed[place] or share)
    if _bought(setting, measured):
        weights[0] = max(weights[0], len(bound), 2)
    return tuple(weight or 2 for weight in weights), tuple(fixed)


def scale_noise(
    setting: Setting,
    measured: MeasuredAggregates,
    sketch: UnpricedRelease,
    estimates: tuple[Estimate, ...],
    layout: AnswerLayout,
) -> Calibrated:
    """Choose noise that costs what was asked, or that errs as little as was asked."""
    ask, law = setting.ask, setting.clause.noise
    if ask.errors:
        needs = needs_of(setting, measured, estimates, layout)
        targets = ErrorTargets(
            ask=ask,
            sketch=sketch,
            estimates=estimates,
            outputs=layout.outputs,
            needs=needs,
            levels=() if measured.cube is None else measured.cube.levels,
        )
        calibrated = _by_errors(ask, sketch, targets, law)
    elif ask.rho is not None:
        calibrated = by_rho(sketch, ask.rho, ask.delta, law or GAUSSIAN)
    else:
        calibrated = _by_epsilon(ask, sketch, law)
    check_kept(ask, calibrated.price)
    return calibrated


def check_kept(ask: RequestedPrice, price: Price) -> None:
    """Refuse to go on if a price is above what was asked; no plan is known for which it is.

    >>> check_kept(RequestedPrice(epsilon=Fraction(1), confidence=Fraction(1, 2)),
    ...     Price(epsilon=Fraction(1)))
    """
    over = ask.epsilon is not None and (price.epsilon is None or price.epsilon > ask.epsilon)
    over = over or (ask.rho is not None and (price.rho is None or price.rho > ask.rho))
    chance = price.beside if ask.epsilon is None else price.delta
    if over or chance > ask.delta:
        raise OutOfRange(
            what="no noise was found that keeps the price.",
            why="nothing is answered at a price above the one that was asked.",
            do="ask for another price, or for fewer aggregates.",
        )


def _by_epsilon(ask: RequestedPrice, sketch: UnpricedRelease, law: str | None) -> Calibrated:
    """Spend an epsilon, by the law that was asked for, or else by that with smaller errors."""
    epsilon = ask.epsilon
    assert epsilon is not None  # noqa: S101 (one of three is asked for)
    fixed = any(share is not None for share in sketch.fixed)
    keys = sketch.keys
    asked_for = GAUSSIAN if GAUSSIAN in {law, None if keys is None else keys.law} else law
    if asked_for == GAUSSIAN and (fixed or ask.delta == 0):
        raise WrongKind(
            what="Gaussian noise is asked for, without a delta, or with epsilons of aggregates.",
            why="it is private outside an event of some chance only, and its price is not a sum of "
            "epsilons.",
            do="give a delta and one epsilon for the question, or a rho, or use Laplace noise.",
        )
    if asked_for is None and ask.delta and not fixed:
        asked_for = choose_noise(sketch, epsilon, ask.delta, ask.confidence)
    if asked_for == GAUSSIAN:
        return by_point(sketch, epsilon, ask.delta)
    return by_epsilon(sketch, epsilon, ask.delta)


def _by_errors(
    ask: RequestedPrice, sketch: UnpricedRelease, targets: ErrorTargets, law: str | None
) -> Calibrated:
    """Take the law that is cheaper by formula, or the one that was asked for."""
    if law is None and ask.concentrated:
        law = GAUSSIAN
    if law != GAUSSIAN:
        calibrated = counted_in_epsilon(targets.releases(LAPLACE), sketch.unit)
        epsilon = calibrated.price.epsilon
        assert epsilon is not None  # noqa: S101 (that is what is counted)
        open_ = law is None and ask.delta > 0
        if not open_ or choose_noise(sketch, epsilon, ask.delta, ask.confidence) == LAPLACE:
            return calibrated
    return counted_in_rho(targets.releases(GAUSSIAN), sketch.unit, ask.delta)


def needs_delta(bound: BoundQuestion) -> UnsupportedSQL:
    """Return the refusal of groups that are chosen privately without a delta."""
    keys = [key for key in bound.keys if key.values is None]
    span = keys[0].key.expression.span if keys else bound.question.span
    names = ", ".join(key.key.name for key in keys) or "the groups"
    return UnsupportedSQL(
        what=pointed(f"which values of {names} there are is private, and delta is 0.", span),
        why="somebody may be the only one in a group, and then its name must hardly ever be shown.",
        do="give delta=1e-9, or delta_per_question in the policy; or make the groups public: list "
        f"them with WHERE {names} IN (...), declare categories, or bound the days between which a "
        "date lies, with WHERE or in the policy.",
    )
