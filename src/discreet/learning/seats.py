"""Seats: where the units of a batch are computed, so that none moves when another one comes.

Trust: kernel.

A library may compute a row otherwise in another place of a micro-batch, to the last bit, and rows
whose outputs cancel magnify a bit without a bound.  A unit more would then move all units behind
it, and with them the sum by more than one contribution.  That no place is seen to matter proves
nothing: it may matter for other weights or rows.  So units take seats whenever a micro-batch has
more than one place, or several processes compute them; one place in one process is a seat for all.

Theorem (key ``random-seats``).  Let the n units of a batch take n different seats of s, uniformly
at random, let s >= n + 1, and let what a unit contributes follow from its own rows and its seat.
Then releases of the sums of these n units and of one more are dominated as if contributions did not
depend on seats.
    Proof.  The seats of n + 1 units are those of n of them, chosen first, and one that is left,
    uniformly at random for the last unit: every choice has the chance (s - n - 1)!/s!.  Given the
    seats of the n, both sums have the same contributions of these, and one has that of the unit,
    which is at most C long in every seat.  So for each seat of the unit the two releases are a pair
    of the mechanism, and so is the pair of mixtures over seats, drawn or not: the divergence of
    order e**epsilon is jointly convex.  Under ``replace`` the new unit takes the old one's seat.
There are as many seats as the cap of a batch has units, or more.  Batches whose others fill the cap
are what the key ``capped-batch`` pays for, so s >= n + 1 holds for all that are left.

That nobody beside a unit matters is tested, not proved (:mod:`discreet.learning.deep.companions`).
Seats that nobody takes are computed as padding: that is the price of them, in time.  No micro-batch
is left out because it is empty: streams and memory that a library keeps between calls would then
depend on the units.  With random seats hardly any is empty, so little would be gained.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange
from discreet.noise import SYSTEM, Entropy

_BITS: Final = 64


def seats_for(cap: int, *, micro: int) -> int:
    """Return how many seats full micro-batches have for as many units as a batch may have.

    >>> seats_for(300, micro=256)
    512
    """
    return -(-cap // micro) * micro


def fitting_size(cap: int, *, most: int) -> int:
    """Return the least size of micro-batches that needs no more of them than the largest does.

    >>> fitting_size(300, most=256), seats_for(300, micro=150)
    (150, 300)
    """
    return -(-cap // -(-cap // most))


def seated(rows: NDArray[np.int64], *, seats: int, entropy: Entropy = SYSTEM) -> NDArray[np.int64]:
    """Return the rows of units on random lines, and -1 on those that nobody takes.

    >>> lines = seated(np.array([[7], [9]]), seats=4)
    >>> sorted(lines.ravel().tolist())
    [-1, -1, 7, 9]
    """
    if rows.shape[0] > seats:
        raise OutOfRange(
            what="there are more units than seats.",
            why="every unit needs a seat of its own.",
            do="draw batches with PoissonBatches, whose cap has as many seats.",
        )
    found = np.full((seats, *rows.shape[1:]), -1, np.int64)
    found[shuffled(seats, entropy)[: rows.shape[0]]] = rows
    return found


def shuffled(count: int, entropy: Entropy = SYSTEM) -> NDArray[np.int64]:
    """Return all numbers below a count, in an order that is exactly uniform.

    Random words are sorted; if two of them are equal, which would prefer an order, all are drawn
    again.

    >>> sorted(shuffled(3).tolist())
    [0, 1, 2]
    """
    while True:
        words = entropy.words(count, _BITS)
        order = np.argsort(words, kind="stable")
        ranked = words[order]
        if not (ranked[1:] == ranked[:-1]).any():
            return order.astype(np.int64)
