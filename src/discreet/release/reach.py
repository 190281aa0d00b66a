"""How far a sum of weighted noises reaches.

Trust: public.  Intervals are functions of public numbers.

Definition.  E = a_1 Z_1 + ... + a_k Z_k with independent noises of mechanisms and exact weights.
``reach`` is a number r with P[|E| <= r] >= confidence, or, for ``coordinates`` m > 1, with at least
the m-th root of the confidence: so m independent errors stay within theirs all at once.
With one noise and one coordinate r is the smallest such number, exactly.  With more it is at most a
part in a thousand or so above the smallest.

Theorem (key ``weighted-noise-reach``).  Let X_j be a_j Z_j / h, rounded up to a whole number.  Let
Y_j be independent and stochastically larger than X_j.  If 2 P[Y_1 + ... + Y_k > m] <= 1 - c then
P[|E| <= m h] >= c.
Proof.  E > m h implies X_1 + ... + X_k > m.  Sums of independent, stochastically larger variables
are stochastically larger.  E is symmetric, so both tails are alike.
Where all weights are whole multiples of h nothing is rounded, and r is the smallest up to a part in
2**30 of the chance.  Two noises of which one is fine are left to ``paired-reach``, and lose one of
its fine steps.  Sums are taken by Fourier transforms, whose error is below 2**-40 of one; that
much is added to every chance, and rarer events are left to the sum of the single reaches.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.exact import Interval, float_up
from discreet.mechanisms import Laplace
from discreet.mechanisms.quantiles import root_complement
from discreet.release.noise_tails import Additive, near_reach, sure_reach, tails_above

__all__ = ["Terms", "reach", "share"]

Terms = tuple[tuple[Fraction, Additive], ...]
"""Weights, and the noises that they multiply."""

Floats = NDArray[np.float64]

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
def reach(
    terms: Terms, confidence: Fraction, coordinates: int = 1, *, points: int = _POINTS
) -> Fraction:
    """Return how far the error goes, with this probability; the grid has so many points.

    >>> from discreet.mechanisms import Laplace
    >>> noise = Laplace(scale=2)
    >>> reach(((Fraction(3), noise),), Fraction(19, 20))
    Fraction(18, 1)
    >>> reach(((Fraction(1), noise), (Fraction(1), noise)), Fraction(19, 20))
    Fraction(8, 1)
    """
    known = tuple((abs(weight), noise) for weight, noise in terms if weight)
    missed = 1 - share(confidence, coordinates).high
    if len(known) < 2 or missed < _RAREST:
        count = coordinates * len(known)
        return sum((weight * _error(noise, confidence, count) for weight, noise in known), _ZERO)
    most = sum((weight * _far(noise, missed / len(known)) for weight, noise in known), _ZERO)
    if most == 0:
        return most
    found = _paired(known, missed, points)
    return min(most, _summed(known, most, missed, points) if found is None else found)


@functools.lru_cache(maxsize=1 << 10)
def _error(noise: Additive, confidence: Fraction, coordinates: int) -> Fraction:
    if 1 - confidence > _RAREST * coordinates and _hardly_any(noise):
        return Fraction(0)
    missed = 1 - share(confidence, coordinates).high
    found = sure_reach(noise, float(missed))
    if coordinates > 1 and missed > _RAREST and _size(noise) > _FINE:
        return Fraction(near_reach(noise, float(missed)))  # a step more does not matter
    if found is None:
        return Fraction(noise.error(confidence=confidence, coordinates=coordinates))
    return Fraction(found)


def _far(noise: Additive, missed: Fraction) -> int:
    return 0 if _hardly_any(noise) else near_reach(noise, float(missed))


def _hardly_any(noise: Additive) -> bool:
    """Say whether P[Z != 0] < 2**-60: noise so narrow is drawn in tests, where it may not matter.

    That chance is below 2 exp(-1 / scale), or 3 exp(-1 / (2 variance)).
    """
    rate = 1 / noise.scale if isinstance(noise, Laplace) else 1 / (2 * noise.variance)
    return rate > 64


def share(confidence: Fraction, coordinates: int) -> Interval:
    """Enclose the root of a confidence that each of so many independent errors needs.

    >>> share(Fraction(19, 20), 2).nearest()
    0.9746794344808964
    """
    if coordinates == 1:
        return Interval(confidence, confidence)
    rest = root_complement(confidence, coordinates, _BITS)
    return Interval(1 - rest.high, 1 - rest.low)


def _paired(terms: Terms, missed: Fraction, points: int) -> Fraction | None:
    """Find the reach of two noises of which one is so fine that a step of it does not matter."""
    fine, *others = sorted(terms, key=lambda term: -_size(term[1]))
    if len(others) != 1 or _size(fine[1]) < _FINE:
        return None
    ((weight, coarse),) = others
    from discreet.release.paired import paired_reaches  # noqa: PLC0415  rare

    found = paired_reaches(fine, coarse, np.array([float_up(weight)]), float(missed), points)
    return None if found is None else Fraction(float(found[0]))


def _size(noise: Additive) -> float:
    return float(noise.scale) if isinstance(noise, Laplace) else math.sqrt(noise.variance)


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


def _rounded_up(ratio: Fraction, noise: Additive, ends: int) -> Floats:
    """Bound P[X >= m] for m from -ends to ends + 1, where X is ratio Z rounded up."""
    top, bottom = ratio.denominator, ratio.numerator  # X >= m if Z > (m - 1) / ratio
    kind = np.int64 if max(top * (ends + 1), bottom) < _SAFE else object
    places = np.arange(-ends - 1, ends + 1).astype(kind) * top // bottom + 1
    tails = tails_above(noise, np.clip(places.astype(np.float64), -_FAR, _FAR))
    tails[0] = 1.0  # what is smaller is rounded up to the end of the grid
    return tails


def _convolved(first: Floats, second: Floats) -> Floats:
    size = first.size + second.size - 1
    width = 1 << (size - 1).bit_length()
    product = np.fft.rfft(first, width) * np.fft.rfft(second, width)
    found: Floats = np.maximum(np.fft.irfft(product, width)[:size], 0.0)
    return found


def _common(first: Fraction, second: Fraction) -> Fraction:
    """Return the largest number of which both are whole multiples."""
    bottom = math.lcm(first.denominator, second.denominator)
    return Fraction(math.gcd(int(first * bottom), int(second * bottom)), bottom)
