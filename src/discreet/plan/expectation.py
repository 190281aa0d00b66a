"""What to expect of an answer before it is paid for, from the public size of a table.

Trust: public.  Only declared facts are used: the rounded size, categories and bounds.  No price and
no noise depends on what is expected here, and a wrong guess costs a question, never privacy.

Definition.  A group is expected to have the rows of the table, divided by the number of values that
its keys can have, and for each other condition by what it leaves of declared values (a third where
that is unknown).  A join is expected to keep the rows of the largest table.
The column of the unit has a value for each person, and if no declared value
meets a condition no row is expected.  A mean or a sum is expected a sixth of the bounds away from
their end near zero, a deviation to be a sixth of them.  Products and ratios are off by the sum of
the shares by which their parts are.  A count that nothing declared says anything about, as one of
rows without a value or of the different values of a text, is compared with the largest that it can
be.  An output is *blind* if its half-width is more than a
quarter of the number that is expected, which leaves room for rounded sizes and for the noise before
it is half of what is shown, and *weak* if it is more than a tenth.  Groups are *uneven* unless all
people are in each of them, or ``HAVING`` says how large they are; a count of uneven groups is blind
at a tenth already, for most of them may have less than half of the average.
A quantile is blind if it is off by more than a twentieth of the ranks, for its interval is wider.
An answer is *blind* if one of its outputs is, since all are paid for, and *empty* if hardly any
group can reach the number of people from which groups are shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, final

from discreet.plan.binding.fan_out import ROW_NUMBER
from discreet.plan.error_forecast import ErrorForecast
from discreet.plan.estimator import Predicted
from discreet.plan.pricing.group_sensitivity import Releases
from discreet.plan.statistics.answer_layout import AnswerColumn
from discreet.query.expressions import (
    Aggregate,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Grouped,
    Literal,
    conjuncts,
    walk,
)
from discreet.query.relations import Filter, Scan, descend, folded
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest, PublicGroups
from discreet.requests.table_schema import ColumnFacts, Product, PublicSize, Schema, TableFacts

if TYPE_CHECKING:  # a plan holds what is expected of it
    from discreet.plan.plan import Plan

WHOLE: Final = "the table"
"""The one group of a question without keys."""
WEAK: Final = Fraction(1, 10)
BLIND: Final = Fraction(1, 4)
_UNKNOWN: Final = Fraction(1, 3)
_HALF: Final = Fraction(1, 2)
_TYPICAL: Final = Fraction(1, 6)
_MANY_GROUPS: Final = 10
"""The least number of groups that is assumed if none are listed."""
_RANKED: Final = {
    **dict.fromkeys(("PERCENTILE_CONT", "APPROX_QUANTILES", "MIN", "MAX"), "ranks"),
    "MODE": "rows behind the most frequent value",
}
"""Values that are chosen, and what the choice is off by: a quarter of all rows says nothing."""
_MOST_RANKS: Final = Fraction(1, 20)
"""The interval of a quantile may hold several times as many rows as its value is off by."""
_MOMENTS: Final = frozenset({"VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP"})
_CORRELATION_NOISE: Final = 1300
"""A correlation between bounds three deviations away is off by about this over epsilon n."""
_RARE: Final = Fraction(1, 20)
"""The least share that a value named in a condition is expected to have."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedOutput:
    """A column of an answer: how far off it will be, and about how large.

    >>> n = ExpectedOutput(output="n", half_width=Fraction(240), number=Fraction(500), about="rows")
    >>> n.blind, n.weak, n.percent
    (True, True, '48 %')
    >>> n.width
    '± 240'
    """

    output: str
    half_width: Fraction | None
    number: Fraction | None
    about: str
    off_by: str = ""
    """What a choice is off by; empty for numbers."""
    largest: bool = False
    """Whether ``number`` is the largest that it can be, and nothing says how large it is."""
    uneven: bool = False
    """Whether many groups may have far less than ``number``, their average."""

    @property
    def share(self) -> Fraction | None:
        """The half-width as a share of the number."""
        if self.half_width is None or not self.number:
            return None
        return self.half_width / self.number

    @property
    def blind(self) -> bool:
        """Whether the number could hardly be read."""
        most = _MOST_RANKS if self.off_by == "ranks" else WEAK if self.uneven else BLIND
        return self.share is not None and self.share > most

    @property
    def weak(self) -> bool:
        """Whether it could be read only roughly."""
        most = _MOST_RANKS / 2 if self.off_by == "ranks" else WEAK
        return self.share is not None and self.share > most

    @property
    def percent(self) -> str:
        """The share, rounded."""
        share = self.share
        if share is None:
            return "unknown"
        of = " of the most" if self.largest else ""
        return f"{short(100 * share)} %{of}" if share < 1 else "more than the number itself"

    @property
    def width(self) -> str:
        """The half-width, in words."""
        return f"± {short(self.half_width or Fraction(0))} {self.off_by}".rstrip()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What to expect of an answer; ``people`` and ``rows`` are those of one group.

    ``unmet`` reveals conditions that no declared value meets.

    >>> Expectation(outputs=(), people=500, rows=4000, group="the table", needed=1916).empty
    True
    """

    outputs: tuple[ExpectedOutput, ...]
    people: int
    rows: int
    group: str
    needed: int | None = None
    listed: bool = True
    unmet: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether hardly any row counts, or hardly any group will be shown."""
        return bool(self.unmet) or (self.needed is not None and self.needed > self.people)

    @property
    def blind(self) -> bool:
        """Whether a number could not be read."""
        return any(each.blind for each in self.outputs)

    @property
    def unreadable(self) -> bool:
        """Whether an answer would hardly be worth its price."""
        return self.empty or self.blind

    def why(self) -> str:
        """Say why it is not worth paying for."""
        if self.unmet:
            return f"hardly any row would count: {'; '.join(self.unmet)}"
        if self.empty:
            return (
                f"hardly any group would be shown: it takes about {self.needed:,} people, and "
                f"{self.group} may have about {self.people:,}"
            )
        return f"{self.worst.output} would be {self.worst.width}, and {self.worst.about}"

    @property
    def worst(self) -> ExpectedOutput:
        """The output that can be read least, by its share of what is expected."""
        return max(self.outputs, key=lambda each: (each.blind, each.share or Fraction(0)))

    def lines(self) -> Iterator[str]:
        """Say of each output how far off it will be, as a share of what is expected."""
        if self.empty:
            why = "hardly any row would count" if self.unmet else self.why()  # after the warning
            yield f"{why}: not asked without confirm"
            return
        for each in self.outputs:
            if each.largest and each.half_width is not None and not each.blind:
                yield (
                    f"{each.output} {each.width}, readable from about "
                    f"{short(2 * each.half_width)} on: {each.about}"
                )
            elif each.share is not None:
                verdict = "unreadable" if each.blind else "rough" if each.weak else "fine"
                yield f"{each.output} {each.width} ({each.percent}), {verdict}: {each.about}"


