"""From bounded totals to an answer: the only place where totals get their noise.

Trust: kernel.

Definition.  Where keys are private, the plan's choice of keys runs first, and only groups that it
shows go on.  Then every measure gets the noise of the plan, in all groups at once, and every choice
of a leaf is made.  All else is computed from these numbers (key ``post-processing``).
Theorem (key ``answer-loss``).  The answer loses no more than the plan's tree: it is a function of
the plan and of one run of each of the tree's mechanisms, on the totals that the plan's distances
are about.
Nothing that depends on the totals decides anything else: not the number or order of groups, not a
message, not an error.  An error on the way is raised anew after all frames that hold totals are
gone, so no traceback leads to them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from discreet.errors import DiscreetError, EngineFailed, WrongKind
from discreet.mechanisms import NoisyKeys, OptimalKeys
from discreet.noise import SYSTEM, Entropy
from discreet.plan.estimators import Quantile, Quantiles
from discreet.plan.noises import UNITS, Choice
from discreet.plan.plan import Plan
from discreet.plan.raw import Integers, Raw, SparseLeaves
from discreet.release.estimates import measures_of
from discreet.release.leaf_choice import chosen_leaves
from discreet.release.noisy import Chosen, Noisy, NoisyTotal, Run
from discreet.release.release import Release

__all__ = ["answer"]


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
        noisy = _noised(plan, raw, entropy)
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
    private = bool(plan.lowered.keys) and plan.lowered.public is None
    if private and plan.selection is None:
        raise WrongKind(
            what="the plan has private keys, and no choice of those that are shown.",
            why="a group with one unit in it would be seen.",
            do="plan the question anew.",
        )
    known = {noise.measure for noise in plan.noises}
    if isinstance(plan.selection, NoisyKeys):
        known.add(UNITS)
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


def _noised(plan: Plan, raw: Raw, entropy: Entropy) -> Noisy:
    """Run all mechanisms of the plan."""
    _check_shape(plan, raw)
    places, counted = _shown(plan, raw.units, entropy)
    totals = {} if counted is None else {UNITS: NoisyTotal((counted,))}
    for noise in plan.noises:
        exact = raw.units if noise.measure == UNITS else raw.totals[noise.measure]
        values: Integers = noise.mechanism.run(exact[places], entropy=entropy)
        totals[noise.measure] = NoisyTotal((Run(values=values, mechanism=noise.mechanism),))
    chosen = tuple(
        Chosen(choice=choice, leaves=_leaves(choice, raw.leaves[choice.measure], places, entropy))
        for choice in plan.choices
    )
    keys = tuple(key.take(pa.array(places)) for key in raw.keys)
    return Noisy(size=places.size, keys=keys, totals=totals, chosen=chosen)


def _shown(plan: Plan, units: Integers, entropy: Entropy) -> tuple[Integers, Run | None]:
    """Return the groups that are shown, and their noisy numbers of units if these decide."""
    match plan.selection:
        case None:
            return np.arange(units.size), None
        case OptimalKeys():
            return np.flatnonzero(plan.selection.run(units, entropy=entropy)), None
        case NoisyKeys():
            found = plan.selection.run(units, entropy=entropy)
            counted = Run(values=found.counts, mechanism=plan.selection.noise, keys=plan.selection)
            return np.flatnonzero(found.shown), counted


def _leaves(choice: Choice, sparse: SparseLeaves, places: Integers, entropy: Entropy) -> Integers:
    """Choose leaves in the groups at some places, which rise."""
    group, leaf, count = sparse
    at = np.searchsorted(places, group)
    kept = at < places.size
    kept[kept] = places[at[kept]] == group[kept]
    inside = at[kept], leaf[kept], count[kept]
    return chosen_leaves(choice, inside, groups=places.size, entropy=entropy)


def _check_shape(plan: Plan, raw: Raw) -> None:
    """Refuse totals of other groups than the plan's; the message says nothing about them."""
    groups = raw.units.size
    public = plan.lowered.public
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
