"""Planning in a session: everything that can be refused is refused here, and nothing is spent.

Trust: kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from discreet.engines.engine import Engine
from discreet.plan.plan import Plan
from discreet.plan.policy import Policy
from discreet.plan.schema import Schema
from discreet.plan.steps import plan as planned
from discreet.query.question import Question
from discreet.session.inquiry import Price
from discreet.session.public_tables import PublicTables
from discreet.units import PrivacyUnit

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from discreet.plan.search import FoundBounds
    from discreet.plan.settling import Settled

__all__ = ["Planning"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """What plans are made from; ``ceiling`` says that the policy's highest price holds."""

    engine: Engine
    schema: Schema
    policy: Policy
    unit: PrivacyUnit
    ceiling: bool

    def planned(
        self,
        question: Question,
        price: Price,
        *,
        found: tuple[FoundBounds, ...],
        concentrated: bool,
    ) -> Plan:
        """Plan a question, with bounds that were found for it before.

        ``concentrated`` says that the budget that pays is kept in something else than epsilon.
        """
        plan = planned(
            question,
            schema=self.schema,
            policy=self.policy,
            unit=self.unit,
            public_rows=self._public_rows,
            found_bounds=found,
            concentrated=concentrated,
            ceiling=self.ceiling,
            **price,
        )
        stages = [plan.lowered]
        if plan.search is not None:
            final, _ = self.settled(plan, plan.search.widest)
            stages = [plan.search.lowered, final.lowered]
        for lowered in stages:
            self.engine.check(lowered)  # refuses what it cannot do
        return plan

    def settled(self, plan: Plan, found: tuple[FoundBounds, ...]) -> Settled:
        """Plan the answer once bounds are found."""
        from discreet.plan.settling import settled  # noqa: PLC0415  rare

        return settled(
            plan, found, schema=self.schema, policy=self.policy, public_rows=self._public_rows
        )

    @property
    def _public_rows(self) -> PublicTables:
        return PublicTables(self.engine, self.schema)
