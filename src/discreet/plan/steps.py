"""From a question to a plan, step by step.

Trust: kernel.  Every step looks at the question, the schema and the policy, and at no data.

``STEPS`` is the order in which things are decided: the list below is the whole of planning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from discreet.errors import UnsupportedSQL, WrongKind
from discreet.mechanisms.arguments import Number
from discreet.plan.asked import asked
from discreet.plan.bounds_asked import BoundsPrice, checked_bounds
from discreet.plan.choosing import Choosing
from discreet.plan.claims import check_claims
from discreet.plan.digest import digest_of
from discreet.plan.draft import Draft, found
from discreet.plan.errors_predicted import Forecast
from discreet.plan.estimators import Estimator, Quantile, Quantiles
from discreet.plan.fan_out import PublicRows
from discreet.plan.groups import groups_of, within_categories
from discreet.plan.limits_of_unit import most_groups
from discreet.plan.lowered import Lowered
from discreet.plan.measures import measured
from discreet.plan.names import bound_expression
from discreet.plan.outputs import answer_of
from discreet.plan.owner_promises import promises_behind
from discreet.plan.plan import Plan
from discreet.plan.policy import Policy
from discreet.plan.price_asked import Given, check_ask, read_ask
from discreet.plan.product import Product
from discreet.plan.scaling import scale_noise
from discreet.plan.schema import Schema
from discreet.plan.searching import miss_bounds, price_bounds
from discreet.plan.sketching import sketch_of
from discreet.query.expressions import Column
from discreet.query.question import Question
from discreet.query.span import pointed
from discreet.units import PrivacyUnit, Relation

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from discreet.plan.search import FoundBounds

__all__ = ["STEPS", "plan", "worked_out"]


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
    ceiling: bool = True,
) -> Plan:
    """Plan how to answer a question, and what that costs; nothing is read and nothing spent.

    Args:
        question: what is asked.
        schema: the tables that there are, and what is public about them.
        policy: limits on contributions and prices.
        unit: who is protected.
        public_rows: reads the rows of public tables, for groups that they list.
        epsilon: what the question may cost, outside an event of chance ``delta``.
        delta: that chance.
        rho: what it may cost in zero-concentrated privacy, in place of epsilon.
        error: how far outputs may be from the truth, by their names, in place of a price.
        size: about how many rows of a group count; errors of means follow from it.
        confidence: with which probability errors are not exceeded.
        bounds: what finding missing bounds may cost, beside the answer.
        found_bounds: bounds that were found and paid for before.
        concentrated: whether the budget that pays counts rho, mu or divergences, not epsilon.
        ceiling: whether the limits of the policy on the price hold; they do, except in tests.
    """
    if type(question) is not Question:  # a subclass could change between plan and engine
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
        given=Given(
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            error=error,
            size=size,
            confidence=confidence,
            bounds=checked_bounds(bounds),
            concentrated=concentrated,
        ),
        ceiling=ceiling,
        found=found_bounds,
    )
    return worked_out(draft)


def worked_out(draft: Draft) -> Plan:
    """Take all steps."""
    for step in STEPS:
        draft = step(draft)
    return _finished(draft)


def read_price(draft: Draft) -> Draft:
    """Read what is asked for, and hold it against the limits of the policy."""
    ask = read_ask(draft.question, draft.policy.limits, draft.given)
    if draft.ceiling:
        check_ask(ask, draft.policy.limits)
    return replace(draft, ask=ask)


def bind_names(draft: Draft) -> Draft:
    """Find every name in the schema, and refuse what would mix units."""
    known = asked(
        draft.question,
        draft.schema,
        draft.public_rows,
        draft.unit.columns,
        draft.policy.limits.max_fan_out,
    )
    _check_unit(draft, known.rows.unit or ())
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
    return replace(draft, asked=known)


def find_groups(draft: Draft) -> Draft:
    """Find out which groups are public."""
    return replace(draft, groups=groups_of(found(draft.asked)))


def bound_contributions(draft: Draft) -> Draft:
    """Limit the groups and rows in which one unit counts."""
    known = found(draft.asked)
    limits = most_groups(
        known.keys,
        clause=draft.clause,
        limits=draft.policy.limits,
        available=found(draft.groups).available,
        single=not known.rows.unit,
    )
    return replace(draft, contributions=limits)


def measure_aggregates(draft: Draft) -> Draft:
    """Turn aggregates into bounded totals."""
    known = found(draft.asked)
    bound = tuple(inner for _, inner in known.bound)
    totals = measured(
        bound,
        facts=known.rows.facts,
        unit=known.rows.unit or (),
        contributions=found(draft.contributions),
        choosing=Choosing.of(
            found(draft.groups), draft.clause, blind=bool(draft.targets or draft.found)
        ),
        searched=draft.searched,
    )
    return replace(draft, measured=totals)


def sketch_releases(draft: Draft) -> Draft:
    """List what has to be released, with the weights of its parts."""
    sketch = sketch_of(draft)
    if draft.promise is None:
        return replace(draft, sketch=sketch)
    from discreet.plan.promise import kept  # noqa: PLC0415  rare

    return replace(draft, sketch=kept(sketch, draft.promise))


def name_outputs(draft: Draft) -> Draft:
    """Say how the columns of the answer are computed from aggregates."""
    known = found(draft.asked)
    estimates, shown = answer_of(known, found(draft.measured).estimators)
    return replace(draft, estimates=estimates, shown=shown)


def reach_threshold(draft: Draft) -> Draft:
    """Find out from which noisy number on groups are shown, where they are too many to list."""
    if not isinstance(found(draft.groups).public, Product):
        return draft
    from discreet.plan import reached  # noqa: PLC0415  rare

    return reached.reach_threshold(draft)


def aim_at_ends(draft: Draft) -> Draft:
    """Tell quantiles at the ends how far inside of them is aimed, now that noise is known."""
    offsets = {
        (each.measure, each.level): each.offset
        for each in found(draft.calibrated).releases.choices
        if each.side == 0 or not 0 < each.level < 1
    }

    def aimed(estimator: Estimator) -> Estimator:
        match estimator:
            case Quantile(measure=measure, level=level):
                return replace(estimator, offset=offsets[measure, level])
            case Quantiles(each=each):
                return Quantiles(
                    tuple(replace(one, offset=offsets[one.measure, one.level]) for one in each)
                )
            case _:
                return estimator

    estimates = tuple(replace(each, estimator=aimed(each.estimator)) for each in draft.estimates)
    return replace(draft, estimates=estimates)


def lower(draft: Draft) -> Draft:
    """Write down what an engine has to compute."""
    known, groups = found(draft.asked), found(draft.groups)
    limits, rows = found(draft.contributions), known.rows
    relation = rows.relation
    if groups.public is None:
        relation = within_categories(relation, known.keys)
    lowered = Lowered(
        relation=relation,
        unit=tuple(Column(name) for name in rows.unit or ()),
        keys=tuple(each.key for each in known.keys),
        groups=None if limits.single else limits.groups,
        public=groups.public if known.keys else None,
        measures=found(draft.measured).measures,
    )
    check_claims(lowered, found(draft.calibrated).releases)
    return replace(draft, lowered=lowered)


def predict_errors(draft: Draft) -> Draft:
    """Say how exact the answer will be."""
    ask = found(draft.ask)
    forecast = Forecast(
        releases=found(draft.calibrated).releases,
        estimates=draft.estimates,
        confidence=ask.confidence,
        size=ask.size,
    )
    errors = (forecast.of(output) for output in found(draft.shown).outputs)
    return replace(draft, predicted=tuple(each for each in errors if each is not None))


STEPS: Final[tuple[Callable[[Draft], Draft], ...]] = (
    read_price,
    bind_names,
    find_groups,
    bound_contributions,
    miss_bounds,
    measure_aggregates,
    name_outputs,
    sketch_releases,
    scale_noise,
    reach_threshold,
    aim_at_ends,
    lower,
    predict_errors,
    price_bounds,
)
"""All of planning, in its order."""


def _finished(draft: Draft) -> Plan:
    calibrated, lowered = found(draft.calibrated), found(draft.lowered)
    releases, scope = calibrated.releases, found(draft.asked).rows.scope
    tree, price, search = calibrated.tree, calibrated.price, draft.search
    if search is not None:
        from discreet.plan.promise import both, joined  # noqa: PLC0415  rare

        tree = joined(search.tree, search.promise)
        price = both(search.price, search.promise.price, found(draft.ask).delta)
    digest = digest_of(
        draft.question,
        unit=draft.unit,
        lowered=lowered,
        releases=releases,
        tree=calibrated.tree,
        scope=scope,
        search=search,
    )
    return Plan(
        question=draft.question,
        unit=draft.unit,
        lowered=lowered,
        selection=releases.selection,
        chosen_by=releases.chosen_by,
        noises=releases.noises,
        choices=releases.choices,
        estimates=draft.estimates,
        shown=found(draft.shown),
        tree=tree,
        scope=scope,
        price=price,
        delta=calibrated.delta,
        confidence=found(draft.ask).confidence,
        predicted=draft.predicted,
        about=tuple(found(draft.measured).about.items()),
        digest=digest,
        reached=draft.reached,
        search=search,
        found=draft.found,
        promises=promises_behind(lowered.relation, scope, schema=draft.schema, unit=draft.unit),
    )


def _check_unit(draft: Draft, columns: tuple[str, ...]) -> None:
    if draft.unit.relation is Relation.LOCAL or bool(draft.unit.columns) != bool(columns):
        raise WrongKind(
            what=f"the tables do not belong to the {draft.unit.name} that is to be protected.",
            why="a promise to one unit says nothing about another.",
            do="name the unit in the policy, and open the tables with the same unit.",
        )
