"""One column of a loss map: its atoms, what each has paid, and the sets of them that cells hold.

Trust: kernel.  A price that is booked to the wrong atom is paid by the wrong people.

Definition.  A charge with a condition on this column alone is booked to the atoms that the
condition lets through, and to nothing else.  ``paid`` is what the records of an atom have paid in
this way at most.
``masks`` are the sets of atoms that cells hold in this column, as bits, each kept once.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Final, Self, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.cells.amount_arrays import (
    AmountArray,
    Digits,
    Index,
    group_runs,
    relative_heights,
)
from discreet.accounting.cells.histories import ChargeHistories
from discreet.accounting.scopes.atoms import AtomRefinement
from discreet.accounting.scopes.value_set import Values
from discreet.accounting.storage.decoding import require_stored, stored_fields
from discreet.exact import whole

_HEXADECIMAL: Final = re.compile("[1-9a-f][0-9a-f]*")


@final
class ColumnAmounts:
    """The atoms of one column, and what charges on this column alone have cost them.

    >>> from discreet.accounting.cells.amount_arrays import to_digits
    >>> from discreet.accounting.scopes.column_conditions import equals
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
    require_stored(all(_HEXADECIMAL.fullmatch(text) and len(text) <= short for text in texts))
    masks = [int(text, 16) for text in texts]
    require_stored(len(set(masks)) == len(masks) and not any(mask >> size for mask in masks))
    return masks
