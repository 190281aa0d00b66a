"""The policy: what the owner of the data has decided, as one file that people can review.

Trust: kernel.  Answers take the unit, the bounds and the ceilings from here.

A policy is TOML: who is protected, the budget, limits on what one unit may contribute and on what
one question may cost, who may ask, and what is public about every column.  It is read strictly: an
unknown name, a wrong type or a contradiction is refused, and what cannot be followed is never
ignored.  Numbers are exact; ``0.1`` means one tenth.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, final

from discreet.accounting import Budget
from discreet.accounting.amounts import amount_value
from discreet.errors import BadPolicy, DiscreetError
from discreet.exact import decimal
from discreet.notebook import Shown
from discreet.plan.binding.fan_out import MOST_FAN_OUT
from discreet.plan.policy.owner_promises import Same, read_same, unit_forms
from discreet.plan.policy.owner_rules import Approved, read_approved
from discreet.plan.policy.table_fields import (
    TABLE_KEYS,
    above_zero,
    bad,
    below_one,
    counted,
    flag,
    known_fields,
    read_tables,
    table_of,
    texts,
)
from discreet.query.relations import folded
from discreet.query.sql.dialects import DIALECTS
from discreet.requests.table_schema import CsvFormat, TableFacts
from discreet.units import PrivacyUnit, Relation, custom, row

_SMALL: Final = Fraction(1, 1000)
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
LIMIT_NAMES: Final = {
    "max_groups": "max_groups",
    "max_rows": "max_rows",
    "max_fan_out": "max_fan_out",
    "min_epsilon": "min_epsilon_per_question",
    "max_epsilon": "max_epsilon_per_question",
    "max_rho": "max_rho_per_question",
    "delta": "delta_per_question",
    "confidence": "confidence",
    "min_people": "min_people",
    "max_answer_rows": "max_answer_rows",
}
"""Each limit, and its name in a policy file."""
CEILINGS: Final = ("max_groups", "max_rows")
"""The limits on contributions that a question may not raise, unless the owner says otherwise."""


def policy_text(policy: Policy) -> str:
    """Return the text of a policy."""
    lines: list[str] = []
    for header, values in _sections(policy):
        lines += ["", f"[{header}]"] if header else []
        known = {name: value for name, value in values.items() if value is not None}
        lines += [f"{_key(name)} = {_value(value)}" for name, value in known.items()]
    return "\n".join(lines) + "\n"


def _sections(policy: Policy) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the header and the values of each table of the file; None is not written."""
    own = () if policy.unit is None else policy.unit.columns
    named = own if policy.period is None else own[:-1]
    unit: dict[str, Any] = {}
    if policy.unit is not None:
        forms = policy.unit_forms
        unit["unit"] = _names(named) if named else "row"
        unit["unit_form"] = None if forms is None else _names(forms)
        unit["relation"] = policy.unit.relation.value
    yield "", {"format": 1, **unit, "frozen": policy.frozen or None, "dialect": policy.dialect}
    if policy.session is not None:
        yield "session", {name: getattr(policy.session, name) for name in POLICY_KEYS["session"]}
    if policy.budget is not None:
        yield "budget", {**policy.budget.arguments, "per": policy.period}
    limits = {written: getattr(policy.limits, name) for name, written in LIMIT_NAMES.items()}
    ceilings = policy.limits.ceilings
    yield "limits", {**limits, "ceilings": None if ceilings == CEILINGS else ceilings}
    if policy.analysts is not None:
        yield "who", {"analysts": policy.analysts}
    if policy.approved is not None:
        yield "approved", dict(policy.approved)
    if about := dict(policy.about.written()):
        yield "about", about
    if policy.same:
        lines = ((line.label, line.columns) for line in policy.same)
        yield "same", {name: [".".join(column) for column in columns] for name, columns in lines}
    for table in policy.tables:
        yield from _table(table, own, frozen=policy.frozen)


