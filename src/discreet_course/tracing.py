"""Tracing: was a person among those whose averages, or tables, were published?

Homer and others 2008; Dwork, Smith, Steinke, Ullman and Vadhan 2015, Robust
Traceability from Trace Amounts.

Definition.  n people have d independent bits each, the j-th with probability p[j].  Their averages
y are published, perhaps with noise.  The *score* of a person with bits q is the sum over j of
(y[j] - p[j]) (q[j] - p[j]) / (p[j] (1 - p[j])).
Fact.  Without noise scores of members have mean d / n and scores of strangers 0, and both have a
standard deviation near sqrt(d / n).  So with a share of false alarms F, a share of about
Phi(sqrt(d / n) - Phi^-1(1 - F)) of the members is traced: nearly all, once d is far above n.
Marginals.  If tables of all pairs of bits are published as well, the averages of the products
(q[i] - p[i]) (q[j] - p[j]) follow from them.  For strangers these are uncorrelated with each other
and with the bits, so they count like more bits: d bits are worth d (d + 1) / 2.
Theorem (key ``tracing-bound``).  If the averages are (epsilon, delta)-private when a person is
exchanged for a stranger, at most a share of e^epsilon F + delta is traced, in expectation.
Proof.  Let a member be exchanged for a stranger.  Being traced is an event of the release and of
the bits of the member, who now is a stranger with the same distribution as any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import final

import numpy as np
from numpy.typing import NDArray

from discreet.exact import whole
from discreet.noise import SYSTEM, Entropy, Uniform

Rows = NDArray[np.uint8]
Averages = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """How well scores tell members from strangers.

    ``area`` is the probability that a member scores higher than a stranger; ``share`` is the share
    of members who score higher than all but a share ``alarms`` of the strangers.
    """

    area: float
    share: float
    alarms: float


def people(count: int, rates: Averages, *, entropy: Entropy = SYSTEM) -> Rows:
    """Draw people with independent bits of these rates."""
    rows = whole(count, name="count", low=0)
    levels = Uniform(below=1 << 32).sample(rows * len(rates), entropy).reshape(rows, len(rates))
    return (levels < np.floor(rates * 2.0**32)).astype(np.uint8)


def marginals(rows: Rows) -> Rows:
    """Return the bits of every person, and for all pairs of them whether both are set.

    Their averages are what tables of one and of two traits say.

    >>> marginals(np.array([[1, 0, 1]], np.uint8)).tolist()
    [[1, 0, 1, 0, 1, 0]]
    """
    first, second = np.triu_indices(rows.shape[1], 1)
    return np.concatenate([rows, rows[:, first] & rows[:, second]], axis=1)


def scores(averages: Averages, rates: Averages, rows: Rows) -> Averages:
    """Return the score of every person, by the averages of all bits, or of all ``marginals``.

    >>> rates = np.array([0.5, 0.5])
    >>> scores(np.array([0.75, 0.5]), rates, np.array([[1, 0], [0, 0]], np.uint8)).tolist()
    [0.5, -0.5]
    >>> scores(np.array([0.5, 0.5, 0.5]), rates, np.array([[1, 1], [1, 0]], np.uint8)).tolist()
    [1.0, -1.0]
    """
    traits = len(rates)
    single = averages[:traits] - rates
    totals: Averages = (rows - rates) @ (single / (rates * (1 - rates)))
    if len(averages) > traits:
        totals += _pair_scores(averages, rates, rows)
    return totals


def _pair_scores(averages: Averages, rates: Averages, rows: Rows) -> Averages:
    """Return the part of scores that pairs of bits add."""
    traits = len(rates)
    first, second = np.triu_indices(traits, 1)
    p, q = rates[first], rates[second]
    both = averages[traits:] - p * averages[second] - q * averages[first] + p * q
    weights = np.zeros((traits, traits))
    weights[first, second] = both / (p * (1 - p) * q * (1 - q))
    centered = rows - rates
    totals: Averages = ((centered @ weights) * centered).sum(axis=1)
    return totals


def trace(
    averages: Averages, rates: Averages, *, members: Rows, strangers: Rows, alarms: float = 0.01
) -> Traced:
    """Score members and strangers, and say how far apart they are."""
    inside = scores(averages, rates, members)
    outside = np.sort(scores(averages, rates, strangers))
    below = np.searchsorted(outside, inside, side="left")
    not_above = np.searchsorted(outside, inside, side="right")
    limit = outside[len(outside) - 1 - int(alarms * len(outside))]
    return Traced(
        area=float(np.mean(below + not_above)) / (2 * len(outside)),
        share=float(np.mean(inside > limit)),
        alarms=alarms,
    )


def expected(count: int, traits: int, *, alarms: float = 0.01) -> float:
    """Return the share of members that is traced from exact averages, to first order.

    >>> round(expected(100, 900), 2)
    0.75
    """
    normal = NormalDist()
    return normal.cdf((traits / count) ** 0.5 - normal.inv_cdf(1 - alarms))
