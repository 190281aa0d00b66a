"""The steps that join counts of one question into a workload, where that makes them more exact.

Trust: kernel.  The counts that are joined are no measures of their own any more: what is read for
them is one histogram of cells, in which a unit counts with at most as many rows as before.

Definition.  Counts of rows can be joined if they are shown as they are: not those by which groups
are chosen, not those that sums and means need, not those with an epsilon of their own, and none of
people, except where a row is a person.  Joined are those with the same limit on the rows of a unit,
if their conditions leave at most 4096 cells and some strategy errs less than to divide the price
among the counts; where errors are asked for in place of a price, if no row is in two counts.  A
unit with more rows than may count, in whatever cells, counts with as many rows
as may, chosen by a hash; by itself every count had that limit.

COUNT(*) beside AVG(x), where x may be NULL, needs the number of all rows and of those with a value.
Each row is one of two cells, with a value or without; so both counts cost one release, not two.
They mean what they meant by themselves, for units of many rows too (key ``nested-counts``).  That
counts are nested is checked where releases are priced
(:func:`discreet.plan.pricing.release_composition.check_claims`).

Definition.  Nested counts are taken, those of sums and means too, if they have the same limit on
the rows of a unit, from the one with the fewest conditions on inward, where that errs less than to
divide the price among them; not those by which groups are chosen, nor any with an epsilon or an
error of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from discreet.plan.aggregates.counts import Count, Units
from discreet.plan.aggregates.measured import MeasuredAggregates
from discreet.plan.binding.value_facts import ONE
from discreet.plan.draft import Draft, required
from discreet.plan.pricing.cell_strategy import CellSensitivity, are_nested, conditions_of
from discreet.plan.pricing.group_sensitivity import UNITS
from discreet.plan.pricing.noise_steps import chooser_of
from discreet.plan.workload.cells import cells_of
from discreet.plan.workload.strategies import (
    CountWorkload,
    chosen_strategy,
    predicted_error,
    strategies_of,
)
from discreet.query.expressions import Case, Expression
from discreet.requests.engine_request import Leaves, Measure, Total
from discreet.requests.table_schema import Product
from discreet.units import Relation

_CELLS: Final = "cells"
_BETTER: Final = 0.99


def joined_counts(draft: Draft) -> Draft:
    """Return the draft with several counts as one histogram, where that is more exact."""
    measured = required(draft.measured)
    many = isinstance(required(draft.groups).public, Product)
    if many or draft.targets or draft.found or draft.searched:
        return draft  # names and shares must not follow from bounds that are found
    by_rows: dict[int, dict[str, Expression | None]] = defaultdict(dict)
    for name, total in _joinable(draft, measured):
        by_rows[total.high][name] = _condition(total)
    for rows, counts in sorted(by_rows.items(), key=lambda each: -len(each[1])):
        joined = _joined(draft, measured, counts, rows)
        if joined is not None:
            return replace(draft, measured=joined)
    return draft


def _joinable(draft: Draft, measured: MeasuredAggregates) -> Iterator[tuple[str, Total]]:
    """Yield the counts that are shown as they are."""
    single = required(draft.contributions).single
    others: set[str] = set()
    bound = [inner for _, inner in required(draft.bound).aggregates]
    for aggregate, estimator in zip(bound, measured.estimators, strict=True):
        people = aggregate.distinct and not single and isinstance(estimator, Count)
        if not isinstance(estimator, Count | Units) or people or aggregate.epsilon is not None:
            others |= {name for name, _ in estimator.inputs()}
    chooser = chooser_of(draft)
    if chooser is not None:
        others.add(chooser[0])
    known: dict[str, Measure] = {measure.name: measure for measure in measured.measures}
    if measured.counts_units:
        known[UNITS] = Total(name=UNITS, row=ONE, low=0, high=1)
    for name, measure in known.items():
        if name not in others and isinstance(measure, Total) and _counts(measure):
            yield name, measure


def _counts(total: Total) -> bool:
    """Whether a total counts rows, all of them or those with a condition."""
    match total:
        case Total(row=row, low=0, rows=None) if row == ONE:
            return True
        case Total(row=Case(branches=((_, one),), default=None), low=0, rows=None):
            return one == ONE
        case _:
            return False


def _condition(total: Total) -> Expression | None:
    return total.row.branches[0][0] if isinstance(total.row, Case) else None


def _joined(
    draft: Draft,
    measured: MeasuredAggregates,
    counts: Mapping[str, Expression | None],
    rows: int,
) -> MeasuredAggregates | None:
    """Return the same aggregates with a histogram in place of some counts, if that is better."""
    if len(counts) < 2:
        return None
    cells = cells_of(list(counts.values()), required(draft.bound).rows.facts)
    if cells is None:
        return None
    if len(set().union(*cells.conditions)) < len(counts):
        return None  # a condition is never true
    workload = CountWorkload(measure=_CELLS, names=tuple(counts), cells=cells.conditions)
    if not _better(draft, workload, rows):
        return None
    histogram = Leaves(name=_CELLS, row=cells.number, leaves=len(cells), rows=rows)
    kept = tuple(measure for measure in measured.measures if measure.name not in counts)
    uses = tuple(
        tuple(dict.fromkeys((_CELLS, None) if use[0] in counts else use for use in each))
        for each in measured.uses
    )
    about = f"{len(counts)} counts in {len(cells)} cells"
    return replace(
        measured,
        measures=(*kept, histogram),
        uses=uses,
        about={**measured.about, _CELLS: about},
        counts_units=measured.counts_units and UNITS not in counts,
        workload=workload,
    )


def _better(draft: Draft, workload: CountWorkload, rows: int) -> bool:
    """Whether a strategy errs less than a price that is divided among the counts."""
    limits, relation = required(draft.contributions), draft.unit.relation
    if required(draft.ask).errors:  # each count has its own, and all would get the smallest
        return strategies_of(workload)[0].norms[0] == 1
    far = CellSensitivity(
        low=0,
        high=rows,
        groups=limits.groups,
        available=limits.available,
        cells=strategies_of(workload)[0],
    )
    number = len(workload.names)
    for squared in (False, True):
        best = chosen_strategy(workload, far, relation, squared=squared)
        apart = _alone(far, relation, squared=squared) * (number**0.5 if squared else number)
        if predicted_error(best, relation, squared=squared) < _BETTER * apart:
            return True
    return False


def _alone(far: CellSensitivity, relation: Relation, *, squared: bool) -> float:
    """Return the error of one count at a price of one."""
    one = CountWorkload(measure=_CELLS, names=("",), cells=((0,),))
    alone = replace(far, cells=strategies_of(one)[0])
    return predicted_error(alone, relation, squared=squared)


def nested_counts(draft: Draft) -> Draft:
    """Return the draft with nested counts as one histogram, where that is more exact."""
    measured = required(draft.measured)
    many = isinstance(required(draft.groups).public, Product)
    if many or draft.targets or draft.found or draft.searched or required(draft.ask).errors:
        return draft
    counts = dict(_noisy_counts(draft))
    limits = {total.high for total in counts.values() if total is not None}
    for rows in sorted(limits, reverse=True):
        names = _chain(
            {
                name: total
                for name, total in counts.items()
                if (1 if total is None else total.high) == rows
            },
            rows,
        )
        cells = tuple(tuple(range(place, len(names))) for place in range(len(names)))
        workload = CountWorkload(measure=_CELLS, names=names, cells=cells, nested=True)
        if len(names) < 2 or not _better(draft, workload, rows):
            continue
        uses = tuple(
            tuple(dict.fromkeys((_CELLS, None) if use[0] in names else use for use in each))
            for each in measured.uses
        )
        about = {**measured.about, _CELLS: f"{len(names)} counts, each a part of the next"}
        joined = replace(measured, uses=uses, about=about, workload=workload)
        return replace(draft, measured=joined)
    return draft


def _noisy_counts(draft: Draft) -> Iterator[tuple[str, Total | None]]:
    """Yield all counts that get noise of their own; None is the number of units."""
    measured, limits = required(draft.measured), required(draft.contributions)
    bound = [inner for _, inner in required(draft.bound).aggregates]
    others: set[str] = set()
    for aggregate, uses in zip(bound, measured.uses, strict=True):
        others |= {name for name, _ in uses if aggregate.epsilon is not None}
    chooser = chooser_of(draft)
    if chooser is not None:
        others.add(chooser[0])
    for measure in measured.measures:
        if not isinstance(measure, Total) or measure.name in others:
            continue
        if conditions_of(measure) is not None:
            yield measure.name, measure
    if measured.counts_units and UNITS not in others and not limits.all_rows:
        yield UNITS, None


def _chain(counts: dict[str, Total | None], rows: int) -> tuple[str, ...]:
    """Return counts of which each is a part of the next, starting at the one with all rows."""
    found: list[str] = []
    chain: list[Measure | None] = []
    for name in sorted(counts, key=lambda each: len(conditions_of(counts[each]) or ())):
        if are_nested([counts[name], *chain], rows):
            found.insert(0, name)
            chain.insert(0, counts[name])
    return tuple(found)
