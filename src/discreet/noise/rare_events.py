"""Rare events: which of many coins show heads, and noise given that it reaches some number.

Trust: kernel.

Definition.  Coins 0, 1, ..., n - 1 show heads with the same chance p, independently.
Theorem (key ``rare-coins``).  Let q = 1 - exp(-1/s) >= p.  Mark coins with geometric gaps of scale
s: so many unmarked ones before the first, and between one and the next.  Let every marked coin show
heads with chance p/q, and every other one tails.  Then the coins are independent, each with
chance p.
Proof.  Geometric gaps are the waiting times of independent trials of chance q, so every coin is
marked with chance q by itself, and shows heads with chance q p/q.
s = (1 - p) / p will do, rounded down, since ln(1 / (1 - p)) <= p / (1 - p).  p is known by
enclosures alone; so is p/q, which is settled on as many bits of U as it takes (key
``lazy-inversion``).
About n q gaps are drawn, which says nothing about any coin but how many are marked.

Definition.  For t >= 0 the law of Z beyond t has P[Z = t + j] proportional to the weight of t + j
in the law of Z, j = 0, 1, 2, ...
Theorem (key ``noise-beyond``; completing the square, as Robert 1995, Simulation of truncated
normal variables, does for continuous noise).  Beyond t, discrete Laplace noise is t + J with J
geometric of the same scale.  Beyond t, discrete Gaussian noise with parameter v is t + J, where J
is geometric of scale v / (t + c) and accepted with chance exp(-(J - c)**2 / 2v), for every c > 0.
Proof.  exp(-(t + j)/s) = exp(-t/s) exp(-j/s).  And j (t + c) / v + (j - c)**2 / 2v is (t + j)**2 /
2v plus a number without j. About three of four draws are accepted with c = (sqrt(t**2 + 4v) - t) /
2, at which the scale of J is c too; so wherever t lies, a draw takes as long as any other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import saturating_add
from discreet.exact import Interval, float_down
from discreet.noise.bernoulli import Enclosure, exp_coins, flip
from discreet.noise.chance import ratio
from discreet.noise.distribution import BITS
from discreet.noise.entropy import Entropy
from discreet.noise.tablefree import (
    SIZES,
    Attempt,
    FreeSizes,
    Parameters,
    geometric_into,
    magnitudes,
    repeated,
)

_WIDEST: Final = Fraction(1 << 57)
_GUARD_BITS: Final = 8


def rare_heads(
    *, coins: int, chance: Callable[[int], Interval], entropy: Entropy, sizes: FreeSizes = SIZES
) -> NDArray[np.int64]:
    """Return the places of the coins that show heads, lowest first.

    Args:
        coins: how many there are, at most 2**62.
        chance: encloses the chance of heads, to a relative 2**-bits or so; it is below 1.
        entropy: where random bits come from.
        sizes: how many bits are read at a time.
    """
    scale = _scale(chance(BITS).high)
    marked = _marked(coins, scale, entropy, sizes)
    stays = _stays(chance, scale)
    low, high = stays(BITS)
    estimate = float(Fraction(low + high, 2 << BITS))
    heads = flip(np.full(marked.size, estimate), lambda _: stays, entropy, sizes.coins)
    return marked[heads]


def _scale(most: Fraction) -> Fraction:
    """Return a scale of gaps that are short enough for coins of at most this chance.

    >>> _scale(Fraction(1, 4)), _scale(Fraction(1, 1 << 400)) == 1 << 57
    (Fraction(3, 1), True)
    """
    return Fraction(float_down(min((1 - most) / most, _WIDEST)))


def _marked(coins: int, scale: Fraction, entropy: Entropy, sizes: FreeSizes) -> NDArray[np.int64]:
    """Return the places of marked coins: each is one gap after the last."""
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
    """Enclose p/q at any scale 2**bits."""

    def enclose(bits: int) -> tuple[int, int]:
        heads, rest = chance(bits + _GUARD_BITS), ratio(scale, bits + _GUARD_BITS)
        low = math.floor(heads.low * (1 << bits) / (1 - rest.low))
        high = math.ceil(heads.high * (1 << bits) / (1 - rest.high))
        return low, min(high, 1 << bits)

    return enclose


def laplace_beyond_into(
    out: NDArray[np.int64], scale: Fraction, least: int, entropy: Entropy, sizes: FreeSizes = SIZES
) -> None:
    """Overwrite ``out`` with discrete Laplace draws that reach ``least``, which is not negative.

    Values beyond int64 stop at its end.
    """
    geometric_into(out, Parameters.same(scale), entropy, sizes)
    out[:] = saturating_add(out, np.full(out.shape, least, np.int64))


def gaussian_beyond_into(
    out: NDArray[np.int64],
    variance: Fraction,
    least: int,
    entropy: Entropy,
    sizes: FreeSizes = SIZES,
) -> None:
    """Overwrite ``out`` with discrete Gaussian draws that reach ``least``, which is not negative.

    Values beyond int64 stop at its end.
    """
    center = _center(variance, least)
    scale = Parameters.same(variance / (least + center))
    repeated(
        out, scale, lambda part, count: _attempt(part, count, variance, center, entropy, sizes)
    )
    out[:] = saturating_add(out, np.full(out.shape, least, np.int64))


def _center(variance: Fraction, least: int) -> Fraction:
    """Return the c at which most is accepted, or nearly; any positive number would do."""
    far = float(least)
    return Fraction(2.0 * float(variance) / (far + math.sqrt(far * far + 4.0 * float(variance))))


def _attempt(  # noqa: PLR0913, PLR0917 (one law, and how it is drawn)
    scale: Parameters,
    count: int,
    variance: Fraction,
    center: Fraction,
    entropy: Entropy,
    sizes: FreeSizes,
) -> Attempt:
    """Propose geometric draws, and say which are accepted."""
    size, accepted = magnitudes(scale, count, entropy, sizes)
    excess = size.floats() - float(center)
    exponent = excess * excess / (2.0 * float(variance))

    def exact(index: int) -> Fraction:
        return (size.exact(index) - center) ** 2 / (2 * variance)

    accepted &= exp_coins(exponent, exact, entropy, sizes.coins)
    return size.clamped(np.zeros(count, np.bool_)), accepted
