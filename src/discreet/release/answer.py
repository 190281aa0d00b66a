"""The answer: noise is added to exact totals, groups are chosen, and columns are made.

Trust: kernel.  The numbers of bins get their noise here, and nowhere else.  Which groups are
touched is data, so those that do not reach a threshold end here.

Definition.  Every bin of a target gets the noise of the search.  With a chance of at least
1 - ``FALSE_ALARM``, no noise of a target is above r in size.  Bins whose noisy number is above r
*stand out*; bounds are those of the numbers from the lowest to the highest of them.  If none stands
out, bounds are the widest that there are: they cut off nothing, and noise is as wide.
Theorem (key ``bounds-found``).  With the chance 1 - ``FALSE_ALARM`` at least, every bin that stands
out holds a row of some unit; and a bin in which more than 2 r units have their row stands out.
Proof.  Both hold if no noise is above r in size.
Nothing else is computed from the histogram: what follows is post-processing (key
``post-processing``).  The number of bins, the order and all messages are the same regardless of the
data holds.

Definition.  In a huge product of public values, touched groups get the noise of the total that
decides, and those that reach the threshold stay.  Empty ones that reach it are drawn (key
``zero-groups``).  Both together stand in the order of the product, and nothing tells one from the
other: what an engine found for the former is there, and zeros for the latter.  All other noise is
drawn afterwards, for both alike.

Definition.  Of a cube, the sums of its strategy get noise, and nothing else of the groups that an
engine found goes on: rows of the answer are those of all public values, and their numbers are
computed from the noisy sums (:mod:`discreet.release.cube_levels`).

Definition.  If the other groups are asked for, one more number for each measure is the sum of its
totals in all groups that are not shown, with noise (:mod:`discreet.plan.workload.other_groups`).

Definition.  Where keys are private, the plan's choice of keys runs first, and only groups that it
shows go on.  Where there are more public groups than could be listed, only those that reach the
plan's threshold do (:mod:`discreet.release.answer`).  Then every measure gets the noise
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

import math
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from discreet import mechanisms
from discreet.aggregates.noisy_totals import (
    Chosen,
    GroupSums,
    Noisy,
    NoisyTotal,
    Run,
    joined_totals,
)
from discreet.errors import DiscreetError, EngineFailed, WrongKind
from discreet.noise import SYSTEM, Entropy
from discreet.plan.bounds_search import FALSE_ALARM, BoundsSearch, BoundsTarget, FoundBounds
from discreet.plan.plan import Plan
from discreet.plan.pricing.cube_strategy import CubeStrategy
from discreet.plan.pricing.group_sensitivity import (
    UNITS,
    LeafChoice,
    LeafUse,
    Noise,
    QuantileSpan,
    ScoredChoice,
    trees_of,
)
from discreet.plan.pricing.linear_strategy import CellSensitivity, coordinates_of, kept_leaves
from discreet.plan.workload.other_groups import other_noise
from discreet.release.cube_levels import cube_of
from discreet.release.release import Release
from discreet.requests.engine_request import Total
from discreet.requests.raw_totals import (
    ARROW_TYPES,
    Integers,
    RawTotals,
    SparseLeaves,
    arrow_numbers,
    arrow_values,
    taken,
    value_places,
)
from discreet.requests.table_schema import Product

if TYPE_CHECKING:  # for annotations alone
    from discreet.plan.statistics.having_threshold import HavingThreshold


_LARGEST_TOTAL: Final = 1 << 62
"""Totals end there, so that noise is added within 64 bits; a clamp moves none further apart."""
_LIKELY: Final = Fraction(9, 10)
"""Two-sided, so that the share that bounds may clip is larger with a chance of a twentieth."""


def private_bounds(
    search: BoundsSearch, raw: RawTotals, *, entropy: Entropy = SYSTEM
) -> tuple[FoundBounds, ...]:
    """Return bounds for everything that lacks them.

    Args:
        search: what is looked for, and with which noise.
        raw: the histograms that an engine computed for the search.
        entropy: where random bits come from.
    """
    bounds: tuple[FoundBounds, ...] | None = None
    failure: DiscreetError = EngineFailed(
        what="the numbers of the engine do not fit the search for bounds.",
        why="the reason itself might contain values of the data.",
        do="report this as a bug; the charge stays.",
    )
    try:
        bounds = tuple(_found(search, raw, entropy))
    except DiscreetError as error:
        failure = type(error)(what=error.what, why=error.why, do=error.do)
    except Exception:  # noqa: BLE001, S110 (its text may quote numbers; replaced below)
        pass
    del raw
    if bounds is None:  # raised here, where the other error is out of sight
        raise failure
    return bounds


def bounds_from_bins(target: BoundsTarget, noise: Noise, noisy: Integers) -> FoundBounds:
    """Return the bounds that noisy numbers of bins show."""
    least = noise.mechanism.error(confidence=1 - FALSE_ALARM, coordinates=target.bins.count)
    above = np.flatnonzero(noisy > int(least))
    if not above.size:
        low, high = target.bins.widest
        return FoundBounds(about=target.about, low=low, high=high, seen=False)
    first, last = int(above[0]), int(above[-1])
    low, high = target.bins.span(first, last)
    others = np.concatenate([noisy[:first], noisy[last + 1 :]])
    off = int(noise.mechanism.error(confidence=_LIKELY) * math.sqrt(len(others)))
    beyond, inside = max(int(others.sum()), 0) + off, max(int(noisy[first : last + 1].sum()), 1)
    outside = Fraction(beyond, beyond + inside)
    return FoundBounds(about=target.about, low=low, high=high, seen=True, outside=outside)


def _found(search: BoundsSearch, raw: RawTotals, entropy: Entropy) -> Iterator[FoundBounds]:
    for target, noise in zip(search.targets, search.noises, strict=True):
        exact = _dense(raw.leaves[target.measure], target.bins.count)
        noisy: Integers = noise.mechanism.run(exact, entropy=entropy)
        yield bounds_from_bins(target, noise, noisy)


def _dense(sparse: SparseLeaves, count: int) -> Integers:
    """Return the number of units in each bin, of the one group that there is."""
    _, leaf, rows = sparse
    counts = np.zeros(count, np.int64)
    np.add.at(counts, leaf, rows)
    return counts


def groups_above_threshold(
    plan: Plan, reached: HavingThreshold, raw: RawTotals, *, entropy: Entropy
) -> tuple[RawTotals, Run]:
    """Return the totals of all groups that reach the threshold, and what they reached it by."""
    product = plan.request.product
    if product is None:
        message = "only groups of a product are drawn"
        raise TypeError(message)
    zeros, touched = reached.zeros, _places(product, raw.keys, plan)
    exact = raw.units if reached.measure == UNITS else raw.totals[reached.measure]
    noisy: Integers = zeros.noise.run(exact, entropy=entropy)
    empty = zeros.run(touched, entropy=entropy)
    stay = np.flatnonzero(noisy >= zeros.threshold)
    places = np.concatenate([touched[stay], empty.places])
    order = np.argsort(places)
    counts = np.concatenate([noisy[stay], empty.counts])[order]
    blank = np.zeros(empty.places.size, np.int64)

    def filled(values: Integers) -> Integers:
        return np.concatenate([values[stay], blank])[order]

    rank = np.full(touched.size, -1)
    rank[stay] = np.argsort(order)[: stay.size]
    totals = RawTotals(
        keys=_keys(product, places[order], plan),
        units=filled(raw.units),
        totals={name: filled(values) for name, values in raw.totals.items()},
        leaves={name: _kept_leaves(sparse, rank) for name, sparse in raw.leaves.items()},
    )
    return totals, Run(values=counts, mechanism=zeros.noise)


def _places(product: Product, keys: tuple[pa.Array, ...], plan: Plan) -> Integers:
    """Return the numbers of groups in a product."""
    places = np.zeros(len(keys[0]), np.int64)
    for values, key, column in zip(product.lists, plan.request.keys, keys, strict=True):
        digit = value_places(column, values, key.type)
        if (digit < 0).any():
            message = "a group that is not in the product"
            raise ValueError(message)
        places = places * len(values) + digit
    return places


def _keys(product: Product, places: Integers, plan: Plan) -> tuple[pa.Array, ...]:
    """Return the keys of groups with these numbers."""
    keys: list[pa.Array] = []
    for key in reversed(_values(product, plan)):
        places, digit = np.divmod(places, len(key))
        keys.append(key.take(arrow_numbers(digit, pa.int64())))
    return tuple(reversed(keys))


def _values(product: Product, plan: Plan) -> list[pa.Array]:
    return [
        arrow_values(values, ARROW_TYPES[key.type])
        for values, key in zip(product.lists, plan.request.keys, strict=True)
    ]


def _kept_leaves(sparse: SparseLeaves, rank: Integers) -> SparseLeaves:
    """Number groups anew, and leave out those that have no number."""
    group, leaf, count = sparse
    ranks = rank[group]
    order = np.argsort(ranks, kind="stable")
    order = order[ranks[order] >= 0]
    return ranks[order], leaf[order], count[order]


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
        do="report this as a bug; the charge stays.",
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
    elif plan.cube is not None:
        _check_cube(plan)
    elif private and plan.selection is None:
        raise WrongKind(
            what="the plan has private keys, and selects none of them.",
            why="a group of a single unit would be shown.",
            do="plan the question anew.",
        )
    known = {noise.measure for noise in plan.noises}
    if plan.question.other:
        _check_other(plan, known)
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


def _check_cube(plan: Plan) -> None:
    """Refuse a cube of which something else is shown than tables of public values."""
    tables = [noise.distances for noise in plan.noises]
    cubes = all(
        isinstance(each, CellSensitivity) and isinstance(each.cells, CubeStrategy)
        for each in tables
    )
    if not cubes or plan.selection is not None or plan.choices:
        raise WrongKind(
            what="the plan has grouping sets, and shows more than noisy tables.",
            why="which groups are touched is data.",
            do="plan the question anew.",
        )


def _check_other(plan: Plan, known: AbstractSet[str]) -> None:
    """Refuse the other groups if a number of the answer selects groups, or is not added up."""
    alone = all(noise.distances.strategy is None for noise in plan.noises) and not plan.choices
    used = {name for each in plan.estimates for name in each.estimator.totals()}
    if plan.selection is None or not alone or not used <= known:
        raise WrongKind(
            what="the plan has other groups, and selects groups by the numbers that it shows.",
            why="noise that has selected groups says something of those that it does not show.",
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
    if plan.cube is not None:
        return _cube_sums(plan, raw, entropy)
    totals: dict[str, NoisyTotal] = {}
    sums: dict[str, GroupSums] = {}
    if plan.having_threshold is not None:
        raw, run = groups_above_threshold(plan, plan.having_threshold, raw, entropy=entropy)
        totals[plan.having_threshold.measure] = NoisyTotal((run,))
    drawn = set(totals)
    if isinstance(plan.selection, mechanisms.SumKeys):
        noise = coordinates_of(plan.noises)
        places, coordinates = _summed(noise, plan.selection, raw, entropy)
        totals |= coordinates
        drawn.add(noise.measure)
    else:
        places, counted = _shown(plan, _exact(raw, plan.chosen_by), entropy)
        if counted is not None:
            totals[plan.chosen_by] = NoisyTotal((counted,))
    for noise in plan.noises:
        if noise.measure in drawn:
            continue
        strategy, law = noise.distances.strategy, noise.mechanism
        if strategy is None:
            exact = _exact(raw, noise.measure)[places]
        else:
            exact = strategy.read(raw, places)
        values = law.run(exact, entropy=entropy)
        if strategy is None:
            totals[noise.measure] = NoisyTotal((Run(values=values, mechanism=law),))
        elif strategy.source.frames:
            sums[noise.measure] = GroupSums(strategy=strategy, mechanism=law, drawn=values)
        else:
            totals |= joined_totals(strategy, law, values)
    chosen = tuple(_chosen(plan, raw, places, entropy))
    keys = tuple(taken(key, places) for key in raw.keys)
    other = dict(_other(plan, raw, places, entropy)) if plan.question.other else {}
    return Noisy(size=places.size, keys=keys, totals=totals, chosen=chosen, sums=sums, other=other)


def _other(
    plan: Plan, raw: RawTotals, places: Integers, entropy: Entropy
) -> Iterator[tuple[str, NoisyTotal]]:
    """Add up the totals of all groups that are not shown, and add noise (``other-groups``)."""
    shown = np.zeros(raw.units.size, np.bool_)
    shown[places] = True
    for noise in plan.noises:
        law = other_noise(noise, plan.unit).mechanism
        total = int(_exact(raw, noise.measure)[~shown].astype(object).sum())
        inside = np.array([min(max(total, -_LARGEST_TOTAL), _LARGEST_TOTAL)], np.int64)
        yield (
            noise.measure,
            NoisyTotal((Run(values=law.run(inside, entropy=entropy), mechanism=law),)),
        )


def _cube_sums(plan: Plan, raw: RawTotals, entropy: Entropy) -> Noisy:
    """Return the noisy sums of all tables, and no group: which ones are touched is data."""
    totals = {
        noise.measure: NoisyTotal(
            (
                Run(
                    values=noise.mechanism.run(cube_of(noise).read(raw), entropy=entropy),
                    mechanism=noise.mechanism,
                ),
            )
        )
        for noise in plan.noises
    }
    keys = tuple(arrow_values([], ARROW_TYPES[key.type]) for key in plan.request.keys)
    return Noisy(size=0, keys=keys, totals=totals, chosen=())


def _exact(raw: RawTotals, measure: str) -> Integers:
    return raw.units if measure == UNITS else raw.totals[measure]


def _shown(plan: Plan, counts: Integers, entropy: Entropy) -> tuple[Integers, Run | None]:
    """Return the groups that are shown, and their noisy counts if these decide."""
    match plan.selection:
        case mechanisms.OptimalKeys():
            return np.flatnonzero(plan.selection.run(counts, entropy=entropy)), None
        case mechanisms.NoisyKeys():
            found = plan.selection.run(counts, entropy=entropy)
            counted = Run(values=found.counts, mechanism=plan.selection.noise, keys=plan.selection)
            return np.flatnonzero(found.shown), counted
        case _:
            return np.arange(counts.size), None


def _summed(
    noise: Noise, keys: mechanisms.SumKeys, raw: RawTotals, entropy: Entropy
) -> tuple[Integers, dict[str, NoisyTotal]]:
    """Return the groups whose coordinates add up to enough, and these, drawn for every group."""
    strategy = noise.distances.strategy
    assert strategy is not None  # noqa: S101  (it was found by its strategy)
    exact = strategy.read(raw, np.arange(raw.units.size)).reshape(-1, strategy.size)
    found = keys.run(exact, entropy=entropy)
    totals = joined_totals(strategy, noise.mechanism, found.coordinates.ravel(), keys)
    return np.flatnonzero(found.shown), totals


def _chosen(plan: Plan, raw: RawTotals, places: Integers, entropy: Entropy) -> Iterator[Chosen]:
    """Draw each tree once, and make all other choices."""
    read: dict[LeafChoice, Integers] = {}
    values: dict[LeafUse, Integers] = {}
    for tree, choices in trees_of(plan.choices).items():
        from discreet.release.choices import read_tree  # noqa: PLC0415  rare

        inside = kept_leaves(raw.leaves[tree.measure], places)
        read.update(read_tree(tree, choices, inside, groups=places.size, entropy=entropy))
    for choice in plan.choices:
        if isinstance(choice, ScoredChoice):
            near = values.get(choice.use)
            read[choice] = _leaves(choice, raw.leaves[choice.measure], places, near, entropy)
            values[choice.use] = read[choice]
        yield Chosen(choice=choice, leaves=read[choice])


def _leaves(
    choice: ScoredChoice,
    sparse: SparseLeaves,
    places: Integers,
    near: Integers | None,
    entropy: Entropy,
) -> Integers:
    """Choose leaves in the groups at some places, which rise."""
    inside = kept_leaves(sparse, places)
    from discreet.release.choices import chosen_leaves, chosen_spans  # noqa: PLC0415  rare

    if isinstance(choice, QuantileSpan):
        assert near is not None  # noqa: S101 (values come before their intervals)
        return chosen_spans(choice, inside, near=near, entropy=entropy)
    return chosen_leaves(choice, inside, groups=places.size, entropy=entropy)


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
