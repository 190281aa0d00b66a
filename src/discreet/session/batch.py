"""Several questions planned together: one price, divided so that relative errors balance.

Trust: kernel.  Each question is a plan like any other, and is charged as one.

Definition.  The *total* of a batch is what a privacy filter owes once all its plans are charged,
each to the units of its scope: the sum of all prices, or less where questions are about different
people.  Shares of the price are found by planning again: a share grows with the largest relative
error of its question, so that these errors meet, and all shares are raised together until the total
is the price.  Relative errors are known where tables have a public size; without one for all
questions, shares are equal.  No data is read, so whatever the shares are, they cost accuracy alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

from discreet.accounting import Budget, PrivacyFilter
from discreet.accounting.amounts import amount_value
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal, positive
from discreet.notebook import Shown
from discreet.plan.expectation import expect
from discreet.plan.plan import Plan
from discreet.requests.table_schema import Schema

MOST_QUESTIONS: Final = 100
_ROUNDS: Final = 5
_NEARLY: Final = Fraction(9999, 10_000)
_EVEN: Final = Fraction(105, 100)
_DIGITS: Final = 10**4
_ROOM: Final = 10**6
"""A budget that every batch fits into: what is owed is read off, and nothing is refused."""

PlanAt = Callable[[int, Fraction], Plan]
"""Plans a question, by its place, at a price."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPlan(Shown):
    """The plans of several questions, and what they cost together; ``session.ask`` takes it.

    ``currency`` is epsilon or rho, ``fits`` whether all of them fit into what is left.
    """

    plans: tuple[Plan, ...]
    currency: str
    total: Fraction
    balanced: bool
    fits: bool | None = None

    def __str__(self) -> str:
        """Show the price and the errors of each question, and the total."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for place, plan in enumerate(self.plans, start=1):
            yield f"{place}. {plan!r}"
            errors = "; ".join(f"{each.output} {each.words}" for each in plan.predicted)
            yield f"   error {errors or 'none'}"
        yield f"together: {self.currency} {float(self.total):.4g}"
        yield (
            "relative errors are balanced"
            if self.balanced
            else "equal shares: without a public size for every table, no relative error is known"
        )
        if self.fits is not None:
            yield "fits into what is left" if self.fits else "does not fit into what is left"


def plan_batch(plan_at: PlanAt, count: int, *, price: Any, schema: Schema) -> BatchPlan:
    """Divide a price among questions so that their relative errors balance.

    Args:
        plan_at: plans one of the questions at a price.
        count: how many questions there are.
        price: the epsilon or rho of all of them together, by its name.
        schema: all tables, with their public sizes.
    """
    given = {name: price[name] for name in ("epsilon", "rho") if price.get(name) is not None}
    if len(given) != 1 or price.get("error") is not None or price.get("share") is not None:
        raise WrongKind(
            what="a batch of questions needs one price, in epsilon or in rho.",
            why="it is divided among the questions.",
            do="give epsilon=1, say, and neither error nor share.",
        )
    if not 1 <= count <= MOST_QUESTIONS:
        raise OutOfRange(
            what=f"{count} questions are planned together.",
            why=f"a batch has 1 to {MOST_QUESTIONS} questions.",
            do="give a list of questions, or plan it in parts.",
        )
    ((currency, number),) = given.items()
    most = positive(decimal(number, name=currency), name=currency)
    shares, plans, balanced = _balanced_shares(plan_at, count, currency, most, schema)
    total = total_of(plans, currency)
    factor = most / total if total else Fraction(1)
    for _ in range(_ROUNDS if factor > 1 else 0):  # some questions are about different units
        plans = [plan_at(at, _rounded(most * share * factor)) for at, share in enumerate(shares)]
        total = total_of(plans, currency)
        if total <= most:
            break
        factor *= most / total * _NEARLY
    return BatchPlan(plans=tuple(plans), currency=currency, total=total, balanced=balanced)


def _balanced_shares(
    plan_at: PlanAt, count: int, currency: str, most: Fraction, schema: Schema
) -> tuple[list[Fraction], list[Plan], bool]:
    """Return the share of each question, the plans at these shares, and whether errors balance."""
    power = 1 if currency == "epsilon" else 2  # noise is 1 / epsilon wide, or 1 / sqrt(rho)
    shares = [Fraction(1, count)] * count
    plans = [plan_at(at, _rounded(most * share)) for at, share in enumerate(shares)]
    for _ in range(_ROUNDS):
        errors = [_relative_error(plan, schema) for plan in plans if not plan.exact]
        known = [error for error in errors if error is not None]
        if len(known) < len(errors) or not known:
            return shares, plans, False
        if max(known) <= _EVEN * min(known):
            break
        found = iter(known)
        weights = [
            share * (1 if plan.exact else next(found) / max(known)) ** power
            for share, plan in zip(shares, plans, strict=True)
        ]
        shares = [(weight / sum(weights)).limit_denominator(_DIGITS**2) for weight in weights]
        plans = [plan_at(at, _rounded(most * share)) for at, share in enumerate(shares)]
    return shares, plans, True


def _relative_error(plan: Plan, schema: Schema) -> Fraction | None:
    """Return the largest half-width of a plan as a share of its number, where that is known."""
    expected = expect(plan, schema)
    shares = [each.share for each in expected.outputs] if expected else []
    known = [share for share in shares if share]
    return max(known).limit_denominator(_DIGITS**2) if known else None


def _rounded(price: Fraction) -> Fraction:
    """Round a price down to a few digits, so that it can be read."""
    digits = _DIGITS
    while price * digits < _DIGITS // 10:
        digits *= 10
    return Fraction(int(price * digits), digits)


def total_of(plans: Sequence[Plan], currency: str) -> Fraction:
    """Return what plans cost a unit together, as a privacy filter counts them."""
    paid = [plan for plan in plans if not plan.exact]
    if not paid:
        return Fraction(0)
    delta = Fraction(1, 2) if any(plan.delta for plan in paid) else Fraction(0)
    limits: dict[str, Any] = {currency: _ROOM, "delta": delta}
    owed = PrivacyFilter(Budget(**limits), unit=paid[0].unit)
    owed.share(column for plan in paid for column, _ in plan.scope.conditions)
    for plan in paid:
        try:
            owed.charge(plan.tree, scope=plan.scope)
        except WrongKind:  # as for a charge
            owed.charge(plan.tree, scope=plan.scope, delta=plan.delta)
    return amount_value(owed.spent[owed.budget.components.index(currency)])
