"""A table before it has a policy: a first look, and what its owner may declare of it.

Trust: kernel.  Columns and their stored types are not rows.  Everything else comes from exact
numbers about private rows, without noise: it is shown to the owner of the data alone, who asks for
it, and only what the owner accepts is written.  No proposal repeats a single person:

    types         the first type as which nearly all cells can be read
    bounds        inner quantiles, with several people beyond each, moved outward to a round number
    categories    values that at least ``HELD_BY`` people have; rarer ones are counted, not shown;
                  of integers if they leave gaps and none is rarer
    limits        rows and groups that 99 % of people do not exceed
    size          people and rows, rounded to one digit
    NULL, constant, key   yes or no, about all people
"""

# ruff: noqa: S608  (statements name columns of ours alone: u0, c0, and so on)

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Final, NamedTuple, final

from discreet.engines.engine import Columns
from discreet.errors import WrongKind
from discreet.query.types import Type
from discreet.requests.table_schema import (
    ColumnFacts,
    CsvFormat,
    PublicSize,
    StoredColumn,
    TableFacts,
)
from discreet.session.first_run.policy_questionnaire import looks_like_a_name
from discreet.session.opening_arguments import named_sources
from discreet.session.owner_check.check_report import WARNING, Spread, percent
from discreet.session.owner_check.exact_counts import (
    ExactCounter,
    listed,
    open_tables,
    scan_of,
    there,
)

_TRIED: Final = (Type.INTEGER, Type.FLOAT, Type.DATE, Type.TIMESTAMP, Type.BOOLEAN)
"""The types that cells are tried as; the first that fits is proposed."""

_FEW: Final = Fraction(1, 20)
"""A type is proposed if not more cells than this are something else."""

