"""Sums of estimated shares with weights, and how far they are off.

Trust: public.

Definition.  A weighted sum of the estimated shares of k values is unbiased for that of the shares.
Its interval is the normal one, with the variance below: n is the number of reports.
Theorem (key ``weighted-shares``).  Given the values of all senders, n times the variance is at most
k / (k - 1) times the sum of w_v**2 V_v, with V_v that of one share, if the supports of two values
are independent, or those of a fixed number of values that are drawn evenly.  If the senders are
themselves drawn from many, the variance of w over those is added, at most the mean of w**2; if they
are a part s of them, 1 - s times that.
Proof.  Independent supports have the sum itself.  A set of fixed size is exchangeable but for the
sender's value, so that indicators have correlations of -1/(k - 1) at least, and the largest
eigenvalue of their correlation matrix is k/(k - 1).  The last factor is that of drawing without
replacement.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from discreet.errors import WrongKind
from discreet.local.analysis.estimates import miss_chance
from discreet.local.analysis.intervals import TARGETS, Coins, Floats, Target


def sum_variance(
    weights: Floats, shares: Floats, coins: Coins, target: Target, *, part: float = 1.0
) -> float:
    """Bound n times the variance of a weighted sum, at the estimated shares.

    ``part`` is which part of all who reported is asked about these values.

    >>> from discreet.exact import Interval
    >>> coins = Coins.of((Interval("3/4", "3/4"), Interval("1/4", "1/4")))
    >>> sum_variance(np.array([1.0, 1, 0]), np.array([0.2, 0.3, 0.5]), coins, "reported")
    2.25
    """
    if target not in TARGETS:
        raise WrongKind(
            what="the target is neither 'population' nor 'reported'.",
            why="those who reported are a sample: about the population they tell less.",
            do="give target='population' or target='reported'.",
        )
    count, clipped = max(len(weights), 2), np.clip(shares, 0, 1)
    noise = float((weights**2 * coins.variance(clipped)).sum()) * count / (count - 1)
    drawn = 1.0 if target == "population" else 1 - part
    return noise + drawn * float((weights**2 * clipped).sum())


def normal_reach(confidence: object) -> float:
    """Return how many standard deviations hold the truth with this confidence.

    >>> round(normal_reach("0.95"), 2)
    1.96
    """
    return NormalDist().inv_cdf(1 - float(miss_chance(confidence)) / 2)
