"""From a question to a plan: all of planning, in its order, in ``planned``.

Trust: kernel.  It looks at the question, the schema and the policy, and at no data.

A question with missing bounds is planned a second time, once they are found: from the released
bounds alone, so no data decides how it is protected.  It has to keep the price that was charged for
it before the search began (key ``bounds-composition``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol, final

from discreet.aggregates.measured import measure_all
from discreet.errors import UnsupportedSQL, WrongKind
from discreet.mechanisms.mechanism import Number
from discreet.plan.binding.bound_question import BoundQuestion, bind_question
from discreet.plan.binding.fan_out import PublicRows
from discreet.plan.binding.names import bound_expression
from discreet.plan.bounds_search import (
    PricePromise,
    check_promise,
    composed_with_search,
    errors_by_width,
    find_missing_bounds,
    price_bounds_search,
    total_price,
    with_promised_shares,
)
from discreet.plan.error_forecast import ErrorForecast, ForecastErrors
from discreet.plan.estimator import Predicted
from discreet.plan.expectation import rows_of_a_group
from discreet.plan.plan import Plan, plan_digest
from discreet.plan.policy.owner_promises import promises_behind
from discreet.plan.policy.owner_rules import check_answer_rows, with_least_people
from discreet.plan.policy.policy import Policy
from discreet.plan.pricing.group_sensitivity import ReleaseInput, Releases
from discreet.plan.pricing.noise_steps import needs_delta, scale_noise, unpriced_release
from discreet.plan.pricing.release_composition import check_claims
from discreet.plan.pricing.requested_price import (
    BoundsPrice,
    PriceArguments,
    check_bounds_price,
    check_price,
    check_requested_price,
    read_requested_price,
)
from discreet.plan.setting import MeasuredAggregates, Setting
from discreet.plan.statistics.answer_layout import AnswerLayout, Estimate, answer_layout
from discreet.plan.statistics.contribution_bounds import bound_contributions
from discreet.plan.statistics.having_threshold import having_threshold
from discreet.plan.statistics.partition_selection import (
    SelectionRule,
    partition_selection,
    within_categories,
)
from discreet.plan.statistics.truncation import truncations
from discreet.plan.workload.cubes import Cube, check_additive, check_cube_noise, cube_keys
from discreet.plan.workload.group_windows import check_windows, running_counts
from discreet.plan.workload.joined_measures import joined_counts, joined_sums
from discreet.plan.workload.other_groups import check_other
from discreet.plan.workload.simplex import simplex_sums
from discreet.query.expressions import Column, Expression
from discreet.query.question import Clause, Question
from discreet.query.source_text import pointed
from discreet.requests.engine_request import EngineRequest
from discreet.requests.table_schema import Schema
from discreet.requests.text_limits import check_text_work
from discreet.units import PrivacyUnit, Relation

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from discreet.plan.bounds_search import FoundBounds


class LentDelta(Protocol):
    """What a budget lends to a question of a price that needs a delta and names none."""

    def __call__(self, *, epsilon: Fraction | None, rho: Fraction | None) -> Fraction:
        """Return it for a price in epsilon, in rho, or one that follows from errors."""
        ...


def none_lent(*, epsilon: Fraction | None, rho: Fraction | None) -> Fraction:
    """Lend nothing.

    >>> none_lent(epsilon=Fraction(1), rho=None)
    Fraction(0, 1)
    """
    del epsilon, rho
    return Fraction(0)


def plan(  # noqa: PLR0913  what is asked, what is known, and what it may cost
    question: Question,
    *,
    schema: Schema,
    policy: Policy,
    unit: PrivacyUnit,
    public_rows: PublicRows,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    error: Mapping[str, Number] | None = None,
    size: int | None = None,
    confidence: Number | None = None,
    intervals: bool = True,
    bounds: BoundsPrice | None = None,
    found_bounds: tuple[FoundBounds, ...] = (),
    concentrated: bool = False,
    own_delta: LentDelta = none_lent,
    ceiling: bool = True,
) -> Plan:
    """Plan how to answer a question, and what that costs; nothing is read and nothing spent.

    Args:
        question: what is asked.
        schema: all tables, and what is public about them.
        policy: limits on contributions and prices.
        unit: who is protected.
        public_rows: reads the rows of public tables, for groups that they list.
        epsilon: what the question may cost, outside an event of chance ``delta``.
        delta: that chance.
        rho: what it may cost in zero-concentrated privacy, in place of epsilon.
        error: how far outputs may be from the truth, by their names, in place of a price.
        size: about how many rows of a group count; errors of means follow from it.
        confidence: with which probability errors are not exceeded.
        intervals: whether a part of the price may go to intervals.
        bounds: what finding missing bounds may cost, in addition to the answer.
        found_bounds: bounds that were found and paid for before.
        concentrated: whether the budget that pays counts rho, mu or divergences, not epsilon.
        own_delta: says what choosing groups privately may spend at a price, if no one names a
            delta.
        ceiling: whether the limits of the policy on the price hold; they do, except in tests.
    """
    if not isinstance(question, Question):
        raise WrongKind(
            what=f"a {type(question).__name__} is not a question.",
            why="what is planned must be what is computed.",
            do="read it from SQL, or build it with the table builder.",
        )
    return planned(
        question,
        Context(
            schema=schema,
            policy=policy,
            unit=unit,
            public_rows=public_rows,
            own_delta=own_delta,
            ceiling=ceiling,
        ),
        PriceArguments(
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            error=error,
            size=size,
            confidence=confidence,
            intervals=intervals,
            bounds=check_bounds_price(bounds),
            concentrated=concentrated,
        ),
        found=found_bounds,
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What is declared and decided regardless of the question; see :func:`plan`."""

    schema: Schema
    policy: Policy
    unit: PrivacyUnit
    public_rows: PublicRows
    own_delta: LentDelta = none_lent
    ceiling: bool = True


