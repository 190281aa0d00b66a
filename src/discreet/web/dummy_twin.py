"""A dummy twin: generated tables that follow from the policy alone, and an answer about them.

Trust: public.  No table of the site is opened: values come from declared types, bounds, categories
and sizes, by counting, and the same policy always has the same twin.

A dry run is a process of its own, with limits on time and memory, that reads a policy, a question
and a price from its input, and writes the answer about the twin.  It runs in test mode: nothing is
charged, and the answer says that it is not private.  Two run at once; more wait, so that dry runs
do not exhaust the memory for questions about the data.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import threading
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any, Final

import pyarrow as pa

from discreet.errors import DiscreetError, EngineFailed
from discreet.plan.policy.policy import Policy, read_policy
from discreet.query.types import Type
from discreet.release.display import cells, plain
from discreet.requests.table_schema import ColumnFacts, TableFacts
from discreet.session import open as open_session

PEOPLE: Final = 1000
"""How many generated people a twin has if its table has no public size."""
_ROWS_EACH: Final = 3
_MOST_ROWS: Final = 100_000
_SHOWN: Final = 50
_SECONDS: Final = 30
_MEMORY: Final = 4 << 30
_AT_ONCE: Final = threading.BoundedSemaphore(2)
_STEP: Final = 7919  # a prime, so that columns do not move together
_FIRST: Final = date(2026, 1, 1)


def dry_run(policy: Policy, question: str, price: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer about a twin as cells of a table: ``heads`` and ``rows``."""
    given = {"policy": policy.written(), "question": question, "price": dict(price)}
    if not _AT_ONCE.acquire(timeout=_SECONDS):
        raise _busy()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "discreet.web.dummy_twin"],
            input=json.dumps(given).encode(),
            capture_output=True,
            timeout=_SECONDS,
            check=True,
        )
    except (subprocess.SubprocessError, OSError):
        raise _stopped() from None
    finally:
        _AT_ONCE.release()
    found: dict[str, Any] = json.loads(done.stdout)
    if "refused" in found:
        raise EngineFailed(**found["refused"])
    return found


def answer_about_twin(given: Mapping[str, Any]) -> dict[str, Any]:
    r"""Answer a question about the twin of a policy, in this process.

    >>> policy = '''
    ... format = 1
    ... unit = "patient"
    ... [limits]
    ... max_rows = 3
    ... max_groups = 2
    ... [tables.visits.columns]
    ... patient = { type = "integer" }
    ... ward = { type = "text", categories = ["A", "B"] }'''
    >>> asked = {"policy": policy, "price": {"epsilon": "1"},
    ...          "question": "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"}
    >>> answer_about_twin(asked)["heads"]
    [['ward', False], ['n', True]]
    """
    rules = read_policy(given["policy"])
    analyst = None if rules.analysts is None else rules.analysts[0]
    with open_session(twin_of(rules), policy=rules, test_mode=True, analyst=analyst) as twin:
        release = twin.ask(given["question"], **given["price"])
    columns = [cells(column, _SHOWN) for column in release.columns]
    return {
        "heads": [[plain(column.name), column.low is not None] for column in release.columns],
        "rows": [[[cell.text, cell.weak] for cell in row] for row in zip(*columns, strict=True)],
    }


def twin_of(policy: Policy) -> dict[str, pa.Table]:
    """Return generated tables with the names and columns that a policy declares."""
    unit = () if policy.unit is None else policy.unit.columns
    return {table.name: _table(table, unit) for table in policy.tables}


def people_and_rows(table: TableFacts) -> tuple[int, int]:
    """Return the numbers of people and rows of a generated table: the public size, if it is small.

    >>> from discreet.requests.table_schema import PublicSize
    >>> size = PublicSize(people=500, rows=4000)
    >>> people_and_rows(TableFacts(name="visits", columns=(), size=size))
    (500, 4000)
    """
    if table.size is not None and 0 < table.size.people <= table.size.rows <= _MOST_ROWS:
        return table.size.people, table.size.rows
    return PEOPLE, PEOPLE if table.public or table.key else PEOPLE * _ROWS_EACH


def _table(table: TableFacts, unit: tuple[str, ...]) -> pa.Table:
    people, rows = people_and_rows(table)
    named = {*unit, *table.unit} | ({table.link.column} if table.link else set())
    repeats = bool(named & set(table.key))  # as a key of a person and a year does
    made = {}
    for place, column in enumerate(table.columns, 1):
        numbers, names = range(rows), column.name in named
        if names:
            steps = [at % people for at in numbers]
        elif column.name in table.key:
            steps, names = [at // people if repeats else at for at in numbers], not repeats
        elif column.constant:
            steps = [at % people * _STEP * place for at in numbers]
        else:
            steps = [at * _STEP * place + at // people for at in numbers]
        made[column.name] = _values(column, steps, names=names)
    return pa.table(made)


def _values(column: ColumnFacts, steps: list[int], *, names: bool) -> pa.Array:
    """Return the value of a column at each step; those of names are all different."""
    if column.categories is not None:
        return pa.array([column.categories[at % len(column.categories)] for at in steps])
    match column.type:
        case Type.BOOLEAN:
            return pa.array([at % 2 == 1 for at in steps])
        case Type.INTEGER:
            low, high = (0, max(steps)) if names else _ends(column)
            return pa.array([int(low) + at % (int(high) - int(low) + 1) for at in steps])
        case Type.FLOAT:
            low, high = _ends(column)
            return pa.array([low + (high - low) * (at % 1001) / 1000 for at in steps])
        case Type.DATE | Type.TIMESTAMP:
            return _moments(column, steps)
        case _:
            return pa.array([f"made up {at if names else at % PEOPLE}" for at in steps])


def _ends(column: ColumnFacts) -> tuple[float, float]:
    if column.low is None or column.high is None:
        low = 0 if column.low is None else float(column.low)
        return low, low + PEOPLE - 1
    return float(column.low), float(column.high)


def _moments(column: ColumnFacts, steps: list[int]) -> pa.Array:
    first, last = column.days or (_FIRST, _FIRST + timedelta(days=364))
    days = [first + timedelta(days=at % ((last - first).days + 1)) for at in steps]
    if column.type is Type.DATE:
        return pa.array(days)
    return pa.array([datetime(day.year, day.month, day.day, 12) for day in days])  # noqa: DTZ001  without a zone, as declared


def _stopped() -> EngineFailed:
    return EngineFailed(
        what="the dry run was stopped.",
        why=f"a question about the dummy twin may take {_SECONDS} seconds, and little memory.",
        do="plan it: the price and the error are those of the real answer.",
    )


def _busy() -> EngineFailed:
    return EngineFailed(
        what="other dry runs are under way.",
        why="only two run at once, so that questions about the data have room.",
        do="try again in a minute, or plan the question: a plan needs no dry run.",
    )


def main() -> None:
    """Carry out one dry run: a question on standard input, its answer on standard output."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        found = answer_about_twin(json.load(sys.stdin))
    except DiscreetError as error:
        found = {"refused": {"what": error.what, "why": error.why, "do": error.do}}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
