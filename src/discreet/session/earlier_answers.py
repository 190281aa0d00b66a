"""Answers of earlier versions: found on record, whatever the rules of planning are today.

Trust: kernel.  Whatever is found here was paid for, and is told again for nothing.

Planning by the rules of an earlier version takes as long as planning by today's.  It is left out
where no charge on record can be one of that plan.  Earlier versions bought every sum by itself, and
a digest covers the tree that was charged: so the charge of a question of k different sums has k
leaves or more.  Sums of different values are different then as now, since the row of each holds its
value and its condition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError
from discreet.ledger.ledger import Ledger
from discreet.plan.aggregates.sums import Sum
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
    if not plan.had_earlier or _holds_no_such(plan, ledger) or _is_answered(plan, ledger):
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


def _holds_no_such(plan: Plan, ledger: Record) -> bool:
    """Whether no charge is large enough, so that no earlier version can have answered this.

    As many entries are looked at as there are sums: more of them take as long as planning does.
    """
    if not isinstance(ledger, Ledger):
        return False
    least = _least_leaves(plan)
    try:
        for number, entry in enumerate(ledger.entries()):
            charged = entry["kind"] == "charge"
            if charged and (number > least or _leaves(entry["tree"]) >= least):
                return False
    except DiscreetError:
        return False
    return True


def _least_leaves(plan: Plan) -> int:
    """Return how many leaves the plan of any earlier version has at least."""
    apart = all(
        isinstance(each.estimator, Sum)
        and each.estimator.count is None
        and not each.aggregate.distinct
        and each.aggregate.bounds_per_row is None
        and each.aggregate.bounds_per_group is None
        for each in plan.estimates
    )
    joined = any(noise.distances.strategy is not None for noise in plan.noises)
    if not apart or joined or plan.search is not None or plan.found:
        return 1
    return max(1, len({name for each in plan.estimates for name, _ in each.estimator.inputs()}))


def _leaves(tree: Any) -> int:
    """Count the leaves of a tree on record."""
    waiting, count = [tree], 0
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            count += node.get("kind") == "Leaf"
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
    return count


def _is_answered(plan: Plan, ledger: Record) -> bool:
    try:
        return ledger.find(plan.digest) is not None
    except DiscreetError:  # the ledger cannot be read now, which asking will say
        return False
