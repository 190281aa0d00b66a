"""What a request costs the accounts that it debits, worked out before anybody waits for it.

Trust: kernel.

The price follows from the request and the currencies of the accounts, which never change: so it is
worked out by whoever asks, while others may be writing.  Requests that come again are found.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final, final

from discreet.accounting import codec
from discreet.accounting.book import Charge as BookCharge
from discreet.accounting.box import Box
from discreet.accounting.request import What
from discreet.accounting.scope_column import shared_columns
from discreet.accounting.tariff import Tariff
from discreet.ledger.charge import Priced
from discreet.ledger.description import Description
from discreet.ledger.paths import upward
from discreet.ledger.values import Account
from discreet.loss.limits import checked_delta

__all__ = ["Pricer"]

_KEPT: Final = 512
_LONGEST: Final = 1 << 16
_EVERYTHING: Final = Box.everything()


@final
class Pricer:
    """Prices of requests, those that were asked for before at hand.

    >>> from discreet.accounting import Budget
    >>> from discreet.loss import Pure
    >>> from discreet.units import row
    >>> pricer = Pricer(Tariff(unit=row()))
    >>> accounts = {"data": Account("data", Budget(epsilon=1))}
    >>> pricer.priced(Pure(epsilon="0.1"), accounts, "data", scope=None, delta=None).costs
    (('data', (100000000000000000000000, 0)),)
    """

    __slots__ = ("_known", "_tariff")

    def __init__(self, tariff: Tariff) -> None:
        """Take the prices for one unit."""
        self._tariff = tariff
        self._known: dict[object, Priced] = {}

    def learn(self, description: Description) -> None:
        """Take what is recorded of a table: what all rows of a unit share in it."""
        if description.what == "schema":
            self._tariff.learn(shared_columns(description.content()))
            self._known = {}

    def priced(
        self,
        what: What,
        accounts: Mapping[str, Account],
        account: str,
        *,
        scope: Box | None,
        delta: object,
    ) -> Priced:
        """Return what a request costs an account and all above it that have limits."""
        box = _EVERYTHING if scope is None else scope
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
        what: What,
        accounts: Mapping[str, Account],
        account: str,
        scope: Box,
        delta: Fraction | None,
    ) -> Priced:
        tree = codec.written(self._tariff.asker.node(what))
        pieces, costs = [], []
        for path in upward(account):
            budget = accounts[path].budget
            if budget is not None:
                found = self._tariff.pieces(what, budget.currency, scope=scope, delta=delta)
                pieces.append((path, found))
                charge = BookCharge(0, found, budget, self._tariff.asker.unit)
                costs.append((path, charge.amounts))
        return Priced.of(
            account,
            tuple(pieces),
            tuple(costs),
            tree=tree,
            scope=scope,
            delta=None if delta is None else str(delta),
        )
