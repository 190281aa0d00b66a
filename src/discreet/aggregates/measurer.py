"""Measuring aggregates: bounded integer totals of rows, each of them once.

Trust: kernel.  The bounds of a measure are those that its noise is scaled to.

Units with more rows than may count are scaled down to that many rows of their own mean.  With
``contribution_bounds_per_group`` the unit's own count, sum or average in a group is clamped to
these bounds instead, as in GoogleSQL.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

from discreet.errors import MissingBounds
from discreet.plan.binding.value_facts import (
    Facts,
    argument_of,
    counting_conditions,
    facts_of,
    one_where_all,
    value_where_counted,
)
from discreet.plan.pricing.group_sensitivity import UNITS
from discreet.plan.statistics.contribution_bounds import ContributionBounds, Pair, bounds_by_row
from discreet.plan.statistics.fixed_point import Fixed, fixed
from discreet.plan.statistics.partition_selection import UNIT_COUNTS, SelectionRule
from discreet.query.expression_text import said
from discreet.query.expressions import Aggregate, Case, Cast, Expression
from discreet.query.source_text import pointed
from discreet.query.types import Type
from discreet.requests.engine_request import Measure, Total


@final
class MeasureList:
    """Measures by their names, and in words what each of them holds.

    Equal measures are one.  Those whose bounds are found from the data may come to be equal to
    others by what is found; they are kept apart from these, by what bounds are found for, so that
    names never depend on it.

    >>> from discreet.query.expressions import Literal
    >>> found = MeasureList()
    >>> rows = Total(name="", row=Literal(1), low=0, high=5)
    >>> found.add("count", rows, "rows"), found.add("count", rows, "rows")
    ('count', 'count')
    >>> found.add("count", Total(name="", row=Literal(1), low=0, high=9), "rows")
    'count_2'
    >>> found.add("count", rows, "rows", apart=Literal(2))
    'count_3'
    """

    __slots__ = ("_about", "_kinds", "_measures", "_names", "counts_units")

    def __init__(self) -> None:
        """Begin with none."""
        self._measures: dict[str, Measure] = {}
        self._names: dict[tuple[Measure, Expression | None], str] = {}
        self._kinds: Counter[str] = Counter()
        self._about = {UNITS: "units"}
        self.counts_units = False

    @property
    def measures(self) -> tuple[Measure, ...]:
        """All measures, in the order in which they were added."""
        return tuple(self._measures.values())

    @property
    def about(self) -> dict[str, str]:
        """What each measure holds."""
        return self._about

    def add(
        self, kind: str, measure: Measure, about: str, *, apart: Expression | None = None
    ) -> str:
        """Add a measure without a name, unless it is there, and return its name."""
        number = self._kinds[kind] + 1
        name = kind if number == 1 else f"{kind}_{number}"
        known = self._names.setdefault((measure, apart), name)
        if known != name:
            return known
        self._kinds[kind] = number
        self._measures[name] = replace(measure, name=name)
        self._about[name] = about
        return name

    def add_units(self) -> str:
        """Add the number of units, which every engine counts, and return its name."""
        self.counts_units = True
        return UNITS

    def find(self, measure: Measure, *, apart: Expression | None = None) -> str | None:
        """Return the name of a measure that was added."""
        return self._names.get((measure, apart))


@final
@dataclass(frozen=True, slots=True)
class Measurer:
    """What is known of a question, and the measures that its aggregates need so far.

    ``apart`` is what the bounds of the aggregate are found for, if they are.
    """

    facts: Mapping[str, Facts]
    unit: tuple[str, ...]
    limits: ContributionBounds
    known: MeasureList
    choosing: SelectionRule
    apart: Expression | None = None

    def value(self, aggregate: Aggregate) -> tuple[Expression, Facts]:
        """Return what an aggregate is about, and what is known of it."""
        value = argument_of(aggregate)
        return value, facts_of(value, self.facts)

    def bounds(self, aggregate: Aggregate) -> tuple[Pair, int]:
        """Return the bounds on values, and how many rows of a unit count in a group."""
        bounds = bounds_by_row(aggregate, *self.value(aggregate), self.facts)
        return bounds, self.limits.most_rows(aggregate.span)

    def counted_row(self, aggregate: Aggregate) -> Expression:
        """Return one for each row that an aggregate looks at."""
        return one_where_all(counting_conditions(aggregate, self.facts))

    def count(self, aggregate: Aggregate, bounds: tuple[int, int]) -> str:
        """Count rows that an aggregate looks at, so many for each unit."""
        row = self.counted_row(aggregate)
        about = f"rows with {said(row.branches[0][0])}" if isinstance(row, Case) else "rows"
        low, high = bounds
        total = Total(name="", row=row, low=low, high=high)
        if total in UNIT_COUNTS:
            return self.known.add_units()
        return self.known.add("count", total, about)

    def centered(self, aggregate: Aggregate) -> tuple[str, Fixed]:
        """Add up values less the middle of their bounds; units that are scaled need fine steps."""
        value, facts = self.value(aggregate)
        bounds, most = self.bounds(aggregate)
        kind = facts.type
        if kind is Type.INTEGER and not self.limits.single:
            value, kind = Cast(value, Type.FLOAT), Type.FLOAT
        steps = fixed(value, kind, bounds, rows=most, centered=True)
        ends = most * steps.low, most * steps.high
        return self.total(aggregate, steps, ends, cap=self.limits.cap), steps

    def total(
        self, aggregate: Aggregate, steps: Fixed, ends: tuple[int, int], *, cap: int | None = None
    ) -> str:
        """Add up values, between bounds on what one unit adds to a group."""
        low, high = ends
        row = value_where_counted(aggregate, steps.row)
        less = f" less {shown(steps.center)}" if steps.center else ""
        about = f"sum of {said(argument_of(aggregate))}{less}"
        return self.add("sum", Total(name="", row=row, low=low, high=high, rows=cap), about)

    def most_values(self, aggregate: Aggregate, value: Expression, most: int | None = None) -> int:
        """Return how many different values of a unit count; all its rows may have the same one.

        No more of them are possible than are listed, which an engine enforces as a number.
        """
        facts = facts_of(value, self.facts)
        if self.limits.single or facts.constant:
            return 1
        most = self.limits.rows if most is None else most
        listed = facts.categories
        if listed:
            different = len([each for each in listed if each is not None])
            return max(1, different if most is None else min(most, different))
        if most is not None:
            return most
        function = aggregate.function
        do = f"add max_rows_per_group = 5 to OPTIONS for {function}(DISTINCT x), or add to the "
        if function == "COUNT":
            do = "write COUNT(DISTINCT x, contribution_bounds_per_group => (0, 5)), or add to the "
        raise MissingBounds(
            what=pointed(
                f"there is no limit on the values of {said(value)} for one person.", aggregate.span
            ),
            why="a person with many more values than others would need that much more noise.",
            do=f"{do}policy:\n    [limits]\n    max_rows = 5",
        )

    def add(self, kind: str, measure: Measure, about: str) -> str:
        """Add a measure that depends on bounds, unless it is there, and return its name."""
        return self.known.add(kind, measure, about, apart=self.apart)


def ends_in_steps(pair: Pair, steps: Fixed) -> tuple[int, int]:
    """Return bounds on a total, in whole steps."""
    low, high = (round((bound - steps.center) / steps.step) for bound in pair)
    return low, high


def shown(number: Fraction) -> str:
    """Show a number to six digits.

    >>> shown(Fraction(1, 3))
    '0.333333'
    """
    return f"{float(number):.6g}"
