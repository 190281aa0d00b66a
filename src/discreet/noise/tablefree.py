"""Draws without tables: any scale, one for each element; rare events; noise beyond a number.

Trust: kernel.

Theorem (key ``geometric-log``; Devroye 1986, Non-Uniform Random Variate Generation, X.2).
floor(-s ln U) is at least k with probability exp(-k/s).
Theorem (key ``geometric-split``).  For m = 2**b, a geometric variable of scale s is Q m + R, where
Q is geometric of scale s/m and R, independent, has weight exp(-R/s) on [0, m).
Theorem (key ``laplace-sign``).  A geometric magnitude with a fair sign, minus zero rejected, is
discrete Laplace.
Theorem (key ``gaussian-rejection``; Canonne, Kamath and Steinke 2020).  A discrete Laplace Y of
integer scale t, accepted with probability exp(-(|Y| - v/t)**2 / 2v), is discrete Gaussian with
parameter v, for every t; t near sqrt(v) accepts most.

The logarithm is taken in floating point with a certified radius of error.  If an integer lies
within the radius, the value is settled in integers on further bits of the same U.

Theorem (key ``rare-coins``).  n coins show heads with probability p each.  Let
q = 1 - exp(-1/s) >= p.  Mark coins with geometric gaps of scale s, let every marked coin show heads
with probability p/q, and every other one tails.  Then the coins are independent, each with
probability p.
Proof.  Geometric gaps are the waiting times of independent trials of probability q.
s = (1 - p) / p will do, rounded down, since ln(1 / (1 - p)) <= p / (1 - p).  About n q gaps are
drawn, regardless of the coins.
Theorem (key ``noise-beyond``; completing the square, as Robert 1995, Simulation of truncated
normal variables, does for continuous noise).  Given Z >= t >= 0, discrete Laplace noise is t + J
with J geometric of the same scale, and discrete Gaussian noise with parameter v is t + J, where J
is geometric of scale v / (t + c) and accepted with probability exp(-(J - c)**2 / 2v), for every
c > 0.  Proof.  j (t + c) / v + (j - c)**2 / 2v is (t + j)**2 / 2v plus a number without j.
About three of four draws are accepted with c = (sqrt(t**2 + 4v) - t) / 2, wherever t lies.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import INT64_MAX, INT64_MIN, saturating_add
from discreet.certified import log
from discreet.exact import Interval, float_down
from discreet.noise.bernoulli import SIZES as COIN_SIZES
from discreet.noise.bernoulli import CoinSizes, Enclosure, exp_coins, flip
from discreet.noise.decay import ratio
from discreet.noise.distribution import BITS
from discreet.noise.entropy import Entropy

CHUNK: Final = 1 << 16  # values that stay in the cache
BLOCK_BITS: Final = 5  # Q has a scale in [16, 32), so R is accepted at least 15 times in 16


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FreeSizes:
    """How many bits of U are read at first, how many each time after, and how coins are read."""

    word_bits: int = 64
    step_bits: int = 64
    coins: CoinSizes = COIN_SIZES


SIZES: Final = FreeSizes()


@final
@dataclass(frozen=True, slots=True)
class Parameters:
    """Positive rationals, one for each element or one for all: floats, and exact on request."""

    floats: NDArray[np.float64]
    exact: Callable[[int], Fraction]

    @staticmethod
    def same(value: Fraction) -> Parameters:
        return Parameters(np.array(float(value)), lambda _: value)

    def take(self, chosen: NDArray[np.intp] | slice) -> Parameters:
        if self.floats.ndim == 0:
            return self
        exact = self.exact
        if isinstance(chosen, slice):
            return Parameters(self.floats[chosen], lambda index: exact(index + chosen.start))
        return Parameters(self.floats[chosen], lambda index: exact(int(chosen[index])))


def settle_geometric(
    scale: Fraction, word: int, bits: int, entropy: Entropy, step_bits: int = 64
) -> int:
    """Return floor(-scale ln U) exactly; ``word`` holds the first bits of U."""
    while True:
        if word:
            fine = bits + 32 + scale.numerator.bit_length()
            least = -log(Fraction(word + 1, 1 << bits), fine)[1] * scale.numerator
            most = -log(Fraction(word, 1 << bits), fine)[0] * scale.numerator
            unit = scale.denominator << fine
            if least // unit == most // unit:
                return max(0, least // unit)
        word = word << step_bits | entropy.bits(step_bits)
        bits += step_bits


Attempt = tuple[NDArray[np.int64], NDArray[np.bool_]]
"""Values, and whether each was accepted."""


def laplace_into(
    out: NDArray[np.int64], scale: Parameters, entropy: Entropy, sizes: FreeSizes = SIZES
) -> None:
    """Overwrite ``out`` with discrete Laplace draws; values beyond int64 stop at its ends."""
    repeated(out, scale, partial(_laplace_attempt, entropy=entropy, sizes=sizes))


def geometric_into(
    out: NDArray[np.int64], scale: Parameters, entropy: Entropy, sizes: FreeSizes = SIZES
) -> None:
    """Overwrite ``out`` with geometric draws, k >= 0 with weight exp(-k / scale), up to 2**63."""
    repeated(out, scale, partial(_geometric_attempt, entropy=entropy, sizes=sizes))


def gaussian_into(
    out: NDArray[np.int64], variance: Parameters, entropy: Entropy, sizes: FreeSizes = SIZES
) -> None:
    """Overwrite ``out`` with discrete Gaussian draws; values beyond int64 stop at its ends."""
    repeated(out, variance, partial(_gaussian_attempt, entropy=entropy, sizes=sizes))


def repeated(
    out: NDArray[np.int64],
    parameters: Parameters,
    attempt: Callable[[Parameters, int], Attempt],
) -> None:
    """Fill ``out`` chunk by chunk, then try the rejected elements again until none is left.

    Attempts are independent: each element has the distribution of an accepted attempt.
    """
    if not out.size:
        return
    if out.size <= CHUNK:
        out[:], accepted = attempt(parameters, out.size)
        todo = np.flatnonzero(~accepted)
    else:
        again = []
        for start in range(0, out.size, CHUNK):
            part = slice(start, min(start + CHUNK, out.size))
            chosen = parameters.take(part)
            out[part], accepted = attempt(chosen, part.stop - start)
            again.append(np.flatnonzero(~accepted) + start)
        todo = np.concatenate(again)
    while todo.size:
        out[todo], accepted = attempt(parameters.take(todo), todo.size)
        todo = todo[~accepted]


@final
@dataclass(frozen=True, slots=True)
class WideIntegers:
    """Magnitudes ``high * 2**shift + low``, which may exceed int64 until they are clamped."""

    high: NDArray[np.int64]
    shift: NDArray[np.int32]
    low: NDArray[np.int64]

    def floats(self) -> NDArray[np.float64]:
        return np.ldexp(self.high.astype(np.float64), self.shift) + self.low

    def exact(self, index: int) -> int:
        return (int(self.high[index]) << int(_at(self.shift, index))) + int(self.low[index])

    def clamped(self, negative: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Apply the signs; what is beyond int64 stops at its ends."""
        value = self.high << self.shift
        value |= self.low
        sign = -negative.astype(np.int64)
        value ^= sign
        value -= sign
        widest = int(self.shift.max(initial=0))
        if int(self.high.max(initial=0)) > INT64_MAX >> widest:  # some may be beyond
            beyond = self.high > np.int64(INT64_MAX) >> self.shift
            value[beyond & ~negative] = INT64_MAX
            value[beyond & negative] = INT64_MIN
        return value


