"""The declarations of a table, from answers and proposals, and the resulting policy.

Trust: public.

A person's answers come first, then proposals from the rows that their owner accepted, then the
types that the names of columns suggest.  Without the owner's review nothing comes from rows: the
largest cost in a table belongs to a person.

The declaration of a column is one line that a person reads and edits: ``integer 16..95, no NULL``
and ``text black, hisp, "a, b"; same for a person`` are such lines: a type, then bounds or values,
then the rules for NULL and for all rows of a person.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, Final, final

from discreet.accounting import Budget
from discreet.errors import DiscreetError, UnknownName, WrongKind
from discreet.exact import decimal
from discreet.plan.policy.policy import About, Limits, Policy, SessionSettings
from discreet.query.relations import folded
from discreet.query.types import TYPES_BY_NAME, Scalar, Type
from discreet.requests.table_schema import ColumnFacts, CsvFormat, PublicSize, TableFacts
from discreet.units import PrivacyUnit, custom, row

if TYPE_CHECKING:  # handed in: only ``init`` loads what looks at a table
    from discreet.session.owner_check import FirstLook, Proposals

Columns = Mapping[str, Type | None]

ROW: Final = "row"
USUAL_ROWS: Final = 10
USUAL_GROUPS: Final = 4
"""The default limits on rows and groups of one person."""
LOOKED: Final = "confirmed by the owner after looking"
UNSEEN: Final = "accepted for the owner as they were, with --accept-proposals"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What was said, in words; the rest is proposed."""

    unit: str = ""
    max_rows: str = ""
    max_groups: str = ""
    analysts: str = ""
    epsilon: str = ""
    delta: str = ""
    bounds: Mapping[str, str] = field(default_factory=dict)
    categories: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    constant: tuple[str, ...] = ()
    csv: CsvFormat | None = None


_NAMES: Final = (
    (Type.BOOLEAN, "is has was"),
    (Type.TIMESTAMP, "at timestamp datetime"),
    (Type.DATE, "date dob birthday birthdate"),
    (Type.INTEGER, "age year born count days hours minutes quantity qty"),
    (Type.FLOAT, "cost price amount income salary fee rate weight height bmi distance temperature"),
)
"""Words in the names of columns, and their usual types."""
_ID: Final = re.compile(
    r"(^|_)(id|nr|no|num|number|uuid|person|people|patient|user|customer|client|subject|member|"
    r"student|pupil|employee|respondent|household|account|participant)"
    r"((id|nr|no|num|number)?(_|$))"
)


def type_by_name(name: str) -> Type:
    """Propose a type from the words in the name of a column.

    >>> type_by_name("birth_year"), type_by_name("totalCost"), type_by_name("admitted_at")
    (INTEGER, FLOAT, TIMESTAMP)
    >>> type_by_name("ward"), type_by_name("year_id")
    (TEXT, TEXT)
    """
    words = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower())
    if not words or words[-1] in {"id", "code", "name", "zip"}:
        return Type.TEXT
    for kind, known in _NAMES:
        place = 0 if kind is Type.BOOLEAN else -1
        if words[place] in known.split():
            return kind
    return Type.TEXT


def looks_like_a_name(column: str) -> bool:
    """Say whether a column is called as names of people often are.

    >>> looks_like_a_name("patientId"), looks_like_a_name("nr"), looks_like_a_name("paid")
    (True, True, False)
    """
    return _ID.search(re.sub(r"([a-z])([A-Z])", r"\1_\2", column).lower()) is not None


