"""Workloads: what planning ahead saves against asking one by one.

Trust: public.  It compares prices, and spends nothing.

A list of questions that is fixed in advance costs its tight composition, and can be asked through
``Slots`` (key ``slots``).  The same questions asked one by one, when nobody knows what will come
next, cost what the currency of a budget adds up (keys ``filter-basic``, ``filter-concentrated``,
``filter-gaussian``).  The difference is the price of not knowing.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from discreet.accounting.budgets.amounts import (
    added,
    amount_down,
    amount_up,
    format_down,
    format_up,
)
from discreet.accounting.budgets.currency import (
    Amounts,
    BasicCurrency,
    ConcentratedCurrency,
    Currency,
    GaussianCurrency,
)
from discreet.accounting.budgets.request import Priceable, RequestPricer
from discreet.accounting.budgets.slots import Slots
from discreet.accounting.scopes.contribution import Contribution
from discreet.errors import OutOfRange
from discreet.loss import PrivacyLoss
from discreet.loss.parameters import checked_delta
from discreet.units import PrivacyUnit, row, same_unit

__all__ = ["Workload", "WorkloadComparison", "compare"]

_CURRENCIES: Final = (BasicCurrency(), ConcentratedCurrency(), GaussianCurrency())


@final
@dataclass(frozen=True, slots=True, init=False)
class Workload:
    """A list of questions, known in advance.

    >>> from discreet.loss import Pure
    >>> plan = Workload([Pure(epsilon="0.1")] * 40 + [Pure(epsilon="0.2")] * 10)
    >>> print(compare(plan, delta="1e-6"))
    50 questions about one row under add_remove, epsilon at delta 1e-06
      planned together  4
      one by one
        basic           6
        zcdp            4.6
        gaussian        5.565
    """

    losses: tuple[PrivacyLoss, ...]
    unit: PrivacyUnit

    def __init__(
        self,
        questions: Iterable[Priceable],
        *,
        unit: PrivacyUnit | None = None,
        contribution: Contribution | None = None,
    ) -> None:
        """Take losses, mechanisms or trees, and whom they are about: rows, unless given."""
        whom = row() if unit is None else same_unit(unit)
        asker = RequestPricer(unit=whom, contribution=contribution)
        losses = tuple(asker.loss(asker.node(question)) for question in questions)
        if not losses:
            raise OutOfRange(
                what="a workload has no questions.",
                why="there is nothing to plan.",
                do="give at least one loss, mechanism or tree.",
            )
        object.__setattr__(self, "losses", losses)
        object.__setattr__(self, "unit", asker.unit)

    @property
    def loss(self) -> PrivacyLoss:
        """What all questions lose together."""
        powers = [loss.power(count) for loss, count in Counter(self.losses).items()]
        return functools.reduce(lambda first, second: first.compose(second), powers)

    def price(self, currency: Currency) -> Amounts | None:
        """Return what all questions cost one by one; None where one of them has no price."""
        total: Amounts = tuple(0 for _ in currency.components)
        for loss, count in Counter(self.losses).items():
            price = currency.price(loss)
            if price is None:
                return None
            total = added(total, price, count)
        return total

    def slots(self) -> Slots:
        """Return one slot for each question, named by its number from 1."""
        return Slots({str(n): loss for n, loss in enumerate(self.losses, 1)}, unit=self.unit)


@final
@dataclass(frozen=True, slots=True)
class WorkloadComparison:
    """The epsilons of one workload, all at the same delta, rounded up.

    ``one_by_one`` has an entry for each currency in which all questions have a price.
    """

    workload: Workload
    delta: Fraction
    planned: float
    one_by_one: tuple[tuple[str, float], ...]

    @property
    def saved(self) -> float:
        """How much less epsilon the plan costs than the best currency, about."""
        return min(epsilon for _, epsilon in self.one_by_one) - self.planned

    def __str__(self) -> str:
        """Show a small table; the epsilons are rounded up."""
        unit = self.workload.unit
        rows = [("planned together", self.planned), ("one by one", None)]
        rows += [(f"  {name}", epsilon) for name, epsilon in self.one_by_one]
        width = max(len(name) for name, _ in rows)
        delta = format_down(amount_down(self.delta))
        title = f"{len(self.workload.losses)} questions about one {unit.name}"
        lines = [f"{title} under {unit.relation.value}, epsilon at delta {delta}"]
        for name, epsilon in rows:
            shown = "" if epsilon is None else format_up(amount_up(Fraction(epsilon)))
            lines.append(f"  {name:<{width}}  {shown}".rstrip())
        return "\n".join(lines)


def compare(workload: Workload, *, delta: object) -> WorkloadComparison:
    """Compare a plan with asking its questions one by one.

    >>> from discreet.mechanisms import Laplace
    >>> round(compare(Workload([Laplace(scale=10)] * 100), delta="1e-6").saved, 3)
    0.445
    """
    chance = checked_delta(delta)
    epsilons = []
    for currency in _CURRENCIES:
        total = workload.price(currency)
        if total is not None:
            epsilons.append((currency.name, currency.loss(total).epsilon(delta=chance)))
    if not epsilons:
        raise OutOfRange(
            what="no currency has a price for all questions of the workload.",
            why="what cannot be priced cannot be asked one by one.",
            do="ask the workload itself: workload.loss.epsilon(delta=...).",
        )
    planned = workload.loss.epsilon(delta=chance)
    return WorkloadComparison(workload, chance, planned, tuple(epsilons))
