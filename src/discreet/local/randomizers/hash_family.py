"""Hash functions from values to a few cells: a family with a proof, and a pool of public functions.

Trust: public.  A seed is drawn without looking at the value, so no hash can make a report less
private; a bad one makes it less useful.

Definition.  ``Affine`` has a function for each pair of W-bit integers a, b: the upper l bits of
(a x + b) mod 2**W, scaled to g cells, for values x of w bits, with W = w + l - 1.
Theorem (key ``affine-hashing``; Dietzfelbinger 1996).  The upper bits of two different values are
independent and uniform over all a, b.  So two values share a cell with chance
kappa = sum of (n_c / 2**l)**2, where n_c of all 2**l numbers lead to cell c.

Definition.  A ``Pool`` has m functions, the same for everybody: seed number s stands for three
64-bit constants cut from SHA-256.  Assumes that they behave like random functions: over the choice
of constants, two values share a cell with chance kappa, independently for each s.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Protocol, final

import numpy as np
from numpy.typing import NDArray

Seeds = NDArray[np.uint64]
Codes = NDArray[np.integer[Any]]

_EXTRA_BITS: Final = 8  # of the upper bits above those that number the cells
_POOL_BITS: Final = 32
_DOMAIN: Final = b"discreet local hashing pool, version 1\x00"


class HashFamily(Protocol):
    """Hash functions numbered by seeds."""

    @property
    def seeds(self) -> int:
        """Return how many functions there are."""
        ...

    def collision(self) -> Fraction:
        """Return how often two different values share a cell."""
        ...

    def cells(self, seeds: Seeds, codes: Codes) -> NDArray[np.uint64]:
        """Return the cell of each code under each seed; the arrays are broadcast."""
        ...


def collision_chance(upper_bits: int, cells: int) -> Fraction:
    """Return how often two uniform numbers of some bits are scaled to the same cell.

    >>> collision_chance(2, 3)  # cells of 2, 1 and 1 numbers
    Fraction(3, 8)
    """
    total = 1 << upper_bits
    starts = [-(-total * cell // cells) for cell in range(cells + 1)]
    sizes = (stop - start for start, stop in itertools.pairwise(starts))
    return Fraction(sum(size * size for size in sizes), total * total)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Affine:
    """All functions x -> upper bits of (a x + b) mod 2**W.

    >>> Affine(value_bits=7, cell_count=4).seeds.bit_length() - 1
    32
    """

    value_bits: int
    cell_count: int

    @property
    def upper_bits(self) -> int:
        """Return how many upper bits are scaled to cells."""
        return (self.cell_count - 1).bit_length() + _EXTRA_BITS

    @property
    def word_bits(self) -> int:
        """Return how many bits a and b have each."""
        return self.value_bits + self.upper_bits - 1

    @property
    def seeds(self) -> int:
        """Return how many pairs a, b there are."""
        return 1 << 2 * self.word_bits

    def collision(self) -> Fraction:
        """Return the chance of the theorem."""
        return collision_chance(self.upper_bits, self.cell_count)

    def cells(self, seeds: Seeds, codes: Codes) -> NDArray[np.uint64]:
        """Hash; a is the upper half of a seed."""
        width = np.uint64(self.word_bits)
        mask = np.uint64((1 << self.word_bits) - 1)
        number = (seeds >> width) * codes.astype(np.uint64)
        number += seeds & mask
        number &= mask
        number >>= np.uint64(self.word_bits - self.upper_bits)
        number *= np.uint64(self.cell_count)
        number >>= np.uint64(self.upper_bits)
        return number


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """A few public functions.

    >>> Pool(seeds=3, cell_count=4).cells(np.array([0, 1, 2], np.uint64), np.array([5])).max() < 4
    np.True_
    """

    seeds: int
    cell_count: int

    def collision(self) -> Fraction:
        """Return the chance over the choice of constants."""
        return collision_chance(_POOL_BITS, self.cell_count)

    def cells(self, seeds: Seeds, codes: Codes) -> NDArray[np.uint64]:
        """Hash: two multiplications with a shift between, so that near values part."""
        constants = _constants(self.seeds)[:, seeds.astype(np.intp)]
        number: NDArray[np.uint64] = constants[0] * codes.astype(np.uint64)
        number += constants[1]
        number ^= number >> np.uint64(32)
        number *= constants[2]
        number >>= np.uint64(64 - _POOL_BITS)
        number *= np.uint64(self.cell_count)
        number >>= np.uint64(_POOL_BITS)
        return number


@functools.lru_cache(maxsize=8)
def _constants(seeds: int) -> NDArray[np.uint64]:
    """Return three constants for each seed; those that multiply are odd."""
    digests = [
        hashlib.sha256(_DOMAIN + seed.to_bytes(8, "little")).digest() for seed in range(seeds)
    ]
    words = np.frombuffer(b"".join(digests), "<u8").astype(np.uint64).reshape(seeds, 4)
    constants = words.T[:3].copy()
    constants[0] |= np.uint64(1)
    constants[2] |= np.uint64(1)
    return constants
