"""Estimators: how the columns of an answer follow from noisy numbers, and which are shown.

Trust: public.

How the columns of an answer follow from noisy numbers.

 Everything here is computed from what is released already.

Definition.  Let T(m) be the noisy total of measure m in a group, in whole steps.

    Units()                        the noisy number of units
    Count(m)                       T(m)
    Sum(m, step, center, count)    step T(m) + center T(count)
    Mean(m, count, ...)            center + step T(m) / T(count), within [low, high]
    Variance(m, squares, ...)      mean of squares minus square of the mean, at least 0
    QuantileEstimator(m, level, ...)        a value of the grid, chosen by its rank
    QuantilesEstimator(...)                 several of these, from the lowest level on

``step`` is the value of one unit of an integer total, and ``center`` what was taken off each value
before it was added up.

What a question shows: estimates of its aggregates, and columns that are computed from them.

 Everything here is computed from what is released already.

Definition.  Every different aggregate of a question has a *slot*, a column ``a0``, ``a1``, ...  The
columns of the answer, its condition and its order are expressions over slots (:class:`Column`) and
keys (:class:`Grouped`).  A slot of quantiles holds a list, and stands in an output by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

from discreet.plan.binding.bound_question import BoundQuestion
from discreet.query.expression_types import check_condition, typed
from discreet.query.expressions import Aggregate, Column, Expression, Order, transformed
from discreet.query.types import Type

__all__ = [
    "AnswerColumn",
    "AnswerLayout",
    "Count",
    "Estimate",
    "Estimator",
    "Grid",
    "Mean",
    "QuantileEstimator",
    "QuantilesEstimator",
    "Sum",
    "Units",
    "Variance",
    "answer_layout",
]


@final
@dataclass(frozen=True, slots=True)
class Units:
    """The number of units in the group."""


@final
@dataclass(frozen=True, slots=True)
class Count:
    """A number of rows, or of different values."""

    measure: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """A sum; where values were centered, a count puts back what was taken off."""

    measure: str
    step: Fraction
    center: Fraction = Fraction(0)
    count: str | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """A mean of values between public bounds."""

    measure: str
    count: str
    step: Fraction
    center: Fraction
    low: Fraction
    high: Fraction


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Variance:
    """A variance, or its root; ``offset`` was taken off each square before it was added up.

    ``sample`` divides by n - 1 where others divide by n.
    """

    mean: Mean
    squares: str
    square_step: Fraction
    offset: Fraction
    sample: bool
    root: bool


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The values that leaves stand for: leaf i for low + (i + shift) * width.

    It holds the values that are up to shift * width away from that, between ``low`` and ``high``.

    >>> Grid(low=Fraction(0), width=Fraction(1, 2), leaves=4, shift=Fraction(1, 2)).value(3)
    Fraction(7, 4)
    """

    low: Fraction
    width: Fraction
    leaves: int
    shift: Fraction = Fraction(0)
    high: Fraction | None = None

    def value(self, leaf: int) -> Fraction:
        """Return the value that a leaf stands for."""
        return self.low + (leaf + self.shift) * self.width


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileEstimator:
    """A value such that about a share ``level`` of n values, and ``offset`` more, lie below it.

    The plan has one :class:`discreet.plan.pricing.group_sensitivity.QuantileChoice` for the same
    measure and level.
    """

    measure: str
    level: Fraction
    offset: int
    grid: Grid


@final
@dataclass(frozen=True, slots=True)
class QuantilesEstimator:
    """Values at several levels, which rise."""

    each: tuple[QuantileEstimator, ...]


Estimator = Units | Count | Sum | Mean | Variance | QuantileEstimator | QuantilesEstimator
"""What an aggregate of a question is computed from."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A slot: the aggregate of the question that it holds, its type, and how it is computed.

    >>> from discreet.plan.statistics.estimators import Units
    >>> people = Aggregate("COUNT", Column("patient"), distinct=True)
    >>> Estimate(slot="a0", aggregate=people, type=Type.INTEGER, estimator=Units()).slot
    'a0'
    """

    slot: str
    aggregate: Aggregate
    type: Type
    estimator: Estimator


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerColumn:
    """A column of the answer.

    >>> AnswerColumn(name="visits", type=Type.INTEGER, expression=Column("a0")).name
    'visits'
    """

    name: str
    type: Type
    expression: Expression


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLayout:
    """All columns of an answer, which of its groups are shown, and in which order.

    Without an order, groups come in the order of their keys.

    >>> AnswerLayout(outputs=()).limit is None
    True
    """

    outputs: tuple[AnswerColumn, ...]
    having: Expression | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None


def answer_layout(
    known: BoundQuestion, estimators: Sequence[Estimator]
) -> tuple[tuple[Estimate, ...], AnswerLayout]:
    """Give each aggregate a slot, and write everything above them in terms of slots."""
    keys = [each.key.type for each in known.keys]
    columns = {name: facts.type for name, facts in known.rows.facts.items()}
    estimates = tuple(
        Estimate(slot=f"a{place}", aggregate=outer, type=typed(inner, columns), estimator=estimator)
        for place, ((outer, inner), estimator) in enumerate(
            zip(known.bound, estimators, strict=True)
        )
    )
    slots = {each.aggregate: Column(each.slot) for each in estimates}
    kinds = {each.slot: each.type for each in estimates}

    def above(expression: Expression) -> Expression:
        return transformed(
            expression, lambda node: slots[node] if isinstance(node, Aggregate) else None
        )

    question = known.question
    outputs = tuple(
        AnswerColumn(name=name, type=typed(above(value), kinds, keys), expression=above(value))
        for name, value in question.outputs
    )
    having = None if question.having is None else above(question.having)
    if having is not None:
        check_condition(having, kinds, keys)
    shown = AnswerLayout(
        outputs=outputs,
        having=having,
        order=tuple(replace(item, expression=above(item.expression)) for item in question.order),
        limit=question.limit,
    )
    return estimates, shown
