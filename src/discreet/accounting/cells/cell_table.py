"""Cells: a partition of the records by several columns at once, and what each part has paid.

Trust: kernel.  A record that falls between the cells pays nothing.

Definition.  A cell is a box: in each column it holds a set of atoms, named by the number of a mask.
Cells come about by splitting a box in two along one column, so they are always a partition
(:mod:`discreet.accounting.cells.histories`).  ``paid`` is what the records of a cell have paid at
most, for charges on two columns or more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Self, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.cells.amount_arrays import (
    AmountArray,
    Digits,
    Index,
    decode_rows,
    group_runs,
)
from discreet.accounting.cells.histories import ChargeHistories, SplitTree
from discreet.accounting.storage.decoding import require_stored, stored_fields

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from discreet.accounting.cells.column_amounts import ColumnAmounts

Truth = NDArray[np.bool_]


class AtomCondition(NamedTuple):
    """A set of atoms of one column, as bits."""

    axis: int
    column: ColumnAmounts
    bits: int


@final
class CellTable:
    """The parts of the partition.

    >>> CellTable(width=1, places=1).size
    1
    """

    __slots__ = ("branches", "masks", "paid", "stories")

    def __init__(self, *, width: int, places: int) -> None:
        """Start with one cell that holds every record."""
        self.masks: Index = np.zeros((0, 1), dtype=np.intp)  # by column and cell
        self.paid = AmountArray.zeros(width=width, size=1, places=places)
        self.stories = ChargeHistories(1)
        self.branches = SplitTree()

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.paid.size

    def add_column(self) -> None:
        """Let a new column hold everything in all cells."""
        self.masks = np.concatenate([self.masks, np.zeros((1, self.size), dtype=np.intp)])

    def met(self, conditions: Sequence[AtomCondition]) -> tuple[Truth, Truth]:
        """Whether each cell meets all conditions, and whether it then sticks out of each."""
        held = np.empty((len(conditions), self.size), dtype=np.int8)
        for row, (axis, column, bits) in enumerate(conditions):
            held[row] = column.met(bits)[self.masks[axis]]
        meets = np.asarray(held.all(axis=0))
        return meets, (held == 1) & meets

    def split(self, cells: Index, conditions: Sequence[AtomCondition], sticks: Truth) -> None:
        """Split cells that conditions meet, until the conditions let them through whole.

        Each condition in turn cuts off what sticks out of it, as a new cell.
        """
        for condition, outside in zip(conditions, sticks, strict=True):
            cut = cells[outside[cells]]
            if len(cut):
                self._cut(cut, condition)

    def charge(self, cells: Index, amounts: Digits, *, whole: bool) -> None:
        """Add amounts to cells that a charge holds; not ``whole`` if it may mean some records."""
        self.paid.add(cells, amounts)
        if whole:
            self.stories.record_charge(cells)
        else:
            self.stories.mark_mixed(cells)

    def charge_partly(self, cells: Index, amounts: Digits) -> None:
        """Add amounts to cells that a charge holds in part."""
        self.paid.add(cells, amounts)
        self.stories.mark_mixed(cells)

    def join(self, cells: Index, others: Index, columns: Sequence[ColumnAmounts]) -> Index:
        """Make one cell of each pair of siblings; return the cells that are left, in order."""
        for axis, column in enumerate(columns):
            differ = np.flatnonzero(self.masks[axis, cells] != self.masks[axis, others])
            here, there = self.masks[axis, cells[differ]], self.masks[axis, others[differ]]
            pairs = zip(here.tolist(), there.tolist(), strict=True)
            union = [column.number(column.masks[one] | column.masks[two]) for one, two in pairs]
            self.masks[axis, cells[differ]] = union
        left = self.branches.join(cells, others)
        groups = np.empty(self.size, dtype=np.intp)
        groups[left] = np.arange(len(left))
        groups[others] = groups[cells]
        order, starts = group_runs(groups)
        self.masks = self.masks[:, left]
        self.paid.join(order, starts)
        self.stories.join(order, starts)
        return left

    def tidy(self, columns: Sequence[ColumnAmounts]) -> None:
        """Forget nodes that are not in the tree any more, and masks that no cell holds."""
        self.branches.tidy()
        for axis, column in enumerate(columns):
            self.masks[axis] = column.keep(self.masks[axis])

    def copy(self) -> CellTable:
        """Return cells that can be changed apart from these."""
        twin = CellTable(width=0, places=0)
        twin.masks, twin.stories = self.masks.copy(), self.stories.copy()
        twin.paid, twin.branches = self.paid.copy(), self.branches.copy()
        return twin

    def written(self) -> dict[str, object]:
        """Return a form that JSON keeps exactly."""
        return {
            "masks": self.masks.tolist(),
            "paid": self.paid.written(),
            "stories": self.stories.written(),
            "branches": self.branches.written(),
        }

    @classmethod
    def read(
        cls, data: object, columns: Sequence[ColumnAmounts], *, width: int, places: int
    ) -> Self:
        """Read what ``written`` wrote, and refuse everything else."""
        stored = stored_fields(data, "masks", "paid", "stories", "branches")
        cells = cls(width=width, places=places)
        cells.paid = AmountArray.read(stored["paid"], width=width, places=places)
        cells.stories = ChargeHistories.read(stored["stories"], cells.size)
        cells.branches = SplitTree.read(stored["branches"], cells.size)
        masks = [len(column.masks) for column in columns]
        cells.masks = decode_rows(stored["masks"], below=masks, width=cells.size)
        require_stored(cells.is_partition(columns))
        return cells

    def is_partition(self, columns: Sequence[ColumnAmounts]) -> bool:
        """Whether every record lies in one cell, found by joining all cells again.

        Two boxes that differ in one column, and share no atom there, are halves of one box; in
        this way the cells must grow together into the box that holds everything.
        """
        boxes: dict[int, list[int]] = {}
        for cell, node in enumerate(self.branches.nodes.tolist()):
            held = self.masks[:, cell].tolist()
            boxes[node] = [column.masks[axis] for column, axis in zip(columns, held, strict=True)]
        parents = self.branches.parents.tolist()
        for node in range(len(parents) - 1, 0, -1):
            mine, other = boxes[node], boxes.setdefault(parents[node], boxes[node])
            if other is mine:
                continue
            differ = [axis for axis, mask in enumerate(mine) if mask != other[axis]]
            if len(differ) != 1 or mine[differ[0]] & other[differ[0]]:
                return False
            boxes[parents[node]] = [one | two for one, two in zip(mine, other, strict=True)]
        return boxes[0] == [(1 << column.atoms.size) - 1 for column in columns]

    def _cut(self, cells: Index, condition: AtomCondition) -> None:
        """Split cells in two: each keeps what a condition lets through."""
        axis, column, bits = condition
        held, which = np.unique(self.masks[axis, cells], return_inverse=True)
        masks = [column.masks[mask] for mask in held.tolist()]
        inner = [mask & bits for mask in masks]
        outer = [mask & ~bits for mask in masks]
        size = self.size
        self.masks = np.concatenate([self.masks, self.masks[:, cells]], axis=1)
        self.masks[axis, cells] = np.array([column.number(mask) for mask in inner])[which]
        self.masks[axis, size:] = np.array([column.number(mask) for mask in outer])[which]
        self.branches.split(cells)
        self.paid.repeat(cells)
        self.stories.repeat(cells)
