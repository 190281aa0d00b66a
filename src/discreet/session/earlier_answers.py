"""Answers of earlier versions: found on record, whatever the rules of planning are today.

Trust: kernel.  Whatever is found here was paid for, and is told again for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError
from discreet.ledger.ledger import Ledger
from discreet.plan.plan import Plan
from discreet.plan.planning_rules import PlanningRules, earlier_rules
from discreet.requests.engine_request import DistinctCount

if TYPE_CHECKING:  # a record is handed in
    from discreet.session.record import Record


def on_record(plan: Plan, planned: Callable[[PlanningRules], Plan], ledger: Record) -> Plan:
    """Return a plan, or that of an earlier version for the same question if it was answered.

    ``planned`` plans the question by the rules of an earlier version.  Those of the latest version
    come first; a version may have refused the question, or planned it as another did.
    """
    if not plan.had_earlier or _is_new(ledger) or _is_answered(plan, ledger):
        return plan
    counts = any(isinstance(each, DistinctCount) for each in plan.request.measures)
    for rules in earlier_rules(plan.noises, counts_values=counts):
        try:
            before = planned(rules)
        except DiscreetError:  # that version refused the question
            continue
        if _is_answered(before, ledger):
            return before
    return plan


def _is_new(ledger: Record) -> bool:
    """Whether nothing was ever charged, so that no version can have answered anything."""
    try:
        return isinstance(ledger, Ledger) and not any(
            entry["kind"] == "charge" for entry in ledger.entries()
        )
    except DiscreetError:
        return False


def _is_answered(plan: Plan, ledger: Record) -> bool:
    try:
        return ledger.find(plan.digest) is not None
    except DiscreetError:  # the ledger cannot be read now, which asking will say
        return False