def policy_of(
    answers: Answers,
    tables: Sequence[TableFacts],
    *,
    session: SessionSettings,
    limits: Mapping[str, tuple[int, int]] | None = None,
    accepted: str | None = None,
) -> Policy:
    """Return the policy of what has been decided.

    Args:
        answers: the answers to the questions.
        tables: the declarations of each table.
        session: the locations of data and ledger.
        limits: the rows and groups of a person that are proposed, by the names of tables.
        accepted: who accepted proposals from the rows, if any were.

    >>> people = TableFacts(name="people", columns=())
    >>> policy = policy_of(Answers(unit="row"), [people], session=SessionSettings(data="p.csv"))
    >>> policy.unit.name, policy.session.data
    ('row', 'p.csv')
    """
    named = next((each.unit for each in tables if each.unit), ())
    proposed = limits or dict.fromkeys(
        [each.name for each in tables], (USUAL_ROWS, USUAL_GROUPS) if named else (1, 1)
    )
    given = answers.max_rows, answers.max_groups
    most = tuple(
        _whole_number(said) if said else max((each[place] for each in proposed.values()), default=1)
        for place, said in enumerate(given)
    )
    own = {
        name: tuple(
            None if said or each == top else each
            for said, each, top in zip(given, both, most, strict=True)
        )
        for name, both in proposed.items()
    }
    told = tuple(
        replace(each, max_rows=own[each.name][0], max_groups=own[each.name][1])
        if each.name in own
        else each
        for each in tables
    )
    sizes = [each.size for each in tables if each.size is not None]
    epsilon = answers.epsilon or "1"
    delta = answers.delta or usual_delta(max(sizes, key=lambda each: each.people, default=None))
    return Policy(
        unit=custom("person", columns=named) if named else row(),
        session=session,
        budget=Budget(epsilon=epsilon.strip(), delta=delta.strip()),
        limits=Limits(max_rows=most[0], max_groups=most[1]),
        analysts=split_values(answers.analysts) or None,
        tables=told,
        about=About() if accepted is None else About(tuning=_tuning(told, accepted)),
    )


def _tuning(tables: Sequence[TableFacts], accepted: str) -> str:
    """Say what of a policy was proposed from the rows."""
    parts = ["types", "bounds", "categories", "limits"]
    parts += [
        word
        for word, said in (
            ("key", any(each.key for each in tables)),
            ("size", any(each.size for each in tables)),
        )
        if said
    ]
    listed = f"{', '.join(parts[:-1])} and {parts[-1]}"
    return (
        f"{listed.capitalize()} were proposed from the rows and {accepted}; "
        "no price covers what they tell."
    )


def usual_delta(size: PublicSize | None) -> str:
    """Return a delta far below one in the number of people.

    >>> usual_delta(None), usual_delta(PublicSize(people=500, rows=4000))
    ('1e-9', '1e-6')
    """
    if size is None:
        return "1e-9"
    return f"1e-{min(12, max(6, 2 * (len(str(size.people)) - 1) + 1))}"


def unit_said(said: str, columns: Columns) -> PrivacyUnit:
    """Return who is protected, from the names of columns, or ``row``."""
    if said.strip() == ROW:
        return row()
    names = tuple(known(name, columns) for name in split_values(said))
    if not names:
        raise WrongKind(
            what="nothing says who a person is.",
            why="without it there is nobody to protect.",
            do="give --unit COLUMN, or --unit row if each row is a person.",
        )
    return custom("person", columns=names)


def types_said(answers: Answers, look: FirstLook) -> dict[str, Type]:
    """Return the types that were given, or that follow from bounds and categories."""
    columns = look.columns
    types = {known(name, columns): _type_said(said) for name, said in answers.types.items()}
    for given, said in answers.bounds.items():
        name = known(given, columns)
        if name not in types and look.is_cell(name):
            kind = look.proposed(name) or type_by_name(name)
            usual = Type.DATE if is_day(said.partition(":")[0]) else Type.FLOAT
            fits = kind in {Type.DATE, Type.TIMESTAMP} if usual is Type.DATE else kind.is_number
            types[name] = kind if fits else usual
    for given, said in answers.categories.items():
        name = known(given, columns)
        if name not in types and look.is_cell(name):
            values = split_values(said)
            proposed = look.proposed(name)
            whole = Type.INTEGER if are_whole(values) else Type.TEXT
            types[name] = proposed if proposed in {Type.BOOLEAN, Type.DATE} else whole
    return types


def facts_from(
    answers: Answers, look: FirstLook, proposals: Proposals | None, naming: Sequence[str]
) -> Iterator[ColumnFacts]:
    """Return the declaration of each column, in order; ``naming`` are those of people."""
    columns = look.columns
    bounds, listed = (
        {known(name, columns): value for name, value in said.items()}
        for said in (answers.bounds, answers.categories)
    )
    constant = {known(name, columns) for name in answers.constant}
    types = types_said(answers, look)
    proposed = {each.facts.name: each.facts for each in proposals.columns} if proposals else {}
    for name, stored in columns.items():
        if stored is None and name not in types:
            continue
        kind = types.get(name) or _proposed(look, name, keeps=name in naming) or Type.TEXT
        facts = proposed.get(name, ColumnFacts(name=name, type=kind))
        if facts.type is not kind:
            facts = ColumnFacts(name=name, type=kind)
        if name in bounds:
            low, _, high = bounds[name].partition(":")
            facts = with_bounds(replace(facts, categories=None), low, high)
        if name in listed:
            values = category_values(split_values(listed[name]), kind)
            nullable = facts.nullable and name in proposed
            facts = replace(facts, categories=values, nullable=nullable)
        owned = proposals is not None and not proposals.unnamed
        if owned and name in naming and name not in proposed:
            facts = replace(facts, nullable=False)
        yield replace(facts, constant=facts.constant or name in constant)


