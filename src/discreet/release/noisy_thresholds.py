"""Noisy thresholds: bounds from a histogram, and groups of a product that are large enough.

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
``post-processing``).  The number of bins, the order and all messages are the same whatever the data
holds.

Definition.  In a huge product of public values, touched groups get the noise of the total that
decides, and those that reach the threshold stay.  Empty ones that reach it are drawn (key
``zero-groups``).  Both together stand in the order of the product, and nothing tells one from the
other: what an engine found for the former is there, and zeros for the latter.  All other noise is
drawn afterwards, for both alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import DiscreetError, EngineFailed
from discreet.noise import SYSTEM, Entropy
from discreet.plan.bounds_search.bounds_search import (
    FALSE_ALARM,
    BoundsSearch,
    BoundsTarget,
    FoundBounds,
)
from discreet.plan.pricing.group_sensitivity import UNITS, Noise
from discreet.release.noisy_totals import Run
from discreet.requests.raw_totals import (
    ARROW_TYPES,
    Integers,
    RawTotals,
    SparseLeaves,
    arrow_numbers,
    arrow_values,
    numbers,
)
from discreet.requests.table_schema import Product

if TYPE_CHECKING:  # for annotations alone
    from discreet.plan.plan import Plan
    from discreet.plan.statistics.having_threshold import HavingThreshold


_NEAR: Final = 8
"""The share that bounds may clip is read off so many bins on either side."""
_LIKELY: Final = Fraction(19, 20)


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
        do="report this as a bug; what was charged stays charged.",
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
    near = np.concatenate([noisy[max(first - _NEAR, 0) : first], noisy[last + 1 :][:_NEAR]])
    off = int(noise.mechanism.error(confidence=_LIKELY)) * math.isqrt(len(near))
    beyond, inside = max(int(near.sum()), 0) + off, max(int(noisy[first : last + 1].sum()), 1)
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
        leaves={name: _leaves(sparse, rank) for name, sparse in raw.leaves.items()},
    )
    return totals, Run(values=counts, mechanism=zeros.noise)


def _places(product: Product, keys: tuple[pa.Array, ...], plan: Plan) -> Integers:
    """Return the numbers of groups in a product."""
    places = np.zeros(len(keys[0]), np.int64)
    for key, column in zip(_values(product, plan), keys, strict=True):
        digit = pc.index_in(column.cast(key.type), value_set=key)
        if digit.null_count:
            message = "a group that is not in the product"
            raise ValueError(message)
        places = places * len(key) + numbers(digit)
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


def _leaves(sparse: SparseLeaves, rank: Integers) -> SparseLeaves:
    """Number groups anew, and leave out those that have no number."""
    group, leaf, count = sparse
    ranks = rank[group]
    order = np.argsort(ranks, kind="stable")
    order = order[ranks[order] >= 0]
    return ranks[order], leaf[order], count[order]
