"""Uniform random sets of a fixed size, for many people at once, as rows of bits.

Trust: kernel.

Theorem (key ``uniform-sets``).  Flip one coin for each of k values.  While a row has more than
w - 1 ones, remove a uniform one; while it has fewer, add a uniform zero; then add one more, the
guest.  The row is a uniform w-subset, and the guest uniform among its members.
Proof.  Every step treats all values alike, so every set of w - 1 is equally likely, and each of the
k - w + 1 guests; so each pair of a w-set and a member of it is equally likely.

A uniform one is found by drawing values until one is in the set.  Coins of a chance near w/k leave
few to move, so this takes a few draws for each person, and not w.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.local.randomizers.bitmap import row_size
from discreet.noise import Entropy, Uniform
from discreet.noise.packed_coins import packed_coins

_PARTS: Final = 16  # chances of the first coins, which are settled after four bits
_FEW: Final = 4  # members that are found sooner one by one


def uniform_sets(
    count: int, values: int, size: int, entropy: Entropy
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return a uniform set for each person, and a uniform member of each.

    >>> from discreet.noise import SYSTEM
    >>> rows, guests = uniform_sets(5, 12, 3, SYSTEM)
    >>> np.bitwise_count(rows).sum(axis=1).tolist(), guests.shape
    ([3, 3, 3, 3, 3], (5,))
    """
    width = row_size(values)
    first = Fraction((size - 1) * _PARTS // values if size > _FEW else 0, _PARTS)
    rows = packed_coins(first, count, values, entropy)
    flat = rows.reshape(-1)
    sizes = np.bitwise_count(rows).sum(axis=1, dtype=np.int64)
    guests = np.empty(count, np.int64)
    open_, over = np.arange(count), sizes - (size - 1)
    draw = Uniform(below=values)
    while open_.size:
        drawn = draw.sample(open_.size, entropy)
        place = open_ * width + (drawn >> 3)
        bit = np.left_shift(1, drawn & 7, dtype=np.uint8, casting="unsafe")
        byte = flat[place]
        removes = over > 0
        moves = ((byte & bit) != 0) == removes
        flat[place] = byte ^ (bit * moves)
        last = moves & (over == 0)
        over += np.where(removes, -1, 1) * moves
        guests[open_[last]] = drawn[last]
        open_, over = open_[~last], over[~last]
    return rows, guests
