"""How far sums of noise are from zero, and how far aside a chosen rank is, at most.

Trust: public.  Error bars and intervals rest on them, and no promise of privacy does.

Theorem (key ``lattice-spread``).  Let X be a sum of k independent terms, and q round to
the nearest multiple of u.  Then |X| <= |sum of q(terms)| + k u / 2, so that if the latter exceeds r
with chance at most b, X exceeds r + k u / 2 with chance at most b.
One term has its exact error.  Several are rounded to a lattice with u a 256th of the widest, and
their laws convolved in floating point; b is lowered by more than all rounding can matter, and where
it is so small that this cannot be said, or a term is nothing beside another, errors at shares of b
are added up.

Two choices have to aim beside a rank so that the quantile lies between what they choose.
Definition.  The quantile at level q of n values is any number between those of ranks
floor(q (n - 1)) + 1 and ceil(q (n - 1)) + 1, counted from the lowest: definitions differ in how
they interpolate there.  With d the denominator of q, k leaves and a choice of some scale, let R be
scale ln((k - 1) (1 - m) / m), or 0 if that is more.  ``ranks_aside`` is ceil(R + q - 1 / d) below
the quantile, ceil(R + 1 - q - 1 / d) above it, and at least 1.
Theorem (key ``quantile-ends``).  Whatever the values are, and however few, a choice at level q with
an offset of minus that many ranks (:mod:`discreet.plan.pricing.group_sensitivity`) is a leaf no
higher than the one of the quantile, except with a chance of at most m; and one with an offset of
plus that many is no lower.
Proof.  Let T be the ranks below, t = q n - T.  With T more rows in the first leaf the ranks of the
leaves cover all numbers from 0 to n + T, so one of them holds q n, and the best score is at least
0.  A leaf is too high if more than q (n - 1) rows lie below it: then it is none of the values that
define the quantile.  It is not the first leaf, and is T - q + 1 / d >= R or more beside its rank,
since ranks are whole numbers, and q n a multiple of 1 / d.  So each of at most k - 1 such leaves
has at most exp(-R / scale) times the chance of the best, and all of them at most m.  Above the
quantile it is the same with the order of the values reversed.
No number of rows is needed: where there are fewer than the ranks aside, the first or the last leaf
is chosen, and the interval ends at the bounds of the values.

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
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet import mechanisms
from discreet.exact import float_up
from discreet.mechanisms import Gaussian, Laplace

Law = Laplace | Gaussian
Term = tuple[Fraction, Law]
"""A factor, and the noise that it multiplies."""

FEW: Final = 2
"""More equal noises than this are added up as a power of one of them."""

_HARDLY: Final = 1 / 64
_RING: Final = 1 << 18
_GAUSSIAN_RING: Final = 1 << 15
_MANY: Final = 8
_SHORTEST: Final = 1 << 10
_FINE: Final = 256
_LAPLACE_REACH: Final = 30.0
_GAUSSIAN_REACH: Final = 8.0
_NARROW: Final = 4096.0
_SLACK: Final = 1e-8
_RAREST: Final = 1e-5
_SLIGHT: Final = Fraction(1, 1 << 500)

Floats = NDArray[np.float64]


@functools.lru_cache(maxsize=1024)
def noise_half_width(terms: tuple[Term, ...], confidence: Fraction) -> Fraction:
    """Return r such that a sum of noises, each times its factor, is within r at a confidence.

    >>> noise_half_width(((Fraction(1, 2), Laplace(scale=2)),), Fraction(19, 20))
    Fraction(3, 1)
    >>> one = (Fraction(1), Laplace(scale=10))
    >>> 40 < noise_half_width((one, one), Fraction(19, 20)) < 43
    True
    """
    known = [(abs(factor), noise) for factor, noise in terms if factor]
    if len(known) <= 1:
        return sum(
            (factor * noise.error(confidence=confidence) for factor, noise in known), Fraction(0)
        )
    miss = float(1 - confidence)
    sizes = [factor for factor, _ in known]
    largest, smallest = max(sizes), min(sizes)
    if len(known) > FEW:
        alike = alike_half_width(known, 1 - confidence)
        if alike is not None:
            return alike
    if miss < _RAREST or smallest < largest * _SLIGHT:
        single = 1 - (1 - confidence) / len(known)
        return sum(
            (factor * noise.error(confidence=single) for factor, noise in known), Fraction(0)
        )
    unit = Fraction(2) ** (largest.numerator.bit_length() - largest.denominator.bit_length())
    factors = [(float(factor / unit), noise) for factor, noise in known]  # none is out of range
    step = max(factor * noise.width for factor, noise in factors) / _FINE
    laws = sorted((_rounded(noise, step / factor) for factor, noise in factors), key=len)
    reach = _quantile(functools.reduce(_convolved, laws[:-1]), laws[-1], miss - _SLACK)
    spread = Fraction(step) * (reach + Fraction(len(known), 2)) * (1 + Fraction(1, 10**9))
    return unit * Fraction(float_up(spread))


def repeated_half_width(terms: Sequence[Term], times: int, missed: Fraction) -> Fraction:
    """Return how far a sum of so many independent copies of a sum of noises reaches.

    >>> repeated_half_width([(Fraction(1), Laplace(scale=2))], 10, Fraction(1, 20))
    Fraction(18, 1)
    """
    known = [(abs(factor), noise) for factor, noise in terms if factor and noise.width >= _HARDLY]
    if missed >= _RAREST:
        return _power(_repeated(known, times), missed) if known else Fraction(0)
    known = [(abs(factor), noise) for factor, noise in terms]
    single = 1 - missed / max(times * len(known), 1)
    return times * sum(
        (factor * noise.error(confidence=single) for factor, noise in known), Fraction(0)
    )


def alike_half_width(terms: Sequence[Term], missed: Fraction) -> Fraction | None:
    """Return how far a sum of multiples of equal noises reaches, or None if that is not known.

    >>> one = (Fraction(1), Laplace(scale=2))
    >>> alike_half_width([one] * 10, Fraction(1, 20))
    Fraction(18, 1)
    """
    noise = terms[0][1]
    if any(other != noise for _, other in terms) or missed < _RAREST:
        return None
    if noise.width < _HARDLY:  # it is hardly ever anything but zero
        return Fraction(0)
    return _power(_repeated(terms, 1), missed)


def _repeated(terms: Sequence[Term], times: int) -> tuple[tuple[Fraction, Law, int], ...]:
    """Return each different term once, with how often it counts, small factors first."""
    counts = Counter((abs(factor), noise) for factor, noise in terms)
    found = ((factor, noise, times * count) for (factor, noise), count in counts.items())
    return tuple(sorted(found, key=lambda each: (each[0], repr(each[1]))))


@functools.lru_cache(maxsize=1024)
def _power(counts: tuple[tuple[Fraction, Law, int], ...], missed: Fraction) -> Fraction:
    """Convolve powers of laws on a ring so long that what wraps around does not matter.

    The whole chance beyond sixty widths of the widest and twelve deviations is below 1e-14, by
    Bernstein's inequality; Gaussian noise needs no widths, since its sums are subgaussian (Canonne,
    Kamath and Steinke 2020).  Where all factors are multiples of the step, nothing is rounded.
    """
    light = all(isinstance(noise, Gaussian) for _, noise, _ in counts)
    widths = [(float(factor) * noise.width, count) for factor, noise, count in counts]
    spread = math.sqrt(sum(width**2 * count for width, count in widths))
    far = 12 * spread * math.sqrt(2.0)
    far += 0.0 if light else 60 * max(width for width, _ in widths)
    bottom = math.lcm(*(factor.denominator for factor, _, _ in counts))
    lattice = Fraction(math.gcd(*(int(factor * bottom) for factor, _, _ in counts)), bottom)
    longest = _GAUSSIAN_RING if light and len(counts) > _MANY else _RING
    whole = far / float(lattice) < longest // 2
    step = lattice if whole else Fraction(2 * far / longest)
    size = max(2 << math.ceil(far / float(lattice)).bit_length(), _SHORTEST) if whole else longest
    waves = np.ones(size // 2 + 1, np.complex128)
    for factor, noise, count in counts:
        law = _rounded(noise, float(step / factor))
        ring = np.zeros(size)
        ring[: len(law)] = law
        waves *= np.fft.rfft(np.roll(ring, -(len(law) // 2))) ** count
    chances = np.maximum(np.fft.irfft(waves, size)[: size // 2], 0.0)
    beyond = 2.0 * np.append(np.cumsum(chances[::-1])[::-1][1:], 0.0)  # P[|sum| > r]
    reach = int(np.argmax(beyond <= float(missed) - _SLACK))
    number = sum(count for _, _, count in counts)
    return step * reach if whole else step * (reach + Fraction(number, 2))


def _rounded(noise: Laplace | Gaussian, step: float) -> Floats:
    """Return the law of noise that is rounded to multiples of a step, around zero in the middle."""
    far = _LAPLACE_REACH if isinstance(noise, Laplace) else _GAUSSIAN_REACH
    most = math.ceil(far * noise.width / step) + 1
    edges: Floats = (np.arange(-most, most + 2, dtype=np.float64) - 0.5) * step
    below = _below(noise, edges)
    return np.maximum(np.diff(below), 0.0)


def _below(noise: Laplace | Gaussian, edges: Floats) -> Floats:
    """Return P[Z <= edge] for rising edges, in floating point."""
    whole = np.floor(edges)
    if isinstance(noise, Laplace):
        rate = 1 / float(noise.scale)
        side = np.where(whole >= 0, whole + 1, -whole)
        tail = np.exp(-side * rate) / (1 + math.exp(-rate))
        return np.where(whole >= 0, 1 - tail, tail)
    sigma = noise.width
    if sigma > _NARROW:
        return _normal_below((whole + 0.5) / sigma)
    most = math.ceil((_GAUSSIAN_REACH + 1) * sigma) + 1
    places = np.arange(-most, most + 1)
    total = np.cumsum(np.exp(-(places.astype(float) ** 2) / (2 * sigma * sigma)))
    place = np.clip(whole, -most - 1, most).astype(np.int64) + most
    return np.where(place < 0, 0.0, total[np.maximum(place, 0)] / total[-1])


def _normal_below(places: Floats) -> Floats:
    """Return P[N(0, 1) <= place] to within 1e-12: Taylor's series around the next knot."""
    knots = np.rint(np.clip(places, -_GAUSSIAN_REACH - 1, _GAUSSIAN_REACH + 1) * _FINE)
    x, below = knots / _FINE, _knots()
    d = np.clip(places - x, -1 / _FINE, 1 / _FINE)
    density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    series = d * (1 - d * (x / 2 - d * ((x * x - 1) / 6 - d * (x**3 - 3 * x) / 24)))
    return below[knots.astype(np.int64) + len(below) // 2] + density * series


@functools.cache
def _knots() -> Floats:
    """Return P[N(0, 1) <= x] at all multiples x of a 256th that matter, zero in the middle."""
    most = round((_GAUSSIAN_REACH + 1) * _FINE)
    steps = [i / (_FINE * math.sqrt(2)) for i in range(-most, most + 1)]
    return np.array([0.5 * math.erfc(-step) for step in steps])


def _convolved(first: Floats, second: Floats) -> Floats:
    size = len(first) + len(second) - 1
    bits = 1 << (size - 1).bit_length()
    product = np.fft.rfft(first, bits) * np.fft.rfft(second, bits)
    return np.maximum(np.fft.irfft(product, bits)[:size], 0.0)


def _quantile(first: Floats, second: Floats, miss: float) -> int:
    """Return the least r such that the sum of two terms is beyond r with at most this chance.

    Only few chances are looked at, each one a sum over the first term; so the whole law of the sum
    is not needed.
    """
    first, second = sorted((first, second), key=len)
    ends = len(first) // 2, len(second) // 2
    far = sum(ends)
    room = np.zeros(far + ends[0])
    above = np.concatenate([np.cumsum(second[::-1])[::-1][1:], [0.0], room])  # P[second > j]
    below = np.concatenate([room, [0.0], np.cumsum(second)[:-1]])  # P[second < j]
    mirrored = first[::-1]

    def beyond(reach: int) -> float:
        high, low = reach + ends[1] - ends[0], far - reach + ends[1]
        parts = above[high : high + len(first)], below[low : low + len(first)]
        return float(mirrored @ parts[0] + mirrored @ parts[1])

    return bisect_left(range(far), True, key=lambda reach: beyond(reach) <= miss)


_MORE: Final = 1 + 2.0**-40


def ranks_aside(
    level: Fraction, select: mechanisms.Exponential, missed: Fraction, *, above: bool
) -> int:
    """Return how many ranks beside a level an end of its interval has to aim.

    >>> from discreet.mechanisms import Exponential
    >>> choose = Exponential(candidates=101, scale=2)
    >>> ranks_aside(Fraction(1, 2), choose, Fraction(1, 40), above=True)
    17
    """
    share = 1 - level if above else level
    odds = (select.candidates - 1) * (1 - missed) / missed
    far = _log(odds) * float_up(select.scale) * _MORE if odds > 1 else 0.0
    return max(1, math.ceil(Fraction(far) + share - Fraction(1, level.denominator)))


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
    rare = (math.log(missed.denominator) - math.log(missed.numerator)) * _MORE
    if isinstance(noise, Gaussian):
        return (
            np.sqrt(2 * float(min(noise.variance, _WIDEST)) * np.maximum(squares, 0.0) * rare)
            * _MORE
        )
    best = np.full(squares.shape, np.inf)
    for tilt in _TILTS:
        best = np.minimum(best, (rare - np.maximum(squares, 0.0) * math.log1p(-tilt * tilt)) / tilt)
    return best * float(min(noise.scale, _WIDEST)) * _MORE
