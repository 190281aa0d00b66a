"""The policy: what the owner of the data has decided, as one file that people can review.

Trust: kernel.  Whoever answers reads the unit, the bounds and the ceilings here.

A policy is TOML: who is protected, the budget, limits on what one unit may contribute and on what
one question may cost, who may ask, and what is public about every column.  It is read strictly: an
unknown name, a wrong type or a contradiction is refused, and what cannot be followed is never
ignored.  Numbers are exact; ``0.1`` means one tenth.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, final

from discreet.accounting import Budget
from discreet.errors import BadPolicy, DiscreetError
from discreet.exact import decimal
from discreet.notebook import Shown
from discreet.plan.binding.fan_out import MOST_FAN_OUT
from discreet.plan.policy.about import ABOUT_KEYS, About, read_about
from discreet.plan.policy.owner_promises import Same, read_same, unit_forms
from discreet.plan.policy.policy_toml import CEILINGS, LIMIT_NAMES, policy_text
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
from discreet.query.sql.dialects import DIALECTS
from discreet.requests.table_schema import TableFacts
from discreet.units import PrivacyUnit, Relation, custom, row

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
        "about",
        "same",
        "tables",
    ),
    "session": ("data", "ledger", "ledger_id"),
    "budget": ("epsilon", "delta", "rho", "currency"),
    "limits": (*LIMIT_NAMES.values(), "ceilings"),
    "who": ("analysts",),
    "about": ABOUT_KEYS,
    **TABLE_KEYS,
}
"""All keys of a policy file, by the header above them; every other one is refused."""


LEAST_EPSILON: Final = Fraction(1, 1000)
"""The least epsilon of one question behind a server, unless the policy says otherwise (T1).

What an analyst may learn by other ways than the answer, such as its tick, is paid for as well.
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
    """The name of the ledger; where it is given, a ledger is opened and never made."""

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
    unit = _unit(data)
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


def _unit(data: Mapping[str, Any]) -> PrivacyUnit | None:
    relation = data.get("relation", Relation.ADD_REMOVE.value)
    try:
        kind = Relation.read(relation)
    except DiscreetError:
        raise bad("relation", "it names no relation", 'write "add_remove" or "replace"') from None
    if "unit" not in data:
        if "relation" in data:
            raise bad("relation", "there is no unit beside it", 'add unit = "patient_id", or "row"')
        return None
    if data["unit"] == "row":
        return row(relation=kind)
    named = data["unit"]
    columns = (named,) if isinstance(named, str) else texts(named, "unit")
    return custom(name="person", columns=columns, relation=kind)


def _budget(data: Mapping[str, Any]) -> Budget | None:
    if not data:
        return None
    known_fields(data, POLICY_KEYS["budget"], "[budget]")
    try:
        return Budget(**data)
    except DiscreetError as error:
        raise bad("budget", error.what.rstrip("."), error.do.rstrip(".")) from None


def _ceilings(value: object) -> tuple[str, ...]:
    named = texts(value, "limits.ceilings") if value != [] else ()
    if not set(named) <= set(CEILINGS):
        known = " and ".join(CEILINGS)
        raise bad("limits.ceilings", f"it names something else than {known}", "name those alone")
    return named


_READERS: Final[dict[str, Callable[[object, str], Any]]] = {
    **dict.fromkeys(("max_groups", "max_rows", "max_fan_out"), counted),
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
