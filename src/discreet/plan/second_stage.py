"""The second stage of a question with missing bounds: planned again once they are found.

Trust: kernel.

The answer is planned from the released bounds alone, so no data decides how it is protected.  It
has to keep the price that was charged for it before the search began (key ``bounds-composition``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from discreet.errors import WrongKind
from discreet.plan.binding.fan_out import PublicRows
from discreet.plan.bounds_price import check_promise
from discreet.plan.bounds_search import FoundBounds
from discreet.plan.draft import Draft
from discreet.plan.plan import Plan
from discreet.plan.policy.policy import Policy
from discreet.plan.steps import run_steps
from discreet.requests.table_schema import Schema

SecondStage = tuple[Plan, str]
"""A plan of the answer, and the digest of its second stage alone."""


def plan_second_stage(
    plan: Plan,
    found: Sequence[FoundBounds],
    *,
    schema: Schema,
    policy: Policy,
    public_rows: PublicRows,
) -> SecondStage:
    """Return the plan of an answer with the bounds that were found for it.

    It has the digest, the tree and the price of the plan that was charged.
    """
    search = plan.search
    if search is None or len(found) != len(search.targets):
        raise WrongKind(
            what="these are not the bounds that the plan has looked for.",
            why="what is computed follows from them.",
            do="plan the question anew.",
        )
    stage = run_steps(
        Draft(
            question=plan.question,
            schema=schema,
            policy=policy,
            unit=plan.unit,
            public_rows=public_rows,
            given=search.given,
            ceiling=False,  # the whole price was held against the limits before it was charged
            found=tuple(found),
            promise=search.promise,
        )
    )
    check_promise(search.promise, stage.tree, stage.price, plan.unit)
    final = replace(
        stage,
        tree=plan.tree,
        price=plan.price,
        digest=plan.digest,
        search=search,
    )
    return final, stage.digest
