"""The steps that let missing bounds be found: which they are, and what finding them costs.

Trust: kernel.

A question with missing bounds is planned twice.  Before any data is read they are taken from 0 to
about 2**20, so that noise and its errors are known in units of the bounds.  Once they are found it
is planned with them, and has to keep the price that was charged (:mod:`discreet.plan.promise`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from discreet.accounting import Node
from discreet.errors import WrongKind
from discreet.plan.bounds_asked import BoundsPrice
from discreet.plan.claims import check_claims
from discreet.plan.distances import Distances
from discreet.plan.draft import Draft, found
from discreet.plan.estimators import Mean, Quantile, Quantiles, Sum, Variance
from discreet.plan.facts import Facts, facts_of
from discreet.plan.groups import within_categories
from discreet.plan.lowered import Leaves, Lowered
from discreet.plan.parts import LAPLACE, Totals
from discreet.plan.price_asked import check_both
from discreet.plan.prices import Price, epsilon_sum, rho_sum
from discreet.plan.rows_seen import argument, seen
from discreet.plan.sketch import Sketch
from discreet.plan.tree import Releases, tree_of
from discreet.query.expressions import Aggregate, Column, Expression
from discreet.units import PrivacyUnit

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from discreet.plan.plan import Predicted
    from discreet.plan.search import Target

__all__ = ["miss_bounds", "price_bounds"]

_COUNTS: Final = "COUNT"
_NAME: Final = "bounds"


def miss_bounds(draft: Draft) -> Draft:
    """Find aggregates without bounds, and put in those that were found, or stand for them."""
    known = found(draft.asked)
    targets = _targets([inner for _, inner in known.bound], known.rows.facts)
    if len(draft.found) not in {0, len(targets)}:
        raise WrongKind(
            what="the bounds that were found are not those that are missing.",
            why="the policy or the question has changed since.",
            do="ask the question anew.",
        )
    if not targets or not (draft.found or draft.given.bounds):
        return draft  # what is missing is said where it is needed
    if not draft.found and found(draft.ask).errors:
        raise WrongKind(
            what="errors are named, and bounds are to be found.",
            why="how far noise moves a number follows from its bounds, which are not known yet.",
            do="give a price, such as epsilon=0.5; or give the bounds.",
        )
    from discreet.plan.open_errors import REFERENCE  # noqa: PLC0415  rare

    pairs = [each.bounds for each in draft.found] or [REFERENCE] * len(targets)
    bounds = dict(zip((each.row for each in targets), pairs, strict=True))
    rows = tuple(_row(inner, known.rows.facts) for _, inner in known.bound)
    bound = tuple(
        (outer, inner if row is None else replace(inner, bounds_per_row=bounds[row]))
        for (outer, inner), row in zip(known.bound, rows, strict=True)
    )
    return replace(
        draft,
        asked=replace(known, bound=bound),
        targets=() if draft.found else targets,
        searched=rows,
    )


def price_bounds(draft: Draft) -> Draft:
    """Price the search for bounds, beside an answer that costs no more whatever they are."""
    wanted = draft.given.bounds
    if not draft.targets or wanted is None:
        return draft
    ask, scaled = found(draft.ask), tuple(dict.fromkeys(_scaled(draft)))
    releases = _releases(draft.targets, wanted, draft.unit)
    tree = tree_of(releases, draft.unit)
    from discreet.plan.promise import both, promise_of  # noqa: PLC0415  rare
    from discreet.plan.search import Search  # noqa: PLC0415  rare

    lowered = _lowered(draft)
    check_claims(lowered, releases)
    search = Search(
        lowered=lowered,
        targets=draft.targets,
        noises=releases.noises,
        tree=tree,
        price=_price(tree, draft.unit),
        promise=promise_of(ask, found(draft.sketch), found(draft.calibrated), scaled),
        given=draft.given,
        scaled=scaled,
    )
    total = both(search.price, search.promise.price, ask.delta)
    if draft.ceiling:
        check_both(ask, draft.policy.limits, epsilon=total.epsilon, rho=total.rho)
    return replace(draft, search=search, predicted=_said(draft))


def _open(draft: Draft) -> frozenset[Aggregate]:
    """Return the aggregates whose bounds are not known yet."""
    bound = found(draft.asked).bound
    return frozenset(one for one, other in bound if one.bounds_per_row != other.bounds_per_row)


def _scaled(draft: Draft) -> Iterator[str]:
    """Yield the measures that are clamped to bounds that are not known yet."""
    waiting = _open(draft)
    for each in draft.estimates:
        match each.estimator if each.aggregate in waiting else None:
            case Sum(measure=measure) | Mean(measure=measure) | Quantile(measure=measure):
                yield measure
            case Quantiles(each=several):
                yield several[0].measure
            case Variance(mean=mean, squares=squares):
                yield from (mean.measure, squares)


def _said(draft: Draft) -> tuple[Predicted, ...]:
    """Say errors in terms of the bounds that are not known yet."""
    ask = found(draft.ask)
    from discreet.plan.open_errors import OpenForecast  # noqa: PLC0415  rare

    forecast = OpenForecast(
        releases=found(draft.calibrated).releases,
        estimates=draft.estimates,
        open=_open(draft),
        confidence=ask.confidence,
        size=ask.size,
    )
    outputs = {each.name: each for each in found(draft.shown).outputs}
    return tuple(forecast.said(outputs[each.output], each) for each in draft.predicted)


def _targets(aggregates: list[Aggregate], facts: Mapping[str, Facts]) -> tuple[Target, ...]:
    """Return what lacks bounds, each of it once."""
    targets: dict[Expression, Target] = {}
    for each in aggregates:
        row = _row(each, facts)
        if row is not None and row not in targets:
            from discreet.plan.search import Target  # noqa: PLC0415  rare
            from discreet.query.wording import said  # noqa: PLC0415  rare

            number = len(targets) + 1
            value = argument(each)
            where = "" if each.where is None else f" where {said(each.where)}"
            targets[row] = Target(
                measure=_NAME if number == 1 else f"{_NAME}_{number}",
                row=row,
                type=facts_of(value, facts).type,
                about=f"{said(value)}{where}",
            )
    return tuple(targets.values())


def _row(aggregate: Aggregate, facts: Mapping[str, Facts]) -> Expression | None:
    """Return the bin of each row that an aggregate looks at, if it has no bounds."""
    given = aggregate.bounds_per_row is not None or aggregate.bounds_per_group is not None
    if aggregate.function == _COUNTS or given:
        return None
    value = argument(aggregate)
    known = facts_of(value, facts)
    if known.bounds is not None or not known.type.is_number:
        return None
    from discreet.plan.bins import bins_of  # noqa: PLC0415  rare

    return seen(aggregate, bins_of(known.type).place(value))


def _releases(targets: tuple[Target, ...], wanted: BoundsPrice, unit: PrivacyUnit) -> Releases:
    """Divide the price evenly; a unit is in one bin of each target."""
    parts = tuple(
        Totals(
            measure=each.measure,
            distances=Distances(low=1, high=1, groups=1, available=each.bins.count),
        )
        for each in targets
    )
    ones: tuple[int, ...] = (1,) * len(parts)
    sketch = Sketch(parts=parts, weights=ones, fixed=(None,) * len(parts), unit=unit)
    if wanted.epsilon is not None:
        return sketch.by_epsilon(wanted.epsilon, Fraction(0))
    return sketch.by_rho(found(wanted.rho), Fraction(0), LAPLACE)


def _price(tree: Node, unit: PrivacyUnit) -> Price:
    epsilon, _ = found(epsilon_sum(tree, unit))
    rho, _ = rho_sum(tree, unit)
    return Price(epsilon=epsilon, rho=rho)


def _lowered(draft: Draft) -> Lowered:
    """Return what an engine counts: one row of every unit, in whichever group it is."""
    known, limits = found(draft.asked), found(draft.contributions)
    return Lowered(
        relation=within_categories(known.rows.relation, known.keys),
        unit=tuple(Column(name) for name in known.rows.unit or ()),
        keys=(),
        groups=None if limits.single else 1,
        measures=tuple(
            Leaves(name=each.measure, row=each.row, leaves=each.bins.count, rows=1)
            for each in draft.targets
        ),
    )
