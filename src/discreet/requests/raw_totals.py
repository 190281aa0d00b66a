"""Raw totals: what engines hand to the release, as Arrow arrays; secret.

Trust: kernel.

Arrow's own conversions load pandas wherever it is installed, which takes longer than a whole
answer.  These fill and read the buffers of plain columns themselves, and leave the rest to Arrow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.query.types import Type

LARGEST_TOTAL: Final = 2**62
"""Answers are clamped to this size, so that noise can be added without a thought."""

Integers = NDArray[np.int64]
SparseLeaves = tuple[Integers, Integers, Integers]
"""The leaves that are not empty: the number of the group, the leaf, and its rows."""

ARROW_TYPES: Final[dict[Type, pa.DataType]] = {
    Type.INTEGER: pa.int64(),
    Type.FLOAT: pa.float64(),
    Type.TEXT: pa.string(),
    Type.BOOLEAN: pa.bool_(),
    Type.DATE: pa.date32(),
    Type.TIMESTAMP: pa.timestamp("us"),
}
"""How the columns of keys are stored."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RawTotals:
    """Bounded answers without noise, one for each group that some kept unit touches.

    ``keys`` are Arrow arrays, one for each key.  Groups are sorted by their keys, NULL first, or
    stand in the order of the public groups; so nothing says how the data is stored.

    >>> one = np.array([1])
    >>> RawTotals(keys=(), units=one, totals={"visits": one}, leaves={})
    RawTotals(hidden)
    """

    keys: tuple[pa.Array, ...]
    units: Integers
    totals: Mapping[str, Integers]
    leaves: Mapping[str, SparseLeaves]

    def __repr__(self) -> str:
        """Show nothing: these numbers are not protected by anything yet."""
        return "RawTotals(hidden)"


_DTYPES: Final[dict[pa.DataType, Any]] = {
    pa.int64(): np.int64,
    pa.uint64(): np.uint64,
    pa.int32(): np.int32,
    pa.float64(): np.float64,
    pa.bool_(): np.bool_,
    pa.date32(): np.int32,
    pa.timestamp("us"): np.int64,
}
_CLASSES: Final[dict[pa.DataType, type]] = {
    pa.int64(): int,
    pa.float64(): float,
    pa.bool_(): bool,
    pa.string(): str,
    pa.date32(): date,
    pa.timestamp("us"): datetime,
}
_LONGEST: Final = 2**31 - 1
_FEW: Final = 256
_FIRST_DAY: Final = date(1970, 1, 1).toordinal()
_START: Final = datetime(1970, 1, 1)  # noqa: DTZ001  (columns have no time zone)
_TICK: Final = timedelta(microseconds=1)


