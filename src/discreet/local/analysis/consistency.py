"""Named post-processing of estimated shares: raw, projected on the simplex, likely, expected.

Trust: public.  It sees estimates only; a bug here costs accuracy, not privacy.

``raw``
    Nothing is changed.  Estimates are unbiased, may be negative, and need not add up to 1; sums of
    many of them should be made of these.
``simplex``
    The shares that are nearest in squares among those that are at least 0 and add up to 1.
    Theorem (key ``simplex-projection``; Held, Wolfe and Crowder 1974).  They are max(x - t, 0) for
    the one t at which these add up to 1.  (Wang and others 2020 call it norm-sub.)
``likelihood``
    The shares under which the numbers of supports are most likely.
    Theorem (key ``simplex-likelihood``).  Let C_v be binomial with chance r_v = q + f_v (p - q).
    The product of their likelihoods is largest, among shares at least 0 that add up to 1, where
    r_v = max(q, (n + t - sqrt((n + t)**2 - 4 t C_v)) / (2 t)) for the one t at which they add up
    to 1.  Proof.  The logarithm is a sum of concave functions, one of each share, so all shares
    above 0 have one slope: C_v / r_v - (n - C_v) / (1 - r_v) = t, a quadratic equation; shares at 0
    have a smaller one, and r_v falls with t.
    Direct response supports one value with each report, and its counts are multinomial: the slope
    is C_v / r_v, and r_v = max(q, C_v / t), where expectation maximization would end as well.
    The supports of other oracles are not independent, so theirs is a composite likelihood.
``posterior``
    What to expect of each share (see ``posterior``): above 0 for all values, and adding up to 1.
``tree``
    Least squares over the levels of a tree, which ``Ranges`` has: see its ``table``.

All but ``raw`` and ``tree`` are biased.  Intervals stay those of raw estimates.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np

from discreet.errors import WrongKind
from discreet.local.analysis.intervals import Coins, Floats, Integers
from discreet.local.analysis.posterior import expected, root

Consistent = Literal["raw", "simplex", "likelihood", "posterior", "tree"]

METHODS: Final = ("raw", "simplex", "likelihood", "posterior")


def consistent_shares(
    supports: Integers, *, people: int, coins: Coins, method: Consistent
) -> Floats:
    """Return the shares of all values after the named step.

    >>> from discreet.exact import Interval
    >>> coins = Coins.of((Interval("0.5", "0.5"), Interval("0.125", "0.125")))
    >>> counts = np.array([500, 200, 100])
    >>> for method in METHODS:
    ...     consistent_shares(counts, people=1000, coins=coins, method=method).round(3).tolist()
    [1.0, 0.2, -0.067]
    [0.9, 0.1, 0.0]
    [0.873, 0.127, 0.0]
    [0.867, 0.127, 0.006]
    """
    raw = coins.shares(supports, people)
    match method:
        case "raw":
            return raw
        case "simplex":
            return project(raw)
        case "likelihood":
            return _most_likely(supports, people, coins)
        case "posterior":
            return expected(raw, deviations=np.sqrt(coins.variance(raw) / people))
        case "tree":
            raise WrongKind(
                what="these reports have no tree.",
                why="least squares need reports about groups of values as well.",
                do="let devices report by Ranges, whose estimates have table(consistent='tree'); "
                f"or give one of: {', '.join(METHODS)}.",
            )
    raise WrongKind(
        what="there is no such way to make shares consistent.",
        why="each is a named step with an error of its own.",
        do=f"give one of: {', '.join(METHODS)}.",
    )


def project(shares: Floats, *, total: float = 1.0) -> Floats:
    """Return the nearest shares, in squares, that are at least 0 and add up to ``total``.

    >>> project(np.array([0.5, 0.5, 0.3])).round(3).tolist()
    [0.4, 0.4, 0.2]
    """
    falling = np.sort(shares)[::-1]
    surplus = (falling.cumsum() - total) / np.arange(1, len(shares) + 1)
    kept = int(np.flatnonzero(falling > surplus)[-1])
    return np.asarray(np.maximum(shares - surplus[kept], 0))


def _most_likely(supports: Integers, people: int, coins: Coins) -> Floats:
    p, q = coins.p, coins.q
    counts = supports.astype(float)
    exclusive = int(supports.sum()) == people and bool(np.isclose(p + (len(supports) - 1) * q, 1))

    def rates(slope: float) -> Floats:
        if exclusive:
            return np.maximum(counts / slope, q)
        middle = people + slope
        spread = np.sqrt(middle**2 - 4 * slope * counts)
        rate = 2 * counts / (middle + spread) if middle > 0 else (middle - spread) / (2 * slope)
        return np.maximum(rate, q)

    def surplus(slope: float) -> float:
        return float(((rates(slope) - q) / (p - q)).sum()) - 1

    low, high = (1e-9, 1.0) if exclusive else (-float(people), 1.0)
    while surplus(high) > 0:
        high *= 2
    if not exclusive:
        while surplus(low) < 0:
            low *= 2
    shares = (rates(root(surplus, low, high)) - q) / (p - q)
    return np.asarray(shares / shares.sum())
