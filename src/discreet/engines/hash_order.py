"""The order of hashes: which groups, values and rows of a unit are kept.

Trust: kernel.  What is kept may depend on the unit's own rows and on public numbers alone; how well
the hash mixes only decides how fair the choice is.

Definition.  For a purpose, the *canonical text* of values is the salt, a space, the purpose, and
then for every value ``-`` if it is NULL, else the number of code points of its text, a colon, and
the text.  The text of a BOOLEAN is true or false, of a DATE its day as YYYY-MM-DD, of a TIMESTAMP
its microseconds since 1970, of a number its shortest decimal form.  The *portable* order, which is
the same on every engine, sorts values by the hexadecimal MD5 of these texts.

Definition.  Every cell belongs to a unit and has a place, a number of 64 bits.  A unit of at most
``most`` cells keeps all of them, any other the ``most`` cells with the lowest places.
Theorem (key ``culling``).  :func:`lowest_cells` returns exactly these, without sorting all of them.
Proof.  Let a unit have n cells; call n / limit times the place, rounded down to an even number and
then to a float, the height of a cell; it never falls as the place rises.  So the cells below any
height come before all others, and some heights divide the cells into zones, one after the other.
While all zones so far hold at most ``most`` cells, the unit keeps them; of the next zone it keeps
the first cells, as many as there is room for, and of others none.  Only the cells of that zone are
sorted.  Two cells of one unit with one place are in one zone: if it is sorted, they are seen, and
there is no answer; if not, both are kept or both dropped, as in every order of the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from hashlib import md5
from typing import Final, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.exact import whole
from discreet.requests.raw_totals import numbers

Value = bool | int | float | str | date | None
"""A value of a table (a datetime is a date to the type checker); None is NULL."""

GROUPS: Final = "groups"
VALUES: Final = "values"
LEAVES: Final = "leaves"

_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 (timestamps have no time zone)
_DIGITS: Final = 15


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class HashOrder:
    """A salt, new for every release, and whether all engines must agree on the order.

    >>> HashOrder(salt=7, portable=True).text("groups", (12, "Ward A", None))
    '7 groups2:126:Ward A-'
    """

    salt: int
    portable: bool = False

    def __post_init__(self) -> None:
        """Refuse a salt that is not a number of 63 bits."""
        whole(self.salt, name="salt", low=0, high=2**63 - 1)

    def text(self, purpose: str, values: Iterable[Value]) -> str:
        """Return the canonical text."""
        return f"{self.salt} {purpose}" + "".join(map(_part, values))

    def place(self, purpose: str, values: Iterable[Value]) -> str:
        """Return where values come in the portable order.

        >>> HashOrder(salt=7).place("groups", (12,)) < HashOrder(salt=7).place("groups", (13,))
        True
        """
        return md5(self.text(purpose, values).encode(), usedforsecurity=False).hexdigest()

    def below(self, limit: int, purpose: str, values: Iterable[Value]) -> int:
        """Return the number from 0 to ``limit`` - 1 that belongs to values.

        >>> HashOrder(salt=7).below(10, "leaves", (12,)) in range(10)
        True
        """
        return int(self.place(purpose, values)[:_DIGITS], 16) % limit


def value_text(value: Value) -> str | None:
    """Return the text of a value in a canonical text.

    >>> value_text(True), value_text(datetime(1970, 1, 2)), value_text(1e16)
    ('true', '86400000000', '1e+16')
    """
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case float():
            return repr(value + 0.0)
        case datetime():
            return str((value - _EPOCH) // timedelta(microseconds=1))
        case date():
            return value.isoformat()
        case _:
            return str(value)


def _part(value: Value) -> str:
    text = value_text(value)
    return "-" if text is None else f"{len(text)}:{text}"


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
