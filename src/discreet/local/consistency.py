"""Named post-processing of estimated shares: raw, projected on the simplex, likely, expected.

Trust: public.  Proofs are in docs/proofs/local.md.  It sees estimates only; a bug here costs
accuracy, not privacy.

``raw``
    Nothing is changed.  Estimates are unbiased, may be negative, and need not add up to 1; sums of
    many of them should be made of these.
``simplex``
    The shares that are nearest in squares among those that are at least 0 and add up to 1.
    Theorem (key ``simplex-projection``; Held, Wolfe and Crowder 1974).  They are max(x - t, 0) for
    the one t at which these add up to 1.  (Wang and others 2020 call it norm-sub.)
``likelihood``
    The shares under which the numbers of supports are most likely.
    Theorem (key ``simplex-likelihood``).  Let C_v be binomial with probability r_v = q + f_v (p -
    q). The product of their likelihoods is largest, among shares at least 0 that add up to 1, where
    r_v = max(q, (n + t - sqrt((n + t)**2 - 4 t C_v)) / (2 t)) for the one t at which they add up
    to 1.

All but ``raw`` and ``tree`` are biased.  Intervals stay those of raw estimates.

Expected shares: the posterior mean under a uniform prior, made to add up to 1.

It sees estimates only; a bug here costs accuracy, not privacy.

Definition.  Before the reports, every share may be any number from 0 to 1, all alike.  Given a raw
estimate x, taken as normal with the standard deviation s of raw estimates, the share follows the
normal distribution of x and s within [0, 1].  Of all joint distributions under which the expected
shares add up to 1, take the one that is nearest, in relative entropy, to the product of these; its
means are returned.
Theorem (key ``simplex-posterior``).  Under it the shares are independent, and normal within [0, 1]
with the centre x - t s**2, for the one t at which their means add up to 1.

All shares are above 0: a value with no holders is expected to have a share of about s at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, Literal

import numpy as np

from discreet.errors import WrongKind
from discreet.local.intervals import Coins, Floats, Integers

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
                "these reports have no tree; let devices report by Ranges, whose estimates have "
                f"table(consistent='tree'); or give one of: {', '.join(METHODS)}."
            )
    raise WrongKind(
        f"there is no such way to make shares consistent; give one of: {', '.join(METHODS)}."
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


_HALVINGS: Final = 64
_NARROWEST: Final = 2.0**-40
_ROOT_TWO: Final = math.sqrt(2)


def expected(shares: Floats, *, deviations: Floats) -> Floats:
    """Return the expected shares, given raw ones and their standard deviations.

    >>> expected(np.array([0.9, 0.2, -0.1]), deviations=np.full(3, 0.1)).round(3).tolist()
    [0.815, 0.145, 0.04]
    """
    if len(shares) == 1:
        return np.ones(1)
    spreads = np.maximum(deviations, _NARROWEST)

    def means(tilt: float) -> Floats:
        return _mean_inside(shares - tilt * spreads**2, spreads)

    def surplus(tilt: float) -> float:
        return float(means(tilt).sum()) - 1

    low, high = -1.0, 1.0
    while surplus(high) > 0:
        high *= 2
    while surplus(low) < 0:
        low *= 2
    found = means(root(surplus, low, high))
    return np.asarray(found / found.sum())


def root(falling: Callable[[float], float], low: float, high: float) -> float:
    """Return where a falling function crosses 0, by halving.

    >>> root(lambda x: 2 - x * x, 0, 2)
    1.414213562373095
    """
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if falling(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _mean_inside(centres: Floats, spreads: Floats) -> Floats:
    """Return the means of normal distributions within [0, 1].

    By symmetry the centre is at most 1/2.  Below 0, tails are taken relative to the density at 0.
    """
    from scipy.special import erfc, erfcx  # type: ignore[import-untyped]  # noqa: PLC0415  slow

    near = np.minimum(centres, 1 - centres)
    start, end = -near / spreads, (1 - near) / spreads
    fall = np.exp(-(end - start) * (end + start) / 2)  # the density at 1, relative to that at 0
    tails = erfcx(np.maximum(start, 0) / _ROOT_TWO) - fall * erfcx(end / _ROOT_TWO)
    middle = erfc(start / _ROOT_TWO) - erfc(end / _ROOT_TWO)
    height = np.exp(-(np.minimum(start, 0) ** 2) / 2)
    shift = math.sqrt(2 / math.pi) * height * (1 - fall) / np.where(start > 0, tails, middle)
    inside: Floats = np.clip(near + spreads * shift, 0, 1)
    return np.where(centres > 0.5, 1 - inside, inside)
