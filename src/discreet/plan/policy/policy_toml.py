"""A policy as TOML text: what is read from it is the same policy.

Trust: kernel.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import fields
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from discreet.accounting import Budget
from discreet.accounting.amounts import amount_value
from discreet.query.types import Scalar
from discreet.requests.csv_format import CsvFormat
from discreet.requests.table_schema import ColumnFacts, TableFacts

if TYPE_CHECKING:  # a policy writes itself by this module
    from discreet.plan.policy.about import About
    from discreet.plan.policy.policy import Limits, Policy

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
}
"""Each limit, and its name in a policy file."""
CEILINGS: Final = ("max_groups", "max_rows")
"""The limits on contributions that a question may not raise, unless the owner says otherwise."""


def policy_text(policy: Policy) -> str:
    """Return the text of a policy."""
    return "\n".join(_lines(policy)) + "\n"


def _lines(policy: Policy) -> Iterator[str]:
    yield "format = 1"
    own: tuple[str, ...] = ()
    if policy.unit is not None:
        own = policy.unit.columns
        yield f"unit = {_names(own)}" if own else 'unit = "row"'
        if policy.unit_forms is not None:
            yield f"unit_form = {_names(policy.unit_forms)}"
        yield f"relation = {_text(policy.unit.relation.value)}"
    if policy.frozen:
        yield "frozen = true"
    yield from [f"dialect = {_text(name)}" for name in (policy.dialect,) if name is not None]
    yield from _session(policy)
    if policy.budget is not None:
        yield from ("", "[budget]", *_budget(policy.budget))
    yield from _limits(policy.limits)
    if policy.analysts is not None:
        yield from ("", "[who]", f"analysts = {_list(policy.analysts)}")
    yield from _about(policy.about)
    yield from _same(policy)
    for table in policy.tables:
        yield from _table(table, own, frozen=policy.frozen)


def _session(policy: Policy) -> Iterator[str]:
    if policy.session is not None:
        yield from ("", "[session]")
        for name in ("data", "ledger", "ledger_id"):
            value = getattr(policy.session, name)
            if isinstance(value, str):
                yield f"{name} = {_text(value)}"
            elif value is not None:
                files = ", ".join(f"{_key(table)} = {_text(each)}" for table, each in value.items())
                yield f"{name} = {{{files}}}"


def _about(about: About) -> Iterator[str]:
    said = list(about.written())
    if said:
        yield from ("", "[about]")
    for name, value in said:
        yield f"{name} = {_text(value) if isinstance(value, str) else _list(value)}"


def _same(policy: Policy) -> Iterator[str]:
    if policy.same:
        yield from ("", "[same]")
    for line in policy.same:
        listed = ", ".join(_text(f"{table}.{column}") for table, column in line.columns)
        yield f"{_key(line.label)} = [{listed}]"


def _budget(budget: Budget) -> Iterator[str]:
    if budget.promise is None:
        given = budget.currency.arguments(budget.limit)
    else:
        promise = budget.promise
        given = {"epsilon": promise.epsilon_bound, "delta": promise.delta_bound}
        given["currency"] = budget.currency.name
    for name, value in given.items():
        if isinstance(value, str):
            yield f"{name} = {_text(value)}"
        elif value:
            yield f"{name} = {_number(Fraction(value))}"  # type: ignore[call-overload]


def _limits(limits: Limits) -> Iterator[str]:
    yield from ("", "[limits]")
    for name, written in LIMIT_NAMES.items():
        value = getattr(limits, name)
        if value is not None:
            yield f"{written} = {_number(Fraction(value))}"
    if limits.ceilings != CEILINGS:
        yield f"ceilings = {_list(limits.ceilings)}"


def _table(table: TableFacts, own: tuple[str, ...], *, frozen: bool) -> Iterator[str]:
    place = f"tables.{_key(table.name)}"
    yield from ("", f"[{place}]")
    yield from [f"path = {_text(path)}" for path in (table.path,) if path is not None]
    if table.public:
        yield "public = true"
    elif table.link is None and table.unit != own:
        yield f"unit = {_list(table.unit)}"
    if table.key:
        yield f"key = {_list(table.key)}"
    if table.frozen is not frozen:
        yield f"frozen = {_value(table.frozen)}"
    for name in ("max_rows", "max_groups"):
        if getattr(table, name) is not None:
            yield f"{name} = {getattr(table, name)}"
    yield from _size(table)
    if table.csv is not None:
        yield from ("", f"[{place}.csv]", *_csv(table.csv))
    if table.link is not None:
        link = table.link
        yield from ("", f"[{place}.link]", f"column = {_text(link.column)}")
        yield from (f"parent = {_text(link.parent)}", f"key = {_text(link.key)}")
    for column in table.columns:
        yield from ("", f"[{place}.columns.{_key(column.name)}]", *_column(column))


def _size(table: TableFacts) -> Iterator[str]:
    if table.size is not None:
        yield f"size = {{people = {table.size.people}, rows = {table.size.rows}}}"


def _csv(form: CsvFormat) -> Iterator[str]:
    for each in fields(form):
        value = getattr(form, each.name)
        if value != each.default:
            yield f"{each.name} = {_text(value)}"


def _column(column: ColumnFacts) -> Iterator[str]:
    yield f"type = {_text(column.type.value.lower())}"
    for name in ("low", "high"):
        value = getattr(column, name)
        if value is not None:
            yield f"{name} = {_number(value)}"
    if column.days is not None:
        yield from (f"low = {_value(column.days[0])}", f"high = {_value(column.days[1])}")
    if column.categories is not None:
        yield f"categories = [{', '.join(_value(category) for category in column.categories)}]"
    if column.nullable != (column.categories is None):
        yield f"nullable = {_value(column.nullable)}"
    if column.constant:
        yield "constant = true"


def _value(value: Scalar) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case date():
            return value.isoformat()
        case str():
            return _text(value)
        case Fraction():
            return repr(float(value))
        case _:
            return str(value)


def _number(value: Fraction) -> str:
    """Return a whole number as it is, and others as exact text."""
    if value.denominator == 1:
        return str(value.numerator)
    exact = amount_value(int(value * 10**24)) == value
    return f'"{_decimal(value)}"' if exact else f'"{value}"'


def _decimal(value: Fraction) -> str:
    """Return the digits of a number with at most 24 of them behind the point.

    >>> _decimal(Fraction(-5, 2)), _decimal(Fraction(12, 10**10))
    ('-2.5', '12e-10')
    """
    sign, size = "-" if value < 0 else "", abs(value)
    whole, rest = divmod(int(size * 10**24), 10**24)
    digits = f"{rest:024d}".rstrip("0")
    if whole == 0 and size < _SMALL:
        return f"{sign}{digits.lstrip('0')}e-{len(digits)}"
    return f"{sign}{whole}.{digits}"


def _names(columns: tuple[str, ...]) -> str:
    if len(columns) == 1 and columns[0] != "row":
        return _text(columns[0])
    return _list(columns)


def _list(values: tuple[str, ...]) -> str:
    return f"[{', '.join(map(_text, values))}]"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)