def _at(values: NDArray[Any], index: int) -> Any:
    return values[index] if values.ndim else values


def _laplace_attempt(scale: Parameters, count: int, entropy: Entropy, sizes: FreeSizes) -> Attempt:
    negative = entropy.words(count, 1).astype(np.bool_)
    size, accepted = magnitudes(scale, count, entropy, sizes)
    accepted &= ~negative | (size.high != 0) | (size.low != 0)
    return size.clamped(negative), accepted


def _geometric_attempt(
    scale: Parameters, count: int, entropy: Entropy, sizes: FreeSizes
) -> Attempt:
    size, accepted = magnitudes(scale, count, entropy, sizes)
    return size.clamped(np.zeros(count, np.bool_)), accepted


def _gaussian_attempt(
    variance: Parameters, count: int, entropy: Entropy, sizes: FreeSizes
) -> Attempt:
    proposal = np.asarray(np.floor(np.sqrt(variance.floats)) + 1.0)

    def scale(index: int) -> Fraction:
        return Fraction(int(_at(proposal, index)))

    negative = entropy.words(count, 1).astype(np.bool_)
    size, accepted = magnitudes(Parameters(proposal, scale), count, entropy, sizes)
    accepted &= ~negative | (size.high != 0) | (size.low != 0)
    excess = size.floats() - variance.floats / proposal
    exponent = excess * excess / (2.0 * variance.floats)

    def exact(index: int) -> Fraction:
        true = variance.exact(index)
        return (size.exact(index) - true / scale(index)) ** 2 / (2 * true)

    accepted &= exp_coins(exponent, exact, entropy, sizes.coins)
    return size.clamped(negative), accepted


