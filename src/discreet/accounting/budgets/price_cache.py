"""Prices that were worked out already, for all filters of one unit.

Trust: kernel.  A price that is taken for another one is too low for somebody.

Definition.  The price of a request follows from what is asked, its scope, the delta that is spent
on it, the currency, and for whom it is
(:class:`discreet.accounting.budgets.request.RequestPricer`): from nothing that was charged before,
and not from the limits.  So it is worked out once, and filters that differ in their limits share
it; those of another currency share the losses that it is made of.  Equal requests have one
price, since trees, losses and mechanisms of this library are values that never change.  Requests
with sources from elsewhere are priced anew each time, and so are profiles: equal ones may hold
their pairs in another order, and then round differently.  A few thousand prices are kept, fewer of
long trees; the least recently used are forgotten first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final, TypeVar, cast, final

from discreet.accounting.budgets.cell_balances import ChargedBox, PriceBasis
from discreet.accounting.budgets.currency import Amounts, Currency, price_in_currency
from discreet.accounting.budgets.request import Priceable, RequestPricer, is_plain, plain_size
from discreet.accounting.scopes.box import Box, checked_box
from discreet.accounting.scopes.contribution import Contribution
from discreet.accounting.tree.node import Node
from discreet.errors import WrongKind
from discreet.loss.parameters import checked_delta
from discreet.units import PrivacyUnit, Relation, same_unit

_EVERYTHING: Final = Box.everything()
_KEPT: Final = 4096
_KEPT_LONG: Final = 64
_LONG: Final = 32

_Function = TypeVar("_Function", bound=Callable[..., Any])


@final
class PriceCache:
    """What requests cost, for one unit.

    >>> from discreet.accounting.budgets.currency import BasicCurrency
    >>> from discreet.loss import Pure
    >>> from discreet.units import row
    >>> tariff = PriceCache(unit=row())
    >>> (piece,) = tariff.pieces(Pure(epsilon="0.1"), BasicCurrency())
    >>> piece.added
    (100000000000000000000000, 0)
    >>> tariff.pieces(Pure(epsilon="0.1"), BasicCurrency())[0] is piece
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
        self._one_sided = _kept(asker.one_sided)
        self._two_sided = _kept(asker.two_sided)
        self._pieces = _kept(self._priced)

    def learn(self, constant: Iterable[str]) -> None:
        """Take more columns in which all rows of a unit agree; scopes may be narrower from now on.

        >>> from discreet.units import person
        >>> tariff = PriceCache(unit=person("patient"))
        >>> tariff.learn(["birth_year"])
        >>> tariff.asker.constant
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
        return self._pieces[_way(what)](what, currency, box, chance)

    def _priced(
        self, what: Priceable, currency: Currency, scope: Box, delta: Fraction | None
    ) -> tuple[ChargedBox, ...]:
        known: dict[tuple[Node, bool], tuple[Amounts, Amounts]] = {}
        terms = PriceBasis(currency, self._asker.unit)
        pieces = []
        for part in self._asker.pieces(self._asker.node(what), scope):
            both = part.sees_every_unit and self._asker.unit.relation is not Relation.EITHER
            key = (part.node, both and part.box == _EVERYTHING)
            found = known.get(key)
            if found is None:
                found = known[key] = self._prices(part.node, currency, delta, only_two=key[1])
            one, two = found
            pieces.append(ChargedBox(part.box, one, two if both else _larger(one, two), terms))
        return tuple(pieces)

    def _prices(
        self, node: Node, currency: Currency, delta: Fraction | None, *, only_two: bool
    ) -> tuple[Amounts, Amounts]:
        """Return the price where one unit is added or removed, and where one is replaced."""
        way = _way(node)
        if not self._asker.unit.relation.replaces:
            price = price_in_currency(currency, self._one_sided[way](node), delta)
            return price, price
        two = price_in_currency(currency, self._two_sided[way](node), delta)
        one = two if only_two else price_in_currency(currency, self._one_sided[way](node), delta)
        return one, two


def _kept(function: _Function) -> tuple[_Function, _Function, _Function]:
    """Return a function that works out everything anew, and two that remember, by ``_way``.

    Threads may share them; there is no lock that a forked process could find closed.
    """
    short, long = (functools.lru_cache(most)(function) for most in (_KEPT, _KEPT_LONG))
    return function, cast("_Function", short), cast("_Function", long)


def _way(what: object) -> int:
    """Return 0 if a request must be priced anew, 1 if its price is kept, and 2 if it is long."""
    if not isinstance(what, Node):
        return int(is_plain(type(what)))
    length = plain_size(what)
    if length is None:
        return 0
    return 1 if length <= _LONG else 2


def _larger(one: Amounts, other: Amounts) -> Amounts:
    return tuple(max(pair) for pair in zip(one, other, strict=True))


def _again(asker: RequestPricer) -> PriceCache:
    return PriceCache(unit=asker.unit, constant=asker.constant, contribution=asker.contribution)