def _proposed(look: FirstLook, name: str, *, keeps: bool) -> Type | None:
    """Propose a type: that of the values if the owner looked at them, or the one of the name."""
    if not look.is_cell(name) or keeps:
        return look.columns[name]
    return look.proposed(name) or type_by_name(name)


def says_something(facts: ColumnFacts, look: FirstLook) -> bool:
    """Say whether facts are more than what the source says of a column."""
    plain = ColumnFacts(name=facts.name, type=facts.type)
    return facts != plain or facts.type is not look.columns[facts.name]


def known(name: str, columns: Columns) -> str:
    """Return the named column, or refuse an unknown name."""
    matches = [column for column in columns if folded(column) == folded(name.strip())]
    if not matches:
        raise UnknownName(
            what=f"there is no column {name.strip()}.",
            why="the policy is about the columns of the table.",
            do=f"use one of: {', '.join(columns)}.",
        )
    return matches[0]


def _type_said(said: str) -> Type:
    known = TYPES_BY_NAME.get(said.upper())
    if known is None:
        raise WrongKind(
            what="a type is not known.",
            why="columns are read as one of a few types.",
            do=f"use one of: {', '.join(kind.value.lower() for kind in Type)}.",
        )
    return known


def _whole_number(said: str) -> int:
    if not said.strip().isdecimal():
        raise WrongKind(
            what="a number is not a whole number.",
            why="people and their rows are counted in whole numbers.",
            do="write 10, say.",
        )
    return int(said)


# --- lines of columns -------------------------------------------------------------------------

_WIDE: Final = 44
_WHOLE: Final = "no NULL"
_SAME: Final = "same for a person"
_DATED: Final = frozenset({Type.DATE, Type.TIMESTAMP})
_TRUTH: Final = {"true": True, "false": False}


def line_of(facts: ColumnFacts) -> str:
    """Write the declaration of a column.

    >>> age = ColumnFacts(name="age", type=Type.INTEGER, low=Fraction(16), high=Fraction(95))
    >>> line_of(age), line_of(ColumnFacts(name="d", type=Type.TEXT, categories=("a", "b, c")))
    ('integer 16..95', 'text a, "b, c"')
    """
    return " ".join(part for part in (facts.type.value.lower(), range_of(facts)) if part)


def range_of(facts: ColumnFacts) -> str:
    """Write the bounds or the values of a column; nothing if there are none.

    >>> range_of(ColumnFacts(name="age", type=Type.FLOAT, low=Fraction(-1, 2), high=Fraction(3)))
    '-0.5..3'
    """
    if facts.bounded:
        return f"{number_text(facts.low)}..{number_text(facts.high)}"
    if facts.days is not None:
        return f"{facts.days[0]}..{facts.days[1]}"
    return ", ".join(map(_value_text, facts.categories or ()))


def short_range(facts: ColumnFacts) -> str:
    """Write the same for a narrow column: the first of many values, and how many there are.

    >>> short_range(ColumnFacts(name="q", type=Type.TEXT, categories=tuple("abcdefghijklmnopqrst")))
    '20 values: a, b, c, d, e, f, g, h, i, j…'
    """
    values, said = facts.categories or (), range_of(facts)
    if len(said) <= _WIDE or not values:
        return said
    shown = ", ".join(map(str, values))[: _WIDE - 15]
    return f"{len(values)} values: {shown.rstrip(', ')}…"


def number_text(number: Fraction | None) -> str:
    """Write a bound as people do.

    >>> number_text(Fraction(7, 2)), number_text(Fraction(500000))
    ('3.5', '500000')
    """
    number = Fraction(0) if number is None else number
    return str(number) if number.denominator == 1 else f"{float(number):.12g}"


def _value_text(value: Scalar) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Fraction):
        return number_text(value)
    text = str(value)
    return f'"{text}"' if "," in text or text != text.strip() else text


