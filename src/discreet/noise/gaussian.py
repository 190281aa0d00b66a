"""The discrete Gaussian distribution, with certified tails at any width and any depth.

Trust: kernel.  Proofs are in docs/proofs/noise.md.

Definition.  P[Z = k] is proportional to f(k) = exp(-k**2 / 2v).  v is called ``variance`` after the
continuous model; the variance of Z is just below it, and ``moments`` encloses it.

Theorem (key ``gaussian-tail``).  (f(k) + f(k+1) + ...) / f(k), k >= 0, is enclosed term by term,
with a geometric series for the rest, or by Euler-Maclaurin summation
    sum = integral + f(k)/2 - sum over i of B_2i/(2i)! f^(2i-1)(k) + R,
    |R| <= |B_2q|/(2q)! * integral of |f^(2q)|,
where every derivative of f, divided by f, is a rational polynomial, and the integral from k on,
divided by f(k), is Mills' ratio: Laplace's continued fraction v/(k + v/(k + 2v/(k + ...))) for
k**2 >= v, and sqrt(pi v / 2) / f(k) minus a series of positive terms below.
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

from discreet.certified import exp_neg, pi, sqrt
from discreet.exact import ExactNumber, Interval, freeze
from discreet.noise.decay import Decay, ScaledExponential
from discreet.noise.distribution import BITS, Moments, checked_scale
from discreet.noise.entropy import Entropy
from discreet.noise.laplace import TwoSidedLaw
from discreet.noise.tablefree import FreeSizes, gaussian_beyond_into, gaussian_into

_NARROW_TAIL: Final = 1 << 11  # tails of variances up to here are summed term by term
_SHORT: Final = 32  # bits of the bound on the remainder, which needs few
_EVEN: Final = 64  # variances from which on the theorem of variance_bounds holds


@functools.cache
def _bernoulli(even: int) -> Fraction:
    """Return the Bernoulli number B_n for even n > 0, from the sum of binomial(n+1, j) B_j = 0."""
    n = even
    total = Fraction(1 - n, 2)  # the terms of B_0 and B_1: 1 - (n + 1)/2
    for j in range(2, n, 2):
        total += math.comb(n + 1, j) * _bernoulli(j)
    return -total / (n + 1)


@functools.lru_cache(maxsize=256)
def normalizer(variance: Fraction, bits: int) -> Interval:
    """Enclose the sum of f over all integers, to a relative 2**-bits or so."""
    half = tail_ratio(variance, 0, bits)
    return Interval(2 * half.low - 1, 2 * half.high - 1)


def tail_ratio(variance: Fraction, k: int, bits: int) -> Interval:
    """Enclose (f(k) + f(k+1) + ...) / f(k) for k >= 0, to a relative 2**-bits or so."""
    if variance <= _NARROW_TAIL or 16 * k >= variance:
        return _term_by_term(variance, k, bits)
    return _euler_maclaurin(variance, k, bits)


def _term_by_term(variance: Fraction, k: int, bits: int) -> Interval:
    decay = Decay(quadratic=1 / (2 * variance))
    # h(k + i) - h(k) is at least i k / v and at least i**2 / 2v: whichever fades sooner
    count = decay.reach(bits + 8)
    if k:
        count = min(count, math.ceil(Fraction(7 * (bits + 8), 10) * variance / k))
    scale = bits + 64
    lows, highs = decay.progression(start=k, step=1, count=count + 1, bits=scale, origin=k)
    rest = decay.beyond(start=k + count + 1, step=1, bits=scale, origin=k)
    one = 1 << scale
    return Interval(Fraction(sum(lows), one), Fraction(sum(highs) + rest, one))


def _euler_maclaurin(variance: Fraction, k: int, bits: int) -> Interval:
    mills = _mills_ratio(variance, k, bits)
    orders = bits // 12 + 2  # k/v <= 1/16: each order gains more than 12 bits
    top, bottom = variance.numerator, variance.denominator
    before, here, power, factorial = 1, -k * bottom, top, 2
    correction = Fraction(1, 2)
    for order in range(1, 2 * orders, 2):  # here / top**order is f^(order)/f; (order + 1)! follows
        number = _bernoulli(order + 1)
        correction -= Fraction(number.numerator * here, number.denominator * factorial * power)
        for n in (order, order + 1):
            before, here = here, -bottom * (k * here + n * top * before)
        power *= top * top
        factorial *= (order + 2) * (order + 3)
    error = _remainder(variance, k, mills.high, 2 * orders)
    return Interval(mills.low + correction - error, mills.high + correction + error)


def _remainder(variance: Fraction, k: int, mills: Fraction, order: int) -> Fraction:
    """Bound the Euler-Maclaurin remainder of even order, divided by f(k).

    All terms share a factor v**(-order/2); I_m / v**(m/2) is rounded up to multiples of 2**-32.
    """
    square, moment = math.ceil((k * k << _SHORT) / variance), math.ceil(mills * (1 << _SHORT))
    power, moments = k << _SHORT, [moment]
    for m in range(2, order + 1, 2):
        moment = power + (m - 1) * moment
        power = -(-(power * square) >> _SHORT)
        moments.append(moment)
    total = 0
    for j in range(order // 2 + 1):
        ways = math.factorial(order) // (math.factorial(j) * math.factorial(order - 2 * j) << j)
        total += ways * moments[order // 2 - j]
    bound = Fraction(total, math.factorial(order) << _SHORT) / variance ** (order // 2)
    return abs(_bernoulli(order)) * bound


def _mills_ratio(variance: Fraction, k: int, bits: int) -> Interval:
    """Enclose the integral of f from k on, divided by f(k)."""
    if k * k >= variance:
        return _continued_fraction(variance, k, bits)
    scale = bits + 32 + variance.numerator.bit_length()
    square = k * k / variance
    series, term, odd = 0, 1 << scale, 1
    while term:  # term ratio square/odd is at most 1/3; the rest is below one unit
        series += term
        odd += 2
        term = term * square.numerator // (square.denominator * odd)
    pi_low, pi_high = pi(scale)
    root_low = sqrt(Fraction(pi_low, 1 << scale) * variance / 2, scale)[0]
    root_high = sqrt(Fraction(pi_high, 1 << scale) * variance / 2, scale)[1]
    f_low, f_high = exp_neg(square / 2, scale)
    one = 1 << scale
    terms = odd // 2 + 1
    return Interval(
        Fraction(root_low, f_high) - Fraction(k * (series + 2 * terms), one),
        Fraction(root_high, f_low) - Fraction(k * series, one),
    )


def _continued_fraction(variance: Fraction, k: int, bits: int) -> Interval:
    top, bottom = variance.numerator, variance.denominator
    scale = bits + 32 + max(0, top.bit_length() - bottom.bit_length())
    base = k << scale
    square = 2 * scale
    depth = 32
    while True:
        depth *= 2
        # what follows level n is between k and k + n v / k
        low, high = base, base + -(-(depth * top << scale) // (bottom * k))
        for level in range(depth - 1, 0, -1):
            step = level * top << square
            low, high = base + step // (bottom * high), base - (-step // (bottom * low))
        value_low = (top << square) // (bottom * high)
        value_high = -(-(top << square) // (bottom * low))
        if (value_high - value_low) << bits <= value_low:
            return Interval(Fraction(value_low, 1 << scale), Fraction(value_high, 1 << scale))


def variance_bounds(variance: Fraction, bits: int) -> Interval:
    """Enclose the variance of the distribution, which is less than 2**-1500 below v from 64 on."""
    if variance >= _EVEN:
        return Interval(variance - Fraction(1, 1 << 1500), variance)
    decay = Decay(quadratic=1 / (2 * variance))
    count = decay.reach(bits + 32) + 2
    scale = bits + 64
    lows, highs = decay.progression(start=0, step=1, count=count, bits=scale)
    low = 2 * sum(k * k * weight for k, weight in enumerate(lows))
    high = 2 * sum(k * k * weight for k, weight in enumerate(highs))
    high += 4 * count * count * decay.beyond(start=count, step=1, bits=scale)
    total = normalizer(variance, bits + 32)
    one = 1 << scale
    return Interval(Fraction(low, one) / total.high, Fraction(high, one) / total.low)


_NARROW: Final = 64**2  # up to here single integers have a table, beyond blocks of them


@final
@dataclass(frozen=True, slots=True, init=False)
class DiscreteGaussian(TwoSidedLaw):
    """Integer noise with P[Z = k] proportional to exp(-k**2 / (2 variance)).

    >>> law = DiscreteGaussian(variance=4)
    >>> law.pmf(0), law.quantile("0.975")
    (0.19947114020071635, 4)
    >>> law.log_survival(75)  # about 1e-314
    -723.6120857088201
    """

    variance: Fraction

    def __init__(self, *, variance: ExactNumber) -> None:
        """Take an exact variance between 2**-400 and 2**100."""
        freeze(self, variance=checked_scale(variance, name="variance", power=2))

    @property
    def decay(self) -> Decay:
        return Decay(quadratic=1 / (2 * self.variance))

    @property
    def _block_bits(self) -> int | None:
        if self.variance <= _NARROW:
            return None
        return math.isqrt(math.floor(self.variance)).bit_length() - 6

    @property
    def parameter(self) -> Fraction:
        return self.variance

    draw_each_into = staticmethod(gaussian_into)

    def _beyond_into(
        self, out: NDArray[np.int64], least: int, entropy: Entropy, sizes: FreeSizes
    ) -> None:
        gaussian_beyond_into(out, self.variance, least, entropy, sizes)

    def _pmf(self, k: int, bits: int) -> Interval:
        total = normalizer(self.variance, bits)
        factor = Interval(1 / total.high, 1 / total.low)
        return ScaledExponential(self.decay.exponent(abs(k)), factor).bounds(bits)

    def moments(self) -> Moments:
        zero = Interval(Fraction(0), Fraction(0))
        return Moments(mean=zero, variance=variance_bounds(self.variance, BITS))

    def estimated_quantile(self, tail: float) -> float:
        return -NormalDist().inv_cdf(tail) * math.sqrt(self.variance) + 0.5

    def _tail(self, k: int, bits: int) -> ScaledExponential:
        ratio, total = tail_ratio(self.variance, k + 1, bits), normalizer(self.variance, bits)
        factor = Interval(ratio.low / total.high, ratio.high / total.low)
        return ScaledExponential(self.decay.exponent(k + 1), factor)