def magnitudes(
    scale: Parameters, count: int, entropy: Entropy, sizes: FreeSizes
) -> tuple[WideIntegers, NDArray[np.bool_]]:
    """Attempt geometric draws, and say which are accepted."""
    mantissa, exponent = np.frexp(scale.floats)
    shift = np.maximum(exponent - BLOCK_BITS, 0)
    narrow = np.where(shift > 0, mantissa * 2.0**BLOCK_BITS, scale.floats)

    def exact(index: int) -> Fraction:
        return scale.exact(index) / (1 << int(_at(shift, index)))

    word = entropy.words(count, sizes.word_bits)
    high = _floor_log(Parameters(narrow, exact), word, entropy, sizes)
    widest = int(shift.max(initial=0))
    if not widest:
        return WideIntegers(high, shift, np.zeros(count, np.int64)), np.ones(count, np.bool_)
    offset = entropy.words(count, widest).astype(np.uint64)
    if shift.ndim:
        offset >>= (widest - shift).astype(np.uint64)
    low = offset.view(np.int64)
    accepted = exp_coins(
        low / scale.floats, lambda index: int(low[index]) / scale.exact(index), entropy, sizes.coins
    )
    return WideIntegers(high, shift, low), accepted


def _floor_log(
    scale: Parameters, word: NDArray[np.unsignedinteger[Any]], entropy: Entropy, sizes: FreeSizes
) -> NDArray[np.int64]:
    bits = sizes.word_bits
    known = word.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.log(known * 2.0**-bits)
        value *= -scale.floats
        # radius: relative error of log and product, of the scale and the word, width of the prefix
        radius = np.divide(2.0, known, out=known)
        radius += 2.0**-48
        radius *= scale.floats
        radius += value * 2.0**-42
        floor = np.floor(value)
        value -= floor
        sure = (value > radius) & (value < 1.0 - radius)
        result = floor.astype(np.int64)
    if not sure.all():
        for open_ in np.flatnonzero(~sure):
            settled = settle_geometric(
                scale.exact(int(open_)), int(word[open_]), bits, entropy, sizes.step_bits
            )
            result[open_] = min(settled, INT64_MAX)
    return result


_WIDEST: Final = Fraction(1 << 57)  # gaps of this scale leave room for their tail in 64 bits
_GUARD_BITS: Final = 8  # bits that a quotient of two enclosures may lose


