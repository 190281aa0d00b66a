"""Where a plan stands before the ledger: answered before, affordable, and what is left after it.

Trust: public.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.accounting import Left
from discreet.accounting.amounts import shown_down
from discreet.accounting.currency import Amounts
from discreet.errors import LedgerError, WrongKind
from discreet.ledger import Ledger
from discreet.plan.plan import Plan
from discreet.plan.standing import Standing

__all__ = ["standing_of"]


def standing_of(plan: Plan, ledger: Ledger, account: str | None) -> Standing | None:
    """Look a plan up in a ledger, as things stand now; None where that cannot be told.

    What is left after it is about the units of its scope.
    """
    try:
        found = ledger.find(plan.digest)
        if found is not None:
            return Standing(entry=found.receipt.seq, fits=True, left="")
        left = ledger.left(plan.scope, account=account)
        fits, price = _priced(plan, left)
    except (LedgerError, WrongKind):
        return None
    after = tuple(max(have - pay, 0) for have, pay in zip(left.amounts, price, strict=True))
    return Standing(entry=None, fits=fits, left=_shown(left, after if fits else left.amounts))


def _priced(plan: Plan, left: Left) -> tuple[bool, Amounts]:
    """Say whether a plan fits, and what it costs; as for a charge, a delta only if it must be."""
    delta: Fraction | None = None
    try:
        price = left.budget.price(plan.loss)
    except WrongKind:
        delta = plan.delta
        price = left.budget.price(plan.loss, delta=delta)
    return left.fitting(plan.tree, delta)(1), price


def _shown(left: Left, amounts: Amounts) -> str:
    parts = zip(left.budget.components, amounts, left.budget.limit, strict=True)
    return ", ".join(
        f"{name} {shown_down(have)} of {shown_down(limit)}"
        for name, have, limit in parts
        if limit or name != "delta"
    )
