"""What a budget counts for a plan, in its own amounts.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.errors import WrongKind

if TYPE_CHECKING:  # both are handed in
    from discreet.accounting import Budget
    from discreet.plan.plan import Plan


def amounts_of_plan(budget: Budget, plan: Plan) -> Sequence[int]:
    """Return what a budget counts for a plan; a delta is spent only where it has to be."""
    try:
        return budget.price(plan.loss)
    except WrongKind:
        return budget.price(plan.loss, delta=plan.delta)
