"""A plan in the making: what is given, and what the steps have found so far.

Trust: kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, final

from discreet.plan.asked import Asked
from discreet.plan.calibration import Calibrated
from discreet.plan.fan_out import PublicRows
from discreet.plan.groups import Groups
from discreet.plan.limits_of_unit import Contributions
from discreet.plan.lowered import Lowered
from discreet.plan.measures import Measured
from discreet.plan.outputs import Estimate, Shown
from discreet.plan.plan import Predicted
from discreet.plan.policy import Policy
from discreet.plan.price_asked import Ask, Given
from discreet.plan.schema import Schema
from discreet.plan.sketch import Sketch
from discreet.query.expressions import Expression
from discreet.query.question import Clause, Question
from discreet.units import PrivacyUnit

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from discreet.plan.promise import Promise
    from discreet.plan.reached import Reached
    from discreet.plan.search import FoundBounds, Search, Target

__all__ = ["Draft", "found"]

Found = TypeVar("Found")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Everything that is known of a plan; what is None was not worked out yet."""

    question: Question
    schema: Schema
    policy: Policy
    unit: PrivacyUnit
    public_rows: PublicRows
    given: Given
    ceiling: bool
    ask: Ask | None = None
    asked: Asked | None = None
    groups: Groups | None = None
    contributions: Contributions | None = None
    measured: Measured | None = None
    estimates: tuple[Estimate, ...] = ()
    shown: Shown | None = None
    reached: Reached | None = None
    sketch: Sketch | None = None
    calibrated: Calibrated | None = None
    lowered: Lowered | None = None
    predicted: tuple[Predicted, ...] = ()
    found: tuple[FoundBounds, ...] = ()
    promise: Promise | None = None
    targets: tuple[Target, ...] = ()
    searched: tuple[Expression | None, ...] = ()
    search: Search | None = None

    @property
    def clause(self) -> Clause:
        """The clause of the question, empty if there is none."""
        return self.question.clause or Clause()


def found(value: Found | None) -> Found:
    """Return what an earlier step has found.

    >>> found(3)
    3
    """
    if value is None:
        message = "a step of planning was taken before the one that it rests on"
        raise RuntimeError(message)
    return value
