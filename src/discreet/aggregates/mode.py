"""MODE: the most frequent value, chosen among public ones by their counts.

Trust: kernel.
Proofs are in docs/proofs/plan.md.

Definition.  Candidates are public: the values that a group key of the same expression could have
(:mod:`discreet.plan.binding.public_keys`), truth values, or the whole numbers between declared
bounds.  Each has a leaf of a histogram; rows with NULL or any other value are in none.  With n rows
in the leaves of a group, c(i) of them in leaf i, candidate i has the score c(i) - n / 2, and is
chosen with a probability proportional to exp(score / scale).  So candidates that are equally
frequent are equally likely; in a group without rows all of them are, and no answer says whether
there are rows.
Theorem (key ``mode-scores``; McSherry and Talwar 2007, for counts).  One row more or less moves
every score by 1/2, and one row that is replaced by at most 1.

The error is how many rows fewer the chosen value has, at most, than the most frequent one: that of
the exponential mechanism, since differences of scores are whole numbers.  A mode of numbers lies
between the lowest and the highest candidate; that is its interval, since a number that is nearly as
frequent may lie anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.aggregates.intervals import Ends, everything
from discreet.aggregates.measurer import Measurer
from discreet.aggregates.noisy_totals import Box, Intervals, Noisy, Values
from discreet.errors import MissingBounds, UnsupportedSQL
from discreet.plan.binding.public_keys import public_values
from discreet.plan.binding.value_facts import Facts, value_where_counted
from discreet.plan.estimator import Choice, Estimator, NoiseForecast, Predicted
from discreet.plan.pricing.group_sensitivity import LeafUse, ReleaseInput, ScoredChoice
from discreet.plan.pricing.release_parts import ScoredPart
from discreet.plan.statistics.contribution_bounds import ContributionBounds
from discreet.plan.statistics.fixed_point import MOST_LEAVES
from discreet.query.expression_text import said
from discreet.query.expressions import Aggregate, Call, Case, Expression, Literal, walk
from discreet.query.source_text import pointed
from discreet.query.types import Type
from discreet.requests.engine_request import Leaves
from discreet.requests.table_schema import KeyValue, key_literal

_MODE: Final = "mode"
_ARRAYS: Final[dict[Type, Any]] = {Type.INTEGER: np.int64, Type.BOOLEAN: np.bool_}
_WEIGHT: Final = Fraction(1, 2)
"""How far one row more or less moves every score (key ``mode-scores``)."""
_MOST_NODES: Final = 2 * MOST_LEAVES
"""Parts of all expressions that are compared with candidates."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ModeChoice(ScoredChoice):
    """A choice of the leaf with the most rows."""

    @property
    def use(self) -> LeafUse:
        return self.measure, _MODE

    @property
    def weight(self) -> Fraction:
        return _WEIGHT

    @property
    def words(self) -> str:
        return "the mode"

    def misses(self, below: NDArray[Any], upto: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any]:
        """Return the rows that are in other leaves."""
        elsewhere: NDArray[Any] = rows - (upto - below)
        return elsewhere


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ModePart(ScoredPart):
    """The most frequent value of each group; all of its share goes to the value."""

    @property
    def use(self) -> LeafUse:
        return self.measure, _MODE

    @property
    def weight(self) -> Fraction:
        return _WEIGHT

    def choices(self, scale: Callable[[Fraction], Fraction]) -> tuple[ModeChoice, ...]:
        from discreet.mechanisms import Exponential  # noqa: PLC0415  rare

        select = Exponential(candidates=self.leaves, scale=scale(Fraction(1)))
        return (ModeChoice(mechanism=select, **self.claims),)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ModeEstimator(Estimator):
    """The value, of public ones, that the chosen leaf stands for."""

    measure: str
    values: tuple[KeyValue, ...]

    def inputs(self) -> Iterator[ReleaseInput]:
        yield self.measure, _MODE

    def choices(self) -> tuple[Choice, ...]:
        return ((self.measure, _MODE, 0),)

    def leaf_part(
        self, use: ReleaseInput, histogram: Leaves, limits: ContributionBounds
    ) -> ModePart:
        del use
        return ModePart.of(histogram, limits)

    def predict(self, name: str, forecast: NoiseForecast) -> Predicted:
        """Forecast how many rows the chosen value is behind the most frequent one."""
        uses = dict.fromkeys(self.inputs())
        releases = forecast.releases.choices
        (choice,) = (each for each in releases if isinstance(each, ModeChoice) and each.use in uses)
        behind = choice.mechanism.error(confidence=forecast.confidence)
        rows = "1 row" if behind == 1 else f"{behind} rows"
        words = f"{rows} behind the most frequent value"
        return Predicted(output=name, half_width=Fraction(behind), words=words)

    def value(self, kind: Type, noisy: Noisy) -> Values:
        (place,) = self.inputs()
        (chosen,) = (leaf for leaf in noisy.chosen if leaf.choice.use == place)
        candidates = np.empty(len(self.values), object)
        candidates[:] = self.values
        values: Values = candidates.astype(_ARRAYS.get(kind, object))[chosen.leaves]
        return values

    def range(self, known: Intervals, box: Box, coordinates: int = 0) -> Ends:
        numbers = [Fraction(value) for value in self.values if type(value) is int]
        if not numbers:
            return everything(known.noisy.size)
        return known.constant(min(numbers))[0], known.constant(max(numbers))[1]