def planned(
    question: Question,
    known: Context,
    given: PriceArguments,
    *,
    found: tuple[FoundBounds, ...] = (),
    promise: PricePromise | None = None,
) -> Plan:
    """Plan a question; with bounds that were found, so that a promise is kept."""
    schema, unit, most = known.schema, known.unit, known.policy.limits
    ask = read_requested_price(question, most, given)
    if known.ceiling:
        check_requested_price(ask, most)

    bound = bind_question(question, schema, known.public_rows, unit.columns, most.max_fan_out)
    exact, scope = bound.rows.public, bound.rows.scope
    if not exact:  # no privacy depends on options
        check_unit(unit, bound.rows.unit or ())
        check_unit_column(bound)
    question = bound.question if question.values or exact else question
    bound = with_least_people(bound, most.min_people, period=known.policy.period)
    ruled = replace(question, having=bound.question.having)
    groups = partition_selection(bound)
    if not exact:
        check_answer_rows(bound, groups.available, most.max_answer_rows)

    searching = bool(given.bounds or found)
    bound, limits = bound_contributions(
        question,
        bound,
        schema=schema,
        limits=most,
        unit=unit,
        available=groups.available,
        searching=searching,
        ceiling=known.ceiling,
    )
    bound, targets, searched = find_missing_bounds(bound, ask, found, searching=searching)
    setting = Setting(
        unit=unit, ask=ask, bound=bound, groups=groups, limits=limits, blind=bool(searched)
    )

    measured = join_counts(setting, measure_aggregates(setting, searched))
    estimates, layout = answer_layout(bound, measured.estimators)
    measured = measure_sums(setting, measured, estimates, layout)

    sketch = unpriced_release(setting, measured)
    if promise is not None:
        sketch = with_promised_shares(sketch, promise)
    if sketch.keys is not None and ask.delta == 0:
        own = own_delta(setting, known.own_delta, named=given.delta is not None)
        given, ask = replace(given, delta=own), replace(ask, delta=own)
        setting = replace(setting, ask=ask)
    calibrated = scale_noise(setting, measured, sketch, estimates, layout)
    releases, tree, price = calibrated.releases, calibrated.tree, calibrated.price
    estimates = aimed_at_ends(estimates, releases)
    threshold = having_threshold(setting, calibrated, estimates, layout, targets)

    request = requested_totals(setting, measured)
    check_claims(request, releases)
    check_cube_noise(measured.cube, releases)
    check_text_work(request, fan_out=bound.rows.fan_out)
    forecast = ErrorForecast(
        releases=releases,
        estimates=estimates,
        confidence=ask.confidence,
        size=ask.size or rows_of_a_group(request, schema),
        windows=layout.windows,
        groups=groups.available or 1,
        levels=() if measured.cube is None else measured.cube.levels,
    )
    predicted: Sequence[Predicted] = ForecastErrors(forecast, layout.outputs)

    search = price_bounds_search(
        setting, targets, given, sketch=sketch, calibrated=calibrated, estimates=estimates
    )
    if search is not None:
        tree = composed_with_search(search.tree, search.promise)
        price = total_price(search.price, search.promise.price, ask.delta)
        by_bounds = replace(forecast, size=ask.size, groups=1)
        predicted = errors_by_width(by_bounds, predicted, bound, layout.outputs)
    if known.ceiling:
        check_price(ask, most, price)

    return Plan(
        question=question,
        unit=unit,
        request=request,
        selection=releases.selection,
        chosen_by=releases.chosen_by,
        noises=releases.noises,
        choices=releases.choices,
        estimates=estimates,
        layout=layout,
        tree=tree,
        scope=scope,
        price=price,
        delta=calibrated.delta,
        confidence=ask.confidence,
        predicted=() if exact else predicted,
        descriptions=tuple(measured.about.items()),
        digest=plan_digest(
            ruled,
            unit=unit,
            request=request,
            releases=releases,
            tree=calibrated.tree,
            scope=scope,
            search=search,
        ),
        having_threshold=threshold,
        search=search,
        cube=None if measured.cube is None else measured.cube.keys,
        found=found,
        promises=()
        if exact
        else promises_behind(request.relation, scope, schema=schema, unit=unit),
        truncations=truncations(question, setting, schema, searching=bool(targets)),
        unmet=bound.unmet,
        warnings=(*bound.unmet, *bound.warnings),
        exact=exact,
    )


