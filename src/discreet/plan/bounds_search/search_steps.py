"""The steps that let missing bounds be found: which they are, and what finding them costs.

Trust: kernel.

A question with missing bounds is planned twice.  Before any data is read they are taken from 0 to
about 2**20, so that noise and its errors are known in units of the bounds.  Once they are found it
is planned with them, and has to keep the price that was charged
(:mod:`discreet.plan.pricing.price_promise`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Final

from discreet.accounting import Node
from discreet.errors import WrongKind
from discreet.plan.aggregates.estimator import REFERENCE, Predicted
from discreet.plan.binding.value_facts import Facts, argument_of, facts_of, value_where_counted
from discreet.plan.bounds_search.bounds_search import BoundsSearch, BoundsTarget, bins_of
from discreet.plan.draft import Draft, required
from discreet.plan.forecast.error_forecast import ErrorForecast
from discreet.plan.pricing.calibration import Price
from discreet.plan.pricing.group_sensitivity import GroupSensitivity, Releases
from discreet.plan.pricing.loss_sums import epsilon_sum, rho_sum
from discreet.plan.pricing.price_promise import promise_of, total_price
from discreet.plan.pricing.release_composition import check_claims, composition_of
from discreet.plan.pricing.release_parts import LAPLACE, NoisyTotals
from discreet.plan.pricing.requested_price import BoundsPrice, check_both
from discreet.plan.pricing.unpriced_release import UnpricedRelease
from discreet.plan.statistics.partition_selection import within_categories
from discreet.query.expression_text import said
from discreet.query.expressions import Aggregate, Column, Expression
from discreet.query.signatures import AGGREGATES
from discreet.requests.engine_request import EngineRequest, Leaves
from discreet.units import PrivacyUnit

_NAME: Final = "bounds"


def find_missing_bounds(draft: Draft) -> Draft:
    """Find aggregates without bounds, and put in those that were found, or stand for them."""
    known = required(draft.bound)
    targets = _targets([inner for _, inner in known.aggregates], known.rows.facts)
    if len(draft.found) not in {0, len(targets)}:
        raise WrongKind(
            what="the bounds that were found are not those that are missing.",
            why="the policy or the question has changed since.",
            do="ask the question anew.",
        )
    if not targets or not (draft.found or draft.given.bounds):
        return draft  # what is missing is said where it is needed
    if not draft.found and required(draft.ask).errors:
        raise WrongKind(
            what="errors are named, and bounds are to be found.",
            why="how far noise moves a number follows from its bounds, which are not known yet.",
            do="give a price, such as epsilon=0.5; or give the bounds.",
        )
    pairs = [found.bounds for found in draft.found] or [REFERENCE] * len(targets)
    bounds = dict(zip((target.row for target in targets), pairs, strict=True))
    rows = tuple(_row(inner, known.rows.facts) for _, inner in known.aggregates)
    bound = tuple(
        (outer, inner if row is None else replace(inner, bounds_per_row=bounds[row]))
        for (outer, inner), row in zip(known.aggregates, rows, strict=True)
    )
    return replace(
        draft,
        bound=replace(known, aggregates=bound),
        targets=() if draft.found else targets,
        searched=rows,
    )


def price_bounds_search(draft: Draft) -> Draft:
    """Price the search for bounds, and an answer that costs no more whatever they are."""
    wanted = draft.given.bounds
    if not draft.targets or wanted is None:
        return draft
    ask, scaled = required(draft.ask), tuple(dict.fromkeys(_scaled(draft)))
    releases = _releases(draft.targets, wanted, draft.unit)
    tree = composition_of(releases, draft.unit)
    request = _lowered(draft)
    check_claims(request, releases)
    search = BoundsSearch(
        request=request,
        targets=draft.targets,
        noises=releases.noises,
        tree=tree,
        price=_price(tree, draft.unit),
        promise=promise_of(ask, required(draft.unpriced), required(draft.calibrated), scaled),
        given=draft.given,
        scaled=scaled,
    )
    total = total_price(search.price, search.promise.price, ask.delta)
    if draft.ceiling:
        check_both(ask, draft.policy.limits, epsilon=total.epsilon, rho=total.rho)
    return replace(draft, search=search, predicted=_said(draft))


def _open(draft: Draft) -> frozenset[Aggregate]:
    """Return the aggregates whose bounds are not known yet."""
    bound = required(draft.bound).aggregates
    return frozenset(one for one, other in bound if one.bounds_per_row != other.bounds_per_row)


def _scaled(draft: Draft) -> Iterator[str]:
    """Yield the measures that are clamped to bounds that are not known yet."""
    waiting = _open(draft)
    for estimate in draft.estimates:
        if estimate.aggregate in waiting:
            yield from estimate.estimator.clamped()


def _said(draft: Draft) -> tuple[Predicted, ...]:
    """Say errors in terms of the bounds that are not known yet."""
    ask = required(draft.ask)
    forecast = ErrorForecast(
        releases=required(draft.calibrated).releases,
        estimates=draft.estimates,
        confidence=ask.confidence,
        size=ask.size,
        windows=required(draft.layout).windows,
    )
    outputs = {column.name: column for column in required(draft.layout).outputs}
    missing = _open(draft)
    return tuple(
        forecast.by_width(outputs[error.output], error, missing) for error in draft.predicted
    )


def _targets(aggregates: list[Aggregate], facts: Mapping[str, Facts]) -> tuple[BoundsTarget, ...]:
    """Return what lacks bounds, each of it once."""
    targets: dict[Expression, BoundsTarget] = {}
    for aggregate in aggregates:
        row = _row(aggregate, facts)
        if row is not None and row not in targets:
            number = len(targets) + 1
            value = argument_of(aggregate)
            where = "" if aggregate.where is None else f" where {said(aggregate.where)}"
            targets[row] = BoundsTarget(
                measure=_NAME if number == 1 else f"{_NAME}_{number}",
                row=row,
                type=facts_of(value, facts).type,
                about=f"{said(value)}{where}",
            )
    return tuple(targets.values())


def _row(aggregate: Aggregate, facts: Mapping[str, Facts]) -> Expression | None:
    """Return the bin of each row that an aggregate looks at, if it has no bounds."""
    given = aggregate.bounds_per_row is not None or aggregate.bounds_per_group is not None
    if given or not AGGREGATES[aggregate.function].clamps:
        return None
    value = argument_of(aggregate)
    known = facts_of(value, facts)
    if known.bounds is not None or not known.type.is_number:
        return None
    return value_where_counted(aggregate, bins_of(known.type).place(value))


def _releases(
    targets: tuple[BoundsTarget, ...], wanted: BoundsPrice, unit: PrivacyUnit
) -> Releases:
    """Divide the price evenly; a unit is in one bin of each target."""
    parts = tuple(
        NoisyTotals(
            measure=target.measure,
            distances=GroupSensitivity(low=1, high=1, groups=1, available=target.bins.count),
        )
        for target in targets
    )
    ones: tuple[int, ...] = (1,) * len(parts)
    sketch = UnpricedRelease(parts=parts, weights=ones, fixed=(None,) * len(parts), unit=unit)
    if wanted.epsilon is not None:
        return sketch.by_epsilon(wanted.epsilon, Fraction(0))
    return sketch.by_rho(required(wanted.rho), Fraction(0), LAPLACE)


def _price(tree: Node, unit: PrivacyUnit) -> Price:
    epsilon, _ = required(epsilon_sum(tree, unit))
    rho, _ = rho_sum(tree, unit)
    return Price(epsilon=epsilon, rho=rho)


def _lowered(draft: Draft) -> EngineRequest:
    """Return what an engine counts: one row of every unit, in whichever group it is."""
    known, limits = required(draft.bound), required(draft.contributions)
    return EngineRequest(
        relation=within_categories(known.rows.relation, known.keys),
        unit=tuple(Column(name) for name in known.rows.unit or ()),
        keys=(),
        groups=None if limits.single else 1,
        measures=tuple(
            Leaves(name=target.measure, row=target.row, leaves=target.bins.count, rows=1)
            for target in draft.targets
        ),
    )
