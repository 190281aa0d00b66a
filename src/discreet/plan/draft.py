"""A plan in the making: what is given, and what the steps have found so far.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar, final

from discreet.query.question import Clause, Question

if TYPE_CHECKING:  # a draft holds what the steps make, and makes nothing itself
    from discreet.plan.aggregates.measured import MeasuredAggregates
    from discreet.plan.binding.bound_question import BoundQuestion
    from discreet.plan.binding.fan_out import PublicRows
    from discreet.plan.bounds_price import PricePromise
    from discreet.plan.bounds_search import BoundsSearch, BoundsTarget, FoundBounds
    from discreet.plan.plan import Predicted
    from discreet.plan.policy.policy import Policy
    from discreet.plan.pricing.calibration import Calibrated
    from discreet.plan.pricing.release_parts import UnpricedRelease
    from discreet.plan.pricing.requested_price import PriceArguments, RequestedPrice
    from discreet.plan.statistics.answer_layout import AnswerLayout, Estimate
    from discreet.plan.statistics.contribution_bounds import ContributionBounds
    from discreet.plan.statistics.having_threshold import HavingThreshold
    from discreet.plan.statistics.partition_selection import GroupSelection
    from discreet.query.expressions import Expression
    from discreet.requests.engine_request import EngineRequest
    from discreet.requests.table_schema import Schema
    from discreet.units import PrivacyUnit

Required = TypeVar("Required")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Everything that is known of a plan; what is None was not worked out yet."""

    question: Question
    schema: Schema
    policy: Policy
    unit: PrivacyUnit
    public_rows: PublicRows
    given: PriceArguments
    ceiling: bool
    own_delta: Callable[[], Fraction] = Fraction  # what a question may spend that names no delta
    ask: RequestedPrice | None = None
    bound: BoundQuestion | None = None
    groups: GroupSelection | None = None
    contributions: ContributionBounds | None = None
    measured: MeasuredAggregates | None = None
    estimates: tuple[Estimate, ...] = ()
    layout: AnswerLayout | None = None
    having_threshold: HavingThreshold | None = None
    unpriced: UnpricedRelease | None = None
    calibrated: Calibrated | None = None
    request: EngineRequest | None = None
    predicted: Sequence[Predicted] = ()
    found: tuple[FoundBounds, ...] = ()
    promise: PricePromise | None = None
    targets: tuple[BoundsTarget, ...] = ()
    searched: tuple[Expression | None, ...] = ()
    search: BoundsSearch | None = None

    @property
    def clause(self) -> Clause:
        """The clause of the question, empty if there is none."""
        return self.question.clause or Clause()


def required(value: Required | None) -> Required:
    """Return what an earlier step has found.

    >>> required(3)
    3
    """
    if value is None:
        message = "a step of planning was taken before the one that it rests on"
        raise RuntimeError(message)
    return value
