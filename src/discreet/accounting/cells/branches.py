"""Branches: how cells came about by splitting, and which of them can become one again.

Trust: kernel.  Only two halves of one box make a box.

Definition.  A binary tree whose leaves are the cells, whose other nodes are boxes that were split,
and whose children always have higher numbers than their parent.
"""

from __future__ import annotations

from typing import Self, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.cells.story import are_whole
from discreet.accounting.cells.tally import Index
from discreet.accounting.cuts import unreadable

__all__ = ["Branches"]


@final
class Branches:
    """A tree with one leaf for each cell.

    >>> tree = Branches()
    >>> tree.split(np.array([0]))
    >>> [pair.tolist() for pair in tree.siblings()]
    [[0], [1]]
    """

    __slots__ = ("_alive", "nodes", "parents")

    def __init__(self) -> None:
        """Start with one cell that was never split."""
        self.nodes: Index = np.zeros(1, dtype=np.intp)  # of each cell
        self.parents: Index = np.full(1, -1, dtype=np.intp)  # of each node
        self._alive: NDArray[np.bool_] = np.ones(1, dtype=bool)  # the nodes that are in the tree

    def split(self, cells: Index) -> None:
        """Split cells in two: each keeps one half, and the others are appended in order."""
        first, count = len(self.parents), len(cells)
        parents = self.nodes[cells]
        self.parents = np.concatenate([self.parents, parents, parents])
        self._alive = np.concatenate([self._alive, np.ones(2 * count, dtype=bool)])
        self.nodes[cells] = first + np.arange(count)
        self.nodes = np.concatenate([self.nodes, first + count + np.arange(count)])

    def siblings(self) -> tuple[Index, Index]:
        """Return the pairs of cells that are halves of one box."""
        parents = self.parents[self.nodes]
        order = np.argsort(parents, kind="stable")
        ordered = parents[order]
        at = np.flatnonzero((ordered[1:] == ordered[:-1]) & (ordered[1:] >= 0))
        return order[at], order[at + 1]

    def join(self, cells: Index, others: Index) -> Index:
        """Make one cell of each pair of siblings; return the cells that are left, in order."""
        self._alive[self.nodes[cells]] = False
        self._alive[self.nodes[others]] = False
        self.nodes[cells] = self.parents[self.nodes[cells]]
        left = np.delete(np.arange(len(self.nodes)), others)
        self.nodes = self.nodes[left]
        return left

    def tidy(self) -> None:
        """Forget the nodes that are not in the tree any more."""
        number = np.cumsum(self._alive) - 1
        parents = self.parents[self._alive]
        self.parents = np.where(parents < 0, -1, number[parents])
        self.nodes = number[self.nodes]
        self._alive = np.ones(len(parents), dtype=bool)

    def copy(self) -> Branches:
        """Return a tree that can be changed apart from this one."""
        twin = Branches()
        twin.nodes, twin.parents = self.nodes.copy(), self.parents.copy()
        twin._alive = self._alive.copy()
        return twin

    def written(self) -> dict[str, object]:
        """Return a form that JSON keeps exactly."""
        return {"nodes": self.nodes.tolist(), "parents": self.parents.tolist()}

    @classmethod
    def read(cls, data: object, size: int) -> Self:
        """Read what ``written`` wrote for a tree of so many cells, and refuse everything else."""
        if not isinstance(data, dict) or set(data) != {"nodes", "parents"}:
            raise unreadable()
        nodes, parents = data["nodes"], data["parents"]
        count = 2 * size - 1
        if not are_whole(nodes, below=count) or not len(nodes) == len(set(nodes)) == size:
            raise unreadable()
        if not isinstance(parents, list) or len(parents) != count or parents[0] != -1:
            raise unreadable()
        inner = sorted(set(range(count)) - set(nodes))
        if not are_whole(parents[1:], below=count) or sorted(parents[1:]) != sorted(inner * 2):
            raise unreadable()
        if any(parent >= node for node, parent in enumerate(parents)):
            raise unreadable()
        tree = cls()
        tree.nodes, tree.parents = np.array(nodes), np.array(parents)
        tree._alive = np.ones(count, dtype=bool)
        return tree
