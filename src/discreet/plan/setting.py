"""What is decided of a question before noise is chosen: who is protected, and what is measured.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, final

from discreet.plan.binding.bound_question import BoundQuestion
from discreet.plan.estimator import Estimator
from discreet.plan.pricing.group_sensitivity import ReleaseInput
from discreet.plan.pricing.requested_price import RequestedPrice
from discreet.plan.statistics.contribution_bounds import ContributionBounds
from discreet.plan.statistics.partition_selection import GroupSelection
from discreet.query.question import Clause
from discreet.requests.engine_request import Measure
from discreet.requests.table_schema import Product
from discreet.units import PrivacyUnit

if TYPE_CHECKING:  # made by a later step
    from discreet.plan.pricing.release_parts import SumSelection
    from discreet.plan.workload.cubes import Cube
    from discreet.plan.workload.group_windows import RunningCounts
    from discreet.plan.workload.simplex import SimplexWorkload
    from discreet.plan.workload.strategies import Workload


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


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredAggregates:
    """All measures, and for each aggregate how it is computed and from what.

    ``about`` says in words what each measure holds; ``counts_units`` whether units are counted too;
    ``workload`` which totals are measured together in cells, and whether their ``sums`` choose the
    groups; ``running`` which ones from sums of
    groups, and ``cube`` which tables of grouping sets; ``levels`` at which levels of a histogram
    quantiles are, where there are several.
    """

    measures: tuple[Measure, ...]
    estimators: tuple[Estimator, ...]
    uses: tuple[tuple[ReleaseInput, ...], ...]
    about: Mapping[str, str]
    counts_units: bool = False
    workload: Workload | SimplexWorkload | None = None
    sums: SumSelection | None = None
    running: tuple[RunningCounts, ...] = ()
    cube: Cube | None = None
    levels: Mapping[str, tuple[Fraction, ...]] = field(default_factory=dict)

    def summed(self, measure: str) -> RunningCounts | Cube | None:
        """Return the sums of groups that are measured in place of the totals of groups, if any."""
        if self.cube is not None:
            return replace(self.cube, measure=measure)
        return next((each for each in self.running if each.measure == measure), None)
