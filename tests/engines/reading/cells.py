"""Poisoned cells: columns of every type that hold what is hard to read, and what is to be read."""

import struct
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.query.types import Type

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 (moments have no time zone)
FIRST, LAST = (
    round((moment - EPOCH).total_seconds()) * 10**6
    for moment in (datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59))  # noqa: DTZ001
)
DAYS = (date(1, 1, 1) - EPOCH.date()).days, (date(9999, 12, 31) - EPOCH.date()).days
UNITS = {"s": 10**6, "ms": 10**3, "us": 1}
EXTREMES = (0, 1, -1, 2**31, 2**62, -(2**62), 2**63 - 1, -(2**63) + 1, -(2**63), 253402300800)
TEXTS = (
    *("", " ", "\0", "a\0b", "\n", "\r", '"', "'", "\\", "NULL", "\\N", ",", "\ufeff", "\uffff"),
    *("é", "e\u0301", "\U0010ffff", "\u202e", "x" * 5000, "nan", "1e400", "9999-12-31", "%s"),
)
NOT_UTF8 = (b"\xff", b"\xc3", b"a\xff\xfe", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80")


def poisoned(rng, size, *, share=0.5, fits=False):
    """Return a table of every readable type, our types, and what is to be read, by name.

    Args:
        share: how many of the cells are hard to read.
        fits: whether only moments that all units can hold are there.
    """
    poison = _Poison(rng, size, share)
    columns = {"row": (pa.array(range(size)), Type.INTEGER, pa.array(range(size)))}
    for bits in (8, 16, 32, 64):
        for sign in ("", "u"):
            columns[f"{sign}int{bits}"] = poison.integers(f"{sign}int{bits}")
    columns["float32"] = poison.floats("float32")
    columns["float64"] = poison.floats("float64")
    columns["decimal"] = poison.decimals()
    columns["bool"] = poison.booleans()
    columns["text"] = poison.texts()
    columns["date"] = poison.dates()
    for unit in ("us", "ns") if fits else ("s", "ms", "us", "ns"):
        columns[f"timestamp_{unit}"] = poison.moments(unit)
    table = pa.table({name: array for name, (array, _, _) in columns.items()})
    types = {name: kind for name, (_, kind, _) in columns.items()}
    return table, types, {name: expected for name, (_, _, expected) in columns.items()}


class _Poison:
    """Columns of one size, in which a share of the cells is poisoned and some are NULL."""

    def __init__(self, rng, size, share):
        self.rng, self.size = rng, size
        self.bad = rng.random(size) < share
        self.null = rng.random(size) < (0.1 if size > 1 else 0)

    def _of(self, kind, near, scale=1):
        """Return small numbers, and among them those nearby an edge, and any bits at all."""
        plain = (self.rng.integers(0, 100, self.size) * scale).astype(kind)
        chosen = self.rng.integers(0, len(near), self.size)
        random = self.rng.integers(0, 256, (self.size, np.dtype(kind).itemsize), np.uint8)
        edge = self.rng.random(self.size) < 0.7
        poison = np.where(edge, np.asarray(near, kind)[chosen], random.view(kind)[:, 0])
        return np.where(self.bad, poison, plain)

    def integers(self, kind):
        info = np.iinfo(kind)
        near = [info.min, info.min + 1, info.max - 1, info.max, 0, 1]
        values = self._of(kind, near)
        array = pa.array(values, mask=self.null)
        small = pa.array(values <= 2**63 - 1)
        wide = pc.if_else(small, array, None).cast(pa.int64())
        return array, Type.INTEGER, wide

    def floats(self, kind):
        info = np.finfo(kind)
        near = [np.nan, np.inf, -np.inf, -0.0, info.max, info.min, info.tiny, info.tiny / 4]
        values = self._of(kind, near)
        array = pa.array(values, mask=self.null, from_pandas=False)
        finite = np.where(np.isfinite(values), values, 0).astype(np.float64)
        wide = pa.array(finite, mask=self.null | ~np.isfinite(values))
        return array, Type.FLOAT, wide

    def decimals(self):
        near = [Decimal(10**18 - 1) / 1000, -Decimal(10**18 - 1) / 1000, Decimal("0.001")]
        chosen = self.rng.integers(0, len(near), self.size)
        values = [
            None if null else near[at] if bad else Decimal(place)
            for place, (null, bad, at) in enumerate(zip(self.null, self.bad, chosen, strict=True))
        ]
        wide = pa.array([None if value is None else float(value) for value in values], pa.float64())
        return pa.array(values, pa.decimal128(18, 3)), Type.FLOAT, wide

    def booleans(self):
        array = pa.array(self.bad, mask=self.null)
        return array, Type.BOOLEAN, array

    def texts(self):
        chosen = self.rng.integers(0, len(TEXTS), self.size)
        values = [
            None if null else TEXTS[at] if bad else f"text {place}"
            for place, (null, bad, at) in enumerate(zip(self.null, self.bad, chosen, strict=True))
        ]
        array = pa.array(values, pa.string())
        return array, Type.TEXT, array

    def dates(self):
        near = [2**31 - 1, -(2**31), -(2**31) + 1, 2**31 - 2, *DAYS, DAYS[0] - 1, DAYS[1] + 1]
        days = self._of("int32", near, scale=365)
        array = pa.array(days, mask=self.null).view(pa.date32())
        there = (days >= DAYS[0]) & (days <= DAYS[1])
        return array, Type.DATE, pa.array(days, mask=self.null | ~there).view(pa.date32())

    def moments(self, unit):
        near = [*EXTREMES, FIRST, LAST, FIRST // 1000, LAST // 1000]
        values = self._of("int64", near, scale=10**6)
        array = pa.array(values, pa.int64(), mask=self.null).view(pa.timestamp(unit))
        read = [_microseconds(int(value), unit) for value in values]
        expected = [None if null else value for null, value in zip(self.null, read, strict=True)]
        return array, Type.TIMESTAMP, pa.array(expected, pa.int64()).view(pa.timestamp("us"))


def _microseconds(value, unit):
    """Return a moment in microseconds, None if it is infinite or in no year from 1 to 9999."""
    if value in {2**63 - 1, -(2**63) + 1}:  # infinite, to the engine
        return None
    if unit == "ns":  # to the nearest one
        return (value + 500) // 1000 if value >= 0 else -((-value + 500) // 1000)
    found = value * UNITS[unit]
    return found if FIRST <= found <= LAST + 999_999 else None


def with_one_cell(rng, size, column, *, fits=False):
    """Return such a table with one poisoned cell, in the column at some place."""
    table, types, expected = poisoned(rng, size, share=0, fits=fits)
    others, _, read = poisoned(rng, 1, share=1, fits=fits)
    name = table.column_names[column]
    row = int(rng.integers(0, size))
    cells = _replaced(table.column(name).combine_chunks(), row, others.column(name).chunk(0))
    expected[name] = _replaced(expected[name], row, read[name])
    return table.set_column(column, name, cells), types, expected


def _replaced(array, place, cell):
    return pa.concat_arrays([array[:place], cell, array[place + 1 :]])


def with_bytes(values):
    """Return a text column of any bytes."""
    offsets = struct.pack(f"<{len(values) + 1}i", 0, *np.cumsum([len(value) for value in values]))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)
