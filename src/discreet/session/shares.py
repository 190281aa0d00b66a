"""Shares of a budget: a fixed part of what was promised, by the route that errs least.

Trust: kernel.  The result is a plan like any other, and is charged as one.

Definition.  A share of a budget is that part of its limit on one route: of epsilon, of rho, or of
the square of mu, whichever promises the smallest errors.  It is a part of the limit, not of the
balance, so that a repeated question costs the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from discreet.accounting import Budget
from discreet.accounting.amounts import amount_value
from discreet.errors import DiscreetError, OutOfRange, WrongKind
from discreet.exact import decimal

if TYPE_CHECKING:  # handed in
    from discreet.plan.plan import Plan

_TRIES: Final = 4
_NEARLY: Final = 1 - Fraction(1, 10**9)
_WORTH: Final = 1.2
_MOST: Final = Fraction(1)
_MOST_OUTPUTS: Final = 64
"""A question with more of them is not planned again to see whether it would err less."""

Planned = Callable[[Mapping[str, Any]], "Plan"]
"""Plans a question at a price, such as ``{"epsilon": Fraction(1, 10)}``."""


def read_share(given: object) -> Fraction:
    """Return a share: a number above 0 and at most 1, a fraction or a percentage as text.

    >>> read_share("1/100") == read_share("1%") == read_share(0.01)
    True
    """
    text, unit = given, 1
    if isinstance(given, str) and given.rstrip().endswith("%"):
        text, unit = given.rstrip()[:-1].strip(), 100
    share = decimal(text, name="share") / unit
    if not 0 < share <= 1:
        raise OutOfRange(
            what="share is not above 0 and at most 1.",
            why="it is a part of the whole budget, as it was promised.",
            do='give share="1/100", or "1%".',
        )
    return share


def amounts_of_plan(budget: Budget, plan: Plan) -> Sequence[int]:
    """Return what a budget counts for a plan; a delta is spent only if it has to be."""
    try:
        return budget.price(plan.loss)
    except WrongKind:
        return budget.price(plan.loss, delta=plan.delta)


def plan_share(
    planned: Planned, price: Mapping[str, Any], given: object, budget: Budget | None
) -> Plan:
    """Plan a question at a share of a budget, by the route that promises the smallest errors."""
    share = read_share(given)
    if any(price.get(name) is not None for name in ("epsilon", "rho", "error")):
        raise WrongKind(
            what="share is given, and epsilon, rho or error beside it.",
            why="one of them says what the question costs, and two could disagree.",
            do="leave out the other.",
        )
    if budget is None:
        raise WrongKind(
            what="share is given, and there is no budget of which it could be one.",
            why="nothing limits what is asked here.",
            do="give epsilon=0.1, say, or open the tables with a budget.",
        )
    best: Plan | None = None
    refused: DiscreetError | None = None
    for route in budget.currency.routes:
        try:
            found = _on_route(planned, price, share, budget, route)
        except DiscreetError as error:
            refused = refused or error
            continue
        if found is not None and (best is None or ratio_of_errors(best, found) > 1):
            best = found
    if best is None:
        raise refused or OutOfRange(
            what="no answer costs so small a share of the budget.",
            why="what a question costs cannot be lowered any further.",
            do="give a larger share.",
        )
    return best


def _on_route(
    planned: Planned,
    price: Mapping[str, Any],
    share: Fraction,
    budget: Budget,
    route: tuple[int, ...],
) -> Plan | None:
    """Return a plan that costs at most a share of the limits of a route, and barely less."""
    name = budget.components[route[0]]
    amount = share * amount_value(budget.limit[route[0]])
    if name == "mu squared":  # of Gaussian noise, twice its rho
        name, amount = "rho", amount / 2
    for _ in range(_TRIES):
        if amount == 0:
            return None
        plan = planned({**price, name: amount})
        cost = amounts_of_plan(budget, plan)
        taken = max(Fraction(cost[at], max(budget.limit[at], 1)) for at in route)
        if taken <= share:
            return plan
        amount *= share / taken * _NEARLY
    return None


def ratio_of_errors(plan: Plan, other: Plan) -> float:
    """Return how many times smaller the errors of another plan are, on average over outputs."""
    pairs = [
        (mine.half_width, theirs.half_width)
        for mine, theirs in zip(plan.predicted, other.predicted, strict=False)
    ]
    known = [math.log(mine / theirs) for mine, theirs in pairs if mine and theirs]
    return math.exp(sum(known) / len(known)) if known else 1.0


def better_share(plan: Plan, planned: Planned, budget: Budget) -> str:
    """Say how much less the same share of a budget errs by another route, if that is much less.

    ``planned`` plans the same question at another price, and ``plan`` has one in epsilon.
    """
    most = budget.limit[0]
    if len(budget.currency.routes) == 1 or plan.price.epsilon is None or not most:
        return ""
    if len(plan.layout.outputs) > _MOST_OUTPUTS:
        return ""
    share = min(Fraction(amounts_of_plan(budget, plan)[0], most), _MOST)
    try:
        other = plan_share(planned, {}, share, budget)
    except DiscreetError:
        return ""
    times = ratio_of_errors(plan, other)
    if times < _WORTH:
        return ""
    part = share.limit_denominator(10**6)
    return f'{part} of the budget (share="{part}", --share {part}) errs {times:.1f} times less'
