"""Rows of coins of one rational chance, eight in a byte.

Trust: kernel.

A coin shows heads when a uniform U is below its chance p.  A round reveals the next bit of U for
all coins at once, one bit of a random word each, and settles those whose bit differs from that of
p: U is below p where the bit of p is 1.  After as many rounds as the first stage of ``Bernoulli``
reads bits, the few coins that are still open have the first bits of p, and go on like single flips
(key ``lazy-inversion``).  A chance
without further bits takes one operation a round, from its last bit to its first.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.noise.bernoulli import Bernoulli
from discreet.noise.entropy import Entropy, checked_count, checked_entropy

_CHUNK: Final = 1 << 20  # bytes of one request: each has a cipher to set up


def packed_coins(p: Fraction, count: int, columns: int, entropy: Entropy) -> NDArray[np.uint8]:
    """Return ``count`` rows of ``columns`` flips of chance p.

    The first flip is the lowest bit of the first byte; bits beyond the last column are 0.

    >>> from discreet.noise import SYSTEM
    >>> packed_coins(Fraction(1, 3), 5, 12, SYSTEM).shape
    (5, 2)
    >>> packed_coins(Fraction(1), 1, 12, SYSTEM).tolist()
    [[255, 15]]
    """
    size = (columns + 7) // 8
    heads = np.empty((checked_count(count), size), np.uint8)
    checked_entropy(entropy)
    coin = Bernoulli(p=p)
    step = max(1, _CHUNK // size)
    for start in range(0, len(heads), step):
        _flip_block(coin, heads[start : start + step], columns, entropy)
    return heads


def _flip_block(coin: Bernoulli, heads: NDArray[np.uint8], columns: int, entropy: Entropy) -> None:
    """Flip one block of rows in place."""
    bits = coin.words.first_bits
    first, beyond = coin.p.enclose(bits)
    inside = np.full(heads.shape[1], 0xFF, np.uint8)
    inside[-1] = (1 << columns - 8 * (heads.shape[1] - 1)) - 1
    if first >> bits:  # a chance of one
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
    """Flip coins of the chance first / 2**bits, from the last bit of U to its first.

    U is below p if the bits from here on are: a bit of U is 0 where that of p is 1, or equal to it
    and the later bits are below.  A fresh bit stands for the opposite of one of U.
    """
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
    """Settle the coins whose first bits are those of p."""
    places = np.flatnonzero(undecided)
    single = np.unpackbits(undecided[places, None], axis=1, bitorder="little")
    which = np.flatnonzero(single)
    settled = np.zeros(single.size, np.uint8)
    settled[which] = coin.refine(first, which.size, entropy)
    heads[places] |= np.packbits(settled, bitorder="little")