def _table(
    table: TableFacts, own: tuple[str, ...], *, frozen: bool
) -> Iterator[tuple[str, dict[str, Any]]]:
    place = f"tables.{_key(table.name)}"
    named = not table.public and table.link is None and table.unit != own
    yield (
        place,
        {
            "path": table.path,
            "public": table.public or None,
            "unit": table.unit if named else None,
            "key": table.key or None,
            "frozen": None if table.frozen is frozen else table.frozen,
            "max_rows": table.max_rows,
            "max_groups": table.max_groups,
            "size": None if table.size is None else asdict(table.size),
        },
    )
    if table.csv is not None:
        form = {
            each.name: (getattr(table.csv, each.name), each.default) for each in fields(CsvFormat)
        }
        yield f"{place}.csv", {name: now for name, (now, usual) in form.items() if now != usual}
    if table.link is not None:
        yield f"{place}.link", asdict(table.link)
    for column in table.columns:
        low, high = column.days or (column.low, column.high)
        listed = column.categories
        yield (
            f"{place}.columns.{_key(column.name)}",
            {
                "type": column.type.value.lower(),
                "low": low,
                "high": high,
                "categories": None
                if listed is None
                else [float(each) if isinstance(each, Fraction) else each for each in listed],
                "nullable": None if column.nullable == (listed is None) else column.nullable,
                "constant": column.constant or None,
            },
        )


def _value(value: Any) -> str:  # noqa: PLR0911  one a kind
    match value:
        case bool():
            return "true" if value else "false"
        case date():
            return value.isoformat()
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case Fraction():
            return _number(value)
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
        case Mapping():
            return (
                f"{{{', '.join(f'{_key(name)} = {_value(each)}' for name, each in value.items())}}}"
            )
        case _:
            return repr(value)


def _number(value: Fraction) -> str:
    """Return a whole number as it is, and others as exact text.

    >>> _number(Fraction(-5, 2)), _number(Fraction(12, 10**10)), _number(Fraction(1, 3))
    ('"-2.5"', '"12e-10"', '"1/3"')
    """
    if value.denominator == 1:
        return str(value.numerator)
    sign, size = "-" if value < 0 else "", abs(value)
    whole, rest = divmod(int(size * 10**24), 10**24)
    digits = f"{rest:024d}".rstrip("0")
    if amount_value(int(value * 10**24)) != value:
        return f'"{value}"'
    if whole == 0 and size < _SMALL:
        return f'"{sign}{digits.lstrip("0")}e-{len(digits)}"'
    return f'"{sign}{whole}.{digits}"'


def _names(columns: tuple[str, ...]) -> str | tuple[str, ...]:
    return columns[0] if len(columns) == 1 and columns[0] != "row" else columns


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)


