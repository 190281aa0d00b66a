"""Half-widths: how far a sum of noises is from zero, with a probability; certified.

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
Many equal noises are left to :mod:`discreet.plan.noise_quantiles`.

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
from statistics import NormalDist
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet import mechanisms
from discreet.exact import Interval, float_up
from discreet.mechanisms import Gaussian, Laplace
from discreet.mechanisms.mechanism import root_complement
from discreet.plan.noise_quantiles import FEW, alike_half_width
from discreet.release.value_arrays import Floats
from discreet.requests.raw_totals import Integers

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


_POINTS: Final = 1 << 12
_MARGIN: Final = 3
_LEAST_MISSED: Final = Fraction(1, 1 << 26)
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
    if len(known) < 2 or missed < _LEAST_MISSED:
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
    if 1 - confidence > _LEAST_MISSED * coordinates and _hardly_any(noise):
        return Fraction(0)
    missed = 1 - coordinate_confidence(confidence, coordinates).high
    found = exact_tail_quantile(noise, float(missed))
    if coordinates > 1 and missed > _LEAST_MISSED and noise.width > _FINE:
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
    ends = _MARGIN * math.ceil(most / step)
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
