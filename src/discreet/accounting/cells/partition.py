"""What every possible record has paid, and the two highest payments of different records.

Trust: kernel.  A payment that is left out of the sum can be spent again.

Definition.  A charge without conditions is booked for everyone, one with a condition on a single
column to atoms of that column (:mod:`discreet.accounting.cells.column_amounts`), any other to cells
(:mod:`discreet.accounting.cells.cell_table`).  A record has paid what everyone has paid, what its
atom has in each column, and what its cell has.
Theorem (key ``loss-map``).  Within a cell, the highest payment of a record is the payment of
everyone, that of the cell, and for each column the highest of an atom that the cell holds there.
Proof.  A cell is a product: its records may take any of its atoms in one column, whatever they have
in the others, so the highest of the sum is the sum of the highest.

Replacing one record by another costs what both have paid, so the two highest payments count.
Definition.  The story of a record is the set of charges that held it.
Theorem (key ``two-stories``).  Let a record x have the highest payment, and let its cell and its
atoms be unmixed.  A record with another story lies in a cell with another story, or in a cell with
the story of x's and, in some column, in an atom with another story than x's.  The highest payment
of such records is the second highest that counts: of two records with different stories, at most
one has the story of x.
If x's cell or one of its atoms is mixed, or a charge for everyone may have meant some only, another
record there may have paid as much as x.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Self, final

import numpy as np

from discreet.accounting.cells.amount_arrays import (
    AmountArray,
    Digits,
    Index,
    add_digits,
    from_digits,
    greatest,
    highest,
)
from discreet.accounting.cells.cell_table import AtomCondition, CellTable
from discreet.accounting.scopes.ordered_keys import common_kind
from discreet.accounting.storage.decoding import require_stored, stored_fields

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from discreet.accounting.cells.column_amounts import ColumnAmounts
    from discreet.accounting.scopes.box import Box

_MANY: Final = 256
"""With more atoms than this, a column is searched for atoms that can be merged."""


@final
class Partition:
    """Everyone, the columns and the cells.

    >>> parts = Partition(width=1)
    >>> parts.payments(np.array([0])).tolist()
    [[[0]]]
    """

    __slots__ = ("apart", "cells", "columns", "everyone", "places", "width")

    def __init__(self, *, width: int) -> None:
        """Start with one cell, in which nothing is paid."""
        self.width, self.places = width, 1
        self.everyone = AmountArray.zeros(width=width, size=1, places=1)
        self.cells = CellTable(width=width, places=1)
        self.columns: dict[str, ColumnAmounts] = {}
        self.apart = False  # whether a charge for everyone may have meant some only

    @property
    def most_atoms(self) -> int:
        """How many atoms a column has at most."""
        return max((column.atoms.size for column in self.columns.values()), default=1)

    def ceiling(self) -> tuple[int, ...]:
        """Return what a record in all the highest parts would pay, if there were one."""
        tallies = [self.everyone, self.cells.paid, *(c.paid for c in self.columns.values())]
        return tuple(map(sum, zip(*(highest(tally.digits) for tally in tallies), strict=True)))

    def reach(self, places: int) -> None:
        """Make room for at least this many digits in all amounts."""
        self.places = max(places, self.places)
        tallies = [self.everyone, self.cells.paid, *(c.paid for c in self.columns.values())]
        for tally in tallies:
            tally.reach(self.places)

    def check(self, box: Box) -> None:
        """Refuse a box with values of another kind than earlier ones, before anything changes."""
        for name, values in box.conditions:
            if name in self.columns:
                common_kind(self.columns[name].atoms.kind, values.kind)

    def refine(self, box: Box) -> list[AtomCondition]:
        """Return the conditions of a box as sets of atoms, those on much used columns first."""
        wanted = dict(box.conditions)
        for name in wanted:
            if name not in self.columns:
                self.columns[name] = _column_class()(width=self.width, places=self.places)
                self.cells.add_column()
        conditions = []
        for axis, (name, column) in enumerate(self.columns.items()):
            if name in wanted:
                column.used += 1
                conditions.append(AtomCondition(axis, column, column.refine(wanted[name])))
        return sorted(conditions, key=lambda condition: (-condition.column.used, condition.axis))

    def conditions(self, box: Box) -> list[AtomCondition]:
        """Return the conditions of a box as atoms that meet them, without changing anything."""
        wanted = dict(box.conditions)
        return [
            AtomCondition(axis, column, column.atoms.meeting(wanted[name]))
            for axis, (name, column) in enumerate(self.columns.items())
            if name in wanted
        ]

    def payments(
        self,
        chosen: Index,
        within: Mapping[int, int] | None = None,
        *,
        components: slice = slice(None),
    ) -> Digits:
        """Return the highest payments in some cells, which must meet the atoms in ``within``.

        Args:
            chosen: the cells.
            within: for columns, by place, the atoms that count, as bits; all if not given.
            components: the components that are wanted.
        """
        paid = self.cells.paid.digits
        total = add_digits(paid[:, components, chosen], self.everyone.digits[:, components])
        for axis, column in enumerate(self.columns.values()):
            tally = AmountArray(column.paid.digits[:, components])
            if tally.digits.any():
                atoms = (within or {}).get(axis, (1 << column.atoms.size) - 1)
                best = column.best(tally, atoms)[:, self.cells.masks[axis, chosen]]
                total = add_digits(total, tally.digits[:, np.arange(len(best))[:, None], best])
        return total

    def merge_atoms(self, most: int) -> bool:
        """Merge atoms that no cell tells apart, in long columns; return if some were raised."""
        raised = False
        for column in self.columns.values():
            if column.atoms.size > min(most, _MANY):
                raised |= column.merge_atoms(most)
        return raised

    def copy(self) -> Partition:
        """Return a partition that can be changed apart from this one."""
        twin = Partition(width=self.width)
        twin.places, twin.apart = self.places, self.apart
        twin.everyone = self.everyone.copy()
        twin.cells = self.cells.copy()
        twin.columns = {name: column.copy() for name, column in self.columns.items()}
        return twin

    def written(self) -> dict[str, object]:
        """Return a form that JSON keeps exactly."""
        return {
            "everyone": self.everyone.written()[0],
            "apart": self.apart,
            "columns": [[name, column.written()] for name, column in self.columns.items()],
            "cells": self.cells.written(),
        }

    @classmethod
    def read(cls, data: object, *, width: int, places: int) -> Self:
        """Read what ``written`` wrote, and refuse everything else."""
        stored = stored_fields(data, "everyone", "apart", "columns", "cells")
        parts = cls(width=width)
        parts.places, parts.apart = places, stored["apart"]
        parts.everyone = AmountArray.read([stored["everyone"]], width=width, places=places)
        columns = stored["columns"]
        require_stored(isinstance(columns, list) and isinstance(parts.apart, bool))
        for item in columns:
            require_stored(isinstance(item, list) and len(item) == 2 and isinstance(item[0], str))
            parts.columns[item[0]] = _column_class().read(item[1], width=width, places=places)
        require_stored(len(parts.columns) == len(columns))
        read_columns = list(parts.columns.values())
        parts.cells = CellTable.read(stored["cells"], read_columns, width=width, places=places)
        return parts


def _column_class() -> type[ColumnAmounts]:
    """Load the columns of a map, which most questions do without."""
    from discreet.accounting.cells.column_amounts import ColumnAmounts  # noqa: PLC0415  rare

    return ColumnAmounts


def two_highest(
    parts: Partition, cells: Index, within: Mapping[int, int], component: int
) -> tuple[int, int]:
    """Return the two highest payments of one component; the second is 0 if there is one story.

    Args:
        parts: what was paid.
        cells: the cells to look at.
        within: for columns, by place, the atoms to look at, as bits; the cells must meet them.
        component: the component of the amounts.
    """
    only = slice(component, component + 1)
    payments = parts.payments(cells, within, components=only)
    top = int(greatest(payments)[0])
    first = from_digits(payments[:, :, top])[0]
    stories = parts.cells.stories
    if parts.apart or stories.mixed[cells[top]]:
        return first, first
    same = stories.numbers[cells] == stories.numbers[cells[top]]
    second = highest(payments[:, :, ~same])[0] if not same.all() else 0
    for axis, column in enumerate(parts.columns.values()):
        atoms = within.get(axis, (1 << column.atoms.size) - 1)
        masks = parts.cells.masks[axis, cells]
        best = column.best(AmountArray(column.paid.digits[:, only]), atoms)[0, masks[top]]
        if column.stories.mixed[best]:
            return first, first
        same_story = np.flatnonzero(column.stories.numbers == column.stories.numbers[best])
        others = atoms & ~sum(1 << atom for atom in same_story.tolist())
        apart = cells[same & (column.met(others)[masks] > 0)]
        if len(apart) and second < first:
            rest = parts.payments(apart, {**within, axis: others}, components=only)
            second = max(second, highest(rest)[0])
    return first, second
