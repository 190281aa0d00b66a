"""Workloads: requests planned ahead, the slots to ask them in, and what planning saves.

Trust: kernel.

Definition.  A list of slots is fixed before anything is asked, each with a loss.  A request takes a
slot, or several, whose loss is proved to be no smaller than its own; each slot is taken once, in
any order, and may stay empty.  What is asked in a slot may depend on all answers so far.
Threads may share slots; they cannot be copied, nor taken in a forked process.
Theorem (key ``slots``; Zhu, Dong and Wang 2022, theorem 10).  All answers together lose at most
the composition of the slots.
    Proof.  Each answer is a function of a draw from the pair of its slot, of coins and of earlier
    answers (domination is just that), and the draws can be made up front, whichever slot they are
    used in.  So all answers are a function of draws from the product of the pairs.  Slots that are
    known by divergences alone add up to one curve (key ``filter-renyi``), given all draws.
The composition of the slots is tight.  A budget that is filled up request by request may not be
measured in that way, since answers would decide what is composed; here it is fixed in advance.

The same questions asked one by one, when nobody knows what will come next, cost what the currency
of a budget adds up (keys ``filter-basic``, ``filter-concentrated``, ``filter-gaussian``).  The
difference is the price of not knowing.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NoReturn, final

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
from discreet.accounting.budgets.spending import Guard, refuse_copy
from discreet.accounting.scopes.contribution import Contribution
from discreet.errors import OutOfRange, OverBudget, WrongKind
from discreet.loss import PrivacyLoss, Pure
from discreet.loss.parameters import checked_delta
from discreet.units import PrivacyUnit, row, same_unit

_CURRENCIES: Final = (BasicCurrency(), ConcentratedCurrency(), GaussianCurrency())


@final
class Slots:
    """A fixed list of slots, each to be taken once by a request that loses no more.

    >>> from discreet.loss import GaussianDP
    >>> from discreet.units import row
    >>> slots = Slots({"map": GaussianDP(mu=1), "table": Pure(epsilon="0.5")}, unit=row())
    >>> slots.take("table", Pure(epsilon="0.4"))
    >>> slots.free
    ('map',)
    >>> slots.guarantee.epsilon(delta="1e-6") < 5.8
    True
    """

    __slots__ = ("_asker", "_guard", "_losses", "_taken")

    def __init__(
        self,
        losses: Mapping[str, Priceable],
        *,
        unit: PrivacyUnit,
        contribution: Contribution | None = None,
    ) -> None:
        """Take a name and a loss for each slot, and whom the losses are about."""
        if not isinstance(losses, Mapping) or not losses:
            raise WrongKind(
                what="the slots are not a mapping from names to losses, or are none.",
                why="each slot is fixed in advance, and taken by its name.",
                do="give a dict, such as {'map': GaussianDP(mu=1), 'table': Pure(epsilon=1)}.",
            )
        self._asker = RequestPricer(unit=same_unit(unit), contribution=contribution)
        self._losses = {name: self._loss(what) for name, what in losses.items()}
        self._taken: set[str] = set()
        self._guard = Guard()

    def _loss(self, what: Priceable) -> PrivacyLoss:
        return self._asker.loss(self._asker.node(what))

    @property
    def unit(self) -> PrivacyUnit:
        """Whom the guarantee is about."""
        return self._asker.unit

    @property
    def free(self) -> tuple[str, ...]:
        """The slots that have not been taken."""
        with self._guard:
            return tuple(name for name in self._losses if name not in self._taken)

    @property
    def guarantee(self) -> PrivacyLoss:
        """What all answers together lose at most, whether or not all slots are taken."""
        return _composed(list(self._losses.values()))

    def take(self, slot: str | tuple[str, ...], what: Priceable) -> None:
        """Take a slot, or several at once, for a request; refuse without changing anything."""
        names = (slot,) if isinstance(slot, str) else tuple(slot)
        self._guard.check_process()
        loss = self._loss(what)
        with self._guard:
            self._take(names, loss)

    def _take(self, names: tuple[str, ...], loss: PrivacyLoss) -> None:
        """Decide and record; no other thread comes between."""
        self._check(names)
        if not _composed([self._losses[name] for name in names]).dominates(loss):
            raise OverBudget(
                what=f"the request is not proved to lose at most what {_listed(names)} allows.",
                why="the guarantee is the composition of the slots, so that each request has to "
                "lose no more than its slot at every epsilon.",
                do="ask with more noise of the kind that the slot was planned for.",
            )
        self._taken.update(names)

    def _check(self, names: tuple[str, ...]) -> None:
        unknown = [name for name in names if name not in self._losses]
        if unknown or not names or len(set(names)) < len(names):
            raise OutOfRange(
                what="a slot is taken that does not exist, or twice in one request.",
                why="the list of slots is fixed in advance.",
                do=f"take one of {_listed(self.free) or 'none: all are taken'}.",
            )
        used = [name for name in names if name in self._taken]
        if used:
            raise OverBudget(
                what=f"{_listed(tuple(used))} has been taken already.",
                why="the guarantee counts each slot once.",
                do=f"take one of {_listed(self.free) or 'none: all are taken'}.",
            )

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse to be copied or stored."""
        refuse_copy("a list of slots")

    def __repr__(self) -> str:
        """Show how many slots are left."""
        return f"<{len(self.free)} of {len(self._losses)} slots free, {self.unit.name}>"


@final
@dataclass(frozen=True, slots=True, init=False)
class Workload:
    """A list of questions, known in advance.

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
        return _composed(powers)

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


def _composed(losses: list[PrivacyLoss]) -> PrivacyLoss:
    if not losses:
        return Pure(epsilon=0)
    return functools.reduce(lambda first, second: first.compose(second), losses)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(repr(name) for name in names)
