"""A privacy filter: what was spent of a budget, record by record, and whether more fits.

Trust: kernel.

Two threads that look before either spends, or a budget and its copy, spend twice.

The remainder is not a separate promise: it says which requests would still be accepted.  It is
shown rounded down, with whom it is about and the currency.

Definition.  It keeps one filter for each cell of records that its charges treat alike.  A charge
names what is released and its scope, the records that it can depend on; it is accepted if every
cell it touches stays within the limits of the budget, and otherwise refused before anything is
changed.  Neither the price nor the decision looks at data, so both may be public.
Whatever is charged, one by one and in view of all answers, the guarantee of the budget holds for
the unit of the filter (keys ``cell-filters``, ``cell-pairs``).  Questions about disjoint
groups cost as much as those about one of them.
A tree is one charge, at its tight price, because it was fixed before it was asked (key
``general-composition``).  For units of several rows a scope counts only as far as all rows of a
unit share it: the columns that name the unit, and those that are declared constant.
A charge has four steps, which can be taken one by one: ``pieces`` works out the price and looks at
nothing that was charged before, ``fits`` compares it with what is left, ``add`` enters it, and
``refusal`` says why not.  What a filter owes can be stored and read again; the filter that is read
decides on every later charge as the first one would have, since it owes the same.
Threads may share a filter: what is decided is recorded before another thread decides.  It cannot
be copied or pickled: each copy would spend the whole budget.  A raised budget takes the place of
the filter, which then charges nothing more.
Assumes: one filter for one set of people; each charge is entered before its data is read, and not
taken back.  Interactive mechanisms are charged as a whole, and run one after another.
"""

from __future__ import annotations

import functools
import math
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, NoReturn, final

from discreet.accounting.amounts import (
    amount_down,
    amount_up,
    amount_value,
    decode_amounts,
    encode_amounts,
    format_down,
    format_up,
    undecodable,
)
from discreet.accounting.balances import Balances, ChargedBox, PriceBasis
from discreet.accounting.box import Box, Contribution, checked_box
from discreet.accounting.budget import Budget, checked_raise
from discreet.accounting.currencies import Amounts, format_amounts, shown_components
from discreet.accounting.loss_map import LossMap
from discreet.accounting.requests import Priceable, RequestPricer
from discreet.errors import OverBudget, WrongKind
from discreet.exact import whole
from discreet.loss import PrivacyLoss, Pure
from discreet.notebook import Shown
from discreet.units import PrivacyUnit, describe_unit

