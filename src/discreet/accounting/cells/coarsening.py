"""Coarser partitions: which cells and atoms become one when there are too many of them.

Trust: kernel.  What is merged pays the most that any of it has paid, never less.

Theorem (key ``merging-upward``).  If two parts become one that pays the higher of their amounts, no
record's payment falls; if a charge that holds some records of a part is booked to the whole part,
no payment falls below what the charge asks for.  So every record has paid at least what it owes.
The parts that are merged are the lowest ones: raising them leaves the highest payment as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.cells.amount_arrays import Index, relative_heights
from discreet.accounting.cells.cell_table import AtomCondition
from discreet.accounting.cells.partition import Partition


def heights(parts: Partition, cells: Index) -> NDArray[np.float64]:
    """Return how high some cells are, relative to the highest of them."""
    return relative_heights(parts.payments(cells))


def merge_equal(parts: Partition, goal: int) -> None:
    """Merge cells without raising any; stop at ``goal`` unless their stories are the same, too."""
    cells = parts.cells
    _merge_while(parts, lambda one, two: cells.stories.numbers[one] == cells.stories.numbers[two])
    if cells.size > goal:
        _merge_while(parts, cells.paid.same)
    cells.tidy(list(parts.columns.values()))


def merge_upward(parts: Partition, goal: int) -> None:
    """Merge the lowest cells until ``goal`` are left."""
    cells, columns = parts.cells, list(parts.columns.values())
    height = heights(parts, np.arange(cells.size))
    while cells.size > goal:
        one, two = cells.branches.siblings()
        after = np.maximum(height[one], height[two])
        count = min(cells.size - goal, -(-len(one) // 2))
        lowest = np.argsort(after, kind="stable")[:count]
        height[one[lowest]] = after[lowest]
        height = height[cells.join(one[lowest], two[lowest], columns)]
    cells.tidy(columns)


def make_room(
    parts: Partition, conditions: Sequence[AtomCondition], cap: int, *, exact: bool
) -> bool:
    """Merge cells, so that those that stick out can be split; return whether some were raised.

    While the map is exact, none is raised that need not be; later, room is made for some time.
    """
    merge_equal(parts, goal=cap // 2)
    _, sticks = parts.cells.met(conditions)
    if parts.cells.size + sticks.sum() <= (cap if exact else 3 * cap // 4):
        return False
    merge_upward(parts, goal=-(-cap // 2))
    return True


def merge_atoms(parts: Partition, most: int) -> bool:
    """Merge atoms that no cell tells apart, and more if a column has too many of them.

    Returns whether something was raised.
    """
    raised = parts.merge_atoms(most)
    while parts.most_atoms > most:
        merge_upward(parts, goal=-(-parts.cells.size // 2))  # the cells tell too many atoms apart
        parts.merge_atoms(most)
        raised = True
    return raised


def _merge_while(parts: Partition, alike: Callable[[Index, Index], NDArray[np.bool_]]) -> None:
    """Merge siblings that are alike, as long as there are any."""
    columns = list(parts.columns.values())
    while True:
        one, two = parts.cells.branches.siblings()
        merged = alike(one, two)
        if not merged.any():
            return
        parts.cells.join(one[merged], two[merged], columns)
