"""Charges: what a request costs each account that it debits.

Trust: kernel.

Definition.  The body of a charge is the SHA-256 of the canonical text of [account, tree, scope,
delta, question]: two requests are the same if their bodies are.

The price follows from the request and the currencies of the accounts, which never change.  So the
caller works it out, before it queues and while others write; recent prices are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, Self, final

from discreet.accounting import codec
from discreet.accounting.amounts import encode_amounts
from discreet.accounting.box import Box, shared_columns
from discreet.accounting.currencies import Amounts
from discreet.accounting.filter import Charge as FilterCharge
from discreet.accounting.requests import Priceable, RequestPricer
from discreet.ledger.canonical_lines import DescriptionEntry, canonical, digest
from discreet.ledger.entry_kinds import ChargeEntry, Pieces
from discreet.ledger.values import Account, path_and_ancestors
from discreet.loss.parameters import checked_delta

Costs = tuple[tuple[str, Amounts], ...]
"""For each account that is debited, the most that a record pays, or two of one box."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PricedRequest:
    """A request with its price, before it has a key: the same for everybody who makes it."""

    account: str
    pieces: Pieces
    costs: Costs
    asked: str = field(repr=False)
    texts: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(  # noqa: PLR0913  the parts of a charge
        cls,
        account: str,
        pieces: Pieces,
        costs: Costs,
        *,
        tree: object,
        scope: Box,
        delta: str | None,
    ) -> Self:
        """Take the account, what records pay in it and above, and the request in written form."""
        boxes = [piece.box.written() for piece in pieces[0][1]]
        amounts = {
            path: [[encode_amounts(p.added), encode_amounts(p.replaced)] for p in parts]
            for path, parts in pieces
        }
        name, about = canonical(account), canonical(scope.written())
        what, chance = canonical(tree), canonical(delta)
        return cls(
            account=account,
            pieces=pieces,
            costs=costs,
            asked=f"[{name},{what},{about},{chance},",
            texts=(
                f'"account":{name},"amounts":{canonical(amounts)}',
                f'"boxes":{canonical(boxes)},"delta":{chance}',
                f'"scope":{about}',
                f'"tree":{what}',
            ),
        )

    def charge(self, key: str, question: str) -> ChargeEntry:
        """Return the entry for somebody's key and question."""
        return ChargeEntry(
            account=self.account,
            key=key,
            question=question,
            body=digest(f"{self.asked}{canonical(question)}]".encode("ascii")),
            pieces=self.pieces,
            texts=self.texts,
        )


_KEPT: Final = 512
_LONGEST: Final = 1 << 16
_ALL_RECORDS: Final = Box.everything()


@final
class Pricer:
    """Prices of requests; recent ones are kept."""

    __slots__ = ("_known", "_prices")

    def __init__(self, prices: RequestPricer) -> None:
        """Take the prices for one unit."""
        self._prices = prices
        self._known: dict[object, PricedRequest] = {}

    def add_shared_columns(self, description: DescriptionEntry) -> None:
        """Learn from the description of a table which columns all rows of a unit share."""
        if description.what == "schema":
            self._prices = self._prices.sharing(shared_columns(description.content()))
            self._known = {}

    def price(
        self,
        what: Priceable,
        accounts: Mapping[str, Account],
        account: str,
        *,
        scope: Box | None,
        delta: object,
    ) -> PricedRequest:
        """Return what a request costs an account and every account above it that has limits."""
        box = _ALL_RECORDS if scope is None else scope
        chance = None if delta is None else checked_delta(delta)
        name = (account, type(what), what, box, chance)
        try:
            known = self._known.get(name)
        except TypeError:  # not a value, so it is not one of ours
            return self._price(what, accounts, account, box, chance)
        if known is None:
            known = self._price(what, accounts, account, box, chance)
            if len(known.asked) <= _LONGEST:
                if len(self._known) >= _KEPT:
                    self._known = {}
                self._known[name] = known
        return known

    def _price(
        self,
        what: Priceable,
        accounts: Mapping[str, Account],
        account: str,
        scope: Box,
        delta: Fraction | None,
    ) -> PricedRequest:
        tree = codec.encode(self._prices.node(what))
        pieces, costs = [], []
        for path in path_and_ancestors(account):
            budget = accounts[path].budget
            if budget is not None:
                boxes = self._prices.pieces(what, budget.currency, scope=scope, delta=delta)
                pieces.append((path, boxes))
                charge = FilterCharge(0, boxes, budget, self._prices.unit)
                costs.append((path, charge.amounts))
        return PricedRequest.of(
            account,
            tuple(pieces),
            tuple(costs),
            tree=tree,
            scope=scope,
            delta=None if delta is None else str(delta),
        )
