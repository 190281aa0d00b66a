"""What is decided of a question before anything is measured.

Trust: kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from discreet.plan.binding.bound_question import BoundQuestion
from discreet.plan.pricing.requested_price import RequestedPrice
from discreet.plan.statistics.contribution_bounds import ContributionBounds
from discreet.plan.statistics.partition_selection import GroupSelection
from discreet.query.question import Clause
from discreet.requests.table_schema import Product
from discreet.units import PrivacyUnit


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Who is protected, at which price, and the bound question with its groups and limits.

    ``blind`` says that bounds on values are found later, so that they must not decide how the
    question is answered.
    """

    unit: PrivacyUnit
    ask: RequestedPrice
    bound: BoundQuestion
    groups: GroupSelection
    limits: ContributionBounds
    blind: bool = False

    @property
    def clause(self) -> Clause:
        """The clause of the question, empty if there is none."""
        return self.bound.question.clause or Clause()

    @property
    def shared(self) -> bool:
        """Whether totals may share noise: for listed groups, by names that follow from the text."""
        return not (self.blind or isinstance(self.groups.public, Product))
