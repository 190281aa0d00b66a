"""Local hashing: hash the value to a few cells, and respond directly with a cell (OLH).

Trust: kernel.  Proofs are in docs/proofs/local.md.

Definition (Wang, Blocki, Li and Jha 2017).  A report is a seed, uniform and drawn without looking
at the value, and a cell: that of the value under the seed's hash function with probability
e^epsilon / (e^epsilon + g - 1), else another of the g cells, evenly.  It supports the values in its
cell.  The best g is near e^epsilon + 1.
Theorem (key ``hashing-oracle``).  If two values share a cell with probability kappa over all seeds,
then p = e^epsilon / (e^epsilon + g - 1), q = p kappa + (1 - p)(1 - kappa)/(g - 1), and the loss is
that of direct response on g cells with probability 1 - kappa, and nothing otherwise.

Without a pool the family is affine, kappa is exact, and decoding takes n k hashes.
Theorem (key ``pool-floor``; Cormode, Maddock and Maple 2021 share seeds).  With a pool of m
functions it takes m k, but estimates have a second variance, over the choice of functions, that
does not fall with n: sum f**2 / (m (g - 1)) at most, over the shares f of all values.
Proof.  A
value u adds f_u (kappa_uv - kappa) g/(g - 1) to the estimate of v, where kappa_uv is the share of
functions that map them to one cell: it has variance (g - 1)/(g**2 m). Its loss is that of direct
response on g cells: two values may share no cell of the pool.

A report is an integer: its seed times g, plus its cell.

Hash functions from values to a few cells: a family with a proof, and a pool of public functions.

A seed is drawn without looking at the value, so no hash can make a report less
private; a bad one makes it less useful.

Definition.  ``Affine`` has a function for each pair of W-bit integers a, b: the upper l bits of
(a x + b) mod 2**W, scaled to g cells, for values x of w bits, with W = w + l - 1.
Theorem (key ``affine-hashing``; Dietzfelbinger 1996).  The upper bits of two different values are
independent and uniform over all a, b.  So two values share a cell with probability
kappa = sum of (n_c / 2**l)**2, where n_c of all 2**l numbers lead to cell c.

Definition.  A ``Pool`` has m functions, the same for every device: seed number s denotes three
64-bit constants cut from SHA-256.  Assumes that they behave like random functions: over the choice
of constants, two values share a cell with probability kappa, independently for each s.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Protocol, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import Interval, decimal, freeze, whole
from discreet.local.randomizer import (
    FrequencyOracle,
    IntegerReports,
    Reports,
    checked_codes,
    local_epsilon,
    value_count,
)
from discreet.mechanisms.mechanism import Number
from discreet.mechanisms.randomized_response import inward_decay, respond, response_chances
from discreet.noise import SYSTEM, Entropy, Uniform
from discreet.noise.entropy import word_type

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
        """Return the probability of the theorem."""
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
        """Return the probability over the choice of constants."""
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


_MOST_CELLS: Final = 1 << 12
_MOST_SEEDS: Final = 1 << 16
_BLOCK: Final = 1 << 16  # hashes that all steps find in the cache


@final
@dataclass(frozen=True, slots=True, init=False)
class Hashing(IntegerReports, FrequencyOracle):
    """Report a seed, and a cell of the value's hash.

    >>> hashing = Hashing(epsilon=1, values=128)
    >>> hashing.cells, round(hashing.variance().nearest(), 4)
    (4, 3.6917)
    >>> Hashing(epsilon=1, values=2**48, pool=1000).bits
    12
    """

    name: ClassVar[str] = "hashing"
    parameters: ClassVar[tuple[str, ...]] = ("values", "cells", "pool")

    epsilon: Fraction
    values: int
    cells: int
    pool: int

    def __init__(
        self, *, epsilon: Number, values: int, cells: int | None = None, pool: int = 0
    ) -> None:
        """Take the loss of a report, how many values, cells and, if shared, functions there are.

        Without a pool (0) each report has a function of its own.
        """
        loss, count = local_epsilon(epsilon), value_count(values)
        chosen = best_cells(loss) if cells is None else cells
        freeze(
            self,
            epsilon=loss,
            values=count,
            cells=whole(chosen, name="cells", low=2, high=_MOST_CELLS),
            pool=whole(pool, name="pool", low=0, high=_MOST_SEEDS),
        )
        if self._family().seeds * self.cells > 1 << 63:
            raise OutOfRange(
                "a seed of its own would be too long for so many values and cells; share a pool of "
                "functions: Hashing(..., pool=1000)."
            )

    def _family(self) -> HashFamily:
        if self.pool:
            return Pool(seeds=self.pool, cell_count=self.cells)
        return Affine(value_bits=(self.values - 1).bit_length(), cell_count=self.cells)

    @property
    def outcomes(self) -> int:
        """Return as many as there are pairs of a seed and a cell."""
        return self._family().seeds * self.cells

    def exact_chances(self) -> tuple[Fraction, Fraction]:
        """Return how often a report supports the sender's value, and any other."""
        p, kappa = response_chances(self.epsilon, self.cells)[0], self._family().collision()
        return p, p * kappa + (1 - p) * (1 - kappa) / (self.cells - 1)

    def telling_chances(self) -> tuple[Fraction, Fraction]:
        """Return how often one of two values is supported: the sender's, and the other."""
        apart = 1 if self.pool else 1 - self._family().collision()
        kept, lied = response_chances(self.epsilon, self.cells)
        return apart * kept, apart * lied

    def floor(self, shares: Iterable[object] = (1,)) -> Fraction:
        """Return the variance of a share that no number of reports lowers: 0 without a pool.

        Without shares the worst ones are taken: all people have one value.

        >>> Hashing(epsilon=1, values=40, pool=1000).floor(["0.5", "0.5"])
        Fraction(1, 6000)
        """
        if not self.pool:
            return Fraction(0)
        squares = sum((decimal(share, name="each share") ** 2 for share in shares), Fraction(0))
        return squares / (self.pool * (self.cells - 1))

    def run_each(self, codes: NDArray[np.integer[Any]], *, entropy: Entropy = SYSTEM) -> Reports:
        """Return one integer for each person."""
        truths, family = checked_codes(codes, self.values), self._family()
        reports = np.empty(truths.size, word_type(self.bits))
        for start in range(0, truths.size, _BLOCK):
            part = truths[start : start + _BLOCK]
            seeds = Uniform(below=family.seeds).sample(part.size, entropy).view(np.uint64)
            hashed = family.cells(seeds, part)
            answers = respond(hashed, self.epsilon, self.cells, entropy).view(np.uint64)
            reports[start : start + _BLOCK] = seeds * np.uint64(self.cells) + answers
        return reports

    def reference_pmf(self, value: int) -> dict[int, Interval]:
        """Return the probability of every seed and cell."""
        truth = whole(value, name="the code of a value", low=0, high=self.values - 1)
        family = self._family()
        seeds = np.arange(family.seeds, dtype=np.uint64)
        hashed = family.cells(seeds, np.array([truth])).tolist()
        kept, lied = (
            Interval(chance / family.seeds, chance / family.seeds)
            for chance in response_chances(self.epsilon, self.cells)
        )
        return {
            seed * self.cells + cell: kept if cell == own else lied
            for seed, own in enumerate(hashed)
            for cell in range(self.cells)
        }

    @property
    def raised(self) -> int | None:
        """Return 1 with a pool, which counts reports; otherwise the number of values of a cell."""
        return 1 if self.pool else None

    def tally(self, reports: Reports) -> NDArray[np.int64]:
        """Count the reports of each function and cell of a pool; otherwise those of each value."""
        if self.pool:
            return IntegerReports.tally(self, reports)
        seeds, cells = np.divmod(reports.astype(np.uint64), np.uint64(self.cells))
        everything, family = np.arange(self.values, dtype=np.uint64), self._family()
        total = np.zeros(self.values, np.int64)
        step = max(1, _BLOCK // self.values)
        for start in range(0, len(reports), step):
            here = slice(start, start + step)
            hashed = family.cells(seeds[here, None], everything)
            total += np.count_nonzero(hashed == cells[here, None], axis=0)
        return total

    def supports(self, tally: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many reports support each value."""
        return self.supports_of(tally, np.arange(self.values)) if self.pool else tally.copy()

    def supports_of(
        self, tally: NDArray[np.int64], codes: NDArray[np.integer[Any]]
    ) -> NDArray[np.int64]:
        """Return how many reports of a pool support each of some values.

        >>> hashing = Hashing(epsilon=1, values=2**48, pool=10)
        >>> tally = hashing.tally(hashing.run_each(np.array([7, 2**40])))
        >>> hashing.supports_of(tally, np.array([7, 8])).shape
        (2,)
        """
        wanted, family = checked_codes(codes, self.values), self._family()
        if not self.pool:
            raise WrongKind("there is no pool of functions; use supports(tally).")
        counters = tally.reshape(self.pool, self.cells)
        total = np.zeros(wanted.size, np.int64)
        for start in range(0, wanted.size, _BLOCK):
            part = wanted[start : start + _BLOCK]
            for seed in range(self.pool):
                hashed = family.cells(np.array([seed], np.uint64), part)
                total[start : start + _BLOCK] += counters[seed].take(hashed.view(np.int64))
        return total


def best_cells(epsilon: Fraction) -> int:
    """Return the number of cells of nearly least variance: the integer nearest to e^epsilon + 1.

    >>> [best_cells(Fraction(epsilon)) for epsilon in ("0.5", 1, 2, 4)]
    [3, 4, 8, 56]
    """
    return min(max(2, math.floor(1 / inward_decay(epsilon) + Fraction(3, 2))), _MOST_CELLS)
