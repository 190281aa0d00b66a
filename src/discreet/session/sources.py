"""Which tables a session opens, and under which names.

Trust: kernel.  A name decides which facts of the policy belong to a table.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Final

from discreet.engines.postgres.address import Address, address_of, is_address
from discreet.errors import WrongKind
from discreet.query.relations import folded

__all__ = ["named_sources", "without_password"]

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_DATABASES: Final = (".duckdb", ".ddb", ".db")


def named_sources(
    source: object, tables: str | Sequence[str] | None, described: Sequence[str]
) -> dict[str, object]:
    """Return the sources of a session by the names of their tables.

    Args:
        source: a path, a pattern, a frame, a database file, the address of a PostgreSQL server, or
            a mapping from names to these.
        tables: the name of the one table, or the tables of a database that are opened.
        described: the names of the tables in the policy.

    >>> list(named_sources("data/visits.parquet", None, []))
    ['visits']
    >>> list(named_sources("clinic.duckdb", ["visits", "wards"], []))
    ['visits', 'wards']
    >>> named_sources("postgresql://ana:secret@db.example/clinic", ["flu.visits"], [])
    {'visits': Address(postgresql://ana@db.example/clinic/flu.visits)}
    """
    asked = _names(tables)
    if isinstance(source, Mapping):
        found = dict(source)
        if asked and set(asked) != set(found):
            raise _unclear("the tables are named twice, and differ.")
    elif is_address(source):
        address = source if isinstance(source, Address) else address_of(str(source))
        found = _on_server(address, asked, described)
    elif _is_database(source):
        found = dict.fromkeys(asked or described, source)
        if not found:
            raise _unclear("a database is opened, and none of its tables is named.")
    else:
        found = {_one(source, asked, described): source}
    _check(found)
    return found


def without_password(source: str) -> str:
    """Return how to name a source in a file that others read.

    >>> without_password("postgresql://ana:secret@db/clinic/visits"), without_password("visits.csv")
    ('postgresql://ana@db/clinic/visits', 'visits.csv')
    """
    return address_of(source).without_password() if is_address(source) else source


def _names(tables: object) -> tuple[str, ...]:
    match tables:
        case None:
            return ()
        case str():
            return (tables,)
        case list() | tuple() if tables and all(isinstance(name, str) for name in tables):
            return tuple(tables)
        case _:
            raise _unclear("tables= is neither a name nor a list of names.")


def _is_database(source: object) -> bool:
    return isinstance(source, str | os.PathLike) and str(source).lower().endswith(_DATABASES)


def _on_server(
    address: Address, asked: tuple[str, ...], described: Sequence[str]
) -> dict[str, object]:
    """Return the table that an address names, or those that are named beside it."""
    if address.table is not None:
        usable = address.table if _NAME.fullmatch(address.table) else None
        return {_one(usable, asked, described): address}
    names = asked or tuple(described)
    found: dict[str, object] = {each.rpartition(".")[2]: address.with_table(each) for each in names}
    if len(found) != len(names) or not found:
        raise _unclear("a database is opened, and none of its tables is named, or two are alike.")
    return found


def _one(source: object, asked: tuple[str, ...], described: Sequence[str]) -> str:
    """Return the name of the only table."""
    if len(asked) > 1:
        raise _unclear("one table is opened under several names.")
    if asked:
        return asked[0]
    if len(described) == 1:
        return described[0]
    stem = ""
    if isinstance(source, str | os.PathLike):
        stem = PurePath(source).name.partition(".")[0]
    if not _NAME.fullmatch(stem):
        raise _unclear("the table has no name that a question could use.")
    if described and folded(stem) not in map(folded, described):
        raise _unclear(f"the policy describes several tables, and none is called {stem}.")
    return stem


def _check(found: Mapping[str, object]) -> None:
    good = all(isinstance(name, str) and _NAME.fullmatch(name) for name in found)
    if not found or not good or len({folded(name) for name in found}) != len(found):
        raise _unclear("tables need different names of letters, digits and underscores.")


def _unclear(what: str) -> WrongKind:
    return WrongKind(
        what=what,
        why="questions and the policy call tables by their names.",
        do="give tables='visits', or a mapping such as {'visits': 'visits.parquet'}.",
    )
