"""From a question to a plan, step by step.

Trust: kernel.  Every step looks at the question, the schema and the policy, and at no data.

``STEPS`` is the order in which things are decided: the list below is the whole of planning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from discreet.errors import UnsupportedSQL, WrongKind
from discreet.mechanisms.mechanism import Number
from discreet.plan.aggregates.counts import Count, Units
from discreet.plan.aggregates.measured import measure_all
from discreet.plan.binding.bound_question import bind_question
from discreet.plan.binding.fan_out import PublicRows
from discreet.plan.binding.names import bound_expression
from discreet.plan.bounds_price import (
    composed_with_search,
    find_missing_bounds,
    price_bounds_search,
    total_price,
    with_promised_shares,
)
from discreet.plan.draft import Draft, required
from discreet.plan.error_forecast import ErrorForecast, ForecastErrors
from discreet.plan.expectation import rows_of_a_group
from discreet.plan.plan import Plan, plan_digest
from discreet.plan.policy.owner_promises import promises_behind
from discreet.plan.policy.policy import Policy
from discreet.plan.pricing.group_sensitivity import ReleaseInput
from discreet.plan.pricing.noise_steps import scale_noise, unpriced_release
from discreet.plan.pricing.release_composition import check_claims
from discreet.plan.pricing.requested_price import (
    BoundsPrice,
    PriceArguments,
    check_bounds_price,
    check_requested_price,
    read_requested_price,
)
from discreet.plan.statistics import having_threshold
from discreet.plan.statistics.answer_layout import answer_layout
from discreet.plan.statistics.contribution_bounds import bound_contributions
from discreet.plan.statistics.partition_selection import (
    SelectionRule,
    partition_selection,
    within_categories,
)
from discreet.plan.statistics.truncation import truncations
from discreet.plan.workload.group_windows import check_windows, running_counts
from discreet.plan.workload.joined_measures import joined_counts, joined_sums, nested_counts
from discreet.query.expressions import Column
from discreet.query.question import Question
from discreet.query.source_text import pointed
from discreet.requests.engine_request import EngineRequest, Total
from discreet.requests.table_schema import Product, Schema
from discreet.requests.text_limits import check_text_work
from discreet.units import PrivacyUnit, Relation

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from discreet.plan.bounds_search import FoundBounds


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
    bounds: BoundsPrice | None = None,
    found_bounds: tuple[FoundBounds, ...] = (),
    concentrated: bool = False,
    own_delta: Callable[[], Fraction] = Fraction,
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
        bounds: what finding missing bounds may cost, in addition to the answer.
        found_bounds: bounds that were found and paid for before.
        concentrated: whether the budget that pays counts rho, mu or divergences, not epsilon.
        own_delta: says what choosing groups privately may spend, where nobody names a delta.
        ceiling: whether the limits of the policy on the price hold; they do, except in tests.
    """
    if not isinstance(question, Question):
        raise WrongKind(
            what=f"a {type(question).__name__} is not a question.",
            why="what is planned must be what is computed.",
            do="read it from SQL, or build it with the table builder.",
        )
    draft = Draft(
        question=question,
        schema=schema,
        policy=policy,
        unit=unit,
        public_rows=public_rows,
        given=PriceArguments(
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            error=error,
            size=size,
            confidence=confidence,
            bounds=check_bounds_price(bounds),
            concentrated=concentrated,
        ),
        ceiling=ceiling,
        own_delta=own_delta,
        found=found_bounds,
    )
    return run_steps(draft)


def run_steps(draft: Draft) -> Plan:
    """Take all steps."""
    for step in STEPS:
        draft = step(draft)
    return _finished(draft)


def read_price(draft: Draft) -> Draft:
    """Read the requested price, and check it against the limits of the policy."""
    ask = read_requested_price(draft.question, draft.policy.limits, draft.given)
    if draft.ceiling:
        check_requested_price(ask, draft.policy.limits)
    return replace(draft, ask=ask)


def bind_names(draft: Draft) -> Draft:
    """Find every name in the schema, and refuse what would mix units."""
    known = bind_question(
        draft.question,
        draft.schema,
        draft.public_rows,
        draft.unit.columns,
        draft.policy.limits.max_fan_out,
    )
    if known.rows.public:  # nobody is protected by options
        return replace(draft, question=known.question, bound=known)
    check_unit(draft.unit, known.rows.unit or ())
    column = draft.clause.privacy_unit_column
    if column is not None:
        named = bound_expression(column, known.rows.fields)
        holders = known.rows.holders
        if len(holders) != 1 or named not in {Column(name) for name in holders[0]}:
            raise UnsupportedSQL(
                what=pointed("privacy_unit_column is another column than the unit.", column.span),
                why="who is protected is decided by the owner of the data.",
                do="leave it out, or name the column of the policy.",
            )
    question = known.question if draft.question.values else draft.question
    return replace(draft, question=question, bound=known)


def find_groups(draft: Draft) -> Draft:
    """Find out which groups are public."""
    return replace(draft, groups=partition_selection(required(draft.bound)))


def measure_aggregates(draft: Draft) -> Draft:
    """Turn aggregates into bounded totals."""
    known = required(draft.bound)
    bound = tuple(inner for _, inner in known.aggregates)
    totals = measure_all(
        bound,
        facts=known.rows.facts,
        unit=known.rows.unit or (),
        contributions=required(draft.contributions),
        choosing=SelectionRule.of(
            required(draft.groups), draft.clause, blind=bool(draft.targets or draft.found)
        ),
        searched=draft.searched,
    )
    return replace(draft, measured=totals)


