"""Exact coins: of a rational probability, or of one that is known only as a real number.

Trust: kernel.

A coin shows heads when a uniform U is below its probability p.  ``flip`` decides from a
floating-point estimate of p if U is farther than a guard away from it, and otherwise in integers,
revealing more bits of the same U (key ``lazy-inversion``).

The guard.  An estimate may be wrong by 2**-41; the guard is 2**-40.  Estimates come from a handful
of correctly rounded operations and one call of exp, expm1 or log each, on arguments whose error
cannot move p by more than 2**-49.  So the platform's library may be wrong by 500 units in the last
place before an outcome could change; the worst known ones are wrong by a few.

``Bernoulli`` compares U with one exact p byte by byte: the first byte settles all but one or two of
its 256 values, the next seven bytes all but about 2**-64 of the rest, and integers what is left.

``packed_coins`` flips rows of coins of one rational probability, eight in a byte.  A round reveals
the next bit of U for all coins, and settles those whose bit differs from that of p: U is below p if
the bit of p is 1.  After as many rounds as ``Bernoulli`` reads bits first, the few open coins go on
like single flips.  A p without further bits takes one operation a round, from last bit to first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.certified import exp_neg
from discreet.exact import ExactNumber, Interval, freeze, instance, probability
from discreet.noise.distribution import Distribution, Moments
from discreet.noise.entropy import SYSTEM, Entropy, checked_count, checked_entropy

Enclosure = Callable[[int], tuple[int, int]]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CoinSizes:
    """How a coin reads U: first word, bits added each time, and the guard of the estimate."""

    word_bits: int = 53
    step_bits: int = 64
    guard: float = 2.0**-40


SIZES: Final = CoinSizes()


def enclosed(p: Fraction, bits: int) -> tuple[int, int]:
    """Enclose a rational between integers at scale 2**bits."""
    floor, rest = divmod(p.numerator << bits, p.denominator)
    return floor, floor + (rest != 0)


def settle(chance: Enclosure, word: int, bits: int, entropy: Entropy, step_bits: int = 64) -> bool:
    """Decide U < p in integers, where ``word`` holds the first bits of U.

    ``chance(bits)`` encloses p at scale 2**bits.
    """
    while True:
        low, high = chance(bits + 32)
        if (word + 1) << 32 <= low:
            return True
        if word << 32 >= high:
            return False
        word = word << step_bits | entropy.bits(step_bits)
        bits += step_bits


def flip(
    estimate: NDArray[np.float64],
    chance: Callable[[int], Enclosure],
    entropy: Entropy,
    sizes: CoinSizes = SIZES,
) -> NDArray[np.bool_]:
    """Flip one coin for each estimate; ``chance(i)`` encloses the probability of coin i."""
    word = entropy.words(estimate.size, sizes.word_bits)
    return _compare(word, estimate, chance, entropy, sizes)


def _compare(
    word: NDArray[np.unsignedinteger[Any]],
    estimate: NDArray[np.float64],
    chance: Callable[[int], Enclosure],
    entropy: Entropy,
    sizes: CoinSizes,
) -> NDArray[np.bool_]:
    below = word * 2.0**-sizes.word_bits  # exact: a word has at most 53 bits
    heads = below + 2.0**-sizes.word_bits <= estimate - sizes.guard
    unsure = ~heads
    unsure &= below < estimate + sizes.guard
    if unsure.any():
        for index in np.flatnonzero(unsure):
            heads[index] = settle(
                chance(int(index)), int(word[index]), sizes.word_bits, entropy, sizes.step_bits
            )
    return heads


def exp_coins(
    exponent: NDArray[np.float64],
    exact: Callable[[int], Fraction],
    entropy: Entropy,
    sizes: CoinSizes = SIZES,
) -> NDArray[np.bool_]:
    """Flip coins of probability exp(-x); ``exact(i)`` is the rational that ``exponent[i]`` rounds.

    Since 1 - x <= exp(-x), most coins of small x are settled without an exponential.
    """
    word = entropy.words(exponent.size, sizes.word_bits)
    below = word * 2.0**-sizes.word_bits
    heads = below + exponent <= 1.0 - 2.0**-sizes.word_bits - sizes.guard
    open_ = np.flatnonzero(~heads)

    def chance(index: int) -> Enclosure:
        return partial(exp_neg, exact(int(open_[index])))

    heads[open_] = _compare(word[open_], np.exp(-exponent[open_]), chance, entropy, sizes)
    return heads


_CHUNK: Final = 1 << 19  # flips whose arrays stay in the cache


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CoinWords:
    """How many bits of U each stage reads; small sizes let tests enumerate every word."""

    first_bits: int = 8
    word_bits: int = 64
    step_bits: int = 64


COIN_WORDS: Final = CoinWords()


@final
@dataclass(frozen=True, slots=True, init=False)
class Bernoulli(Distribution):
    """A coin: 1 with probability p, else 0.

    >>> coin = Bernoulli(p="1/3")
    >>> coin.pmf_bounds(1).low, coin.flips(5).dtype
    (Fraction(1, 3), dtype('bool'))
    """

    p: Fraction
    words: CoinWords

    def __init__(self, *, p: ExactNumber, words: CoinWords = COIN_WORDS) -> None:
        freeze(self, p=probability(p, name="p"), words=instance(words, CoinWords, name="words"))

    def flips(self, count: int, entropy: Entropy = SYSTEM) -> NDArray[np.bool_]:
        sizes = self.words
        out = np.empty(checked_count(count), np.bool_)
        checked_entropy(entropy)
        low, high = enclosed(self.p, sizes.first_bits)
        for start in range(0, out.size, _CHUNK):
            part = out[start : start + _CHUNK]
            first = entropy.words(part.size, sizes.first_bits)
            np.less(first, low, out=part)
            for word in range(low, high):  # the one or two words that do not settle it
                open_ = np.flatnonzero(first == word)
                part[open_] = self.refine(word, open_.size, entropy)
        return out

    def refine(self, first: int, count: int, entropy: Entropy) -> NDArray[np.bool_]:
        """Settle flips whose first word is known."""
        sizes = self.words
        more = sizes.word_bits - sizes.first_bits
        low, high = enclosed(self.p, sizes.word_bits)
        word = entropy.words(count, more) | np.uint64(first << more)
        heads = word < low
        unsure = ~heads & (word < high)
        if unsure.any():
            for index in np.flatnonzero(unsure):
                heads[index] = settle(
                    partial(enclosed, self.p),
                    int(word[index]),
                    sizes.word_bits,
                    entropy,
                    sizes.step_bits,
                )
        return heads

    def _sample(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        return self.flips(count, entropy).astype(np.int64)

    def _pmf(self, k: int, bits: int) -> Interval:  # noqa: ARG002  known exactly
        return Interval.exactly({0: 1 - self.p, 1: self.p}.get(k, Fraction(0)))

    def _cdf(self, k: int, bits: int) -> Interval:  # noqa: ARG002  known exactly
        return Interval.exactly(Fraction(k >= 0) if k else 1 - self.p)

    def _survival(self, k: int, bits: int) -> Interval:  # noqa: ARG002  known exactly
        return Interval.exactly(Fraction(k < 0) if k else self.p)

    def moments(self) -> Moments:
        """Return mean and variance: p and p (1 - p)."""
        return Moments(
            mean=Interval.exactly(self.p), variance=Interval.exactly(self.p * (1 - self.p))
        )


_PACKED_CHUNK: Final = 1 << 20  # bytes of one request: each has a cipher to set up


def packed_coins(p: Fraction, count: int, columns: int, entropy: Entropy) -> NDArray[np.uint8]:
    """Return ``count`` rows of ``columns`` flips of probability p.

    The first flip is the lowest bit of the first byte; bits beyond the last column are 0.
    """
    size = (columns + 7) // 8
    heads = np.empty((checked_count(count), size), np.uint8)
    checked_entropy(entropy)
    coin = Bernoulli(p=p)
    step = max(1, _PACKED_CHUNK // size)
    for start in range(0, len(heads), step):
        _flip_block(coin, heads[start : start + step], columns, entropy)
    return heads


def _flip_block(coin: Bernoulli, heads: NDArray[np.uint8], columns: int, entropy: Entropy) -> None:
    bits = coin.words.first_bits
    first, beyond = enclosed(coin.p, bits)
    inside = np.full(heads.shape[1], 0xFF, np.uint8)
    inside[-1] = (1 << columns - 8 * (heads.shape[1] - 1)) - 1
    if first >> bits:  # a probability of one
        heads[:] = inside
    elif beyond == first:
        _flip_dyadic(heads, first, bits, columns, entropy)
        heads &= inside
    else:
        undecided = np.broadcast_to(inside, heads.shape).copy()
        heads[:] = 0
        for number in range(1, bits + 1):
            fresh = entropy.words(heads.size, min(columns, 8)).reshape(heads.shape)
            if first >> (bits - number) & 1:
                fresh &= undecided  # what stays open; the rest of it is settled
                undecided ^= fresh
                heads |= undecided
                undecided = fresh
            else:
                np.invert(fresh, out=fresh)
                undecided &= fresh
        _settle(coin, heads.reshape(-1), undecided.reshape(-1), first, entropy)


def _flip_dyadic(
    heads: NDArray[np.uint8], first: int, bits: int, columns: int, entropy: Entropy
) -> None:
    """Flip coins of probability first / 2**bits; a fresh bit is the opposite of one of U."""
    if first == 0:
        heads[:] = 0
        return
    last = (first & -first).bit_length() - 1
    heads[:] = entropy.words(heads.size, min(columns, 8)).reshape(heads.shape)
    for place in range(last + 1, bits):
        fresh = entropy.words(heads.size, min(columns, 8)).reshape(heads.shape)
        if first >> place & 1:
            heads |= fresh
        else:
            heads &= fresh


def _settle(
    coin: Bernoulli,
    heads: NDArray[np.uint8],
    undecided: NDArray[np.uint8],
    first: int,
    entropy: Entropy,
) -> None:
    places = np.flatnonzero(undecided)
    single = np.unpackbits(undecided[places, None], axis=1, bitorder="little")
    which = np.flatnonzero(single)
    settled = np.zeros(single.size, np.uint8)
    settled[which] = coin.refine(first, which.size, entropy)
    heads[places] |= np.packbits(settled, bitorder="little")
