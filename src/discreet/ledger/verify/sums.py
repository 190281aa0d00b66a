"""Whether an account stayed within its limits at every moment.

Trust: kernel.  An overspent account that is not noticed is a broken promise.

Theorem (key ``limits-by-segment``).  Cut the charges of an account at its raises.  If the sums at
the end of each piece of the record fit into the limits that held there, they fitted at every
moment.
    Proof.  Amounts are not negative, so that sums only grow, cell by cell; within a piece the
    limits stay the same; and what fits into limits still fits when it is smaller.
So charges may be added up in any order between two raises: those of the same box and the same shape
(in which components two records pay more than twice what one does) are put together first, which
changes no sum.
A cell lies in some box that was charged, or has paid only what was charged everywhere.  So it is
enough that the highest payments within each charged box fit.  They may come from different cells,
of which one fits in epsilon and another in rho, or from cells that a full map has merged in another
order; where they do not fit, the charges are made once more, one by one as they were accepted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, final

from discreet.accounting.amounts import added
from discreet.accounting.box import Box
from discreet.accounting.budget import Budget
from discreet.accounting.currency import Amounts
from discreet.accounting.owed import OneRecord, Piece, TwoRecords
from discreet.ledger.verify.prices import Pieces
from discreet.units import Relation

__all__ = ["History"]

_ONE: Final = frozenset({Relation.ADD_REMOVE, Relation.REPLACE_NULL})
_EVERYTHING: Final = Box.everything()


@final
@dataclass(slots=True)
class _Segment:
    """The charges under one budget, by number, and what they cost."""

    budget: Budget
    charges: list[tuple[int, Pieces]] = field(default_factory=list)
    forfeited: bool = False
    """Whether everything that was left before counts as spent."""

    def together(self) -> Iterator[Piece]:
        """Yield what was charged to each box, added up."""
        times = Counter(id(pieces) for _, pieces in self.charges)
        once = {id(pieces): pieces for _, pieces in self.charges}
        sums: dict[tuple[Box, tuple[bool, ...]], tuple[Amounts, Amounts]] = {}
        for name, count in times.items():
            for piece in once[name]:
                at = (piece.box, _shape(piece))
                nothing = tuple(0 for _ in piece.added)
                one, two = sums.get(at, (nothing, nothing))
                sums[at] = added(one, piece.added, count), added(two, piece.replaced, count)
        for (box, _), (one, two) in sums.items():
            yield Piece(box, one, two)


@final
class History:
    """What was charged to an account, and what its limits were.

    >>> from discreet.accounting.owed import Piece
    >>> history = History(Budget(epsilon=1), Relation.ADD_REMOVE)
    >>> for seq in (5, 8):
    ...     history.charge(seq, (Piece(Box.everything(), (6 * 10**23, 0), (6 * 10**23, 0)),))
    >>> history.settle()
    ((1200000000000000000000000, 0), 8)
    """

    __slots__ = ("_relation", "_segments")

    def __init__(self, budget: Budget, relation: Relation) -> None:
        """Take the first budget, and how neighbors differ."""
        self._relation = relation
        self._segments = [_Segment(budget)]

    @property
    def budget(self) -> Budget:
        """The budget at the end."""
        return self._segments[-1].budget

    def charge(self, seq: int, pieces: Pieces) -> None:
        """Note a charge; equal charges are added up fastest if they are the same object."""
        self._segments[-1].charges.append((seq, pieces))

    def raise_to(self, budget: Budget) -> None:
        """Note that the limits were raised."""
        self._segments.append(_Segment(budget))

    def forfeit(self) -> None:
        """Note that what was left counts as spent."""
        self._segments.append(_Segment(self.budget, forfeited=True))

    def settle(self) -> tuple[tuple[int, ...], int]:
        """Return what was spent in the end, and the first charge that did not fit, or 0."""
        owed = self._nothing()
        within, boxes = True, set[Box]()
        for segment in self._segments:
            if segment.forfeited:
                owed, boxes = self._everything(segment.budget), set()
            for piece in segment.together():
                owed.add((piece,))
                boxes.add(piece.box)
            within = within and _fits(owed, segment.budget, boxes)
        return owed.worst(_EVERYTHING), 0 if within else self._first_refused()

    def _first_refused(self) -> int:
        owed = self._nothing()
        for segment in self._segments:
            if segment.forfeited:
                owed = self._everything(segment.budget)
            owed.budget = segment.budget
            for seq, pieces in segment.charges:
                if not owed.fits(pieces):
                    return seq
                owed.add(pieces)
        return 0

    def _everything(self, budget: Budget) -> OneRecord | TwoRecords:
        owed = self._nothing()
        owed.add((Piece(_EVERYTHING, budget.limit, budget.limit),))
        return owed

    def _nothing(self) -> OneRecord | TwoRecords:
        kind = OneRecord if self._relation in _ONE else TwoRecords
        return kind.nothing(self._segments[0].budget)


def _fits(owed: OneRecord | TwoRecords, budget: Budget, boxes: set[Box]) -> bool:
    nothing = tuple(0 for _ in budget.limit)
    if budget.fits(owed.worst(_EVERYTHING), nothing):
        return True
    return budget.fits(owed.everywhere, nothing) and all(
        budget.fits(owed.worst(box), nothing) for box in boxes - {_EVERYTHING}
    )


def _shape(piece: Piece) -> tuple[bool, ...]:
    """Say in which components two records pay more than twice what one does."""
    return tuple(two > 2 * one for one, two in zip(piece.added, piece.replaced, strict=True))