def join_counts(draft: Draft) -> Draft:
    """Measure several counts, or sums and counts, together, where that is more exact."""
    apart = draft
    counts = [type(each) in {Count, Units} for each in required(draft.measured).estimators]
    draft = joined_counts(draft) if sum(counts) > 1 else draft
    measured = required(draft.measured)
    plain = [isinstance(each, Total) and each.rows is None for each in measured.measures]
    several = sum(plain) + measured.counts_units > 1 and measured.workload is None
    draft = nested_counts(draft) if several else draft
    return joined_sums(apart, draft)


def split_releases(draft: Draft) -> Draft:
    """List what has to be released, with the weights of its parts."""
    sketch = unpriced_release(draft)
    if draft.promise is None:
        return replace(draft, unpriced=sketch)
    return replace(draft, unpriced=with_promised_shares(sketch, draft.promise))


def name_outputs(draft: Draft) -> Draft:
    """Say how the columns of the answer are computed from aggregates."""
    known = required(draft.bound)
    estimates, layout = answer_layout(known, required(draft.measured).estimators)
    draft = replace(draft, estimates=estimates, layout=layout)
    if not layout.windows:
        return draft
    check_windows(layout, required(draft.groups).public)
    running = running_counts(draft)
    return replace(draft, measured=replace(required(draft.measured), running=running))


def find_having_threshold(draft: Draft) -> Draft:
    """Find the noisy number from which groups are shown, where there are too many to list."""
    if not isinstance(required(draft.groups).public, Product):
        return draft
    return having_threshold.having_threshold(draft)


def aim_at_ends(draft: Draft) -> Draft:
    """Tell extreme quantiles how far inside to aim, now that the noise is known."""
    offsets: dict[ReleaseInput, int] = {
        choice.use: choice.offset
        for choice in required(draft.calibrated).releases.choices
        if choice.is_value
    }
    if not offsets:
        return draft
    estimates = tuple(
        replace(estimate, estimator=estimate.estimator.aimed(offsets))
        for estimate in draft.estimates
    )
    return replace(draft, estimates=estimates)


def request_totals(draft: Draft) -> Draft:
    """Write down what an engine has to compute."""
    known, groups = required(draft.bound), required(draft.groups)
    limits, rows = required(draft.contributions), known.rows
    relation = rows.relation
    if groups.public is None:
        relation = within_categories(relation, known.keys)
    request = EngineRequest(
        relation=relation,
        unit=tuple(Column(name) for name in rows.unit or ()),
        keys=tuple(key.key for key in known.keys),
        groups=None if limits.single else limits.groups,
        public=groups.public if known.keys else None,
        measures=required(draft.measured).measures,
    )
    check_claims(request, required(draft.calibrated).releases)
    check_text_work(request, fan_out=rows.fan_out)
    return replace(draft, request=request)


def predict_errors(draft: Draft) -> Draft:
    """Say how exact the answer will be."""
    ask = required(draft.ask)
    forecast = ErrorForecast(
        releases=required(draft.calibrated).releases,
        estimates=draft.estimates,
        confidence=ask.confidence,
        size=ask.size or rows_of_a_group(required(draft.request), draft.schema),
        windows=required(draft.layout).windows,
        groups=required(draft.groups).available or 1,
    )
    return replace(draft, predicted=ForecastErrors(forecast, required(draft.layout).outputs))


STEPS: Final[tuple[Callable[[Draft], Draft], ...]] = (
    read_price,
    bind_names,
    find_groups,
    bound_contributions,
    find_missing_bounds,
    measure_aggregates,
    join_counts,
    name_outputs,
    split_releases,
    scale_noise,
    find_having_threshold,
    aim_at_ends,
    request_totals,
    predict_errors,
    price_bounds_search,
)
"""All of planning, in its order."""


def _finished(draft: Draft) -> Plan:
    calibrated, request = required(draft.calibrated), required(draft.request)
    releases, scope = calibrated.releases, required(draft.bound).rows.scope
    tree, price, search = calibrated.tree, calibrated.price, draft.search
    exact = required(draft.bound).rows.public
    if search is not None:
        tree = composed_with_search(search.tree, search.promise)
        price = total_price(search.price, search.promise.price, required(draft.ask).delta)
    digest = plan_digest(
        draft.question,
        unit=draft.unit,
        request=request,
        releases=releases,
        tree=calibrated.tree,
        scope=scope,
        search=search,
    )
    return Plan(
        question=draft.question,
        unit=draft.unit,
        request=request,
        selection=releases.selection,
        chosen_by=releases.chosen_by,
        noises=releases.noises,
        choices=releases.choices,
        estimates=draft.estimates,
        layout=required(draft.layout),
        tree=tree,
        scope=scope,
        price=price,
        delta=calibrated.delta,
        confidence=required(draft.ask).confidence,
        predicted=() if exact else draft.predicted,
        descriptions=tuple(required(draft.measured).about.items()),
        digest=digest,
        having_threshold=draft.having_threshold,
        search=search,
        found=draft.found,
        promises=()
        if exact
        else promises_behind(request.relation, scope, schema=draft.schema, unit=draft.unit),
        truncations=truncations(draft),
        unmet=required(draft.bound).unmet,
        warnings=(*required(draft.bound).unmet, *required(draft.bound).warnings),
        exact=exact,
    )


def check_unit(unit: PrivacyUnit, columns: tuple[str, ...]) -> None:
    """Refuse rows that do not belong to the unit."""
    if unit.relation is Relation.LOCAL or bool(unit.columns) != bool(columns):
        raise WrongKind(
            what=f"the tables do not belong to the {unit.name} that is to be protected.",
            why="a promise to one unit says nothing about another.",
            do="name the unit in the policy, and open the tables with the same unit.",
        )