def read_line(text: str, before: ColumnFacts) -> ColumnFacts:
    """Return what a line declares of a column.

    A type alone, or bounds or values alone, keep the rest as far as it fits.

    >>> age = ColumnFacts(name="age", type=Type.INTEGER)
    >>> read_line("integer 0..110, no NULL", age).high, read_line("1, 2, 3", age).categories
    (Fraction(110, 1), (1, 2, 3))
    >>> read_line("0:110", age) == read_line("0..110", age)
    True
    """
    facts, text = before, text.strip()
    if text.lower().endswith(_SAME):
        text, facts = text[: -len(_SAME)].rstrip(" ,;"), replace(facts, constant=True)
    if text.lower().endswith(_WHOLE.lower()):
        text, facts = text[: -len(_WHOLE)].rstrip(" ,;"), replace(facts, nullable=False)
    first, _, rest = text.partition(" ")
    kind = TYPES_BY_NAME.get(first.upper().rstrip(","))
    if kind is not None:
        facts, text = _cleared(replace(facts, type=kind)), rest.strip()
    if not text:
        return facts
    facts = _cleared(facts)
    between = ":" if facts.type.is_number or facts.type in _DATED else ".."  # a text may hold it
    for sign in ("..", between):
        low, found, high = text.partition(sign)
        if found:
            return with_bounds(facts, low, high)
    return replace(facts, categories=category_values(split_values(text), facts.type))


def _cleared(facts: ColumnFacts) -> ColumnFacts:
    return replace(facts, low=None, high=None, days=None, categories=None)


def with_bounds(facts: ColumnFacts, low: str, high: str) -> ColumnFacts:
    """Return a column with bounds: days if it holds days, and numbers otherwise.

    >>> seen = ColumnFacts(name="seen", type=Type.DATE)
    >>> with_bounds(seen, "1867-01-01", "2020-01-01").days[0]
    datetime.date(1867, 1, 1)
    """
    if facts.type in _DATED:
        return replace(facts, days=(_day(low), _day(high)))
    ends = (decimal(low.strip(), name="the lower bound"), decimal(high.strip(), name="the upper"))
    return replace(facts, low=ends[0], high=ends[1])


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise WrongKind(
            what="a bound of days is not a day.",
            why="days are written with the year first, so that there is no doubt.",
            do="write 1867-01-01, say.",
        ) from None


def is_day(text: str) -> bool:
    """Say whether a text is a day, year first.

    >>> is_day("1867-01-01"), is_day("1867")
    (True, False)
    """
    try:
        date.fromisoformat(text.strip())
    except ValueError:
        return False
    return "-" in text


def split_values(text: str) -> tuple[str, ...]:
    """Split values at commas, except inside double quotes.

    >>> split_values('a, "b, c",d')
    ('a', 'b, c', 'd')
    """
    rows = list(csv.reader(io.StringIO(text), skipinitialspace=True))
    return tuple(cell.strip() for row in rows for cell in row if cell.strip())


def category_values(values: Sequence[str], kind: Type) -> tuple[Scalar, ...] | None:
    """Return values that people wrote as values of the column's type.

    >>> category_values(["1", "2.0"], Type.INTEGER), category_values([], Type.TEXT)
    ((1, 2), None)
    """
    if not values:
        return None
    match kind:
        case Type.INTEGER:
            return tuple(_integer(value) for value in values)
        case Type.FLOAT:
            return tuple(Fraction(float(decimal(each, name="a category"))) for each in values)
        case Type.DATE:
            return tuple(map(_day, values))
        case Type.BOOLEAN:
            return tuple(_TRUTH.get(value.lower(), value) for value in values)
        case _:
            return tuple(values)


def _integer(text: str) -> int:
    value = decimal(text, name="a category")
    if value.denominator != 1:
        raise WrongKind(
            what="a category of whole numbers is not one.",
            why="a value of another type never occurs in the column.",
            do="write 1, 2, 3, say; or give the column another type.",
        )
    return value.numerator


def are_whole(values: Sequence[str]) -> bool:
    """Say whether all values are integers, written as such: 01 is a text.

    >>> are_whole(["1", "-2"]), are_whole(["01"]), are_whole(["a"])
    (True, False, False)
    """
    try:
        return all(str(_integer(value)) == value for value in values)
    except DiscreetError:
        return False
