"""The groups of a huge product that reach a threshold: touched ones, and empty ones that are drawn.

Trust: kernel.  Which groups are touched is data, so those that do not reach it end here.

Definition.  Touched groups get the noise of the total that decides, and those that reach the
threshold stay.  Empty ones that reach it are drawn (key ``zero-groups``).  Both together stand in
the order of the product, and nothing tells one from the other: what an engine found for the former
is there, and zeros for the latter.  All other noise is drawn afterwards, for both alike.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.noise import Entropy
from discreet.plan.arrow_arrays import arrow_numbers, arrow_values, numbers
from discreet.plan.noises import UNITS
from discreet.plan.plan import Plan
from discreet.plan.product import Product
from discreet.plan.raw import ARROW_TYPES, Integers, Raw, SparseLeaves
from discreet.plan.reached import Reached
from discreet.release.noisy import Run

__all__ = ["reached_groups"]


def reached_groups(plan: Plan, reached: Reached, raw: Raw, *, entropy: Entropy) -> tuple[Raw, Run]:
    """Return the totals of all groups that reach the threshold, and what they reached it by."""
    product = plan.lowered.product
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
    found = Raw(
        keys=_keys(product, places[order], plan),
        units=filled(raw.units),
        totals={name: filled(values) for name, values in raw.totals.items()},
        leaves={name: _leaves(sparse, rank) for name, sparse in raw.leaves.items()},
    )
    return found, Run(values=counts, mechanism=zeros.noise)


def _places(product: Product, keys: tuple[pa.Array, ...], plan: Plan) -> Integers:
    """Return the numbers of groups in a product."""
    found = np.zeros(len(keys[0]), np.int64)
    for key, column in zip(_values(product, plan), keys, strict=True):
        digit = pc.index_in(column.cast(key.type), value_set=key)
        if digit.null_count:
            message = "a group that is not in the product"
            raise ValueError(message)
        found = found * len(key) + numbers(digit)
    return found


def _keys(product: Product, places: Integers, plan: Plan) -> tuple[pa.Array, ...]:
    """Return the keys of groups with these numbers."""
    found: list[pa.Array] = []
    for key in reversed(_values(product, plan)):
        places, digit = np.divmod(places, len(key))
        found.append(key.take(arrow_numbers(digit, pa.int64())))
    return tuple(reversed(found))


def _values(product: Product, plan: Plan) -> list[pa.Array]:
    return [
        arrow_values(values, ARROW_TYPES[key.type])
        for values, key in zip(product.lists, plan.lowered.keys, strict=True)
    ]


def _leaves(sparse: SparseLeaves, rank: Integers) -> SparseLeaves:
    """Number groups anew, and leave out those that have no number."""
    group, leaf, count = sparse
    at = rank[group]
    order = np.argsort(at, kind="stable")
    order = order[at[order] >= 0]
    return at[order], leaf[order], count[order]
