"""Which moves of an integer vector cost the most under independent log-concave noise.

Trust: kernel.

Definition.  A move is the difference of two inputs, as the tuple of its entries other than zero, in
size; signs and places do not matter, since the noise is symmetric and the same everywhere.
Theorem (key ``log-concave-moves``).  Let the noise be log-concave on the integers.
    1. A longer move of one coordinate costs at least as much as a shorter one.
    2. A move by a and b in two coordinates costs at most as much as one by a + b in one.
Proof.  For log-concave p the ratio p(y - a) / p(y) grows with y, so the best test is a threshold
t: h(e) = P[Z >= t - a] - e P[Z >= t], which grows with a: that is (1).  For (2) go from x to x'
through the corner y where only one coordinate has moved.  For all e = e1 e2,
h(x', x; e) <= h(x', y; e1) + e1 h(y, x; e2), and the right side, with e1 and e2 chosen such that
one threshold is best in both terms, equals P[Z >= t - a - b] - e P[Z >= t].
So only the moves that no other covers need to be priced.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable

from discreet.exact import whole

__all__ = ["worst_moves"]

Move = tuple[int, ...]

MOST_SQUARED = 20
"""Squared distances up to which all moves are listed."""


@functools.lru_cache(maxsize=256)
def worst_moves(*, squared: int, coordinates: int) -> tuple[Move, ...]:
    """Return the costliest moves of at most this squared length in at most so many coordinates.

    >>> worst_moves(squared=2, coordinates=5)
    ((1, 1),)
    >>> worst_moves(squared=4, coordinates=9)
    ((1, 1, 1, 1), (2,))
    """
    room = whole(squared, name="squared", low=1, high=MOST_SQUARED)
    places = whole(coordinates, name="coordinates", low=1)
    moves = sorted(_moves(room, places, math.isqrt(room)))
    return tuple(
        move for move in moves if not any(_covers(other, move) for other in moves if other != move)
    )


def _moves(room: int, places: int, largest: int) -> Iterable[Move]:
    """List the moves with entries in falling order."""
    for first in range(1, min(largest, math.isqrt(room)) + 1):
        yield (first,)
        if places > 1:
            for rest in _moves(room - first * first, places - 1, first):
                yield (first, *rest)


def _covers(large: Move, small: Move) -> bool:
    """Decide whether the entries of one move, added up in groups, fit into those of another.

    Entries are in falling order, so once they are ones, all that counts is how much room is left.
    """
    if sum(small) > sum(large):
        return False
    if not small or small[0] == 1:
        return True
    first, rest = small[0], small[1:]
    for size in set(large):  # equal entries are as good as each other
        if size >= first:
            at = large.index(size)
            if _covers((*large[:at], size - first, *large[at + 1 :]), rest):
                return True
    return False
