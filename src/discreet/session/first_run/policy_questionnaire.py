"""What is declared of a table, from answers and proposals, and the policy that it makes.

Trust: public.

What a person says comes first, then what was proposed from the rows and accepted by their owner,
then the types that the names of columns suggest.  Without an owner's look nothing comes from rows:
the largest cost in a table is somebody's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, final

from discreet.accounting import Budget
from discreet.errors import UnknownName, WrongKind
from discreet.plan.policy.policy import About, Limits, Policy, SessionSettings
from discreet.query.relations import folded
from discreet.query.types import TYPES_BY_NAME, Type
from discreet.requests.csv_format import CsvFormat
from discreet.requests.table_schema import ColumnFacts, PublicSize, TableFacts
from discreet.session.first_run.column_lines import (
    are_whole,
    category_values,
    is_day,
    split_values,
    with_bounds,
)
from discreet.units import PrivacyUnit, custom, row

if TYPE_CHECKING:  # handed in: only ``init`` loads what looks at a table
    from discreet.session.owner_check import FirstLook, Proposals

Columns = Mapping[str, Type | None]

ROW: Final = "row"
USUAL_ROWS: Final = "10"
USUAL_GROUPS: Final = "4"
"""In how many groups one person counts, unless somebody says otherwise."""
_LOOKED: Final = "confirmed by the owner after looking"
_UNSEEN: Final = "accepted for the owner as they were, with --accept-proposals"


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
"""Words in the names of columns, and the types that they mostly go with."""
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


def policy_from(
    answers: Answers,
    *,
    look: FirstLook,
    session: SessionSettings,
    proposals: Proposals | None = None,
) -> Policy:
    """Return the policy that answers, and proposals that the owner has accepted, make.

    >>> answers = Answers(unit="row", bounds={"age": "0:110"})
    >>> from discreet.session import FirstLook
    >>> look = FirstLook(table="people", columns={"age": Type.INTEGER}, stored={})
    >>> policy = policy_from(answers, look=look, session=SessionSettings(data="people.parquet"))
    >>> policy.unit.name, policy.tables[0].columns[0].high
    ('row', Fraction(110, 1))
    """
    unit = unit_said(answers.unit, look.columns)
    facts = tuple(facts_from(answers, look, proposals, unit))
    size = None if proposals is None else proposals.size
    key = () if proposals is None else proposals.key
    return policy_of(
        answers,
        facts,
        look=look,
        session=session,
        proposals=proposals,
        size=size,
        key=key,
        accepted=_UNSEEN,
    )


def policy_of(  # noqa: PLR0913  what has been decided
    answers: Answers,
    facts: tuple[ColumnFacts, ...],
    *,
    look: FirstLook,
    session: SessionSettings,
    proposals: Proposals | None,
    size: PublicSize | None,
    key: tuple[str, ...],
    accepted: str = _LOOKED,
) -> Policy:
    """Return the policy of what has been decided; ``accepted`` says who let the proposals in."""
    unit = unit_said(answers.unit, look.columns)
    usual = (USUAL_ROWS, USUAL_GROUPS) if unit.columns else ("1", "1")
    if proposals is not None:
        usual = str(proposals.max_rows), str(proposals.max_groups)
    epsilon, delta = answers.epsilon or "1", answers.delta or usual_delta(size)
    told = [each for each in facts if _says_something(each, look)]
    table = TableFacts(
        name=look.table,
        columns=tuple(told),
        unit=unit.columns,
        csv=answers.csv,
        key=key,
        size=size,
    )
    return Policy(
        unit=unit,
        session=session,
        budget=Budget(epsilon=epsilon.strip(), delta=delta.strip()),
        limits=Limits(
            max_groups=_whole(answers.max_groups or usual[1]),
            max_rows=_whole(answers.max_rows or usual[0]),
        ),
        analysts=split_values(answers.analysts) or None,
        tables=(table,),
        about=About() if proposals is None else About(tuning=_tuning(table, accepted)),
    )


def _tuning(table: TableFacts, accepted: str) -> str:
    """Say what of a policy was proposed from the rows."""
    parts = ["types", "bounds", "categories", "limits"]
    parts += [word for word, said in (("key", table.key), ("size", table.size)) if said]
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
    names = tuple(_known(name, columns) for name in split_values(said))
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
    types = {_known(name, columns): _type(said) for name, said in answers.types.items()}
    for given, said in answers.bounds.items():
        name = _known(given, columns)
        if name not in types and look.is_cell(name):
            kind = look.proposed(name) or type_by_name(name)
            usual = Type.DATE if is_day(said.partition(":")[0]) else Type.FLOAT
            fits = kind in {Type.DATE, Type.TIMESTAMP} if usual is Type.DATE else kind.is_number
            types[name] = kind if fits else usual
    for given, said in answers.categories.items():
        name = _known(given, columns)
        if name not in types and look.is_cell(name):
            values = split_values(said)
            proposed = look.proposed(name)
            whole = Type.INTEGER if are_whole(values) else Type.TEXT
            types[name] = proposed if proposed in {Type.BOOLEAN, Type.DATE} else whole
    return types


def facts_from(
    answers: Answers, look: FirstLook, proposals: Proposals | None, unit: PrivacyUnit
) -> Iterator[ColumnFacts]:
    """Return what is declared of each column, in their order."""
    columns = look.columns
    bounds, listed = (
        {_known(name, columns): value for name, value in said.items()}
        for said in (answers.bounds, answers.categories)
    )
    constant = {_known(name, columns) for name in answers.constant}
    types = types_said(answers, look)
    proposed = {each.facts.name: each.facts for each in proposals.columns} if proposals else {}
    for name, stored in columns.items():
        if stored is None and name not in types:
            continue
        kind = types.get(name) or _proposed(look, name, keeps=name in unit.columns) or Type.TEXT
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
        if name in unit.columns and proposals is not None and not proposals.unnamed:
            facts = replace(facts, nullable=False)
        yield replace(facts, constant=facts.constant or name in constant)


def _proposed(look: FirstLook, name: str, *, keeps: bool) -> Type | None:
    """Propose a type: that of the values if the owner looked at them, or the one of the name."""
    if not look.is_cell(name) or keeps:
        return look.columns[name]
    return look.proposed(name) or type_by_name(name)


def _says_something(facts: ColumnFacts, look: FirstLook) -> bool:
    plain = ColumnFacts(name=facts.name, type=facts.type)
    return facts != plain or facts.type is not look.columns[facts.name]


def _known(name: str, columns: Columns) -> str:
    matches = [column for column in columns if folded(column) == folded(name.strip())]
    if not matches:
        raise UnknownName(
            what=f"there is no column {name.strip()}.",
            why="the policy is about the columns of the table.",
            do=f"use one of: {', '.join(columns)}.",
        )
    return matches[0]


def _type(said: str) -> Type:
    known = TYPES_BY_NAME.get(said.upper())
    if known is None:
        raise WrongKind(
            what="a type is not known.",
            why="columns are read as one of a few types.",
            do=f"use one of: {', '.join(kind.value.lower() for kind in Type)}.",
        )
    return known


def _whole(said: str) -> int:
    if not said.strip().isdecimal():
        raise WrongKind(
            what="a number is not a whole number.",
            why="people and their rows are counted in whole numbers.",
            do="write 10, say.",
        )
    return int(said)
