"""Half-widths of sums of noises, and intervals of counts behind partition selection.

Trust: public.  Intervals are functions of what is released.

Definition.  E = a_1 Z_1 + ... + a_k Z_k with independent noises of mechanisms and exact weights.
``half_width`` is a number r with P[|E| <= r] >= confidence, or, for ``coordinates`` m > 1, with at
least the m-th root of the confidence: so m independent errors stay within theirs all at once.
With one noise and one coordinate r is the smallest such number, exactly.  With more it is at most a
part in a thousand or so above the smallest.

Theorem (key ``weighted-noise-reach``).  Let X_j be a_j Z_j / h, rounded up to a whole number.
Let Y_j be independent and stochastically larger than X_j.  If 2 P[Y_1 + ... + Y_k > m] <= 1 - c
then P[|E| <= m h] >= c.
Proof.  E > m h implies X_1 + ... + X_k > m.  Sums of independent, stochastically larger variables
are stochastically larger.  E is symmetric, so both tails are alike.
Where all weights are whole multiples of h nothing is rounded, and r is the smallest up to a part in
2**30 of the chance.  Two noises of which one is fine are left to ``paired-reach``, and lose
one of its fine steps.  Sums are taken by Fourier transforms, whose error is below 2**-40 of one;
that much is added to every chance, and rarer events are left to the sum of the single reaches.
Many equal noises are left to :mod:`discreet.plan.forecast.noise_quantiles`.

``selected_count_intervals`` bound counts that were released because they passed a threshold: the
intervals of :meth:`discreet.mechanisms.NoisyKeys.intervals`, many at once and in floats.  An end is
moved inward only past numbers that are ruled out for sure, so an interval is never narrower than
the exact one (key ``shown-interval``); it is wider only where floats cannot tell.

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
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet import mechanisms
from discreet.exact import Interval, float_up
from discreet.mechanisms.mechanism import root_complement
from discreet.plan.forecast.noise_quantiles import FEW, alike_half_width
from discreet.release.noise_tails import (
    Additive,
    exact_tail_quantile,
    paired_half_widths,
    tail_bounds,
    tail_quantile,
    tails_above,
)
from discreet.release.value_arrays import Floats
from discreet.requests.raw_totals import Integers

__all__ = [
    "OTHERS",
    "Terms",
    "clear_counts",
    "clear_miss_chance",
    "coordinate_confidence",
    "half_width",
    "selected_count_intervals",
]

Terms = tuple[tuple[Fraction, Additive], ...]
"""Weights, and the noises that they multiply."""

_Floats = NDArray[np.float64]

_POINTS: Final = 1 << 12
_BEYOND: Final = 3
_RAREST: Final = Fraction(1, 1 << 26)
_ROUNDING: Final = 2.0**-40
_BITS: Final = 96
_ZERO: Final = Fraction(0)
_SAFE: Final = 1 << 62
_FAR: Final = 2.0**70
_FINE: Final = 1 << 12


@functools.lru_cache(maxsize=1 << 12)
def half_width(
    terms: Terms, confidence: Fraction, coordinates: int = 1, *, points: int = _POINTS
) -> Fraction:
    """Return how far the error goes, with this probability; the grid has so many points.

    >>> from discreet.mechanisms import Laplace
    >>> noise = Laplace(scale=2)
    >>> half_width(((Fraction(3), noise),), Fraction(19, 20))
    Fraction(18, 1)
    >>> half_width(((Fraction(1), noise), (Fraction(1), noise)), Fraction(19, 20))
    Fraction(8, 1)
    """
    known = tuple((abs(weight), noise) for weight, noise in terms if weight)
    missed = 1 - coordinate_confidence(confidence, coordinates).high
    if len(known) < 2 or missed < _RAREST:
        most, count = _ZERO, coordinates * len(known)
        for weight, noise in known:
            most += weight * _error(noise, confidence, count)
        return most
    if len(known) > FEW:
        alike = alike_half_width(known, missed)
        if alike is not None:
            return alike
    most = sum((weight * _far(noise, missed / len(known)) for weight, noise in known), _ZERO)
    if most == 0:
        return most
    found = _paired(known, missed, points)
    return min(most, _summed(known, most, missed, points) if found is None else found)


@functools.lru_cache(maxsize=1 << 10)
def _error(noise: Additive, confidence: Fraction, coordinates: int) -> Fraction:
    if 1 - confidence > _RAREST * coordinates and _hardly_any(noise):
        return Fraction(0)
    missed = 1 - coordinate_confidence(confidence, coordinates).high
    found = exact_tail_quantile(noise, float(missed))
    if coordinates > 1 and missed > _RAREST and noise.width > _FINE:
        return Fraction(tail_quantile(noise, float(missed)))  # a step more does not matter
    if found is None:
        return Fraction(noise.error(confidence=confidence, coordinates=coordinates))
    return Fraction(found)


def _far(noise: Additive, missed: Fraction) -> int:
    return 0 if _hardly_any(noise) else tail_quantile(noise, float(missed))


def _hardly_any(noise: Additive) -> bool:
    """Say whether P[Z != 0] < 2**-60: noise so narrow is drawn in tests, where it may not matter.

    That chance is below 2 exp(-1 / scale), or 3 exp(-1 / (2 variance)).
    """
    return noise.law.decay.exponent(1) > 64


def coordinate_confidence(confidence: Fraction, coordinates: int) -> Interval:
    """Enclose the root of a confidence that each of so many independent errors needs.

    >>> coordinate_confidence(Fraction(19, 20), 2).nearest()
    0.9746794344808964
    """
    if coordinates == 1:
        return Interval(confidence, confidence)
    rest = root_complement(confidence, coordinates, _BITS)
    return Interval(1 - rest.high, 1 - rest.low)


def _paired(terms: Terms, missed: Fraction, points: int) -> Fraction | None:
    """Find the reach of two noises of which one is so fine that a step of it does not matter."""
    fine, *others = sorted(terms, key=lambda term: -term[1].width)
    if len(others) != 1 or fine[1].width < _FINE:
        return None
    ((weight, coarse),) = others
    found = paired_half_widths(fine, coarse, np.array([float_up(weight)]), float(missed), points)
    return None if found is None else Fraction(float(found[0]))


def _summed(terms: Terms, most: Fraction, missed: Fraction, points: int) -> Fraction:
    """Find the reach on a grid with about so many points up to ``most``."""
    lattice = functools.reduce(_common, (weight for weight, _ in terms))
    step = lattice * max(1, math.ceil(most / lattice / points))
    ends = _BEYOND * math.ceil(most / step)
    beyond, sums = 0.0, np.ones(1)
    for weight, noise in terms:
        tails = _rounded_up(weight / step, noise, ends)
        beyond += float(tails[-1])  # more than the grid holds: counted as too much
        sums = _convolved(sums, tails[:-1] - tails[1:])
    above = np.cumsum(sums[::-1])[::-1] + beyond + _ROUNDING  # P[sum >= m], from m = -k ends on
    enough = np.flatnonzero(2.0 * above <= float(missed))
    if not enough.size:
        return most
    return max(int(enough[0]) - len(terms) * ends - 1, 0) * step


def _rounded_up(ratio: Fraction, noise: Additive, ends: int) -> _Floats:
    """Bound P[X >= m] for m from -ends to ends + 1, where X is ratio Z rounded up."""
    top, bottom = ratio.denominator, ratio.numerator  # X >= m if Z > (m - 1) / ratio
    kind = np.int64 if max(top * (ends + 1), bottom) < _SAFE else object
    places = np.arange(-ends - 1, ends + 1).astype(kind) * top // bottom + 1
    tails = tails_above(noise, np.clip(places.astype(np.float64), -_FAR, _FAR))
    tails[0] = 1.0  # what is smaller is rounded up to the end of the grid
    return tails


def _convolved(first: _Floats, second: _Floats) -> _Floats:
    size = first.size + second.size - 1
    width = 1 << (size - 1).bit_length()
    product = np.fft.rfft(first, width) * np.fft.rfft(second, width)
    found: _Floats = np.maximum(np.fft.irfft(product, width)[:size], 0.0)
    return found


def _common(first: Fraction, second: Fraction) -> Fraction:
    """Return the largest number of which both are whole multiples."""
    bottom = math.lcm(first.denominator, second.denominator)
    return Fraction(math.gcd(int(first * bottom), int(second * bottom)), bottom)


OTHERS: Final = Fraction(1, 32)
"""The part of what may be missed that is left to counts that are not clear."""

_HIDDEN: Final = Fraction(1, 256)
_RAREST_TAIL: Final = Fraction(1, 1 << 20)
_LARGEST: Final = 1 << 50


def clear_miss_chance(confidence: Fraction) -> Fraction:
    """Return how often the interval of a clear count may miss, if the group were always shown.

    >>> float(clear_miss_chance(Fraction(19, 20)))
    0.048248291015625
    """
    return (1 - confidence) * (1 - OTHERS) * (1 - _HIDDEN)


def clear_counts(
    keys: mechanisms.NoisyKeys, counts: Integers, confidence: Fraction
) -> NDArray[np.bool_]:
    """Say which counts are clear of the threshold.

    >>> from discreet.mechanisms import Laplace
    >>> from discreet.mechanisms import NoisyKeys
    >>> keys = NoisyKeys(noise=Laplace(scale=2), threshold=30, groups=1, relation="add_remove")
    >>> clear_counts(keys, np.array([30, 40, 50]), Fraction(19, 20)).tolist()
    [False, False, True]
    """
    below = tail_quantile(keys.noise, float(2 * _HIDDEN))
    above = tail_quantile(keys.noise, float(2 * clear_miss_chance(confidence))) + 1
    return np.asarray(counts >= keys.threshold + below + above)


def selected_count_intervals(
    keys: mechanisms.NoisyKeys, counts: Integers, confidence: Fraction
) -> tuple[Integers, Integers]:
    """Return between what the true counts of shown groups lie, each with this probability.

    >>> from discreet.mechanisms import Laplace
    >>> from discreet.mechanisms import NoisyKeys
    >>> keys = NoisyKeys(noise=Laplace(scale=2), threshold=10, groups=1, relation="add_remove")
    >>> low, high = selected_count_intervals(keys, np.array([10, 15, 90]), Fraction(9, 10))
    >>> low.tolist(), high.tolist()
    ([1, 1, 85], [13, 19, 95])
    """
    values, places = np.unique(counts, return_inverse=True)
    low, high = _ends_of(keys, values.tobytes(), confidence)
    return low[places], high[places]


@functools.lru_cache(maxsize=8)
def _ends_of(
    keys: mechanisms.NoisyKeys, data: bytes, confidence: Fraction
) -> tuple[Integers, Integers]:
    """Return the intervals of different counts; several columns ask for the same."""
    values, tail = np.frombuffer(data, np.int64), (1 - confidence) / 2
    if tail < _RAREST_TAIL or values.max(initial=0) > _LARGEST:
        return keys.intervals(values, confidence=confidence)
    ends = _Ends(keys, tail, values.astype(np.float64))
    top = np.maximum(ends.counts, float(keys.fewest))
    far = float(tail_quantile(keys.noise, float(2 * tail)))
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

    keys: mechanisms.NoisyKeys
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
