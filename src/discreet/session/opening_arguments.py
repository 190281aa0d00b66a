"""The arguments of opening: tables and their names, policy, unit, budget and analyst.

Trust: kernel.  Here the policy, the call, or both if they agree, decide whom a session protects.
The name of a table decides which facts of the policy belong to it.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Final, TypeGuard, TypeVar

from discreet.accounting import Budget
from discreet.accounting.budget import is_recorded
from discreet.engines.dispatch import engine_for
from discreet.engines.engine import Columns
from discreet.engines.postgres.address import Address, address_of, is_address
from discreet.engines.sources.files import DeclaredCsv
from discreet.errors import BadPolicy, NotAllowed, WrongKind
from discreet.plan.policy.policy import Policy, read_policy
from discreet.query.relations import folded
from discreet.requests.table_schema import TableFacts
from discreet.units import PrivacyUnit

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
        sources = dict(source)
        if asked and set(asked) != set(sources):
            raise _unclear("the tables are named twice, and differ.")
    elif is_address(source):
        address = source if isinstance(source, Address) else address_of(str(source))
        sources = _on_server(address, asked, described)
    elif _is_database(source):
        sources = dict.fromkeys(asked or described, source)
        if not sources:
            raise _unclear("a database is opened, and none of its tables is named.")
    elif isinstance(source, list | tuple) and not asked:
        files = ((table_name(each), each) for each in source if isinstance(each, str | os.PathLike))
        example = ", ".join(f'"{name}": "{file}"' for name, file in files) or '"name": table'
        raise WrongKind(
            what=f"the data is given as a {type(source).__name__}.",
            why="questions and the policy call tables by their names.",
            do=f"give {{{example}}}.",
        )
    else:
        sources = {_one(source, asked, described): source}
    _check(sources)
    return sources


def declared_sources(
    sources: Mapping[str, object], described: Sequence[TableFacts]
) -> dict[str, object]:
    """Return sources with what a policy says of how their files are written.

    Refuses a table that seems to be misspelt: its declarations would be ignored.

    >>> from discreet.requests.table_schema import CsvFormat
    >>> visits = TableFacts(name="visits", columns=(), csv=CsvFormat(separator=";"))
    >>> declared_sources({"visits": "visits.txt"}, [visits])["visits"].form.separator
    ';'
    """
    facts = {folded(table.name): table for table in described}
    opened = {folded(name) for name in sources}
    others = [table.name for table in described if folded(table.name) not in opened]
    protected = [table for table in described if not table.public]
    found = dict(sources)
    for name, source in sources.items():
        table = facts.get(folded(name))
        if table is None:
            near = difflib.get_close_matches(folded(name), map(folded, others), n=1)
            if near or (protected and len(others) == len(described)):
                raise _misspelt(name, near[0] if near else others[0])
        elif table.csv is not None:
            if not isinstance(source, str | os.PathLike) or is_address(source):
                raise BadPolicy(
                    what=f"[tables.{table.name}.csv] is about files, and {name} is none.",
                    why="how cells are written means nothing for other sources.",
                    do="remove it, or open a CSV file.",
                )
            found[name] = DeclaredCsv(os.fspath(source), table.csv)
    return found


def _misspelt(opened: str, described: str) -> BadPolicy:
    return BadPolicy(
        what=f"the policy describes no table {opened}, but one called {described}.",
        why="its bounds, its categories and its unit would be ignored.",
        do=f"write [tables.{opened}] in the policy, or open the data as {described}.",
    )


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
    """Return the table that an address names, or those of the argument."""
    if address.table is not None:
        usable = address.table if _NAME.fullmatch(address.table) else None
        return {_one(usable, asked, described): address}
    names = asked or tuple(described)
    sources: dict[str, object] = {
        name.rpartition(".")[2]: address.with_table(name) for name in names
    }
    if len(sources) != len(names) or not sources:
        raise _unclear("a database is opened, and none of its tables is named, or two are alike.")
    return sources


def _one(source: object, asked: tuple[str, ...], described: Sequence[str]) -> str:
    """Return the name of the only table."""
    if len(asked) > 1:
        raise _unclear("one table is opened under several names.")
    if asked:
        return asked[0]
    if len(described) == 1:
        return described[0]
    stem = table_name(source) if isinstance(source, str | os.PathLike) else ""
    if not stem:
        raise _unclear("the table has no name.")
    if described and folded(stem) not in map(folded, described):
        raise _unclear(f"the policy describes several tables, and none is called {stem}.")
    return stem


def table_name(path: str | os.PathLike[str]) -> str:
    """Return what the table of a file is called; nothing if its name has no letter and no digit.

    >>> table_name("data/visits-2024 (1).csv"), table_name("2024.parquet"), table_name("*.csv")
    ('visits_2024_1', '_2024', '')
    """
    stem = PurePath(path).name.partition(".")[0]
    if _NAME.fullmatch(stem):
        return stem
    name = re.sub(r"[^A-Za-z0-9]+", "_", stem).strip("_")
    return f"_{name}" if name[:1].isdecimal() else name


def _check(sources: Mapping[str, object]) -> None:
    good = all(isinstance(name, str) and _NAME.fullmatch(name) for name in sources)
    if not sources or not good or len({folded(name) for name in sources}) != len(sources):
        raise _unclear("tables need different names of letters, digits and underscores.")


def _unclear(what: str) -> WrongKind:
    return WrongKind(
        what=what,
        why="questions and the policy call tables by their names.",
        do="give a mapping such as {'visits': source}; or tables='visits' to open(), and --table "
        "visits to discreet init.",
    )


Value = TypeVar("Value")


def policy_of(policy: object) -> Policy:
    """Return a policy: from a path, from TOML text, unchanged, or an empty one."""
    match policy:
        case None:
            return Policy()
        case Policy():
            return policy
        case str() if "\n" in policy or "=" in policy:
            return read_policy(policy)
        case str() | os.PathLike():
            return read_policy(Path(policy))
        case _:
            raise WrongKind(
                what=f"the policy is a {type(policy).__name__}.",
                why="it is a file, its text, or a Policy.",
                do="give policy='clinic.toml', say.",
            )


def session_of(policy: object, rules: Policy) -> tuple[object, str | None, Path]:
    """Return the data and the ledger that a policy names, and the folder of its file."""
    said = rules.session
    folder = Path(policy).parent if _is_path(policy) else Path()
    data = None if said is None else said.data_from(folder)
    if said is None or data is None:
        raise WrongKind(
            what="no data is named, neither in the call nor in the policy.",
            why="a session asks about tables.",
            do="give dp.open('visits.csv', policy=...), or write data = ... under [session].",
        )
    return data, said.ledger, folder


def _is_path(policy: object) -> TypeGuard[str | os.PathLike[str]]:
    """Return whether a policy is named by its path, and is not TOML text."""
    return isinstance(policy, os.PathLike) or (
        isinstance(policy, str) and "\n" not in policy and "=" not in policy
    )


def unit_of(unit: object, policy: Policy) -> PrivacyUnit:
    """Return who is protected."""
    if unit is not None and not isinstance(unit, PrivacyUnit):
        raise WrongKind(
            what=f"the unit is a {type(unit).__name__}.",
            why="it says who is protected.",
            do="give dp.person('patient_id'), or dp.row().",
        )
    given, ruled = unit, policy.unit
    if given is None or ruled is None:
        return _there(given or ruled, "unit", "unit=dp.person('patient_id')", 'unit = "patient_id"')
    if (given.columns, given.relation) != (ruled.columns, ruled.relation):
        raise _differs("unit")
    return given


def budget_of(budget: object, policy: Policy) -> Budget | None:
    """Return the total budget, if there is one."""
    if budget is not None and not isinstance(budget, Budget):
        raise WrongKind(
            what=f"the budget is a {type(budget).__name__}.",
            why="it limits what may be lost in total, in terms that can be counted.",
            do="give dp.Budget(epsilon=2, delta=1e-9), say.",
        )
    ruled = policy.budget
    if budget is None or ruled is None:
        return budget or ruled
    if is_recorded(ruled, budget):
        return ruled
    if not is_recorded(budget, ruled):
        raise _differs("budget")
    return budget


def check_analyst(analyst: object, policy: Policy) -> None:
    """Refuse a person whom the policy does not name."""
    if analyst is not None and not isinstance(analyst, str):
        raise WrongKind(
            what=f"the analyst is a {type(analyst).__name__}.",
            why="people are called by their names here.",
            do="give analyst='ana', say.",
        )
    if policy.analysts is not None and analyst not in policy.analysts:
        who = "nobody is named" if analyst is None else "this analyst is not named there"
        raise NotAllowed(
            what=f"the policy lists who may ask, and {who}.",
            why="the owner has decided who may ask about these people.",
            do="give analyst= with a name of the policy, or ask its owner to add one.",
        )


def _there(value: Value | None, name: str, argument: str, line: str) -> Value:
    if value is None:
        raise BadPolicy(
            what=f"no {name} is given, neither in the call nor in the policy.",
            why="without it nothing says who is protected.",
            do=f"give {argument}, or write {line} in the policy.",
        )
    return value


def _differs(name: str) -> BadPolicy:
    return BadPolicy(
        what=f"the {name} in the call is not the {name} in the policy.",
        why="one of them would not be followed.",
        do=f"give the {name} in one of the two places.",
    )


def describe(source: object, *, tables: str | Sequence[str] | None = None) -> Mapping[str, Columns]:
    """Return the columns of every table with their types; None for what cannot be read.

    >>> import pyarrow as pa
    >>> describe(pa.table({"age": [34, 71]}), tables="people")
    {'people': {'age': INTEGER}}
    """
    engine = engine_for(named_sources(source, tables, []))
    try:
        return engine.tables()
    finally:
        engine.close()
