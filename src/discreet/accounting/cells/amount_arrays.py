"""Tallies: exact integers of any size, for many cells at once.

Trust: kernel.  An amount that wraps around is an amount that nobody pays.

Definition.  A tally holds ``width`` amounts, the components, for each of its cells, as digits in
base 2**60: ``digits[place, component, cell]``, the lowest place first.  The caller makes
room for the largest sum with ``reach``; within them nothing wraps around,
since two digits and a carry are below 2**62.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Self, TypeGuard, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.storage.decoding import require_stored

_DIGIT_BITS: Final = 60  # two digits and a carry stay below 2**62, see above
_MASK: Final = (1 << _DIGIT_BITS) - 1
_HEXADECIMAL: Final = re.compile("0|[1-9a-f][0-9a-f]*")

Digits = NDArray[np.int64]
Index = NDArray[np.intp]


@final
class AmountArray:
    """Amounts of many cells.

    >>> tally = AmountArray.zeros(width=1, size=3, places=2)
    >>> tally.add(np.array([0, 2]), to_digits([10**30], places=2))
    >>> tally.add(np.array([2]), to_digits([1], places=2))
    >>> tally.amounts()[2]
    (1000000000000000000000000000001,)
    """

    __slots__ = ("digits",)

    def __init__(self, digits: Digits) -> None:
        """Take digits by place, component and cell."""
        self.digits = digits

    @classmethod
    def zeros(cls, *, width: int, size: int, places: int) -> Self:
        """Return a tally in which nothing is paid."""
        return cls(np.zeros((places, width, size), dtype=np.int64))

    @property
    def size(self) -> int:
        """How many cells there are."""
        return int(self.digits.shape[2])

    def amounts(self) -> list[tuple[int, ...]]:
        """Return the amounts of each cell."""
        return [from_digits(self.digits[:, :, cell]) for cell in range(self.size)]

    def copy(self) -> AmountArray:
        """Return a tally that can be changed apart from this one."""
        return AmountArray(self.digits.copy())

    def reach(self, places: int) -> None:
        """Make room for at least this many places."""
        missing = places - len(self.digits)
        if missing > 0:
            self.digits = np.pad(self.digits, ((0, missing), (0, 0), (0, 0)))

    def add(self, cells: Index, amounts: Digits) -> None:
        """Add amounts to some cells."""
        self.digits[:, :, cells] = add_digits(self.digits[:, :, cells], amounts)

    def repeat(self, cells: Index) -> None:
        """Append copies of some cells."""
        self.digits = np.concatenate([self.digits, self.digits[:, :, cells]], axis=2)

    def join(self, order: Index, starts: Index) -> None:
        """Make one cell of each run of cells, with the highest of its amounts."""
        digits = self.digits[:, :, order]
        sizes = np.diff(np.append(starts, len(order)))
        joined = np.empty((*digits.shape[:2], len(starts)), dtype=np.int64)
        candidates = np.ones(digits.shape[1:], dtype=bool)
        for place in range(len(digits) - 1, -1, -1):
            here = np.where(candidates, digits[place], -1)
            joined[place] = np.maximum.reduceat(here, starts, axis=1)
            candidates &= here == np.repeat(joined[place], sizes, axis=1)
        self.digits = joined

    def same(self, cells: Index, others: Index) -> NDArray[np.bool_]:
        """Whether cells hold the same amounts as other cells."""
        equal = self.digits[:, :, cells] == self.digits[:, :, others]
        return np.asarray(equal.all(axis=(0, 1)))

    def falling(self) -> Index:
        """Return, for each component, the cells from the highest amount to the lowest."""
        by_component = np.moveaxis(self.digits, 1, 0)
        return np.array([np.lexsort(-digits) for digits in by_component], dtype=np.intp)

    def written(self) -> list[list[str]]:
        """Return a form that JSON keeps exactly."""
        return [encode_hexadecimal(cell) for cell in self.amounts()]

    @classmethod
    def read(cls, data: object, *, width: int, places: int) -> Self:
        """Read what ``written`` wrote, and refuse everything else."""
        rows = data if isinstance(data, list) else []
        require_stored(bool(rows))
        cells = [decode_hexadecimal(cell, width=width) for cell in rows]
        require_stored(max(map(max, cells)) >> _DIGIT_BITS * places == 0)
        return cls(np.concatenate([to_digits(cell, places=places) for cell in cells], axis=2))


def encode_hexadecimal(amounts: Sequence[int]) -> list[str]:
    """Return amounts as hexadecimal text, which has no longest number.

    >>> encode_hexadecimal([255, 0])
    ['ff', '0']
    """
    return [f"{amount:x}" for amount in amounts]


def decode_hexadecimal(data: object, *, width: int) -> list[int]:
    """Read what ``encode_hexadecimal`` wrote, and refuse everything else.

    >>> decode_hexadecimal(["ff", "0"], width=2)
    [255, 0]
    """
    texts = data if isinstance(data, list) else []
    require_stored(isinstance(data, list) and len(texts) == width)
    require_stored(all(isinstance(text, str) and _HEXADECIMAL.fullmatch(text) for text in texts))
    return [int(text, 16) for text in texts]


def are_indices(data: object, *, below: int) -> TypeGuard[list[int]]:
    """Whether something is a list of integers from 0 to below a bound.

    >>> are_indices([0, 2], below=3), are_indices([True], below=3)
    (True, False)
    """
    return isinstance(data, list) and all(type(n) is int and 0 <= n < below for n in data)


def decode_rows(data: object, *, below: Sequence[int], width: int) -> Index:
    """Read one row of indices for each bound in ``below``.

    >>> decode_rows([[0, 2], [1, 0]], below=[3, 2], width=2).tolist()
    [[0, 2], [1, 0]]
    """
    rows = data if isinstance(data, list) else [None]
    require_stored(isinstance(data, list) and len(rows) == len(below))
    for row, bound in zip(rows, below, strict=True):
        require_stored(are_indices(row, below=bound) and len(row) == width)
    return np.array(rows, dtype=np.intp).reshape(len(rows), width)


def places_for(largest: int) -> int:
    """Return how many places a number needs.

    >>> places_for(2**60 - 1), places_for(2**60)
    (1, 2)
    """
    return max(1, -(-largest.bit_length() // _DIGIT_BITS))


def to_digits(amounts: Sequence[int], *, places: int) -> Digits:
    """Return the digits of one cell.

    >>> to_digits([5], places=2).ravel().tolist()
    [5, 0]
    """
    rows = [
        [amount >> _DIGIT_BITS * place & _MASK for amount in amounts] for place in range(places)
    ]
    return np.array(rows, dtype=np.int64)[:, :, None]


def from_digits(digits: Digits) -> tuple[int, ...]:
    """Return the numbers of one cell, from digits by place and component.

    >>> from_digits(to_digits([7, 10**40], places=3)[:, :, 0])
    (7, 10000000000000000000000000000000000000000)
    """
    total = [0] * digits.shape[1]
    for row in digits[::-1].tolist():
        total = [(so_far << _DIGIT_BITS) + digit for so_far, digit in zip(total, row, strict=True)]
    return tuple(total)


def relative_heights(digits: Digits) -> NDArray[np.float64]:
    """Return how high cells are, from 0 to 1: the largest share of a component's highest amount.

    Rounded: good for choosing what to merge, not for saying what was paid.

    >>> relative_heights(np.array([[[1, 4], [0, 0]]])).tolist()
    [0.25, 1.0]
    """
    total = np.zeros(digits.shape[1:])
    for place in digits[::-1]:
        total = total * float(1 << _DIGIT_BITS) + place
    return np.asarray((total / np.maximum(total.max(axis=1, keepdims=True), 1)).max(axis=0))


def add_digits(left: Digits, right: Digits) -> Digits:
    """Add numbers digit by digit, and carry.

    >>> from_digits(add_digits(to_digits([2**60 - 1], places=2), to_digits([1], places=2))[:, :, 0])
    (1152921504606846976,)
    """
    total = left + right
    for place in range(len(total) - 1):
        total[place + 1] += total[place] >> _DIGIT_BITS
        total[place] &= _MASK
    return total


def greatest(digits: Digits) -> Index:
    """Return, for each component, the first cell that holds the highest amount.

    >>> greatest(np.array([[[1, 5, 5]]])).tolist()
    [1]
    """
    candidates = np.ones(digits.shape[1:], dtype=bool)
    for place in digits[::-1]:
        here = np.where(candidates, place, -1)
        candidates &= here == here.max(axis=1, keepdims=True)
    return np.asarray(candidates.argmax(axis=1))


def highest(digits: Digits) -> tuple[int, ...]:
    """Return the highest amount of each component.

    >>> highest(np.array([[[1, 5, 3], [2, 0, 0]]]))
    (5, 2)
    """
    return from_digits(digits[:, np.arange(digits.shape[1]), greatest(digits)])


def group_runs(groups: Index) -> tuple[Index, Index]:
    """Sort cells by group; return their order, and where each group starts in it.

    >>> [part.tolist() for part in group_runs(np.array([1, 0, 1]))]
    [[1, 0, 2], [0, 1]]
    """
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    return order, starts