_MOST: Final = 10**9


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Left(Shown):
    """The amounts that are left, and what they buy; ``spent`` is what was spent so far.

    A request has to fit on one route of the currency, or on ``every_route``.  ``like`` is the
    request that was charged last, and the delta that it may spend, for those who print this.

    >>> from discreet.accounting import Budget, PrivacyFilter
    >>> from discreet.loss import GaussianDP
    >>> from discreet.units import person
    >>> spending = PrivacyFilter(Budget(rho=1), unit=person("patient"))
    >>> left = spending.left()
    >>> left.loss, left.how_many(GaussianDP(mu="0.1"))
    (ZeroConcentrated(rho=Fraction(1, 1)), 200)
    """

    budget: Budget
    unit: PrivacyUnit
    amounts: Amounts
    spent: Amounts
    every_route: bool = False
    fitting: Callable[[Priceable, object], Callable[[int], bool]] = field(repr=False, compare=False)
    charging: Callable[[Priceable, object], Left] = field(repr=False, compare=False)
    like: tuple[Priceable, object] | None = field(default=None, repr=False, compare=False)

    @property
    def loss(self) -> PrivacyLoss:
        """The largest loss that would still be accepted, in the terms of the budget.

        If records are replaced, it is the loss of a request about all of them; if every
        route has to fit, a pure one beside a delta, hardly below the largest.
        """
        currency = self.budget.currency
        return (currency.common_loss if self.every_route else currency.loss)(self.amounts)

    def how_many(self, what: Priceable, *, delta: object = None) -> int:
        """Return how many such requests would be accepted one by one, as things stand now.

        At most a billion.
        """
        fits = self.fitting(what, delta)
        return bisect_left(range(_MOST), True, key=lambda count: not fits(count + 1))

    def how_many_like(self) -> int:
        """Return how many more requests like the last one fit; none if there was none."""
        if self.like is None:
            return 0
        what, delta = self.like
        try:
            return self.how_many(what)
        except WrongKind:  # as for a charge, a delta is spent only if it must be
            return self.how_many(what, delta=delta)

    def after(self, what: Priceable, *, delta: object = None) -> Left:
        """Return what a request would leave, and charge nothing.

        It is charged to a copy of all sums, as a charge is; so if neighbors owe more than what
        they owe now and the price, because a record is replaced by one of another scope, this says
        so.

        >>> from discreet.accounting import Budget, PrivacyFilter
        >>> from discreet.loss import Pure
        >>> from discreet.units import row
        >>> left = PrivacyFilter(Budget(epsilon=1), unit=row()).left()
        >>> left.after(Pure(epsilon="0.25")).loss, left.loss
        (Pure(epsilon=Fraction(3, 4)), Pure(epsilon=Fraction(1, 1)))
        """
        return self.charging(what, delta)

    @property
    def share(self) -> Fraction:
        """The share of the budget that is left, from 0 to 1: on its better route, if it has two.

        >>> from discreet.accounting import Budget, PrivacyFilter
        >>> from discreet.loss import Pure
        >>> from discreet.units import row
        >>> spending = PrivacyFilter(Budget(epsilon=2), unit=row())
        >>> _ = spending.charge(Pure(epsilon="0.5"))
        >>> spending.left().share
        Fraction(3, 4)
        """
        shares = [self._share_on(route) for route in self.budget.currency.routes]
        return min(shares) if self.every_route else max(shares)

    def fits_on(self, route: tuple[int, ...]) -> bool:
        """Say whether anything more fits on a route."""
        return all(self.amounts[at] and self.spent[at] <= self.budget.limit[at] for at in route)

    def _share_on(self, route: tuple[int, ...]) -> Fraction:
        """Return the share of a route that is left, none of it if too much delta was spent."""
        limit = self.budget.limit
        if self.spent[-1] > limit[-1]:
            return Fraction(0)
        shares = [Fraction(self.amounts[at], limit[at]) for at in route if limit[at]]
        return min((*shares, Fraction(1))) if shares else Fraction(0)

    @property
    def epsilon(self) -> Fraction:
        """The largest epsilon of one more question, and of one that may fail with ``delta``.

        >>> from discreet.accounting import Budget, PrivacyFilter
        >>> from discreet.units import row
        >>> left = PrivacyFilter(Budget(epsilon=1, delta="1e-9"), unit=row()).left()
        >>> left.epsilon, left.delta
        (Fraction(1, 1), Fraction(1, 1000000000))
        """
        known = dict(zip(self.budget.components, self.amounts, strict=True))
        squares = [2 * known.get("rho", 0), 7 * known.get("mu squared", 0) // 11]
        found = [known.get("epsilon", 0), *(math.isqrt(square * 10**24) for square in squares)]
        bounds = sorted(map(amount_value, found), reverse=True)
        fitting = (each for each in bounds if self.fitting(Pure(epsilon=each), None)(1))
        return next(fitting, Fraction(0))

    @property
    def delta(self) -> Fraction:
        """What may still be spent on events; all of the promise, while nothing was spent."""
        promise = self.budget.promise
        if promise is not None and not any(self.spent):
            return promise.delta_bound
        return amount_value(self.amounts[-1])

    @property
    def details(self) -> str:
        """Each amount that is left, rounded down, of its limit, route by route, and for whom."""
        amounts = list(zip(self.amounts, self.budget.limit, strict=True))
        shown = ", ".join(
            f"{name} {format_down(left)} of {format_down(limit)}"
            for name, (left, limit) in shown_components(self.budget.currency, amounts)
            if limit or name != "delta"
        )
        several = len(self.budget.currency.routes) > 1
        routes = " on every route" if self.every_route and several else ""
        promise = f" to stay within {self.budget.promised}" if self.budget.promise else ""
        return f"{shown}{routes}{promise}, for {describe_unit(self.unit)}"

    def __str__(self) -> str:
        percent = f"{int(100 * self.share)} %"
        if self.like is not None:
            return f"{percent} of the budget left{more_words(self.how_many_like())}"
        if self.budget.promise is None:
            return self.details
        return f"{percent} left of {self.budget.promised}, for {describe_unit(self.unit)}"


def more_words(more: int) -> str:
    """Say for how many more questions a budget is enough.

    >>> more_words(9), more_words(1)
    (', about 9 more like this', ', one more like this')
    """
    return f", {({0: 'no more', 1: 'one more'}).get(more, f'about {more:,} more')} like this"


_SHOWN: Final = 3


@final
@dataclass(frozen=True, slots=True)
class Charge:
    """What was charged: disjoint boxes of records, and what each costs.

    ``amounts`` is the most that any of them costs, component by component.
    """

    number: int
    pieces: tuple[ChargedBox, ...]
    budget: Budget
    unit: PrivacyUnit

    @property
    def amounts(self) -> Amounts:
        """The most that a record pays, or, if records are replaced, that two of one box do."""
        one = not self.unit.relation.replaces
        prices = [piece.added if one else piece.replaced for piece in self.pieces]
        nothing = tuple(0 for _ in self.budget.limit)
        return tuple(max(column) for column in zip(nothing, *prices, strict=True))

    def __str__(self) -> str:
        price = format_amounts(self.budget.currency, self.amounts)
        where = " | ".join(str(piece.box) for piece in self.pieces[:_SHOWN]) or "nothing"
        more = len(self.pieces) - _SHOWN
        others = f" | {more} more" if more > 0 else ""

        return f"{price} for {describe_unit(self.unit)}, about {where}{others}"


_VERSION: Final = 1
_EVERY_ROUTE: Final = "every_route"


@final
class PrivacyFilter:
    """A budget that is spent charge by charge.

    >>> from discreet.accounting import equals
    >>> from discreet.loss import Pure
    >>> from discreet.units import row
    >>> spending = PrivacyFilter(Budget(epsilon=1), unit=row())
    >>> for state in ("CA", "NY", "TX"):
    ...     charge = spending.charge(Pure(epsilon="0.6"), scope=Box({"state": equals(state)}))
    >>> print(spending.left())
    epsilon 0.4 of 1, for one row under add_remove
    >>> spending.charge(Pure(epsilon="0.5"))
    Traceback (most recent call last):
    discreet.errors.OverBudget
    >>> spending.left(Box({"state": equals("WA")})).how_many(Pure(epsilon="0.1"))
    10
    """

    __slots__ = ("_budget", "_charges", "_guard", "_owed", "_priced_for", "_pricer", "_replaced")

    def __init__(
        self,
        budget: Budget,
        *,
        unit: PrivacyUnit,
        constant: Iterable[str] = (),
        contribution: Contribution | None = None,
    ) -> None:
        """Take a budget, whom it protects, and what is known of the rows of one unit.

        Args:
            budget: the limits.
            unit: who is protected, under which relation.
            constant: columns in which all rows of a unit agree.
            contribution: how many rows belong to one unit; needed for requests about rows.
        """
        if not isinstance(budget, Budget) or isinstance(constant, str):
            raise WrongKind(
                "a filter is opened without a budget, or with a text for constant columns; give "
                "Budget(...), and constant=['birth_year'] say."
            )
        self._pricer = RequestPricer(unit=unit, constant=tuple(constant), contribution=contribution)
        self._budget = budget
        self._priced_for = PriceBasis(budget.currency, self._pricer.unit)
        self._owed = Balances(budget, replaces=self.unit.relation.replaces)
        self._charges = 0
        self._replaced = False
        self._guard = threading.RLock()

    @property
    def budget(self) -> Budget:
        return self._budget

    @property
    def unit(self) -> PrivacyUnit:
        return self._pricer.unit

    def share(self, columns: Iterable[str]) -> None:
        """Learn more columns in which all rows of a unit agree, so that scopes may be narrower."""
        self._pricer = self._pricer.sharing(columns)

    @property
    def guarantee(self) -> PrivacyLoss:
        """The guarantee that covers all answers together, past and future."""
        return self._budget.guarantee

    @property
    def spent(self) -> Amounts:
        """The most that neighbors owe so far: what counts against the limits, not a guarantee."""
        with self._guard:
            return self._owed.worst(Box.everything())

    def charge(self, what: Priceable, *, scope: Box | None = None, delta: object = None) -> Charge:
        """Charge a request, or refuse it and change nothing.

        Args:
            what: a tree, a mechanism or a loss.
            scope: the records that it can depend on; all, unless given.
            delta: what to spend on events outside which the loss is smaller, or has a price.
        """
        pieces = self.pieces(what, scope=scope, delta=delta)
        with self._guard:
            if not self.fits(pieces):
                raise self.refusal(pieces)
            return self.add(pieces)

    def pieces(
        self, what: Priceable, *, scope: Box | None = None, delta: object = None
    ) -> tuple[ChargedBox, ...]:
        """Return what a request costs, box by box, whatever was charged before.

        >>> from discreet.loss import Pure
        >>> from discreet.units import row
        >>> spending = PrivacyFilter(Budget(epsilon=1), unit=row())
        >>> pieces = spending.pieces(Pure(epsilon="0.6"))
        >>> spending.fits(pieces), spending.add(pieces).number, spending.fits(pieces)
        (True, 1, False)
        """
        return self._pricer.pieces(what, self._budget.currency, scope=scope, delta=delta)

    def fits(self, pieces: Sequence[ChargedBox]) -> bool:
        """Say whether pieces, which are disjoint, fit into what is left.

        Before they are added another thread may spend the rest; ``charge`` keeps it out.
        """
        self._check(pieces)
        with self._guard:
            return self._owed.fits(pieces)

    def add(self, pieces: Sequence[ChargedBox]) -> Charge:
        """Enter pieces that fit; whether they do is not asked again."""
        self._check(pieces)
        return self.enter(pieces)

    def enter(self, pieces: Sequence[ChargedBox]) -> Charge:
        """Enter pieces that were recorded for this filter before: a replay, which asks nothing.

        The setting of their prices is recorded with the account that they belong to, not with them.
        """
        self._check_width(pieces)
        with self._guard:
            self._check_open()
            self._owed.add(pieces)
            self._charges += 1
            return Charge(self._charges, tuple(pieces), self._budget, self.unit)

    def exhaust(self) -> None:
        """Owe all that requests which are not known can have cost: the limits, on every route.

        If the budget is raised, more has to fit on every route, since it is not known on which of
        them the others did (:mod:`discreet.accounting.balances`).

        >>> from discreet.units import row
        >>> spending = PrivacyFilter(Budget(epsilon=1), unit=row())
        >>> spending.exhaust()
        >>> spending.left().amounts
        (0, 0)
        """
        with self._guard:
            self._check_open()
            self._owed.exhaust()
            self._charges += 1

    def refusal(self, pieces: Sequence[ChargedBox]) -> OverBudget:
        """Return the error for pieces that do not fit."""
        self._check(pieces)
        boxes = [piece.box for piece in pieces] or [Box.everything()]
        with self._guard:
            charge = Charge(self._charges + 1, tuple(pieces), self._budget, self.unit)
            worst = [self._owed.worst(box) for box in boxes]
        spent = [max(column) for column in zip(*worst, strict=True)]
        whose = "" if boxes == [Box.everything()] else " for those it is about"
        amounts = [
            max(limit - paid, 0) for limit, paid in zip(self._budget.limit, spent, strict=True)
        ]
        shown = shown_components(self._budget.currency, amounts)
        left = ", ".join(f"{name} {format_down(amount)}" for name, amount in shown)
        return OverBudget(
            what=f"this costs {self._shortfall(spent, charge.amounts)}{whose}.",
            why=f"it could cost somebody more than was promised: {self._budget.promised}.",
            do="ask for less precision or about fewer records, or plan several questions as one.",
            details=f"the request costs {charge}; what is left there is {left}; "
            f"the budget is {self._budget}.",
        )

    def _shortfall(self, spent: Sequence[int], cost: Amounts) -> str:
        """Say what a request costs and what is left, on the route on which it lacks least."""
        budget, last = self._budget, len(cost) - 1
        filled = [
            Fraction(a + b, max(c, 1)) for a, b, c in zip(spent, cost, budget.limit, strict=True)
        ]
        _, at = min(max((filled[at], at) for at in (*r, last)) for r in budget.currency.routes)
        limit, paid = budget.limit[at], spent[at]
        name = budget.components[at]
        if budget.promise is None or name == "delta":
            rest = "nothing" if paid >= limit else format_down(limit - paid)
            return f"{name} {format_up(cost[at])}; {rest} is left of {format_down(limit)}"
        unit = Fraction(100, limit)
        rest = f"{format_down(amount_down(unit * (limit - paid)))} %" if paid < limit else "nothing"
        return f"{format_up(amount_up(unit * cost[at]))} % of the budget; {rest} is left"

    def left(self, scope: Box | None = None) -> Left:
        """Return what is left now for requests about a scope, or about everything."""
        with self._guard:
            owed = self._owed.copy()
        return self._left(owed, scope)

    def _left(self, owed: Balances, scope: Box | None) -> Left:
        def pieces(what: Priceable, delta: object) -> tuple[ChargedBox, ...]:
            return self.pieces(what, scope=scope, delta=delta)

        box = Box.everything() if scope is None else checked_box(scope, name="scope")
        spent = owed.worst(box.for_unit(self.unit, self._pricer.constant).region)
        amounts = (limit - paid for limit, paid in zip(self._budget.limit, spent, strict=True))
        return Left(
            budget=self._budget,
            unit=self.unit,
            amounts=tuple(max(amount, 0) for amount in amounts),
            spent=spent,
            every_route=owed.every_route,
            fitting=lambda what, delta: functools.partial(owed.fits, pieces(what, delta)),
            charging=lambda what, delta: self._left(owed.charged(pieces(what, delta)), scope),
        )

    def with_budget(self, budget: Budget) -> PrivacyFilter:
        """Return a filter that owes the same under a raised budget, and replaces this one.

        This one charges nothing more: two filters of the same people would each spend a budget.

        Which guarantee holds then, and when: :mod:`discreet.accounting.budget`.

        >>> from discreet.loss import Pure
        >>> from discreet.units import row
        >>> spending = PrivacyFilter(Budget(epsilon=1), unit=row())
        >>> charge = spending.charge(Pure(epsilon="0.9"))
        >>> print(spending.with_budget(Budget(epsilon=2)).left())
        epsilon 1.1 of 2, for one row under add_remove
        """
        pricer = self._pricer
        twin = PrivacyFilter(
            checked_raise(self._budget, budget),
            unit=pricer.unit,
            constant=pricer.constant,
            contribution=pricer.contribution,
        )
        with self._guard:
            self._check_open()
            twin._owed, twin._charges = self._owed.copy(), self._charges
            twin._owed.budget = twin.budget
            self._replaced = True
        return twin

    def written(self) -> dict[str, object]:
        """Return what is owed, in a form that JSON keeps exactly and that a replay arrives at.

        The limits of the budget are not in it; what it counts, and for whom, is.  If every
        route has to fit, it says so.

        >>> from discreet.units import row
        >>> PrivacyFilter(Budget(rho=1), unit=row()).written()["everywhere"]
        ['0', '0']
        """
        with self._guard:
            return {
                "version": _VERSION,
                "priced_for": self._terms(),
                "charges": self._charges,
                "everywhere": encode_amounts(self._owed.everywhere),
                "paid": self._owed.paid.written(),
                **({_EVERY_ROUTE: True} if self._owed.every_route else {}),
            }

    @classmethod
    def read(
        cls,
        data: object,
        *,
        budget: Budget,
        unit: PrivacyUnit,
        constant: Iterable[str] = (),
        contribution: Contribution | None = None,
    ) -> PrivacyFilter:
        """Read what ``written`` wrote, for the same unit and currency, and refuse everything else.

        >>> from discreet.units import row
        >>> spending = PrivacyFilter(Budget(rho=1), unit=row())
        >>> (PrivacyFilter.read(spending.written(), budget=Budget(rho=1), unit=row()).written()
        ...  == spending.written())
        True
        """
        kept = cls(budget, unit=unit, constant=constant, contribution=contribution)
        names = {"version", "priced_for", "charges", "everywhere", "paid"}
        every_route = isinstance(data, dict) and data.get(_EVERY_ROUTE) is True
        names |= {_EVERY_ROUTE} if every_route else set()
        if not isinstance(data, dict) or set(data) != names:
            raise undecodable("a filter does not hold its version, terms, charges and what is owed")
        if type(data["version"]) is not int or data["version"] != _VERSION:
            raise undecodable(f"the version of a filter is not {_VERSION}")
        if data["priced_for"] != kept._terms():
            raise undecodable(
                "a filter was kept in another currency, or for another unit or relation"
            )
        everywhere = decode_amounts(data["everywhere"], width=len(budget.limit))
        paid = LossMap.read(data["paid"])
        if paid.width != kept._owed.paid.width:
            raise undecodable("a filter does not keep as many sums as its relation needs")
        kept._owed.everywhere, kept._owed.paid = everywhere, paid
        kept._owed.every_route = every_route
        kept._charges = whole(data["charges"], name="a stored count", low=0)
        return kept

    def _terms(self) -> dict[str, object]:
        currency, unit = self._budget.currency, self.unit
        return {
            "currency": list(currency.components),
            "kept_in": currency.name,
            "unit": [unit.name, *unit.columns],
            "relation": unit.relation.value,
        }

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse to be copied or stored; what is owed can be written."""
        raise WrongKind(
            what="a filter cannot be pickled or copied.",
            why="each copy could be spent by itself, and together they would lose more than was "
            "promised.",
            do="share the one that there is between threads, or keep the budget in a ledger.",
        )

    def _check_open(self) -> None:
        if self._replaced:
            raise WrongKind(
                what="a filter is charged whose budget was raised.",
                why="the filter that took its place counts what is owed, and this one would not.",
                do="charge the filter that with_budget returned.",
            )

    def _check(self, pieces: Sequence[ChargedBox]) -> None:
        self._check_width(pieces)
        if not all(piece.priced_for == self._priced_for for piece in pieces):
            raise WrongKind(
                "what is to be charged was not priced in the filter's currency, or not for its "
                "unit and relation; charge what PrivacyFilter.pieces returns."
            )

    def _check_width(self, pieces: Sequence[ChargedBox]) -> None:
        width = len(self._budget.limit)
        if not all(type(piece) is ChargedBox and len(piece.added) == width for piece in pieces):
            raise WrongKind(
                "what is to be charged does not have an amount for each limit; charge what "
                "PrivacyFilter.pieces returns."
            )