_LISTS: Final = frozenset({"raw_access", "unprotected", "authors", "sources"})
_DATA_SOURCES: Final = ("Static", "Dynamic")
_LONGEST: Final = 2000


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The table ``[about]`` of a policy; everything in it may be left out.

    >>> About(title="Visits", period="2026").period
    '2026'
    """

    title: str | None = None
    entity: str | None = None
    """One of those who are protected, in a word: patient."""
    period: str | None = None
    """The time that the data is about, such as 2026."""
    curator: str | None = None
    contact: str | None = None
    purpose: str | None = None
    description: str | None = None
    """What is published, in a sentence or two."""
    region: str | None = None
    sector: str | None = None
    published: str | None = None
    """When the first answer was published, as 2026-01-31."""
    data_source: str | None = None
    """Static, or Dynamic if new rows come in over time."""
    raw_access: tuple[str, ...] = ()
    """Who can see the data as it is."""
    released_to: str | None = None
    """Who gets the answers: the public, or some people."""
    actors: str | None = None
    """Who takes part, whom they trust, and why."""
    unprotected: tuple[str, ...] = ()
    """What is published elsewhere without noise."""
    tuning: str | None = None
    """Whether the data was looked at to choose bounds, limits or questions."""
    justification: str | None = None
    limits: str | None = None
    authors: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    """Where more is published about it."""

    def written(self) -> Iterator[tuple[str, str | tuple[str, ...]]]:
        """Yield the name and the value of everything that is said."""
        for item in fields(self):
            value = getattr(self, item.name)
            if value:
                yield item.name, value


ABOUT_KEYS: Final = tuple(item.name for item in fields(About))
"""All keys of the table ``[about]``."""


def _is_plain(text: object) -> bool:
    """Whether a text can be in a line of a label without breaking it."""
    return isinstance(text, str) and 0 < len(text.strip()) <= _LONGEST and text.isprintable()


def read_about(data: Mapping[str, Any]) -> About:
    """Read the table ``[about]``, whose keys are known.

    >>> read_about({"title": "Visits", "raw_access": ["the research team"]}).raw_access
    ('the research team',)
    """
    said: dict[str, Any] = {}
    for name, value in data.items():
        place = f"about.{name}"
        said[name] = texts(value, place) if name in _LISTS else value
        listed = said[name] if name in _LISTS else (value,)
        if not all(map(_is_plain, listed)):
            raise bad(
                place,
                f"it is not a text of 1 to {_LONGEST} printable characters",
                f'write {name} = "..." in words, on one line',
            )
    if said.get("data_source", "Static") not in _DATA_SOURCES:
        raise bad(
            "about.data_source",
            "it is neither Static nor Dynamic",
            'write data_source = "Dynamic" if new rows come in over time, "Static" otherwise',
        )
    return About(**said)


_FORMAT: Final = 1
POLICY_KEYS: Final = {
    "": (
        "format",
        "unit",
        "unit_form",
        "relation",
        "frozen",
        "dialect",
        "session",
        "budget",
        "limits",
        "who",
        "approved",
        "about",
        "same",
        "tables",
    ),
    "session": ("data", "ledger", "ledger_id"),
    "budget": ("epsilon", "delta", "rho", "per"),
    "limits": (*LIMIT_NAMES.values(), "ceilings"),
    "who": ("analysts",),
    "about": ABOUT_KEYS,
    **TABLE_KEYS,
}
"""All keys of a policy file, by the header above them; every other one is refused."""


LEAST_EPSILON: Final = Fraction(1, 1000)
"""The least epsilon of one question behind a server, unless the policy says otherwise (T1).

