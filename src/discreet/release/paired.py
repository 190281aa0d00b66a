"""How far the difference of two weighted noises reaches, for many weights of one of them at once.

Trust: public.  Intervals are functions of public numbers.

Definition.  ``paired_reaches`` returns, for every weight t of a list, a number q such that
P[|s Z - u Y| > q] is at most the chance given for all u from 0 to t, with independent Y and Z.
Theorem (key ``paired-reach``).  Let C be continuous and symmetric with a density that falls with
the distance from zero, P[Z >= k] <= P[C >= k - 1] for all whole k, and W independent of it and
stochastically larger than |Y|.  If P[|s C + t W| > r] is at most this chance, q = r + s will do.
Proof.  P[|s Z + v| > r + s] = P[Z > 1 + (r - v) / s] + P[Z > 1 + (r + v) / s], and P[Z > x + 1] is
at most P[C >= x], so this is at most P[|s C + v| > r].  That rises with v >= 0: its derivative is
the density of s C at r - v, less the one at r + v, which is farther from zero.  And u |Y| is
stochastically smaller than t W.

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

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Final, final

import numpy as np

from discreet.exact import float_up
from discreet.mechanisms import Gaussian, Laplace
from discreet.release.noise_tails import Additive, near_reach, normal_cdf, tails_above
from discreet.release.rationals import Floats

__all__ = ["paired_reaches"]

_PLACES: Final = 256
_BEYOND: Final = 2.0**-9  # of what may be missed, for places past the last
_STEPS: Final = 40
_CLOSE: Final = 2.0**-10
_MORE: Final = 1 + 2.0**-20
_ROUNDING: Final = 2.0**-40
_RAREST: Final = 2.0**-26
_OFTEN: Final = 0.9


def paired_reaches(
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
    >>> paired_reaches((Fraction(1), noise), noise, np.array([0.01, 1.0]), 0.05).round(1)
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
    found = pair.reaches(missed)
    return None if found is None else (found + float_up(step)) * (1 + _ROUNDING)


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
        last = near_reach(noise, beyond)
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
        found = self._ends(missed, np.hypot)
        for step in range(_STEPS):
            before, then = here, now
            here = np.where((near < found) & (found < far), found, (near + far) / 2.0)
            now = self.missed(here)
            enough = now <= missed
            near, far = np.where(enough, near, here), np.where(enough, here, far)
            if bool((far - near <= far * _CLOSE).all()):
                break
            with np.errstate(divide="ignore", invalid="ignore"):
                move = np.log(missed / now) * (here - before) / np.log(now / then)
            found = (here + move) * (1 + (_CLOSE if step % 2 else -_CLOSE) / 3.0)
        return far

    def _ends(self, missed: float, together: np.ufunc = np.add) -> Floats:
        """Return how far both noises go with this chance of more, each for itself, and together."""
        own = -NormalDist().inv_cdf(missed / 2.0) if self.normal else -math.log(missed)
        beyond = np.cumsum(self.places.chances[::-1])[::-1] + self.places.beyond
        other = self.places.at[np.count_nonzero(beyond > missed) - 1]
        found: Floats = together(self.size * own, other * self.weights[:, 0])
        return found * _MORE

    def missed(self, far: Floats) -> Floats:
        """Bound P[|s C + t W| > r] from above."""
        shift, middle = self.weights * self.places.at / self.size, far[:, np.newaxis] / self.size
        both = self._tail(middle - shift) + self._tail(middle + shift)
        found: Floats = (both @ self.places.chances) + self.places.beyond
        return found * (1 + _ROUNDING) + _ROUNDING

    def _tail(self, at: Floats) -> Floats:
        if self.normal:
            return normal_cdf(-at)
        beyond = 0.5 * np.exp(-np.abs(at))
        return np.where(at >= 0.0, beyond, 1.0 - beyond)
