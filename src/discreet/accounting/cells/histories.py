"""Histories of cells: which charges held them, and how they came about by splitting.

Trust: kernel.  Replacing a record by one with another story costs what both have paid.

Definition.  The story of a record is the set of charges that held it.  Parts with the same number
have the same story.  A mixed part may hold records of several stories; it has a number of its own.
Definition.  A split tree says which cells can become one again, since only two halves of one box
make a box: a binary tree whose leaves are the cells, whose other nodes are boxes that were split,
and whose children always have higher numbers than their parent.
"""

from __future__ import annotations

from collections import Counter
from typing import Self, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.cells.amount_arrays import Index, are_indices
from discreet.accounting.storage.decoding import require_stored, stored_fields


@final
class ChargeHistories:
    """The stories of the parts of a partition.

    >>> stories = ChargeHistories(3)
    >>> stories.record_charge(np.array([1, 2]))
    >>> stories.numbers.tolist()
    [0, 1, 1]
    >>> stories.join(np.array([0, 1, 2]), starts=np.array([0, 1]))
    >>> stories.mixed.tolist()
    [False, False]
    """

    __slots__ = ("_told", "mixed", "numbers")

    def __init__(self, size: int) -> None:
        """Start with parts of one story."""
        self.numbers: NDArray[np.int64] = np.zeros(size, dtype=np.int64)
        self.mixed: NDArray[np.bool_] = np.zeros(size, dtype=bool)
        self._told = 1  # how many numbers were given

    def record_charge(self, parts: Index) -> None:
        """Let a charge hold some parts, each as a whole."""
        old, which = np.unique(self.numbers[parts], return_inverse=True)
        self.numbers[parts] = self._told + which
        self._told += len(old)

    def mark_mixed(self, parts: Index) -> None:
        """Let records of several stories be in each of some parts."""
        self.numbers[parts] = self._told + np.arange(len(parts))
        self.mixed[parts] = True
        self._told += len(parts)

    def repeat(self, parts: Index) -> None:
        """Append copies of some parts; the copies of mixed parts have numbers of their own."""
        size = len(self.numbers)
        self.numbers = np.concatenate([self.numbers, self.numbers[parts]])
        self.mixed = np.concatenate([self.mixed, self.mixed[parts]])
        self.mark_mixed(np.flatnonzero(self.mixed[size:]) + size)

    def join(self, order: Index, starts: Index) -> None:
        """Make one part of each run of parts."""
        ordered, first = self.numbers[order], order[starts]
        several = np.minimum.reduceat(ordered, starts) != np.maximum.reduceat(ordered, starts)
        self.numbers, self.mixed = self.numbers[first], self.mixed[first]
        self.mark_mixed(np.flatnonzero(several))

    def copy(self) -> ChargeHistories:
        """Return stories that can be changed apart from these."""
        twin = ChargeHistories(0)
        twin.numbers, twin.mixed = self.numbers.copy(), self.mixed.copy()
        twin._told = self._told
        return twin

    def written(self) -> dict[str, object]:
        """Return a form that JSON keeps exactly."""
        return {
            "numbers": self.numbers.tolist(),
            "mixed": np.flatnonzero(self.mixed).tolist(),
            "told": self._told,
        }

    @classmethod
    def read(cls, data: object, size: int) -> Self:
        """Read what ``written`` wrote, and refuse everything else."""
        stored = stored_fields(data, "numbers", "mixed", "told")
        given, numbers, mixed = stored["told"], stored["numbers"], stored["mixed"]
        require_stored(type(given) is int and 0 < given < 1 << 62)
        require_stored(are_indices(numbers, below=given) and len(numbers) == size)
        require_stored(are_indices(mixed, below=size) and mixed == sorted(set(mixed)))
        stories = cls(size)
        stories.numbers[:], stories._told = numbers, given
        stories.mixed[mixed] = True
        seen = Counter(numbers)
        require_stored(all(seen[numbers[part]] == 1 for part in mixed))
        return stories


@final
class SplitTree:
    """A tree with one leaf for each cell.

    >>> tree = SplitTree()
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
        firsts = np.flatnonzero((ordered[1:] == ordered[:-1]) & (ordered[1:] >= 0))
        return order[firsts], order[firsts + 1]

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

    def copy(self) -> SplitTree:
        """Return a tree that can be changed apart from this one."""
        twin = SplitTree()
        twin.nodes, twin.parents = self.nodes.copy(), self.parents.copy()
        twin._alive = self._alive.copy()
        return twin

    def written(self) -> dict[str, object]:
        """Return a form that JSON keeps exactly."""
        return {"nodes": self.nodes.tolist(), "parents": self.parents.tolist()}

    @classmethod
    def read(cls, data: object, size: int) -> Self:
        """Read what ``written`` wrote for a tree of ``size`` cells, and refuse everything else."""
        stored = stored_fields(data, "nodes", "parents")
        nodes, parents = stored["nodes"], stored["parents"]
        count = 2 * size - 1
        require_stored(are_indices(nodes, below=count) and len(nodes) == len(set(nodes)) == size)
        require_stored(isinstance(parents, list) and len(parents) == count and parents[0] == -1)
        inner = sorted(set(range(count)) - set(nodes))
        require_stored(are_indices(parents[1:], below=count))
        require_stored(sorted(parents[1:]) == sorted(inner * 2))
        require_stored(all(parent < node for node, parent in enumerate(parents)))
        tree = cls()
        tree.nodes, tree.parents = np.array(nodes), np.array(parents)
        tree._alive = np.ones(count, dtype=bool)
        return tree