This also pays for side information about an answer, such as its tick.
"""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one unit may contribute to an answer, and what one question may cost.

    >>> Limits(max_groups=4).max_rows is None
    True
    """

    max_groups: int | None = None
    max_rows: int | None = None
    ceilings: tuple[str, ...] = CEILINGS
    """The limits that a question may lower and not raise; it may replace the others."""
    max_fan_out: int = MOST_FAN_OUT
    min_epsilon: Fraction = LEAST_EPSILON
    max_epsilon: Fraction | None = None
    max_rho: Fraction | None = None
    delta: Fraction | None = None
    confidence: Fraction = Fraction(95, 100)
    min_people: int | None = None
    """The least noisy count of people of a group that is shown."""
    max_answer_rows: int | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """Where the command line finds the data and the ledger, as seen from the policy file.

    Neither is shown, because a password may be in an address.

    >>> SessionSettings(data="postgresql://ana:secret@db/clinic/visits")
    SessionSettings(ledger_id=None)
    """

    data: str | Mapping[str, str] | None = field(default=None, repr=False, hash=False)
    """One file or address, or several by the names of their tables."""
    ledger: str | None = field(default=None, repr=False)
    ledger_id: str | None = None
    """The name of the ledger; if it is given, a ledger is opened and never made."""

    @property
    def sources(self) -> Mapping[str, str]:
        """All files and addresses, by the names of their tables; that of a single one is empty."""
        return self.data if isinstance(self.data, Mapping) else {"": self.data} if self.data else {}

    def data_from(self, folder: Path) -> str | dict[str, str] | None:
        """Return where the data is, for a policy in a folder.

        >>> SessionSettings(data={"visits": "v.csv"}).data_from(Path("/clinic"))
        {'visits': '/clinic/v.csv'}
        """
        found = {
            name: each if "://" in each else str(folder / each)
            for name, each in self.sources.items()
        }
        return found if isinstance(self.data, Mapping) else found.get("")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(Shown):
    r"""What the owner has decided.

    ``unit_forms`` are the normal forms in which tables name the unit, and ``same`` are promises
    that columns hold the same (:mod:`discreet.plan.policy.owner_promises`).

    >>> policy = read_policy('format = 1\nunit = "patient"\n[limits]\nmax_groups = 3')
    >>> policy.unit.columns, policy.limits.max_groups, policy.budget is None
    (('patient',), 3, True)
    """

    unit: PrivacyUnit | None = None
    budget: Budget | None = None
    limits: Limits = field(default_factory=Limits)
    analysts: tuple[str, ...] | None = None
    tables: tuple[TableFacts, ...] = ()
    session: SessionSettings | None = None
    frozen: bool = False
    """Whether tables that do not say otherwise may never change."""
    dialect: str | None = None
    """The dialect of questions that name none."""
    unit_forms: tuple[str, ...] | None = None
    same: tuple[Same, ...] = ()
    about: About = field(default_factory=About)
    approved: Approved | None = None
    """The questions that may be asked, by their names; None for all."""
    period: str | None = None
    """The column of the unit that names the period of the budget: of each unit the last one."""

    def written(self) -> str:
        r"""Return TOML text from which the same policy is read.

        >>> policy = read_policy('format = 1\nunit = "patient"')
        >>> read_policy(policy.written()) == policy
        True
        """
        return policy_text(self)

    def __str__(self) -> str:
        """Show the text without the addresses of data and ledger, which may hold a password."""
        known = self.session and self.session.ledger_id
        session = SessionSettings(ledger_id=known) if known else None
        return replace(self, session=session).written().rstrip()


def read_policy(source: str | Path) -> Policy:
    r"""Read a policy from TOML text, or from the file of a path.

    >>> read_policy('format = 1\nunti = "row"')
    Traceback (most recent call last):
    discreet.errors.BadPolicy
    """
    text = _text_of(source)
    try:
        data = tomllib.loads(text, parse_float=lambda digits: decimal(digits, name="a number"))
    except (tomllib.TOMLDecodeError, DiscreetError) as error:
        raise BadPolicy(
            what=f"the policy is not TOML: {str(error).splitlines()[0]}.",
            why="what cannot be read cannot be followed.",
            do="mend the line that is named.",
        ) from None
    return _policy(data)


def _text_of(source: str | Path) -> str:
    if isinstance(source, str):
        return source
    try:
        return source.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise BadPolicy(
            what=f"the policy file '{source}' cannot be read.",
            why="without it nothing is known of who is protected, and by which bounds.",
            do="check its name; `discreet init` writes one.",
        ) from None


def _policy(data: Mapping[str, Any]) -> Policy:
    known_fields(data, POLICY_KEYS[""], "the top level")
    if data.get("format") != _FORMAT or isinstance(data.get("format"), bool):
        raise bad("format", f"it is not {_FORMAT}", f"write format = {_FORMAT} at the top")
    period = _period(table_of(data, "budget"))
    unit = _unit(data, period)
    frozen = flag(data.get("frozen", False), "frozen")
    own = () if unit is None else unit.columns
    tables = read_tables(data.get("tables", {}), own, frozen=frozen)
    who = table_of(data, "who")
    known_fields(who, POLICY_KEYS["who"], "[who]")
    analysts = None if "analysts" not in who else texts(who["analysts"], "who.analysts")
    about = table_of(data, "about")
    known_fields(about, POLICY_KEYS["about"], "[about]")
    return Policy(
        unit=unit,
        budget=_budget(table_of(data, "budget")),
        limits=_limits(table_of(data, "limits")),
        analysts=analysts,
        tables=tables,
        session=_session(table_of(data, "session")),
        frozen=frozen,
        dialect=_dialect(data.get("dialect")),
        approved=read_approved(table_of(data, "approved"), _dialect(data.get("dialect"))),
        period=period,
        unit_forms=unit_forms(data.get("unit_form"), () if unit is None else unit.columns),
        same=read_same(table_of(data, "same"), tables),
        about=read_about(about),
    )


