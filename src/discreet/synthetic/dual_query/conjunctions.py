"""Conjunctions of literals, in compact arrays: half a million take a dozen megabytes.

Trust: public.

Definition.  A *bit* says that a column has a certain code.  A *literal* is a bit or its negation.
A conjunction holds for a row if all of its literals do.  The queries of DualQuery are K
conjunctions and their K negations: query number i + K is the negation of query number i.

How many rows of a joint histogram each conjunction holds for, exactly.

DualQuery's scores are these counts; what one unit moves them by is their price.

Definition.  For a histogram with codes x_i and counts h_i, a query q has the count
c_q = sum of h_i q(x_i), and its negation the sum of all other h_i.
Theorem (key ``query-counts``).  Let one unit add at most d to the sum of the counts, and lower
none.  Then it adds between 0 and d to c_q, and between 0 and d to the count of the negation.  Where
one unit replaces another, each moves by at most d either way.
Proof.  c_q is a sum of some of the counts.  A replacement removes between 0 and d of them, and adds
as much.  Counts are clamped from above first, which keeps both statements.

Rows are kept as bits: one word holds 64 of them, and counts are added up by their binary digits.
Rows are sorted by their counts, so that high digits concern few words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Self, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange, WrongKind
from discreet.noise import Entropy, Uniform
from discreet.synthetic.inference.inference import CodedDomain

Literal = tuple[int, int, bool]
"""A column, one of its codes, and whether it must have this code (or must not)."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Conjunctions:
    """K conjunctions of equally many literals each, over the codes of a domain.

    ``bits`` has one row for each conjunction: numbers of bits.  ``negated`` says which literals are
    negations.  Bit b says that column ``bit_columns[b]`` has code ``bit_codes[b]``.

    >>> domain = CodedDomain(("ward", "smoker"), (3, 2))
    >>> both = Conjunctions.of(
    ...     domain, [[(0, 2, True), (1, 1, True)], [(0, 2, False), (1, 1, True)]])
    >>> both.count, both.width
    (2, 2)
    >>> both.holds(np.array([2, 1])).tolist(), both.holds(np.array([0, 1])).tolist()
    ([True, False], [False, True])
    """

    domain: CodedDomain
    bits: NDArray[np.int32]
    negated: NDArray[np.bool_]
    bit_columns: NDArray[np.int32]
    bit_codes: NDArray[np.int32]

    @classmethod
    def of(cls, domain: CodedDomain, conjunctions: Sequence[Sequence[Literal]]) -> Self:
        """Compile conjunctions that are written as literals."""
        if not conjunctions or len({len(literals) for literals in conjunctions}) != 1:
            raise WrongKind(
                "the conjunctions do not all have the same number of literals; give at least one, "
                "and repeat a literal if a conjunction is shorter."
            )
        columns, codes, held = np.array(conjunctions, np.int64).transpose(2, 0, 1)
        return cls.compiled(domain, columns, codes, held == 0)

    @classmethod
    def compiled(
        cls,
        domain: CodedDomain,
        columns: NDArray[np.int64],
        codes: NDArray[np.int64],
        negated: NDArray[np.bool_],
    ) -> Self:
        """Compile arrays of columns, codes and signs, each with a row for each conjunction."""
        sizes = np.array(domain.sizes)
        inside = (columns >= 0) & (columns < sizes.size)
        if not columns.size or not inside.all() or not _codes_exist(sizes, columns, codes):
            raise OutOfRange(
                "a conjunction names a column or a code that the domain does not have; use column "
                "numbers and codes of the domain, counted from 0."
            )
        widest = int(sizes.max())
        known, bits = np.unique(columns * widest + codes, return_inverse=True)
        return cls(
            domain=domain,
            bits=bits.reshape(columns.shape).astype(np.int32),
            negated=np.asarray(negated, np.bool_),
            bit_columns=(known // widest).astype(np.int32),
            bit_codes=(known % widest).astype(np.int32),
        )

    @property
    def count(self) -> int:
        """How many conjunctions there are; with their negations, twice as many queries."""
        return len(self.bits)

    @property
    def width(self) -> int:
        """How many literals each has."""
        return int(self.bits.shape[1])

    def holds(self, row: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
        """Say which conjunctions hold for a row of codes."""
        truth = np.asarray(row)[self.bit_columns] == self.bit_codes
        held: NDArray[np.bool_] = truth[self.bits[:, 0]] ^ self.negated[:, 0]
        for place in range(1, self.width):
            held &= truth[self.bits[:, place]] ^ self.negated[:, place]
        return held

    def digest(self) -> str:
        """Return a fingerprint of the queries, for the digest of a program."""
        text = hashlib.sha256(repr((self.domain.names, self.domain.sizes)).encode())
        for part in (self.bits, self.negated, self.bit_columns, self.bit_codes):
            text.update(repr((part.shape, part.dtype.str)).encode())
            text.update(np.ascontiguousarray(part).tobytes())
        return text.hexdigest()


def random_conjunctions(
    domain: CodedDomain, *, count: int, width: int = 3, stream: Entropy
) -> Conjunctions:
    """Return conjunctions of different bits, each negated or not, that a public stream decides.

    A column of two codes is one bit, a column of more is as many as it has codes.

    >>> from discreet.noise import KeyedEntropy
    >>> domain = CodedDomain(("ward", "smoker", "old"), (3, 2, 2))
    >>> queries = random_conjunctions(
    ...     domain, count=100, stream=KeyedEntropy(key=bytes(32), label="queries"))
    >>> queries.count, queries.bit_columns.tolist()
    (100, [0, 0, 0, 1, 2])
    """
    bits = literal_bits(domain, width)
    pool = np.array(bits, np.int64)
    chosen = Uniform(below=len(bits)).sample(count * width, stream).reshape(count, width)
    while True:
        ordered = np.sort(chosen, axis=1)
        again = np.flatnonzero((np.diff(ordered, axis=1) == 0).any(axis=1))
        if not again.size:
            break
        fresh = Uniform(below=len(bits)).sample(again.size * width, stream)
        chosen[again] = fresh.reshape(-1, width)
    negated = stream.words(count * width, 1).reshape(count, width) == 1
    return Conjunctions.compiled(domain, pool[chosen, 0], pool[chosen, 1], negated)


def literal_bits(domain: CodedDomain, width: int) -> list[tuple[int, int]]:
    """Return the bits that literals are about; refuse fewer than a conjunction has literals.

    >>> literal_bits(CodedDomain(("ward", "smoker"), (3, 2)), 3)
    [(0, 0), (0, 1), (0, 2), (1, 1)]
    """
    two = 2
    bits = [
        (column, code)
        for column, size in enumerate(domain.sizes)
        for code in (range(size) if size > two else (1,) if size == two else ())
    ]
    if not 1 <= width <= len(bits):
        raise OutOfRange(
            f"conjunctions of {width} different bits were asked for; there are {len(bits)}; use at "
            "most as many literals as there are bits."
        )
    return bits


def _codes_exist(
    sizes: NDArray[np.int64], columns: NDArray[np.int64], codes: NDArray[np.int64]
) -> bool:
    return bool(((codes >= 0) & (codes < sizes[columns])).all())


Words = NDArray[np.uint64]

LARGEST_COUNT: Final = 1 << 34
"""Counts of single combinations are clamped to this, so that their sums are integers of 64 bits."""
_TABLE_BYTES: Final = 1 << 28
_CHUNK_BYTES: Final = 1 << 22
_WORD: Final = 64


def count_conjunctions(
    queries: Conjunctions,
    codes: Sequence[NDArray[np.integer[Any]]] | NDArray[np.integer[Any]],
    counts: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, for each conjunction, the counts of the rows if it holds and if it does not.

    ``codes`` has one array for each column of the domain, or is a table with columns as its rows.
    Counts of several parts of a histogram add up.

    >>> from discreet.synthetic.inference.inference import CodedDomain
    >>> domain = CodedDomain(("a", "b"), (3, 2))
    >>> queries = Conjunctions.of(domain, [[(0, 2, True), (1, 1, True)]])
    >>> codes = [np.array([2, 2, 0]), np.array([1, 0, 1])]
    >>> count_conjunctions(queries, codes, np.array([5, 7, 1]))
    (array([5]), array([8]))
    """
    clamped = np.clip(counts, 0, LARGEST_COUNT)
    order = None if (np.diff(clamped) <= 0).all() else np.argsort(-clamped, kind="stable")
    held = np.zeros(queries.count, np.int64)
    at_once = _WORD * max(1, _TABLE_BYTES // (8 * len(queries.bit_columns)))
    for start in range(0, clamped.size, at_once):
        rows = slice(start, min(start + at_once, clamped.size))
        part = rows if order is None else order[rows]
        _add_counts(held, queries, _bit_table(queries, codes, part), _digits(clamped[part]))
    return held, int(clamped.sum()) - held


def _bit_table(
    queries: Conjunctions,
    codes: Sequence[NDArray[np.integer[Any]]] | NDArray[np.integer[Any]],
    rows: slice | NDArray[np.intp],
) -> Words:
    """Return one row of packed rows for each bit."""
    number, size = len(queries.bit_columns), codes[0][rows].size
    table = np.zeros((number, -(-size // _WORD)), np.uint64)
    packed = table.view(np.uint8)
    at_once = max(1, _CHUNK_BYTES // size)
    for start in range(0, number, at_once):
        columns = queries.bit_columns[start : start + at_once]
        if isinstance(codes, np.ndarray):
            found = codes[columns][:, rows]
        else:
            found = np.stack([codes[column][rows] for column in columns])
        same = found == queries.bit_codes[start : start + at_once, None]
        eighths = np.packbits(same, axis=1, bitorder="little")
        packed[start : start + at_once, : eighths.shape[1]] = eighths
    return table


def _digits(counts: NDArray[np.int64]) -> list[Words]:
    """Return, for each binary digit of falling counts, the packed rows that have it."""
    digits = []
    for digit in range(int(counts.max(initial=0)).bit_length()):
        reach = int(np.count_nonzero(counts >> digit))
        words = np.zeros(-(-reach // _WORD), np.uint64)
        eighths = np.packbits((counts[:reach] >> digit) & 1 == 1, bitorder="little")
        words.view(np.uint8)[: eighths.size] = eighths
        digits.append(words)
    return digits


def _add_counts(
    held: NDArray[np.int64], queries: Conjunctions, table: Words, digits: list[Words]
) -> None:
    """Add to each conjunction the counts of the rows in this table where it holds."""
    flips = np.where(queries.negated, np.uint64(0xFFFF_FFFF_FFFF_FFFF), np.uint64(0))
    at_once = max(1, _CHUNK_BYTES // (8 * table.shape[1]))
    for start in range(0, queries.count, at_once):
        part = slice(start, start + at_once)
        rows = table[queries.bits[part, 0]]
        rows ^= flips[part, 0, None]
        for place in range(1, queries.width):
            other = table[queries.bits[part, place]]
            other ^= flips[part, place, None]
            rows &= other
        for digit, words in enumerate(digits):
            met = np.bitwise_count(rows[:, : words.size] & words).sum(axis=1, dtype=np.int64)
            held[part] += met << digit
