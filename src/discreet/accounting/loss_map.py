"""Loss maps: how much privacy each possible record has lost.

Trust: kernel.  A record whose payment is too low can be asked about more often than was promised.

Definition.  A charge is a box and a vector of amounts, in whole quanta.  A record owes the sum of
the amounts of all charges whose box holds it.  A map keeps a payment for every possible record,
whether it is in the data or not, so all that it says is public.

Definition.  Cuts divide the line of a column's values into stretches; NULL is a stretch of its own.
An atom is a set of stretches that every condition so far lets through or stops as a whole, so that
each condition is a set of atoms, a mask, kept as the bits of an integer.  A charge without
conditions is booked for everyone, one with a condition on a single column to the atoms of that
column that it lets through, any other to cells.  A cell is a box: in each column it holds a set of
atoms.  Cells come about by splitting a box in two along one column, and only the two halves of a
box can become one again, so they are always a partition.  A record has paid what everyone
has paid, what its atom has in each column, and what its cell has.
Theorem (key ``loss-map``).  Within a cell, the highest payment of a record is the payment of
everyone, that of the cell, and for each column the highest of an atom that the cell holds there.
Proof.  A cell is a product: its records may take any of its atoms in one column, whatever they have
in the others, so the highest of the sum is the sum of the highest.

Theorem (key ``merging-upward``).  If two parts become one that pays the higher of their amounts, no
record's payment falls; if a charge that holds some records of a part is booked to the whole part,
no payment falls below what the charge asks for.  So every record has paid at least what it owes,
and just that while the map has at most ``cap`` cells and atoms of each column.
The parts that are merged are the lowest ones: raising them leaves the highest payment as it is.

Replacing one record by another costs what both have paid, so the two highest payments count.
Definition.  The history of a record is the set of charges that held it.  Parts with the same number
have the same history.  A mixed part, with the number -1, may hold records of several histories.
Theorem (key ``two-stories``).  Let a record x have the highest payment, and let its cell and its
atoms be unmixed.  A record with another history is in a cell with another history, or in a cell
with the history of x's and, in some column, in an atom with another history than x's.  The highest
payment of such records is the second highest that counts: of two records with different histories,
at most one has the history of x.
If x's cell or one of its atoms is mixed, or a charge for everyone may have meant some only, another
record there may have paid as much as x.

Amounts are Python integers, in arrays by component and part, so none wraps around.  The payments
depend on the charges alone, not on hash seeds or on the machine, so that a ledger that is replayed
arrives at the same map.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.amounts import require_stored, stored_fields
from discreet.accounting.box import Box, checked_box
from discreet.accounting.values import (
    Cut,
    Values,
    common_kind,
    decode_cuts,
    encode_cuts,
)
from discreet.errors import WrongKind
from discreet.exact import whole

Integers = NDArray[np.object_]
Index = NDArray[np.intp]
Truth = NDArray[np.bool_]

_MIXED: Final = -1
_PIECES: Final = 32  # how many cells a charge may cut off once the map was full


@final
class Parts:
    """What the parts of a partition have paid, by component and part, and their histories."""

    def __init__(self, paid: Integers, history: Index, histories: int) -> None:
        self.paid, self.history, self.histories = paid, history, histories

    @classmethod
    def one(cls, width: int) -> Parts:
        return cls(np.zeros((width, 1), dtype=object), np.zeros(1, dtype=np.intp), 1)

    @property
    def size(self) -> int:
        return len(self.history)

    def charge(self, parts: Index, price: Sequence[int], *, whole: bool) -> None:
        """Add a price to some parts; not ``whole`` if it may mean some records of each only."""
        self.paid[:, parts] += np.array(price, dtype=object)[:, None]
        old, which = np.unique(self.history[parts], return_inverse=True)
        new = self.histories + np.arange(len(old))
        self.history[parts] = np.where((old == _MIXED) | (not whole), _MIXED, new)[which]
        self.histories += len(old)

    def repeat(self, parts: Index) -> None:
        self.paid = np.concatenate([self.paid, self.paid[:, parts]], axis=1)
        self.history = np.concatenate([self.history, self.history[parts]])

    def join(self, groups: Index) -> None:
        """Make one part of those with one group number, which pays the highest of their amounts."""
        order = np.argsort(groups, kind="stable")
        starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
        self.paid = np.maximum.reduceat(self.paid[:, order], starts, axis=1)
        least, most = (
            each.reduceat(self.history[order], starts) for each in (np.minimum, np.maximum)
        )
        self.history = np.where(least == most, least, _MIXED)

    def copy(self) -> Parts:
        return Parts(self.paid.copy(), self.history.copy(), self.histories)

    def written(self) -> dict[str, object]:
        paid = [[f"{amount:x}" for amount in row] for row in self.paid]
        return {"paid": paid, "history": self.history.tolist(), "histories": self.histories}

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Parts:
        paid = np.array([[int(each, 16) for each in row] for row in data["paid"]], dtype=object)
        return cls(paid, np.array(data["history"], dtype=np.intp), data["histories"])


@final
class Column:
    """The atoms of one column, numbered from 0, and what charges on it alone have cost them."""

    def __init__(self, width: int) -> None:
        self.kind: str | None = None
        self.cuts: list[Cut] = []
        self.atoms: list[int] = [0]  # of each stretch, from the lowest
        self.null = 0
        self.used = 0  # charges with a condition on this column
        self.parts = Parts.one(width)

    @property
    def size(self) -> int:
        return self.parts.size

    def meeting(self, values: Values) -> int:
        """Return the atoms that hold some value of a set, as bits."""
        met = {self.atoms[stretch] for stretch in self._stretches(values)}
        return sum(1 << atom for atom in (met | {self.null} if values.null else met))

    def refine(self, values: Values) -> dict[int, int]:
        """Split atoms until a set of values is a set of atoms; return their old and new numbers.

        Of each atom that was split, the old number stays with one half, and the new one names the
        other.
        """
        self.kind, self.used = common_kind(self.kind, values.kind), self.used + 1
        for cut in values.cuts:
            place = bisect_left(self.cuts, cut)
            if place == len(self.cuts) or self.cuts[place] != cut:
                self.cuts.insert(place, cut)
                self.atoms.insert(place, self.atoms[place])
        stretches = list(self._stretches(values))
        met = Counter(self.atoms[stretch] for stretch in stretches)
        met[self.null] += values.null
        every = Counter([*self.atoms, self.null])
        halved = [atom for atom in sorted(met) if 0 < met[atom] < every[atom]]
        new = {atom: self.size + at for at, atom in enumerate(halved)}
        for stretch in stretches:
            self.atoms[stretch] = new.get(self.atoms[stretch], self.atoms[stretch])
        if values.null:
            self.null = new.get(self.null, self.null)
        self.parts.repeat(np.array(halved, dtype=np.intp))
        return new

    def merge(self, keys: Sequence[Hashable]) -> list[int]:
        """Make one atom of all atoms with one key; return the new numbers."""
        number: dict[Hashable, int] = {}
        numbers = [number.setdefault(key, len(number)) for key in keys]
        self.null = numbers[self.null]
        atoms = [numbers[atom] for atom in self.atoms]
        kept = [stretch for stretch, (here, there) in enumerate(pairwise(atoms)) if here != there]
        self.cuts = [self.cuts[stretch] for stretch in kept]
        self.atoms = [atoms[stretch] for stretch in kept] + atoms[-1:]
        self.parts.join(np.array(numbers, dtype=np.intp))
        return numbers

    def highest(
        self, masks: Iterable[int], within: int, component: int
    ) -> Iterator[tuple[int, int]]:
        """Yield the highest payment of an atom of each mask among those in ``within``, and it."""
        rows: dict[int, int] = {}
        for atom, amount in enumerate(self.parts.paid[component].tolist()):
            rows[amount] = rows.get(amount, 0) | 1 << atom
        levels = sorted(rows.items(), reverse=True)
        for mask in masks:
            met = ((amount, atoms & mask & within) for amount, atoms in levels)
            amount, atoms = next((each for each in met if each[1]), (0, 1))
            yield amount, (atoms & -atoms).bit_length() - 1

    def copy(self) -> Column:
        twin = Column(1)
        twin.kind, twin.null, twin.used = self.kind, self.null, self.used
        twin.parts = self.parts.copy()
        twin.cuts, twin.atoms = self.cuts.copy(), self.atoms.copy()
        return twin

    def written(self) -> dict[str, object]:
        cuts = encode_cuts(tuple(self.cuts))
        line = {"kind": self.kind, "cuts": cuts, "atoms": self.atoms.copy(), "null": self.null}
        return {**line, "used": self.used, "parts": self.parts.written()}

    @classmethod
    def read(cls, data: object) -> Column:
        stored = stored_fields(data, "kind", "cuts", "atoms", "null", "used", "parts")
        column = cls(1)
        column.kind, column.atoms, column.null = stored["kind"], stored["atoms"], stored["null"]
        column.used = stored["used"]
        column.cuts = list(decode_cuts(stored["cuts"], column.kind))
        column.parts = Parts.read(stored["parts"])
        require_stored({*column.atoms, column.null} == set(range(column.size)))
        require_stored(len(column.atoms) == len(column.cuts) + 1)
        return column

    def _stretches(self, values: Values) -> Iterator[int]:
        """Return the stretches that hold some value of a set."""
        ends: list[Cut | None] = [None] * values.below + list(values.cuts)
        ends += [None] * (len(ends) % 2)
        last = len(self.cuts)
        return chain.from_iterable(
            range(
                0 if low is None else bisect_right(self.cuts, low),
                (last if high is None else bisect_left(self.cuts, high)) + 1,
            )
            for low, high in zip(ends[::2], ends[1::2], strict=True)
        )


Conditions = Mapping[int, int]
"""Sets of atoms, as bits, of some columns by place."""


@final
class LossMap:
    """What each possible record has paid.

    >>> from discreet.accounting.values import at_least, equals
    >>> paid = LossMap(width=1)
    >>> for state in ["CA", "NY", "TX"]:
    ...     paid.add(Box({"state": equals(state)}), [10])
    >>> paid.highest()
    (10,)
    >>> paid.add(Box({"state": equals("CA"), "age": at_least(65)}), [5])
    >>> paid.highest(), paid.highest(Box({"state": equals("NY")}))
    ((15,), (10,))
    """

    def __init__(self, width: int, *, cap: int = 4096) -> None:
        self._width = whole(width, name="width", low=1)
        self._cap = whole(cap, name="cap", low=1)
        self._everyone = [0] * self._width
        self._apart = False  # whether a charge for everyone may have meant some only
        self._columns: dict[str, Column] = {}
        self._masks: Integers = np.zeros((0, 1), dtype=object)  # by column and cell
        self._cells = Parts.one(self._width)
        self._paths = [1]  # of each cell: the halves of path p are 2 p and 2 p + 1
        self._exact = True

    @property
    def width(self) -> int:
        return self._width

    @property
    def cells(self) -> int:
        """How many parts are kept apart, by several columns or by one, whichever is more."""
        return max(self._cells.size, *(column.size for column in self._columns.values()), 1)

    def check(self, boxes: Iterable[Box]) -> None:
        """Refuse boxes that could not all be charged: with values of two kinds in one column."""
        kinds = {name: column.kind for name, column in self._columns.items()}
        for box in boxes:
            for name, values in box.conditions:
                kinds[name] = common_kind(kinds.get(name), values.kind)

    def add(self, box: Box, amounts: Sequence[int]) -> None:
        """Let all records in a box pay; nothing changes if the charge is refused.

        If the box is not exact, some of these records may not have been meant, so that records
        which pay alike may have taken part in different charges (see ``two_highest``).
        """
        price = [whole(amount, name="an amount", low=0) for amount in amounts]
        if len(price) != self._width:
            raise WrongKind(
                f"a charge has {len(price)} amounts, and the map has {self._width} components; "
                f"give {self._width} amounts."
            )
        region = checked_box(box, name="scope").region
        self.check([region])
        if region.empty or not any(price):
            return
        conditions = self._refine(region)
        if not conditions:
            self._everyone = [here + more for here, more in zip(self._everyone, price, strict=True)]
            self._apart |= not box.exact
        elif len(conditions) == 1:
            ((axis, bits),) = conditions.items()
            column = [*self._columns.values()][axis]
            atoms = np.flatnonzero(_spread([bits], column.size)[0])
            column.parts.charge(atoms, price, whole=box.exact)
        else:
            self._charge(conditions, price, whole=box.exact)
        for axis, column in enumerate(self._columns.values()):
            if column.size > self._cap:
                self._merge_atoms(axis, column)

    def highest(self, box: Box | None = None) -> tuple[int, ...]:
        """Return the highest payment of a record in a box, for each component."""
        cells, within = self._met(box)
        if not len(cells):
            return (0,) * self._width
        return tuple(self._payments(cells, within, range(self._width)).max(axis=1))

    def two_highest(
        self, box: Box | None = None, *, components: int | None = None
    ) -> tuple[tuple[int, int], ...]:
        """Return the two highest payments of records with different histories, for each component.

        Of any two records in the box that did not take part in the same charges, one has paid at
        most the first amount and the other at most the second.  Records of one history count once;
        a part that may hold several histories counts twice.  ``components`` asks for the first few
        components alone.

        >>> from discreet.accounting.values import equals
        >>> paid = LossMap(width=1)
        >>> paid.add(Box({"state": equals("CA")}), [10])
        >>> paid.two_highest()
        ((10, 0),)
        """
        wanted = range(self._width)[:components]
        cells, within = self._met(box)
        if not len(cells):
            return ((0, 0),) * len(wanted)
        return tuple(self._two_highest(cells, within, component) for component in wanted)

    def copy(self) -> LossMap:
        twin = LossMap(self._width, cap=self._cap)
        twin._everyone, twin._apart, twin._exact = self._everyone.copy(), self._apart, self._exact
        twin._columns = {name: column.copy() for name, column in self._columns.items()}
        twin._masks, twin._cells = self._masks.copy(), self._cells.copy()
        twin._paths = self._paths.copy()
        return twin

    def written(self) -> dict[str, object]:
        """Return a form that JSON keeps exactly, and that is the same after a replay.

        >>> LossMap.read(LossMap(width=1).written()).cells
        1
        """
        return {
            "version": 1,
            "width": self._width,
            "cap": self._cap,
            "everyone": [f"{amount:x}" for amount in self._everyone],
            "apart": self._apart,
            "columns": [[name, column.written()] for name, column in self._columns.items()],
            "masks": [[f"{mask:x}" for mask in row] for row in self._masks],
            "cells": self._cells.written(),
            "paths": [f"{path:x}" for path in self._paths],
            "exact": self._exact,
        }

    @classmethod
    def read(cls, data: object) -> LossMap:
        """Read what ``written`` wrote: a checkpoint, which is kept with its digest."""
        stored = stored_fields(data, *LossMap(1).written())
        require_stored(stored["version"] == 1)
        paid = cls(stored["width"], cap=stored["cap"])
        paid._everyone = [int(amount, 16) for amount in stored["everyone"]]
        paid._apart, paid._exact = stored["apart"], stored["exact"]
        paid._columns = {name: Column.read(column) for name, column in stored["columns"]}
        paid._cells = Parts.read(stored["cells"])
        paid._paths = [int(path, 16) for path in stored["paths"]]
        masks = [[int(mask, 16) for mask in row] for row in stored["masks"]]
        paid._masks = np.array(masks, dtype=object).reshape(len(paid._columns), paid._cells.size)
        return paid

    # --- looking ------------------------------------------------------------------------------

    def _met(self, box: Box | None) -> tuple[Index, Conditions]:
        """Return the cells that meet a box, and for each column that it restricts the atoms."""
        region = Box.everything() if box is None else checked_box(box, name="scope").region
        self.check([region])
        wanted = dict(region.conditions)
        within = {
            axis: column.meeting(wanted[name])
            for axis, (name, column) in enumerate(self._columns.items())
            if name in wanted
        }
        return np.flatnonzero(self._holds(within)[0] & (not region.empty)), within

    def _holds(self, conditions: Conditions) -> tuple[Truth, Truth]:
        """Return which cells meet all conditions, and whether each then sticks out of each."""
        held = np.array([self._masks[axis] & bits for axis, bits in conditions.items()])
        held = held.reshape(len(conditions), self._cells.size)
        meets = np.asarray((held != 0).all(axis=0), dtype=bool)
        sticks = np.asarray(held != self._masks[list(conditions)], dtype=bool)
        return meets, sticks & meets

    def _payments(self, cells: Index, within: Conditions, components: Sequence[int]) -> Integers:
        """Return the highest payments in some cells, which must meet the atoms in ``within``."""
        every = np.array([self._everyone[at] for at in components], dtype=object)
        total: Integers = self._cells.paid[list(components)][:, cells] + every[:, None]
        for axis, column in enumerate(self._columns.values()):
            paid = [at for at in components if column.parts.paid[at].any()]
            atoms = within.get(axis, (1 << column.size) - 1)
            number: dict[int, int] = {}
            if paid:
                which = [number.setdefault(m, len(number)) for m in self._masks[axis, cells]]
            for at in paid:
                best = [amount for amount, _ in column.highest(number, atoms, at)]
                total[components.index(at)] += np.array(best, dtype=object)[which]
        return total

    def _two_highest(self, cells: Index, within: Conditions, component: int) -> tuple[int, int]:
        payments = list(self._payments(cells, within, [component])[0])
        first = max(payments)
        top = payments.index(first)
        history = self._cells.history[cells]
        if self._apart or history[top] == _MIXED:
            return first, first
        same = history == history[top]
        others = [paid for paid, alike in zip(payments, same, strict=True) if not alike]
        second = max(others, default=0)
        for axis, column in enumerate(self._columns.values()):
            atoms = within.get(axis, (1 << column.size) - 1)
            masks = self._masks[axis, cells]
            ((_, best),) = column.highest(masks[top : top + 1], atoms, component)
            numbers = column.parts.history
            if numbers[best] == _MIXED:
                return first, first
            mine = sum(1 << atom for atom in np.flatnonzero(numbers == numbers[best]).tolist())
            apart = cells[same & ((masks & (atoms & ~mine)) != 0)]
            if len(apart):
                inside = {**within, axis: atoms & ~mine}
                second = max(second, *self._payments(apart, inside, [component])[0])
        return first, second

    # --- charging -----------------------------------------------------------------------------

    def _refine(self, box: Box) -> Conditions:
        """Split atoms until the conditions of a box are sets of atoms; much used columns first."""
        wanted = dict(box.conditions)
        for name in wanted:
            if name not in self._columns:  # all cells hold its one atom
                self._columns[name] = Column(self._width)
                ones = np.array([[1] * self._cells.size], dtype=object)
                self._masks = np.concatenate([self._masks, ones])
        conditions = {}
        for axis, (name, column) in enumerate(self._columns.items()):
            if name in wanted:
                for old, half in column.refine(wanted[name]).items():
                    row = self._masks[axis]
                    self._masks[axis] = row | (row >> old & 1) << half
                conditions[axis] = column.meeting(wanted[name])
        used = [column.used for column in self._columns.values()]
        return dict(sorted(conditions.items(), key=lambda each: (-used[each[0]], each[0])))

    def _charge(self, conditions: Conditions, price: Sequence[int], *, whole: bool) -> None:
        """Charge cells, and split those that stick out; if there is no room, charge all of them."""
        meets, sticks = self._holds(conditions)
        full = self._cells.size + sticks.sum() > self._cap
        if full and (self._exact or self._cells.size + _PIECES > self._cap):
            self._merge_cells(_histories, 1)
            self._merge_cells(_amounts, -(-self._cap // 2))
            meets, sticks = self._holds(conditions)
            room = self._cap if self._exact else 3 * self._cap // 4  # later for some time
            if self._cells.size + sticks.sum() > room:
                self._merge_upward(-(-self._cap // 2))
                meets, sticks = self._holds(conditions)
        split, raised = np.flatnonzero(sticks.any(axis=0)), np.zeros(0, dtype=np.intp)
        if self._cells.size + sticks.sum() > self._cap:  # the highest are split
            falling = split[np.argsort(-self._cell_heights()[split], kind="stable")]
            pieces = np.cumsum(sticks.sum(axis=0)[falling])
            room = min(self._cap - self._cells.size, _PIECES)
            fitting = np.searchsorted(pieces, room, side="right")
            split, raised = np.sort(falling[:fitting]), np.sort(falling[fitting:])
        for (axis, bits), outside in zip(conditions.items(), sticks, strict=True):
            cut = split[outside[split]]
            self._masks = np.concatenate([self._masks, self._masks[:, cut]], axis=1)
            self._masks[axis, self._cells.size :] &= ~bits
            self._masks[axis, cut] &= bits
            self._cells.repeat(cut)
            for cell in cut.tolist():
                self._paths[cell] *= 2
                self._paths.append(self._paths[cell] + 1)
        self._cells.charge(np.setdiff1d(np.flatnonzero(meets), raised), price, whole=whole)
        self._cells.charge(raised, price, whole=False)
        self._exact &= not len(raised)

    # --- merging ------------------------------------------------------------------------------

    def _merge_cells(self, rule: Callable[[Parts], Sequence[Hashable]], goal: int) -> None:
        """Make one of two halves of a box that share a key, the lowest first, as long as it can."""
        keys, height = list(rule(self._cells)), self._cell_heights().tolist()
        while self._cells.size > goal:
            places = {path: at for at, path in enumerate(self._paths)}
            halves = ((at, places.get(path ^ 1, at)) for path, at in places.items() if not path & 1)
            pairs = sorted(
                (max(height[one], height[two]), one, two)
                for one, two in halves
                if one != two and keys[one] == keys[two]
            )
            if not pairs:
                return
            groups = list(range(self._cells.size))
            for top, one, two in pairs[: min(self._cells.size - goal, -(-len(pairs) // 2))]:
                self._masks[:, one] |= self._masks[:, two]  # they differ in one column
                self._paths[one] //= 2
                groups[two], height[one] = one, top
            kept = sorted(set(groups))
            self._masks, self._paths = self._masks[:, kept], [self._paths[at] for at in kept]
            self._cells.join(np.searchsorted(kept, groups))
            keys, height = [keys[at] for at in kept], [height[at] for at in kept]

    def _cell_heights(self) -> NDArray[np.float64]:
        every = np.arange(self._cells.size)
        return _heights(self._payments(every, {}, range(self._width)))

    def _merge_upward(self, goal: int) -> None:
        """Merge the lowest cells until ``goal`` are left."""
        self._exact = False
        self._merge_cells(lambda cells: [None] * cells.size, goal)

    def _merge_atoms(self, axis: int, column: Column) -> None:
        """Merge atoms that no cell distinguishes, without raising any if that is enough."""
        for rule in (_histories, _amounts):
            if column.size > self._cap:
                both = zip(self._told_apart(axis, column), rule(column.parts), strict=True)
                self._renumber(axis, column, list(both))
        while column.size > self._cap:
            self._exact = False
            places = self._told_apart(axis, column)
            merged = column.size - self._cap // 2 + len(set(places))
            keys: list[Hashable] = list(range(column.size))
            for atom in np.argsort(_heights(column.parts.paid), kind="stable")[:merged].tolist():
                keys[atom] = places[atom]
            self._renumber(axis, column, keys)
            if column.size > self._cap:  # the cells distinguish too many atoms
                self._merge_upward(-(-self._cells.size // 2))

    def _told_apart(self, axis: int, column: Column) -> list[bytes]:
        """Say of each atom which masks of cells hold it."""
        held = _spread(sorted(set(self._masks[axis])), column.size)
        return [row.tobytes() for row in np.packbits(held.T, axis=1)]

    def _renumber(self, axis: int, column: Column, keys: Sequence[Hashable]) -> None:
        """Make one atom of all atoms with one key, which no cell distinguishes."""
        masks = sorted(set(self._masks[axis]))
        held = _spread(masks, column.size)
        first = {number: atom for atom, number in reversed([*enumerate(column.merge(keys))])}
        packed = np.packbits(held[:, [first[at] for at in range(column.size)]], 1, "little")
        known = {
            m: int.from_bytes(row.tobytes(), "little") for m, row in zip(masks, packed, strict=True)
        }
        self._masks[axis] = [known[mask] for mask in self._masks[axis]]


def _histories(parts: Parts) -> Sequence[Hashable]:
    """Return keys that parts share if they have the same history for sure."""
    return [-at if n == _MIXED else n + 1 for at, n in enumerate(parts.history.tolist())]


def _amounts(parts: Parts) -> Sequence[Hashable]:
    return list(map(tuple, parts.paid.T))


def _heights(paid: Integers) -> NDArray[np.float64]:
    """Return how high parts are, from 0 to 1: the largest share of a component's highest amount.

    Rounded: good for choosing what to merge, not for saying what was paid.
    """
    return np.asarray((paid / np.maximum(paid.max(axis=1, keepdims=True), 1)).max(axis=0), float)


def _spread(masks: Sequence[int], size: int) -> Truth:
    """Return the bits of masks as rows of booleans."""
    packed = b"".join(mask.to_bytes(-(-size // 8), "little") for mask in masks)
    rows = np.frombuffer(packed, dtype=np.uint8).reshape(len(masks), -1)
    return np.unpackbits(rows, axis=1, count=size, bitorder="little").astype(bool)
