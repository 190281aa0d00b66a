"""Prefix response: a report about one prefix of a word, of a length that the device draws.

Trust: kernel.

Definition.  Lengths l_1 < ... < l_G are public.  A device draws one of them and one function of a
public pool (see ``hash_pool``), both without looking at its word.  It hashes the prefix of its word
of that length to one of g cells, and reports the cell by randomized response at the full epsilon.
Theorem (key ``prefix-response``).  The report loses what randomized response on g cells does,
whatever the lengths, the pool and the words are.  Proof.  Given length and function, which say
nothing about the word, the report is randomized response on a function of the word.
A report supports every word whose prefix has the reported cell: the sender's with chance
p = e^epsilon / (e^epsilon + g - 1), another one with chance q = 1/g (key ``linear-hash``).

A report is an integer: its length, function and cell as digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.exact import Interval, whole
from discreet.local.hitters.hash_pool import HashPool
from discreet.local.hitters.words import LIMB, checked_words, limbs_of, prefix_limbs
from discreet.local.randomizers.bit_rows import integer_rows, row_integers
from discreet.local.randomizers.direct import Direct
from discreet.local.randomizers.randomizer import (
    Bytes,
    Randomizer,
    Reports,
    checked_rows,
    local_epsilon,
)
from discreet.loss import PrivacyLoss
from discreet.mechanisms.mechanism import Number, at_confidence
from discreet.mechanisms.randomized_response import respond, response_chances
from discreet.noise import SYSTEM, Entropy, Uniform
from discreet.noise.entropy import word_type

_COUNTERS: Final = 1 << 20
_MOST_CELL_BITS: Final = 10
_WIDEST: Final = 512
_CHUNK: Final = 1 << 15  # people whose rows stay in the cache


@final
@dataclass(frozen=True, slots=True, init=False)
class PrefixResponse(Randomizer):
    """Report a hashed prefix of a word of ``width`` bits.

    >>> response = PrefixResponse(epsilon=1, width=48, first=16, step=16)
    >>> response.lengths, response.cells, response.pool, response.bits
    ((16, 32, 48), 4, 262144, 22)
    >>> response.loss().epsilon(delta=0)
    1.0
    """

    name: ClassVar[str] = "prefix"

    epsilon: Fraction
    width: int
    first: int
    step: int
    pool: int
    cells: int

    def __init__(
        self, *, epsilon: Number, width: int, first: int, step: int = 1, pool: int | None = None
    ) -> None:
        """Take the loss of a report, and the bits of a word, of its first prefix and between two.

        ``pool`` is the number of hash functions: by default, functions times cells is 2**20.
        """
        loss = local_epsilon(epsilon)
        bits = whole(width, name="width", low=1, high=_WIDEST)
        cells = 1 << _best_cell_bits(float(loss))
        functions = _COUNTERS // cells if pool is None else pool
        most = 4 * _COUNTERS // cells
        object.__setattr__(self, "epsilon", loss)
        object.__setattr__(self, "width", bits)
        object.__setattr__(self, "first", whole(first, name="first", low=1, high=bits))
        object.__setattr__(self, "step", whole(step, name="step", low=1, high=_WIDEST))
        object.__setattr__(self, "pool", whole(functions, name="pool", low=1, high=most))
        object.__setattr__(self, "cells", cells)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of prefixes; the last one is the whole word."""
        return (*range(self.first, self.width, self.step), self.width)

    @property
    def values(self) -> int:  # type: ignore[override]  # here it follows from the width
        """Return how many words there are."""
        return 1 << self.width

    @property
    def bits(self) -> int:
        """Return how many bits name a length, a function and a cell."""
        return (self._kinds - 1).bit_length()

    @property
    def hashes(self) -> HashPool:
        """The functions."""
        return HashPool(size=self.pool, width=self.width, cell_bits=self.cells.bit_length() - 1)

    @property
    def _kinds(self) -> int:
        return len(self.lengths) * self.pool * self.cells

    def chances(self) -> tuple[Interval, Interval]:
        """Return how often a report supports its sender's word, and another one."""
        kept, _ = response_chances(self.epsilon, self.cells)
        return Interval(kept, kept), Interval(Fraction(1, self.cells), Fraction(1, self.cells))

    def loss(self, *, distance: Number = 1) -> PrivacyLoss:
        """Return the loss of randomized response on the cells."""
        return Direct(epsilon=self.epsilon, values=self.cells).loss(distance=distance)

    def error(self, *, confidence: Number) -> int:
        """Return 0 if a report supports its sender's word with this chance, else 1."""
        return int(self.chances()[0].low < at_confidence(confidence))

    def run(self, value: int, *, entropy: Entropy = SYSTEM) -> int:
        """Return one report."""
        return int(self.run_each(self._one(value), entropy=entropy)[0])

    def run_each(self, codes: NDArray[np.integer[Any]], *, entropy: Entropy = SYSTEM) -> Reports:
        """Return one integer for each person's word: integers up to 64 bits, or rows of limbs."""
        words = checked_words(codes, width=self.width)
        reports = np.empty(len(words), word_type(self.bits))
        for start in range(0, len(words), _CHUNK):
            part = words[start : start + _CHUNK]
            groups = Uniform(below=len(self.lengths)).sample(len(part), entropy)
            functions = Uniform(below=self.pool).sample(len(part), entropy)
            cells = self._cells(part, groups, functions)
            answers = respond(cells, self.epsilon, self.cells, entropy)
            reports[start : start + _CHUNK] = (
                groups * self.pool + functions
            ) * self.cells + answers
        return reports

    def reference_pmf(self, value: int) -> dict[int, Interval]:
        """Return the chance of every length, function and cell."""
        kept, lied = response_chances(self.epsilon, self.cells)
        ways = len(self.lengths) * self.pool
        groups, functions = np.divmod(np.arange(ways), self.pool)
        truths = self._cells(np.repeat(self._one(value), ways, axis=0), groups, functions)
        law = {}
        for way, truth in enumerate(truths.tolist()):
            for cell in range(self.cells):
                chance = (kept if cell == truth else lied) / ways
                law[way * self.cells + cell] = Interval(chance, chance)
        return law

    @property
    def raised(self) -> int:
        """Return 1: a report is one of the things that are counted."""
        return 1

    def tally(self, reports: Reports) -> NDArray[np.int64]:
        """Count the reports of each length, function and cell."""
        return np.bincount(reports, minlength=self._kinds).astype(np.int64, copy=False)

    def pack(self, reports: Reports) -> Bytes:
        """Write each report in bytes, the lowest first."""
        return integer_rows(reports, self.report_bytes)

    def unpack(self, rows: Bytes) -> tuple[Reports, NDArray[np.bool_]]:
        """Read reports; integers beyond the last one are not valid."""
        reports = row_integers(checked_rows(rows, self.report_bytes), word_type(self.bits))
        valid = reports < self._kinds
        return reports[valid], valid

    def describe(self) -> dict[str, str | int]:
        """Return name and parameters, ready for JSON."""
        return {
            "name": self.name,
            "epsilon": str(self.epsilon),
            "width": self.width,
            "first": self.first,
            "step": self.step,
            "pool": self.pool,
        }

    def _cells(
        self,
        words: NDArray[np.uint64],
        groups: NDArray[np.int64],
        functions: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Return the cell of each person's prefix; prefixes of all lengths take the same steps."""
        limbs = limbs_of(self.width)
        masks = np.array(
            [prefix_limbs((1 << size) - 1, length=size, limbs=limbs) for size in self.lengths]
        )
        return self.hashes.cells(words & masks[groups], functions)

    def _one(self, value: object) -> NDArray[np.uint64]:
        word = whole(value, name="the word", low=0, high=self.values - 1)
        limbs = limbs_of(self.width)
        return prefix_limbs(word << (limbs * LIMB - self.width), length=limbs * LIMB, limbs=limbs)[
            None
        ]


def _best_cell_bits(epsilon: float) -> int:
    """Return for which power of two the variance (e^epsilon + g - 1)**2 / (g - 1) is least."""
    growth = math.exp(min(epsilon, 20.0))
    sizes = range(1, _MOST_CELL_BITS + 1)
    return min(sizes, key=lambda bits: (growth + (1 << bits) - 1) ** 2 / ((1 << bits) - 1))