def measure_mode(measurer: Measurer, aggregate: Aggregate) -> ModeEstimator:
    """Measure a histogram with a leaf for each candidate."""
    value, facts = measurer.value(aggregate)
    values = _candidates(measurer, aggregate, value, facts)
    _check_size(aggregate, value, len(values))
    leaves = Leaves(
        name="",
        row=value_where_counted(aggregate, _leaf(value, values)),
        leaves=len(values),
        rows=measurer.limits.most_rows(aggregate.span),
    )
    name = measurer.add("leaves", leaves, f"values of {said(value)}")
    return ModeEstimator(measure=name, values=values)


def _candidates(
    measurer: Measurer, aggregate: Aggregate, value: Expression, facts: Facts
) -> tuple[KeyValue, ...]:
    """Return the values among which to choose, or ask for them."""
    where = () if aggregate.where is None else (aggregate.where,)
    known = public_values(value, measurer.facts, where)
    if known is None and facts.type is Type.BOOLEAN:
        known = (False, True)
    if known is None and facts.type is Type.INTEGER and facts.bounds is not None:
        low, high = math.ceil(facts.bounds[0]), math.floor(facts.bounds[1])
        _check_number(aggregate, high - low + 1)
        known = tuple(range(low, high + 1))
    values = tuple(each for each in known or () if each is not None)
    if not values or any(key_literal(each).type is not facts.type for each in values):
        raise _unlisted(aggregate, value, facts)
    _check_number(aggregate, len(values))
    return values


def _leaf(value: Expression, values: Sequence[KeyValue]) -> Expression:
    """Return the index of a value among the candidates; other values have no leaf."""
    first = values[0]
    if type(first) is int and values == tuple(range(first, first + len(values))):
        return Call("-", (value, Literal(first)))
    return Case(
        tuple(
            (Call("=", (value, key_literal(each))), Literal(place))
            for place, each in enumerate(values)
        )
    )


def _check_number(aggregate: Aggregate, count: int) -> None:
    if count > MOST_LEAVES:
        raise UnsupportedSQL(
            what=pointed(f"there are more than {MOST_LEAVES} values.", aggregate.span),
            why="one of them is chosen privately: of so many, most choices would be chance.",
            do="choose among bins, such as MODE(RANGE_BUCKET(x, [0, 10, 20])).",
        )


def _check_size(aggregate: Aggregate, value: Expression, count: int) -> None:
    """Refuse a value that takes long to compute, which is compared with every candidate."""
    if sum(1 for _ in walk(value)) * count > _MOST_NODES:
        raise UnsupportedSQL(
            what=pointed("a long expression has many values.", aggregate.span),
            why="it is computed anew for each value that it is compared with.",
            do="compute it in a subquery, as a column, and take the MODE of that column.",
        )


def _unlisted(aggregate: Aggregate, value: Expression, facts: Facts) -> MissingBounds:
    text, source = said(value), facts.source
    fix = f"write MODE({text}) FILTER (WHERE {text} IN (...))"
    if source is not None and not source.public:
        fix += (
            f",\nor add to the policy:\n    [tables.{source.table}.columns.{source.column}]\n"
            f'    type = "{facts.type.value.lower()}"\n    categories = [...]'
        )
    return MissingBounds(
        what=pointed(f"there is no public list of the values of {text}.", aggregate.span),
        why="a value that nobody declared would be one of somebody in the data.",
        do=f"{fix}\nwith values that you know without looking at the data; or count them: GROUP BY "
        f"{text}.",
    )
