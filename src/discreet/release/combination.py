"""One answer from two to the same question.

Trust: public.  Both have been paid for; what is computed from them costs nothing more.

Definition.  Every noisy total becomes the mean of the two with weights in inverse proportion to the
variances of their noises, to three digits; everything else is computed anew from these.
Theorem (key ``inverse-variance``).  Of all weighted means of independent unbiased numbers with
variances v and w, the one with weights w / (v + w) and v / (v + w) has the least variance,
v w / (v + w).
Proof.  x**2 v + (1 - x)**2 w is least at x = w / (v + w).
Whether another draw would change anything follows from the two prices, before it is drawn: a total
gains if the draw has a weight, and a choice if the draw has the smaller scale (``gains``).
A group that only one of the answers shows keeps its numbers.  Chosen leaves cannot be averaged: the
choice with the smaller scale counts, also of the ends of intervals.  A noisy number of units that
showed its group by reaching a threshold is not unbiased, and a mean of two such is not either;
their intervals know that.

If groups are shown by reaching a threshold, out of more than could be listed, nothing is known
of a group that only one answer shows but what that one says; so such answers are not combined.
Nor are running counts, or the levels of a cube, that are computed from noisy sums of groups, nor
answers with other groups, since each selects groups of its own.

If units touch more groups than they may count in, each answer counts them in groups of its own
choice.  What an interval is about is then the same mean of the two totals without noise.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from discreet.aggregates.noisy_totals import Chosen, Noisy, NoisyTotal
from discreet.errors import WrongKind
from discreet.plan.pricing.linear_strategy import CellSensitivity
from discreet.release.columns import columns_of
from discreet.release.release import Release

if TYPE_CHECKING:  # for annotations alone
    from discreet.plan.plan import Plan
    from discreet.plan.pricing.group_sensitivity import LeafChoice, Noise
    from discreet.plan.statistics.answer_layout import Estimate
    from discreet.requests.raw_totals import Integers

__all__ = ["combinable", "combine", "gains", "remaining_spread"]

_PARTS: Final = 1 << 10


def combine(first: Release, second: Release) -> Release:
    """Combine two answers to one question into one with smaller errors.

    The confidence, the condition on groups, the order and the limit are those of the second.
    """
    _check(first, second)
    parts: list[Noisy] = []
    for one in first.parts:
        for other in second.parts:
            here, there = _shared(one, other)
            parts.append(_mean(one.taken(here), other.taken(there)))
    parts += [_without(one, second.parts) for one in first.parts]
    parts += [_without(other, first.parts) for other in second.parts]
    parts = [part for part in parts if part.size] or parts[:1]
    columns = columns_of(second.plan, parts)
    return Release(
        plans=(*first.plans, *second.plans),
        columns=columns,
        parts=tuple(parts),
        private=first.private and second.private,
        sources=second.sources,
    )


def combinable(first: Plan, second: Plan) -> bool:
    """Say whether answers of two plans can be combined, before there are any."""
    drawn = first.having_threshold is not None or second.having_threshold is not None
    noises = (*first.noises, *second.noises)
    drawn = drawn or any(map(_of_groups, noises)) or first.cube is not None
    drawn = drawn or first.question.other
    return not drawn and _asked(first) == _asked(second)


def gains(parts: Sequence[Noisy] | None, plan: Plan) -> bool:
    """Say whether another draw, of this plan, can change an answer to the same question.

    ``parts`` are what was drawn before; None for one draw of the same plan.  If groups are
    selected, another draw may show others.
    """
    if plan.selection is not None:
        return True
    if parts is None:
        return bool(plan.noises)
    spreads = {_place(choice): choice.spread for choice in plan.choices}
    return any(
        any(_adds(part, noise) for noise in plan.noises)
        or any(spreads[_place(each.choice)] < each.choice.spread for each in part.chosen)
        for part in parts
    )


def remaining_spread(drawn: Sequence[Plan], plan: Plan) -> float:
    """Return which part of the spread of noise another draw of a plan leaves, at most.

    ``drawn`` are the plans of all draws so far.  The standard deviation of the noise in each total
    becomes this part of what it is, or less; intervals follow, but for those of chosen values and
    of numbers that a threshold has shown.
    """
    known = [_variances(each) for each in drawn]
    shares = []
    for name, new in _variances(plan).items():
        weight = sum((1 / each[name] for each in known if name in each), Fraction(0))
        shares.append(weight / (weight + 1 / new))  # of the variance
    return math.sqrt(max(shares, default=Fraction(1)))


def _variances(plan: Plan) -> dict[str, Fraction]:
    noises = (noise for noise in plan.noises if not _of_groups(noise))
    return {name: variance for noise in noises for name, variance in _drawn(noise).items()}


def _adds(part: Noisy, noise: Noise) -> bool:
    """Say whether another draw of a noise has a weight in a mean with what there is."""
    if _of_groups(noise):
        return False
    drawn = _drawn(noise)
    return any(_weight(_variance(part.totals[name]), new) < 1 for name, new in drawn.items())


def _of_groups(noise: Noise) -> bool:
    """Whether sums of groups are measured, of which no total of a group is known."""
    far = noise.distances
    strategy = far.strategy
    cube = strategy is None and isinstance(far, CellSensitivity)
    return cube or (strategy is not None and bool(strategy.source.frames))


def _drawn(noise: Noise) -> dict[str, Fraction]:
    """Return the variances of the totals that a noise is drawn for."""
    strategy, variance = noise.distances.strategy, noise.mechanism.law.moments().variance.high
    if strategy is None:
        return {noise.measure: variance}
    return {
        name: sum((Fraction(weight) ** 2 for _, weight in weights), Fraction(0)) * variance
        for name, weights in strategy.answers
    }


def _check(first: Release, second: Release) -> None:
    if not (combinable(first.plan, second.plan) and first.parts and second.parts):
        raise WrongKind(
            what="the two answers are not to the same question, or one of them was mapped.",
            why="only numbers of the same totals can be averaged.",
            do="ask the same question twice, and combine the answers as they came.",
        )
    if first.sources != second.sources:
        raise WrongKind(
            what="the two answers were computed from data in different states.",
            why="a mean of the two would describe neither.",
            do="ask the question again, which has its own price.",
        )
    if _same(first, second):
        raise WrongKind(
            what="the two are the same answer, perhaps replayed.",
            why="averaging the same noise gains nothing.",
            do="ask again at another price, which draws new noise.",
        )


def _asked(plan: Plan) -> tuple[object, ...]:
    """Return what must agree: the totals, what is computed from them, and who is protected."""
    lowered = replace(plan.request, public=None)
    return plan.unit, lowered, tuple(map(_aimed, plan.estimates)), plan.layout.outputs


def _aimed(estimate: Estimate) -> Estimate:
    """Leave out how far beside its rank a quantile is aimed, which follows from the price."""
    return replace(estimate, estimator=estimate.estimator.aimed(defaultdict(int)))


def _same(first: Release, second: Release) -> bool:
    """Say whether two answers may hold the same noise: entries of a ledger tell, else plans do."""
    if first.receipt is not None and second.receipt is not None:
        return first.receipt == second.receipt
    known = {plan.digest for plan in first.plans}
    return any(plan.digest in known for plan in second.plans)


def _shared(one: Noisy, other: Noisy) -> tuple[Integers, Integers]:
    """Return the places of the groups that both show."""
    if one.size == other.size and all(map(pa.Array.equals, one.keys, other.keys)):
        return np.arange(one.size), np.arange(one.size)
    there = {group: place for place, group in enumerate(_groups(other))}
    pairs = [(place, there[group]) for place, group in enumerate(_groups(one)) if group in there]
    places = np.array(pairs, np.int64).reshape(-1, 2)
    return places[:, 0], places[:, 1]


def _without(one: Noisy, others: tuple[Noisy, ...]) -> Noisy:
    """Return the groups that no other part shows."""
    known = {group for other in others for group in _groups(other)}
    alone = [place for place, group in enumerate(_groups(one)) if group not in known]
    return one.taken(np.array(alone, np.int64))


def _groups(noisy: Noisy) -> list[Hashable]:
    if not noisy.keys:
        return [()] * noisy.size
    return list(zip(*(key.to_pylist() for key in noisy.keys), strict=True))


def _mean(one: Noisy, other: Noisy) -> Noisy:
    totals = {**one.totals, **other.totals}
    for name in one.totals.keys() & other.totals.keys():
        totals[name] = _averaged(one.totals[name], other.totals[name])
    theirs = {_place(each.choice): each for each in other.chosen}
    chosen = tuple(_sharper(each, theirs[_place(each.choice)]) for each in one.chosen)
    return Noisy(size=one.size, keys=one.keys, totals=totals, chosen=chosen)


def _place(choice: LeafChoice) -> tuple[str, Fraction | str, int]:
    return *choice.use, choice.side


def _averaged(one: NoisyTotal, other: NoisyTotal) -> NoisyTotal:
    weight = _weight(_variance(one), _variance(other))
    runs = [
        *(replace(run, weight=run.weight * weight) for run in one.runs),
        *(replace(run, weight=run.weight * (1 - weight)) for run in other.runs),
    ]
    shared = one.shared or other.shared
    kept = tuple(run for run in runs if run.weight)
    shown_by = (*one.shown_by, *other.shown_by)
    return NoisyTotal(kept, shared=shared, row_bounds=one.row_bounds, shown_by=shown_by)


def _weight(mine: Fraction, theirs: Fraction) -> Fraction:
    """Return the weight of the first of two numbers, from the variances of their noises."""
    return Fraction(round(_PARTS * theirs / (mine + theirs)), _PARTS)


def _variance(total: NoisyTotal) -> Fraction:
    variances = ((run.weight, run.mechanism.law.moments().variance.high) for run in total.runs)
    return sum((weight**2 * variance for weight, variance in variances), Fraction(0))


def _sharper(one: Chosen, other: Chosen) -> Chosen:
    return one if one.choice.spread <= other.choice.spread else other
