"""Generated tables for ``benchmarks/synthetic.py``, and how far marginals are off."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Codes = NDArray[np.uint8]

PEOPLE: Final = 21_574
COLUMNS: Final = 16
CLASSES: Final = 8


@dataclass(frozen=True, slots=True, eq=False)
class CodedTable:
    """A table of codes, one row a person: how many codes each column has."""

    codes: Codes
    sizes: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names for the columns."""
        return tuple(f"c{place:02}" for place in range(len(self.sizes)))

    @property
    def arrow(self) -> pa.Table:
        """The table as people hold it."""
        return pa.table(
            {name: self.codes[:, place].astype(np.int64) for place, name in enumerate(self.names)}
        )

    @property
    def policy(self) -> str:
        """What is public: the codes of each column."""
        head = 'format = 1\nunit = "row"\n[budget]\nepsilon = "1000"\ndelta = "1e-3"\n'
        columns = "".join(
            f'[tables.people.columns.{name}]\ntype = "integer"\nnullable = false\n'
            f"categories = {list(range(size))}\n"
            for name, size in zip(self.names, self.sizes, strict=True)
        )
        return head + columns


def latent(
    people: int = PEOPLE, columns: int = COLUMNS, classes: int = CLASSES, seed: int = 0
) -> CodedTable:
    """Draw people of a few hidden classes: weights Dirichlet(.8), rates of bits Beta(.5, .7)."""
    generator = np.random.default_rng(seed)
    weights = generator.dirichlet(np.full(classes, 0.8))
    rates = generator.beta(0.5, 0.7, (classes, columns))
    kinds = generator.choice(classes, people, p=weights)
    bits = (generator.random((people, columns)) < rates[kinds]).astype(np.uint8)
    return CodedTable(bits, (2,) * columns)


def triples(columns: int) -> list[tuple[int, ...]]:
    """Return all three-way marginals."""
    return list(itertools.combinations(range(columns), 3))


def counted(
    table: CodedTable, marginal: Sequence[int], codes: Codes | None = None
) -> NDArray[np.int64]:
    """Count the rows of each cell of a marginal."""
    rows = table.codes if codes is None else codes
    shape = tuple(table.sizes[column] for column in marginal)
    cells = np.ravel_multi_index(
        tuple(rows[:, column].astype(np.intp) for column in marginal), shape
    )
    return np.bincount(cells, minlength=int(np.prod(shape)))


@dataclass(frozen=True, slots=True)
class Distance:
    """Total variation distance of shares over all three-way marginals, and the worst cell."""

    mean: float
    worst: float
    cell: float


def distance(table: CodedTable, found: Mapping[tuple[int, ...], NDArray[Any]]) -> Distance:
    """Compare marginals with those of the table, as only a benchmark may."""
    halves, cells = [], []
    for marginal, counts in found.items():
        truth = counted(table, marginal) / len(table.codes)
        shares = np.asarray(counts, dtype=np.float64).ravel()
        off = np.abs(truth - shares / shares.sum())
        halves.append(float(off.sum()) / 2)
        cells.append(float(off.max()))
    return Distance(mean=float(np.mean(halves)), worst=max(halves), cell=max(cells))


def rows_distance(table: CodedTable, codes: Codes) -> Distance:
    """Compare the marginals of rows with those of the table."""
    found = {marginal: counted(table, marginal, codes) for marginal in triples(len(table.sizes))}
    return distance(table, found)
