"""Cells: a partition of all possible records, and what the records of each part have paid.

Trust: kernel.  A record that falls between the cells pays nothing; a payment that is left out of a
sum can be spent again.

Definition.  A charge without conditions is booked for everyone, one with a condition on a single
column to the atoms of that column that the condition lets through, any other to cells.  A cell is a
box: in each column it holds a set of atoms, a mask.  Cells come about by splitting a box in two
along one column, so they are always a partition.  A record has paid what everyone has paid, what
its atom has in each column, and what its cell has.
Theorem (key ``loss-map``).  Within a cell, the highest payment of a record is the payment of
everyone, that of the cell, and for each column the highest of an atom that the cell holds there.
Proof.  A cell is a product: its records may take any of its atoms in one column, whatever they have
in the others, so the highest of the sum is the sum of the highest.

Replacing one record by another costs what both have paid, so the two highest payments count.
Definition.  The history of a record is the set of charges that held it.  Parts with the same number
have the same history.  A mixed part may hold records of several histories; it has a number of its
own.
Theorem (key ``two-stories``).  Let a record x have the highest payment, and let its cell and its
atoms be unmixed.  A record with another history lies in a cell with another history, or in a cell
with the history of x's and, in some column, in an atom with another history than x's.  The highest
payment of such records is the second highest that counts: of two records with different histories,
at most one has the history of x.
If x's cell or one of its atoms is mixed, or a charge for everyone may have meant some only, another
record there may have paid as much as x.

Amounts are Python integers, in arrays by component and part, so none wraps around.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Self, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.atoms import AtomRefinement
from discreet.accounting.box import Box
from discreet.accounting.values import Values, common_kind

Amounts = NDArray[np.object_]
Index = NDArray[np.intp]
Truth = NDArray[np.bool_]
Masks = list[int]
Columns = dict[str, "ColumnAmounts"]

_MANY: Final = 256
"""With more atoms than this, a column is searched for atoms that can be merged."""


class State:
    """Fields that can be copied, written as JSON and read again.

    What is read was written here: a checkpoint is kept with its digest, and without one that fits
    the entries are replayed.
    """

    __slots__ = ()

    def copy(self) -> Self:
        """Return parts that can be changed apart from these."""
        return type(self)(**{name: _copied(getattr(self, name)) for name in self._names()})

    def written(self) -> dict[str, object]:
        """Return a form that JSON keeps exactly."""
        return {name: _written(getattr(self, name)) for name in self._names()}

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        """Read what ``written`` wrote."""
        types = {each.name: str(each.type) for each in dataclasses.fields(cls)}  # type: ignore[arg-type]
        return cls(**{name: _READ[types[name]](data[name]) for name in cls._names()})

    @classmethod
    def _names(cls) -> list[str]:
        return [each.name for each in dataclasses.fields(cls) if each.init]  # type: ignore[arg-type]


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: each.copy() for name, each in value.items()}
    return value.copy() if isinstance(value, np.ndarray | list | State | AtomRefinement) else value


def _written(value: Any) -> object:
    if isinstance(value, State | AtomRefinement):
        return value.written()
    if isinstance(value, dict):
        return [[name, each.written()] for name, each in value.items()]
    if isinstance(value, np.ndarray) and value.dtype == object:
        return [[f"{amount:x}" for amount in row] for row in value]
    if isinstance(value, np.ndarray):
        return value.astype(np.intp).tolist()
    return [f"{mask:x}" for mask in value] if isinstance(value, list) else value


def zeros(width: int) -> Amounts:
    """Return the amounts of one part that has paid nothing."""
    return np.zeros((width, 1), dtype=object)


def highest(paid: Amounts) -> tuple[int, ...]:
    """Return the highest amount of each component."""
    return tuple(paid.max(axis=1))


def relative_heights(paid: Amounts) -> NDArray[np.float64]:
    """Return how high parts are, from 0 to 1: the largest share of a component's highest amount.

    Rounded: good for choosing what to merge, not for saying what was paid.
    """
    return np.asarray((paid / np.maximum(paid.max(axis=1, keepdims=True), 1)).max(axis=0), float)


def group_runs(groups: Index) -> tuple[Index, Index]:
    """Sort parts by group; return their order, and where each group starts in it."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    return order, np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))


