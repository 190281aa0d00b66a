"""Three older ways to find heavy hitters, small enough to read: for study.

Trust: public.  Each person still reports once, through the production randomizers; only the
analyst's side is simplified, and it finds less than ``Prefixes``.

``tree_hist`` (TreeHist; Bassily, Nissim, Stemmer and Thakurta 2017)
    Each person reports the prefix of one length of 1, 2, ..., bits.  From the root down, a node is
    opened if its estimate is above three standard deviations.
``bitstogram`` (the same)
    A public hash puts words into cells.  Each person reports their cell and one bit of their word.
    In every cell the likelier value of each bit spells a word; a second group votes on them.
``succinct_histogram`` (Bassily and Smith 2015)
    Each person draws a cell and a bit, and reports that bit as -1 or 1 if their word is in that
    cell, and 0 otherwise.  Signs of the averages spell a word in every cell; a second group votes.
    Here the code of a word is the word itself.

Three standard deviations are no promise: for one of many candidates noise reaches that far.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.local.hadamard import Hadamard
from discreet.local.intervals import Coins
from discreet.local.numbers import TwoPoint
from discreet.local.prefix_response import HashPool, PrefixResponse, checked_words
from discreet.mechanisms.mechanism import Number
from discreet.noise import SYSTEM, Entropy, Uniform

_DEVIATIONS: Final = 3
_MOST_OPEN: Final = 1 << 10
_FEW: Final = 1 << 10  # functions of a pool

Words = NDArray[np.int64]


class FoundWord(NamedTuple):
    """A word, and its estimated share."""

    word: int
    share: float


def tree_hist(
    words: Words, *, bits: int, epsilon: Number, entropy: Entropy = SYSTEM
) -> list[FoundWord]:
    """Open the nodes of a binary tree whose estimates are above three standard deviations.

    >>> from discreet.noise import KeyedEntropy
    >>> fixed = KeyedEntropy(key=bytes(32), label="a page that repeats")
    >>> words = np.array([5] * 30_000 + [9] * 20_000)
    >>> [found.word for found in tree_hist(words, bits=4, epsilon=4, entropy=fixed)]
    [5, 9]
    """
    response = PrefixResponse(epsilon=epsilon, width=bits, first=1, pool=_FEW)
    tally = response.tally(response.run_each(words, entropy=entropy))
    groups = tally.reshape(bits, response.pool, response.cells)
    coins, opened, found = Coins.of(response.chances()), [0], list[FoundWord]()
    for length, group in enumerate(groups, start=1):
        people = int(group.sum())
        counts = response.hashes.supports(group, prefixes=opened, before=length - 1, length=length)
        shares = coins.shares(counts, people)
        above = shares > _DEVIATIONS * math.sqrt(float(coins.variance(0.0)) / people)
        nodes = [2 * node + side for node in opened for side in (0, 1)]
        best = sorted(np.flatnonzero(above).tolist(), key=lambda at: -shares[at])[:_MOST_OPEN]
        found = [FoundWord(nodes[at], float(shares[at])) for at in best]
        opened = [node for node, _ in found]
        if not opened:
            break
    return found


def bitstogram(
    words: Words, *, bits: int, epsilon: Number, cells: int = 256, entropy: Entropy = SYSTEM
) -> list[FoundWord]:
    """Spell a word in every cell of a public hash, one bit from each group of people.

    >>> from discreet.noise import KeyedEntropy
    >>> fixed = KeyedEntropy(key=bytes(32), label="a page that repeats")
    >>> words = np.array([5] * 30_000 + [9] * 20_000)
    >>> [found.word for found in bitstogram(words, bits=4, epsilon=4, cells=4, entropy=fixed)]
    [5, 9]
    """
    spellers, voters = _halves(words, entropy)
    oracle = Hadamard(epsilon=epsilon, values=2 * cells)
    drawn = Uniform(below=bits).sample(len(spellers), entropy)
    codes = 2 * _cell(spellers, bits, cells) + (spellers >> (bits - 1 - drawn) & 1)
    reports = oracle.run_each(codes, entropy=entropy)
    spelled = np.zeros(cells, np.int64)
    for bit in range(bits):
        counts = oracle.supports(oracle.tally(reports[drawn == bit])).reshape(cells, 2)
        spelled = 2 * spelled + (counts[:, 1] > counts[:, 0])
    return _vote(np.unique(spelled), voters, bits, epsilon, entropy)


def succinct_histogram(
    words: Words, *, bits: int, epsilon: Number, cells: int = 64, entropy: Entropy = SYSTEM
) -> list[FoundWord]:
    """Spell a word in every cell, from one noisy sign of each person.

    >>> from discreet.noise import KeyedEntropy
    >>> fixed = KeyedEntropy(key=bytes(32), label="a page that repeats")
    >>> words = np.array([5] * 30_000 + [9] * 20_000)
    >>> found = succinct_histogram(words, bits=4, epsilon=4, cells=4, entropy=fixed)
    >>> [each.word for each in found]
    [5, 9]
    """
    spellers, voters = _halves(words, entropy)
    coin = TwoPoint(epsilon=epsilon)
    place = Uniform(below=bits * cells).sample(len(spellers), entropy)
    cell, bit = np.divmod(place, bits)
    sides = spellers >> (bits - 1 - bit) & 1
    fair = Uniform(below=2).sample(len(spellers), entropy)  # 0 is -1 or 1, evenly
    inside = _cell(spellers, bits, cells) == cell
    signs = coin.run_each(np.where(inside, sides, fair), entropy=entropy).astype(np.int64)
    ups = np.bincount(place, weights=2.0 * signs - 1, minlength=bits * cells)
    spelled = (ups.reshape(cells, bits) > 0) @ (1 << np.arange(bits)[::-1])
    return _vote(np.unique(spelled), voters, bits, epsilon, entropy)


def _halves(words: Words, entropy: Entropy) -> tuple[Words, Words]:
    """Divide people by a coin of their own."""
    heads = Uniform(below=2).sample(len(words), entropy) == 1
    return words[heads], words[~heads]


def _cell(words: Words, bits: int, cells: int) -> NDArray[np.int64]:
    """Return the cell of each word under one public hash."""
    pool = HashPool(size=1, width=bits, cell_bits=(cells - 1).bit_length())
    same = np.zeros(len(words), np.int64)
    return pool.cells(checked_words(words, width=bits), same) % cells


def _vote(
    candidates: Words, voters: Words, bits: int, epsilon: Number, entropy: Entropy
) -> list[FoundWord]:
    """Estimate candidates from reports of whole words, and keep those above the noise."""
    response = PrefixResponse(epsilon=epsilon, width=bits, first=bits, pool=_FEW)
    tally = response.tally(response.run_each(voters, entropy=entropy))
    group = tally.reshape(response.pool, response.cells)
    names = [int(word) for word in candidates]
    pairs = response.hashes.supports(
        group, prefixes=[word >> 1 for word in names], before=bits - 1, length=bits
    ).reshape(len(names), 2)
    coins = Coins.of(response.chances())
    shares = coins.shares(pairs[np.arange(len(names)), candidates & 1], len(voters))
    least = _DEVIATIONS * math.sqrt(float(coins.variance(0.0)) / len(voters))
    found = [FoundWord(w, float(s)) for w, s in zip(names, shares, strict=True) if s > least]
    return sorted(found, key=lambda word: -word.share)
