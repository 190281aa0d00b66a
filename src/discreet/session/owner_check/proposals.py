"""What an owner may declare of a table, proposed from its rows, for the owner to confirm.

Trust: kernel.  Proposals come from exact numbers about private rows: they are shown to the owner of
the data, and only what the owner accepts is written.  None of them repeats a single person:

    bounds        inner quantiles, with several people beyond each, moved outward to a round number
    categories    values that at least ``HELD_BY`` people have; rarer ones are counted, not shown;
                  of whole numbers if they leave gaps and none is rarer
    limits        rows and groups that 99 % of people do not exceed
    size          people and rows, rounded to one digit
    NULL, constant, key   yes or no, about all people
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import Any, Final, Self, final

import pyarrow as pa
import pyarrow.compute as pc

from discreet.engines.dispatch import engine_for
from discreet.engines.engine import Engine
from discreet.engines.hash_order import HashOrder
from discreet.query.expressions import Column
from discreet.query.relations import Scan
from discreet.query.types import Type
from discreet.requests.csv_format import CsvFormat
from discreet.requests.engine_request import EngineRequest, KeyColumn
from discreet.requests.table_schema import ColumnFacts, PublicSize, Schema, TableFacts
from discreet.session.first_run.policy_questionnaire import looks_like_a_name
from discreet.session.opening_arguments import declared_sources, named_sources
from discreet.session.owner_check.cell_shares import FirstLook

HELD_BY: Final = 20
"""So many people have a value that is proposed."""
MOST_CATEGORIES: Final = 50
"""More values than these are no list that somebody reviews."""
FEW_NUMBERS: Final = 100
"""A whole number with no more values than these tells groups apart."""
_NEARLY: Final = Fraction(99, 100)
BEYOND: Final = 5
"""So many people, at least, lie beyond an inner quantile."""
_HELD: Final = Fraction(99, 100)
_INNER: Final = Fraction(1, 200)
_ALL_SEEN: Final = Fraction(3, 4)
_GAPS: Final = Fraction(3, 4)
"""Whole numbers that fill no more of their range are listed one by one."""
_MOSTLY: Final = Fraction(19, 20)
_COMMA: Final = re.compile(r"[+-]?\d{1,3}(\.?\d{3})*,\d+|[+-]?\d+")
_DAY: Final = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})")
_MONTHS: Final = 12


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnProposal:
    """What is proposed for one column, and what the owner should see beside it.

    ``inside`` is the share of the cells that bounds hold or categories list, ``null`` that of empty
    ones and ``lost`` that of cells of another type; ``rarer`` counts values that too few people
    have to be shown.

    >>> ColumnProposal(facts=ColumnFacts(name="age", type=Type.INTEGER)).facts.type
    INTEGER
    """

    facts: ColumnFacts
    inside: Fraction | None = None
    null: Fraction = Fraction(0)
    lost: Fraction = Fraction(0)
    rarer: int = 0
    groups: int = 1


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Proposals:
    """All that is proposed for one table, from its rows; ``unnamed``: some belong to nobody.

    >>> Proposals(columns=(), people=545, rows=4360).size
    PublicSize(people=500, rows=4000)
    """

    columns: tuple[ColumnProposal, ...]
    people: int
    rows: int
    unnamed: bool = False
    key: tuple[str, ...] = ()
    max_rows: int = 1
    max_groups: int = 1

    @property
    def size(self) -> PublicSize:
        """The size, rounded to one digit."""
        return PublicSize(people=one_digit(self.people), rows=one_digit(self.rows))


@final
@dataclass(frozen=True, slots=True)
class UnitGuess:
    """A column that looks like the name of a person, and how often a name repeats.

    >>> UnitGuess("nr", Fraction(8)).repeats
    Fraction(8, 1)
    """

    column: str
    repeats: Fraction | None = None


def one_digit(number: int) -> int:
    """Round a number to its first digit.

    >>> one_digit(545), one_digit(4360), one_digit(96), one_digit(0)
    (500, 4000, 100, 0)
    """
    return round(number, 1 - len(str(number))) if number else 0


def outward(low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    """Move two ends outward to multiples of 1, 2 or 5 times a power of ten.

    The step is at least a tenth of the distance; an end near zero becomes zero.

    >>> outward(Fraction(17), Fraction(93))
    (Fraction(0, 1), Fraction(100, 1))
    >>> outward(Fraction(3, 10), Fraction(71, 10)), outward(Fraction(-4), Fraction(7, 2))
    ((Fraction(0, 1), Fraction(8, 1)), (Fraction(-4, 1), Fraction(4, 1)))
    """
    span = high - low or abs(high) or Fraction(1)
    step = _step(span / 10)
    bottom, top = math.floor(low / step) * step, math.ceil(high / step) * step
    if 0 < bottom <= span / 5:
        bottom = Fraction(0)
    if -span / 5 <= top < 0:
        top = Fraction(0)
    return bottom, top if top > bottom else bottom + step


def _step(least: Fraction) -> Fraction:
    power = Fraction(10) ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least)


@final
class _OpenTable:
    """An open table, of which one column at a time is read with the names of people."""

    __slots__ = ("_engine", "_table")

    def __init__(
        self,
        look: FirstLook,
        source: object,
        kinds: Mapping[str, Type],
        csv: CsvFormat | None = None,
    ) -> None:
        columns = tuple(ColumnFacts(name=name, type=kind) for name, kind in kinds.items())
        self._table = TableFacts(name=look.table, columns=columns, csv=csv)
        named = named_sources(source, look.table, [])
        self._engine: Engine = engine_for(declared_sources(named, [self._table]))
        self._engine.learn_schema(Schema([self._table]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.close()

    def counted(
        self, unit: Sequence[str], column: str | None, people: pa.Table | None = None
    ) -> pa.Table:
        """Return how often each value occurs for each person: columns u0, u1, ..., v and rows.

        ``people`` says whom each value of the unit's column belongs to, if that is a link.
        """
        kinds = {facts.name: facts.type for facts in self._table.columns}
        names = [*unit, *([] if column is None else [column])]
        keys = tuple(KeyColumn(name, Column(name), kinds[name]) for name in names)
        scan = Scan(self._table.name, tuple((name, kinds[name]) for name in dict.fromkeys(names)))
        raw = self._engine.run(
            EngineRequest(relation=scan, unit=(), keys=keys, groups=None, measures=()),
            order=HashOrder(salt=0),
        )
        labels = [*(f"u{at}" for at, _ in enumerate(unit)), *([] if column is None else ["v"])]
        table = pa.table([*raw.keys, pa.array(raw.units)], names=[*labels, "rows"])
        for label in labels[: len(unit)]:
            table = table.filter(pc.is_valid(table[label]))
        return table if people is None else _by_person(table, people)


def _by_person(counted: pa.Table, people: pa.Table) -> pa.Table:
    """Count by person what was counted by the value of a link, which is u0."""
    linked = counted.set_column(0, "k", counted["u0"].cast(pa.string()))
    joined = linked.join(people, "k", join_type="inner").drop_columns(["k"])
    labels = [name for name in joined.column_names if name != "rows"]
    found = joined.group_by(labels).aggregate([("rows", "sum")])
    order = [*sorted(name for name in labels if name != "v"), *(["v"] if "v" in labels else [])]
    return found.rename_columns([*labels, "rows"]).select([*order, "rows"])


def people_by_key(
    look: FirstLook,
    source: object,
    key: str,
    *,
    unit: Sequence[str],
    people: pa.Table | None = None,
) -> pa.Table:
    """Return whom each value of a key belongs to: columns k (as text), u0, u1, and so on.

    Args:
        look: the table of the key.
        source: what ``discreet.open`` takes.
        key: a column that other tables point to.
        unit: the columns that name a person there, or its own link.
        people: whom each value of that link belongs to.
    """
    kinds = {name: _kind(look, name) for name in dict.fromkeys([*unit, key])}
    with _OpenTable(look, source, kinds, look.csv) as table:
        found = table.counted(unit, key, people).drop_columns(["rows"])
    found = found.filter(pc.is_valid(found["v"]))
    names = [name for name in found.column_names if name != "v"]
    return pa.table({"k": found["v"].cast(pa.string()), **{name: found[name] for name in names}})


def unit_guesses(look: FirstLook, source: object) -> tuple[UnitGuess, ...]:
    """Return the columns whose names and values look like the name of a person, best first.

    >>> from discreet.session import first_look
    >>> visits = pa.table({"patient": [1, 1, 2, 2], "ward": ["A", "B", "A", "A"]})
    >>> [guess.column for guess in unit_guesses(first_look({"visits": visits}), {"visits": visits})]
    ['patient']
    """
    named = {name: _kind(look, name) for name in look.columns if looks_like_a_name(name)}
    found = []
    with _OpenTable(look, source, named, look.csv) as table:
        for name, kind in named.items():
            counts = table.counted((), name)
            counts = counts.filter(pc.is_valid(counts["v"]))
            if counts.num_rows > 1 and kind in {Type.INTEGER, Type.TEXT}:
                found.append(UnitGuess(name, Fraction(_sum(counts["rows"]), counts.num_rows)))
    return tuple(found)


def csv_form(look: FirstLook, source: object) -> CsvFormat | None:
    """Return how numbers and days of a CSV file seem to be written, where that is not as usual.

    Only columns whose cells are neither numbers nor days otherwise are looked at.
    """
    texts = [
        name for name in look.columns if look.is_cell(name) and look.proposed(name) is Type.TEXT
    ]
    form = look.csv or CsvFormat()
    with _OpenTable(look, source, dict.fromkeys(texts, Type.TEXT), look.csv) as table:
        for name in texts:
            cells = [str(cell).strip() for cell in table.counted((), name)["v"].to_pylist() if cell]
            most = max(Fraction(2), _MOSTLY * len(cells))
            days = [found for cell in cells if (found := _DAY.fullmatch(cell)) is not None]
            numbers = sum(_COMMA.fullmatch(cell) is not None for cell in cells)
            if numbers >= most and any("," in cell for cell in cells):
                form = replace(form, decimal=",")
            if len(days) >= most:
                form = replace(form, dates=_dates(days))
    return None if form == (look.csv or CsvFormat()) else form


def _dates(days: Sequence[re.Match[str]]) -> str:
    month_first = any(int(day[3]) > _MONTHS for day in days)
    return days[0][2].join(("MM", "DD", "YYYY") if month_first else ("DD", "MM", "YYYY"))


def propose_columns(
    look: FirstLook,
    source: object,
    *,
    unit: Sequence[str] = (),
    types: Mapping[str, Type] | None = None,
    people: pa.Table | None = None,
) -> Proposals:
    """Look at all rows of a table, and propose what to declare of it.  NOT private.

    Args:
        look: the columns, with the types that their cells can have.
        source: what ``discreet.open`` takes.
        unit: the columns that name a person, or point to one; none if each row is one.
        types: types of columns that are decided already.
        people: whom each value of a column that points belongs to.

    >>> from discreet.session import first_look
    >>> people = pa.table({"age": [20 + at % 50 for at in range(500)], "sex": ["f", "m"] * 250})
    >>> made = propose_columns(first_look({"people": people}), {"people": people})
    >>> [(each.facts.low, each.facts.high, each.facts.categories) for each in made.columns]
    [(Fraction(20, 1), Fraction(70, 1), None), (None, None, ('f', 'm'))]
    """
    kinds = {
        name: (types or {}).get(name) or _kind(look, name)
        for name, kind in look.columns.items()
        if kind is not None
    }
    with _OpenTable(look, source, kinds, look.csv) as table:
        names = len(unit) if people is None else people.num_columns - 1
        whole = table.counted(unit, None, people) if unit else table.counted((), next(iter(kinds)))
        rows = _sum(whole["rows"])
        number = whole.num_rows if unit else rows
        unnamed = bool(unit) and rows < _sum(table.counted((), unit[0])["rows"])
        columns = []
        once: list[tuple[int, str]] = []
        for name, kind in kinds.items():
            if name in unit:
                continue
            counted = table.counted(unit, name, people)
            made = _proposed(ColumnFacts(name=name, type=kind), counted, names)
            columns.append(replace(made, lost=look.unreadable({name: kind}).get(name, made.lost)))
            if unit and made.groups > 1 and pc.all(pc.equal(counted["rows"], 1)).as_py():
                once.append((made.groups, name))
    most_rows = _quantile(whole["rows"]) if unit else 1
    key = (*unit, max(once)[1]) if once and people is None else ()
    if unit and people is None and pc.all(pc.equal(whole["rows"], 1)).as_py():
        key = tuple(unit)
    return Proposals(
        columns=tuple(columns),
        people=number,
        rows=rows,
        unnamed=unnamed,
        key=key,
        max_rows=most_rows,
        max_groups=max([1, *(each.groups for each in columns)]),
    )


def _kind(look: FirstLook, name: str) -> Type:
    return look.proposed(name) or look.columns[name] or Type.TEXT


def _proposed(facts: ColumnFacts, counted: pa.Table, units: int) -> ColumnProposal:
    """Propose facts of a column from how often each value occurs for each person."""
    rows, known = _sum(counted["rows"]), counted.filter(pc.is_valid(counted["v"]))
    there = _sum(known["rows"])
    values = _by_value(known, units)
    facts = replace(facts, nullable=there < rows)
    null, held = Fraction(rows - there, rows or 1), pc.greater_equal(values["people"], HELD_BY)
    shown = values.filter(held)
    inside, rarer, few = None, 0, facts.type is Type.BOOLEAN
    if not there:
        return ColumnProposal(facts=facts, null=null)
    match facts.type:
        case Type.TEXT:
            share = Fraction(_sum(shown["rows"]), there)
            few = 1 <= shown.num_rows <= MOST_CATEGORIES and share >= _ALL_SEEN
            if few:
                inside, rarer = share, values.num_rows - shown.num_rows
                facts = replace(facts, categories=tuple(sorted(shown["v"].to_pylist())))
        case Type.INTEGER | Type.FLOAT:
            low, high = _bounds(values, shown, there, whole=facts.type is Type.INTEGER)
            inside = _share_between(values, float(low), float(high), there)
            few = facts.type is Type.INTEGER and high - low < FEW_NUMBERS
            if few and shown.num_rows == values.num_rows <= _GAPS * (high - low + 1):
                facts = replace(facts, categories=tuple(shown["v"].to_pylist()))
            else:
                facts = replace(facts, low=low, high=high)
        case Type.DATE | Type.TIMESTAMP:
            days = _days(values)
            inside = _share_between(values, *days, there)
            facts = replace(facts, days=days)
        case _:
            pass
    groups = 1
    if units:
        names = [f"u{at}" for at in range(units)]
        apart = counted.group_by(names).aggregate([([], "count_all")])["count_all"]
        facts = replace(facts, constant=_quantile(apart, Fraction(1)) == 1)
        own = known.group_by(names).aggregate([([], "count_all")])["count_all"]
        groups = _quantile(own) if few and not facts.constant else 1
    return ColumnProposal(facts=facts, inside=inside, null=null, rarer=rarer, groups=groups)


def _by_value(known: pa.Table, units: int) -> pa.Table:
    """Return each value with the number of its rows and of its people, in order."""
    found = known.group_by(["v"]).aggregate([("rows", "sum"), ([], "count_all")])
    people = found["count_all"] if units else found["rows_sum"]
    table = pa.table({"v": found["v"], "rows": found["rows_sum"], "people": people})
    return table.sort_by("v")


def _bounds(
    values: pa.Table, shown: pa.Table, there: int, *, whole: bool
) -> tuple[Fraction, Fraction]:
    """Return the range of a few common whole numbers, or inner quantiles moved outward."""
    if whole and shown.num_rows > 1 and values.num_rows <= FEW_NUMBERS:
        first, last = shown["v"][0].as_py(), shown["v"][-1].as_py()
        if _share_between(values, first, last, there) >= _HELD and first < last:
            return Fraction(first), Fraction(last)
    low, high = (Fraction(_inner(values, there, top=top)) for top in (False, True))
    return outward(low, high)


def _inner(values: pa.Table, there: int, *, top: bool) -> Any:
    """Return the value beyond which a two-hundredth of the cells lie, and those of some people."""
    beyond, people = Fraction(0), 0
    places = range(values.num_rows - 1, -1, -1) if top else range(values.num_rows)
    rows, held = values["rows"].to_pylist(), values["people"].to_pylist()
    for place in places:
        beyond, people = beyond + rows[place], people + held[place]
        if beyond >= _INNER * there and people >= min(BEYOND, there // 2 or 1):
            return values["v"][place].as_py()
    return values["v"][0].as_py()


def _days(values: pa.Table) -> tuple[date, date]:
    """Return the first and the last day of the years between inner quantiles."""
    there = _sum(values["rows"])
    first, last = (_inner(values, there, top=top) for top in (False, True))
    return date(first.year, 1, 1), date(last.year, _MONTHS, 31)


def _share_between(values: pa.Table, low: Any, high: Any, there: int) -> Fraction:
    cells = values["v"]
    if isinstance(low, date):
        cells = cells.cast(pa.date32())
    inside = pc.and_(pc.greater_equal(cells, low), pc.less_equal(cells, high))
    return Fraction(_sum(values.filter(inside)["rows"]), there or 1)


def _sum(numbers: pa.ChunkedArray) -> int:
    return int(pc.sum(numbers).as_py() or 0)


def _quantile(numbers: pa.ChunkedArray, level: Fraction = _NEARLY) -> int:
    """Return the smallest number that this share of all does not exceed."""
    if not len(numbers):
        return 1
    ordered = numbers.take(pc.sort_indices(numbers))
    return int(ordered[math.ceil(level * len(ordered)) - 1].as_py())
