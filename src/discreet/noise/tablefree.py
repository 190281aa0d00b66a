"""Discrete Laplace and Gaussian draws without tables: any scale, a different one for each element.

Trust: kernel.

Theorem (key ``geometric-log``; Devroye 1986, Non-Uniform Random Variate Generation, X.2).
floor(-s ln U) is at least k with probability exp(-k/s).
Theorem (key ``geometric-split``).  For m
= 2**b, a geometric variable of scale s is Q m + R, where Q is geometric of scale s/m and R,
independent, has weight exp(-R/s) on [0, m).
Theorem (key ``laplace-sign``).  A geometric magnitude
with a fair sign, minus zero rejected, is discrete Laplace.
Theorem (key ``gaussian-rejection``,
Canonne, Kamath and Steinke 2020).  A discrete Laplace Y of integer scale t, accepted with chance
exp(-(|Y| - v/t)**2 / 2v), is discrete Gaussian with parameter v, for every t; t near sqrt(v)
accepts most.

The logarithm is taken in floating point with a certified radius of error.  Where an integer lies
within the radius, the value is settled in integers on further bits of the same U.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import INT64_MAX, INT64_MIN
from discreet.certified import log
from discreet.noise.bernoulli import SIZES as COIN_SIZES
from discreet.noise.bernoulli import CoinSizes, exp_coins
from discreet.noise.entropy import Entropy

CHUNK: Final = 1 << 16
BLOCK_BITS: Final = 5  # Q has a scale in [16, 32), so R is accepted at least 15 times in 16


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FreeSizes:
    """How many bits of U are read at first, how many each time after, and how coins are read.

    ``tries`` is how many attempts each element gets at once; it takes the first that is accepted.
    """

    word_bits: int = 64
    step_bits: int = 64
    coins: CoinSizes = COIN_SIZES
    tries: int = 1


SIZES: Final = FreeSizes()


@final
@dataclass(frozen=True, slots=True)
class Parameters:
    """Positive rationals, one for each element or one for all: floats, and exact on request."""

    floats: NDArray[np.float64]
    exact: Callable[[int], Fraction]

    @staticmethod
    def same(value: Fraction) -> Parameters:
        """Use one value for all elements."""
        return Parameters(np.array(float(value)), lambda _: value)

    @staticmethod
    def each(numerators: NDArray[np.int64], denominator: int) -> Parameters:
        """Use ``numerators[i] / denominator`` for element i."""
        floats = numerators / float(denominator)
        return Parameters(floats, lambda index: Fraction(int(numerators[index]), denominator))

    def take(self, chosen: NDArray[np.intp] | slice) -> Parameters:
        """Select elements."""
        if self.floats.ndim == 0:
            return self
        exact = self.exact
        if isinstance(chosen, slice):
            return Parameters(self.floats[chosen], lambda index: exact(index + chosen.start))
        return Parameters(self.floats[chosen], lambda index: exact(int(chosen[index])))

    def again(self, times: int) -> Parameters:
        """Put so many copies of all elements one after another."""
        if self.floats.ndim == 0 or times == 1:
            return self
        exact, count = self.exact, self.floats.size
        return Parameters(np.concatenate([self.floats] * times), lambda index: exact(index % count))


def settle_geometric(
    scale: Fraction, word: int, bits: int, entropy: Entropy, step_bits: int = 64
) -> int:
    """Return floor(-scale ln U) exactly, where ``word`` holds the first bits of U."""
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


def laplace_into(
    out: NDArray[np.int64], scale: Parameters, entropy: Entropy, sizes: FreeSizes = SIZES
) -> None:
    """Overwrite ``out`` with discrete Laplace draws; values beyond int64 stop at its ends."""
    repeated(
        out,
        scale,
        lambda part, count: _laplace_attempt(part, count, entropy, sizes),
        tries=sizes.tries,
    )


def geometric_into(
    out: NDArray[np.int64], scale: Parameters, entropy: Entropy, sizes: FreeSizes = SIZES
) -> None:
    """Overwrite ``out`` with geometric draws; values beyond int64 stop at its end."""
    repeated(
        out,
        scale,
        lambda part, count: _geometric_attempt(part, count, entropy, sizes),
        tries=sizes.tries,
    )


def gaussian_into(
    out: NDArray[np.int64], variance: Parameters, entropy: Entropy, sizes: FreeSizes = SIZES
) -> None:
    """Overwrite ``out`` with discrete Gaussian draws; values beyond int64 stop at its ends."""
    repeated(
        out,
        variance,
        lambda part, count: _gaussian_attempt(part, count, entropy, sizes),
        tries=sizes.tries,
    )


Attempt = tuple[NDArray[np.int64], NDArray[np.bool_]]
"""Values, and whether each was accepted."""


def repeated(
    out: NDArray[np.int64],
    parameters: Parameters,
    attempt: Callable[[Parameters, int], Attempt],
    *,
    tries: int = 1,
) -> None:
    """Fill ``out`` chunk by chunk, then try the rejected elements again until none is left.

    Attempts are independent, and whether one is made at once or after others were rejected does not
    change it: so each element has the law of an accepted attempt, however many ``tries`` it gets.
    """
    if not out.size:
        return
    if out.size <= CHUNK:
        out[:], accepted = _first_accepted(parameters, out.size, attempt, tries)
        todo = np.flatnonzero(~accepted)
    else:
        again = []
        for start in range(0, out.size, CHUNK):
            part = slice(start, min(start + CHUNK, out.size))
            chosen = parameters.take(part)
            out[part], accepted = _first_accepted(chosen, part.stop - start, attempt, tries)
            again.append(np.flatnonzero(~accepted) + start)
        todo = np.concatenate(again)
    while todo.size:
        out[todo], accepted = _first_accepted(parameters.take(todo), todo.size, attempt, tries)
        todo = todo[~accepted]


def _first_accepted(
    parameters: Parameters, count: int, attempt: Callable[[Parameters, int], Attempt], tries: int
) -> Attempt:
    """Attempt each element so often, and return the first value of each that was accepted."""
    values, accepted = attempt(parameters.again(tries), count * tries)
    if tries == 1:
        return values, accepted
    ways = accepted.reshape(tries, count)
    first = ways.argmax(axis=0)
    place = first * count + np.arange(count)
    return values[place], accepted[place]


@final
@dataclass(frozen=True, slots=True)
class WideIntegers:
    """Magnitudes ``high * 2**shift + low``, which may exceed int64 until they are clamped."""

    high: NDArray[np.int64]
    shift: NDArray[np.int32]
    low: NDArray[np.int64]

    def floats(self) -> NDArray[np.float64]:
        """Return the nearest floats."""
        return np.ldexp(self.high.astype(np.float64), self.shift) + self.low

    def exact(self, index: int) -> int:
        """Return one magnitude, exactly."""
        return (int(self.high[index]) << int(_at(self.shift, index))) + int(self.low[index])

    def clamped(self, negative: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Apply the signs; what lies beyond int64 stops at its ends."""
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
    """Return floor(-s ln U), where the words hold the first bits of U."""
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
