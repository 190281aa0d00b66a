"""Cells: a partition of all possible records, and what the records of each part have paid.

Trust: kernel.

An amount that wraps around is an amount that nobody pays.

Definition.  A tally holds ``width`` amounts, the components, for each of its cells, as digits in
base 2**60: ``digits[place, component, cell]``, the lowest place first.  The caller makes
room for the largest sum with ``reach``; within them nothing wraps around,
since two digits and a carry are below 2**62.

Replacing a record by one with another story costs what both have paid.

Definition.  The story of a record is the set of charges that held it.  Parts with the same number
have the same story.  A mixed part may hold records of several stories; it has a number of its own.
Definition.  A split tree says which cells can become one again, since only two halves of one box
make a box: a binary tree whose leaves are the cells, whose other nodes are boxes that were split,
and whose children always have higher numbers than their parent.

A price that is booked to the wrong atom is paid by the wrong people.

Definition.  A charge with a condition on this column alone is booked to the atoms that the
condition lets through, and to nothing else.  ``paid`` is what the records of an atom have paid in
this way at most.
``masks`` are the sets of atoms that cells hold in this column, as bits, each kept once.

A record that falls between the cells pays nothing.

Definition.  A cell is a box: in each column it holds a set of atoms, named by the number of a mask.
Cells come about by splitting a box in two along one column, so they are always a partition
(:mod:`discreet.accounting.cells`).  ``paid`` is what the records of a cell have paid at
most, for charges on two columns or more.

A payment that is left out of the sum can be spent again.

Definition.  A charge without conditions is booked for everyone, one with a condition on a single
column to atoms of that column (:mod:`discreet.accounting.cells`), any other to cells
(:mod:`discreet.accounting.cells`).  A record has paid what everyone has paid, what its
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

import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Self, TypeGuard, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.atoms import AtomRefinement
from discreet.accounting.stored import require_stored, stored_fields
from discreet.accounting.values import Values, common_kind
from discreet.exact import whole

if TYPE_CHECKING:  # loaded when first used, because most questions need few of these
    from discreet.accounting.box import Box


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


_MASK_TEXT: Final = re.compile("[1-9a-f][0-9a-f]*")


@final
class ColumnAmounts:
    """The atoms of one column, and what charges on this column alone have cost them.

    >>> from discreet.accounting.cells import to_digits
    >>> from discreet.accounting.values import equals
    >>> column = ColumnAmounts(width=1, places=1)
    >>> bits = column.refine(equals("CA"))
    >>> column.charge(bits, to_digits([3], places=1), whole=True)
    >>> column.paid.amounts()
    [(0,), (3,)]
    """

    __slots__ = ("_number", "atoms", "masks", "paid", "stories", "used")

    def __init__(self, *, width: int, places: int) -> None:
        """Start with one atom that has paid nothing, and one mask that holds it."""
        self.atoms = AtomRefinement()
        self.paid = AmountArray.zeros(width=width, size=1, places=places)
        self.stories = ChargeHistories(1)
        self.masks: list[int] = [1]
        self.used = 0  # charges with a condition on this column
        self._number: dict[int, int] = {1: 0}

    def refine(self, values: Values) -> int:
        """Split atoms until a set of values is a set of them; return its bits."""
        split = self.atoms.refine(values)
        if split:
            wholes = np.array([whole for whole, _ in split], dtype=np.intp)
            self.paid.repeat(wholes)
            self.stories.repeat(wholes)
            for whole, half in split:
                self.masks = [mask | (mask >> whole & 1) << half for mask in self.masks]
            self._renumber()
        return self.atoms.meeting(values)

    def charge(self, bits: int, amounts: Digits, *, whole: bool) -> None:
        """Book amounts to some atoms; not ``whole`` if the charge may mean some records only."""
        atoms = np.flatnonzero(self.spread([bits])[0])
        self.paid.add(atoms, amounts)
        if whole:
            self.stories.record_charge(atoms)
        else:
            self.stories.mark_mixed(atoms)

    def number(self, mask: int) -> int:
        """Return the number of a mask, a new one if it is new."""
        if mask not in self._number:
            self._number[mask] = len(self.masks)
            self.masks.append(mask)
        return self._number[mask]

    def met(self, bits: int) -> NDArray[np.int8]:
        """Say of each mask whether some atoms hold all of it (2), a part (1) or nothing (0)."""
        parts = [(mask & bits, mask) for mask in self.masks]
        return np.array([(part != 0) + (part == mask) for part, mask in parts], dtype=np.int8)

    def best(self, tally: AmountArray, bits: int) -> Index:
        """Return the atom with the highest amount, by component and mask, among those in ``bits``.

        Where a mask holds none of these atoms, some atom is returned.
        """
        held = self.spread([mask & bits for mask in self.masks])
        ranked = tally.falling()
        first = np.array([held[:, order].argmax(axis=1) for order in ranked])
        return np.take_along_axis(ranked, first, axis=1)

    def spread(self, masks: Sequence[int]) -> NDArray[np.bool_]:
        """Return bits as rows of truth values."""
        size = -(-self.atoms.size // 8)
        packed = b"".join(mask.to_bytes(size, "little") for mask in masks)
        rows = np.frombuffer(packed, dtype=np.uint8).reshape(len(masks), size)
        spread = np.unpackbits(rows, axis=1, count=self.atoms.size, bitorder="little")
        return spread.astype(bool)

    def keep(self, used: Index) -> Index:
        """Forget masks that no cell holds; return the new numbers of those that some do."""
        kept = np.zeros(len(self.masks), dtype=bool)
        kept[used] = True
        self.masks = [self.masks[mask] for mask in np.flatnonzero(kept).tolist()]
        self._renumber()
        return (np.cumsum(kept) - 1)[used]

    def merge_atoms(self, most: int) -> bool:
        """Merge atoms that no mask tells apart; return whether some were raised.

        Atoms of one story are always merged.  If more than ``most`` are left, so are those that
        have paid the same, and if that is not enough the lowest are raised to one amount.
        """
        self._join(list(zip(self._places(), self.stories.numbers.tolist(), strict=True)))
        if self.atoms.size > most:
            amounts = [self.paid.digits[:, :, atom].tobytes() for atom in range(self.atoms.size)]
            self._join(list(zip(self._places(), amounts, strict=True)))
        if self.atoms.size <= most:
            return False
        places = self._places()
        merged = self.atoms.size - most // 2 + len(set(places))
        keys: list[Hashable] = list(range(self.atoms.size))
        for atom in np.argsort(relative_heights(self.paid.digits), kind="stable")[:merged].tolist():
            keys[atom] = places[atom]
        self._join(keys)
        return True

    def copy(self) -> ColumnAmounts:
        """Return a column that can be changed apart from this one."""
        twin = ColumnAmounts(width=0, places=0)
        twin.atoms, twin.stories = self.atoms.copy(), self.stories.copy()
        twin.paid = self.paid.copy()
        twin.masks, twin.used = self.masks.copy(), self.used
        twin._renumber()
        return twin

    def written(self) -> dict[str, object]:
        """Return a form that JSON keeps exactly."""
        return {
            "atoms": self.atoms.written(),
            "paid": self.paid.written(),
            "stories": self.stories.written(),
            "masks": [f"{mask:x}" for mask in self.masks],
            "used": self.used,
        }

    @classmethod
    def read(cls, data: object, *, width: int, places: int) -> Self:
        """Read what ``written`` wrote, and refuse everything else."""
        stored = stored_fields(data, "atoms", "paid", "stories", "masks", "used")
        column = cls(width=width, places=places)
        column.atoms = AtomRefinement.read(stored["atoms"])
        column.paid = AmountArray.read(stored["paid"], width=width, places=places)
        column.stories = ChargeHistories.read(stored["stories"], column.atoms.size)
        column.masks = decode_masks(stored["masks"], column.atoms.size)
        column.used = whole(stored["used"], name="a stored count", low=0)
        column._renumber()
        require_stored(column.paid.size == column.atoms.size)
        return column

    def _places(self) -> list[bytes]:
        """Say of each atom which masks hold it."""
        held = np.packbits(self.spread(self.masks).T, axis=1)
        return [row.tobytes() for row in held]

    def _join(self, keys: Sequence[Hashable]) -> None:
        """Make one atom of all atoms with one key, which no mask may tell apart."""
        number: dict[Hashable, int] = {}
        numbers = [number.setdefault(key, len(number)) for key in keys]
        groups = np.array(numbers, dtype=np.intp)
        if len(number) == len(keys):
            return
        order, starts = group_runs(groups)
        held = np.packbits(self.spread(self.masks)[:, order[starts]], axis=1, bitorder="little")
        self.masks = [int.from_bytes(row.tobytes(), "little") for row in held]
        self._renumber()
        self.atoms.merge(numbers)
        self.paid.join(order, starts)
        self.stories.join(order, starts)

    def _renumber(self) -> None:
        self._number = {mask: number for number, mask in enumerate(self.masks)}


def decode_masks(data: object, size: int) -> list[int]:
    """Read sets of atoms that were written as hexadecimal text.

    >>> decode_masks(["3", "1"], 2)
    [3, 1]
    """
    texts = data if isinstance(data, list) else []
    require_stored(isinstance(data, list) and all(isinstance(text, str) for text in texts))
    short = size // 4 + 1
    require_stored(all(_MASK_TEXT.fullmatch(text) and len(text) <= short for text in texts))
    masks = [int(text, 16) for text in texts]
    require_stored(len(set(masks)) == len(masks) and not any(mask >> size for mask in masks))
    return masks


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
                self.columns[name] = ColumnAmounts(width=self.width, places=self.places)
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
            parts.columns[item[0]] = ColumnAmounts.read(item[1], width=width, places=places)
        require_stored(len(parts.columns) == len(columns))
        read_columns = list(parts.columns.values())
        parts.cells = CellTable.read(stored["cells"], read_columns, width=width, places=places)
        return parts


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
