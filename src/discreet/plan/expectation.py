"""What to expect of an answer before it is paid for, from the public size of a table.

Trust: public.  Only declared facts are used: the rounded size, categories and bounds.  No price and
no noise depends on what is expected here, and a wrong guess costs a question, never privacy.

Definition.  A group is expected to have the rows of the table, divided by the number of its public
groups, and for each condition by what it leaves of declared values (a third where that is unknown).
A mean or a sum is expected a sixth of the bounds away from their end near zero, a deviation to be
a sixth of them.  An output is *blind* where its half-width is more than two fifths of the number
that is expected, which leaves room for rounded sizes before it is half of it, and *weak* where it
is more than a tenth.  An answer is *empty* where hardly any group can reach the number of people
from which groups are shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, final

from discreet.plan.aggregates.estimator import Predicted
from discreet.plan.binding.joins import conjuncts
from discreet.query.expressions import Aggregate, Call, Column, Expression, Grouped, Literal, walk
from discreet.query.relations import Filter, Scan, descend, folded
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest
from discreet.requests.table_schema import ColumnFacts, PublicSize, Schema

if TYPE_CHECKING:  # a plan holds what is expected of it
    from discreet.plan.plan import Plan

WEAK: Final = Fraction(1, 10)
BLIND: Final = Fraction(2, 5)
_UNKNOWN: Final = Fraction(1, 3)
_HALF: Final = Fraction(1, 2)
_TYPICAL: Final = Fraction(1, 6)
_MANY_GROUPS: Final = 10
"""Groups that nobody has listed are taken to be at least as many."""
_QUANTILES: Final = frozenset({"PERCENTILE_CONT", "APPROX_QUANTILES", "MIN", "MAX"})
_MOST_RANKS: Final = Fraction(1, 4)
"""An interval from quartile to quartile says nothing."""
_MOMENTS: Final = frozenset({"VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP"})
_CORRELATION_NOISE: Final = 1300
"""A correlation between bounds three deviations away is off by about this over epsilon n."""
_RARE: Final = Fraction(1, 20)
"""A value that somebody asks for by its name is expected to have such a share, at least."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedOutput:
    """A column of an answer: how far off it will be, and about how large.

    >>> n = ExpectedOutput(output="n", half_width=Fraction(240), number=Fraction(500), about="rows")
    >>> n.blind, n.weak, n.percent
    (True, True, '48 %')
    """

    output: str
    half_width: Fraction | None
    number: Fraction | None
    about: str
    ranks: bool = False

    @property
    def share(self) -> Fraction | None:
        """The half-width as a share of the number."""
        if self.half_width is None or not self.number:
            return None
        return self.half_width / self.number

    @property
    def blind(self) -> bool:
        """Whether the number could hardly be read."""
        most = _MOST_RANKS if self.ranks else BLIND
        return self.share is not None and self.share > most

    @property
    def weak(self) -> bool:
        """Whether it could be read only roughly."""
        most = _MOST_RANKS / 5 if self.ranks else WEAK
        return self.share is not None and self.share > most

    @property
    def percent(self) -> str:
        """The share, rounded."""
        share = self.share
        if share is None:
            return "unknown"
        return f"{float(100 * share):.2g} %" if share < 1 else "more than the number itself"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What to expect of an answer; ``people`` and ``rows`` are those of one group.

    >>> Expectation(outputs=(), people=500, rows=4000, group="the table", needed=1916).empty
    True
    """

    outputs: tuple[ExpectedOutput, ...]
    people: int
    rows: int
    group: str
    needed: int | None = None
    listed: bool = True

    @property
    def empty(self) -> bool:
        """Whether hardly any group will be shown."""
        return self.needed is not None and self.needed > self.people

    @property
    def blind(self) -> bool:
        """Whether no number could be read."""
        return bool(self.outputs) and all(each.blind for each in self.outputs)

    @property
    def unreadable(self) -> bool:
        """Whether an answer would hardly be worth its price."""
        return self.empty or self.blind

    def why(self) -> str:
        """Say why nobody should pay for it."""
        if self.empty:
            return (
                f"hardly any group would be shown: one is shown from about {self.needed} people "
                f"on, and {self.group} has about {self.people:,}"
            )
        worst = max(self.outputs, key=lambda each: each.share or Fraction(0))
        return f"{worst.output} would be {_width(worst)}, and {worst.about}"

    def lines(self) -> Iterator[str]:
        """Say of each output how far off it will be, as a share of what is expected."""
        if self.empty:
            yield f"{self.why()}: not asked without confirm"
            return
        for each in self.outputs:
            if each.share is not None:
                verdict = "unreadable" if each.blind else "rough" if each.weak else "fine"
                yield f"{each.output} {_width(each)} ({each.percent}), {verdict}: {each.about}"


def _width(each: ExpectedOutput) -> str:
    half = Fraction(0) if each.half_width is None else each.half_width
    return f"± {short(half)}{' ranks' if each.ranks else ''}"


def short(number: Fraction) -> str:
    """Show a number to two or three digits, whole from 100 on.

    >>> short(Fraction(2397, 10)), short(Fraction(1, 3)), short(Fraction(12345))
    ('240', '0.33', '12,345')
    """
    return f"{float(number):,.0f}" if number >= 10 else f"{float(number):.2g}"


def public_size(request: EngineRequest, schema: Schema) -> PublicSize | None:
    """Return the size of the largest table that a question reads, if all have a public one."""
    scans = {folded(node.table) for node in descend(request.relation) if isinstance(node, Scan)}
    tables = [table for name in scans if (table := schema.table(name)) and not table.public]
    sizes = [table.size for table in tables]
    if not sizes or None in sizes:
        return None
    return max((size for size in sizes if size), key=lambda size: size.rows)


def rows_of_a_group(request: EngineRequest, schema: Schema) -> int | None:
    """Return about how many rows a group has; None where no size is public."""
    size = public_size(request, schema)
    return None if size is None else _group(request, schema, size)[1]


def _group(request: EngineRequest, schema: Schema, size: PublicSize) -> tuple[int, int]:
    """Return about how many people and rows one group has."""
    kept = Fraction(1)
    conditions = {
        part
        for node in descend(request.relation)
        if isinstance(node, Filter)
        for part in conjuncts(node.predicate)
    }
    keys = {key.expression for key in request.keys}
    columns = {
        folded(column.name): column
        for table in schema.tables
        for column in table.columns
        if not table.public
    }
    listed: dict[Expression, Fraction] = {}  # a condition that lists values stands there twice
    for condition in conditions:
        if _about_keys(condition, keys):
            continue
        match condition:
            case Call(function="IN" | "=", arguments=(Column() as column, *_)):
                listed[column] = min(listed.get(column, Fraction(1)), _kept(condition, columns))
            case _:
                kept *= _kept(condition, columns)
    kept *= math.prod(listed.values())
    groups = 1
    if request.keys:
        groups = len(request.listed) if request.listed is not None else _MANY_GROUPS
    rows = max(1, round(size.rows * kept / groups))
    each = min(groups, request.groups or 1)
    return max(1, min(rows, round(size.people * kept * each / groups))), rows


def _about_keys(condition: Expression, keys: set[Expression]) -> bool:
    """Whether a condition lists the values of a key, which are groups already."""
    match condition:
        case Call(function="IN" | "=", arguments=(compared, *_)):
            return compared in keys
        case _:
            return False


def _kept(condition: Expression, columns: Mapping[str, ColumnFacts]) -> Fraction:
    """Return about what share of the rows meets a condition."""
    match condition:
        case Call(function="IN" | "=", arguments=(Column(name=name), *values)):
            share = _one_value(columns.get(folded(name)))
            return min(Fraction(1), share * len(values))
        case Call(function="<>", arguments=(Column(), Literal())):
            return Fraction(1) - _UNKNOWN
        case Call(
            function="<" | "<=" | ">" | ">=" as way,
            arguments=(Column(name=name), Literal(value=int() | Fraction() as end)),
        ):
            return _range(columns.get(folded(name)), Fraction(end), above=way[0] == ">")
        case Column() | Call(function="NOT" | "IS TRUE" | "IS FALSE"):
            return _HALF
        case Call(function="OR", arguments=parts):
            return min(Fraction(1), sum((_kept(part, columns) for part in parts), Fraction(0)))
        case _:
            return _UNKNOWN


def _one_value(facts: ColumnFacts | None) -> Fraction:
    if facts is None:
        return _UNKNOWN
    if facts.categories is not None:
        return Fraction(1, len(facts.categories))
    if facts.type is Type.BOOLEAN:
        return _HALF
    if facts.type is Type.INTEGER and facts.low is not None and facts.high is not None:
        return max(1 / (facts.high - facts.low + 1), _RARE)
    return _UNKNOWN


def _range(facts: ColumnFacts | None, end: Fraction, *, above: bool) -> Fraction:
    if facts is None or facts.low is None or facts.high is None:
        return _UNKNOWN
    share = (end - facts.low) / (facts.high - facts.low)
    share = 1 - share if above else share
    return min(max(share, Fraction(1, 20)), Fraction(1))


def expect(plan: Plan, schema: Schema) -> Expectation | None:
    """Return what to expect of a plan; None where no size is public, or nothing is protected."""
    request = plan.request
    size = None if plan.exact else public_size(request, schema)
    if size is None:
        return None
    people, rows = _group(request, schema, size)
    keys = [key.name for key in request.keys]
    group = {0: "the table"}.get(len(keys), f"a group of {' and '.join(keys)}")
    if len(keys) == 1 and request.listed is not None:
        group = f"one {keys[0]}"
    needed = None if plan.selection is None else int(plan.selection.smallest(Fraction(1, 2)))
    widths = {each.output: each for each in plan.predicted}
    slots = {each.slot: each.aggregate for each in plan.estimates}
    outputs = []
    for column in plan.layout.outputs:
        used = [
            slots[node.name]
            for node in walk(column.expression)
            if isinstance(node, Column) and node.name in slots
        ]
        predicted = widths.get(column.name)
        if isinstance(column.expression, Grouped) or predicted is None or not used:
            continue
        about = _Group(people=people, rows=rows, words=group, unit=plan.unit.columns)
        alone = used[0] if isinstance(column.expression, Column) else None
        outputs.append(_expected(predicted, alone, used, about, plan, schema))
    return Expectation(
        outputs=tuple(outputs),
        people=people,
        rows=rows,
        group=group,
        needed=needed,
        listed=request.listed is not None,
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    people: int
    rows: int
    words: str
    unit: Sequence[str]


def _expected(  # noqa: C901, PLR0913, PLR0917  all that is known of it
    predicted: Predicted,
    alone: Aggregate | None,
    used: Iterable[Aggregate],
    group: _Group,
    plan: Plan,
    schema: Schema,
) -> ExpectedOutput:
    """Compare an error with a number of the size that is expected."""
    width, number, ranks = predicted.half_width, None, False
    rows = f"{group.words} has about {group.rows:,} rows"
    about = rows
    functions = {each.function for each in used}
    if alone is not None and alone.function == "COUNT":
        number = Fraction(group.rows)
        if alone.distinct:
            named = isinstance(alone.argument, Column) and alone.argument.name in group.unit
            number = Fraction(group.people) if named else None
            about = f"{group.words} has about {group.people:,} people"
        elif any(isinstance(node, Call) for node in walk(alone.argument or Literal(1))):
            number /= 2
    elif functions & _QUANTILES:
        number, ranks = Fraction(group.rows), True
        width = predicted.reach or width
    elif alone is not None and alone.function in {"AVG", "SUM"}:
        found = _bounds(alone, plan, schema)
        if found is not None:
            low, high = found
            typical = _typical(low, high)
            number = typical * (group.rows if alone.function == "SUM" else 1)
            between = f"{short_number(low)} and {short_number(high)}"
            about = f"{rows}, with values between {between}"
    elif functions & _MOMENTS or len(functions) > 1:
        found = None if alone is None else _bounds(alone, plan, schema)
        if alone is not None and found is not None and width is not None:
            deviation = (found[1] - found[0]) * _TYPICAL
            number = deviation**2
            if alone.function.startswith("STDDEV"):  # forecast for a deviation of zero
                width, number = width**2 / (2 * deviation), deviation
        elif plan.price.epsilon is not None:
            width = _CORRELATION_NOISE / (plan.price.epsilon * group.people)
            number = Fraction(1)
    return ExpectedOutput(
        output=predicted.output, half_width=width, number=number, about=about, ranks=ranks
    )


def _bounds(aggregate: Aggregate, plan: Plan, schema: Schema) -> tuple[Fraction, Fraction] | None:
    """Return the bounds between which values are, as far as they are known."""
    if aggregate.bounds_per_row is not None:
        return aggregate.bounds_per_row
    for each in plan.estimates:
        low, high = (getattr(each.estimator, end, None) for end in ("low", "high"))
        if isinstance(low, Fraction) and isinstance(high, Fraction) and each.aggregate == aggregate:
            return low, high
    name = aggregate.argument.name if isinstance(aggregate.argument, Column) else ""
    for table in schema.tables:
        facts = table.column(name)
        if facts is not None and facts.low is not None and facts.high is not None:
            return facts.low, facts.high
    return None


def _typical(low: Fraction, high: Fraction) -> Fraction:
    """Return a careful guess at the size of a mean of values between bounds."""
    span = high - low
    if low >= 0:
        return low + span * _TYPICAL
    if high <= 0:
        return -high + span * _TYPICAL
    return span * _TYPICAL


def short_number(number: Fraction) -> str:
    """Show a bound.

    >>> short_number(Fraction(7, 2)), short_number(Fraction(500000))
    ('3.5', '500,000')
    """
    return f"{number.numerator:,}" if number.denominator == 1 else f"{float(number):.6g}"
