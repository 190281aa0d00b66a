"""What one call buys is allowed, confirmed and affordable as a whole, or nothing of it is paid for.

Trust: kernel.

Definition.  A call *buys* the plans that it needs and that are not answered on record: the question
itself, the spreads from which its limits follow, and the share that limits cut.  Each is a charge
of its own.  Their prices are added up, and the sums are held against the policy's maximum and
against the largest price that needs no confirmation, in whichever parts they are charged.  A price
counts in the currency in which the policy allows it.

While limits are still to be bought, a stand-in with the smallest limits takes the place of the
question: its price is the same, and so are nearly all reasons to refuse it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.errors import NotAllowed, OverBudget
from discreet.plan.pricing.calibration import Price
from discreet.plan.pricing.requested_price import check_confirmed
from discreet.session.planning import fits_after

if TYPE_CHECKING:  # handed in
    from discreet.ledger.ledger import Ledger
    from discreet.plan.plan import Plan
    from discreet.plan.policy.policy import Limits
    from discreet.session.answer_pipeline import AnswerPipeline


def check_maximum(epsilon: Fraction, limits: Limits, *, what: str) -> None:
    """Refuse a purchase above the policy's maximum, before it is divided into parts.

    >>> from discreet.plan.policy.policy import Limits
    >>> check_maximum(Fraction(2), Limits(max_epsilon=Fraction(2)), what="limits")
    """
    if limits.max_epsilon is not None and epsilon > limits.max_epsilon:
        raise _above(what, "epsilon", epsilon, limits.max_epsilon)


def check_prices(prices: Iterable[Price], limits: Limits) -> None:
    """Refuse what costs more together than the policy allows.

    >>> from discreet.plan.policy.policy import Limits
    >>> check_prices([Price(epsilon=Fraction(1))] * 2, Limits(max_epsilon=Fraction(2)))
    """
    most = {"epsilon": limits.max_epsilon, "rho": limits.max_rho}
    sums = dict.fromkeys(most, Fraction(0))
    for price in prices:
        for name, allowed in most.items():
            paid = getattr(price, name)
            if allowed is not None and paid is not None and paid <= allowed:
                sums[name] += paid
                break
    for name, allowed in most.items():
        if allowed is not None and sums[name] > allowed:
            raise _above("all that is asked for", name, sums[name], allowed)


def check_all_confirmed(prices: Sequence[Price], limits: Limits) -> None:
    """Refuse what costs more together than is paid without being confirmed.

    >>> from discreet.plan.policy.policy import Limits
    >>> check_all_confirmed([Price(epsilon=Fraction(5))] * 2, Limits())
    """
    epsilons = [price.epsilon for price in prices if price.epsilon is not None]
    rhos = [price.rho for price in prices if price.epsilon is None and price.rho is not None]
    for total in (Price(epsilon=sum(epsilons, Fraction(0))), Price(rho=sum(rhos, Fraction(0)))):
        check_confirmed(total, limits, what="all that is asked for")


def check_fit(
    plans: Sequence[Plan], later: Sequence[Plan], ledger: Ledger, pipeline: AnswerPipeline
) -> None:
    """Refuse plans that do not fit into the budget one after the other, with those that follow.

    What was paid for before a crash is not paid again.  Units of a scope pay for every plan that
    may be about them: for each scope, all plans count whose scope is not a smaller one.
    """
    if _fit((*plans, *later), ledger, pipeline.account):
        return
    paid = {entry.get("key") for entry in ledger.entries() if entry.get("kind") == "charge"}
    rest = [plan for plan in plans if not paid & pipeline.keys(plan)]
    if len(rest) == len(plans) or not _fit((*rest, *later), ledger, pipeline.account):
        raise OverBudget(
            what="all that is asked for does not fit into the budget.",
            why="a part of it would be paid for, and the rest refused; nothing was spent.",
            do="lower one of the prices; session.remaining shows what is left.",
        )


def _fit(plans: Sequence[Plan], ledger: Ledger, account: str | None) -> bool:
    for at in plans:
        left: Any = ledger.left(at.scope, account=account)
        for plan in plans:
            if plan.scope.covers(at.scope) or not at.scope.covers(plan.scope):
                left = fits_after(plan, left)
                if left is None:
                    return False
    return True


def _above(what: str, name: str, price: Fraction, most: Fraction) -> NotAllowed:
    return NotAllowed(
        what=f"{what} costs {name} {float(price):.4g}; the policy allows {float(most):.4g} for one "
        "question.",
        why="the owner of the data has limited what a single answer may tell about anybody; what "
        "is bought with it counts too.  Nothing was spent.",
        do=f"lower the prices, to {float(most):.4g} together.",
    )
