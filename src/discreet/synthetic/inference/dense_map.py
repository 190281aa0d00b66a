"""Marginals of a vector with one number for each possible row, and back.

Trust: public.

The columns are split in two halves of about equal size, so that the vector is a matrix.  Marginals
that share their columns of the left half share one pass over the matrix, whose inner loop runs
along whole rows of it; what is left is small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from discreet.synthetic.inference.values import CodedDomain, Marginal

Vector = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True)
class _LeftPart:
    """Marginals with the same columns in the left half."""

    shape: tuple[int, ...]  # of the left half, with 1 for each column that is summed out
    summed: tuple[int, ...]
    kept: int
    members: list[tuple[slice, tuple[int, ...], tuple[int, ...]]] = field(default_factory=list)


@final
class DenseMap:
    """The linear map from cells to the values of some marginals, end to end.

    >>> domain = CodedDomain(("a", "b", "c"), (2, 2, 3))
    >>> marginals = DenseMap(domain, [(0,), (1, 2)])
    >>> marginals.collect(np.arange(12.0)).tolist()
    [15.0, 51.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0]
    >>> marginals.spread(np.arange(8.0)).tolist()
    [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    """

    def __init__(self, domain: CodedDomain, marginals: Sequence[Marginal]) -> None:
        """Sort marginals by their columns in the left half."""
        split = _split(domain.sizes)
        self._left, self._right = domain.sizes[:split], domain.sizes[split:]
        self._size = sum(domain.size(marginal) for marginal in marginals)
        self._parts: dict[Marginal, _LeftPart] = {}
        start = 0
        for marginal in marginals:
            left = tuple(column for column in marginal if column < split)
            right = {column - split for column in marginal if column >= split}
            part = self._parts.setdefault(left, self._part(left))
            end = start + domain.size(marginal)
            shape = tuple(size if column in right else 1 for column, size in enumerate(self._right))
            summed = tuple(column + 1 for column in range(len(self._right)) if column not in right)
            part.members.append((slice(start, end), shape, summed))
            start = end

    def _part(self, left: Marginal) -> _LeftPart:
        kept = set(left)
        return _LeftPart(
            shape=tuple(size if column in kept else 1 for column, size in enumerate(self._left)),
            summed=tuple(column for column in range(len(self._left)) if column not in kept),
            kept=math.prod(self._left[column] for column in left),
        )

    def collect(self, cells: Vector) -> Vector:
        """Return the marginals of a vector of cells."""
        matrix = cells.reshape(*self._left, -1)
        values = np.empty(self._size)
        for part in self._parts.values():
            rows = matrix.sum(axis=part.summed).reshape(part.kept, *self._right)
            for place, _, summed in part.members:
                values[place] = rows.sum(axis=summed).ravel()
        return values

    def spread(self, values: Vector) -> Vector:
        """Return, for each cell, the sum of the values of all marginal cells that it is part of."""
        width = math.prod(self._right)
        cells = np.zeros((*self._left, width))
        for part in self._parts.values():
            rows = np.zeros((part.kept, *self._right))
            for place, shape, _ in part.members:
                rows += values[place].reshape(part.kept, *shape)
            cells += rows.reshape(*part.shape, width)
        return cells.ravel()


def _split(sizes: tuple[int, ...]) -> int:
    """Return where to cut, so that the right half has at least as many cells as the left one."""
    left, right, split = 1, math.prod(sizes), 0
    while split < len(sizes) and left * sizes[split] <= right // sizes[split]:
        left, right, split = left * sizes[split], right // sizes[split], split + 1
    return split
