"""Prices that were worked out already, for all filters of one unit.

Trust: kernel.  A price that is taken for another one is too low for somebody.

Definition.  The price of a request follows from what is asked, its scope, the delta that is spent
on it, the currency, and for whom it is
(:class:`discreet.accounting.budgets.request.RequestPricer`): from nothing that was charged before,
and not from the limits.  So it is worked out once, and filters that differ in their limits share
it; those of another currency share the losses that it is made of.  Equal requests have one price,
whatever was priced before: trees, losses and mechanisms are values that never change, and a loss is
brought into one order before it is converted.  The least recently used prices are forgotten first.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Final, final

from discreet.accounting.budgets.cell_balances import ChargedBox, PriceBasis
from discreet.accounting.budgets.currency import Amounts, Currency, price_in_currency
from discreet.accounting.budgets.request import Priceable, RequestPricer
from discreet.accounting.scopes.box import Box, checked_box
from discreet.accounting.scopes.contribution import Contribution
from discreet.accounting.tree.node import Node
from discreet.errors import WrongKind
from discreet.loss.parameters import checked_delta
from discreet.units import PrivacyUnit, Relation, same_unit

_EVERYTHING: Final = Box.everything()
_KEPT: Final = 1024


@final
class PriceCache:
    """What requests cost, for one unit.

    >>> from discreet.accounting.budgets.currency import BasicCurrency
    >>> from discreet.loss import Pure
    >>> from discreet.units import row
    >>> prices = PriceCache(unit=row())
    >>> (piece,) = prices.pieces(Pure(epsilon="0.1"), BasicCurrency())
    >>> piece.added
    (100000000000000000000000, 0)
    >>> prices.pieces(Pure(epsilon="0.1"), BasicCurrency())[0] is piece
    True
    """

    __slots__ = ("_asker", "_one_sided", "_pieces", "_two_sided")

    def __init__(
        self,
        *,
        unit: PrivacyUnit,
        constant: Iterable[str] = (),
        contribution: Contribution | None = None,
    ) -> None:
        """Take who is protected, and what is known of the rows of one unit."""
        if isinstance(constant, str):
            raise WrongKind(
                what="constant columns are given as one text.",
                why="each column is named by itself.",
                do="give constant=['birth_year'] say.",
            )
        shared = tuple(constant)
        self._ask(RequestPricer(unit=same_unit(unit), constant=shared, contribution=contribution))

    def _ask(self, asker: RequestPricer) -> None:
        """Price for somebody else from now on, with nothing worked out yet."""
        self._asker = asker
        self._one_sided = functools.lru_cache(_KEPT)(asker.one_sided)
        self._two_sided = functools.lru_cache(_KEPT)(asker.two_sided)
        self._pieces = functools.lru_cache(_KEPT)(self._priced)

    def learn(self, constant: Iterable[str]) -> None:
        """Take more columns in which all rows of a unit agree; scopes may be narrower from now on.

        >>> from discreet.units import person
        >>> prices = PriceCache(unit=person("patient"))
        >>> prices.learn(["birth_year"])
        >>> prices.asker.constant
        ('birth_year',)
        """
        known = self._asker.constant
        new = tuple(column for column in dict.fromkeys(constant) if column not in known)
        if new:
            self._ask(replace(self._asker, constant=(*known, *new)))

    def __reduce__(self) -> tuple[object, ...]:
        """Start anew in a copy: prices are worked out again."""
        return _again, (self._asker,)

    @property
    def asker(self) -> RequestPricer:
        """For whom requests are priced."""
        return self._asker

    def pieces(
        self, what: Priceable, currency: Currency, *, scope: Box | None = None, delta: object = None
    ) -> tuple[ChargedBox, ...]:
        """Return the disjoint boxes that a request is about, and what each costs.

        Args:
            what: a tree, a mechanism or a loss.
            currency: what is counted.
            scope: the records that it can depend on; all, unless given.
            delta: what to spend on events outside which the loss is smaller, or has a price.
        """
        box = _EVERYTHING if scope is None else checked_box(scope, name="scope")
        chance = None if delta is None else checked_delta(delta)
        return self._pieces(self._asker.node(what), currency, box, chance)

    def _priced(
        self, node: Node, currency: Currency, scope: Box, delta: Fraction | None
    ) -> tuple[ChargedBox, ...]:
        known: dict[tuple[Node, bool], tuple[Amounts, Amounts]] = {}
        terms = PriceBasis(currency, self._asker.unit)
        pieces = []
        for part in self._asker.pieces(node, scope):
            both = part.sees_every_unit and self._asker.unit.relation is not Relation.EITHER
            key = (part.node, both and part.box == _EVERYTHING)
            if key not in known:
                known[key] = self._prices(part.node, currency, delta, only_two=key[1])
            one, two = known[key]
            pieces.append(ChargedBox(part.box, one, two if both else _larger(one, two), terms))
        return tuple(pieces)

    def _prices(
        self, node: Node, currency: Currency, delta: Fraction | None, *, only_two: bool
    ) -> tuple[Amounts, Amounts]:
        """Return the price where one unit is added or removed, and where one is replaced."""
        if not self._asker.unit.relation.replaces:
            price = price_in_currency(currency, self._one_sided(node), delta)
            return price, price
        two = price_in_currency(currency, self._two_sided(node), delta)
        one = two if only_two else price_in_currency(currency, self._one_sided(node), delta)
        return one, two


def _larger(one: Amounts, other: Amounts) -> Amounts:
    return tuple(max(pair) for pair in zip(one, other, strict=True))


def _again(asker: RequestPricer) -> PriceCache:
    return PriceCache(unit=asker.unit, constant=asker.constant, contribution=asker.contribution)