def short(number: Fraction) -> str:
    """Show a number to two or three digits, whole from 100 on.

    >>> short(Fraction(2397, 10)), short(Fraction(1, 3)), short(Fraction(12345))
    ('240', '0.33', '12,345')
    """
    return f"{float(number):,.0f}" if number >= 10 else f"{float(number):.2g}"


def public_size(request: EngineRequest, schema: Schema) -> PublicSize | None:
    """Return the size of the largest table that a question reads, if all have a public one."""
    sizes = [table.size for table in _scanned(request, schema)]
    if not sizes or None in sizes:
        return None
    return max((size for size in sizes if size), key=lambda size: size.rows)


def _scanned(request: EngineRequest, schema: Schema) -> list[TableFacts]:
    """Return the private tables that a question reads."""
    scans = {folded(node.table) for node in descend(request.relation) if isinstance(node, Scan)}
    return [table for name in scans if (table := schema.table(name)) and not table.public]


def rows_of_a_group(request: EngineRequest, schema: Schema) -> int | None:
    """Return about how many rows a group has; None if no size is public."""
    size = public_size(request, schema)
    return None if size is None else _group(request, schema, size)[1]


def _group(
    request: EngineRequest, schema: Schema, size: PublicSize, unknown: Fraction = _UNKNOWN
) -> tuple[int, int, bool]:
    """Return about how many people and rows one group has, and whether all have as many.

    Of these, a condition leaves the part ``unknown`` if nothing declared says how many meet it.
    """
    kept = Fraction(1)
    conditions = {
        part
        for node in descend(request.relation)
        if isinstance(node, Filter)
        for part in conjuncts(node.predicate)
        if not _is_limit(part)
    }
    keys = [key.expression for key in request.keys]
    counts = _counts(request, schema, size)
    counted = {key for key in keys if isinstance(key, Column) and folded(key.name) in counts}
    listed: dict[Expression, Fraction] = {}  # a condition that lists values stands there twice
    columns = _columns(schema)
    for condition in conditions:
        if _about_keys(condition, keys, counted):
            continue
        match condition:
            case Call(function="IN" | "=", arguments=(Column() as column, *_)):
                share = _kept(condition, columns, counts, unknown)
                listed[column] = min(listed.get(column, Fraction(1)), share)
            case _:
                kept *= _kept(condition, columns, counts, unknown)
    kept *= math.prod(listed.values())
    alone = bool(request.unit) and set(request.unit) <= set(keys)
    groups = max(_groups(request.public, keys, counts), size.people if alone else 1)
    rows = max(1, round(size.rows * kept / groups))
    each = 1 if alone else min(groups, request.groups or 1)
    people = max(1, min(rows, round(size.people * kept * each / groups)))
    return people, rows, each == groups and size.people * groups <= size.rows


