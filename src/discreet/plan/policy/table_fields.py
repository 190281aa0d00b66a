"""Reading the values of a policy, strictly, and what it says about tables and columns.

Trust: kernel.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import fields
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Final

from discreet.errors import BadPolicy, DiscreetError
from discreet.exact import decimal, with_article
from discreet.query.relations import folded
from discreet.query.types import TYPES_BY_NAME, Scalar, Type, type_of
from discreet.requests.table_schema import ColumnFacts, CsvFormat, Link, PublicSize, TableFacts

_MOST: Final = 10**6


def bad(place: str, what: str, do: str) -> BadPolicy:
    """Return the error for one place of a policy."""
    return BadPolicy(
        what=f"{place} in the policy: {what}.",
        why="a rule that is not understood would not be followed.",
        do=f"{do}.",
    )


def known_fields(data: Mapping[str, Any], names: Collection[str], place: str) -> None:
    """Refuse names that a table of the policy does not have."""
    for name in data:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            do = f"write {near[0]}" if near else f"use {', '.join(names)}"
            raise bad(place, f"there is no '{name}'", do)


def table_of(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a table inside a table, empty if it is not there."""
    inner = data.get(name, {})
    if not isinstance(inner, Mapping):
        raise bad(name, "it is not a table", f"write [{name}], and its names below")
    return inner


def texts(value: object, place: str) -> tuple[str, ...]:
    """Return a list of texts, each once."""
    good = isinstance(value, list) and all(isinstance(entry, str) and entry for entry in value)
    if not good or not isinstance(value, list) or len(set(value)) != len(value):
        raise bad(place, "it is not a list of different texts", 'write ["a", "b"]')
    return tuple(value)


