"""What a memo costs: while a value stays, and when it changes.

Trust: kernel.

Setting.  A device keeps one answer of k-ary randomized response at ``permanent`` = a for each value
that it meets, and reports that answer through fresh randomized response at ``fresh`` = b.

Theorem (key ``memo-constant``).  Between two people whose values stay, T reports lose exactly
ln((e^(a + T b) + k - 1) / (e^(T b) + e^a + k - 2)), which grows with T and stays below a.
Proof.  Let n_j count the reports of category j.  The chance of the reports given the value v is, up
to a common factor, e^a x + y + R, where x = e^(b n_v), y = e^(b n_w) for the other value w, and R
is the sum of e^(b n_j) over all other j.  The ratio (e^a x + y + R) / (x + e^a y + R) grows with x
and falls with y and R; all reports v make x the largest and y and R the least at once.

Theorem (key ``memo-changes``).  Between any two histories, T reports lose at most T b.
Proof.  The kept answers have a law that does not depend on the history.  Given them, each report is
a fresh response, and changing the history changes T of them, by at most b each.
The often quoted bound of a for each value that is met is wrong: it compares histories with the same
pattern of repeats alone, and the pattern shows.  A value that stays against one that alternates
loses 8.37 at a = 1, b = 3, T = 6.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from discreet.exact import Interval
from discreet.loss.elementary import exp, log

_GRAIN: Final = 1 << 40


def price_of_constant(
    *, values: int, permanent: Fraction, fresh: Fraction, reports: int
) -> Interval:
    """Enclose what T reports of a value that stays lose.

    >>> one = Fraction(1)
    >>> round(price_of_constant(values=2, permanent=one, fresh=one, reports=2).nearest(), 6)
    0.735326
    """
    kept, told = exp(-permanent), exp(-fresh * reports)
    ends = [
        (1 + (values - 1) * a * b) / (a + b + (values - 2) * a * b)
        for a, b in ((kept.high, told.high), (kept.low, told.low))
    ]
    return Interval(max(log(ends[0]).low, Fraction(0)), min(log(ends[1]).high, permanent))


def rounded_up(price: Fraction) -> Fraction:
    """Round a price up to a multiple of 2**-40, so that sums of prices stay short.

    >>> rounded_up(Fraction(1, 3)) - Fraction(1, 3) < Fraction(1, 2**40)
    True
    """
    return Fraction(math.ceil(price * _GRAIN), _GRAIN)
