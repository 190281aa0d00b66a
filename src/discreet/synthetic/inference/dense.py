"""Inference on the vector of all possible rows: exact for any set of marginals, up to 2**22 cells.

Trust: public.

Memory: at most eight numbers of eight bytes for each cell.

Marginals of a vector with one number for each possible row, and back.

The columns are split in two halves of about equal size, so that the vector is a matrix.  Marginals
that share their columns of the left half share one pass over the matrix, whose inner loop runs
along whole rows of it; the remaining work is small.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange, TooLarge
from discreet.noise import Entropy
from discreet.synthetic.inference.descent import EFFORT, Effort, descend
from discreet.synthetic.inference.inference import (
    CodedDomain,
    Codes,
    ImpossibleCells,
    Marginal,
    Measurement,
    Model,
    Targets,
    Vector,
    code_type,
    pooled,
)
from discreet.synthetic.inference.tree_model import shuffled, systematic

MOST_CELLS: Final = 1 << 22


@final
@dataclass(frozen=True, slots=True, eq=False)
class DenseModel:
    """Expected counts of all possible rows.

    >>> from discreet.noise import KeyedEntropy
    >>> domain = CodedDomain(("a", "b"), (2, 2))
    >>> model = DenseModel(domain=domain, counts=np.array([3.0, 1.0, 0.0, 4.0]))
    >>> model.total, model.marginal((0,)).tolist()
    (8.0, [4.0, 4.0])
    >>> rows = model.rows(8, KeyedEntropy(key=bytes(32), label="rows"))
    >>> sorted(map(tuple, rows.tolist()))
    [(0, 0), (0, 0), (0, 0), (0, 1), (1, 1), (1, 1), (1, 1), (1, 1)]
    """

    domain: CodedDomain
    counts: Vector
    parameters: Mapping[Marginal, Vector] = field(default_factory=dict)

    @property
    def total(self) -> float:
        """How many rows the model represents."""
        return float(self.counts.sum())

    def marginal(self, columns: Sequence[int]) -> Vector:
        """Return the expected counts of some columns."""
        marginal = self.domain.marginal(columns)
        flat = DenseMap(self.domain, [marginal]).collect(self.counts)
        return flat.reshape(self.domain.shape(marginal))

    def marginals(self, chosen: Sequence[Marginal]) -> list[Vector]:
        """Return many marginals at once, which is several times faster than one by one."""
        flat = DenseMap(self.domain, chosen).collect(self.counts)
        ends = np.cumsum([self.domain.size(marginal) for marginal in chosen])
        parts = np.split(flat, ends[:-1]) if chosen else []
        return [
            part.reshape(self.domain.shape(marginal))
            for part, marginal in zip(parts, chosen, strict=True)
        ]

    def rows(self, count: int, stream: Entropy) -> Codes:
        """Return rows apportioned to the cells, in random order."""
        cells = np.repeat(
            np.arange(self.counts.size, dtype=np.uint32), systematic(self.counts, count, stream)
        )
        cells = cells[shuffled(count, stream)]
        table = np.empty((count, self.domain.columns), code_type(self.domain.sizes), order="F")
        for column in range(self.domain.columns - 1, -1, -1):
            size = np.uint32(self.domain.sizes[column])
            table[:, column] = cells % size
            cells //= size
        return table


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Dense:
    """Fit the probabilities of all possible rows by entropic mirror descent.

    >>> from fractions import Fraction
    >>> domain = CodedDomain(("a", "b"), (2, 2))
    >>> pair = Measurement((0, 1), np.array([30, -1, 11, 20]), Fraction(1))
    >>> Dense().fit(domain, [pair]).marginal((0, 1)).round(1).tolist()
    [[29.7, 0.0], [10.7, 19.7]]
    """

    effort: Effort = EFFORT

    def fit(
        self,
        domain: CodedDomain,
        measurements: Sequence[Measurement],
        *,
        zeros: Sequence[ImpossibleCells] = (),
        start: Model | None = None,
    ) -> DenseModel:
        """Return the model closest to the measurements, of largest entropy among these."""
        refuse_many_cells(domain, MOST_CELLS)
        targets = pooled(domain, measurements)
        law = _Law(domain, targets, possible_cells(domain, zeros))
        theta = descend(
            law.expectations, targets, starting_parameters(domain, targets, start), self.effort
        )
        known = {
            marginal: theta[place]
            for marginal, place in zip(targets.marginals, targets.slices(), strict=True)
        }
        return DenseModel(domain=domain, counts=law.counts(theta), parameters=known)


@final
class _Law:
    """Expected counts as a function of the parameters."""

    def __init__(
        self, domain: CodedDomain, targets: Targets, possible: NDArray[np.bool_] | None
    ) -> None:
        self._map = DenseMap(domain, targets.marginals)
        self._total = targets.total
        self._impossible = None if possible is None else ~possible

    def counts(self, theta: Vector) -> Vector:
        cells = self._map.spread(theta)
        if self._impossible is not None:
            cells[self._impossible] = -np.inf
        cells -= cells.max()
        np.exp(cells, out=cells)
        cells *= self._total / cells.sum()
        return cells

    def expectations(self, theta: Vector) -> Vector:
        return self._map.collect(self.counts(theta))


def starting_parameters(domain: CodedDomain, targets: Targets, start: Model | None) -> Vector:
    """Return the parameters of a model of fewer measurements; new marginals start at zero.

    >>> domain = CodedDomain(("a",), (2,))
    >>> starting_parameters(domain, pooled(domain, []), None).size
    0
    """
    known: Mapping[Marginal, Vector] = getattr(start, "parameters", None) or {}
    if start is not None and start.domain != domain:
        raise OutOfRange(
            "the fit is to start from a model of another domain; start from a model of the same "
            "columns and sizes, or leave start out."
        )
    parts = [known.get(marginal, np.zeros(domain.size(marginal))) for marginal in targets.marginals]
    return np.concatenate([np.zeros(0), *parts])


def refuse_many_cells(domain: CodedDomain, most: int) -> None:
    """Refuse a domain whose vector of cells does not fit.

    >>> refuse_many_cells(CodedDomain(("a",), (2,)), 4)
    """
    if domain.cells > most:
        raise TooLarge(
            f"the domain has {domain.cells} cells, more than {most}; use fewer or coarser columns, "
            "or inference by a junction tree."
        )


def possible_cells(
    domain: CodedDomain, zeros: Sequence[ImpossibleCells]
) -> NDArray[np.bool_] | None:
    """Return which rows are possible, or nothing if all are.

    >>> domain = CodedDomain(("a", "b"), (2, 2))
    >>> possible_cells(domain, [ImpossibleCells((1,), np.array([0]))]).tolist()
    [False, True, False, True]
    """
    if not zeros:
        return None
    possible = np.ones(domain.sizes, np.bool_)
    for zero in zeros:
        mask = zero.mask(domain.shape(zero.marginal))
        kept = set(zero.marginal)
        possible &= ~mask.reshape(
            [size if column in kept else 1 for column, size in enumerate(domain.sizes)]
        )
    if not possible.any():
        raise OutOfRange(
            "the constraints leave no row possible; correct the statements about impossible "
            "combinations."
        )
    return possible.reshape(math.prod(domain.sizes))


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
