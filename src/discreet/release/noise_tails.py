"""Tails of integer noise, bounded in floats, many at once.

Trust: public.  Intervals rest on these bounds, and no privacy does.

Definition.  ``tails_above(mechanism, places)`` bounds P[Z >= k] for every k of an increasing list.
The bounds never rise with k, so they belong to a law that is stochastically larger than Z.
``tail_bounds`` encloses the same chances from both sides.

Laplace: a**k / (1 + a) for k >= 1, with a = exp(-1 / scale), and one minus the other tail below.
Gaussian: sums of exp(-j**2 / (2 variance)) where the noise is narrow.  Where it is wide, the terms
fall from zero on, so P[Z >= k] <= Q((k - 1) / sigma) for k >= 1, Q the tail of the normal law; and
for k <= 0 one minus P[Z >= 1 - k] >= Q((1 - k) / sigma) / (1 + 2**-100), since the sum of all terms
is below sigma sqrt(2 pi) (1 + 2**-100) for sigma above 4.  That is at most one step too much.
Every result is raised by a part in 2**30, which is thousands of times the rounding errors, or
lowered by as much where a bound from below is asked for.
"""

from __future__ import annotations

import functools
import math
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import Gaussian, Laplace

__all__ = ["Additive", "near_reach", "normal_cdf", "sure_reach", "tail_bounds", "tails_above"]

Additive = Laplace | Gaussian
Floats = NDArray[np.float64]

_RAISE: Final = 1 + 2.0**-30
_NARROW: Final = 2**20
_DEEPEST: Final = 40  # in standard deviations: exp(-800)
_TINY: Final = 1e-300
_ULPS: Final = 2.0**-51


def tails_above(mechanism: Additive, places: Floats) -> Floats:
    """Bound P[Z >= k] for increasing whole numbers k, given as floats.

    >>> tails_above(Laplace(scale=2), np.array([0.0, 1.0, 2.0])).round(4).tolist()
    [0.6225, 0.3775, 0.229]
    """
    found: Floats = np.minimum.accumulate(tail_bounds(mechanism, places)[1])
    return found


def tail_bounds(mechanism: Additive, places: Floats) -> tuple[Floats, Floats]:
    """Enclose P[Z >= k] for whole numbers k, given as floats.

    >>> [bound.round(4).tolist() for bound in tail_bounds(Laplace(scale=2), np.array([2.0]))]
    [[0.229], [0.229]]
    """
    upper = np.maximum(places, 1.0 - places)  # P[Z >= k] = 1 - P[Z >= 1 - k]
    match mechanism:
        case Laplace(scale=scale):
            rate = float(1 / scale)
            beyond = np.exp(-upper * rate) / (1.0 + math.exp(-rate))
            least = beyond
        case Gaussian(variance=variance) if variance <= _NARROW:
            beyond = least = _narrow(upper, float(variance))
        case _:
            sigma = math.sqrt(mechanism.variance)
            beyond, least = normal_cdf((1.0 - upper) / sigma), normal_cdf(-upper / sigma)
    most, least = beyond * _RAISE + _TINY, np.maximum(least / _RAISE - _TINY, 0.0)
    above = places >= 1.0
    low, high = np.where(above, least, 1.0 - most), np.where(above, most, 1.0 - least)
    return np.maximum(low * (1.0 - _ULPS), 0.0), np.minimum(high * (1.0 + _ULPS), 1.0)


def _narrow(upper: Floats, variance: float) -> Floats:
    """Return P[Z >= k] for k >= 1 from the sums of all terms beyond."""
    chances = _sums(variance)
    return chances[np.minimum(upper, float(chances.size)).astype(np.int64) - 1]


def normal_cdf(x: Floats) -> Floats:
    """Return the cumulative normal law at many places, to a part in 2**40.

    >>> normal_cdf(np.array([0.0])).tolist()
    [0.5]
    """
    from scipy.special import ndtr  # type: ignore[import-untyped]  # noqa: PLC0415  takes its time

    return np.asarray(ndtr(x))


def near_reach(mechanism: Additive, missed: float) -> int:
    """Return a distance that noise exceeds with at most this chance, and not much more than that.

    P[|Z| > r] is at most exp(-r / scale), or twice the tail of the normal law from r on.

    >>> near_reach(Laplace(scale=2), 0.05), near_reach(Gaussian(sigma=3), 0.05)
    (6, 6)
    """
    match mechanism:
        case Laplace(scale=scale):
            return math.ceil(-math.log(missed) * float(scale) * _RAISE)
        case Gaussian(variance=variance):
            far = -NormalDist().inv_cdf(missed / 2.0) * math.sqrt(variance)
            return max(0, math.ceil(far * _RAISE))


def sure_reach(mechanism: Additive, missed: float) -> int | None:
    """Return the smallest r with P[|Z| > r] <= missed, or None where floats cannot tell.

    >>> sure_reach(Gaussian(sigma=3), 0.05), sure_reach(Gaussian(sigma=2**30), 0.05)
    (6, None)
    """
    if isinstance(mechanism, Laplace) or not 1 <= mechanism.variance <= _NARROW:
        return None
    chances = 2.0 * _sums(float(mechanism.variance))  # P[|Z| >= k], from k = 1 on
    found = int(np.count_nonzero(chances > missed))
    sure = chances[found] * _RAISE < missed and missed * _RAISE < chances[max(found - 1, 0)]
    return found if sure and 0 < found < chances.size - 1 else None


@functools.lru_cache(maxsize=32)
def _sums(variance: float) -> Floats:
    last = math.ceil(_DEEPEST * math.sqrt(variance)) + 2
    terms = np.exp(-(np.arange(last, 0, -1.0) ** 2) / (2.0 * variance))
    sums = np.cumsum(terms)[::-1]  # from k = 1 on
    return np.append(sums / (1.0 + 2.0 * sums[0]), 0.0)
