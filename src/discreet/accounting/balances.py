"""What records owe: sums by cell, and what two records owe together.

Trust: kernel.

Definition.  Each request has a scope, the box of records that it can depend on; a cell is a set of
records that every scope so far holds as a whole or not at all.
Theorem (key ``cell-filters``; Lecuyer, Spahn, Vodrahalli, Geambasu and Hsu 2019, Privacy
Accounting and Quality Control in the Sage Differentially Private ML Platform).  If the sums of
what requests cost stay within the limits in every cell, on every path of answers, the guarantee of
the limits holds for neighbors that differ in one record.
Theorem (key ``cell-pairs``; Guerra-Balboa, Miranda-Pascual, Parra-Arnau and Strufe 2024, for the
costs of one request).  Neighbors in which x is replaced by y pay, for each request, nothing if its
scope holds neither, ``added`` if it holds one of the two, and ``replaced`` if it holds both.
    x and y in one cell owe the sum of what is ``replaced`` there.
    x and y in two cells owe at most X + Y + Z: the sums of ``added`` in the two cells, and the
    smaller of their sums of what is ``replaced`` beyond twice ``added``.
    Requests about all records hold both for sure, and are kept apart at ``replaced``.
    If a scope is known only to be within a box, it may hold one of two records in the box, so
    that the larger of ``added`` and ``replaced`` is charged there.
    Cells that a full map has merged hold records of several histories; such records are taken for
    those of two cells, and records of one history owe what is ``replaced`` or less.
X + Y alone is not enough: one request of rho that is known for added records, and is about both
cells, costs 4 rho and not 2 rho.
Proofs: docs/proofs/composition.md, section 11.

If requests are unknown, but were accepted under the limits, everyone is taken to owe the limits,
and from then on every route of the currency has to fit (key ``filter-joint``): what neighbors owed
was within the limits of some route, it is not known which, and on the others they may owe any
amount above the limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

from discreet.accounting.amounts import added
from discreet.accounting.box import Box
from discreet.accounting.loss_map import LossMap
from discreet.errors import OutOfRange

if TYPE_CHECKING:  # loaded when first used, because most questions need few of these
    from discreet.accounting.budget import Budget
    from discreet.accounting.currencies import Amounts, Currency
    from discreet.units import PrivacyUnit

_EVERYTHING: Final = Box.everything()


@final
@dataclass(frozen=True, slots=True)
class PriceBasis:
    """The meaning of amounts: currency, protected unit and relation."""

    currency: Currency
    unit: PrivacyUnit


@final
@dataclass(frozen=True, slots=True)
class ChargedBox:
    """Part of a charge: the records it is about, and its price for one of them and for two.

    ``priced_for`` says what the amounts mean; if it is missing, they were recorded together with
    the account that they belong to.
    """

    box: Box
    added: Amounts
    replaced: Amounts
    priced_for: PriceBasis | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse amounts that would give something back."""
        amounts = (*self.added, *self.replaced)
        whole = all(type(amount) is int and amount >= 0 for amount in amounts)
        if not whole or len(self.added) != len(self.replaced):
            raise OutOfRange(
                "an amount is not an integer from zero, or two prices differ in length; take "
                "prices from PrivacyFilter.pieces."
            )


