"""A budget while it is spent: its guard, charges, and what is left.

Trust: kernel.  Two threads that look before either spends, or a budget and its copy, spend twice.

A budget in memory is guarded: one thread at a time, one process, and no copies.  What is left of it
is not a promise of its own: it says which requests would still be accepted.  It is shown rounded
down, with whom it is about and the currency.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NoReturn, final

from discreet.accounting.budgets.amounts import format_down
from discreet.accounting.budgets.currency import Amounts, format_amounts
from discreet.errors import WrongKind
from discreet.noise.entropy import process_stamp
from discreet.notebook import Shown
from discreet.units.unit import PrivacyUnit, describe_unit

if TYPE_CHECKING:  # for annotations
    from discreet.accounting.budgets.budget import Budget
    from discreet.accounting.budgets.cell_balances import ChargedBox
    from discreet.accounting.budgets.request import Priceable
    from discreet.loss import PrivacyLoss


@final
class Guard:
    """A lock that a thread may take again, and the process in which it was made.

    A forked process gets a lock of its own, since its parent's may be closed there for ever.

    >>> guard = Guard()
    >>> with guard:
    ...     guard.check_process()
    """

    __slots__ = ("_lock", "_made", "_stamp")

    def __init__(self) -> None:
        """Begin in this process."""
        self._made = self._stamp = process_stamp()
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        """Wait until no other thread is inside."""
        if self._stamp != (here := process_stamp()):
            self._lock, self._stamp = threading.RLock(), here
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        """Let another thread in."""
        self._lock.release()

    def check_process(self) -> None:
        """Refuse to spend in a forked process."""
        if self._made != process_stamp():
            raise WrongKind(
                what="a budget in memory is spent in a forked process.",
                why="parent and child would each spend the whole of it.",
                do="spend it in the process that made it, or keep it in a ledger, which processes "
                "can share.",
            )


def refuse_copy(what: str) -> NoReturn:
    """Refuse to copy a budget, or to store it behind its own back."""
    raise WrongKind(
        what=f"{what} cannot be pickled or copied.",
        why="each copy could be spent by itself, and together they would lose more than was "
        "promised.",
        do="share the one that there is between threads, or keep the budget in a ledger.",
    )


_MOST: Final = 10**9


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Left(Shown):
    """The amounts that are left, and what they buy; ``spent`` is what was spent so far.

    A request has to fit on one route of the currency, or on ``every_route``.

    >>> from discreet.accounting import Budget, PrivacyFilter
    >>> from discreet.loss import GaussianDP
    >>> from discreet.units import person
    >>> book = PrivacyFilter(Budget(rho=1), unit=person("patient"))
    >>> left = book.left()
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

    @property
    def loss(self) -> PrivacyLoss:
        """The largest loss that would still be accepted, in the terms of the budget.

        Where records are replaced, it is the loss of a request about all of them; where every
        route has to fit, a pure one beside a delta, hardly below the largest.
        """
        currency = self.budget.currency
        return (currency.common_loss if self.every_route else currency.loss)(self.amounts)

    def how_many(self, what: Priceable, *, delta: object = None) -> int:
        """Return how many such requests would be accepted one by one, as things stand now.

        At most a billion.
        """
        fits = self.fitting(what, delta)
        low, high = 0, 1
        while high <= _MOST and fits(high):
            low, high = high, 2 * high
        high = min(high, _MOST + 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        return low

    def after(self, what: Priceable, *, delta: object = None) -> Left:
        """Return what a request would leave, and charge nothing.

        It is charged to a copy of all sums, as a charge is; so where neighbors owe more than what
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

    def __str__(self) -> str:
        """Show what is left, rounded down, of which limit, in which currency, and for whom."""
        parts = zip(self.budget.components, self.amounts, self.budget.limit, strict=True)
        shown = ", ".join(
            f"{name} {format_down(left)} of {format_down(limit)}"
            for name, left, limit in parts
            if limit or name != "delta"
        )
        promise = self.budget.promise
        whole = "" if promise is None else f" to stay within {self.budget.promised}"
        currency = self.budget.currency
        routes = " on every route" if self.every_route and len(currency.routes) > 1 else ""
        return f"{shown}, kept in {currency.name}{routes}{whole}, for {describe_unit(self.unit)}"


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
        """The most that a record pays, or, where records are replaced, that two of one box do."""
        one = not self.unit.relation.replaces
        prices = [piece.added if one else piece.replaced for piece in self.pieces]
        nothing = tuple(0 for _ in self.budget.limit)
        return tuple(max(column) for column in zip(nothing, *prices, strict=True))

    def __str__(self) -> str:
        """Show the price, rounded up, and whom it is about."""
        price = format_amounts(self.budget.currency, self.amounts)
        where = " | ".join(str(piece.box) for piece in self.pieces[:_SHOWN]) or "nothing"
        more = len(self.pieces) - _SHOWN
        others = f" | {more} more" if more > 0 else ""

        return f"{price} for {describe_unit(self.unit)}, about {where}{others}"
