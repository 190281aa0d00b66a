"""The measures of a question, each of them once.

Trust: kernel.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, final

from discreet.plan.pricing.group_sensitivity import UNITS
from discreet.query.expressions import Expression

if TYPE_CHECKING:  # a list holds the measures that aggregates make
    from discreet.requests.engine_request import Measure

ReleaseInput = tuple[str, Fraction | str | None]
"""A measure, and what is chosen from it if it is a histogram: a level, or a word."""


@final
class MeasureList:
    """Measures by their names, and in words what each of them holds.

    Equal measures are one.  Those whose bounds are found from the data may come to be equal to
    others by what is found; they are kept apart from these, by what bounds are found for, so that
    names never depend on it.

    >>> from discreet.requests.engine_request import Total
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
