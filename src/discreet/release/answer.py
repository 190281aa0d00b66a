"""From bounded totals to an answer: the only place where totals get their noise.

Trust: kernel.

Definition.  Where keys are private, the plan's choice of keys runs first, and only groups that it
shows go on.  Where there are more public groups than could be listed, only those that reach the
plan's threshold do (:mod:`discreet.release.noisy_thresholds`).  Then every measure gets the noise
of the plan, in all groups at once, and every choice of a leaf is made.  All else is computed from
these numbers (key ``post-processing``).
Theorem (key ``answer-loss``).  The answer loses no more than the plan's tree: it is a function of
the plan and of one run of each of the tree's mechanisms, on the totals that the plan's distances
are about.
Nothing that depends on the totals decides anything else: not the number or order of groups, not a
message, not an error.  An error on the way is raised anew after all frames that hold totals are
gone, so no traceback leads to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import mechanisms
from discreet.errors import DiscreetError, EngineFailed, WrongKind
from discreet.noise import SYSTEM, Entropy
from discreet.plan.plan import Plan
from discreet.plan.pricing.cell_strategy import CellStrategy
from discreet.plan.pricing.group_sensitivity import UNITS, LeafChoice, ScoredChoice, trees_of
from discreet.release.choices.quantile_tree import read_tree
from discreet.release.group_sums import GroupSums
from discreet.release.noisy_totals import Chosen, Noisy, NoisyTotal, Run, joined_totals
from discreet.release.release import Release
from discreet.requests.engine_request import Total
from discreet.requests.raw_totals import Integers, RawTotals, SparseLeaves, taken

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from discreet.plan.statistics.having_threshold import HavingThreshold

__all__ = ["answer", "noised"]


def answer(plan: Plan, raw: RawTotals, *, entropy: Entropy = SYSTEM) -> Release:
    """Add noise to totals, and compute what was asked.

    Args:
        plan: what is asked, and by which mechanisms it is answered.
        raw: the totals that an engine computed for the plan.
        entropy: where random bits come from.
    """
    _check(plan)
    noisy: Noisy | None = None
    failure: DiscreetError = EngineFailed(
        what="the totals of the engine do not fit the plan.",
        why="the reason itself might contain values of the data.",
        do="report this as a bug; what was charged stays charged.",
    )
    try:
        noisy = noised(plan, raw, entropy=entropy)
    except DiscreetError as error:
        failure = type(error)(what=error.what, why=error.why, do=error.do)
    except Exception:  # noqa: BLE001, S110 (its text may quote totals; replaced below)
        pass
    del raw
    if noisy is None:  # raised here, where the other error is out of sight
        raise failure
    return Release.of(plan, (noisy,))


def _check(plan: Plan) -> None:
    """Refuse a plan that would show private keys, or a total without noise."""
    private = bool(plan.request.keys) and plan.request.listed is None
    if plan.having_threshold is not None:
        _check_reached(plan, plan.having_threshold)
    elif private and plan.selection is None:
        raise WrongKind(
            what="the plan has private keys, and selects none of them.",
            why="a group of a single unit would be shown.",
            do="plan the question anew.",
        )
    known = {noise.measure for noise in plan.noises}
    for noise in plan.noises:
        known |= set() if noise.distances.strategy is None else set(noise.distances.strategy.names)
    if plan.selection is not None and isinstance(plan.selection, mechanisms.NoisyKeys):
        _check_count(plan, plan.selection)
        known.add(plan.chosen_by)
    chosen = {(*choice.use, choice.offset) for choice in plan.choices}
    for estimate in plan.estimates:
        estimator = estimate.estimator
        if not (set(estimator.totals()) <= known and set(estimator.choices()) <= chosen):
            raise WrongKind(
                what="the plan computes an aggregate from a total without noise.",
                why="only what the plan's mechanisms return is released.",
                do="plan the question anew.",
            )


def _check_reached(plan: Plan, reached: HavingThreshold) -> None:
    """Refuse to draw empty groups by other noise, or of another product, than the plan's."""
    product, zeros = plan.request.product, reached.zeros
    noises = {noise.measure: noise.mechanism for noise in plan.noises}
    fits = product is not None and len(product) == zeros.groups and plan.selection is None
    if not fits or noises.get(reached.measure) != zeros.noise:
        raise WrongKind(
            what="the empty groups to be drawn are not those of the plan.",
            why="if they could be told from other groups, they would show who is not in the table.",
            do="plan the question anew.",
        )


def _check_count(plan: Plan, keys: mechanisms.NoisyKeys) -> None:
    """Refuse to choose keys by a count that a unit moves by more than the choice allows for."""
    if plan.chosen_by == UNITS:
        return
    measures = {each.name: each for each in plan.request.measures}
    found = measures.get(plan.chosen_by)
    if not (isinstance(found, Total) and found.low >= 0 and found.high <= keys.most):
        raise WrongKind(
            what="the count that selects the groups is not the one that the selection is about.",
            why="a unit would move it further than the noise hides.",
            do="plan the question anew.",
        )


