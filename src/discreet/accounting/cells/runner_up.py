"""The two highest payments of records that took part in different charges.

Trust: kernel.  Replacing one record by another costs what both have paid.

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

import numpy as np

from discreet.accounting.cells.partition import Partition
from discreet.accounting.cells.tally import Index, Tally, greatest, highest, numbers

__all__ = ["two_highest"]


def two_highest(
    parts: Partition, cells: Index, within: Mapping[int, int], component: int
) -> tuple[int, int]:
    """Return the two highest payments of one component; the second is 0 if there is one story.

    Args:
        parts: what was paid.
        cells: the cells to look at.
        within: for columns, by place, the atoms to look at, as bits; the cells must meet them.
        component: the component of the amounts.

    >>> two_highest(Partition(width=1), np.array([0]), {}, 0)
    (0, 0)
    """
    only = slice(component, component + 1)
    payments = parts.payments(cells, within, components=only)
    top = int(greatest(payments)[0])
    first = numbers(payments[:, :, top])[0]
    stories = parts.cells.stories
    if parts.apart or stories.mixed[cells[top]]:
        return first, first
    same = stories.numbers[cells] == stories.numbers[cells[top]]
    second = highest(payments[:, :, ~same])[0] if not same.all() else 0
    for at, column in enumerate(parts.columns.values()):
        atoms = within.get(at, (1 << column.atoms.size) - 1)
        masks = parts.cells.masks[at, cells]
        best = column.best(Tally(column.paid.digits[:, only]), atoms)[0, masks[top]]
        if column.stories.mixed[best]:
            return first, first
        told = np.flatnonzero(column.stories.numbers == column.stories.numbers[best])
        others = atoms & ~sum(1 << atom for atom in told.tolist())
        apart = cells[same & (column.met(others)[masks] > 0)]
        if len(apart) and second < first:
            rest = parts.payments(apart, {**within, at: others}, components=only)
            second = max(second, highest(rest)[0])
    return first, second
