"""From bounded totals to an answer: the only place where totals get their noise.

Trust: kernel.

Definition.  Where keys are private, the plan's choice of keys runs first, and only groups that it
shows go on.  Where there are more public groups than could be listed, only those that reach the
plan's threshold do (:mod:`discreet.release.reached`).  Then every measure gets the noise of the
plan, in all groups at once, and every choice of a leaf is made.  All else is computed from these
numbers (key ``post-processing``).
Theorem (key ``answer-loss``).  The answer loses no more than the plan's tree: it is a function of
the plan and of one run of each of the tree's mechanisms, on the totals that the plan's distances
are about.
Nothing that depends on the totals decides anything else: not the number or order of groups, not a
message, not an error.  An error on the way is raised anew after all frames that hold totals are
gone, so no traceback leads to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import DiscreetError, EngineFailed, WrongKind
from discreet.noise import SYSTEM, Entropy
from discreet.plan.arrow_arrays import taken
from discreet.plan.estimators import Quantile, Quantiles
from discreet.plan.lowered import Total
from discreet.plan.noises import UNITS, Choice
from discreet.plan.plan import Plan
from discreet.plan.raw import Integers, Raw, SparseLeaves
from discreet.release.estimates import measures_of
from discreet.release.noisy import Chosen, Noisy, NoisyTotal, Run
from discreet.release.release import Release

if TYPE_CHECKING:  # loaded when keys are chosen, or empty groups drawn
    from discreet.mechanisms import NoisyKeys
    from discreet.plan.reached import Reached

__all__ = ["answer", "noised"]


def answer(plan: Plan, raw: Raw, *, entropy: Entropy = SYSTEM) -> Release:
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
        why="more about the reason might hold values of the data.",
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
    private = bool(plan.lowered.keys) and plan.lowered.listed is None
    if plan.reached is not None:
        _check_reached(plan, plan.reached)
    elif private and plan.selection is None:
        raise WrongKind(
            what="the plan has private keys, and no choice of those that are shown.",
            why="a group with one unit in it would be seen.",
            do="plan the question anew.",
        )
    known = {noise.measure for noise in plan.noises}
    if plan.selection is not None:
        from discreet.mechanisms import NoisyKeys  # noqa: PLC0415  as above

        if isinstance(plan.selection, NoisyKeys):
            _check_count(plan, plan.selection)
            known.add(plan.chosen_by)
    chosen = {(choice.measure, choice.level, choice.offset) for choice in plan.choices}
    for estimate in plan.estimates:
        match estimate.estimator:
            case Quantile() as quantile:
                levels: tuple[Quantile, ...] = (quantile,)
            case Quantiles(each=levels):
                pass
            case _:
                levels = ()
        wanted = {(each.measure, each.level, each.offset) for each in levels}
        if not (set(measures_of(estimate.estimator)) <= known and wanted <= chosen):
            raise WrongKind(
                what="an estimate of the plan needs a total that gets no noise.",
                why="nothing is released but what the plan's mechanisms give.",
                do="plan the question anew.",
            )


def _check_reached(plan: Plan, reached: Reached) -> None:
    """Refuse to draw empty groups by other noise, or of another product, than the plan's."""
    product, zeros = plan.lowered.product, reached.zeros
    noises = {noise.measure: noise.mechanism for noise in plan.noises}
    fits = product is not None and len(product) == zeros.groups and plan.selection is None
    if not fits or noises.get(reached.measure) != zeros.noise:
        raise WrongKind(
            what="empty groups are to be drawn that are not those of the plan.",
            why="whoever can tell them from others knows who is not in the table.",
            do="plan the question anew.",
        )


def _check_count(plan: Plan, keys: NoisyKeys) -> None:
    """Refuse to choose keys by a count that a unit moves by more than the choice allows for."""
    if plan.chosen_by == UNITS:
        return
    measures = {each.name: each for each in plan.lowered.measures}
    found = measures.get(plan.chosen_by)
    if not (isinstance(found, Total) and found.low >= 0 and found.high <= keys.most):
        raise WrongKind(
            what="the count by which keys are chosen is not the one that the choice is about.",
            why="a unit would move it further than the noise hides.",
            do="plan the question anew.",
        )


def noised(plan: Plan, raw: Raw, *, entropy: Entropy = SYSTEM) -> Noisy:
    """Run all mechanisms of the plan, on totals of the shape that it asks for.

    Whether the plan protects everything that it shows is checked by ``answer``, which also replaces
    errors: those that leave here may hold totals.
    """
    _check_shape(plan, raw)
    totals: dict[str, NoisyTotal] = {}
    if plan.reached is not None:
        from discreet.release.reached import reached_groups  # noqa: PLC0415  rare

        raw, run = reached_groups(plan, plan.reached, raw, entropy=entropy)
        totals[plan.reached.measure] = NoisyTotal((run,))
    drawn = frozenset(totals)
    places, counted = _shown(plan, _exact(raw, plan.chosen_by), entropy)
    if counted is not None:
        totals[plan.chosen_by] = NoisyTotal((counted,))
    for noise in plan.noises:
        if noise.measure in drawn:
            continue
        exact = _exact(raw, noise.measure)
        values: Integers = noise.mechanism.run(exact[places], entropy=entropy)
        totals[noise.measure] = NoisyTotal((Run(values=values, mechanism=noise.mechanism),))
    chosen = tuple(
        Chosen(choice=choice, leaves=_leaves(choice, raw.leaves[choice.measure], places, entropy))
        for choice in plan.choices
    )
    keys = tuple(taken(key, places) for key in raw.keys)
    return Noisy(size=places.size, keys=keys, totals=totals, chosen=chosen)


def _exact(raw: Raw, measure: str) -> Integers:
    return raw.units if measure == UNITS else raw.totals[measure]


def _shown(plan: Plan, counts: Integers, entropy: Entropy) -> tuple[Integers, Run | None]:
    """Return the groups that are shown, and their noisy counts if these decide."""
    if plan.selection is None:
        return np.arange(counts.size), None
    from discreet.mechanisms import NoisyKeys, OptimalKeys  # noqa: PLC0415  as above

    match plan.selection:
        case OptimalKeys():
            return np.flatnonzero(plan.selection.run(counts, entropy=entropy)), None
        case NoisyKeys():
            found = plan.selection.run(counts, entropy=entropy)
            counted = Run(values=found.counts, mechanism=plan.selection.noise, keys=plan.selection)
            return np.flatnonzero(found.shown), counted


def _leaves(choice: Choice, sparse: SparseLeaves, places: Integers, entropy: Entropy) -> Integers:
    """Choose leaves in the groups at some places, which rise."""
    group, leaf, count = sparse
    at = np.searchsorted(places, group)
    kept = at < places.size
    kept[kept] = places[at[kept]] == group[kept]
    inside = at[kept], leaf[kept], count[kept]
    from discreet.release.leaf_choice import chosen_leaves  # noqa: PLC0415  rare

    return chosen_leaves(choice, inside, groups=places.size, entropy=entropy)


def _check_shape(plan: Plan, raw: Raw) -> None:
    """Refuse totals of other groups than the plan's; the message says nothing about them."""
    groups = raw.units.size
    public = plan.lowered.listed
    expected = 1 if not plan.lowered.keys else groups if public is None else len(public)
    arrays = [raw.units, *raw.totals.values()]
    fits = (
        groups == expected
        and all(array.shape == (groups,) and array.dtype == np.int64 for array in arrays)
        and len(raw.keys) == len(plan.lowered.keys)
        and all(len(key) == groups for key in raw.keys)
    )
    if not fits:
        message = "the shape of the totals"
        raise ValueError(message)