def _is_limit(condition: Expression) -> bool:
    """Whether a condition is a limit on the rows that a join meets, which is to leave out none."""
    match condition:
        case Call(function="<=", arguments=(Column(name=name), _)):
            return name.startswith(ROW_NUMBER)
        case _:
            return False


def _columns(schema: Schema) -> dict[str, ColumnFacts]:
    private = (table for table in schema.tables if not table.public)
    return {folded(column.name): column for table in private for column in table.columns}


def _counts(request: EngineRequest, schema: Schema, size: PublicSize) -> dict[str, int]:
    """Return how many values columns can have, if that is known."""
    counts: dict[str, int] = {}
    for name, facts in _columns(schema).items():
        declared = _declared(facts)
        if declared is not None:
            counts[name] = declared
    tables = _scanned(request, schema)
    if len(tables) == 1 and len(tables[0].key) == 1:
        counts[folded(tables[0].key[0])] = size.rows
    if len(request.unit) == 1 and isinstance(request.unit[0], Column):
        counts[folded(request.unit[0].name)] = size.people
    return counts


def _declared(facts: ColumnFacts) -> int | None:
    """Return how many values a column is declared to have."""
    if facts.categories is not None:
        return len(facts.categories)
    if facts.type is Type.BOOLEAN:
        return 2
    if facts.type is Type.INTEGER and facts.low is not None and facts.high is not None:
        return int(facts.high - facts.low) + 1
    return None if facts.days is None else (facts.days[1] - facts.days[0]).days + 1


def _groups(
    public: PublicGroups | None, keys: Sequence[Expression], counts: Mapping[str, int]
) -> int:
    """Return about how many groups a table has, those that conditions leave out among them."""
    if not keys:
        return 1
    known = [counts.get(folded(key.name)) if isinstance(key, Column) else None for key in keys]
    if public is None:
        many = math.prod(count for count in known if count is not None)
        return many * (_MANY_GROUPS if None in known else 1)
    lists = (
        public.lists
        if isinstance(public, Product)
        else [set(one) for one in zip(*public, strict=True)]
    )
    groups = Fraction(len(public))
    for count, values in zip(known, lists, strict=False):
        groups *= max(Fraction(count or 1, max(1, len(values))), Fraction(1))
    return max(1, round(groups))


def _about_keys(
    condition: Expression, keys: Sequence[Expression], counted: AbstractSet[Expression]
) -> bool:
    """Whether a condition chooses among the values of keys, which are groups already."""
    columns = {node for node in walk(condition) if isinstance(node, Column)}
    if columns and columns <= counted:
        return True
    match condition:
        case Call(function="IN" | "=", arguments=(compared, *_)):
            return compared in keys
        case _:
            return False


