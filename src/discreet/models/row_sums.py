"""Sums over bounded rows, each with what one row can add to it.

Trust: kernel.  All sums are exact integers (key ``integer-rows``), so that noise scaled to the
stated bound hides each row.

Theorem (key ``moment-matrix``).  For a row z let M(z) hold 29 z_i**2 for each i and 41 z_i z_j for
each i < j.  Then |M(z)| <= 29 |z|**2, and M(z) . M(z') >= 0 for any two rows; so adding or removing
k rows moves the sum by at most 29 k max |z|**2, and replacing them by at most the root of 2 times
that.
Proof.  41**2 = 1681 <= 2 * 29**2 = 1682, hence |M(z)|**2 <= 29**2 (sum of z_i**4 and of
2 z_i**2 z_j**2 over i < j) = 29**2 |z|**4.  M(z) . M(z') = 1681/2 (z . z')**2 + 1/2 (sum of
z_i**2 z'_i**2) >= 0.  Let a and b be sums over the rows that come and go: |a - b|**2 = |a|**2 +
|b|**2 - 2 a . b, and a . b >= 0.

Theorem (key ``row-tables``).  Give each row one place by its own values and released ones, and let
it add a vector v to that place alone.  The table of all places moves by at most |v|, and by no more
in L1 than v has, as if there were only one place; if no entry is negative, replacing a row moves it
by at most the root of 2 times that.
Proof.  All other places stay as they are; vectors without negative entries have inner products of
at least zero.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np

from discreet.extend import BoundedSum
from discreet.models.bounded_rows import BoundedRows, Floats, Integers

DIAGONAL: Final = 29
MIXED: Final = 41
"""Scales of the moments; the second is nearly the root of 2 times the first."""
RESIDUALS: Final = 1 << 16
"""Steps of a residual between 0 and 1."""
WEIGHTS: Final = 1 << 18
"""Steps of a weight between 0 and 1."""
WIDEST: Final = 2000
"""So many entries a row may have if scores are exact: 2**14 * 2**28 * 2000 < 2**53."""
_HEAVIEST: Final = 1 << 28
_BLOCK: Final = 1 << 20  # rows whose products add up to less than 2**53
_LARGEST: Final = 1 << 61
_MOST_MOMENT: Final = (2**63 - 1) // MIXED  # 64-bit integers hold so much times either factor
_SHORTER: Final = 1 - 2.0**-40  # covers the rounding of a root, a quotient and two products
_FEW: Final = 64  # places that are added up at once


def product(left: Floats, right: Floats) -> Integers:
    """Return left.T @ right exactly, for integers whose products are below 2**32.

    >>> product(np.array([[3.0], [4.0]]), np.array([[5.0], [6.0]])).tolist()
    [[39]]
    """
    if left.shape[0] <= _BLOCK:  # the sum is below 2**53
        return (left.T @ right).astype(np.int64)
    total = np.zeros((left.shape[1], right.shape[1]), np.int64)
    for start in range(0, left.shape[0], _BLOCK):
        block = left[start : start + _BLOCK].T @ right[start : start + _BLOCK]
        total += block.astype(np.int64)
    return np.clip(total, -_LARGEST, _LARGEST)


def moment_bound(squared: int) -> int:
    """Return the squared norm that a row of this squared norm adds to the moments.

    >>> moment_bound(4) == (29 * 4) ** 2
    True
    """
    return (DIAGONAL * squared) ** 2


def moments(rows: BoundedRows) -> BoundedSum:
    """Return the upper triangle of the scaled second moments (key ``moment-matrix``).

    >>> rows = BoundedRows(np.array([[1.0, 2.0]]), np.zeros(1, np.int64), 5)
    >>> moments(rows).values.tolist()
    [29, 82, 116]
    """
    square = product(rows.cells, rows.cells)
    return BoundedSum(
        values=scaled_moments(square),
        squared=moment_bound(rows.squared),
        linear=MIXED * square.shape[0] * rows.squared,
        opposed=False,
    )


def scaled_moments(square: Integers) -> Integers:
    """Return the upper triangle of a matrix, scaled; a product that wraps around would be anywhere.

    Entries stop where 64 bits end, some 800 million rows away; that brings no two closer entries
    further apart.

    >>> scaled_moments(np.array([[2**61]])).tolist() == [29 * ((2**63 - 1) // 41)]
    True
    """
    held: Integers = np.clip(square, -_MOST_MOMENT, _MOST_MOMENT)
    scaled = MIXED * held
    scaled.flat[:: len(held) + 1] = DIAGONAL * held.diagonal()
    return np.concatenate([line[place:] for place, line in enumerate(scaled)])


def gradients(rows: BoundedRows, residuals: Floats, clip: Fraction = Fraction(1)) -> BoundedSum:
    """Return the sum of z times its residuals, one column an output.

    Residuals of a row whose norm is above 1, or above the root of 2 if there are several, add
    nothing; nor do any that are not numbers.  Those above ``clip`` times that are shortened to it:
    their squared norm is an exact integer, and neither the factor nor the cut to whole steps makes
    them longer than is priced.
    """
    outputs = residuals.shape[1]
    bound = residual_bound(outputs, clip)
    whole = np.trunc(residuals.T * float(RESIDUALS))  # one line an output, which is faster
    squares = whole[0] ** 2 if outputs == 1 else np.einsum("ij,ij->j", whole, whole)
    fits = squares <= bound  # which no NaN does
    if not fits.all():
        bounded = squares <= residual_bound(outputs)
        whole[:, ~bounded] = 0.0
        long = bounded & ~fits
        shorter = np.sqrt(bound / squares[long]) * _SHORTER
        whole[:, long] = np.trunc(whole[:, long] * shorter)
    squared = rows.squared * bound
    values = product(rows.cells, whole.T).ravel()
    return BoundedSum(values, squared, linear_bound(squared, values.size), opposed=True)


def linear_bound(squared: int, entries: int) -> int:
    """Return a bound on the L1 norm of this number of entries, from their squared L2 norm.

    >>> linear_bound(9, 4)
    6
    """
    return math.isqrt(squared * entries - 1) + 1 if squared * entries else 0


def scores(cells: Floats, weights: Floats) -> Floats:
    """Return cells @ weights, with weights rounded so that the products are exact.

    The score of a row then depends on the row and the weights alone, to the last bit: sums of
    floats would depend on the layout of rows in memory.

    >>> scores(np.array([[3.0, 4.0]]), np.array([[0.5], [0.25]])).tolist()
    [[2.5]]
    """
    whole = np.minimum(np.maximum(np.rint(weights * WEIGHTS), -_HEAVIEST), _HEAVIEST)
    exact: Floats = (whole.T @ cells.T).T / WEIGHTS
    return exact


def residual_bound(outputs: int, clip: Fraction = Fraction(1)) -> int:
    """Return the squared norm of the residuals of one row, at most ``clip`` of what it may be.

    >>> residual_bound(1) == RESIDUALS**2
    True
    >>> residual_bound(3, Fraction(3, 4)) / residual_bound(3)
    0.5625
    """
    longest = (1 if outputs == 1 else 2) * (clip.numerator * RESIDUALS) ** 2
    return longest // clip.denominator**2


def table(  # noqa: PLR0913  rows, their places, and three bounds
    places: Integers, size: int, vectors: Floats, *, squared: int, linear: int, opposed: bool
) -> BoundedSum:
    """Add up one vector a row in the place of the row (key ``row-tables``).

    Rows outside all places and vectors beyond the bounds add nothing.
    """
    long = ~(np.einsum("ij,ij->i", vectors, vectors) <= squared)
    if vectors.shape[1] * squared > linear**2:  # otherwise the one bound implies the other
        length, size_of = np.zeros(len(vectors)), np.empty(len(vectors))
        for line in vectors.T:  # one by one, in memory that stays at hand
            length += np.abs(line, out=size_of)
        long |= length > linear
    if not opposed and (vectors < 0).any():
        long |= (vectors < 0).any(axis=1)
    kept = ~long & (places >= 0) & (places < size)
    where = np.where(kept, places, size)
    whole = vectors if kept.all() else np.where(kept[:, None], vectors, 0.0)
    total = _added_up(where, size, whole)
    return BoundedSum(total.ravel(), squared, linear, opposed)


def _added_up(where: Integers, size: int, whole: Floats) -> Integers:
    """Add up the rows of each place: by one product if there are few, in turn if there are many."""
    if size <= _FEW:
        places = (where == np.arange(size)[:, None]).astype(np.float64)
        return product(places.T, whole)
    total = np.zeros((size, whole.shape[1]), np.int64)
    order = np.argsort(where, kind="stable")
    where, whole = where[order], whole[order]
    starts = np.searchsorted(where, np.arange(size + 1))
    for place in range(size):
        part = whole[starts[place] : starts[place + 1]]
        if part.size:
            total[place] = product(part, np.ones((len(part), 1)))[:, 0]
    return total


def row_count(rows: BoundedRows) -> BoundedSum:
    """Count all rows (key ``row-tables``).

    >>> row_count(BoundedRows(np.zeros((3, 1)), np.zeros(3, np.int64), 1)).values.tolist()
    [3]
    """
    return BoundedSum(np.array([len(rows.cells)], np.int64), 1, 1, opposed=False)


def counts(places: Integers, size: int) -> BoundedSum:
    """Count the rows of each place (key ``row-tables``).

    >>> counts(np.array([0, 2, 2, 9]), 3).values.tolist()
    [1, 0, 2]
    """
    inside = places[(places >= 0) & (places < size)]
    return BoundedSum(np.bincount(inside, minlength=size).astype(np.int64), 1, 1, opposed=False)
