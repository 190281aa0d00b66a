"""What records owe: sums by cell, and what two records owe together.

Trust: kernel.

Definition.  Each request has a scope, the box of records that it can depend on; a cell is a set of
records that every scope so far holds as a whole or not at all.
Theorem (key ``cell-filters``).  If the sums of what requests cost stay within the limits in every
cell, on every path of answers, the guarantee of the limits holds for neighbors that differ in one
record.
    Proof.  Fix the record x in which they differ.  A request whose scope does not hold x has the
    same law under both neighbors, and costs nothing; which requests hold x is known from the path,
    since scopes are public.  So the sums that matter are those in the cell of x, and they stay
    within the limits of one filter.  Cells may be made as scopes come, in view of answers.
Theorem (key ``cell-pairs``).  Neighbors in which x is replaced by y pay, for each request, nothing
if its scope holds neither, ``added`` if it holds one of the two, and ``replaced`` if it holds both.
    x and y in one cell owe the sum of what is ``replaced`` there.
    x and y in two cells owe at most X + Y + Z: the sums of ``added`` in the two cells, and the
    smaller of their sums of what is ``replaced`` beyond twice ``added``.
    Proof.  A request that holds both is counted twice in X + Y; what is missing is missing in both
    cells, for requests that they have in common.
    Requests about all records hold both for sure, and are kept apart at ``replaced``.
    Where a scope is known only to lie within a box, it may hold one of two records in the box, so
    that the larger of ``added`` and ``replaced`` is charged there.
    Cells that a full map has merged hold records of several histories; such records are taken for
    those of two cells, and records of one history owe what is ``replaced`` or less.
X + Y alone does not do: one request of rho that is known for added records, and is about both
cells, costs 4 rho and not 2 rho.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, final

from discreet.accounting.amounts import added
from discreet.accounting.box import Box
from discreet.accounting.budget import Budget
from discreet.accounting.currency import Amounts
from discreet.accounting.loss_map import LossMap

__all__ = ["OneRecord", "Owed", "Piece", "TwoRecords"]

_EVERYTHING: Final = Box.everything()


@final
@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a charge: the records it is about, and its price for one of them and for two."""

    box: Box
    added: Amounts
    replaced: Amounts


class Owed(Protocol):
    """What was spent so far, cell by cell."""

    def fits(self, pieces: Sequence[Piece], times: int = 1) -> bool:
        """Say whether nobody would owe too much after so many charges of disjoint pieces."""
        ...

    def add(self, pieces: Sequence[Piece]) -> None:
        """Charge disjoint pieces."""
        ...

    def worst(self, scope: Box) -> Amounts:
        """Return the most that neighbors owe that differ in a record of a scope."""
        ...


@final
@dataclass(slots=True)
class OneRecord:
    """For neighbors that differ in one record (key ``cell-filters``)."""

    budget: Budget
    everywhere: Amounts
    paid: LossMap

    @classmethod
    def nothing(cls, budget: Budget) -> OneRecord:
        """Owe nothing yet."""
        return cls(budget, tuple(0 for _ in budget.limit), LossMap(len(budget.limit)))

    def fits(self, pieces: Sequence[Piece], times: int = 1) -> bool:
        """Compare what a record of each piece would owe with the limits."""
        return all(
            self.budget.fits(self.worst(piece.box), [times * a for a in piece.added])
            for piece in pieces
        )

    def add(self, pieces: Sequence[Piece]) -> None:
        """Charge each piece where it is, and those about everything apart."""
        everywhere, paid = self.everywhere, _apart(self.paid, pieces)
        for piece in pieces:
            if piece.box == _EVERYTHING:
                everywhere = added(everywhere, piece.added)
            else:
                paid.add(piece.box, piece.added)
        self.everywhere, self.paid = everywhere, paid

    def worst(self, scope: Box) -> Amounts:
        """Return the most that a record in a scope owes."""
        return added(self.everywhere, self.paid.highest(scope))


@final
@dataclass(slots=True)
class TwoRecords:
    """For neighbors in which a record is replaced (key ``cell-pairs``).

    A cell keeps what is added, what is replaced beyond twice as much, and what is replaced.
    """

    budget: Budget
    everywhere: Amounts
    paid: LossMap

    @classmethod
    def nothing(cls, budget: Budget) -> TwoRecords:
        """Owe nothing yet."""
        return cls(budget, tuple(0 for _ in budget.limit), LossMap(3 * len(budget.limit)))

    def fits(self, pieces: Sequence[Piece], times: int = 1) -> bool:
        """Compare what the worst two records would owe with the limits, roughly and exactly."""
        nothing = [0 for _ in self.everywhere]
        if self.budget.fits(self._at_most(pieces, times), nothing):
            return True
        trial = TwoRecords(self.budget, self.everywhere, self.paid.copy())
        trial.add(pieces, times)
        return self.budget.fits(trial.worst(_EVERYTHING), nothing)

    def add(self, pieces: Sequence[Piece], times: int = 1) -> None:
        """Charge each piece where it is, and those about everything apart."""
        everywhere, paid = self.everywhere, _apart(self.paid, pieces)
        for piece in pieces:
            if piece.box == _EVERYTHING:
                everywhere = added(everywhere, piece.replaced, times)
            else:
                paid.add(piece.box, [times * amount for amount in _kept(piece)])
        self.everywhere, self.paid = everywhere, paid

    def worst(self, scope: Box) -> Amounts:
        """Return the most that two records owe of which one is in a scope."""
        inside = self.paid.two_highest(scope)
        others = [self.paid.highest(box) for box in _EVERYTHING.minus(scope)]
        outside = [max((top[k] for top in others), default=0) for k in range(len(inside))]
        both = zip(inside, outside, strict=True)
        tops = [(first, max(second, other)) for (first, second), other in both]
        return added(self.everywhere, self._owed(tops))

    def _at_most(self, pieces: Sequence[Piece], times: int) -> Amounts:
        """Bound what two records would owe, as if the highest cell were there twice."""
        everywhere, tops = self.everywhere, [self.paid.highest()]
        for piece in pieces:
            if piece.box == _EVERYTHING:
                everywhere = added(everywhere, piece.replaced, times)
            else:
                tops.append(added(self.paid.highest(piece.box), _kept(piece), times))
        highest = [max(column) for column in zip(*tops, strict=True)]
        return added(everywhere, self._owed([(high, high) for high in highest]))

    def _owed(self, tops: Sequence[tuple[int, int]]) -> list[int]:
        """Return what two records owe, in one cell or in two, from the two highest of each."""
        width = len(self.everywhere)
        parts = zip(tops[:width], tops[width : 2 * width], tops[2 * width :], strict=True)
        return [max(x + y + min(beyond), within) for (x, y), beyond, (within, _) in parts]


def _apart(paid: LossMap, pieces: Sequence[Piece]) -> LossMap:
    """Return the map to charge: a copy where a later piece could be refused after a first one."""
    return paid.copy() if len(pieces) > 1 else paid


def _kept(piece: Piece) -> Amounts:
    prices = zip(piece.added, piece.replaced, strict=True)
    beyond = (max(both - 2 * one, 0) for one, both in prices)
    return (*piece.added, *beyond, *piece.replaced)