@final
@dataclass(slots=True)
class ChargeHistories(State):
    """The histories of the parts of a partition."""

    numbers: Index
    mixed: Truth
    count: int

    @classmethod
    def of(cls, size: int) -> Self:
        """Start with parts of one history."""
        return cls(np.zeros(size, dtype=np.intp), np.zeros(size, dtype=bool), 1)

    def charge(self, parts: Index, *, whole: bool) -> None:
        """Let a charge hold some parts, each as a whole; or perhaps only records in each."""
        if whole:
            old, which = np.unique(self.numbers[parts], return_inverse=True)
            self.numbers[parts] = self.count + which
            self.count += len(old)
        else:
            self.numbers[parts] = self.count + np.arange(len(parts))
            self.mixed[parts] = True
            self.count += len(parts)

    def repeat(self, parts: Index) -> None:
        """Append copies of some parts; the copies of mixed parts have numbers of their own."""
        size = len(self.numbers)
        self.numbers = np.concatenate([self.numbers, self.numbers[parts]])
        self.mixed = np.concatenate([self.mixed, self.mixed[parts]])
        self.charge(np.flatnonzero(self.mixed[size:]) + size, whole=False)

    def join(self, order: Index, starts: Index) -> None:
        """Make one part of each run of parts."""
        ordered, first = self.numbers[order], order[starts]
        several = np.minimum.reduceat(ordered, starts) != np.maximum.reduceat(ordered, starts)
        self.numbers, self.mixed = self.numbers[first], self.mixed[first]
        self.charge(np.flatnonzero(several), whole=False)


@final
@dataclass(slots=True)
class SplitTree(State):
    """Which cells can become one again, since only two halves of one box make a box.

    Definition.  A binary tree whose leaves are the cells, whose other nodes are boxes that were
    split, and whose children always have higher numbers than their parent.
    """

    nodes: Index = field(default_factory=lambda: np.zeros(1, dtype=np.intp))  # of each cell
    parents: Index = field(default_factory=lambda: np.full(1, -1, dtype=np.intp))  # of each node
    alive: Truth = field(default_factory=lambda: np.ones(1, dtype=bool))  # nodes in the tree

    def split(self, cells: Index) -> None:
        """Split cells in two: each keeps one half, and the others are appended in order."""
        first, count = len(self.parents), len(cells)
        parents = self.nodes[cells]
        self.parents = np.concatenate([self.parents, parents, parents])
        self.alive = np.concatenate([self.alive, np.ones(2 * count, dtype=bool)])
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
        self.alive[self.nodes[cells]] = False
        self.alive[self.nodes[others]] = False
        self.nodes[cells] = self.parents[self.nodes[cells]]
        left = np.delete(np.arange(len(self.nodes)), others)
        self.nodes = self.nodes[left]
        return left

    def tidy(self) -> None:
        """Forget the nodes that are not in the tree any more."""
        number = np.cumsum(self.alive) - 1
        parents = self.parents[self.alive]
        self.parents = np.where(parents < 0, -1, number[parents])
        self.nodes = number[self.nodes]
        self.alive = np.ones(len(parents), dtype=bool)


