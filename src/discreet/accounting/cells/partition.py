"""What every possible record has paid, in three parts: everyone's, each column's, each cell's.

Trust: kernel.  A payment that is left out of the sum can be spent again.

Definition.  A charge without conditions is booked for everyone, one with a condition on a single
column to atoms of that column (:mod:`discreet.accounting.cells.column`), any other to cells
(:mod:`discreet.accounting.cells.cells`).  A record has paid what everyone has paid, what its atom
has in each column, and what its cell has.
Theorem (key ``loss-map``).  Within a cell, the highest payment of a record is the payment of
everyone, that of the cell, and for each column the highest of an atom that the cell holds there.
Proof.  A cell is a product: its records may take any of its atoms in one column, whatever they have
in the others, so the highest of the sum is the sum of the highest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Self, final

import numpy as np

from discreet.accounting.box import Box
from discreet.accounting.cells.cells import Cells, Condition
from discreet.accounting.cells.tally import Digits, Index, Tally, highest, plus
from discreet.accounting.cuts import unreadable
from discreet.accounting.point import same_kind

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from discreet.accounting.cells.column import Column

__all__ = ["Partition"]

_MANY: Final = 256
"""With more atoms than this, a column is searched for atoms that need not be told apart."""


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
        self.everyone = Tally.zeros(width=width, size=1, places=1)
        self.cells = Cells(width=width, places=1)
        self.columns: dict[str, Column] = {}
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
        """Have at least so many places for the digits of all amounts."""
        self.places = max(places, self.places)
        tallies = [self.everyone, self.cells.paid, self.cells.low, self.cells.witnesses.seen]
        for column in self.columns.values():
            tallies += [column.paid, column.low]
        for tally in tallies:
            tally.reach(self.places)

    def check(self, box: Box) -> None:
        """Refuse a box with values of another kind than earlier ones, before anything changes."""
        for name, values in box.conditions:
            if name in self.columns:
                same_kind(self.columns[name].atoms.kind, values.kind)

    def refine(self, box: Box) -> list[Condition]:
        """Return the conditions of a box as sets of atoms, those on much used columns first."""
        wanted = dict(box.conditions)
        from discreet.accounting.cells.column import Column  # noqa: PLC0415  rare

        for name in wanted:
            if name not in self.columns:
                self.columns[name] = Column(width=self.width, places=self.places)
                self.cells.add_column()
        found = []
        for at, (name, column) in enumerate(self.columns.items()):
            if name in wanted:
                column.used += 1
                bits, split = column.refine(wanted[name])
                self.cells.witnesses.follow(at, bits, split)
                found.append(Condition(at, column, bits))
        return sorted(found, key=lambda condition: (-condition.column.used, condition.at))

    def conditions(self, box: Box) -> list[Condition]:
        """Return the conditions of a box as atoms that meet them, without changing anything."""
        wanted = dict(box.conditions)
        return [
            Condition(at, column, column.atoms.meeting(wanted[name]))
            for at, (name, column) in enumerate(self.columns.items())
            if name in wanted
        ]

    def payments(
        self,
        chosen: Index,
        within: Mapping[int, int] | None = None,
        *,
        components: slice = slice(None),
        low: bool = False,
    ) -> Digits:
        """Return the highest payments in some cells, which must meet the atoms in ``within``.

        Args:
            chosen: the cells.
            within: for columns, by place, the atoms that count, as bits; all if not given.
            components: the components that are wanted.
            low: whether to return what some record has paid at least, not at most.
        """
        cells = self.cells.low if low else self.cells.paid
        total = plus(cells.digits[:, components, chosen], self.everyone.digits[:, components])
        for at, column in enumerate(self.columns.values()):
            tally = Tally((column.low if low else column.paid).digits[:, components])
            if tally.digits.any():
                atoms = (within or {}).get(at, (1 << column.atoms.size) - 1)
                best = column.best(tally, atoms)[:, self.cells.masks[at, chosen]]
                total = plus(total, tally.digits[:, np.arange(len(best))[:, None], best])
        return total

    def owed(self) -> list[tuple[int, ...]]:
        """Return payments that are owed for sure by some records, at least one of each cell."""
        cells = np.arange(self.cells.size)
        seen = plus(self.cells.witnesses.seen.digits, self.everyone.digits)
        for atoms, column in zip(self.cells.witnesses.atoms, self.columns.values(), strict=True):
            seen = plus(seen, column.low.digits[:, :, atoms])
        return [highest(seen), highest(self.payments(cells, low=True))]

    def settle(self, most: int) -> bool:
        """Merge atoms that no cell tells apart, in columns with many; return if some were raised.

        A witness in an atom that is merged with others is not known to be any of their records.
        """
        raised = False
        for at, column in enumerate(self.columns.values()):
            if column.atoms.size > min(most, _MANY):
                renamed, is_raised = column.settle(most)
                self.cells.witnesses.rename(at, renamed, self.cells.low)
                raised |= is_raised
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
        if not isinstance(data, dict) or set(data) != {"everyone", "apart", "columns", "cells"}:
            raise unreadable()
        parts = cls(width=width)
        parts.places, parts.apart = places, data["apart"]
        parts.everyone = Tally.read([data["everyone"]], width=width, places=places)
        columns = data["columns"]
        if not isinstance(columns, list) or not isinstance(parts.apart, bool):
            raise unreadable()
        from discreet.accounting.cells.column import Column  # noqa: PLC0415  rare

        for item in columns:
            if not isinstance(item, list) or len(item) != 2 or not isinstance(item[0], str):
                raise unreadable()
            parts.columns[item[0]] = Column.read(item[1], width=width, places=places)
        if len(parts.columns) != len(columns):
            raise unreadable()
        held = list(parts.columns.values())
        parts.cells = Cells.read(data["cells"], held, width=width, places=places)
        return parts
