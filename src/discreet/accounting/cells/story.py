"""Stories: which parts of a partition took part in the same charges.

Trust: kernel.  Replacing a record by one with another story costs what both have paid.

Definition.  The story of a record is the set of charges that held it.  Parts with the same number
have the same story.  A mixed part may hold records of several stories; it has a number of its own.
"""

from __future__ import annotations

from collections import Counter
from typing import Self, TypeGuard, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.cells.tally import Index
from discreet.accounting.cuts import unreadable

__all__ = ["Stories", "are_whole"]


@final
class Stories:
    """The stories of the parts of a partition.

    >>> stories = Stories(3)
    >>> stories.go_on(np.array([1, 2]))
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

    def go_on(self, parts: Index) -> None:
        """Let a charge hold some parts, each as a whole."""
        old, which = np.unique(self.numbers[parts], return_inverse=True)
        self.numbers[parts] = self._told + which
        self._told += len(old)

    def mix(self, parts: Index) -> None:
        """Let records of several stories be in each of some parts."""
        self.numbers[parts] = self._told + np.arange(len(parts))
        self.mixed[parts] = True
        self._told += len(parts)

    def repeat(self, parts: Index) -> None:
        """Append copies of some parts; the copies of mixed parts have numbers of their own."""
        size = len(self.numbers)
        self.numbers = np.concatenate([self.numbers, self.numbers[parts]])
        self.mixed = np.concatenate([self.mixed, self.mixed[parts]])
        self.mix(np.flatnonzero(self.mixed[size:]) + size)

    def join(self, order: Index, starts: Index) -> None:
        """Make one part of each run of parts."""
        ordered, first = self.numbers[order], order[starts]
        several = np.minimum.reduceat(ordered, starts) != np.maximum.reduceat(ordered, starts)
        self.numbers, self.mixed = self.numbers[first], self.mixed[first]
        self.mix(np.flatnonzero(several))

    def copy(self) -> Stories:
        """Return stories that can be changed apart from these."""
        twin = Stories(0)
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
        if not isinstance(data, dict) or set(data) != {"numbers", "mixed", "told"}:
            raise unreadable()
        told, numbers, mixed = data["told"], data["numbers"], data["mixed"]
        if type(told) is not int or not 0 < told < 1 << 62:
            raise unreadable()
        if not are_whole(numbers, below=told) or len(numbers) != size:
            raise unreadable()
        if not are_whole(mixed, below=size) or mixed != sorted(set(mixed)):
            raise unreadable()
        stories = cls(size)
        stories.numbers[:], stories._told = numbers, told
        stories.mixed[mixed] = True
        seen = Counter(numbers)
        if any(seen[numbers[part]] > 1 for part in mixed):
            raise unreadable()
        return stories


def are_whole(data: object, *, below: int) -> TypeGuard[list[int]]:
    """Whether something is a list of integers from 0 to below a bound.

    >>> are_whole([0, 2], below=3), are_whole([True], below=3)
    (True, False)
    """
    return isinstance(data, list) and all(type(n) is int and 0 <= n < below for n in data)
