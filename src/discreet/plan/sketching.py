"""Which parts have to be released for a question, and how much each of them matters.

Trust: kernel.

Where groups are chosen privately by a noisy count that the answer needs in any case
(:mod:`discreet.plan.choosing`), it is released once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Final

from discreet.plan.choosing import Chooser, Choosing
from discreet.plan.distances import Distances
from discreet.plan.draft import Draft, found
from discreet.plan.limits_of_unit import Contributions
from discreet.plan.lowered import Distinct, Leaves, Measure, Total
from discreet.plan.noises import UNITS
from discreet.plan.parts import GAUSSIAN, LAPLACE, OPTIMAL, SMALLEST, Keys, Level, Part, Totals
from discreet.plan.sketch import Sketch
from discreet.plan.uses import Use, ones_of, terms_of
from discreet.query.expressions import Column, walk

__all__ = ["needs_of", "sketch_of"]

_LAWS: Final = {"LAPLACE_THRESHOLD": LAPLACE, "GAUSSIAN_THRESHOLD": GAUSSIAN, "OPTIMAL": OPTIMAL}


_LEAST_SURE: Final = Fraction(19, 20)
"""Intervals of quantiles are bought at this confidence, or at a higher one that is asked for."""


def sketch_of(draft: Draft) -> Sketch:
    """Return the parts of a question, with weights and fixed epsilons."""
    uses, keys = _places(draft), _keys(draft)
    parts: list[Part] = [] if keys is None else [keys]
    measures = {each.name: each for each in found(draft.measured).measures}
    limits = found(draft.contributions)
    first = len(parts)
    for (name, level), place in uses.items():
        if place >= first:
            part = _part(name, level, measures.get(name), limits)
            sure = max(found(draft.ask).confidence, _LEAST_SURE)
            parts.append(replace(part, confidence=sure) if isinstance(part, Level) else part)
    weights, fixed = _weights(draft, uses, len(parts))
    estimators = found(draft.measured).estimators
    columns = tuple(
        tuple((uses[use], factor) for use, factor in terms_of(each).items())
        for estimator in estimators
        for each in ones_of(estimator)
    )
    return Sketch(
        parts=tuple(parts), weights=weights, fixed=fixed, unit=draft.unit, columns=columns
    )


def needs_of(draft: Draft) -> Mapping[str, tuple[int, ...]]:
    """Return the places of the parts that each output needs."""
    places, uses = _places(draft), found(draft.measured).uses
    slots = {each.slot: use for each, use in zip(draft.estimates, uses, strict=True)}
    return {
        output.name: tuple(
            dict.fromkeys(
                places[use]
                for node in walk(output.expression)
                if isinstance(node, Column)
                for use in slots[node.name]
            )
        )
        for output in found(draft.shown).outputs
    }


_KEYS: Final[Use] = ("", None)


def _places(draft: Draft) -> dict[Use, int]:
    """Return the place of each part, the choice of keys first; it may stand for a count as well."""
    known = [use for uses in found(draft.measured).uses for use in uses]
    names = dict.fromkeys([_KEYS, *known] if found(draft.groups).chosen else known)
    chooser = _chooser(draft)
    if chooser is None:
        return {use: place for place, use in enumerate(names)}
    shared = (chooser[0], None)
    names.pop(shared, None)  # a sum around zero needs no count, and is measured with one
    return {use: place for place, use in enumerate(names)} | {shared: 0}


def _keys(draft: Draft) -> Keys | None:
    groups, limits = found(draft.groups), found(draft.contributions)
    if not groups.chosen:
        return None
    chooser = _chooser(draft)
    law = SMALLEST if chooser is None else None
    if groups.strategy is not None:
        law = _LAWS[groups.strategy]
    measure, most = chooser or (UNITS, 1)
    return Keys(law=law, groups=limits.groups, fewest=groups.fewest, measure=measure, most=most)


def _chooser(draft: Draft) -> Chooser | None:
    """Return the count of the answer that chooses its groups, if one does."""
    measured = found(draft.measured)
    counts: dict[str, Measure | None] = {each.name: each for each in measured.measures}
    if measured.counts_units:
        counts[UNITS] = None
    return Choosing.of(found(draft.groups), draft.clause).among(counts)


def _part(
    name: str, level: Fraction | None, measure: Measure | None, limits: Contributions
) -> Part:
    match measure:
        case None:
            return _totals(UNITS, (1, 1), limits)
        case Total(low=low, high=high):
            return _totals(name, (low, high), limits)
        case Distinct(most=most):
            return _totals(name, (0, most), limits)
        case Leaves(leaves=leaves, rows=rows):
            return Level(
                measure=name,
                level=found(level),
                leaves=leaves,
                rows=rows,
                groups=limits.groups,
                available=limits.available,
            )


def _totals(name: str, bounds: tuple[int, int], limits: Contributions) -> Totals:
    low, high = bounds
    far = Distances(low=low, high=high, groups=limits.groups, available=limits.available)
    return Totals(measure=name, distances=far)


def _weights(
    draft: Draft, places: Mapping[Use, int], count: int
) -> tuple[tuple[int, ...], tuple[Fraction | None, ...]]:
    """Count the aggregates that need each part, and find the epsilons that they name.

    A choice of keys that no aggregate needs counts for one.
    """
    weights = [0] * count
    fixed: list[Fraction | None] = [None] * count
    if found(draft.groups).chosen:
        fixed[0] = draft.clause.group_selection_epsilon
    bound = [inner for _, inner in found(draft.asked).bound]
    for aggregate, uses in zip(bound, found(draft.measured).uses, strict=True):
        for place in {places[use] for use in uses}:
            weights[place] += 1
            if aggregate.epsilon is not None:
                share = aggregate.epsilon / len(uses)
                fixed[place] = max(share, fixed[place] or share)
    return tuple(max(weight, 1) for weight in weights), tuple(fixed)
