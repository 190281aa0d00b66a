"""How many rows of a joint histogram each conjunction holds for, exactly.

Trust: kernel.  DualQuery's scores are these counts; what one unit moves them by is their price.

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

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.synthetic.dual_query.conjunctions import Conjunctions

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
    """Return, for each conjunction, the counts of the rows where it holds and where it does not.

    ``codes`` has one array for each column of the domain, or is a table with columns as its rows.
    Counts of several parts of a histogram add up.

    >>> from discreet.synthetic.inference.values import CodedDomain
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
