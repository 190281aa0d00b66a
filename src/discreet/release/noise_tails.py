"""Tails of integer noise, and of the difference of two weighted noises.

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

Definition.  ``paired_half_widths`` returns, for every weight t of a list, a number q such that
P[|s Z - u Y| > q] is at most the chance given for all u from 0 to t, with independent Y and Z.
Theorem (key ``paired-reach``; Anderson's inequality (1955) in one dimension).  Let C be continuous
and symmetric with a density that falls with the distance from zero, P[Z >= k] <= P[C >= k - 1] for
all whole k, and W independent of it and stochastically larger than |Y|.  If P[|s C + t W| > r] is
at most this chance, q = r + s will do.
Proof.  P[|s Z + v| > r + s] = P[Z > 1 + (r - v) / s] + P[Z
> 1 + (r + v) / s], and P[Z > x + 1] is at most P[C >= x], so this is at most P[|s C + v| > r].
That rises with v >= 0: its derivative is the density of s C at r - v, less the one at r + v, which
is farther from zero.  And u |Y| is stochastically smaller than t W.

C is the continuous law of the same scale or variance.  Laplace, a = exp(-1 / scale): for k >= 1
a**k / (1 + a) <= a**(k - 1) / 2, since 2 a <= 1 + a; for k <= 0 the other tails compare like
a**(1 - k) / (1 + a) >= a**(1 - k) / 2.  Gaussian with a variance v >= 1, f(x) = exp(-x**2 / 2 v):
for k >= 1 the terms from k on are below the integral of f from k - 1 on, and all together are at
least sqrt(2 pi v).  For k <= 0 the terms from m = 1 - k on are above the integral from m on, by
more than a part (1 - exp(-5 / 8 v)) / 2 of it, since f falls by exp(-5 / 8 v) within each half
step; and all together are less than a part 3 exp(-2 pi**2 v) above sqrt(2 pi v), which is smaller.
W is |Y| rounded up to some hundred places; what is beyond the last one counts as missed.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.exact import float_up
from discreet.mechanisms import Gaussian, Laplace
from discreet.release.value_arrays import Floats

Additive = Laplace | Gaussian
_Floats = NDArray[np.float64]

_RAISE: Final = 1 + 2.0**-30
_NARROW: Final = 2**20
_DEEPEST: Final = 40  # in standard deviations: exp(-800)
_TINY: Final = 1e-300
_ULPS: Final = 2.0**-51


def tails_above(mechanism: Additive, places: _Floats) -> _Floats:
    """Bound P[Z >= k] for increasing whole numbers k, given as floats.

    >>> tails_above(Laplace(scale=2), np.array([0.0, 1.0, 2.0])).round(4).tolist()
    [0.6225, 0.3775, 0.229]
    """
    bounds: _Floats = np.minimum.accumulate(tail_bounds(mechanism, places)[1])
    return bounds


def tail_bounds(mechanism: Additive, places: _Floats) -> tuple[_Floats, _Floats]:
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


def _narrow(upper: _Floats, variance: float) -> _Floats:
    """Return P[Z >= k] for k >= 1 from the sums of all terms beyond."""
    chances = _sums(variance)
    return chances[np.minimum(upper, float(chances.size)).astype(np.int64) - 1]


def normal_cdf(x: _Floats) -> _Floats:
    """Return the cumulative normal law at many places, to a part in 2**40.

    >>> normal_cdf(np.array([0.0])).tolist()
    [0.5]
    """
    from scipy.special import ndtr  # type: ignore[import-untyped]  # noqa: PLC0415  takes its time

    return np.asarray(ndtr(x))


def tail_quantile(mechanism: Additive, missed: float) -> int:
    """Return a distance that noise exceeds with at most this chance, and not much more than that.

    P[|Z| > r] is at most exp(-r / scale), or twice the tail of the normal law from r on.

    >>> tail_quantile(Laplace(scale=2), 0.05), tail_quantile(Gaussian(sigma=3), 0.05)
    (6, 6)
    """
    match mechanism:
        case Laplace(scale=scale):
            return math.ceil(-math.log(missed) * float(scale) * _RAISE)
        case Gaussian(variance=variance):
            far = -NormalDist().inv_cdf(missed / 2.0) * math.sqrt(variance)
            return max(0, math.ceil(far * _RAISE))


def exact_tail_quantile(mechanism: Additive, missed: float) -> int | None:
    """Return the smallest r with P[|Z| > r] <= missed, or None where floats cannot tell.

    >>> exact_tail_quantile(Gaussian(sigma=3), 0.05), exact_tail_quantile(Gaussian(sigma=2**30),
    ...     0.05)
    (6, None)
    """
    if isinstance(mechanism, Laplace) or not 1 <= mechanism.variance <= _NARROW:
        return None
    chances = 2.0 * _sums(float(mechanism.variance))  # P[|Z| >= k], from k = 1 on
    quantile = int(np.count_nonzero(chances > missed))
    sure = chances[quantile] * _RAISE < missed and missed * _RAISE < chances[max(quantile - 1, 0)]
    return quantile if sure and 0 < quantile < chances.size - 1 else None


@functools.lru_cache(maxsize=32)
def _sums(variance: float) -> _Floats:
    last = math.ceil(_DEEPEST * math.sqrt(variance)) + 2
    terms = np.exp(-(np.arange(last, 0, -1.0) ** 2) / (2.0 * variance))
    sums = np.cumsum(terms)[::-1]  # from k = 1 on
    return np.append(sums / (1.0 + 2.0 * sums[0]), 0.0)


_PLACES: Final = 256
_BEYOND: Final = 2.0**-9  # of what may be missed, for places past the last
_STEPS: Final = 40
_CLOSE: Final = 2.0**-10
_MORE: Final = 1 + 2.0**-20
_ROUNDING: Final = 2.0**-40
_RAREST: Final = 2.0**-26
_OFTEN: Final = 0.9


def paired_half_widths(
    fine: tuple[Fraction, Additive],
    coarse: Additive,
    weights: Floats,
    missed: float,
    places: int = _PLACES,
) -> Floats | None:
    """Return how far s Z - t Y reaches for each weight t > 0, or None where this is not known.

    Args:
        fine: the step s, and the noise Z that it multiplies.
        coarse: the noise Y, which is rounded up to places.
        weights: the weights t.
        missed: the chance with which the error may be larger.
        places: how many, or fewer.

    >>> noise = Laplace(scale=2)
    >>> paired_half_widths((Fraction(1), noise), noise, np.array([0.01, 1.0]), 0.05).round(1)
    array([7. , 9.2])
    """
    step, first = fine
    narrow = isinstance(first, Gaussian) and first.variance < 1
    if narrow or not _RAREST < missed < _OFTEN:
        return None
    size = float_up(step) * (
        float_up(first.scale) if isinstance(first, Laplace) else math.sqrt(first.variance)
    )
    pair = _Pair(
        normal=isinstance(first, Gaussian),
        size=size * (1 + _ROUNDING),
        weights=weights[:, np.newaxis],
        places=_Places.of(coarse, missed * _BEYOND, places),
    )
    half_widths = pair.reaches(missed)
    return None if half_widths is None else (half_widths + float_up(step)) * (1 + _ROUNDING)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """A law that is stochastically larger than the distance of noise from zero, on a few places."""

    at: Floats
    chances: Floats
    beyond: float

    @classmethod
    def of(cls, noise: Additive, beyond: float, most: int) -> _Places:
        """Take equal blocks, each counted at its end; past the last is a chance ``beyond``."""
        last = tail_quantile(noise, beyond)
        width = max(1, math.ceil(last / most))
        starts = width * np.arange(math.ceil((last + 1) / width) + 1, dtype=np.float64)
        tails = np.minimum(2.0 * tails_above(noise, starts), 1.0)
        tails[0] = 1.0
        return cls(starts[1:] - 1.0, tails[:-1] - tails[1:], float(tails[-1]))


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """A continuous law of some size, and the places that each weight multiplies."""

    normal: bool
    size: float
    weights: Floats
    places: _Places

    def reaches(self, missed: float) -> Floats | None:
        """Find r for each weight between one that is too near and one that is far enough.

        Steps follow the logarithm of what is missed, now a little too far and now not far enough;
        where they leave the two ends, the middle is next.
        """
        near, far = np.zeros(self.weights.size), self._ends(missed / 2.0)
        here, now = far, self.missed(far)
        if not bool((now <= missed).all()):
            return None
        guess = self._ends(missed, np.hypot)
        for step in range(_STEPS):
            before, then = here, now
            here = np.where((near < guess) & (guess < far), guess, (near + far) / 2.0)
            now = self.missed(here)
            enough = now <= missed
            near, far = np.where(enough, near, here), np.where(enough, here, far)
            if bool((far - near <= far * _CLOSE).all()):
                break
            with np.errstate(divide="ignore", invalid="ignore"):
                move = np.log(missed / now) * (here - before) / np.log(now / then)
            guess = (here + move) * (1 + (_CLOSE if step % 2 else -_CLOSE) / 3.0)
        return far

    def _ends(self, missed: float, together: np.ufunc = np.add) -> Floats:
        """Return how far both noises go with this chance of more, each for itself, and together."""
        own = -NormalDist().inv_cdf(missed / 2.0) if self.normal else -math.log(missed)
        beyond = np.cumsum(self.places.chances[::-1])[::-1] + self.places.beyond
        other = self.places.at[np.count_nonzero(beyond > missed) - 1]
        ends: Floats = together(self.size * own, other * self.weights[:, 0])
        return ends * _MORE

    def missed(self, far: Floats) -> Floats:
        """Bound P[|s C + t W| > r] from above."""
        shift, middle = self.weights * self.places.at / self.size, far[:, np.newaxis] / self.size
        both = self._tail(middle - shift) + self._tail(middle + shift)
        chance: Floats = (both @ self.places.chances) + self.places.beyond
        return chance * (1 + _ROUNDING) + _ROUNDING

    def _tail(self, values: Floats) -> Floats:
        if self.normal:
            return normal_cdf(-values)
        beyond = 0.5 * np.exp(-np.abs(values))
        return np.where(values >= 0.0, beyond, 1.0 - beyond)
