"""Local hashing: hash the value to a few cells, and respond directly with a cell (OLH).

Trust: kernel.

Definition (Wang, Blocki, Li and Jha 2017).  A report is a seed, uniform and drawn without looking
at the value, and a cell: that of the value under the seed's hash function with chance
e^epsilon / (e^epsilon + g - 1), else another of the g cells, evenly.  It supports the values in its
cell.  The best g is near e^epsilon + 1.
Theorem (key ``hashing-oracle``).  If two values share a cell with chance kappa over all seeds, then
p = e^epsilon / (e^epsilon + g - 1), q = p kappa + (1 - p)(1 - kappa)/(g - 1), and the loss is that
of direct response on g cells with chance 1 - kappa, and nothing otherwise.

Without a pool the family is affine, kappa is exact, and decoding takes n k hashes.
Theorem (key ``pool-floor``; Cormode, Maddock and Maple 2021 share seeds).  With a pool of m
functions it takes m k, but estimates have a second variance, over the choice of functions, that
does not fall with n: sum f**2 / (m (g - 1)) at most, over the shares f of all values.
Proof.  A
value u adds f_u (kappa_uv - kappa) g/(g - 1) to the estimate of v, where kappa_uv is the share of
functions under which they share a cell: it has variance (g - 1)/(g**2 m). Its loss is that of
direct response on g cells: two values may share no cell of the pool.

A report is an integer: its seed times g, plus its cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import Interval, decimal, whole
from discreet.local.randomizers.bit_rows import integer_rows, row_integers
from discreet.local.randomizers.hash_family import Affine, HashFamily, Pool
from discreet.local.randomizers.oracle import FrequencyOracle
from discreet.local.randomizers.randomizer import (
    Bytes,
    Reports,
    checked_codes,
    checked_rows,
    local_epsilon,
    value_count,
)
from discreet.mechanisms.mechanism import Number
from discreet.mechanisms.randomized_response import inward_decay, respond, response_chances
from discreet.noise import SYSTEM, Entropy, Uniform
from discreet.noise.entropy import word_type

_MOST_CELLS: Final = 1 << 12
_MOST_SEEDS: Final = 1 << 16
_BLOCK: Final = 1 << 16  # hashes that all steps find in the cache


@final
@dataclass(frozen=True, slots=True, init=False)
class Hashing(FrequencyOracle):
    """Report a seed, and a cell of the value's hash.

    >>> hashing = Hashing(epsilon=1, values=128)
    >>> hashing.cells, round(hashing.variance().nearest(), 4)
    (4, 3.6917)
    >>> Hashing(epsilon=1, values=2**48, pool=1000).bits
    12
    """

    name: ClassVar[str] = "hashing"

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
        object.__setattr__(self, "epsilon", loss)
        object.__setattr__(self, "values", count)
        object.__setattr__(self, "cells", whole(chosen, name="cells", low=2, high=_MOST_CELLS))
        object.__setattr__(self, "pool", whole(pool, name="pool", low=0, high=_MOST_SEEDS))
        if self._family().seeds * self.cells > 1 << 63:
            raise OutOfRange(
                what="a seed of its own would be too long for so many values and cells.",
                why="a report has at most 63 bits.",
                do="share a pool of functions: Hashing(..., pool=1000).",
            )

    def _family(self) -> HashFamily:
        if self.pool:
            return Pool(seeds=self.pool, cell_count=self.cells)
        return Affine(value_bits=(self.values - 1).bit_length(), cell_count=self.cells)

    @property
    def bits(self) -> int:
        """Return how many bits name a seed and a cell."""
        return (self._family().seeds * self.cells - 1).bit_length()

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
        """Return the chance of every seed and cell."""
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
        """Return 1 with a pool, where reports are counted; otherwise the values of a cell are."""
        return 1 if self.pool else None

    def tally(self, reports: Reports) -> NDArray[np.int64]:
        """Count the reports of each function and cell of a pool; otherwise those of each value."""
        if self.pool:
            count = self.pool * self.cells
            return np.bincount(reports, minlength=count).astype(np.int64, copy=False)
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
            raise WrongKind(
                what="there is no pool of functions.",
                why="without one each report has a function of its own, and all values count.",
                do="use supports(tally).",
            )
        counters = tally.reshape(self.pool, self.cells)
        total = np.zeros(wanted.size, np.int64)
        for start in range(0, wanted.size, _BLOCK):
            part = wanted[start : start + _BLOCK]
            for seed in range(self.pool):
                hashed = family.cells(np.array([seed], np.uint64), part)
                total[start : start + _BLOCK] += counters[seed].take(hashed.view(np.int64))
        return total

    def pack(self, reports: Reports) -> Bytes:
        """Write each report in bytes, the lowest first."""
        return integer_rows(reports, self.report_bytes)

    def unpack(self, rows: Bytes) -> tuple[Reports, NDArray[np.bool_]]:
        """Read reports; a seed beyond the family is not valid."""
        reports = row_integers(checked_rows(rows, self.report_bytes), word_type(self.bits))
        valid = reports < self._family().seeds * self.cells
        return reports[valid], valid

    def describe(self) -> dict[str, str | int]:
        """Return name and parameters, ready for JSON."""
        return {
            "name": self.name,
            "epsilon": str(self.epsilon),
            "values": self.values,
            "cells": self.cells,
            "pool": self.pool,
        }


def best_cells(epsilon: Fraction) -> int:
    """Return the number of cells of nearly least variance: the integer nearest to e^epsilon + 1.

    >>> [best_cells(Fraction(epsilon)) for epsilon in ("0.5", 1, 2, 4)]
    [3, 4, 8, 56]
    """
    return min(max(2, math.floor(1 / inward_decay(epsilon) + Fraction(3, 2))), _MOST_CELLS)
