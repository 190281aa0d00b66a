"""The loss of symmetric noise, given the costliest move.

Trust: kernel.

Theorem (key ``laplace-coarsening``).  Two-sided geometric noise of scale s at distance d has
delta(eps) = 1 - exp((eps - d/s) / 2) at the losses eps = (d - 2j) / s, and is linear in exp(eps)
between them.  So the noise of scale s/m at distance d/m, for m that divides d, has some of the same
corners and lies above elsewhere: it dominates, with the same pure bound.  On a fine grid, where d
is large, it stands in for noise with too many loss values to list; with n corners left, delta grows
by less than (d / (s n))**2 / 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from discreet.loss import Composition, Profile
from discreet.loss.pairs.discrete_laplace import DiscreteLaplacePair
from discreet.loss.pairs.pair import Pair

__all__ = ["laplace_pair", "priced"]

_MOST_CORNERS: Final = 1 << 14
_TRIES: Final = 1 << 12


def priced(move: Iterable[Pair]) -> Profile:
    """Return the loss of a move, a product of symmetric pairs.

    >>> pair = laplace_pair(Fraction(2), 1)
    >>> priced([pair]).epsilon(delta=0), priced([pair, pair]).epsilon(delta=0)
    (0.5, 1.0)
    """
    both = (Composition(tuple((pair, 1) for pair in move)),)
    return Profile(remove=both, add=both)


def laplace_pair(scale: Fraction, distance: int) -> DiscreteLaplacePair:
    """Return the pair of two-sided geometric noise, or one that dominates it with fewer losses.

    >>> laplace_pair(Fraction(2), 3)
    DiscreteLaplacePair(scale=Fraction(2, 1), distance=3)
    >>> laplace_pair(Fraction(1 << 20), 1 << 22).distance
    16384
    """
    least = -(-distance // _MOST_CORNERS)
    if least > 1:
        for m in range(least, least + _TRIES):
            if distance % m == 0:
                return DiscreteLaplacePair(scale / m, distance // m)
    return DiscreteLaplacePair(scale, distance)
