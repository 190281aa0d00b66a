"""What is left of a budget, for requests about some records.

Trust: kernel.

What is left is not a promise of its own: it says which requests would still be accepted.  It is
shown rounded down, with whom it is about and how it is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, final

from discreet.accounting.amounts import shown_down
from discreet.accounting.budget import Budget
from discreet.accounting.currency import Amounts
from discreet.accounting.request import What
from discreet.loss import PrivacyLoss
from discreet.units import PrivacyUnit

__all__ = ["Left", "shown_unit"]

_MOST: Final = 10**9


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """The amounts that are left, and what they buy.

    >>> from discreet.accounting.book import Book
    >>> from discreet.loss import GaussianDP
    >>> from discreet.units import person
    >>> book = Book(Budget(rho=1), unit=person("patient"))
    >>> left = book.left()
    >>> left.loss, left.how_many(GaussianDP(mu="0.1"))
    (ZeroConcentrated(rho=Fraction(1, 1)), 200)
    """

    budget: Budget
    unit: PrivacyUnit
    amounts: Amounts
    fitting: Callable[[What, object], Callable[[int], bool]] = field(repr=False, compare=False)

    @property
    def loss(self) -> PrivacyLoss:
        """The largest loss that would still be accepted, in the terms of the budget.

        Where records are replaced, it is the loss of a request about all of them.
        """
        return self.budget.currency.loss(self.amounts)

    def how_many(self, what: What, *, delta: object = None) -> int:
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

    def __str__(self) -> str:
        """Show what is left, rounded down, of which limit, in which currency, and for whom."""
        parts = zip(self.budget.components, self.amounts, self.budget.limit, strict=True)
        shown = ", ".join(
            f"{name} {shown_down(left)} of {shown_down(limit)}"
            for name, left, limit in parts
            if limit or name != "delta"
        )
        promise = self.budget.promise
        whole = "" if promise is None else f" to stay within {self.budget.promised}"
        return f"{shown}, kept in {self.budget.currency.name}{whole}, for {shown_unit(self.unit)}"


def shown_unit(unit: PrivacyUnit) -> str:
    """Show whom a price is about.

    >>> from discreet.units import person
    >>> shown_unit(person("patient"))
    'one person (patient) under add_remove'
    """
    columns = f" ({', '.join(unit.columns)})" if unit.columns else ""
    return f"one {unit.name}{columns} under {unit.relation.value}"
