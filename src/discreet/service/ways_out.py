"""Ways out of a refusal, each with its price: a wider error, fewer groups, a higher limit.

Trust: public.  Prices and errors are those of plans, and a limit is raised by two people alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

from discreet.accounting import Left
from discreet.accounting.amounts import amount_down, amount_up, format_down, format_up
from discreet.errors import DiscreetError
from discreet.ledger.ledger_view import LedgerView
from discreet.ledger.values import path_and_ancestors
from discreet.plan.plan import Plan
from discreet.plan.policy.policy import Limits
from discreet.service.fewer_groups import without_last_key
from discreet.service.plan_amounts import amounts_of_plan
from discreet.session.planning import fits_after

Planned = Callable[[Any, dict[str, Any]], Plan]
"""Plans SQL text, or a question as it travels."""

_PRICES: Final = ("epsilon", "rho")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfall:
    """A limit that a question does not fit into."""

    account: str
    scope: str
    """yours, purpose or dataset: the account of whoever asks, one above it, or that of all."""
    component: str
    needed: str
    left: str
    limit: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WayOut:
    """A question that can be asked instead, with its price and its error."""

    title: str
    words: str
    question: Any
    by: str
    amount: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class HigherLimit:
    """A request to the steward under which the question fits."""

    account: str
    budget: Mapping[str, str]

    @property
    def words(self) -> str:
        """The limits in a line."""
        return ", ".join(f"{name} {value}" for name, value in self.budget.items())


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WaysOut:
    """Which limits are too low, and what can be done about it."""

    shortfalls: tuple[Shortfall, ...] = ()
    """The limit that lacks most comes first."""
    either: bool = False
    """Whether it is enough to fit into one of these limits."""
    ways: tuple[WayOut, ...] = ()
    request: HigherLimit | None = None


def ways_out(  # noqa: PLR0913  what is asked, and of whom
    question: Any,
    price: Mapping[str, Any],
    plan: Plan,
    ledger: LedgerView,
    *,
    account: str | None,
    planned: Planned,
) -> WaysOut:
    """Return the ways out for a plan that does not fit into what is left.

    Args:
        question: its text, or the tree of one as it travels.
        price: what was to be paid, with the confidence of intervals.
        plan: how it would be answered.
        ledger: what is left.
        account: the account that pays; the first one if None.
        planned: plans a question at a price, and spends nothing.
    """
    accounts = ledger.accounts
    own = account or min(accounts, key=len)
    paths = [path for path in path_and_ancestors(own) if accounts[path].limited]
    tight = [
        (path, left)
        for path in paths
        for left in [ledger.left(plan.scope, account=path)]
        if fits_after(plan, left) is None
    ]
    if not tight:
        return WaysOut()
    tight.sort(key=lambda each: _factor(plan, each[1])[1])
    lacking = tuple(each for path, left in tight for each in _shortfalls(plan, path, left, own))
    path, left = tight[0]
    name, factor = _factor(plan, left)
    ways: list[WayOut] = []
    paid = getattr(plan.price, name, None)
    if name in _PRICES and paid is not None and factor > 0:
        amount = format_down(amount_down(paid * factor))
        others = {each: value for each, value in price.items() if each not in (*_PRICES, "error")}
        ways += _priced(question, {**others, name: amount}, planned, name, "Accept a wider ±")
        fewer = without_last_key(question) if isinstance(question, str) else None
        if fewer is not None:
            ways += _priced(fewer, {**others, name: amount}, planned, name, "Ask for fewer groups")
    return WaysOut(
        shortfalls=lacking,
        either=len(left.budget.currency.routes) > 1,
        ways=tuple(ways),
        request=_request(plan, path, left),
    )


def within_policy(
    question: str, price: Mapping[str, Any], limits: Limits, planned: Planned
) -> WaysOut:
    """Return the way out of the highest price that a policy allows for one question."""
    for name in _PRICES:
        most: Fraction | None = getattr(limits, f"max_{name}")
        if most is None or name not in price:
            continue
        amount = format_down(amount_down(most))
        try:
            plan = planned(question, {name: amount})
        except DiscreetError:
            continue
        title = f"Pay {name} {amount}, the most that the policy allows for one question"
        return WaysOut(ways=(_way(question, name, amount, plan, title),))
    return WaysOut()


def _shortfalls(plan: Plan, path: str, left: Left, own: str) -> Iterator[Shortfall]:
    scope = "dataset" if "/" not in path else "yours" if path == own else "purpose"
    cost = amounts_of_plan(left.budget, plan)
    parts = zip(left.budget.components, cost, left.amounts, left.budget.limit, strict=True)
    for name, needed, have, limit in parts:
        if needed > have:
            yield Shortfall(
                account=path,
                scope=scope,
                component=name,
                needed=format_up(needed),
                left=format_down(have),
                limit=format_down(limit),
            )


def _factor(plan: Plan, left: Left) -> tuple[str, Fraction]:
    """Return the component that lacks least on the best route, and which part of its price fits."""
    cost, names = amounts_of_plan(left.budget, plan), left.budget.components
    routes = [
        min(((names[at], Fraction(left.amounts[at], max(cost[at], 1))) for at in route), key=_part)
        for route in left.budget.currency.routes
    ]
    return max(routes, key=_part)


def _part(named: tuple[str, Fraction]) -> Fraction:
    return named[1]


def _priced(
    question: Any, price: dict[str, Any], planned: Planned, name: str, title: str
) -> Iterator[WayOut]:
    """Yield a question at a price, if it is answered and fits."""
    try:
        plan = planned(question, price)
    except DiscreetError:
        return
    if plan.budget_preview is not None and plan.budget_preview.fits:
        yield _way(question, name, price[name], plan, title)


def _way(question: Any, name: str, amount: str, plan: Plan, title: str) -> WayOut:
    errors = ", ".join(f"{each.output} {each.words}" for each in plan.predicted)
    words = f"{name} {amount} buys {errors}" if errors else f"it costs {name} {amount}"
    return WayOut(title=title, words=words, question=question, by=name, amount=amount)


def _request(plan: Plan, path: str, left: Left) -> HigherLimit | None:
    """Return the limits under which a plan fits, in the words in which a budget is given."""
    budget, cost = left.budget, amounts_of_plan(left.budget, plan)
    lacking = {
        name: max(0, needed - have)
        for name, needed, have in zip(budget.components, cost, left.amounts, strict=True)
    }
    if budget.promise is None:
        limits = dict(zip(budget.components, budget.limit, strict=True))
    else:  # both routes follow from the promise
        bounds = {"epsilon": budget.promise.epsilon_bound, "delta": budget.promise.delta_bound}
        limits = {name: amount_up(value) for name, value in bounds.items()}
    given = {name: limit + lacking.get(name, 0) for name, limit in limits.items() if limit}
    if not set(given) <= {*_PRICES, "delta"}:
        return None
    return HigherLimit(
        account=path, budget={name: format_up(value) for name, value in given.items()}
    )
