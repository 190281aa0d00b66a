"""Which cells a unit keeps, found without sorting them all.

Trust: kernel.

Definition.  Every cell belongs to a unit and has a place, a number of 64 bits.  A unit of at most
``most`` cells keeps all of them, any other the ``most`` cells with the lowest places.
Theorem (key ``culling``).  :func:`lowest_cells` returns exactly these.  Proof.  Let a unit have n
cells; call n / limit times the place, rounded down to an even number and then to a float, the
height of a cell; it never falls as the place rises.  So the cells below any height come before all
others, and some heights divide the cells into zones, one after the other.  While all zones so far
hold at most ``most`` cells, the unit keeps them; of the next zone it keeps the first cells, as many
as there is room for, and of others none.  Only the cells of that zone are sorted.  Two cells of
one unit with one place are in one zone: if it is sorted, they are seen, and there is no answer; if
not, both are kept or both dropped, as in every order of the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.requests.raw_totals import numbers

__all__ = ["Codes", "lowest_cells", "unit_codes"]

Codes = NDArray[np.int64]
Places = NDArray[np.uint64]

_BITS: Final = 64
_STEPS: Final = (-2.0, -1.0, 0.0, 1.0, 2.0)
"""From ``most`` to heights: they change how many cells are sorted, and no more."""
_SPARSE: Final = 4


def lowest_cells(
    units: Codes, places: Places, most: int, limit: int = 2**_BITS
) -> NDArray[np.bool_] | None:
    """Return which cells are kept, or None if two cells of one place are in the way.

    If places spread evenly up to ``limit``, few cells are sorted.

    >>> lowest_cells(np.array([0, 0, 1]), np.array([5, 4, 9], np.uint64), 1).tolist()
    [False, True, True]
    """
    counts = np.bincount(units)
    halves = (places >> np.uint64(1)).view(np.int64)  # signed numbers become floats much faster
    heights = halves * (counts / (limit / 2))[units]
    zones = np.zeros(units.size, np.int8)
    for step in _STEPS:
        zones += heights >= most + step
    width = len(_STEPS) + 1
    in_zone = np.bincount(
        units + counts.size * zones.astype(np.int64), minlength=counts.size * width
    )
    upto = np.cumsum(in_zone.reshape(width, -1), axis=0)
    whole = np.count_nonzero(upto <= most, axis=0)
    before = np.where(whole > 0, upto[whole - 1, np.arange(counts.size)], 0)
    divided = np.where((whole < width) & (before < most), whole, -1)
    kept: NDArray[np.bool_] = zones < whole.astype(np.int8)[units]
    undecided = np.flatnonzero(zones == divided.astype(np.int8)[units])
    first = _first(units[undecided], places[undecided], most - before)
    if first is None:
        return None
    kept[undecided[first]] = True
    return kept


def _first(units: Codes, places: Places, wanted: Codes) -> NDArray[np.bool_] | None:
    """Return which cells are the first of their unit, as many as wanted, of more that are there.

    None if two cells of a unit have one place.
    """
    bits = wanted.size.bit_length()
    keys = (units.astype(np.uint64) << np.uint64(_BITS - bits)) | (places >> np.uint64(bits))
    ends = np.sort(keys)
    if (ends[1:] == ends[:-1]).any():
        return _ranked(units, places, wanted)
    counts = np.bincount(units, minlength=wanted.size)
    there = counts > 0
    last = np.zeros(wanted.size, np.uint64)
    last[there] = ends[(np.cumsum(counts) - counts + wanted - 1)[there]]
    is_first: NDArray[np.bool_] = keys <= last[units]
    return is_first


def _ranked(units: Codes, places: Places, wanted: Codes) -> NDArray[np.bool_] | None:
    """Return the same from whole places."""
    order = np.lexsort((places, units))
    units, places = units[order], places[order]
    starts = np.ones(units.size, np.bool_)
    starts[1:] = units[1:] != units[:-1]
    if (~starts[1:] & (places[1:] == places[:-1])).any():
        return None
    rows = np.arange(units.size)
    ranks = rows - np.maximum.accumulate(np.where(starts, rows, 0))
    is_first = np.zeros(units.size, np.bool_)
    is_first[order] = ranks < wanted[units]
    return is_first


def unit_codes(columns: Sequence[pa.ChunkedArray]) -> Codes:
    """Return a number for each row, the same for the same values, and no larger than need be.

    >>> unit_codes([pa.chunked_array([[7, 9, 7]])]).tolist()
    [0, 2, 0]
    """
    codes = _codes(columns[0])
    for column in columns[1:]:
        other = _codes(column)
        pairs = codes * (int(other.max(initial=0)) + 1) + other
        codes = _codes(pa.chunked_array([pa.array(pairs)]))
    return codes


def _codes(column: pa.ChunkedArray) -> Codes:
    if column.type == pa.int64() and len(column):
        values = numbers(column)
        low, high = int(values.min()), int(values.max())
        if high - low <= _SPARSE * values.size:
            return np.asarray(values - low, np.int64)
    if column.type == pa.string():  # whose chunks may be too long for one
        column = column.cast(pa.large_string())
    encoded = column.combine_chunks().dictionary_encode()
    return numbers(encoded.indices).astype(np.int64)
