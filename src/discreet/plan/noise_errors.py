"""How far sums of noise are from zero, and how far aside a chosen rank is: one calculus of errors.

Trust: public.  Forecasts, error bars and intervals rest on these bounds, and no privacy does.
Proofs are in docs/proofs/plan.md.

Definition.  E = a_1 Z_1 + ... + a_k Z_k with independent noises of mechanisms and exact weights.
``half_width`` is a number r with P[|E| <= r] >= confidence, or, for ``coordinates`` m > 1, with at
least the m-th root of the confidence: so m independent errors stay within theirs all at once.  With
``times`` n, E is the sum of n independent copies of it.
With one noise r is the smallest such number, exactly.  With more it is at most a part in a hundred
or so above the smallest.

Theorem (key ``weighted-noise-reach``).  Let X_j be a_j Z_j / h, rounded up to a whole number.
Let Y_j be independent and stochastically larger than X_j.  If 2 P[Y_1 + ... + Y_k > m] <= 1 - c
then P[|E| <= m h] >= c.
Proof.  E > m h implies X_1 + ... + X_k > m.  Sums of independent, stochastically larger variables
are stochastically larger.  E is symmetric, so both tails are alike.
If all weights are whole multiples of h nothing is rounded, and r is the smallest up to a part in
2**30 of the chance.  Sums are taken by Fourier transforms on a ring, equal terms as a power; what
wraps around has a chance below 1e-14 (Bernstein's inequality; sums of Gaussian noise are
subgaussian, Canonne, Kamath and Steinke 2020), and transforms err by less than 2**-40 for each
noise.  That much is added to every chance, and rarer events are left to the sum of single reaches.

Definition.  ``tails_above(mechanism, places)`` bounds P[Z >= k] for every k of an increasing list.
The bounds never rise with k, so they belong to a law that is stochastically larger than Z.
``tail_bounds`` encloses the same chances from both sides.

Laplace: a**k / (1 + a) for k >= 1, with a = exp(-1 / scale), and one minus the other tail below.
Gaussian: sums of exp(-j**2 / (2 variance)) if the noise is narrow.  If it is wide, the terms
fall from zero on, so P[Z >= k] <= Q((k - 1) / sigma) for k >= 1, Q the tail of the normal law; and
for k <= 0 one minus P[Z >= 1 - k] >= Q((1 - k) / sigma) / (1 + 2**-100), since the sum of all terms
is below sigma sqrt(2 pi) (1 + 2**-100) for sigma above 4.  That is at most one step too much.
Every result is raised by a part in 2**30, which is thousands of times the rounding errors, or
lowered by as much if a bound from below is asked for.

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

Two choices have to aim beside a rank so that the quantile is between what they choose.
Definition.  The quantile at level q of n values is any number between those of ranks
floor(q (n - 1)) + 1 and ceil(q (n - 1)) + 1, counted from the lowest: definitions differ in how
they interpolate there.  With d the denominator of q, k leaves and a choice of some scale, let R be
scale ln((k - 1) (1 - m) / m), or 0 if that is more.  ``ranks_aside`` is ceil(R + q - 1 / d) below
the quantile, ceil(R + 1 - q - 1 / d) above it, and at least 1.
Theorem (key ``quantile-ends``).  For any values, however few, a choice at level q with
an offset of minus that many ranks (:mod:`discreet.plan.pricing.group_sensitivity`) is a leaf no
higher than the one of the quantile, except with a chance of at most m; and one with an offset of
plus that many is no lower.

Theorem (key ``tree-error``).  An estimate errs by a sum of multiples of independent noises, each at
most 1 in size.  Let V be the sum of their squares, and s the scale of Laplace noise.  The sum
exceeds s (ln(1 / m) - V ln(1 - u**2)) / u with a chance of at most m, for each u from 0 to 1; with
Gaussian noise of variance v, sqrt(2 v V ln(1 / m)).
Proof.  E exp(t Z) is at most 1 / (1 - s**2 t**2) for Laplace noise on whole numbers, since
(cosh t - 1) / t**2 rises; so with a factor a, |a| <= 1, it is at most (1 - s**2 t**2)**(-a**2), as
-ln(1 - x) is convex and 0 at 0.  That of discrete Gaussian noise is at most exp(v t**2 / 2)
(Canonne, Kamath and Steinke 2020).  The rest is Chernoff's bound at t = u / s, or the best t.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable
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

Additive = Laplace | Gaussian
Floats = NDArray[np.float64]
Terms = tuple[tuple[Fraction, Additive], ...]
"""Weights, and the noises that they multiply."""

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
    bounds: Floats = np.minimum.accumulate(tail_bounds(mechanism, places)[1])
    return bounds


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
    """Return the smallest r with P[|Z| > r] <= missed, or None if floats cannot decide.

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
def _sums(variance: float) -> Floats:
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
    """Return how far s Z - t Y reaches for each weight t > 0, or None if this is not known.

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
        if they leave the two ends, the middle is next.
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


_POINTS: Final = 1 << 12
_MANY_POINTS: Final = 1 << 13
_MANY: Final = 8
_SHORTEST: Final = 1 << 10
_REACH: Final = 40  # widths of noise: beyond them is a chance of 2**-57
_LEAST_MISSED: Final = Fraction(1, 1 << 26)
_BITS: Final = 96
_SAFE: Final = 1 << 62
_FAR: Final = 1e300
_FINE: Final = 1 << 12


@functools.lru_cache(maxsize=1 << 12)
def half_width(
    terms: Terms,
    confidence: Fraction,
    coordinates: int = 1,
    *,
    times: int = 1,
    points: int = _POINTS,
) -> Fraction:
    """Return how far a sum of noises goes, with this probability.

    >>> noise = Laplace(scale=2)
    >>> half_width(((Fraction(3), noise),), Fraction(19, 20))
    Fraction(18, 1)
    >>> half_width(((Fraction(1), noise), (Fraction(1), noise)), Fraction(19, 20))
    Fraction(8, 1)
    >>> half_width(((Fraction(1), noise),), Fraction(19, 20), times=10)
    Fraction(18, 1)
    """
    counts = Counter((abs(weight), noise) for weight, noise in terms if weight)
    number = times * counts.total()
    missed = 1 - coordinate_confidence(confidence, coordinates).high
    if number < 2 or missed < max(_LEAST_MISSED, number * Fraction(_ROUNDING) * 64):
        return Fraction(
            sum(
                times * count * weight * _error(noise, confidence, coordinates * number)
                for (weight, noise), count in counts.items()
            )
        )
    wide = [
        (weight, noise, times * count)
        for (weight, noise), count in counts.items()
        if not _hardly_any(noise)
    ]
    if not wide:
        return Fraction(0)
    found = _summed(wide, float(missed), _MANY_POINTS if number > _MANY else points)
    most = sum(
        count * weight * tail_quantile(noise, float(missed / number))
        for weight, noise, count in wide
    )
    return Fraction(most) if found is None else min(Fraction(most), found)


def _summed(
    counts: Iterable[tuple[Fraction, Additive, int]], missed: float, points: int
) -> Fraction | None:
    """Find the reach of a sum of terms, each with how often it counts, on a ring."""
    known = sorted(counts, key=lambda term: (term[0], repr(term[1])))
    widths = [(weight * Fraction(noise.width), count) for weight, noise, count in known]
    widest = max(width for width, _ in widths)
    spread = math.sqrt(sum(float(width / widest) ** 2 * count for width, count in widths))
    light = all(isinstance(noise, Gaussian) for _, noise, _ in known)
    if light and len(known) > _MANY:
        points //= 4
    far = widest * math.ceil(12 * math.sqrt(2) * spread + (0 if light else 60))
    lattice = functools.reduce(_common, (weight for weight, _, _ in known))
    step = lattice * max(1, math.ceil(far / lattice / (8 * points - 1)))
    size = max(1 << (2 * math.ceil(far / step) + 1).bit_length(), _SHORTEST)
    waves, beyond = np.ones(size // 2 + 1, np.complex128), 0.0
    for weight, noise, count in known:
        ends = min(size // 2 - 1, math.ceil(_REACH * weight * Fraction(noise.width) / step) + 2)
        tails = _rounded_up(weight / step, noise, ends)
        beyond += count * (float(tails[-1]) + _ROUNDING)  # counted as too much
        ring = np.zeros(size)
        ring[: 2 * ends + 1] = tails[:-1] - tails[1:]
        waves *= np.fft.rfft(np.roll(ring, -ends)) ** count
    chances = np.maximum(np.fft.irfft(waves, size)[: size // 2], 0.0)
    above = np.append(np.cumsum(chances[::-1])[::-1][1:], 0.0) + beyond  # P[sum > m], from m = 0
    enough = np.flatnonzero(2.0 * above <= missed)
    return int(enough[0]) * step if enough.size else None


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


def _rounded_up(ratio: Fraction, noise: Additive, ends: int) -> Floats:
    """Bound P[X >= m] for m from -ends to ends + 1, where X is ratio Z rounded up."""
    top, bottom = ratio.denominator, ratio.numerator  # X >= m if Z > (m - 1) / ratio
    kind = np.int64 if max(top * (ends + 1), bottom) < _SAFE else object
    places = np.arange(-ends - 1, ends + 1).astype(kind) * top // bottom + 1
    tails = tails_above(noise, np.clip(places.astype(np.float64), -_FAR, _FAR))
    tails[0] = 1.0  # what is smaller is rounded up to the end of the grid
    return tails


def _common(first: Fraction, second: Fraction) -> Fraction:
    """Return the largest number of which both are whole multiples."""
    bottom = math.lcm(first.denominator, second.denominator)
    return Fraction(math.gcd(int(first * bottom), int(second * bottom)), bottom)


_ABOVE: Final = 1 + 2.0**-40


def ranks_aside(
    level: Fraction, select: mechanisms.Exponential, missed: Fraction, *, above: bool
) -> int:
    """Return how many ranks beside a level an end of its interval has to aim.

    >>> from discreet.mechanisms import Exponential
    >>> choose = Exponential(candidates=101, scale=2)
    >>> ranks_aside(Fraction(1, 2), choose, Fraction(1, 40), above=True)
    17
    """
    return ranks_around(
        select, missed, (1 - level if above else level) - Fraction(1, level.denominator)
    )


def ranks_around(
    select: mechanisms.Exponential, missed: Fraction, more: Fraction = Fraction(0)
) -> int:
    """Return how many ranks a choice of a span has to aim at (``quantile-span``), and some more.

    >>> from discreet.mechanisms import Exponential
    >>> ranks_around(Exponential(candidates=25, scale=20), Fraction(1, 20))
    123
    """
    odds = (select.candidates - 1) * (1 - missed) / missed
    far = _log(odds) * float_up(select.scale) * _ABOVE if odds > 1 else 0.0
    return max(1, math.ceil(Fraction(far) + more))


def _log(odds: Fraction) -> float:
    """Return the logarithm of any odds, also of some that are beyond the largest float."""
    if odds < _WIDEST:
        return math.log(odds)
    return math.log(odds.numerator) - math.log(odds.denominator)


_TILTS: Final = np.linspace(0.02, 0.98, 49)
_WIDEST: Final = Fraction(1 << 1000)  # more noise than that is drawn nowhere


def error_bound(noise: Laplace | Gaussian, squares: Floats, missed: Fraction) -> Floats:
    """Return what a sum of noises with factors of at most 1 exceeds only with some chance.

    ``squares`` are sums of squared factors (key ``tree-error``).

    >>> bound = error_bound(Laplace(scale=2), np.array([1.0, 9.0]), Fraction(1, 40))
    >>> [round(float(each), 2) for each in bound]
    [11.69, 25.1]
    """
    rare = (math.log(missed.denominator) - math.log(missed.numerator)) * _ABOVE
    if isinstance(noise, Gaussian):
        return (
            np.sqrt(2 * float(min(noise.variance, _WIDEST)) * np.maximum(squares, 0.0) * rare)
            * _ABOVE
        )
    best = np.full(squares.shape, np.inf)
    for tilt in _TILTS:
        best = np.minimum(best, (rare - np.maximum(squares, 0.0) * math.log1p(-tilt * tilt)) / tilt)
    return best * float(min(noise.scale, _WIDEST)) * _ABOVE
