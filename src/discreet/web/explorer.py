"""The explorer: error against budget, known before anything is asked.

Trust: public.  It reads the policy and a public guess at the number of people, and no data.

Definition.  Laplace noise is scaled to distance / epsilon, so the half-width of an interval for a
count or a total is k / epsilon, for a number k of the question alone.  A mean is a total over a
count, both with noise: A / epsilon over n - C / epsilon, which is k / (epsilon - offset), and no
wider than the range of its values.  So two numbers draw the whole curve.  Beside it lies the floor
of sampling error, below which no budget helps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, final

from discreet.charts import NARROW, Axis, Chart, Picture
from discreet.errors import OutOfRange
from discreet.plan.plan import Plan
from discreet.requests.table_schema import Schema
from discreet.web.question_builder import Clicked

_OF_COUNTS: Final = Fraction(1, 100)
"""The epsilon at which k of a count is read off: small, so that rounding is little of it."""
_OF_MEANS: Final = (Fraction(1), Fraction(1, 4))
"""Those of totals and means: so large that no interval reaches the ends of the range."""
EPSILONS: Final = tuple(10.0 ** (k / 4) for k in range(-12, 5))
_NORMAL: Final = 1.96
_MOST_GROUPS: Final = 60
"""How many groups a page lists."""
_COUNTS: Final = frozenset({"count", "people"})
_MEANS: Final = frozenset({"avg", "median"})
_DOTS: Final = 25
_MIDDLE: Final = 0.5


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
    offset: float = 0.0
    """The epsilon at which a mean tells nothing, since its count is lost in noise."""
    most: float = math.inf
    """How wide an interval gets at most."""
    size: int = 1
    """How many rows each group has, roughly."""

    def error(self, *, epsilon: float) -> float:
        """Return the half-width at a price."""
        if epsilon <= self.offset:
            return self.most
        return min(self.k / (epsilon - self.offset), self.most)

    def epsilon(self, *, error: float) -> float:
        """Return the price of a half-width."""
        return self.k / error + self.offset

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
    references = (_OF_COUNTS,) if clicked.aggregate in _COUNTS else _OF_MEANS
    most = _range(clicked, schema) if clicked.aggregate in _MEANS else math.inf
    known = [
        (float(epsilon), *_predicted(planned(question, {**shared, "epsilon": str(epsilon)})))
        for epsilon in references
        for shared in [{"size": size, "confidence": confidence}]
    ]
    offset = _offset(known, most)
    epsilon, output, half = known[0]
    return ErrorCurve(
        question=question,
        output=output,
        k=half * (epsilon - offset),
        floor=_floor(clicked, schema, size),
        groups=groups,
        offset=offset,
        most=most,
        size=size,
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class QuantilePlaces:
    """Where twenty-five equally likely answers lie on a plot, and how far its ends are off."""

    circles: tuple[tuple[int, int], ...]
    most: float


def quantile_places(half_width: float, confidence: float) -> QuantilePlaces:
    """Place 25 quantiles of Laplace noise with a known half-width, as ``drawDots`` does.

    >>> places = quantile_places(3.0, 0.95)
    >>> len(places.circles), places.circles[12], round(places.most, 3)
    (25, (240, 84), 3.546)
    """
    scale = -half_width / math.log(1 - confidence)
    levels = [(2 * at + 1) / (2 * _DOTS) for at in range(_DOTS)]
    values = [
        scale * math.log(2 * p) if p < _MIDDLE else -scale * math.log(2 * (1 - p)) for p in levels
    ]
    most = values[-1] * 1.1
    heights: dict[int, int] = {}
    circles = []
    for value in values:
        column = math.floor(10 * value / most + _MIDDLE)
        heights[column] = heights.get(column, 0) + 1
        circles.append((240 + 20 * column, 120 - 12 * heights[column]))
    return QuantilePlaces(circles=tuple(circles), most=most)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GroupError:
    """One group: how many rows it has, roughly, and how far off its number would be.

    ``relative`` is the error as a share of the number that is to be expected: the middle of the
    range for means.
    """

    name: str
    size: int
    value: float
    k: float
    offset: float
    error: float

    @property
    def relative(self) -> float:
        """The error in parts of the number; infinite where that is zero."""
        return self.error / abs(self.value) if self.value else math.inf


def group_errors(
    clicked: Clicked,
    schema: Schema,
    curve: ErrorCurve,
    *,
    sizes: Mapping[int, int],
    epsilon: float,
) -> list[GroupError]:
    """Return the error of each public group.

    The noise of a mean of n rows is k / n times what it is for one, and so is its offset; that of
    counts and totals does not depend on n.

    Args:
        clicked: the statistic.
        schema: its table.
        curve: its errors for groups of ``curve.size`` rows.
        sizes: public guesses at the rows of some groups, by their places in the list.
        epsilon: what is paid.
    """
    found = []
    for place, name in enumerate(_names(clicked, schema)[:_MOST_GROUPS]):
        size = max(1, sizes.get(place, curve.size))
        scale = curve.size / size if clicked.aggregate in _MEANS else 1.0
        own = replace(curve, k=curve.k * scale, offset=curve.offset * scale)
        found.append(
            GroupError(
                name=name,
                size=size,
                value=_expected(clicked, schema, size),
                k=own.k,
                offset=own.offset,
                error=own.error(epsilon=epsilon),
            )
        )
    return found


def _names(clicked: Clicked, schema: Schema) -> list[str]:
    table = schema.table(clicked.table)
    column = None if table is None or not clicked.groups else table.column(clicked.groups[0])
    if column is None:
        return ["all together"]
    return [str(each) for each in (column.categories or (False, True))]


def _expected(clicked: Clicked, schema: Schema, size: int) -> float:
    if clicked.aggregate in _COUNTS:
        return float(size)
    table = schema.table(clicked.table)
    column = None if table is None else table.column(clicked.column)
    if column is None or column.low is None or column.high is None:
        return 0.0
    middle = float(column.low + column.high) / 2
    return middle * size if clicked.aggregate == "sum" else middle


def _predicted(plan: Plan) -> tuple[str, float]:
    for each in reversed(plan.predicted):
        if each.half_width is not None:
            return each.output, float(each.half_width)
    raise OutOfRange(
        what="the error of this statistic is not known beforehand.",
        why="it depends on how values are spread, which only the data knows.",
        do="choose a count, a total or a mean.",
    )


def _offset(known: list[tuple[float, str, float]], most: float) -> float:
    """Solve h (epsilon - offset) = k for two known half-widths."""
    if len(known) == 1 or known[1][2] >= most:
        return 0.0
    (first, _, narrow), (second, _, wide) = known
    if wide <= narrow:
        return 0.0
    return max(0.0, (second * wide - first * narrow) / (wide - narrow))


def _groups(clicked: Clicked, schema: Schema) -> int:
    table = schema.table(clicked.table)
    known = {column.name: column for column in table.columns} if table is not None else {}
    sizes = (known[name].categories for name in clicked.groups if name in known)
    return math.prod(2 if values is None else len(values) for values in sizes)


def _floor(clicked: Clicked, schema: Schema, size: int) -> float:
    """Return the 95 % sampling error: at most, since spread is at most half of the range."""
    if clicked.aggregate in _COUNTS:
        return _NORMAL * math.sqrt(size) / 2
    spread = _range(clicked, schema) / 2
    if math.isinf(spread):
        return 0.0
    if clicked.aggregate == "sum":
        return _NORMAL * spread * math.sqrt(size)
    return _NORMAL * spread / math.sqrt(size)


def _range(clicked: Clicked, schema: Schema) -> float:
    table = schema.table(clicked.table)
    columns = () if table is None else table.columns
    facts = next((column for column in columns if column.name == clicked.column), None)
    if facts is None or facts.low is None or facts.high is None:
        return math.inf
    return float(facts.high - facts.low)
