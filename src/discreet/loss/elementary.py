"""Elementary functions and the normal distribution, enclosed between rationals.

Trust: kernel.  Every closed form of this room rounds through these functions.

Definition.  Each function returns an ``Interval`` that contains the true value; its width is about
2**-BITS (for ``exp``: relative to the value, or 2**-BITS if the value is smaller than that).
Theorem key: ``enclosure``.

Definition.  Phi(x) = P[N(0, 1) <= x].
Theorem (key ``gaussian-profile``; Balle and Wang 2018).  The pair N(mu, 1), N(0, 1) has
delta(eps) = Phi(mu/2 - eps/mu) - e**eps Phi(-mu/2 - eps/mu), which grows with mu.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from statistics import NormalDist
from typing import Final

from discreet import certified
from discreet.exact import Interval

BITS: Final = 160


@functools.lru_cache(maxsize=1024)
def exp(x: Fraction) -> Interval:
    """Enclose e**x; far below zero the lower end is 0."""
    if x <= 0:
        return _scaled(certified.exp_neg(-x, BITS), BITS)
    bits = BITS + 2 * math.ceil(x)
    low, high = certified.exp_neg(x, bits)
    return Interval(Fraction(1 << bits, high), Fraction(1 << bits, low))


@functools.lru_cache(maxsize=1024)
def log(x: Fraction) -> Interval:
    """Enclose the natural logarithm of a positive rational."""
    return _scaled(certified.log(x, BITS), BITS)


def sqrt(x: Fraction) -> Interval:
    """Enclose the square root of a rational that is not negative."""
    return _scaled(certified.sqrt(x, BITS), BITS)


def tanh_half(x: Fraction) -> Interval:
    """Enclose tanh(x / 2) = (1 - e**-x) / (1 + e**-x) for x >= 0."""
    decay = exp(-x)
    return Interval((1 - decay.high) / (1 + decay.high), (1 - decay.low) / (1 + decay.low))


def _scaled(ends: tuple[int, int], bits: int) -> Interval:
    low, high = ends
    return Interval(Fraction(low, 1 << bits), Fraction(high, 1 << bits))


_BITS: Final = 192
_FAR: Final = 80
_HALF: Final = Fraction(1, 2)


def normal_cdf(x: Fraction) -> Interval:
    """Enclose Phi(x).

    For s = |x| the tail is 1/2 - phi(s) * (s + s**3/3 + s**5/15 + ...), a series of positive terms.
    """
    size = abs(x)
    far = size > _FAR
    tail = Interval(Fraction(0), exp(Fraction(-_FAR * _FAR, 2)).high / 2) if far else _tail(size)
    return tail if x < 0 else Interval(1 - tail.high, 1 - tail.low)


def _tail(size: Fraction) -> Interval:
    bits = _BITS + math.ceil(size * size * Fraction(3, 4))
    one = 1 << bits
    low, high = _series(size, bits)
    decay_low, decay_high = certified.exp_neg(size * size / 2, 2 * bits)
    pi_low, pi_high = certified.pi(bits)
    root_low, _ = certified.sqrt(Fraction(2 * pi_low, one), bits)
    _, root_high = certified.sqrt(Fraction(2 * pi_high, one), bits)
    inner_low = Fraction(low * decay_low, one * root_high) / one
    inner_high = Fraction(high * decay_high, one * root_low) / one
    return Interval(
        max(_HALF - inner_high, Fraction(0)), max(min(_HALF - inner_low, _HALF), Fraction(0))
    )


def _series(size: Fraction, bits: int) -> tuple[int, int]:
    """Enclose the sum of s**(2k+1) / (2k+1)!! at scale 2**bits."""
    top, bottom = (size * size).as_integer_ratio()
    low = math.floor(size * (1 << bits))
    high = math.ceil(size * (1 << bits))
    total_low, total_high, odd = low, high, 1
    while high > 1 or (odd + 2) * bottom < 2 * top:
        odd += 2
        low = low * top // (bottom * odd)
        high = -(-high * top // (bottom * odd))
        total_low, total_high = total_low + low, total_high + high
    return total_low, total_high + 2 * high + 2  # from here the terms at least halve


def gaussian_profile(mu_squared: Fraction, epsilon: Fraction) -> Interval:
    """Enclose delta(epsilon) of the pair N(mu, 1), N(0, 1) for epsilon >= 0."""
    if mu_squared == 0:
        return Interval(Fraction(0), Fraction(0))
    mu = sqrt(mu_squared)
    low = _profile(mu.low, epsilon).low if mu.low else Fraction(0)
    return Interval(max(low, Fraction(0)), min(_profile(mu.high, epsilon).high, Fraction(1)))


def _profile(mu: Fraction, epsilon: Fraction) -> Interval:
    above = normal_cdf(mu / 2 - epsilon / mu)
    below = normal_cdf(-mu / 2 - epsilon / mu)
    growth = exp(epsilon)
    low, high = above.low - growth.high * below.high, above.high - growth.low * below.low
    return Interval(min(low, high), high)


def normal_quantile_up(probability: Interval) -> Fraction:
    """Return a number x with Phi(x) >= every member of an interval, close to the least such."""
    guess = Fraction(NormalDist().inv_cdf(float(probability.nearest())))
    step = max(abs(guess), Fraction(1)) / 2**50
    while normal_cdf(guess).low < probability.high:
        guess, step = guess + step, 2 * step
    return guess
