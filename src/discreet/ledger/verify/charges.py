"""A charge by itself: whom it debits, and whether that is what its tree costs.

Trust: kernel.

What a charge says about its account, tree, scope, delta, boxes and amounts decides everything but
its place among the others, so that equal charges are looked at once.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar, final

from discreet.accounting.box import Box
from discreet.accounting.budget import Budget
from discreet.accounting.currency import Currency
from discreet.accounting.decimals import read_decimals
from discreet.accounting.owed import Piece
from discreet.ledger.verify.covering import covers
from discreet.ledger.verify.entries import Said
from discreet.ledger.verify.lines import canonical
from discreet.ledger.verify.prices import Pieces, Prices

__all__ = ["Charges", "Debits", "safely"]

_KEPT: Final = 1 << 14

Found = TypeVar("Found")


@final
@dataclass(frozen=True, slots=True)
class Debits:
    """What a charge costs each account that it debits, and what is wrong with it."""

    pieces: Mapping[str, Pieces]
    problems: tuple[tuple[str, str], ...]


@final
class Charges:
    """Charges of one ledger, looked at one by one.

    >>> from discreet.units import row
    >>> charges = Charges(Prices(unit=row()))
    >>> said = Said(account='"data"', tree="{}", scope="{}", delta="", boxes="[]", amounts="{}")
    >>> charges.debits(said, {"data": Budget(epsilon=1)}).problems
    (('charge', 'it does not debit exactly the accounts with a budget on its path.'),)
    """

    __slots__ = ("_boxes", "_debit", "_known", "_prices")

    def __init__(self, prices: Prices) -> None:
        """Take what requests cost."""
        self._prices = prices
        self._known: dict[Said, Debits] = {}
        self._boxes = functools.lru_cache(_KEPT)(_read_boxes)
        self._debit = functools.lru_cache(_KEPT)(self._look_at)

    def learn(self, constant: Iterable[str]) -> None:
        """Take columns that all rows of a unit share, as a description has them."""
        if self._prices.learn(constant):
            self._known.clear()
            self._debit.cache_clear()

    def debits(self, said: Said, budgets: Mapping[str, Budget]) -> Debits:
        """Return what a charge costs; the budgets are those on the path of its account."""
        found = self._known.get(said)
        if found is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            found = self._known[said] = self._read(said, budgets)
        return found

    def _read(self, said: Said, budgets: Mapping[str, Budget]) -> Debits:
        amounts = json.loads(said.amounts)
        if amounts.keys() != budgets.keys():
            wrong = "it does not debit exactly the accounts with a budget on its path."
            return Debits({}, (("charge", wrong),))
        asked = (said.tree, said.scope, said.delta, said.boxes)
        pieces: dict[str, Pieces] = {}
        problems = []
        for path, budget in budgets.items():
            found, wrong = self._debit(*asked, budget.currency, canonical(amounts[path]))
            if found is not None:
                pieces[path] = found
            if wrong:
                problems.append(("charge" if found is None else "price", f"{wrong} ({path})."))
        return Debits(pieces, tuple(problems))

    def _look_at(  # noqa: PLR0913, PLR0917  all that decides what one account pays
        self, tree: str, scope: str, delta: str, boxes: str, currency: Currency, amounts: str
    ) -> tuple[Pieces | None, str]:
        """Return what one account is debited, and what is wrong with it."""
        places = safely(self._boxes, boxes)
        recorded = safely(_recorded, places, json.loads(amounts), len(currency.components))
        if recorded is None:
            return None, "its boxes or amounts cannot be read"
        found = safely(self._prices.of, tree, scope, delta, currency)
        if found is None:
            return recorded, "what it costs cannot be worked out"
        return recorded, "" if covers(recorded, found) else "it debits less than its tree costs"


def safely(read: Callable[..., Found], *given: object) -> Found | None:
    """Return what was read, or None, whatever the data were that could not be.

    >>> safely(int, "7"), safely(int, "x")
    (7, None)
    """
    try:
        return read(*given)
    except Exception:  # noqa: BLE001  garbage may fail anywhere, and it all means the same
        return None


def _read_boxes(text: str) -> tuple[Box, ...]:
    boxes = tuple(Box.read(data) for data in json.loads(text))
    if not all(box.exact for box in boxes):
        raise ValueError
    return boxes


def _recorded(boxes: tuple[Box, ...], data: object, width: int) -> Pieces:
    if not isinstance(data, list):
        raise TypeError
    pieces = []
    for box, (one, both) in zip(boxes, data, strict=True):
        added, replaced = (read_decimals(each, width=width) for each in (one, both))
        pieces.append(Piece(box, added, replaced))
    return tuple(pieces)
