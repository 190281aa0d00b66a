"""Witnesses: one possible record in each cell, and what it owes for sure.

Trust: public.  A wrong witness misstates how far the map lies above the truth, not what was paid.

Definition.  The witness of a cell is a record that has one atom in each column.  ``seen`` is no
more than it owes for charges on two columns or more.  The records of an atom have owed the same
until it is split, so a witness may be any of them: it goes where the charge is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.cells.amount_arrays import (
    AmountArray,
    Index,
    decode_rows,
    relative_heights,
)
from discreet.accounting.storage.decoding import stored_fields


@final
class Witnesses:
    """The atoms of each cell's witness, by column and cell, and what it has seen.

    >>> witnesses = Witnesses(width=1, places=1)
    >>> witnesses.add_column()
    >>> witnesses.atoms.tolist()
    [[0]]
    """

    __slots__ = ("atoms", "seen")

    def __init__(self, *, width: int, places: int) -> None:
        """Start with one witness that has seen nothing."""
        self.atoms: Index = np.zeros((0, 1), dtype=np.intp)
        self.seen = AmountArray.zeros(width=width, size=1, places=places)

    def add_column(self) -> None:
        """Let all witnesses have the only atom of a new column."""
        row = np.zeros((1, self.seen.size), dtype=np.intp)
        self.atoms = np.concatenate([self.atoms, row])

    def follow(self, axis: int, bits: int, split: Sequence[tuple[int, int]]) -> None:
        """Move witnesses in atoms that were split to the halves in ``bits``."""
        row = self.atoms[axis]
        for whole, half in split:
            if bits >> half & 1:
                row[row == whole] = half

    def inside(self, axis: int, cells: Index, bits: int) -> NDArray[np.bool_]:
        """Whether the witnesses of some cells lie in some atoms."""
        atoms = self.atoms[axis, cells].tolist()
        return np.array([bits >> atom & 1 == 1 for atom in atoms], dtype=bool)

    def split(
        self, axis: int, cells: Index, bits: int, firsts: tuple[Index, Index], low: AmountArray
    ) -> None:
        """Split cells into what lies in ``bits`` and new cells; half of them need new witnesses.

        Args:
            axis: the column, by place.
            cells: the cells that are split.
            bits: the atoms that they keep.
            firsts: an atom that each of them keeps, and one that its new cell gets.
            low: what the records of each cell, the new ones included, have paid at least.
        """
        new = self.seen.size + np.arange(len(cells))
        stays = self.inside(axis, cells, bits)
        self.atoms = np.concatenate([self.atoms, self.atoms[:, cells]], axis=1)
        self.seen.repeat(cells)
        bare = np.where(stays, new, cells)
        self.atoms[axis, bare] = np.where(stays, firsts[1], firsts[0])
        self.seen.digits[:, :, bare] = low.digits[:, :, bare]

    def rename(self, axis: int, numbers: Index, low: AmountArray) -> None:
        """Give the atoms of a column new numbers; some may get the same one.

        Charges may have told such atoms apart, so their witnesses owe no more than all records.
        """
        merged = np.bincount(numbers)[numbers] > 1
        bare = np.flatnonzero(merged[self.atoms[axis]])
        self.seen.digits[:, :, bare] = low.digits[:, :, bare]
        self.atoms[axis] = numbers[self.atoms[axis]]

    def join(self, cells: Index, others: Index, left: Index) -> None:
        """Let cells take in others, with the better witness of the two; keep the cells left."""
        level = relative_heights(self.seen.digits)
        better = level[others] > level[cells]
        self.atoms[:, cells[better]] = self.atoms[:, others[better]]
        self.seen.digits[:, :, cells[better]] = self.seen.digits[:, :, others[better]]
        self.atoms, self.seen = self.atoms[:, left], AmountArray(self.seen.digits[:, :, left])

    def copy(self) -> Witnesses:
        """Return witnesses that can be changed apart from these."""
        twin = Witnesses(width=0, places=0)
        twin.atoms, twin.seen = self.atoms.copy(), self.seen.copy()
        return twin

    def written(self) -> dict[str, object]:
        """Return a form that JSON keeps exactly."""
        return {"atoms": self.atoms.tolist(), "seen": self.seen.written()}

    @classmethod
    def read(cls, data: object, sizes: Sequence[int], *, width: int, places: int) -> Self:
        """Read what ``written`` wrote for columns of some sizes, and refuse everything else."""
        stored = stored_fields(data, "atoms", "seen")
        witnesses = cls(width=width, places=places)
        witnesses.seen = AmountArray.read(stored["seen"], width=width, places=places)
        witnesses.atoms = decode_rows(stored["atoms"], below=sizes, width=witnesses.seen.size)
        return witnesses
