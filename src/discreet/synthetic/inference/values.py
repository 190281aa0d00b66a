"""What inference reads: a coded domain, noisy marginals, and cells that no row can be in.

Trust: public.

A *marginal* is a sorted tuple of column numbers.  Its cells are numbered in C order: the code of
the last column changes fastest, as ``numpy.ravel_multi_index`` counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange, WrongKind
from discreet.noise.entropy import word_type

Marginal = tuple[int, ...]
"""Column numbers, in rising order."""


@final
@dataclass(frozen=True, slots=True)
class CodedDomain:
    """Columns of integer codes: column j holds 0, ..., sizes[j] - 1.

    >>> domain = CodedDomain(names=("ward", "age", "smoker"), sizes=(3, 4, 2))
    >>> domain.cells, domain.columns, domain.shape((0, 2))
    (24, 3, (3, 2))
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse columns without names or without codes."""
        if len(self.names) != len(self.sizes) or len(set(self.names)) != len(self.names):
            raise WrongKind(
                what="a domain needs one name of its own for each column.",
                why="marginals are asked for by name, and a name must mean one column.",
                do="give as many different names as sizes.",
            )
        if not self.sizes or min(self.sizes) < 1:
            raise OutOfRange(
                what="a domain has no column, or a column without a code.",
                why="every row needs a code in every column.",
                do="give at least one column, each with at least one code.",
            )

    @property
    def columns(self) -> int:
        """How many columns there are."""
        return len(self.sizes)

    @property
    def cells(self) -> int:
        """How many different rows there are."""
        return math.prod(self.sizes)

    def shape(self, marginal: Marginal) -> tuple[int, ...]:
        """Return the sizes of some columns."""
        return tuple(self.sizes[column] for column in marginal)

    def size(self, marginal: Marginal) -> int:
        """Return how many cells a marginal has."""
        return math.prod(self.shape(marginal))

    def marginal(self, columns: Iterable[int]) -> Marginal:
        """Return column numbers as a marginal: sorted, each once, and all of this domain.

        >>> CodedDomain(("a", "b", "c"), (2, 2, 2)).marginal([2, 0])
        (0, 2)
        """
        chosen = tuple(sorted(set(columns)))
        if chosen and not 0 <= chosen[0] <= chosen[-1] < self.columns:
            raise OutOfRange(
                what="a marginal names a column that the domain does not have.",
                why="columns are counted from 0 in the order of the domain.",
                do=f"use column numbers from 0 to {self.columns - 1}.",
            )
        return chosen


@final
@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """One noisy marginal: released integers, in C order, and the variance of the noise in each.

    >>> Measurement(marginal=(0,), values=np.array([5, 7]), variance=Fraction(4)).total
    12
    """

    marginal: Marginal
    values: NDArray[np.int64]
    variance: Fraction

    def __post_init__(self) -> None:
        """Refuse values that are no int64 vector, and a variance that is not positive."""
        if self.values.dtype != np.int64 or self.values.ndim != 1:
            raise WrongKind(
                what="the values of a measurement are not a vector of int64.",
                why="released counts are exact integers, one for each cell in C order.",
                do="give values.ravel() as int64.",
            )
        if self.variance <= 0:
            raise OutOfRange(
                what="the variance of a measurement is not positive.",
                why="measurements are weighted by one over their variance.",
                do="give the variance of the noise that was added.",
            )

    @property
    def total(self) -> int:
        """The noisy number of rows that this measurement alone says."""
        return int(self.values.sum())


@final
@dataclass(frozen=True, slots=True, eq=False)
class ImpossibleCells:
    """Cells of a marginal that no row can be in, as the owner states in public.

    ``cells`` are numbers of cells in C order.

    >>> ImpossibleCells(marginal=(0, 1), cells=np.array([2])).mask((2, 2)).tolist()
    [[False, False], [True, False]]
    """

    marginal: Marginal
    cells: NDArray[np.int64]

    def mask(self, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        """Return where the impossible cells are."""
        impossible = np.zeros(math.prod(shape), np.bool_)
        impossible[self.cells] = True
        return impossible.reshape(shape)


def code_type(sizes: Iterable[int]) -> np.dtype[np.unsignedinteger[Any]]:
    """Return the narrowest unsigned type that holds the codes of all columns.

    >>> code_type((2, 256)), code_type((2, 257))
    (dtype('uint8'), dtype('uint16'))
    """
    largest = max(sizes) - 1
    return word_type(largest.bit_length())