@final
@dataclass(slots=True)
class ColumnAmounts(State):
    """The atoms of one column, what charges on this column alone have cost them, and masks.

    ``masks`` are the sets of atoms that cells hold in this column, as bits, each kept once.
    """

    atoms: AtomRefinement
    paid: Amounts
    histories: ChargeHistories
    masks: Masks
    used: int  # charges with a condition on this column
    _number: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        """Number the masks."""
        self._renumber()

    @classmethod
    def of(cls, *, width: int) -> Self:
        """Start with one atom that has paid nothing, and one mask that holds it."""
        return cls(AtomRefinement(), zeros(width), ChargeHistories.of(1), [1], 0)

    def refine(self, values: Values) -> int:
        """Split atoms until a set of values is a set of them; return its bits."""
        split = self.atoms.refine(values)
        if split:
            wholes = np.array([whole for whole, _ in split], dtype=np.intp)
            self.paid = np.concatenate([self.paid, self.paid[:, wholes]], axis=1)
            self.histories.repeat(wholes)
            for whole, half in split:
                self.masks = [mask | (mask >> whole & 1) << half for mask in self.masks]
            self._renumber()
        return self.atoms.meeting(values)

    def charge(self, bits: int, price: Sequence[int], *, whole: bool) -> None:
        """Book a price to some atoms; not ``whole`` if the charge may mean some records only."""
        atoms = np.flatnonzero(self._spread([bits])[0])
        self.paid[:, atoms] += np.array(price, dtype=object)[:, None]
        self.histories.charge(atoms, whole=whole)

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

    def best(self, paid: Amounts, bits: int) -> Index:
        """Return the atom with the highest amount, by component and mask, among those in ``bits``.

        If a mask holds none of these atoms, some atom is returned.
        """
        held = self._spread([mask & bits for mask in self.masks])
        ranked = np.argsort(-paid, axis=1, kind="stable")
        first = np.array([held[:, order].argmax(axis=1) for order in ranked])
        return np.take_along_axis(ranked, first, axis=1)

    def keep(self, used: Index) -> Index:
        """Forget masks that no cell holds; return the new numbers of those that some do."""
        kept = np.zeros(len(self.masks), dtype=bool)
        kept[used] = True
        self.masks = [self.masks[mask] for mask in np.flatnonzero(kept).tolist()]
        self._renumber()
        return (np.cumsum(kept) - 1)[used]

    def merge_atoms(self, most: int) -> bool:
        """Merge atoms that no mask tells apart; return whether some were raised.

        Atoms of one history are always merged.  If more than ``most`` are left, so are those that
        have paid the same, and if that is not enough the lowest are raised to one amount.
        """
        self._join(list(zip(self._places(), self.histories.numbers.tolist(), strict=True)))
        if self.atoms.size > most:
            self._join(list(zip(self._places(), map(tuple, self.paid.T), strict=True)))
        if self.atoms.size <= most:
            return False
        places = self._places()
        merged = self.atoms.size - most // 2 + len(set(places))
        keys: list[Hashable] = list(range(self.atoms.size))
        for atom in np.argsort(relative_heights(self.paid), kind="stable")[:merged].tolist():
            keys[atom] = places[atom]
        self._join(keys)
        return True

    def _spread(self, masks: Sequence[int]) -> Truth:
        """Return bits as rows of booleans."""
        size = -(-self.atoms.size // 8)
        packed = b"".join(mask.to_bytes(size, "little") for mask in masks)
        rows = np.frombuffer(packed, dtype=np.uint8).reshape(len(masks), size)
        spread = np.unpackbits(rows, axis=1, count=self.atoms.size, bitorder="little")
        return spread.astype(bool)

    def _places(self) -> list[bytes]:
        """Say of each atom which masks hold it."""
        held = np.packbits(self._spread(self.masks).T, axis=1)
        return [row.tobytes() for row in held]

    def _join(self, keys: Sequence[Hashable]) -> None:
        """Make one atom of all atoms with one key, which no mask may tell apart."""
        number: dict[Hashable, int] = {}
        numbers = [number.setdefault(key, len(number)) for key in keys]
        if len(number) == len(keys):
            return
        order, starts = group_runs(np.array(numbers, dtype=np.intp))
        held = np.packbits(self._spread(self.masks)[:, order[starts]], axis=1, bitorder="little")
        self.masks = [int.from_bytes(row.tobytes(), "little") for row in held]
        self._renumber()
        self.atoms.merge(numbers)
        self.paid = np.maximum.reduceat(self.paid[:, order], starts, axis=1)
        self.histories.join(order, starts)

    def _renumber(self) -> None:
        self._number = {mask: number for number, mask in enumerate(self.masks)}


class AtomCondition(NamedTuple):
    """A set of atoms of one column, as bits."""

    axis: int
    column: ColumnAmounts
    bits: int


@final
@dataclass(slots=True)
class CellTable(State):
    """The parts of the partition: the number of their mask in each column, and what they paid."""

    masks: Index  # by column and cell
    paid: Amounts
    histories: ChargeHistories
    branches: SplitTree

    def __post_init__(self) -> None:
        """Give masks without columns their shape again."""
        self.masks = self.masks.reshape(-1, self.size)

    @classmethod
    def of(cls, *, width: int) -> Self:
        """Start with one cell that holds every record."""
        empty = np.zeros((0, 1), dtype=np.intp)
        return cls(empty, zeros(width), ChargeHistories.of(1), SplitTree())

    @property
    def size(self) -> int:
        """How many cells there are."""
        return int(self.paid.shape[1])

    def add_column(self) -> None:
        """Let a new column hold everything in all cells."""
        self.masks = np.concatenate([self.masks, np.zeros((1, self.size), dtype=np.intp)])

    def met(self, conditions: Sequence[AtomCondition]) -> tuple[Truth, Truth]:
        """Return which cells meet all conditions, and whether each then sticks out of each."""
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

    def charge(self, cells: Index, price: Sequence[int], *, whole: bool) -> None:
        """Add a price to cells that a charge holds; not ``whole`` if it may mean some records."""
        self.paid[:, cells] += np.array(price, dtype=object)[:, None]
        self.histories.charge(cells, whole=whole)

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
        self.paid = np.maximum.reduceat(self.paid[:, order], starts, axis=1)
        self.histories.join(order, starts)
        return left

    def tidy(self, columns: Sequence[ColumnAmounts]) -> None:
        """Forget nodes that are not in the tree any more, and masks that no cell holds."""
        self.branches.tidy()
        for axis, column in enumerate(columns):
            self.masks[axis] = column.keep(self.masks[axis])

    def _cut(self, cells: Index, condition: AtomCondition) -> None:
        """Split cells in two: each keeps what a condition lets through."""
        axis, column, bits = condition
        held, which = np.unique(self.masks[axis, cells], return_inverse=True)
        masks = [column.masks[mask] for mask in held.tolist()]
        size = self.size
        self.masks = np.concatenate([self.masks, self.masks[:, cells]], axis=1)
        self.masks[axis, cells] = np.array([column.number(mask & bits) for mask in masks])[which]
        self.masks[axis, size:] = np.array([column.number(mask & ~bits) for mask in masks])[which]
        self.branches.split(cells)
        self.paid = np.concatenate([self.paid, self.paid[:, cells]], axis=1)
        self.histories.repeat(cells)


@final
@dataclass(slots=True)
class Partition(State):
    """Everyone, the columns and the cells."""

    everyone: Amounts
    apart: bool  # whether a charge for everyone may have meant some only
    columns: Columns
    cells: CellTable

    @classmethod
    def of(cls, *, width: int) -> Self:
        """Start with one cell, in which nothing is paid."""
        return cls(zeros(width), False, {}, CellTable.of(width=width))

    @property
    def most_atoms(self) -> int:
        """How many atoms a column has at most."""
        return max((column.atoms.size for column in self.columns.values()), default=1)

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
                self.columns[name] = ColumnAmounts.of(width=len(self.everyone))
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
    ) -> Amounts:
        """Return the highest payments in some cells, which must meet the atoms in ``within``.

        Args:
            chosen: the cells.
            within: for columns, by place, the atoms that count, as bits; all if not given.
            components: the components that are wanted.
        """
        total: Amounts = self.cells.paid[components][:, chosen] + self.everyone[components]
        for axis, column in enumerate(self.columns.values()):
            paid = column.paid[components]
            if paid.any():
                atoms = (within or {}).get(axis, (1 << column.atoms.size) - 1)
                best = column.best(paid, atoms)[:, self.cells.masks[axis, chosen]]
                total = total + np.take_along_axis(paid, best, axis=1)
        return total

    def two_highest(
        self, cells: Index, within: Mapping[int, int], component: int
    ) -> tuple[int, int]:
        """Return the two highest payments of a component; the second is 0 with one history.

        Args:
            cells: the cells to look at.
            within: for columns, by place, the atoms to look at, as bits; the cells must meet them.
            component: the component of the amounts.
        """
        only = slice(component, component + 1)
        payments = self.payments(cells, within, components=only)[0]
        top = int(payments.argmax())
        first = int(payments[top])
        histories = self.cells.histories
        if self.apart or histories.mixed[cells[top]]:
            return first, first
        same = histories.numbers[cells] == histories.numbers[cells[top]]
        second = int(payments[~same].max()) if not same.all() else 0
        for axis, column in enumerate(self.columns.values()):
            atoms = within.get(axis, (1 << column.atoms.size) - 1)
            masks = self.cells.masks[axis, cells]
            best = column.best(column.paid[only], atoms)[0, masks[top]]
            if column.histories.mixed[best]:
                return first, first
            numbers = column.histories.numbers
            mine = sum(1 << atom for atom in np.flatnonzero(numbers == numbers[best]).tolist())
            others = atoms & ~mine
            apart = cells[same & (column.met(others)[masks] > 0)]
            if len(apart) and second < first:
                rest = self.payments(apart, {**within, axis: others}, components=only)
                second = max(second, int(rest.max()))
        return first, second

    def merge_atoms(self, most: int) -> bool:
        """Merge atoms that no cell tells apart, in long columns; return if some were raised."""
        raised = False
        for column in self.columns.values():
            if column.atoms.size > min(most, _MANY):
                raised |= column.merge_atoms(most)
        return raised


def _amounts(data: Any) -> Amounts:
    return np.array([[int(amount, 16) for amount in row] for row in data], dtype=object)


_READ: Final[Mapping[str, Any]] = {
    "Amounts": _amounts,
    "AtomRefinement": AtomRefinement.read,
    "CellTable": CellTable.read,
    "ChargeHistories": ChargeHistories.read,
    "Columns": lambda data: {name: ColumnAmounts.read(column) for name, column in data},
    "Index": lambda data: np.array(data, dtype=np.intp),
    "Masks": lambda data: [int(mask, 16) for mask in data],
    "SplitTree": SplitTree.read,
    "Truth": lambda data: np.array(data, dtype=bool),
    "bool": bool,
    "int": int,
}
"""How a field is read, by its type."""
