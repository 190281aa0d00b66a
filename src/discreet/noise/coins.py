"""Exact coins whose chance is known only as a real number.

Trust: kernel.

A coin shows heads when a uniform U is below its chance p.  ``flip`` decides from a floating-point
estimate of p when U is farther than a guard away from it, and otherwise in integers, revealing more
bits of the same U (key ``lazy-inversion``).

The guard.  An estimate may be wrong by 2**-41; the guard is 2**-40.  Estimates come from a handful
of correctly rounded operations and one call of exp, expm1 or log each, all on arguments whose
error cannot move p by more than 2**-49.  So the platform's library may be wrong by 500 units in
the last place before an outcome could change; the worst known ones are wrong by a few.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.certified import exp_neg
from discreet.noise.entropy import Entropy

Enclosure = Callable[[int], tuple[int, int]]

__all__ = ["CoinSizes", "exp_coins", "flip", "settle"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CoinSizes:
    """How a coin reads U: first word, bits added each time, and the guard of the estimate."""

    word_bits: int = 53
    step_bits: int = 64
    guard: float = 2.0**-40


SIZES: Final = CoinSizes()


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
    """Flip one coin for each estimate; ``chance(i)`` encloses the true chance of coin i."""
    word = entropy.words(estimate.size, sizes.word_bits)
    return _compare(word, estimate, chance, entropy, sizes)


def _compare(
    word: NDArray[np.unsignedinteger[Any]],
    estimate: NDArray[np.float64],
    chance: Callable[[int], Enclosure],
    entropy: Entropy,
    sizes: CoinSizes,
) -> NDArray[np.bool_]:
    """Decide U < p for each word of first bits of U."""
    below = word * 2.0**-sizes.word_bits  # exact: a word has at most 53 bits
    heads = below + 2.0**-sizes.word_bits <= estimate - sizes.guard
    unsure = ~heads
    unsure &= below < estimate + sizes.guard
    if unsure.any():
        for at in np.flatnonzero(unsure):
            heads[at] = settle(
                chance(int(at)), int(word[at]), sizes.word_bits, entropy, sizes.step_bits
            )
    return heads


def exp_coins(
    exponent: NDArray[np.float64],
    exact: Callable[[int], Fraction],
    entropy: Entropy,
    sizes: CoinSizes = SIZES,
) -> NDArray[np.bool_]:
    """Flip coins of chance exp(-x); ``exact(i)`` is the rational x that ``exponent[i]`` rounds.

    Since 1 - x <= exp(-x), most coins of small x are settled without an exponential.
    """
    word = entropy.words(exponent.size, sizes.word_bits)
    below = word * 2.0**-sizes.word_bits
    heads = below + exponent <= 1.0 - 2.0**-sizes.word_bits - sizes.guard
    open_ = np.flatnonzero(~heads)

    def chance(at: int) -> Enclosure:
        return exp_chance(exact(int(open_[at])))

    heads[open_] = _compare(word[open_], np.exp(-exponent[open_]), chance, entropy, sizes)
    return heads


def exp_chance(x: Fraction) -> Enclosure:
    """Enclose exp(-x) at any scale."""
    return lambda bits: exp_neg(x, bits)