def _dialect(name: object) -> str | None:
    if name is not None and (not isinstance(name, str) or name not in DIALECTS):
        raise bad("dialect", "there is no such dialect", f"use one of {', '.join(DIALECTS)}")
    return name


def _session(data: Mapping[str, Any]) -> SessionSettings | None:
    known_fields(data, POLICY_KEYS["session"], "[session]")
    for name, value in data.items():
        several = name == "data" and isinstance(value, Mapping)
        for each in value.values() if several else [value]:
            if not isinstance(each, str) or not each:
                raise bad(f"session.{name}", "it is not a text", 'write a path, as "a.parquet"')
    return SessionSettings(**data) if data else None


def _period(data: Mapping[str, Any]) -> str | None:
    period = data.get("per")
    if period is not None and (not isinstance(period, str) or not period):
        raise bad("budget.per", "it is not the name of a column", 'write per = "month"')
    return period


def _unit(data: Mapping[str, Any], period: str | None) -> PrivacyUnit | None:
    relation = data.get("relation", Relation.ADD_REMOVE.value)
    try:
        kind = Relation.read(relation)
    except DiscreetError:
        raise bad("relation", "it names no relation", 'write "add_remove" or "replace"') from None
    if "unit" not in data:
        if "relation" in data:
            raise bad("relation", "there is no unit beside it", 'add unit = "patient_id", or "row"')
        if period is not None:
            raise bad("budget.per", "there is no unit beside it", 'add unit = "patient_id"')
        return None
    if data["unit"] == "row":
        if period is not None:
            do = "name the people by a column, or leave out per"
            raise bad("budget.per", "a row is in one period anyway", do)
        return row(relation=kind)
    named = data["unit"]
    columns = (named,) if isinstance(named, str) else texts(named, "unit")
    if period is None:
        return custom(name="person", columns=columns, relation=kind)
    if folded(period) in map(folded, columns):
        raise bad("budget.per", "it names the unit already", "leave it out of one of the two")
    return custom(name=f"{period} of a person", columns=(*columns, period), relation=kind)


def _budget(data: Mapping[str, Any]) -> Budget | None:
    if not data:
        return None
    known_fields(data, POLICY_KEYS["budget"], "[budget]")
    try:
        return Budget(**{name: value for name, value in data.items() if name != "per"})
    except DiscreetError as error:
        raise bad("budget", error.what.rstrip("."), error.do.rstrip(".")) from None


def _ceilings(value: object) -> tuple[str, ...]:
    named = texts(value, "limits.ceilings") if value != [] else ()
    if not set(named) <= set(CEILINGS):
        known = " and ".join(CEILINGS)
        raise bad("limits.ceilings", f"it names something else than {known}", "name those alone")
    return named


_COUNTS: Final = ("max_groups", "max_rows", "max_fan_out", "min_people", "max_answer_rows")
_READERS: Final[dict[str, Callable[[object, str], Any]]] = {
    **dict.fromkeys(_COUNTS, counted),
    **dict.fromkeys(("min_epsilon", "max_epsilon", "max_rho"), above_zero),
    **dict.fromkeys(("delta", "confidence"), below_one),
}


def _limits(data: Mapping[str, Any]) -> Limits:
    known_fields(data, POLICY_KEYS["limits"], "[limits]")
    return Limits(
        ceilings=_ceilings(data["ceilings"]) if "ceilings" in data else CEILINGS,
        **{
            name: _READERS[name](data[written], f"limits.{written}")
            for name, written in LIMIT_NAMES.items()
            if written in data
        },
    )
