"""Inference on the vector of all possible rows: exact for any set of marginals, up to 2**22 cells.

Trust: public.

Memory: at most eight numbers of eight bytes for each cell.
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
from discreet.synthetic.inference.apportionment import shuffled, systematic
from discreet.synthetic.inference.dense_map import DenseMap
from discreet.synthetic.inference.descent import EFFORT, Effort, descend
from discreet.synthetic.inference.inference import Codes, Model
from discreet.synthetic.inference.targets import Targets, Vector, pooled
from discreet.synthetic.inference.values import (
    CodedDomain,
    ImpossibleCells,
    Marginal,
    Measurement,
    code_type,
)

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
        """How many rows the model stands for."""
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
    """Fit the chances of all possible rows by entropic mirror descent.

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
            what="the fit is to start from a model of another domain.",
            why="its parameters belong to other cells.",
            do="start from a model of the same columns and sizes, or leave start out.",
        )
    parts = [known.get(marginal, np.zeros(domain.size(marginal))) for marginal in targets.marginals]
    return np.concatenate([np.zeros(0), *parts])


def refuse_many_cells(domain: CodedDomain, most: int) -> None:
    """Refuse a domain whose vector of cells does not fit.

    >>> refuse_many_cells(CodedDomain(("a",), (2,)), 4)
    """
    if domain.cells > most:
        raise TooLarge(
            what=f"the domain has {domain.cells} cells, more than {most}.",
            why="this inference keeps a number for each possible row.",
            do="use fewer or coarser columns, or inference by a junction tree.",
        )


def possible_cells(
    domain: CodedDomain, zeros: Sequence[ImpossibleCells]
) -> NDArray[np.bool_] | None:
    """Return which rows are possible, or nothing where all are.

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
            what="the constraints leave no row possible.",
            why="a model needs at least one row to give its mass to.",
            do="correct the statements about impossible combinations.",
        )
    return possible.reshape(math.prod(domain.sizes))