def _kept(
    condition: Expression,
    columns: Mapping[str, ColumnFacts],
    counts: Mapping[str, int],
    unknown: Fraction,
) -> Fraction:
    """Return about what share of the rows meets a condition."""
    match condition:
        case Call(function="IN" | "=", arguments=(Column(name=name), *values)):
            share = _one_value(columns.get(folded(name)), counts.get(folded(name)), unknown)
            return min(Fraction(1), share * len(values))
        case Call(function="<>", arguments=(Column(), Literal())):
            return Fraction(1) - _UNKNOWN
        case Call(
            function="<" | "<=" | ">" | ">=" as way,
            arguments=(Column(name=name), Literal(value=int() | Fraction() as end)),
        ):
            above = way[0] == ">"
            return _range(columns.get(folded(name)), Fraction(end), unknown, above=above)
        case Column() | Call(function="NOT" | "IS TRUE" | "IS FALSE"):
            return _HALF
        case Call(function="OR", arguments=parts):
            kept = (_kept(part, columns, counts, unknown) for part in parts)
            return min(Fraction(1), sum(kept, Fraction(0)))
        case _:
            return unknown


def _one_value(facts: ColumnFacts | None, count: int | None, unknown: Fraction) -> Fraction:
    if count is None:
        return unknown
    spread = facts is not None and facts.categories is None and count == _declared(facts)
    return max(Fraction(1, count), _RARE) if spread else Fraction(1, count)


def _range(facts: ColumnFacts | None, end: Fraction, unknown: Fraction, *, above: bool) -> Fraction:
    ends = _ends(facts)
    if ends is None or ends[0] == ends[1]:
        return unknown
    share = (end - ends[0]) / (ends[1] - ends[0])
    share = 1 - share if above else share
    return min(max(share, Fraction(1, 20)), Fraction(1))


def expect(plan: Plan, schema: Schema) -> Expectation | None:
    """Return what to expect of a plan; None if no size is public, or nothing is protected."""
    request = plan.request
    size = None if plan.exact else public_size(request, schema)
    if size is None:
        return None
    people, rows, even = _group(request, schema, size)
    keys = [key.name for key in request.keys]
    group = f"a group of {' and '.join(keys)}" if keys else WHOLE
    if len(keys) == 1 and request.listed is not None:
        group = f"one {keys[0]}"
    needed = None if plan.selection is None else int(plan.selection.smallest(Fraction(1, 2)))
    widths = {each.output: each for each in plan.predicted}
    most = _group(request, schema, size, Fraction(1))[1]
    uneven = bool(keys) and not even
    about = _Group(plan, schema, people=people, rows=rows, uneven=uneven, most=most, words=group)
    outputs = []
    for column in plan.layout.outputs:
        predicted = widths.get(column.name)
        if isinstance(column.expression, Grouped) or predicted is None:
            continue
        expected = about.output(column.expression, predicted)
        if expected is not None:
            outputs.append(expected)
    return Expectation(
        outputs=tuple(outputs),
        people=people,
        rows=rows,
        group=group,
        needed=needed,
        listed=request.listed is not None,
        unmet=plan.unmet,
    )


