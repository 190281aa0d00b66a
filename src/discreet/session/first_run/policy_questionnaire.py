"""Six questions about a table, and the policy that their answers make.

Trust: public.

    1   who is a person here?
    2   how many rows, and groups, may one person count in?
    3   which types have the columns of a CSV file, and which public bounds the numbers?
    4   which categories are public?
    5   who may ask?
    6   what may be lost in total?

Bounds and categories come from what people know, never from rows: the largest cost in a table is
somebody's.  Types are proposed from the names of columns; from the values only if the owner looks
at them (``--owner``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Final, final

from discreet.accounting import Budget
from discreet.errors import UnknownName, WrongKind
from discreet.exact import decimal
from discreet.plan.policy.policy import Limits, Policy, SessionSettings
from discreet.query.relations import folded
from discreet.query.types import TYPES_BY_NAME, Scalar, Type
from discreet.requests.csv_format import CsvFormat
from discreet.requests.table_schema import ColumnFacts, TableFacts
from discreet.units import PrivacyUnit, custom, row

if TYPE_CHECKING:  # handed in: only ``init`` loads what looks at a table
    from discreet.session.owner_check import FirstLook

Columns = Mapping[str, Type | None]
Ask = Callable[[str, str], str]
"""Asks a question, with a default answer, and returns what was said."""

_ROW: Final = "row"
USUAL_GROUPS: Final = "4"
"""In how many groups one person counts, unless somebody says otherwise."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What was said on the command line; the rest is asked."""

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


def policy_from(answers: Answers, ask: Ask, *, look: FirstLook, session: SessionSettings) -> Policy:
    """Ask what is not answered yet, and return the policy.

    >>> answers = Answers(unit="row", bounds={"age": "0:110"})
    >>> from discreet.session import FirstLook
    >>> look = FirstLook(table="people", columns={"age": Type.INTEGER}, stored={})
    >>> policy = policy_from(answers, lambda question, default: default, look=look,
    ...                      session=SessionSettings(data="people.parquet"))
    >>> policy.unit.name, policy.tables[0].columns[0].high
    ('row', Fraction(110, 1))
    """
    columns = look.columns
    listed = f"One of {', '.join(columns)}; or {_ROW}"
    unit = _unit(answers.unit or ask(f"1  Who is a person here? {listed}", ""), columns)
    single = not unit.columns
    rows = answers.max_rows or ("1" if single else ask("2  Rows of one person that count", "10"))
    groups = answers.max_groups or ("1" if single else ask("   Groups of one person", USUAL_GROUPS))
    facts = tuple(_facts(answers, ask, look, unit))
    analysts = _split(answers.analysts or ask("5  Who may ask? Names, or nothing: anybody", ""))
    epsilon = answers.epsilon or ask("6  What may be lost in total? epsilon", "1")
    delta = answers.delta or ask("   with which chance may the promise fail? delta", "1e-9")
    return Policy(
        unit=unit,
        session=session,
        budget=Budget(epsilon=epsilon.strip(), delta=delta.strip()),
        limits=Limits(max_groups=_whole(groups), max_rows=_whole(rows)),
        analysts=analysts or None,
        tables=(TableFacts(name=look.table, columns=facts, unit=unit.columns, csv=answers.csv),),
    )


def _unit(said: str, columns: Columns) -> PrivacyUnit:
    if said.strip() == _ROW:
        return row()
    names = tuple(_known(name, columns) for name in _split(said))
    if not names:
        raise WrongKind(
            what="nothing says who a person is.",
            why="without it there is nobody to protect.",
            do="give --unit COLUMN, or --unit row if each row is a person.",
        )
    return custom("person", columns=names)


def _facts(answers: Answers, ask: Ask, look: FirstLook, unit: PrivacyUnit) -> Iterator[ColumnFacts]:
    """Return what is said about columns, in their order: first types, then bounds, then values."""
    columns = look.columns
    bounds, listed, types = (
        {_known(name, columns): value for name, value in said.items()}
        for said in (answers.bounds, answers.categories, answers.types)
    )
    constant = {_known(name, columns) for name in answers.constant}
    declared: dict[str, Type] = {}
    for name, kind in columns.items():
        if name in types:
            declared[name] = _type(types[name])
        elif kind is not None:
            asked = look.is_cell(name) and name not in unit.columns and name not in listed
            proposed = _proposed(look, name, bounded=name in bounds)
            words = f"3  Type of {name}: {', '.join(each.value.lower() for each in Type)}"
            declared[name] = _type(ask(words, proposed.value.lower())) if asked else kind
    free = {
        name: kind
        for name, kind in declared.items()
        if not {name} & {*unit.columns, *bounds, *listed}
    }
    bounds |= {
        name: ask(f"3  Public bounds of {name}, LOW:HIGH, or nothing", "")
        for name, kind in free.items()
        if kind.is_number
    }
    listed |= {
        name: ask(f"4  Public values of {name}, A,B,C, or nothing", "")
        for name, kind in free.items()
        if kind is Type.TEXT
    }
    for name, kind in declared.items():
        ends, values = bounds.get(name, ""), listed.get(name, "")
        if ends or values or name in constant or kind is not columns[name]:
            low, high = _ends(ends)
            yield ColumnFacts(
                name=name,
                type=kind,
                low=low,
                high=high,
                categories=_categories(values, kind),
                nullable=not values,
                constant=name in constant,
            )


def _proposed(look: FirstLook, name: str, *, bounded: bool) -> Type:
    """Propose a type: that of the values if the owner looked at them, or the one of the name."""
    kind = look.proposed(name) or type_by_name(name)
    return Type.FLOAT if bounded and not kind.is_number else kind  # bounds say that it is a number


def _ends(said: str) -> tuple[Fraction | None, Fraction | None]:
    if not said.strip():
        return None, None
    low, _, high = said.partition(":")
    return decimal(low.strip(), name="the lower bound"), decimal(
        high.strip(), name="the upper bound"
    )


def _categories(said: str, kind: Type) -> tuple[Scalar, ...] | None:
    values = _split(said)
    if not values:
        return None
    return tuple(map(_integer, values)) if kind is Type.INTEGER else values


def _integer(said: str) -> int:
    value = decimal(said, name="a category")
    return value.numerator if value.denominator == 1 else _whole(said)


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


def _split(said: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in said.split(",") if part.strip())


def _whole(said: str) -> int:
    if not said.strip().isdecimal():
        raise WrongKind(
            what="a number is not a whole number.",
            why="people and their rows are counted in whole numbers.",
            do="write 10, say.",
        )
    return int(said)
