"""Loss maps: how much privacy each possible record has lost.

Trust: kernel.

What is merged pays the most that any of it has paid, never less.

Theorem (key ``merging-upward``).  If two parts become one that pays the higher of their amounts, no
record's payment falls; if a charge that holds some records of a part is booked to the whole part,
no payment falls below what the charge asks for.  So every record has paid at least what it owes.
The parts that are merged are the lowest ones: raising them leaves the highest payment as it is.

A record whose payment is too low can be asked about more often than was promised.

Definition.  A charge is a box and a vector of amounts, in whole quanta.  A record owes the sum of
the amounts of all charges whose box holds it.  A map keeps a payment for every possible record,
whether it is in the data or not, so all that it says is public.
Theorem (keys ``loss-map`` and ``merging-upward``).  Every record's payment is what it owes as long
as the map has at most ``cap`` cells and atoms of each column, and never less.
The payments depend on the charges alone, not on hash seeds or on the machine, so that a ledger that
is replayed arrives at the same map.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Self, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.amounts import require_stored, stored_fields
from discreet.accounting.box import Box, checked_box
from discreet.accounting.cells import (
    AtomCondition,
    Index,
    Partition,
    highest,
    relative_heights,
)
from discreet.accounting.values import common_kind
from discreet.errors import WrongKind
from discreet.exact import whole


def heights(parts: Partition, cells: Index) -> NDArray[np.float64]:
    """Return how high some cells are, relative to the highest of them."""
    return relative_heights(parts.payments(cells))


def merge_equal(parts: Partition, goal: int) -> None:
    """Merge cells without raising any; stop at ``goal`` unless their histories are equal too."""
    cells = parts.cells

    def numbers() -> Index:
        return cells.histories.numbers

    _merge_while(parts, lambda one, two: numbers()[one] == numbers()[two])
    if cells.size > goal:
        _merge_while(parts, lambda one, two: (cells.paid[:, one] == cells.paid[:, two]).all(axis=0))
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


_PIECES: Final = 32
"""How many cells a charge may cut off once the map is full."""

_OFTEN: Final = 64
"""After how many charges a bound on all payments is worked out again."""


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

    __slots__ = ("_cap", "_exact", "_most", "_owed", "_parts", "_since")

    def __init__(self, width: int, *, cap: int = 4096) -> None:
        """Take the number of components, and how many cells and atoms may be kept apart."""
        width = whole(width, name="width", low=1)
        self._cap = whole(cap, name="cap", low=1)
        self._owed = [0] * width  # by a record that all charges hold
        self._parts = Partition.of(width=width)
        self._exact = True
        self._most = [0] * width  # no record has paid more
        self._since = 0  # charges since that was worked out

    @property
    def width(self) -> int:
        """How many components an amount has."""
        return len(self._owed)

    @property
    def cap(self) -> int:
        """How many cells, and atoms of each column, are kept apart at most."""
        return self._cap

    @property
    def cells(self) -> int:
        """How many parts are kept apart, by several columns or by one, whichever is more."""
        return max(self._parts.cells.size, self._parts.most_atoms)

    def check(self, boxes: Iterable[Box]) -> None:
        """Refuse boxes that could not all be charged: with values of two kinds in one column."""
        kinds = {name: column.atoms.kind for name, column in self._parts.columns.items()}
        for box in boxes:
            for name, values in box.conditions:
                kinds[name] = common_kind(kinds.get(name), values.kind)

    def add(self, box: Box, amounts: Sequence[int]) -> None:
        """Let all records in a box pay; nothing changes if the charge is refused.

        If the box is not exact, some of these records may not have been meant, so that records
        which pay alike may have taken part in different charges (see ``two_highest``).
        """
        price = self._price(amounts)
        region = checked_box(box, name="scope").region
        self._parts.check(region)
        if region.empty or not any(price):
            return
        self._owed = [owed + amount for owed, amount in zip(self._owed, price, strict=True)]
        self._most = [most + amount for most, amount in zip(self._most, price, strict=True)]
        self._since += 1
        conditions = self._parts.refine(region)
        merged = False
        if not conditions:
            self._parts.everyone += np.array(price, dtype=object)[:, None]
            self._parts.apart |= not box.exact
        elif len(conditions) == 1:
            conditions[0].column.charge(conditions[0].bits, price, whole=box.exact)
        else:
            merged = self._charge(conditions, price, whole=box.exact)
        if merged or self._parts.most_atoms > self._cap:
            self._exact &= not merge_atoms(self._parts, self._cap)
            self._most = self._owed.copy()  # records of merged parts may pay for both

    def highest(self, box: Box | None = None) -> tuple[int, ...]:
        """Return the highest payment of a record in a box, for each component."""
        cells, within = self._met(box)
        if not len(cells):
            return (0,) * self.width
        return highest(self._parts.payments(cells, within))

    def at_most(self) -> tuple[int, ...]:
        """Return amounts above which no record has paid, without looking at all of them each time.

        A charge adds at most its amounts to a payment; where parts are merged, a payment is still
        at most the sum of all charges.  Now and then the bound is worked out again.
        """
        if self._since >= _OFTEN:
            self._most, self._since = list(self.highest()), 0
        return tuple(self._most)

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
        wanted = range(self.width)[:components]
        cells, within = self._met(box)
        if not len(cells):
            return ((0, 0),) * len(wanted)
        return tuple(
            self._parts.two_highest(cells, within, component) if self._owed[component] else (0, 0)
            for component in wanted
        )

    def copy(self) -> LossMap:
        """Return a map that can be charged apart from this one."""
        twin = LossMap(self.width, cap=self._cap)
        twin._owed, twin._exact = self._owed.copy(), self._exact
        twin._most, twin._since = self._most.copy(), self._since
        twin._parts = self._parts.copy()
        return twin

    def written(self) -> dict[str, object]:
        """Return a form that JSON keeps exactly, and that is the same after a replay.

        >>> LossMap.read(LossMap(width=1).written()).cells
        1
        """
        return {
            "version": 1,
            "width": self.width,
            "cap": self._cap,
            "exact": self._exact,
            "owed": [f"{amount:x}" for amount in self._owed],
            "parts": self._parts.written(),
        }

    @classmethod
    def read(cls, data: object) -> Self:
        """Read what ``written`` wrote."""
        stored = stored_fields(data, "version", "width", "cap", "exact", "owed", "parts")
        require_stored(stored["version"] == 1)
        paid = cls(stored["width"], cap=stored["cap"])
        paid._owed, paid._exact = [int(amount, 16) for amount in stored["owed"]], stored["exact"]
        paid._most, paid._since = paid._owed.copy(), _OFTEN
        paid._parts = Partition.read(stored["parts"])
        return paid

    def _price(self, amounts: Sequence[int]) -> list[int]:
        price = [whole(amount, name="an amount", low=0) for amount in amounts]
        if len(price) != self.width:
            raise WrongKind(
                f"a charge has {len(price)} amounts, and the map has {self.width} components; "
                f"give {self.width} amounts."
            )
        return price

    def _met(self, box: Box | None) -> tuple[Index, Mapping[int, int]]:
        """Return the cells that meet a box, and for each column that it restricts the atoms."""
        region = Box.everything() if box is None else checked_box(box, name="scope").region
        self._parts.check(region)
        conditions = self._parts.conditions(region)
        meets, _ = self._parts.cells.met(conditions)
        cells = np.flatnonzero(meets & (not region.empty))
        return cells, {condition.axis: condition.bits for condition in conditions}

    def _charge(
        self, conditions: Sequence[AtomCondition], price: Sequence[int], *, whole: bool
    ) -> bool:
        """Charge cells, and split those that stick out; return whether cells were merged."""
        cells = self._parts.cells
        meets, sticks = cells.met(conditions)
        full = cells.size + sticks.sum() > self._cap
        merged = bool(full) and (self._exact or cells.size + _PIECES > self._cap)
        if merged:
            raised = make_room(self._parts, conditions, self._cap, exact=self._exact)
            self._exact &= not raised
            meets, sticks = cells.met(conditions)
        pieces = sticks.sum(axis=0)
        split = partial = np.flatnonzero(pieces)
        if not len(partial):
            cells.charge(np.flatnonzero(meets), price, whole=whole)
            return merged
        if cells.size + pieces.sum() > self._cap:  # split the highest, and raise the others
            falling = partial[np.argsort(-heights(self._parts, partial), kind="stable")]
            room = min(_PIECES, self._cap - cells.size)
            count = np.searchsorted(np.cumsum(pieces[falling]), room, side="right")
            split = np.sort(falling[:count])
            self._exact = False
        others = np.setdiff1d(partial, split)
        meets[others] = False
        cells.split(split, conditions, sticks)
        cells.charge(np.flatnonzero(meets), price, whole=whole)
        cells.charge(others, price, whole=False)
        return merged