@final
@dataclass(frozen=True, slots=True)
class _Group:
    """One group of a plan, and about how large the numbers in it are."""

    plan: Plan
    schema: Schema
    _: KW_ONLY
    people: int
    rows: int
    uneven: bool
    most: int
    words: str

    def output(self, expression: Expression, predicted: Predicted) -> ExpectedOutput | None:
        """Compare an error with a number of the size that is expected."""
        slots = self._slots()
        used = [
            slots[n.name] for n in walk(expression) if isinstance(n, Column) and n.name in slots
        ]
        if not used:
            return None
        width, number, uneven = predicted.half_width, None, False
        about = f"{self.words} has about {counted(self.rows, 'row', 'rows')}"
        functions = {each.function for each in used}
        off_by = next((_RANKED[name] for name in functions if name in _RANKED), "")
        if width is not None and all(map(_is_count, used)) and self._unknown(expression, used):
            about = f"it is at most about {self.most:,}, the rows of {self.words}"
            return ExpectedOutput(
                output=predicted.output,
                half_width=width,
                number=Fraction(self.most),
                about=about,
                largest=True,
            )
        alone = used[0] if isinstance(expression, Column) else None
        if off_by:
            number, width = Fraction(self.rows), predicted.reach or width
        elif alone is not None and alone.function in _MOMENTS:
            width, number = self._moment(alone, width)
        elif alone is not None:
            number, about = self._number(alone), self._about(alone, about)
            uneven = self._uneven(alone)
        elif _correlates(expression, functions):
            if self.plan.price.epsilon is not None:
                width = _CORRELATION_NOISE / (self.plan.price.epsilon * self.people)
                number = Fraction(1)
        elif self.plan.search is None or self.plan.found:
            number, share = self._formula(expression), self._share(expression)
            width = None if number is None or share is None else share * number
        return ExpectedOutput(
            output=predicted.output,
            half_width=width,
            number=number,
            about=about,
            off_by=off_by,
            uneven=uneven,
        )

    def _uneven(self, aggregate: Aggregate) -> bool:
        """Whether it is a count that may be far smaller in many groups."""
        return self.uneven and _is_count(aggregate) and not self._least(aggregate)

    def _least(self, aggregate: Aggregate) -> int:
        """Return the least count with which HAVING shows a group."""
        having, slots = self.plan.layout.having, self._slots()
        for part in () if having is None else conjuncts(having):
            match part:
                case Call(
                    function=">" | ">=",
                    arguments=(Column(name=name), Literal(value=int() as least)),
                ) if slots.get(name) == aggregate and _is_count(aggregate):
                    return least
        return 0

    def _unknown(self, expression: Expression, used: Sequence[Aggregate]) -> bool:
        """Whether nothing declared says how large a count is, or a sum or difference of counts."""
        if any(each.distinct for each in used):
            return len(used) == 1 and self._number(used[0]) is None
        conditions = [each.where for each in used if each.where is not None]
        conditions += [each.argument for each in used if isinstance(each.argument, Case)]
        missing = any(
            isinstance(node, Call) and node.function == "IS NULL"
            for condition in conditions
            for node in walk(condition)
        )
        differ = isinstance(expression, Call) and expression.function == "-"
        return missing or differ or self.most > self.rows

    def _slots(self) -> dict[str, Aggregate]:
        return {each.slot: each.aggregate for each in self.plan.estimates}

    def _about(self, aggregate: Aggregate, rows: str) -> str:
        """Say what the number of an aggregate was guessed from."""
        if aggregate.distinct:
            declared = self._distinct(aggregate)
            if declared is not None:
                return f"at most {counted(declared, 'value is', 'values are')} declared"
            return f"{self.words} has about {counted(self.people, 'person', 'people')}"
        if least := self._least(aggregate):
            return f"only groups of {counted(least, 'row', 'rows')} or more"
        if self._uneven(aggregate):
            return f"{rows}, and many may have far less"
        bounds = _bounds(aggregate, self.plan, self.schema)
        if aggregate.function == "COUNT" or bounds is None:
            return rows
        return f"{rows}, with values between {' and '.join(map(short_number, bounds))}"

    def _number(self, aggregate: Aggregate) -> Fraction | None:
        """Return about how large a count, a sum or a mean is."""
        argument = aggregate.argument
        if aggregate.function == "COUNT" and aggregate.distinct:
            if isinstance(argument, Column) and argument.name in self.plan.unit.columns:
                return Fraction(self.people)
            declared = self._distinct(aggregate)
            return None if declared is None else Fraction(min(declared, self.rows))
        if aggregate.function == "COUNT":
            some = any(isinstance(node, Call) for node in walk(argument or Literal(1)))
            return max(Fraction(self.rows, 2 if some else 1), Fraction(self._least(aggregate)))
        bounds = _bounds(aggregate, self.plan, self.schema)
        if bounds is None or aggregate.function not in {"AVG", "SUM"}:
            return None
        return _typical(*bounds) * (self.rows if aggregate.function == "SUM" else 1)

    def _distinct(self, aggregate: Aggregate) -> int | None:
        """Return how many values a column can have that is not a name of people."""
        argument = aggregate.argument
        if not isinstance(argument, Column) or argument.name in self.plan.unit.columns:
            return None
        facts = _columns(self.schema).get(folded(argument.name))
        return None if facts is None else _declared(facts)

    def _moment(
        self, aggregate: Aggregate, width: Fraction | None
    ) -> tuple[Fraction | None, Fraction | None]:
        """Return how far off a variance or a deviation is, and about how large."""
        found = _bounds(aggregate, self.plan, self.schema)
        if found is None or width is None:
            return width, None
        deviation = (found[1] - found[0]) * _TYPICAL
        if aggregate.function.startswith("STDDEV") and deviation:  # forecast for one of zero
            return width**2 / (2 * deviation), deviation
        return width, deviation**2

    def _formula(self, expression: Expression) -> Fraction | None:
        """Return about how large a product or a ratio is; None for all else."""
        match expression:
            case Literal(value=int() | Fraction() as value):
                return abs(Fraction(value))
            case Column(name=name):
                aggregate = self._slots().get(name)
                return None if aggregate is None else self._number(aggregate)
            case Cast(argument=argument, to=Type.FLOAT):
                return self._formula(argument)
            case Call(function="*" | "/" as way, arguments=(one, other)):
                first, second = self._formula(one), self._formula(other)
                if first is None or second is None or not second:
                    return None
                return first * second if way == "*" else first / second
            case _:
                return None

    def _share(self, expression: Expression) -> Fraction | None:
        """Return by what share of itself a product or a ratio is off: the sum of its parts'."""
        match expression:
            case Literal():
                return Fraction(0)
            case Cast(argument=argument, to=Type.FLOAT):
                return self._share(argument)
            case Call(function="*" | "/", arguments=(one, other)):
                first, second = self._share(one), self._share(other)
                return None if first is None or second is None else first + second
            case _:
                number = self._formula(expression)
                error = self._forecast(expression) if number else None
                return None if not number or error is None else error / number

    def _forecast(self, expression: Expression) -> Fraction | None:
        plan = self.plan
        forecast = ErrorForecast(
            releases=Releases(
                selection=plan.selection,
                chosen_by=plan.chosen_by,
                noises=plan.noises,
                choices=plan.choices,
            ),
            estimates=plan.estimates,
            confidence=plan.confidence,
            size=self.rows,
        )
        found = forecast.of(AnswerColumn(name="", type=Type.FLOAT, expression=expression))
        return None if found is None else found.half_width