_NUMBERS: Final[dict[pa.DataType, Callable[[Any], int]]] = {
    pa.date32(): lambda day: int(day.toordinal()) - _FIRST_DAY,
    pa.timestamp("us"): lambda time: int((time - _START) // _TICK),
}


def arrow_numbers(
    values: NDArray[Any], kind: pa.DataType, null: NDArray[np.bool_] | None = None
) -> pa.Array:
    """Return numbers or truth values as an Arrow array, NULL if ``null`` is true.

    >>> arrow_numbers(np.array([7, 0]), pa.int64(), np.array([False, True])).to_pylist()
    [7, None]
    """
    if _DTYPES.get(kind) != values.dtype.type or values.ndim != 1:
        return pa.array(values, type=kind, mask=null)
    missing = None if null is None or not null.any() else pa.py_buffer(_bits(~null))
    data = _bits(values) if values.dtype == np.bool_ else np.ascontiguousarray(values)
    return pa.Array.from_buffers(kind, values.size, [missing, pa.py_buffer(data)])


def arrow_values(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return values of one of our types, None for NULL, as an Arrow array.

    >>> arrow_values(["A", None], pa.string()).to_pylist()
    ['A', None]
    """
    known = _CLASSES.get(kind)
    if known is not None and set(map(type, values)) <= {known, type(None)}:
        try:
            return _texts(values) if known is str else _plain(values, kind)
        except (OverflowError, TypeError, UnicodeError):  # Arrow has its own words for it
            pass
    return pa.array(values, type=kind)


def _plain(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    number = _NUMBERS.get(kind)
    plain = (
        values if number is None else [None if value is None else number(value) for value in values]
    )
    filled = [0 if value is None else value for value in plain]
    return arrow_numbers(np.array(filled, _DTYPES[kind]), kind, _missing(values))


def _texts(values: Sequence[Any]) -> pa.Array:
    encoded = [b"" if value is None else value.encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    if ends[-1] > _LONGEST:
        raise OverflowError
    null = _missing(values)
    missing = pa.py_buffer(_bits(~null)) if null.any() else None
    buffers = [missing, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def _missing(values: Sequence[Any]) -> NDArray[np.bool_]:
    return np.array([value is None for value in values], np.bool_)


def numbers(array: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Return the numbers or truth values of an Arrow array; nought if one is NULL.

    >>> numbers(arrow_values([5, None], pa.int64())).tolist()
    [5, 0]
    """
    whole = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    kind, size = _DTYPES[whole.type], len(whole)
    buffer = whole.buffers()[1]
    if buffer is None or not size:
        return np.zeros(size, kind)
    if kind is np.bool_:
        values = _unpacked(buffer, whole.offset, size)
    else:
        start = whole.offset * np.dtype(kind).itemsize
        values = np.frombuffer(buffer, kind, size, start)
    return np.where(nulls(whole), kind(0), values) if whole.null_count else values


def integers(table: pa.Table, column: str) -> Integers:
    """Return the whole numbers of a column; none of them may be missing.

    >>> integers(pa.table({"n": [3, 4]}), "n").tolist()
    [3, 4]
    """
    totals = table.column(column)
    if totals.null_count:
        message = "a total is missing"
        raise RuntimeError(message)
    whole: Integers = numbers(totals if totals.type == pa.int64() else totals.cast(pa.int64()))
    return whole


def sparse_leaves(table: pa.Table) -> SparseLeaves:
    """Return leaves from their columns: g, the number of the group, leaf, and c, its rows."""
    return integers(table, "g"), integers(table, "leaf"), integers(table, "c")


def nulls(array: pa.Array) -> NDArray[np.bool_]:
    """Return where an Arrow array is NULL.

    >>> nulls(arrow_values(["A", None], pa.string())).tolist()
    [False, True]
    """
    if not array.null_count:
        return np.zeros(len(array), np.bool_)
    buffer = array.buffers()[0]
    if buffer is None:  # a column of nothing but NULL
        return np.ones(len(array), np.bool_)
    return ~_unpacked(buffer, array.offset, len(array))


def value_places(array: pa.Array, values: Sequence[Any], kind: Type) -> Integers:
    """Return the place of each value of an Arrow array in a list, or -1.

    >>> wards = arrow_values(["B", None, "C"], pa.string())
    >>> value_places(wards, [None, "A", "B"], Type.TEXT).tolist()
    [2, 0, -1]
    """
    import pyarrow.compute as pc  # noqa: PLC0415  takes its time, and few answers need it

    known = arrow_values(values, ARROW_TYPES[kind])
    places = pc.index_in(array.cast(known.type), value_set=known)
    return np.where(nulls(places), -1, numbers(places)).astype(np.int64)


def taken(array: pa.Array, places: NDArray[np.int64]) -> pa.Array:
    """Return the values at some places; the array itself if these are all, in their order.

    >>> taken(arrow_values(["A", "B"], pa.string()), np.array([1])).to_pylist()
    ['B']
    """
    if places.size == len(array) and np.array_equal(places, np.arange(places.size)):
        return array
    if array.type in _CLASSES and len(array) <= _FEW:
        listed = array.to_pylist()
        return arrow_values([listed[place] for place in places.tolist()], array.type)
    return array.take(arrow_numbers(places, pa.int64()))


def _bits(values: NDArray[np.bool_]) -> NDArray[np.uint8]:
    return np.packbits(values, bitorder="little")


def _unpacked(buffer: pa.Buffer, offset: int, size: int) -> NDArray[np.bool_]:
    whole = np.frombuffer(buffer, np.uint8)
    bits = np.unpackbits(whole, count=offset + size, bitorder="little")
    return bits[offset:].astype(np.bool_)
