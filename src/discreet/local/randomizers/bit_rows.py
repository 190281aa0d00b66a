"""Integers and bits as rows of bytes, least significant first; and rows without their gaps.

Trust: kernel.  Bytes come from strangers: any bytes are read, and each report has one spelling.

Eight rows of b bits fill b bytes, so that each of the eight starts at a fixed bit of a fixed byte,
and short rows are shifted into place for all eights at once.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

_SHORT: Final = 24  # bits: shifted by up to seven, they fit into 32


def integer_rows(numbers: NDArray[np.unsignedinteger[Any]], size: int) -> Bytes:
    """Write integers as rows of ``size`` bytes.

    >>> integer_rows(np.array([1, 258], np.uint16), 2).tolist()
    [[1, 0], [2, 1]]
    """
    little = numbers.astype(f"<u{numbers.dtype.itemsize}", copy=False)
    return little.view(np.uint8).reshape(len(numbers), numbers.dtype.itemsize)[:, :size]


def row_integers(rows: Bytes, dtype: np.dtype[Any]) -> NDArray[np.unsignedinteger[Any]]:
    """Read rows of bytes as integers.

    >>> row_integers(np.array([[1, 0], [2, 1]], np.uint8), np.dtype("uint16")).tolist()
    [1, 258]
    """
    if rows.shape[1] == dtype.itemsize == 1:
        return rows.reshape(-1)
    wide = np.zeros((len(rows), dtype.itemsize), np.uint8)
    wide[:, : rows.shape[1]] = rows
    return wide.view(dtype.newbyteorder("<")).reshape(-1).astype(dtype, copy=False)


def narrow_bits(rows: Bytes, bits: int) -> Bytes:
    """Join rows of ``bits`` bits each without gaps.

    >>> narrow_bits(np.array([[5], [3]], np.uint8), 3).tolist()  # 101 and 011, from the right
    [29]
    """
    if bits == 8 * rows.shape[1]:
        return rows.reshape(-1)
    if bits > _SHORT:
        single = np.unpackbits(rows, axis=1, count=bits, bitorder="little")
        return np.packbits(single, bitorder="little")
    eights = np.zeros((-(-len(rows) // 8), 8), np.uint32)
    eights.reshape(-1)[: len(rows)] = row_integers(rows, eights.dtype)
    out = np.zeros((len(eights), bits), np.uint8)
    for place in range(8):
        first, shift = divmod(place * bits, 8)
        shifted = eights[:, place] << np.uint32(shift)
        for step in range((shift + bits + 7) // 8):
            out[:, first + step] |= shifted.astype(np.uint8)  # its lowest byte
            shifted >>= np.uint32(8)
    return out.reshape(-1)[: (len(rows) * bits + 7) // 8]


def widen_bits(data: Bytes, bits: int, count: int) -> Bytes | None:
    """Read ``count`` rows of ``bits`` bits each, or nothing where the bytes hold anything else.

    >>> widen_bits(np.array([29], np.uint8), 3, 2).tolist()
    [[5], [3]]
    >>> widen_bits(np.array([29 + 64], np.uint8), 3, 2) is None
    True
    """
    size = (count * bits + 7) // 8
    if data.dtype != np.uint8 or data.ndim != 1 or len(data) != size:
        return None
    if bits % 8 == 0:
        return data.reshape(count, bits // 8)
    if count * bits % 8 and int(data[-1]) >> count * bits % 8:
        return None
    if bits > _SHORT:
        single = np.unpackbits(data, count=count * bits, bitorder="little")
        return np.packbits(single.reshape(count, bits), axis=1, bitorder="little")
    eights = np.zeros((-(-count // 8), bits), np.uint8)
    eights.reshape(-1)[:size] = data
    numbers = np.empty((len(eights), 8), np.uint32)
    for place in range(8):
        first, shift = divmod(place * bits, 8)
        joined = eights[:, first].astype(np.uint32)
        for step in range(1, (shift + bits + 7) // 8):
            joined |= eights[:, first + step].astype(np.uint32) << np.uint32(8 * step)
        joined >>= np.uint32(shift)
        np.bitwise_and(joined, np.uint32((1 << bits) - 1), out=numbers[:, place])
    return integer_rows(numbers.reshape(-1)[:count], (bits + 7) // 8)
