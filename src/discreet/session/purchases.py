"""What one call buys beside an answer: limits before it, and the share that they cut after it.

Trust: kernel.  Each is a plan of its own, charged and recorded before data is read.  All that a
call buys is checked before the first charge (:mod:`discreet.session.purchase_checks`); limits that
are still to be bought are stood in for by the smallest ones.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, final

from discreet.ledger.ledger import Ledger
from discreet.plan.statistics.limit_choice import LimitsPrice, QuestionLimits, SharePrice
from discreet.session.limit_purchases import (
    CUTS,
    Planner,
    check_limits,
    choose_limits,
    cut_share,
    not_bought,
    plan_share,
    plan_spreads,
    rough_epsilon,
    stand_in,
)
from discreet.session.purchase_checks import (
    check_all_confirmed,
    check_fit,
    check_maximum,
    check_prices,
)

if TYPE_CHECKING:  # handed in
    from fractions import Fraction

    from discreet.plan.binding.bound_question import BoundQuestion
    from discreet.plan.plan import Plan
    from discreet.plan.policy.policy import Limits
    from discreet.query.question import Question
    from discreet.release.release import Release
    from discreet.session.answer_pipeline import AnswerPipeline
    from discreet.session.inquiry import PriceOptions


class Answering(Protocol):
    """Answers a plan; a price that was checked before is confirmed."""

    def __call__(self, plan: Plan, *, confirm: bool) -> Release:
        """Charge, read, add noise, record."""


def nothing_else(_: Plan) -> tuple[Plan, ...]:
    """Buy nothing beside a plan."""
    return ()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Purchases:
    """Buys for one call of a session; without ``limits``, nothing that is answered is private."""

    bind: Callable[[Question], BoundQuestion]
    planned: Planner
    answer: Answering
    pipeline: AnswerPipeline
    limits: Limits | None
    ceilings: Callable[[Question], QuestionLimits]

    def limited(
        self,
        question: Question,
        wanted: object,
        price: PriceOptions,
        *,
        confirm: bool | None,
        beside: Callable[[Plan], tuple[Plan, ...]],
    ) -> Plan:
        """Plan a question within limits of its own, which may have to be bought first.

        ``confirm`` is None where the question is only planned, and ``beside`` returns what else the
        call will buy, or refuses it.
        """
        limits = check_limits(wanted)
        if not isinstance(limits, LimitsPrice):
            return self.planned(limits.applied(question), price)
        bound = self.bind(question)
        epsilon = rough_epsilon(bound.question, price)
        self._check_maximum(limits.epsilon, "finding limits")
        spreads = plan_spreads(bound, limits, self.planned)
        if self.unanswered(*spreads.values()):
            draft = self.planned(stand_in(bound).applied(question), price)
            if confirm is None:
                raise not_bought(spreads.values(), draft)
            self.check(*spreads.values(), later=(draft, *beside(draft)), confirm=confirm)
        releases = {name: self.answer(plan, confirm=True) for name, plan in spreads.items()}
        ceilings = self.ceilings(question)
        found = choose_limits(bound, limits, epsilon, releases, ceilings)
        return replace(self.planned(found.limits.applied(question), price), found_limits=found)

    def share_later(self, draft: Plan, wanted: SharePrice) -> tuple[Plan, ...]:
        """Plan the share that limits cut, as long as these are still to be bought."""
        return (self._share(draft, wanted, kinds={"rows"}),)

    def with_share(self, plan: Plan, wanted: SharePrice, *, confirm: bool) -> Release:
        """Answer a plan, and buy the share of rows that its limits leave out."""
        share = self._share(plan, wanted)
        self.check(plan, share, confirm=confirm)
        answer, found = (self.answer(each, confirm=True) for each in (plan, share))
        return replace(answer, share=cut_share(found, wanted, plan.confidence))

    def _share(self, plan: Plan, wanted: SharePrice, kinds: AbstractSet[str] = CUTS) -> Plan:
        self._check_maximum(wanted.epsilon, "the share that is cut")
        return plan_share(plan, wanted, self.bind, self.planned, kinds)

    def unanswered(self, *plans: Plan) -> tuple[Plan, ...]:
        """Return the plans that are not answered on record."""
        record = self.pipeline.record
        return tuple(plan for plan in plans if record.find(plan.digest) is None)

    def _check_maximum(self, epsilon: Fraction, what: str) -> None:
        if self.limits is not None:
            check_maximum(epsilon, self.limits, what=what)

    def check(self, *plans: Plan, later: tuple[Plan, ...] = (), confirm: bool) -> None:
        """Refuse what one call buys if a part of it would be refused after others are paid for.

        ``later`` are stand-ins for what follows once these plans are answered.
        """
        new = self.unanswered(*plans)
        prices = [plan.price for plan in (*new, *later)]
        if self.limits is not None:
            check_prices(prices, self.limits)
            if not confirm:
                check_all_confirmed(prices, self.limits)
        if isinstance(self.pipeline.record, Ledger):
            check_fit(new, later, self.pipeline.record, self.pipeline)
