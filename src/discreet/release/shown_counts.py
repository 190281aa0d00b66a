"""What is known of counts that showed their groups by reaching a threshold.

Trust: public.  Intervals are functions of what is released.

``shown_ends`` are the intervals of :meth:`discreet.mechanisms.NoisyKeys.intervals`, many at once
and in floats.  An end is moved inward only past numbers that are ruled out for sure, so an interval
is never narrower than the exact one (key ``shown-interval``); it is wider only where floats cannot
tell.

Sums and means hold the noise of such a count besides other noise.  Far above the threshold it is as
good as any other noise.
Definition.  T is the threshold, a and b are distances with P[Z < -a] <= ``_HIDDEN`` and P[Z >= b]
at most m (1 - ``_HIDDEN``).  A count is *clear* if it is at least T + a + b.
Theorem (key ``clear-count``).  Let an error event E depend on Z and on independent noise, with
P[E] <= m (1 - ``_HIDDEN``).  Given that a group is shown, whatever it counts, the chance that its
count is clear and E occurs is at most m.
Proof.  A group that counts n >= T + a is shown with a chance of at least 1 - ``_HIDDEN``, so given
that, E has a chance of at most m.  For n < T + a, P[n + Z >= T + a + b | n + Z >= T] rises with n,
since the noise is log-concave, and at n = T + a it is at most P[Z >= b] / P[Z >= -a] <= m.
So if the others have intervals of their own, which miss with a chance of at most 1 - c - m given
that the group is shown, both together miss with at most 1 - c.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.plan.raw import Integers
from discreet.release.noise_tails import near_reach, tail_bounds
from discreet.release.rationals import Floats

if TYPE_CHECKING:  # in annotations alone
    from discreet.mechanisms import NoisyKeys

__all__ = ["OTHERS", "clear_counts", "clear_missed", "shown_ends"]

OTHERS: Final = Fraction(1, 32)
"""The part of what may be missed that is left to counts that are not clear."""

_HIDDEN: Final = Fraction(1, 256)
_RAREST: Final = Fraction(1, 1 << 20)
_LARGEST: Final = 1 << 50


def clear_missed(confidence: Fraction) -> Fraction:
    """Return how often the interval of a clear count may miss, if the group were always shown.

    >>> float(clear_missed(Fraction(19, 20)))
    0.048248291015625
    """
    return (1 - confidence) * (1 - OTHERS) * (1 - _HIDDEN)


def clear_counts(keys: NoisyKeys, counts: Integers, confidence: Fraction) -> NDArray[np.bool_]:
    """Say which counts are clear of the threshold.

    >>> from discreet.mechanisms import Laplace
    >>> from discreet.mechanisms import NoisyKeys
    >>> keys = NoisyKeys(noise=Laplace(scale=2), threshold=30, groups=1, relation="add_remove")
    >>> clear_counts(keys, np.array([30, 40, 50]), Fraction(19, 20)).tolist()
    [False, False, True]
    """
    below = near_reach(keys.noise, float(2 * _HIDDEN))
    above = near_reach(keys.noise, float(2 * clear_missed(confidence))) + 1
    return np.asarray(counts >= keys.threshold + below + above)


def shown_ends(
    keys: NoisyKeys, counts: Integers, confidence: Fraction
) -> tuple[Integers, Integers]:
    """Return between what the true counts of shown groups lie, each with this probability.

    >>> from discreet.mechanisms import Laplace
    >>> from discreet.mechanisms import NoisyKeys
    >>> keys = NoisyKeys(noise=Laplace(scale=2), threshold=10, groups=1, relation="add_remove")
    >>> low, high = shown_ends(keys, np.array([10, 15, 90]), Fraction(9, 10))
    >>> low.tolist(), high.tolist()
    ([1, 1, 85], [13, 19, 95])
    """
    values, places = np.unique(counts, return_inverse=True)
    low, high = _ends_of(keys, values.tobytes(), confidence)
    return low[places], high[places]


@functools.lru_cache(maxsize=8)
def _ends_of(keys: NoisyKeys, data: bytes, confidence: Fraction) -> tuple[Integers, Integers]:
    """Return the intervals of different counts; several columns ask for the same."""
    values, tail = np.frombuffer(data, np.int64), (1 - confidence) / 2
    if tail < _RAREST or values.max(initial=0) > _LARGEST:
        return keys.intervals(values, confidence=confidence)
    ends = _Ends(keys, tail, values.astype(np.float64))
    top = np.maximum(ends.counts, float(keys.fewest))
    far = float(near_reach(keys.noise, float(2 * tail)))
    every = np.arange(values.size)
    if not bool(ends.too_many(every, top + far + 2.0).all()):  # floats cannot tell
        return keys.intervals(values, confidence=confidence)
    nothing = np.full(top.shape, keys.fewest - 1.0)
    low = _nearest(top, nothing, ends.counts - far, ends.too_few)
    high = _nearest(top, top + far + 2.0, ends.counts + far, ends.too_many)
    return low.astype(np.int64), high.astype(np.int64)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Ends:
    """Noisy counts, and which numbers they rule out for sure."""

    keys: NoisyKeys
    tail: Fraction
    counts: Floats

    def too_few(self, at: Integers, units: Floats) -> NDArray[np.bool_]:
        """Say whether so few hardly ever give such counts, or larger ones."""
        upper = tail_bounds(self.keys.noise, self.counts[at] - units)[1]
        shown = tail_bounds(self.keys.noise, self.keys.threshold - units)[0]
        return np.asarray(upper <= float(self.tail) * shown)

    def too_many(self, at: Integers, units: Floats) -> NDArray[np.bool_]:
        """Say whether so many hardly ever give such counts, or smaller ones."""
        upper = tail_bounds(self.keys.noise, self.counts[at] + 1.0 - units)[0]
        shown = tail_bounds(self.keys.noise, self.keys.threshold - units)[1]
        return np.asarray(upper >= float(1 - self.tail) * shown)


def _nearest(
    inside: Floats,
    outside: Floats,
    guess: Floats,
    ruled_out: Callable[[Integers, Floats], NDArray[np.bool_]],
) -> Floats:
    """Move two numbers toward each other, until nothing is between; return the one inside.

    Numbers next to the guess are tried first, and then the middle.
    """
    inside, outside, tried = inside.copy(), outside.copy(), [guess, guess - 1.0, guess + 1.0]
    while (at := np.flatnonzero(np.abs(inside - outside) > 1.0)).size:
        middle = np.floor((inside[at] + outside[at]) / 2.0)
        if tried:
            next_, ends = tried.pop()[at], (inside[at], outside[at])
            between = (np.minimum(*ends) < next_) & (next_ < np.maximum(*ends))
            middle = np.where(between, next_, middle)
        out = ruled_out(at, middle)
        inside[at[~out]], outside[at[out]] = middle[~out], middle[out]
    return inside
