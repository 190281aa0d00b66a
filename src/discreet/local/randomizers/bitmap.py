"""Sets of values as rows of bits: one bit of a person's row, and the sums of all columns.

Trust: kernel.

Column sums take carry-save adders on whole words (positional population count; Muła, Kurz and
Lemire 2018).  Three rows of weight w are one row of weight w, the sum of their bits modulo 2, and
one of weight 2w, the carries.  So n rows become a few rows of each weight in n steps, each on as
many bits as a word has.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Codes = NDArray[np.integer[Any]]

_CHUNK: Final = 1 << 18  # bytes that all steps find in the cache
_FEW: Final = 24  # rows that are added up bit by bit


def row_size(columns: int) -> int:
    """Return how many bytes hold the bits of a row.

    >>> row_size(12)
    2
    """
    return (columns + 7) // 8


def cells(codes: Codes, size: int) -> tuple[NDArray[np.intp], Bytes]:
    """Return where the bit of each person's code lies: which byte of all rows, and which bit.

    >>> [part.tolist() for part in cells(np.array([3, 9]), 2)]
    [[0, 3], [8, 2]]
    """
    place = np.arange(0, size * len(codes), size, dtype=np.intp)
    place += codes >> 3
    return place, np.left_shift(1, codes & 7, dtype=np.uint8, casting="unsafe")


def column_sums(rows: Bytes, columns: int) -> NDArray[np.int64]:
    """Return how many rows have a 1 in each column.

    >>> column_sums(np.array([[5, 1], [4, 1]], np.uint8), 9).tolist()
    [1, 0, 2, 0, 0, 0, 0, 0, 2]
    """
    sums = np.zeros(columns, np.int64)
    step = max(3, _CHUNK // rows.shape[1])
    for start in range(0, len(rows), step):
        weight, current = 1, rows[start : start + step]
        while len(current):
            left, carries = _carry_save(current)
            sums += weight * _added(left, columns)
            weight, current = 2 * weight, carries
    return sums


def _carry_save(rows: Bytes) -> tuple[Bytes, Bytes]:
    """Return a few rows of the same weight, and the carries, which weigh twice as much."""
    carries = []
    while len(rows) > _FEW:
        third = len(rows) // 3
        first, second, last = rows[:third], rows[third : 2 * third], rows[2 * third : 3 * third]
        odd = first ^ second
        carry = odd & last
        carry |= first & second
        carries.append(carry)
        odd ^= last
        rows = np.concatenate([odd, rows[3 * third :]]) if len(rows) % 3 else odd
    return rows, np.concatenate(carries) if carries else rows[:0]


def _added(rows: Bytes, columns: int) -> NDArray[np.int64]:
    single = np.unpackbits(rows, axis=1, count=columns, bitorder="little")
    sums: NDArray[np.int64] = single.sum(axis=0, dtype=np.int64)
    return sums


def members_of_bitmap(rows: Bytes, columns: int, size: int) -> Bytes:
    """Write the columns of the ``size`` ones of each row, in order, as short as each may be.

    >>> members_of_bitmap(np.array([[0b10010]], np.uint8), 8, 2).tolist()  # 1 and 4: 100 001
    [[33]]
    """
    width = (columns - 1).bit_length()
    single = np.unpackbits(rows, axis=1, count=columns, bitorder="little")
    members = single.nonzero()[1].reshape(len(rows), size)
    names = (members[:, :, None] >> np.arange(width)) & 1
    return np.packbits(
        names.reshape(len(rows), size * width).astype(np.uint8), axis=1, bitorder="little"
    )


def bitmap_of_members(rows: Bytes, columns: int, size: int) -> tuple[Bytes, NDArray[np.bool_]]:
    """Read columns written in order; a row with any other spelling is not valid.

    >>> bitmap_of_members(np.array([[33], [12]], np.uint8), 8, 2)[1].tolist()
    [True, False]
    """
    width = (columns - 1).bit_length()
    single = np.unpackbits(rows, axis=1, bitorder="little")
    names = single[:, : size * width].reshape(len(rows), size, width)
    members = names @ (1 << np.arange(width))
    valid = (np.diff(members, axis=1) > 0).all(axis=1) & (members[:, -1] < columns)
    valid &= ~single[:, size * width :].any(axis=1)
    bitmap = np.zeros((int(valid.sum()), columns), np.uint8)
    np.put_along_axis(bitmap, members[valid], 1, axis=1)
    return np.packbits(bitmap, axis=1, bitorder="little"), valid
