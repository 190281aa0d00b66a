"""The explorer: error against budget, known before anything is asked.

Trust: public.  It reads the policy and a public guess at the number of people, and no data.

Definition.  Laplace noise is scaled to distance / epsilon, so the half-width of an interval is
k / epsilon, for a number k of the question alone.  Two numbers draw the whole curve: k, and the
floor of sampling error, below which no budget helps.  k is read off a plan at a small epsilon,
where rounding to whole numbers is little of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

from discreet.charts import NARROW, Axis, Chart, Picture
from discreet.errors import OutOfRange
from discreet.plan.plan import Plan
from discreet.requests.table_schema import Schema
from discreet.web.question_builder import Clicked

REFERENCE: Final = Fraction(1, 100)
"""The epsilon at which k is read off: small, so that whole numbers round it by little."""
EPSILONS: Final = tuple(10.0 ** (k / 4) for k in range(-12, 5))
_NORMAL: Final = 1.96


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCurve:
    """How the error of one number follows from epsilon.

    >>> curve = ErrorCurve(question="SELECT ...", output="n", k=3.0, floor=49.0, groups=1)
    >>> curve.error(epsilon=0.5), curve.epsilon(error=6)
    (6.0, 0.5)
    """

    question: str
    output: str
    k: float
    floor: float
    groups: int

    def error(self, *, epsilon: float) -> float:
        """Return the half-width at a price."""
        return self.k / epsilon

    def epsilon(self, *, error: float) -> float:
        """Return the price of a half-width."""
        return self.k / error

    def picture(self, *, epsilon: float) -> Picture:
        """Draw the curve, the floor and one point, both axes logarithmic."""
        points = [(each, self.error(epsilon=each)) for each in EPSILONS]
        low = 10.0 ** math.floor(math.log10(min(self.floor or math.inf, points[-1][1])))
        high = 10.0 ** math.ceil(math.log10(max(self.floor, points[0][1])))
        ticks = [10.0**k for k in range(round(math.log10(low)), round(math.log10(high)) + 1)]
        here = min(max(epsilon, EPSILONS[0]), EPSILONS[-1])
        chart = Chart(
            width=NARROW,
            title=f"Error of {self.output[:24]}, and its price",
            x=Axis(label="epsilon", low=1e-3, high=10, ticks=(1e-3, 1e-2, 0.1, 1, 10), log=True),
            y=Axis(label="± in each group", low=low, high=high, ticks=ticks, log=True),
            description=(
                f"epsilon {epsilon:.4g} gives ± {self.error(epsilon=epsilon):.4g}; "
                f"the sample itself errs by ± {self.floor:.4g}, whatever is paid"
            ),
        )
        chart.line(points, color=0, label="noise")
        if self.floor:
            ends = [(EPSILONS[0], self.floor), (EPSILONS[-1], self.floor)]
            chart.line(ends, color=1, label="sampling error", dashed=True)
        chart.dots([(here, self.error(epsilon=here))], color=2, label="yours")
        return chart.picture()


def curve_of(
    clicked: Clicked,
    schema: Schema,
    planned: Callable[[str, dict[str, Any]], Plan],
    *,
    people: int,
    confidence: str,
) -> ErrorCurve:
    """Plan what was clicked at a small price, and return its curve.

    ``people`` is a public guess at how many rows there are; they are taken to be spread evenly over
    the groups.
    """
    if people < 1:
        raise OutOfRange(
            what="the number of people is below one.",
            why="errors of means, and sampling errors, follow from it.",
            do="give a rough public guess, such as 10000.",
        )
    question = clicked.sql(schema)
    groups = _groups(clicked, schema)
    size = max(1, people // groups)
    plan = planned(question, {"epsilon": str(REFERENCE), "size": size, "confidence": confidence})
    known = [each for each in plan.predicted if each.half_width is not None]
    if not known:
        raise OutOfRange(
            what="the error of this statistic is not known beforehand.",
            why="it depends on how values are spread, which only the data knows.",
            do="choose a count, a total or a mean.",
        )
    half = known[-1].half_width
    assert half is not None  # noqa: S101  of those that are known
    return ErrorCurve(
        question=question,
        output=known[-1].output,
        k=float(half * REFERENCE),
        floor=_floor(clicked, schema, size),
        groups=groups,
    )


def _groups(clicked: Clicked, schema: Schema) -> int:
    table = schema.table(clicked.table)
    known = {column.name: column for column in table.columns} if table is not None else {}
    sizes = (known[name].categories for name in clicked.groups if name in known)
    return math.prod(2 if values is None else len(values) for values in sizes)


def _floor(clicked: Clicked, schema: Schema, size: int) -> float:
    """Return the 95 % sampling error: at most, since spread is at most half of the range."""
    if clicked.aggregate in {"count", "people"}:
        return _NORMAL * math.sqrt(size) / 2
    table = schema.table(clicked.table)
    columns = () if table is None else table.columns
    facts = next((column for column in columns if column.name == clicked.column), None)
    if facts is None or facts.low is None or facts.high is None:
        return 0.0
    spread = float(facts.high - facts.low) / 2
    if clicked.aggregate == "sum":
        return _NORMAL * spread * math.sqrt(size)
    return _NORMAL * spread / math.sqrt(size)