def _correlates(expression: Expression, functions: AbstractSet[str]) -> bool:
    """Whether a formula is that of CORR."""
    top = isinstance(expression, Call) and expression.function == "LEAST"
    return top and functions == {"AVG", "STDDEV_POP"}


def counted(number: int, one: str, more: str) -> str:
    """Say how many there are.

    >>> counted(1, "row", "rows"), counted(2000, "row", "rows")
    ('1 row', '2,000 rows')
    """
    return f"{number:,} {one if number == 1 else more}"


def _is_count(aggregate: Aggregate) -> bool:
    """Whether it counts, as a sum of ones and zeros does too."""
    if aggregate.function != "SUM" or not isinstance(aggregate.argument, Case):
        return aggregate.function == "COUNT"
    values = {value for _, value in aggregate.argument.branches}
    values |= {aggregate.argument.default or Literal(None)}
    return values <= {Literal(0), Literal(1), Literal(None)}


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
        ends = _ends(table.column(name))
        if ends is not None:
            return ends
    return None


def _ends(facts: ColumnFacts | None) -> tuple[Fraction, Fraction] | None:
    """Return the bounds of a column, or the ends of its numbers."""
    if facts is None:
        return None
    if facts.categories and facts.type.is_number:
        numbers = [Fraction(each) for each in facts.categories]  # type: ignore[arg-type]
        return min(numbers), max(numbers)
    return None if facts.low is None or facts.high is None else (facts.low, facts.high)


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
