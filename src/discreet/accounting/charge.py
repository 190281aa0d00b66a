"""A charge: what was asked of whom, and what it costs.

Trust: kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from discreet.accounting.budget import Budget
from discreet.accounting.currency import Amounts, shown_amounts
from discreet.accounting.owed import Piece
from discreet.accounting.tariff import ONE_SIDED
from discreet.units import PrivacyUnit

__all__ = ["Charge"]

_SHOWN: Final = 3


@final
@dataclass(frozen=True, slots=True)
class Charge:
    """What was charged: disjoint boxes of records, and what each costs.

    ``amounts`` is the most that any of them costs, component by component.
    """

    number: int
    pieces: tuple[Piece, ...]
    budget: Budget
    unit: PrivacyUnit

    @property
    def amounts(self) -> Amounts:
        """The most that a record pays, or, where records are replaced, that two of one box do."""
        one = self.unit.relation in ONE_SIDED
        each = [piece.added if one else piece.replaced for piece in self.pieces]
        nothing = tuple(0 for _ in self.budget.limit)
        return tuple(max(column) for column in zip(nothing, *each, strict=True))

    def __str__(self) -> str:
        """Show the price, rounded up, and whom it is about."""
        price = shown_amounts(self.budget.currency, self.amounts)
        where = " | ".join(str(piece.box) for piece in self.pieces[:_SHOWN]) or "nothing"
        more = len(self.pieces) - _SHOWN
        others = f" | {more} more" if more > 0 else ""
        from discreet.accounting.left import shown_unit  # noqa: PLC0415  rare

        return f"{price} for {shown_unit(self.unit)}, about {where}{others}"
