"""Tails of integer noise, bounded from above in floats, many at once.

Trust: public.  Intervals rest on these bounds, and no privacy does.

Definition.  ``tails_above(mechanism, places)`` bounds P[Z >= k] for every k of an increasing list.
The bounds never rise with k, so they belong to a law that is stochastically larger than Z.

Laplace: a**k / (1 + a) for k >= 1, with a = exp(-1 / scale), and one minus the other tail below.
Gaussian: sums of exp(-j**2 / (2 variance)) where the noise is narrow.  Where it is wide, the terms
fall from zero on, so P[Z >= k] <= Q((k - 1) / sigma) for k >= 1, Q the tail of the normal law; and
for k <= 0 one minus P[Z >= 1 - k] >= Q((1 - k) / sigma) / (1 + 2**-100), since the sum of all terms
is below sigma sqrt(2 pi) (1 + 2**-100) for sigma above 4.  That is at most one step too much.
Every result is raised by a part in 2**30, which is thousands of times the rounding errors.
"""

from __future__ import annotations

import functools
import math
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr  # type: ignore[import-untyped]

from discreet.mechanisms import Gaussian, Laplace

__all__ = ["Additive", "tails_above"]

Additive = Laplace | Gaussian
Floats = NDArray[np.float64]

_RAISE: Final = 1 + 2.0**-30
_NARROW: Final = 2**20
_DEEPEST: Final = 40  # in standard deviations: exp(-800)
_TINY: Final = 1e-300


def tails_above(mechanism: Additive, places: Floats) -> Floats:
    """Bound P[Z >= k] for increasing whole numbers k, given as floats.

    >>> tails_above(Laplace(scale=2), np.array([0.0, 1.0, 2.0])).round(4).tolist()
    [0.6225, 0.3775, 0.229]
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
            beyond, least = ndtr((1.0 - upper) / sigma), ndtr(-upper / sigma)
    tails = np.where(places >= 1.0, beyond * _RAISE + _TINY, 1.0 - least / _RAISE)
    found: Floats = np.minimum(np.minimum.accumulate(tails), 1.0)
    return found


def _narrow(upper: Floats, variance: float) -> Floats:
    """Return P[Z >= k] for k >= 1 from the sums of all terms beyond."""
    chances = _sums(variance)
    return chances[np.minimum(upper, float(chances.size)).astype(np.int64) - 1]


@functools.lru_cache(maxsize=32)
def _sums(variance: float) -> Floats:
    last = math.ceil(_DEEPEST * math.sqrt(variance)) + 2
    terms = np.exp(-(np.arange(last, 0, -1.0) ** 2) / (2.0 * variance))
    sums = np.cumsum(terms)[::-1]  # from k = 1 on
    return np.append(sums / (1.0 + 2.0 * sums[0]), 0.0)