def counted(value: object, place: str, *, most: int = _MOST) -> int:
    """Return a whole number from 1."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise bad(place, f"it is not a whole number from 1 to {most}", "write such a number")
    return value


def exact(value: object, place: str) -> Fraction:
    """Return an exact number, from a number or from its text."""
    try:
        if isinstance(value, bool) or not isinstance(value, int | str | Fraction):
            raise bad(place, "it is not a number", "write a number, such as 0.5")
        return decimal(value, name=place)
    except DiscreetError:
        raise bad(place, "it is not a number", "write a number, such as 0.5") from None


def above_zero(value: object, place: str) -> Fraction:
    """Return an exact number above zero."""
    number = exact(value, place)
    if number <= 0:
        raise bad(place, "it is not above zero", "write a positive number")
    return number


def below_one(value: object, place: str) -> Fraction:
    """Return an exact number strictly between zero and one."""
    number = above_zero(value, place)
    if number >= 1:
        raise bad(place, "it is not below one", "write a number between 0 and 1")
    return number


def flag(value: object, place: str) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise bad(place, "it is neither true nor false", "write true or false")
    return value


_LIMITS: Final = ("max_rows", "max_groups")
_TABLE: Final = (
    "public",
    "unit",
    "link",
    "path",
    "key",
    "frozen",
    *_LIMITS,
    "size",
    "csv",
    "columns",
)
_COLUMN: Final = ("type", "low", "high", "categories", "nullable", "constant")
_SIZE: Final = ("people", "rows")
_LINK: Final = ("column", "parent", "key")
_CSV: Final = tuple(field.name for field in fields(CsvFormat))
_LISTED: Final = frozenset({Type.INTEGER, Type.FLOAT, Type.TEXT, Type.BOOLEAN, Type.DATE})
TABLE_KEYS: Final = {
    "tables.NAME": _TABLE,
    "tables.NAME.size": _SIZE,
    "tables.NAME.link": _LINK,
    "tables.NAME.csv": _CSV,
    "tables.NAME.columns.NAME": _COLUMN,
}
"""The keys that may be written about tables, by the header above them."""


def read_tables(
    data: object, unit: tuple[str, ...], *, frozen: bool = False
) -> tuple[TableFacts, ...]:
    """Read the tables of a policy; what they do not say of unit and freezing is said for all."""
    if not isinstance(data, Mapping):
        raise bad("tables", "it is not a table", "write [tables.visits], and its names below")
    tables = {folded(name): _table(name, item, unit, frozen=frozen) for name, item in data.items()}
    if len(tables) != len(data):
        raise bad("tables", "two names differ in case only", "rename one of them")
    for table in tables.values():
        _check_link(table, tables)
    return tuple(tables.values())


def _table(name: str, data: object, unit: tuple[str, ...], *, frozen: bool) -> TableFacts:
    place = f"tables.{name}"
    if not isinstance(data, Mapping):
        raise bad(place, "it is not a table", f"write [{place}], and its names below")
    known_fields(data, _TABLE, f"[{place}]")
    public = flag(data.get("public", False), f"{place}.public")
    if public and ("unit" in data or "link" in data):
        raise bad(place, "a public table has a unit or a link", "remove it, or public = true")
    limits = {name: counted(data[name], f"{place}.{name}") for name in _LIMITS if name in data}
    if public and limits:
        raise bad(place, "a public table has limits", "remove them: nobody is protected in it")
    link = _link(table_of(data, "link"), f"{place}.link")
    own = texts(data["unit"], f"{place}.unit") if "unit" in data else unit
    if link is not None and "unit" in data:
        raise bad(place, "it has both a unit and a link", "keep the one that names the unit")
    columns = tuple(
        _column(column, item, place) for column, item in table_of(data, "columns").items()
    )
    if len({folded(column.name) for column in columns}) != len(columns):
        raise bad(place, "two columns differ in case only", "rename one of them")
    return TableFacts(
        name=name,
        path=_path(data.get("path"), name, f"{place}.path"),
        columns=columns,
        public=public,
        unit=() if public or link is not None else own,
        link=link,
        key=texts(data["key"], f"{place}.key") if "key" in data else (),
        frozen=flag(data.get("frozen", frozen), f"{place}.frozen"),
        csv=_csv(table_of(data, "csv"), f"{place}.csv") if "csv" in data else None,
        size=_size(table_of(data, "size"), f"{place}.size"),
        **limits,
    )


def _path(value: object, name: str, place: str) -> str | None:
    """Return the path that questions may write before the name of a table."""
    if value is None:
        return None
    if not isinstance(value, str) or folded(value.rpartition(".")[2]) != folded(name):
        do = f'write "schema.{name}", as questions call it; files are named by data in [session]'
        raise bad(place, "it does not end with the name of the table", do)
    return value


def _size(data: Mapping[str, Any], place: str) -> PublicSize | None:
    if not data:
        return None
    known_fields(data, _SIZE, f"[{place}]")
    if len(data) != len(_SIZE):
        raise bad(place, "it does not name people and rows", "write {people = 500, rows = 4000}")
    good = {name: counted(value, f"{place}.{name}", most=10**15) for name, value in data.items()}
    return PublicSize(**good)


def _csv(data: Mapping[str, Any], place: str) -> CsvFormat:
    known_fields(data, _CSV, f"[{place}]")
    for name, value in data.items():
        if not isinstance(value, str):
            raise bad(f"{place}.{name}", "it is not a text", 'write a sign in quotes, such as ";"')
    try:
        return CsvFormat(**data)
    except DiscreetError as error:
        raise bad(place, error.what.partition(": ")[2].rstrip("."), error.do.rstrip(".")) from None


def _link(data: Mapping[str, Any], place: str) -> Link | None:
    if not data:
        return None
    known_fields(data, _LINK, f"[{place}]")
    if len(data) != len(_LINK) or not all(isinstance(value, str) for value in data.values()):
        raise bad(place, "it does not name column, parent and key", "give all three as texts")
    return Link(**data)


def _check_link(table: TableFacts, tables: Mapping[str, TableFacts]) -> None:
    """Refuse links that lead nowhere, to a public table, or in a circle."""
    seen = {folded(table.name)}
    link = table.link
    while link is not None:
        parent = tables.get(folded(link.parent))
        if parent is None or parent.public or folded(link.parent) in seen:
            raise bad(
                f"tables.{table.name}.link",
                "it does not lead to a private table that names the unit",
                "name such a table of this policy as its parent",
            )
        if parent.key and [folded(name) for name in parent.key] != [folded(link.key)]:
            raise bad(
                f"tables.{table.name}.link",
                f"'{link.key}' is not the declared key of '{parent.name}'",
                "link to the column whose every value belongs to one unit",
            )
        seen.add(folded(link.parent))
        link = parent.link


def _column(name: str, data: object, table: str) -> ColumnFacts:
    place = f"{table}.columns.{name}"
    if not isinstance(data, Mapping):
        raise bad(place, "it is not a table", f"write [{place}], and its names below")
    known_fields(data, _COLUMN, f"[{place}]")
    if "type" not in data:
        raise bad(place, "its type is missing", 'add type = "integer", say')
    kind = TYPES_BY_NAME.get(data["type"].upper()) if isinstance(data["type"], str) else None
    if kind is None:
        known = ", ".join(known_type.value.lower() for known_type in Type)
        raise bad(f"{place}.type", "there is no such type", f"use one of {known}")
    dated = kind in {Type.DATE, Type.TIMESTAMP}
    low, high = (None, None) if dated else _bounds(data, kind, place)
    return ColumnFacts(
        name=name,
        type=kind,
        low=low,
        high=high,
        categories=_categories(data.get("categories"), kind, f"{place}.categories"),
        nullable=flag(data.get("nullable", "categories" not in data), f"{place}.nullable"),
        constant=flag(data.get("constant", False), f"{place}.constant"),
        days=_days(data, place) if dated else None,
    )


def _days(data: Mapping[str, Any], place: str) -> tuple[date, date] | None:
    """Return the first and the last day of a date or a moment."""
    given = [data[end] for end in ("low", "high") if end in data]
    if not given:
        return None
    if len(given) == 1:
        raise bad(place, "it has one bound of two", "give low and high")
    if any(type(end) is not date for end in given):
        raise bad(place, "its bounds are not days", "write low = 2020-01-01, without quotes")
    if given[0] >= given[1]:
        raise bad(place, "low is not below high", "give the earlier day as low")
    return given[0], given[1]


def _bounds(
    data: Mapping[str, Any], kind: Type, place: str
) -> tuple[Fraction | None, Fraction | None]:
    ends = [exact(data[end], f"{place}.{end}") if end in data else None for end in ("low", "high")]
    low, high = ends
    if (low is None) != (high is None):
        raise bad(place, "it has one bound of two", "give low and high")
    if low is not None and high is not None:
        if not kind.is_number:
            raise bad(
                place,
                f"bounds on {with_article(kind.value.lower())}",
                "bounds belong to numbers and days",
            )
        if low >= high:
            raise bad(place, "low is not below high", "give the smaller one as low")
    return low, high


def _categories(value: object, kind: Type, place: str) -> tuple[Scalar, ...] | None:
    if value is None:
        return None
    if kind not in _LISTED:
        raise bad(
            place,
            f"categories of {with_article(kind.value.lower())}",
            "list numbers, texts or days",
        )
    if not isinstance(value, list) or not value:
        raise bad(place, "it is not a list with something in it", 'write ["A", "B"]')
    if kind is Type.FLOAT:
        value = [nearest_double(exact(category, place), place) for category in value]
    elif any(isinstance(category, datetime) or _type(category) is not kind for category in value):
        raise bad(place, f"not all of it is {kind.value.lower()}", "list values of that type")
    if len(set(value)) != len(value):
        raise bad(place, "a category is listed twice", "list each once")
    return tuple(value)


def nearest_double(number: Fraction, place: str) -> Fraction:
    """Return the number that a float column holds if a decimal is meant.

    >>> nearest_double(Fraction(1, 10), "a") == Fraction(0.1)
    True
    """
    try:
        return Fraction(float(number))
    except OverflowError:
        raise bad(place, "a number is too large", "list numbers that a float can hold") from None


def _type(value: object) -> Type | None:
    good = isinstance(value, bool | int | str | date)
    return type_of(value) if good else None  # type: ignore[arg-type]
