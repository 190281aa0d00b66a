"""Between what a quantile lies.

Trust: public.  Intervals are functions of what is released.

Definition.  What a quantile is, is said in :mod:`discreet.plan.rank_ends`: any number between the
two values whose ranks are next to it.  Its interval goes from the lower edge of the leaf that was
chosen below it to the upper edge of the one that was chosen above it.  An end that nothing was
chosen for, or that misses more often than the confidence allows, is at the bounds of the values.
Theorem (key ``quantile-ends``).  Each end misses with a chance of at most (1 - confidence) / 2, the
only end of the lowest and of the highest value with at most 1 - confidence.  So the interval holds
the quantile with the confidence, whatever the values are, and however few.
If the leaf from below is above the one from above, one of them missed; the interval then holds
both.  A value next to the edge of a leaf may be counted in the leaf beside it, where floats are
rounded; so edges are moved outward by more than that.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np

from discreet.exact import float_down, float_up
from discreet.plan.estimators import Grid, Quantile
from discreet.plan.rank_ends import ranks_aside
from discreet.plan.raw import Integers
from discreet.release.estimates import ends_for
from discreet.release.noisy import Chosen, Noisy
from discreet.release.outward import Ends
from discreet.release.rationals import weighted

__all__ = ["quantile_interval"]

_ROUNDING: Final = Fraction(1, 1 << 48)
_HALF: Final = Fraction(1, 2)


def quantile_interval(quantile: Quantile, noisy: Noisy, confidence: Fraction) -> Ends:
    """Return what the quantile of each group lies between.

    >>> from discreet.mechanisms import Exponential
    >>> from discreet.plan.noises import Choice
    >>> def chosen(offset, leaf):
    ...     choice = Choice(measure="age", level=Fraction(1, 2), offset=offset, rows=1, groups=1,
    ...                     available=None, mechanism=Exponential(candidates=111, scale=2))
    ...     return Chosen(choice=choice, leaves=np.array([leaf]))
    >>> noisy = Noisy(size=1, keys=(), totals={},
    ...               chosen=(chosen(0, 41), chosen(-17, 38), chosen(17, 45)))
    >>> ages = Grid(low=Fraction(0), width=Fraction(1), leaves=111)
    >>> median = Quantile(measure="age", level=Fraction(1, 2), offset=0, grid=ages)
    >>> [end.tolist() for end in quantile_interval(median, noisy, Fraction(19, 20))]
    [[38.0], [45.0]]
    >>> [end.tolist() for end in quantile_interval(median, noisy, Fraction(99, 100))]
    [[0.0], [110.0]]
    """
    below, above = ends_for(quantile, noisy)
    inside = 0 < quantile.level < 1
    missed = (1 - confidence) / (2 if inside else 1)
    first = np.zeros(noisy.size, np.int64)
    last = np.full(noisy.size, quantile.grid.leaves - 1, np.int64)
    low = below.leaves if below is not None and _enough(below, missed) else first
    high = above.leaves if above is not None and _enough(above, missed) else last
    return _edges(quantile.grid, np.minimum(low, high), np.maximum(low, high))


def _enough(chosen: Chosen, missed: Fraction) -> bool:
    """Say whether an end is aimed so far aside that it misses rarely enough."""
    choice = chosen.choice
    need = ranks_aside(choice.level, choice.mechanism, missed, above=choice.side > 0)
    return need <= abs(choice.offset)


def _edges(grid: Grid, low: Integers, high: Integers) -> Ends:
    """Return the lower edges of some leaves and the upper ones of others."""
    half = grid.shift * grid.width
    slack = grid.leaves * grid.width * _ROUNDING if grid.shift == _HALF else Fraction(0)
    ones = np.ones(low.shape, np.int64)
    bottom = weighted([(grid.width, low), (grid.value(0) - half - slack, ones)]).down()
    top = weighted([(grid.width, high), (grid.value(0) + half + slack, ones)]).up()
    most = grid.value(grid.leaves - 1) + half if grid.high is None else grid.high
    return np.maximum(bottom, float_down(grid.low)), np.minimum(top, float_up(most))