@final
class Balances:
    """What was spent so far, by all records and cell by cell, for neighbors of one relation.

    A cell keeps one sum for each component if neighbors differ in one record (key
    ``cell-filters``), and three if a record is replaced (key ``cell-pairs``): what is added,
    what is replaced beyond twice as much, and what is replaced.
    """

    def __init__(self, budget: Budget, *, replaces: bool) -> None:
        self.budget, self.replaces = budget, replaces
        self.everywhere: Amounts = tuple(0 for _ in budget.limit)
        self.paid = LossMap((3 if replaces else 1) * len(budget.limit))
        self.every_route = False
        """Whether all routes have to fit, since it is unknown on which of them what is owed did."""

    def exhaust(self) -> None:
        """Owe all that requests which are not known can have cost."""
        self.everywhere, self.every_route = self.budget.limit, True
        self.paid = LossMap(self.paid.width)

    def fits(self, pieces: Sequence[ChargedBox], times: int = 1) -> bool:
        """Say whether all stay within the limits if disjoint pieces are charged ``times`` times.

        Pieces that could not be charged at all are refused here, before anything is entered.
        """
        self.paid.check(piece.box for piece in pieces)
        if not self.replaces:
            owed = (added(self.worst(piece.box), piece.added, times) for piece in pieces)
            return all(map(self.within, owed))
        rough = self._at_most(pieces, times)
        return self.within(rough) or self.within(self.charged(pieces, times).worst(_EVERYTHING))

    def add(self, pieces: Sequence[ChargedBox], times: int = 1) -> None:
        """Charge each of some disjoint pieces where it is, and those about everything apart."""
        everywhere = self.everywhere
        # a copy if a later piece could be refused after a first one
        paid = self.paid.copy() if len(pieces) > 1 else self.paid
        for piece in pieces:
            if piece.box == _EVERYTHING:
                price = piece.replaced if self.replaces else piece.added
                everywhere = added(everywhere, price, times)
            else:
                paid.add(piece.box, [times * amount for amount in self._for_cells(piece)])
        self.everywhere, self.paid = everywhere, paid

    def worst(self, scope: Box) -> Amounts:
        """Return the most that neighbors owe if they differ in a record of the scope."""
        if not self.replaces:
            return added(self.everywhere, self.paid.highest(scope))
        apart = 2 * len(self.everywhere)  # sums of which two records matter
        inside = self.paid.two_highest(scope, components=apart)
        others = [self.paid.highest(box) for box in _EVERYTHING.minus(scope)]
        outside = [max((top[k] for top in others), default=0) for k in range(apart)]
        both = zip(inside, outside, strict=True)
        tops = [(first, max(second, other)) for (first, second), other in both]
        within = [(top, top) for top in self.paid.highest(scope)[apart:]]
        return added(self.everywhere, self._owed([*tops, *within]))

    def copy(self) -> Balances:
        """Return what is owed now, without charging."""
        twin = Balances(self.budget, replaces=self.replaces)
        twin.everywhere, twin.every_route = self.everywhere, self.every_route
        twin.paid = self.paid.copy()
        return twin

    def charged(self, pieces: Sequence[ChargedBox], times: int = 1) -> Balances:
        """Return what would be owed once disjoint pieces were charged; nothing changes here."""
        trial = self.copy()
        trial.add(pieces, times)
        return trial

    def within(self, total: Amounts) -> bool:
        """Say whether a total stays within the limits, on some route or on every one."""
        if self.every_route:
            return self.budget.currency.fits_everywhere(total, self.budget.limit)
        return self.budget.currency.fits(total, self.budget.limit)

    def _for_cells(self, piece: ChargedBox) -> Amounts:
        """Return what a piece adds to the sums of its cells."""
        if not self.replaces:
            return piece.added
        prices = zip(piece.added, piece.replaced, strict=True)
        beyond = (max(both - 2 * one, 0) for one, both in prices)
        return (*piece.added, *beyond, *piece.replaced)

    def _at_most(self, pieces: Sequence[ChargedBox], times: int) -> Amounts:
        """Bound what two records would owe, as if the highest cell were there twice."""
        everywhere, tops = self.everywhere, [self.paid.highest()]
        for piece in pieces:
            if piece.box == _EVERYTHING:
                everywhere = added(everywhere, piece.replaced, times)
            else:
                tops.append(added(self.paid.highest(piece.box), self._for_cells(piece), times))
        return added(everywhere, self._owed([(max(top),) * 2 for top in zip(*tops, strict=True)]))

    def _owed(self, tops: Sequence[tuple[int, int]]) -> list[int]:
        """Return what two records owe, in one cell or in two, from the two highest of each."""
        width = len(self.everywhere)
        parts = zip(tops[:width], tops[width : 2 * width], tops[2 * width :], strict=True)
        return [max(x + y + min(beyond), within) for (x, y), beyond, (within, _) in parts]