SecondStage = tuple[Plan, str]
"""A plan of the answer, and the digest of its second stage alone."""


def plan_second_stage(
    plan: Plan,
    found: Sequence[FoundBounds],
    *,
    schema: Schema,
    policy: Policy,
    public_rows: PublicRows,
) -> SecondStage:
    """Return the plan of an answer with the bounds that were found for it.

    It has the digest, the tree and the price of the plan that was charged.
    """
    search = plan.search
    if search is None or len(found) != len(search.targets):
        raise WrongKind(
            what="these are not the bounds that the plan has looked for.",
            why="what is computed follows from them.",
            do="plan the question anew.",
        )
    known = Context(
        schema=schema,
        policy=policy,
        unit=plan.unit,
        public_rows=public_rows,
        ceiling=False,  # the whole price was held against the limits before it was charged
    )
    stage = planned(plan.question, known, search.given, found=tuple(found), promise=search.promise)
    check_promise(search.promise, stage.tree, stage.price, plan.unit)
    final = replace(stage, tree=plan.tree, price=plan.price, digest=plan.digest, search=search)
    return final, stage.digest


def check_unit_column(bound: BoundQuestion) -> None:
    """Refuse a clause that names another column than the unit."""
    column = (bound.question.clause or Clause()).privacy_unit_column
    if column is None:
        return
    named, holders = bound_expression(column, bound.rows.fields), bound.rows.holders
    if len(holders) != 1 or named not in {Column(name) for name in holders[0]}:
        raise UnsupportedSQL(
            what=pointed("privacy_unit_column is another column than the unit.", column.span),
            why="who is protected is decided by the owner of the data.",
            do="leave it out, or name the column of the policy.",
        )


