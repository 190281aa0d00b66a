"""Integers and bits as rows of bytes, least significant first; and rows without their gaps.

Trust: kernel.  Bytes come from strangers: any bytes are read, and each report has one spelling.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]


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
    return np.packbits(
        np.unpackbits(rows, axis=1, count=bits, bitorder="little"), bitorder="little"
    )


def widen_bits(data: Bytes, bits: int, count: int) -> Bytes | None:
    """Read ``count`` rows of ``bits`` bits each, or nothing where the bytes hold anything else.

    >>> widen_bits(np.array([29], np.uint8), 3, 2).tolist()
    [[5], [3]]
    >>> widen_bits(np.array([29 + 64], np.uint8), 3, 2) is None
    True
    """
    if data.dtype != np.uint8 or data.ndim != 1 or len(data) != (count * bits + 7) // 8:
        return None
    if bits % 8 == 0:
        return data.reshape(count, bits // 8)
    single = np.unpackbits(data, bitorder="little")
    if single[count * bits :].any():
        return None
    return np.packbits(single[: count * bits].reshape(count, bits), axis=1, bitorder="little")