def rare_heads(
    *, coins: int, chance: Callable[[int], Interval], entropy: Entropy, sizes: FreeSizes = SIZES
) -> NDArray[np.int64]:
    """Return the places of the coins that show heads, lowest first, of at most 2**62 coins.

    ``chance(bits)`` encloses the probability of heads, which is below 1, to about 2**-bits of it.
    """
    scale = _scale(chance(BITS).high)
    marked = _marked(coins, scale, entropy, sizes)
    stays = _stays(chance, scale)
    low, high = stays(BITS)
    estimate = float(Fraction(low + high, 2 << BITS))
    heads = flip(np.full(marked.size, estimate), lambda _: stays, entropy, sizes.coins)
    return marked[heads]


def _scale(most: Fraction) -> Fraction:
    """Return a scale of gaps that are short enough for coins of at most this probability."""
    return Fraction(float_down(min((1 - most) / most, _WIDEST)))


def _marked(coins: int, scale: Fraction, entropy: Entropy, sizes: FreeSizes) -> NDArray[np.int64]:
    share = -math.expm1(-1.0 / float(scale))  # about how many are marked decides nothing else
    marked: list[int] = []
    start = 0
    while start < coins:
        gaps = np.empty(int((coins - start) * share) + 1, np.int64)
        geometric_into(gaps, Parameters.same(scale), entropy, sizes)
        after = [*itertools.accumulate((gap + 1 for gap in gaps.tolist()), initial=start)]
        marked += (end - 1 for end in after[1:])
        start = after[-1]
    return np.array([place for place in marked if place < coins], np.int64)


def _stays(chance: Callable[[int], Interval], scale: Fraction) -> Enclosure:

    def enclose(bits: int) -> tuple[int, int]:
        heads, rest = chance(bits + _GUARD_BITS), ratio(scale, bits + _GUARD_BITS)
        low = math.floor(heads.low * (1 << bits) / (1 - rest.low))
        high = math.ceil(heads.high * (1 << bits) / (1 - rest.high))
        return low, min(high, 1 << bits)

    return enclose


def laplace_beyond_into(
    out: NDArray[np.int64], scale: Fraction, least: int, entropy: Entropy, sizes: FreeSizes = SIZES
) -> None:
    """Overwrite ``out`` with discrete Laplace draws from ``least`` >= 0 on, up to int64's end."""
    geometric_into(out, Parameters.same(scale), entropy, sizes)
    out[:] = saturating_add(out, np.full(out.shape, least, np.int64))


def gaussian_beyond_into(
    out: NDArray[np.int64],
    variance: Fraction,
    least: int,
    entropy: Entropy,
    sizes: FreeSizes = SIZES,
) -> None:
    """Overwrite ``out`` with discrete Gaussian draws from ``least`` >= 0 on, up to int64's end."""
    center = _center(variance, least)
    scale = Parameters.same(variance / (least + center))
    repeated(
        out, scale, lambda part, count: _attempt(part, count, variance, center, entropy, sizes)
    )
    out[:] = saturating_add(out, np.full(out.shape, least, np.int64))


def _center(variance: Fraction, least: int) -> Fraction:
    far = float(least)
    return Fraction(2.0 * float(variance) / (far + math.sqrt(far * far + 4.0 * float(variance))))


def _attempt(  # noqa: PLR0913, PLR0917 (one distribution)
    scale: Parameters,
    count: int,
    variance: Fraction,
    center: Fraction,
    entropy: Entropy,
    sizes: FreeSizes,
) -> Attempt:
    size, accepted = magnitudes(scale, count, entropy, sizes)
    excess = size.floats() - float(center)
    exponent = excess * excess / (2.0 * float(variance))

    def exact(index: int) -> Fraction:
        return (size.exact(index) - center) ** 2 / (2 * variance)

    accepted &= exp_coins(exponent, exact, entropy, sizes.coins)
    return size.clamped(np.zeros(count, np.bool_)), accepted
