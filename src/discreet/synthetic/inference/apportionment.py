"""Whole rows from expected counts: systematic rounding, with a public stream.

Trust: public.  The stream comes from the digest of a release; it hides nothing.

Definition.  Shares c_1, ..., c_k of n rows, with partial sums C_i scaled so that C_k = n, become
floor(C_i + u) - floor(C_(i-1) + u) for one u that is uniform on [0, 1).
Each is c_i rounded up or down, right on average, and every run of neighboring cells together is
off by less than one row.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.noise import Entropy

Vector = NDArray[np.float64]

_WORD: Final = 53


def uniforms(count: int, stream: Entropy) -> Vector:
    """Return numbers from [0, 1), on a grid of 2**-53.

    >>> from discreet.noise import KeyedEntropy
    >>> bool((uniforms(9, KeyedEntropy(key=bytes(32), label="u")) < 1).all())
    True
    """
    return stream.words(count, _WORD).astype(np.float64) * 2.0**-_WORD


def systematic(shares: Vector, count: int, stream: Entropy) -> NDArray[np.int64]:
    """Apportion rows to cells by their shares.

    >>> from discreet.noise import KeyedEntropy
    >>> systematic(np.array([1.0, 2.0, 1.0]), 8, KeyedEntropy(key=bytes(32), label="u")).tolist()
    [2, 4, 2]
    """
    return systematic_each(shares[None, :], np.array([count]), stream).ravel()


def systematic_each(
    shares: Vector, counts: NDArray[np.int64], stream: Entropy
) -> NDArray[np.int64]:
    """Apportion the rows of each group (a row of ``shares``) to its cells.

    >>> from discreet.noise import KeyedEntropy
    >>> stream = KeyedEntropy(key=bytes(32), label="u")
    >>> systematic_each(np.array([[1.0, 1.0], [1.0, 0.0]]), np.array([4, 3]), stream).tolist()
    [[2, 2], [3, 0]]
    """
    sums = np.cumsum(shares, axis=1)
    totals = sums[:, -1:]
    ends = sums * np.divide(counts[:, None], totals, out=np.zeros_like(totals), where=totals > 0)
    ends += uniforms(len(counts), stream)[:, None]
    whole = np.minimum(ends, counts[:, None]).astype(np.int64)
    whole = np.where(sums >= totals, counts[:, None], whole)  # no row is left for empty cells
    return np.diff(whole, axis=1, prepend=0)


def shuffled(count: int, stream: Entropy) -> NDArray[np.intp]:
    """Return the numbers from 0 to count - 1 in an order that the stream decides.

    >>> from discreet.noise import KeyedEntropy
    >>> sorted(shuffled(4, KeyedEntropy(key=bytes(32), label="order")).tolist())
    [0, 1, 2, 3]
    """
    return np.argsort(stream.words(count, 64), kind="stable")