Shares = Mapping[str, Mapping[Type, Fraction]]
"""The share of the cells of each column that cannot be read as a type."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FirstLook:
    """One table, as found.

    ``shares`` are those of the cells of CSV files, and empty unless the owner looks at the rows.

    >>> FirstLook(table="visits", columns={"ward": Type.TEXT}, stored={}).proposed("ward") is None
    True
    """

    table: str
    columns: Columns
    stored: Mapping[str, StoredColumn]
    shares: Shares | None = None
    csv: CsvFormat | None = None

    def is_cell(self, column: str) -> bool:
        """Say whether a column can be read as any type, because a CSV file holds it."""
        return column in self.stored and self.stored[column].cells is not None

    def proposed(self, column: str) -> Type | None:
        """Return the type that the values of a column have; None if they were not read."""
        shares = None if self.shares is None else self.shares.get(column)
        if not shares:
            return None
        best = min(_TRIED, key=lambda kind: shares[kind])  # the first of several
        return best if shares[best] <= _FEW else Type.TEXT

    def unreadable(self, types: Mapping[str, Type]) -> dict[str, Fraction]:
        """Return the share of cells of each column that cannot be read as the type it is given."""
        return {
            name: shares[types[name]]
            for name, shares in (self.shares or {}).items()
            if name in types and types[name] in shares
        }

    def lines(self, types: Mapping[str, Type]) -> Iterator[str]:
        """Say the same in words, with a warning; an empty text if the rows were not read."""
        if self.shares is not None:
            yield WARNING
        for name, share in self.unreadable(types).items():
            kind = types[name].value.lower()
            yield f"  {name}: {percent(share)} of cells cannot be read as {kind}"


def first_look(
    source: object,
    *,
    tables: str | Sequence[str] | None = None,
    csv: CsvFormat | None = None,
    owner: bool = False,
) -> FirstLook:
    """Look at one table; with ``owner`` also at its rows, which is NOT private.

    Args:
        source: what ``discreet.open`` takes.
        tables: the name of the table.
        csv: how its files are written, if that is not as usual.
        owner: whether cells of CSV files are counted that cannot be read as each of our types.

    >>> import pyarrow as pa
    >>> first_look(pa.table({"age": [34, 71]}), tables="people").columns
    {'age': INTEGER}
    """
    named = named_sources(source, tables, [])
    (table, *others) = named
    if others:
        raise WrongKind(
            what="several tables are named.",
            why="the questions are about one table.",
            do="name one, and add others to the policy by hand.",
        )
    with open_tables(named, [TableFacts(name=table, columns=(), csv=csv)]) as counting:
        look = FirstLook(
            table=table,
            columns=counting.engine.tables()[table],
            stored=counting.engine.stored().get(table, {}),
            csv=csv,
        )
        return replace(look, shares=_shares(counting, look)) if owner else look


def _shares(counting: ExactCounter, look: FirstLook) -> Shares:
    names = [name for name in look.columns if look.is_cell(name)]
    shares: dict[str, dict[Type, Fraction]] = {name: {} for name in names}
    for kind in (Type.TEXT, *_TRIED) if names else ():
        facts = tuple(ColumnFacts(name=name, type=kind) for name in names)
        cells = scan_of(TableFacts(name=look.table, columns=facts), names)
        counts = listed(f"COUNT(c{at})" for at, _ in enumerate(names))
        read = counting.numbers(f"SELECT {counts} FROM t", t=cells)
        if kind is Type.TEXT:
            whole = read
        else:
            for name, could, of in zip(names, read, whole, strict=True):
                shares[name][kind] = Fraction(of - could, of or 1)
    return shares


HELD_BY: Final = 20
"""So many people have a value that is proposed."""
MOST_CATEGORIES: Final = 50
"""More values than these are too many for an owner to review."""
FEW_NUMBERS: Final = 100
"""An integer column with at most this many values is taken for a group label."""
_NEARLY: Final = Fraction(99, 100)
BEYOND: Final = 5
"""The least number of people beyond an inner quantile."""
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
    """The proposal for one column, and notes for the owner.

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
    """All that is proposed for one table, from its rows; ``unnamed``: some rows belong to no unit.

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


def kind_of(look: FirstLook, name: str) -> Type:
    """Return the type that is proposed for a column."""
    return look.proposed(name) or look.columns[name] or Type.TEXT


def _described(look: FirstLook, kinds: Mapping[str, Type]) -> TableFacts:
    columns = tuple(ColumnFacts(name=name, type=kind) for name, kind in kinds.items())
    return TableFacts(name=look.table, columns=columns, csv=look.csv)


def unit_guesses(
    look: FirstLook, source: object, among: Collection[str] | None = None
) -> tuple[UnitGuess, ...]:
    """Return the columns whose names and values look like the name of a person, best first.

    Columns ``among`` which to choose have any name.

    >>> import pyarrow as pa
    >>> visits = pa.table({"patient": [1, 1, 2, 2], "ward": ["A", "B", "A", "A"]})
    >>> [guess.column for guess in unit_guesses(first_look({"visits": visits}), {"visits": visits})]
    ['patient']
    """
    likely = filter(looks_like_a_name, look.columns) if among is None else among
    kinds = {name: kind_of(look, name) for name in likely}
    named = {name: kind for name, kind in kinds.items() if kind in {Type.INTEGER, Type.TEXT}}
    if not named:
        return ()
    table = _described(look, named)
    counts = listed(f"COUNT(DISTINCT c{at}), COUNT(c{at})" for at, _ in enumerate(named))
    with open_tables(named_sources(source, look.table, []), [table]) as counting:
        found = counting.numbers(f"SELECT {counts} FROM t", t=scan_of(table, list(named)))
    pairs = zip(named, found[::2], found[1::2], strict=True)
    return tuple(
        UnitGuess(name, Fraction(rows, values)) for name, values, rows in pairs if values > 1
    )


def csv_form(look: FirstLook, source: object) -> CsvFormat | None:
    """Return the likely format of numbers and dates in a CSV file, if it is unusual.

    Only columns whose cells are neither numbers nor days otherwise are looked at.
    """
    texts = [
        name for name in look.columns if look.is_cell(name) and look.proposed(name) is Type.TEXT
    ]
    form, table = look.csv or CsvFormat(), _described(look, dict.fromkeys(texts, Type.TEXT))
    with open_tables(named_sources(source, look.table, []), [table]) as counting:
        for name in texts:
            found = counting.rows("SELECT DISTINCT c0 FROM t", t=scan_of(table, [name]))
            form = _form_of([str(cell).strip() for (cell,) in found if cell], form)
    return None if form == (look.csv or CsvFormat()) else form


def _form_of(cells: Sequence[str], form: CsvFormat) -> CsvFormat:
    """Return the format that reads nearly all of some cells as numbers, or dates."""
    most = max(Fraction(2), _MOSTLY * len(cells))
    days = [found for cell in cells if (found := _DAY.fullmatch(cell)) is not None]
    numbers = sum(_COMMA.fullmatch(cell) is not None for cell in cells)
    if numbers >= most and any("," in cell for cell in cells):
        form = replace(form, decimal=",")
    if len(days) >= most:
        form = replace(form, dates=_dates(days))
    return form


def _dates(days: Sequence[re.Match[str]]) -> str:
    month_first = any(int(day[3]) > _MONTHS for day in days)
    return days[0][2].join(("MM", "DD", "YYYY") if month_first else ("DD", "MM", "YYYY"))


class _Held(NamedTuple):
    """A value, the rows that hold it, and the people who have one of these."""

    value: Any
    rows: int
    people: int


def propose_columns(counting: ExactCounter, table: TableFacts, look: FirstLook) -> Proposals:
    """Look at all rows of an open table, and propose what to declare of it.  NOT private.

    Args:
        counting: the tables, with the units and links that were decided.
        table: the table, with a type for each column that can be read.
        look: how its cells can be read.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [20 + at % 50 for at in range(500)], "sex": ["f", "m"] * 250})
    >>> look = first_look({"people": people})
    >>> facts = TableFacts(name="people", columns=(ColumnFacts(name="age", type=Type.INTEGER),))
    >>> with open_tables({"people": people}, [facts]) as counting:
    ...     made = propose_columns(counting, facts, look)
    >>> [(each.facts.low, each.facts.high, each.facts.categories) for each in made.columns]
    [(Fraction(20, 1), Fraction(70, 1), None)]
    """
    naming = table.unit if table.link is None else (table.link.column,)
    relation, unit = counting.units(table, [])
    (all_rows,) = counting.numbers("SELECT COUNT(*) FROM t", t=scan_of(table, []))
    number = rows = all_rows
    each = Spread(())
    if unit:
        by_person = f"SELECT COUNT(*) AS n FROM t WHERE {there(unit)} GROUP BY {listed(unit)}"
        counts = counting.rows(
            f"SELECT n, COUNT(*) AS people FROM ({by_person}) AS p GROUP BY n", t=relation
        )
        each = Spread((int(value), int(people)) for value, people in counts)
        number, rows = each.number, sum(value * people for value, people in each.counts)
    columns = []
    once: list[tuple[int, str]] = []
    for column in table.columns:
        if column.name in naming:
            continue
        made, single = _looked_at(counting, table, column)
        lost = look.unreadable({column.name: column.type}).get(column.name, Fraction(0))
        columns.append(replace(made, lost=lost))
        if unit and made.groups > 1 and single:
            once.append((made.groups, column.name))
    key: tuple[str, ...] = ()
    if unit and table.link is None:
        key = (*table.unit, max(once)[1]) if once else ()
        if each.quantile(Fraction(1)) <= 1:
            key = table.unit
    return Proposals(
        columns=tuple(columns),
        people=number,
        rows=rows,
        unnamed=bool(unit) and rows < all_rows,
        key=key,
        max_rows=each.quantile(_NEARLY) or 1,
        max_groups=max([1, *(each.groups for each in columns)]),
    )


def _looked_at(
    counting: ExactCounter, table: TableFacts, column: ColumnFacts
) -> tuple[ColumnProposal, bool]:
    """Propose facts of a column; return whether no unit has two rows with the same value."""
    relation, unit = counting.units(table, [column.name])
    cells = listed([*unit, "c0"])
    by_value = f"SELECT {cells}, COUNT(*) AS n FROM t WHERE {there(unit)} GROUP BY {cells}"
    people = "COUNT(*)" if unit else "SUM(n)"
    found = counting.rows(
        f"SELECT c0, SUM(n) AS held, {people} AS people FROM ({by_value}) AS v GROUP BY c0",
        t=relation,
    )
    held = [_Held(value, int(rows), int(some)) for value, rows, some in found]
    made, few = _proposed(column, held)
    if not unit or all(each.value is None for each in held):
        return made, False
    persons = counting.rows(
        "SELECT a, k, m, COUNT(*) AS people FROM (SELECT COUNT(*) AS a, COUNT(c0) AS k,"
        f" MAX(n) AS m FROM ({by_value}) AS v GROUP BY {listed(unit)}) AS p GROUP BY a, k, m",
        t=relation,
    )
    constant = max(int(values) for values, *_ in persons) == 1
    own = Spread((int(known), int(some)) for _, known, _, some in persons if known)
    return (
        replace(
            made,
            facts=replace(made.facts, constant=constant),
            groups=own.quantile(_NEARLY) if few and not constant else 1,
        ),
        all(int(most) == 1 for _, _, most, _ in persons),
    )


def _proposed(facts: ColumnFacts, held: Sequence[_Held]) -> tuple[ColumnProposal, bool]:
    """Propose facts of a column from its values; say whether few of these distinguish groups."""
    rows = sum(each.rows for each in held)
    values = sorted((each for each in held if each.value is not None), key=lambda each: each.value)
    known = sum(each.rows for each in values)
    facts = replace(facts, nullable=known < rows)
    null, shown = Fraction(rows - known, rows or 1), [e for e in values if e.people >= HELD_BY]
    inside, rarer, few = None, 0, facts.type is Type.BOOLEAN
    if not known:
        return ColumnProposal(facts=facts, null=null), False
    match facts.type:
        case Type.TEXT:
            share = Fraction(sum(each.rows for each in shown), known)
            few = 1 <= len(shown) <= MOST_CATEGORIES and share >= _ALL_SEEN
            if few:
                inside, rarer = share, len(values) - len(shown)
                facts = replace(facts, categories=tuple(each.value for each in shown))
        case Type.INTEGER | Type.FLOAT:
            low, high = _bounds(values, shown, known, whole=facts.type is Type.INTEGER)
            inside = _share_between(values, low, high, known)
            few = facts.type is Type.INTEGER and high - low < FEW_NUMBERS
            if few and len(shown) == len(values) <= _GAPS * (high - low + 1):
                facts = replace(facts, categories=tuple(each.value for each in shown))
            else:
                facts = replace(facts, low=low, high=high)
        case Type.DATE | Type.TIMESTAMP:
            days = [
                each._replace(value=each.value.date()) if isinstance(each.value, datetime) else each
                for each in values
            ]
            first, last = (_inner(days, known, top=top) for top in (False, True))
            ends = date(first.year, 1, 1), date(last.year, _MONTHS, 31)
            inside = _share_between(days, *ends, known)
            facts = replace(facts, days=ends)
        case _:
            pass
    return ColumnProposal(facts=facts, inside=inside, null=null, rarer=rarer), few


def _bounds(
    values: Sequence[_Held], shown: Sequence[_Held], known: int, *, whole: bool
) -> tuple[Fraction, Fraction]:
    """Return the range of a few common integers, or inner quantiles moved outward."""
    if whole and len(shown) > 1 and len(values) <= FEW_NUMBERS:
        first, last = shown[0].value, shown[-1].value
        if _share_between(values, first, last, known) >= _HELD and first < last:
            return Fraction(first), Fraction(last)
    low, high = (Fraction(_inner(values, known, top=top)) for top in (False, True))
    return outward(low, high)


def _inner(values: Sequence[_Held], known: int, *, top: bool) -> Any:
    """Return a value exceeded by a two-hundredth of the cells, and by those of some people."""
    beyond, people = Fraction(0), 0
    for each in reversed(values) if top else values:
        beyond, people = beyond + each.rows, people + each.people
        if beyond >= _INNER * known and people >= min(BEYOND, known // 2 or 1):
            return each.value
    return values[0].value


def _share_between(values: Sequence[_Held], low: Any, high: Any, known: int) -> Fraction:
    return Fraction(sum(each.rows for each in values if low <= each.value <= high), known or 1)
