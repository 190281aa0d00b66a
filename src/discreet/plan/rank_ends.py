"""How far beside a rank two choices have to aim so that a quantile lies between what they choose.

Trust: public.  Intervals of quantiles rest on it, and no promise of privacy does.

Definition.  The quantile at level q of n values is any number between those of ranks
floor(q (n - 1)) + 1 and ceil(q (n - 1)) + 1, counted from the lowest: definitions differ in how
they interpolate there.  With d the denominator of q, k leaves and a choice of some scale, let R be
scale ln((k - 1) (1 - m) / m), or 0 if that is more.  ``ranks_aside`` is ceil(R + q - 1 / d) below
the quantile, ceil(R + 1 - q - 1 / d) above it, and at least 1.
Theorem (key ``quantile-ends``).  Whatever the values are, and however few, a choice at level q with
an offset of minus that many ranks (:mod:`discreet.plan.noises`) is a leaf no higher than the one of
the quantile, except with a chance of at most m; and one with an offset of plus that many is no
lower.
Proof.  Let T be the ranks below, t = q n - T.  With T more rows in the first leaf the ranks of the
leaves cover all numbers from 0 to n + T, so one of them holds q n, and the best score is 0.  A leaf
is too high if more than q (n - 1) rows lie below it: then it is none of the values that define the
quantile.  It is not the first leaf, and is T - q + 1 / d >= R or more beside its rank, since ranks
are whole numbers, and q n a multiple of 1 / d.  So each of at most k - 1 such leaves has
at most exp(-R / scale) times the chance of the best, and all of them at most m.  Above the quantile
it is the same with the order of the values reversed.
No number of rows is needed: where there are fewer than the ranks aside, the first or the last leaf
is chosen, and the interval ends at the bounds of the values.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from discreet.exact import float_up

if TYPE_CHECKING:  # in annotations alone
    from discreet.mechanisms import Exponential

__all__ = ["ranks_aside"]

_MORE: Final = 1 + 2.0**-40


def ranks_aside(level: Fraction, select: Exponential, missed: Fraction, *, above: bool) -> int:
    """Return how many ranks beside a level an end of its interval has to aim.

    >>> from discreet.mechanisms import Exponential
    >>> choose = Exponential(candidates=101, scale=2)
    >>> ranks_aside(Fraction(1, 2), choose, Fraction(1, 40), above=True)
    17
    """
    share = 1 - level if above else level
    odds = (select.candidates - 1) * (1 - missed) / missed
    far = math.log(odds) * float_up(select.scale) * _MORE if odds > 1 else 0.0
    return max(1, math.ceil(Fraction(far) + share - Fraction(1, level.denominator)))