def noised(plan: Plan, raw: RawTotals, *, entropy: Entropy = SYSTEM) -> Noisy:
    """Run all mechanisms of the plan, on totals of the shape that it asks for.

    Whether the plan protects everything that it shows is checked by ``answer``, which also replaces
    errors: those that leave here may hold totals.
    """
    _check_shape(plan, raw)
    totals: dict[str, NoisyTotal] = {}
    sums: dict[str, GroupSums] = {}
    if plan.having_threshold is not None:
        from discreet.release.noisy_thresholds import groups_above_threshold  # noqa: PLC0415  rare

        raw, run = groups_above_threshold(plan, plan.having_threshold, raw, entropy=entropy)
        totals[plan.having_threshold.measure] = NoisyTotal((run,))
    drawn = frozenset(totals)
    places, counted = _shown(plan, _exact(raw, plan.chosen_by), entropy)
    if counted is not None:
        totals[plan.chosen_by] = NoisyTotal((counted,))
    for noise in plan.noises:
        if noise.measure in drawn:
            continue
        running = noise.distances.group_strategy
        if running is not None:
            exact = running.measured(_exact(raw, noise.measure), _groups(raw))
            values = noise.mechanism.run(exact, entropy=entropy)
            sums[noise.measure] = GroupSums(
                strategy=running, mechanism=noise.mechanism, drawn=values
            )
            continue
        strategy = noise.distances.strategy
        if strategy is not None:
            if strategy.nested:
                counts = [_exact(raw, name)[places] for name in strategy.nested]
                inside = strategy.differences(counts)
            elif strategy.values:
                inside = _columns(strategy, raw, places)
            else:
                inside = _inside(raw.leaves[noise.measure], places)
            exact = strategy.measured(inside, places.size).ravel()
            drawn_sums = noise.mechanism.run(exact, entropy=entropy)
            totals |= joined_totals(strategy, noise.mechanism, drawn_sums)
            continue
        exact = _exact(raw, noise.measure)
        values = noise.mechanism.run(exact[places], entropy=entropy)
        totals[noise.measure] = NoisyTotal((Run(values=values, mechanism=noise.mechanism),))
    chosen = tuple(_chosen(plan, raw, places, entropy))
    keys = tuple(taken(key, places) for key in raw.keys)
    return Noisy(size=places.size, keys=keys, totals=totals, chosen=chosen, sums=sums)


def _groups(raw: RawTotals) -> list[tuple[Any, ...]]:
    return list(zip(*(key.to_pylist() for key in raw.keys), strict=True))


def _exact(raw: RawTotals, measure: str) -> Integers:
    return raw.units if measure == UNITS else raw.totals[measure]


def _shown(plan: Plan, counts: Integers, entropy: Entropy) -> tuple[Integers, Run | None]:
    """Return the groups that are shown, and their noisy counts if these decide."""
    if plan.selection is None:
        return np.arange(counts.size), None
    match plan.selection:
        case mechanisms.OptimalKeys():
            return np.flatnonzero(plan.selection.run(counts, entropy=entropy)), None
        case mechanisms.NoisyKeys():
            found = plan.selection.run(counts, entropy=entropy)
            counted = Run(values=found.counts, mechanism=plan.selection.noise, keys=plan.selection)
            return np.flatnonzero(found.shown), counted


def _chosen(plan: Plan, raw: RawTotals, places: Integers, entropy: Entropy) -> Iterator[Chosen]:
    """Draw each tree once, and make all other choices."""
    read: dict[LeafChoice, Integers] = {}
    for tree, choices in trees_of(plan.choices).items():
        inside = _inside(raw.leaves[tree.measure], places)
        read.update(read_tree(tree, choices, inside, groups=places.size, entropy=entropy))
    for choice in plan.choices:
        if isinstance(choice, ScoredChoice):
            read[choice] = _leaves(choice, raw.leaves[choice.measure], places, entropy)
        yield Chosen(choice=choice, leaves=read[choice])


def _leaves(
    choice: ScoredChoice, sparse: SparseLeaves, places: Integers, entropy: Entropy
) -> Integers:
    """Choose leaves in the groups at some places, which rise."""
    inside = _inside(sparse, places)
    from discreet.release.choices.leaf_choice import chosen_leaves  # noqa: PLC0415  rare

    return chosen_leaves(choice, inside, groups=places.size, entropy=entropy)


def _columns(strategy: CellStrategy, raw: RawTotals, places: Integers) -> SparseLeaves:
    """Return the sums of cells of all values, in the columns of a strategy."""
    parts = [
        (group, column * strategy.cells + cell, added)
        for column, value in enumerate(strategy.values)
        for group, cell, added in [_inside(raw.leaves[value.measure], places)]
    ]
    group, column, added = (np.concatenate(each) for each in zip(*parts, strict=True))
    return group, column, added


def _inside(sparse: SparseLeaves, places: Integers) -> SparseLeaves:
    """Return the leaves of the groups at some places, which rise, numbered by these places."""
    group, leaf, count = sparse
    at = np.searchsorted(places, group)
    kept = at < places.size
    kept[kept] = places[at[kept]] == group[kept]
    return at[kept], leaf[kept], count[kept]


def _check_shape(plan: Plan, raw: RawTotals) -> None:
    """Refuse totals of other groups than the plan's; the message says nothing about them."""
    groups = raw.units.size
    public = plan.request.listed
    expected = 1 if not plan.request.keys else groups if public is None else len(public)
    arrays = [raw.units, *raw.totals.values()]
    fits = (
        groups == expected
        and all(array.shape == (groups,) and array.dtype == np.int64 for array in arrays)
        and len(raw.keys) == len(plan.request.keys)
        and all(len(key) == groups for key in raw.keys)
    )
    if not fits:
        message = "the shape of the totals"
        raise ValueError(message)
