"""The step that measures nested counts as disjoint cells: rows with a value, and rows without one.

Trust: public.  Which counts are taken together is about accuracy.  That they are nested is checked
where releases are priced (:func:`discreet.plan.pricing.release_composition.check_claims`), and how
far one unit moves their cells is ``nested-counts``.

COUNT(*) beside AVG(x), where x may be NULL, needs the number of all rows and of those with a value.
Each row is one of two cells, with a value or without; so both counts cost one release, not two.
They mean what they meant by themselves, for units of many rows too.

Definition.  Counts are taken if they are nested and have the same limit on the rows of a unit,
from the one with the fewest conditions on inward, where that errs less than to divide the price
among them; not those by which groups are chosen, nor any with an epsilon or an error of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from discreet.plan.draft import Draft, required
from discreet.plan.pricing.cell_strategy import are_nested, conditions_of
from discreet.plan.pricing.group_sensitivity import UNITS
from discreet.plan.pricing.noise_steps import chooser_of
from discreet.plan.workload.joined_counts import better
from discreet.plan.workload.strategies import CountWorkload
from discreet.requests.engine_request import Measure, Total
from discreet.requests.table_schema import Product

_CELLS: Final = "cells"


def nested_counts(draft: Draft) -> Draft:
    """Return the draft with nested counts as one histogram, where that is more exact."""
    measured = required(draft.measured)
    many = isinstance(required(draft.groups).public, Product)
    if many or draft.targets or draft.found or draft.searched or required(draft.ask).errors:
        return draft
    counts = dict(_counts(draft))
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
        if len(names) < 2 or not better(draft, workload, rows):
            continue
        uses = tuple(
            tuple(dict.fromkeys((_CELLS, None) if use[0] in names else use for use in each))
            for each in measured.uses
        )
        about = {**measured.about, _CELLS: f"{len(names)} counts, each a part of the next"}
        joined = replace(measured, uses=uses, about=about, workload=workload)
        return replace(draft, measured=joined)
    return draft


def _counts(draft: Draft) -> Iterator[tuple[str, Total | None]]:
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
        counts = isinstance(measure, Total) and conditions_of(measure) is not None
        if counts and measure.name not in others:
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
