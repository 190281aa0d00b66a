"""Reading what a policy says about tables and their columns.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Final

from discreet.plan.policy_values import bad, exact, flag, known_fields, table_of, texts
from discreet.plan.schema import ColumnFacts, Link, TableFacts
from discreet.query.relations import folded
from discreet.query.types import TYPES_BY_NAME, Scalar, Type, type_of

__all__ = ["read_tables"]

_TABLE: Final = ("public", "unit", "link", "key", "frozen", "columns")
_COLUMN: Final = ("type", "low", "high", "categories", "nullable", "constant")
_LINK: Final = ("column", "parent", "key")
_LISTED: Final = frozenset({Type.INTEGER, Type.TEXT, Type.BOOLEAN, Type.DATE})


def read_tables(
    data: object, unit: tuple[str, ...], *, frozen: bool = False
) -> tuple[TableFacts, ...]:
    """Read the tables of a policy; what they do not say of unit and freezing is said for all."""
    if not isinstance(data, Mapping):
        raise bad("tables", "it is not a table", "write [tables.visits], and its names below")
    found = {folded(name): _table(name, item, unit, frozen=frozen) for name, item in data.items()}
    if len(found) != len(data):
        raise bad("tables", "two names differ in case only", "rename one of them")
    for table in found.values():
        _check_link(table, found)
    return tuple(found.values())


def _table(name: str, data: object, unit: tuple[str, ...], *, frozen: bool) -> TableFacts:
    place = f"tables.{name}"
    if not isinstance(data, Mapping):
        raise bad(place, "it is not a table", f"write [{place}], and its names below")
    known_fields(data, _TABLE, f"[{place}]")
    public = flag(data.get("public", False), f"{place}.public")
    if public and ("unit" in data or "link" in data):
        raise bad(place, "a public table has a unit or a link", "remove it, or public = true")
    link = _link(table_of(data, "link"), f"{place}.link")
    own = texts(data["unit"], f"{place}.unit") if "unit" in data else unit
    if link is not None and "unit" in data:
        raise bad(place, "it has both a unit and a link", "keep the one that names the unit")
    columns = tuple(_column(each, item, place) for each, item in table_of(data, "columns").items())
    if len({folded(each.name) for each in columns}) != len(columns):
        raise bad(place, "two columns differ in case only", "rename one of them")
    return TableFacts(
        name=name,
        columns=columns,
        public=public,
        unit=() if public or link is not None else own,
        link=link,
        key=texts(data["key"], f"{place}.key") if "key" in data else (),
        frozen=flag(data.get("frozen", frozen), f"{place}.frozen"),
    )


def _link(data: Mapping[str, Any], place: str) -> Link | None:
    if not data:
        return None
    known_fields(data, _LINK, f"[{place}]")
    if len(data) != len(_LINK) or not all(isinstance(each, str) for each in data.values()):
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
        known = ", ".join(each.value.lower() for each in Type)
        raise bad(f"{place}.type", "there is no such type", f"use one of {known}")
    low, high = _bounds(data, kind, place)
    return ColumnFacts(
        name=name,
        type=kind,
        low=low,
        high=high,
        categories=_categories(data.get("categories"), kind, f"{place}.categories"),
        nullable=flag(data.get("nullable", "categories" not in data), f"{place}.nullable"),
        constant=flag(data.get("constant", False), f"{place}.constant"),
    )


def _bounds(
    data: Mapping[str, Any], kind: Type, place: str
) -> tuple[Fraction | None, Fraction | None]:
    ends = [exact(data[end], f"{place}.{end}") if end in data else None for end in ("low", "high")]
    low, high = ends
    if (low is None) != (high is None):
        raise bad(place, "it has one bound of two", "give low and high")
    if low is not None and high is not None:
        if not kind.is_number:
            raise bad(place, f"bounds on a {kind.value.lower()}", "bounds belong to numbers")
        if low >= high:
            raise bad(place, "low is not below high", "give the smaller one as low")
    return low, high


def _categories(value: object, kind: Type, place: str) -> tuple[Scalar, ...] | None:
    if value is None:
        return None
    if kind not in _LISTED:
        raise bad(place, f"categories of a {kind.value.lower()}", "list whole numbers or texts")
    if not isinstance(value, list) or not value:
        raise bad(place, "it is not a list with something in it", 'write ["A", "B"]')
    if any(isinstance(each, datetime) or _type(each) is not kind for each in value):
        raise bad(place, f"not all of it is {kind.value.lower()}", "list values of that type")
    if len(set(value)) != len(value):
        raise bad(place, "a category is listed twice", "list each once")
    return tuple(value)


def _type(value: object) -> Type | None:
    good = isinstance(value, bool | int | str | date)
    return type_of(value) if good else None  # type: ignore[arg-type]