def own_delta(setting: Setting, lent: LentDelta, *, named: bool) -> Fraction:
    """Return what the budget lends to a question that needs a delta and names none, be it 0."""
    own, ask = Fraction(0), setting.ask
    if not named and setting.clause.delta is None:
        own = lent(epsilon=ask.epsilon, rho=ask.rho)
    if own == 0:
        raise needs_delta(setting.bound)
    return own


def measure_aggregates(
    setting: Setting, searched: Sequence[Expression | None]
) -> MeasuredAggregates:
    """Turn aggregates into bounded totals."""
    bound = setting.bound
    return measure_all(
        tuple(inner for _, inner in bound.aggregates),
        facts=bound.rows.facts,
        unit=bound.rows.unit or (),
        contributions=setting.limits,
        choosing=SelectionRule.of(setting.groups, blind=setting.blind),
        searched=searched,
    )


def join_counts(setting: Setting, apart: MeasuredAggregates) -> MeasuredAggregates:
    """Measure several counts, or sums and counts, together, where that is more exact."""
    question = setting.bound.question
    if question.sets or question.other:  # whose totals are added up over groups
        return apart
    counts = sum(each.counts for each in apart.estimators)
    joined = joined_counts(setting, apart) if counts > 1 else apart
    return simplex_sums(setting, apart, joined_sums(setting, apart, joined))


def measure_sums(
    setting: Setting,
    measured: MeasuredAggregates,
    estimates: Sequence[Estimate],
    layout: AnswerLayout,
) -> MeasuredAggregates:
    """Measure sums of groups: tables of grouping sets, or those that windows ask for."""
    if setting.bound.question.other:
        check_other(setting, measured, layout)
    keys = cube_keys(setting)
    if keys is not None:
        check_additive(setting, measured, layout, "several levels")
        names = tuple(key.key.name for key in setting.bound.keys)
        return replace(measured, cube=Cube(keys, names))
    if layout.windows:
        check_windows(layout, setting.groups.public)
        running = running_counts(setting, measured, estimates, layout)
        return replace(measured, running=running)
    return measured


def aimed_at_ends(estimates: tuple[Estimate, ...], releases: Releases) -> tuple[Estimate, ...]:
    """Tell extreme quantiles how far inside to aim, now that the noise is known."""
    offsets: dict[ReleaseInput, int] = {
        choice.use: choice.offset for choice in releases.choices if choice.is_value
    }
    if not offsets:
        return estimates
    return tuple(replace(each, estimator=each.estimator.aimed(offsets)) for each in estimates)


def requested_totals(setting: Setting, measured: MeasuredAggregates) -> EngineRequest:
    """Write down what an engine has to compute."""
    bound, groups, limits = setting.bound, setting.groups, setting.limits
    relation = bound.rows.relation
    if groups.public is None:
        relation = within_categories(relation, bound.keys)
    return EngineRequest(
        relation=relation,
        unit=tuple(Column(name) for name in bound.rows.unit or ()),
        keys=tuple(key.key for key in bound.keys),
        groups=None if limits.single else limits.groups,
        public=groups.public if bound.keys else None,
        measures=measured.measures,
    )


def check_unit(unit: PrivacyUnit, columns: tuple[str, ...]) -> None:
    """Refuse rows that do not belong to the unit."""
    if unit.relation is Relation.LOCAL or bool(unit.columns) != bool(columns):
        raise WrongKind(
            what=f"the tables do not belong to the {unit.name} that is to be protected.",
            why="a promise to one unit says nothing about another.",
            do="name the unit in the policy, and open the tables with the same unit.",
        )
