"""What the reader writes in other words means what it means to a database that has the function.

Both DuckDB, by the SQL that we print, and the reference are held against DuckDB's own function, on
values of every kind, NULL among them.
"""

import datetime as dt
import itertools
import math

import duckdb
import pytest

from discreet.engines.duckdb_dialect import DUCKDB
from discreet.engines.expressions import Expressions
from discreet.query.sql.parse import read_expression as read
from discreet.query.types import Type
from tests.reference.expressions import compiled

TYPES = {
    "x": Type.FLOAT,
    "y": Type.FLOAT,
    "i": Type.INTEGER,
    "t": Type.TEXT,
    "d": Type.DATE,
    "s": Type.TIMESTAMP,
}
NUMBERS = [None, 0.0, 0.5, -0.5, 2.5, -2.5, 1.005, 2.675, -1234.5678, 99999.995, 1e-9, -3.0]
TEXTS = [None, "", "a", "abc", "ab" * 9]
DAYS = [None, dt.date(2020, 2, 29), dt.date(1999, 12, 31)]
MOMENTS = [None, dt.datetime(2021, 3, 4, 5, 6, 7), dt.datetime(1970, 1, 1)]  # noqa: DTZ001
WHOLE = [None, 0, 7, -7, 15, -15, 1234567]
ROWS = [
    dict(zip(TYPES, row, strict=True))
    for row in itertools.chain(
        itertools.product(NUMBERS, NUMBERS[:4], [3], ["a"], DAYS[1:2], MOMENTS[1:2]),
        itertools.product(NUMBERS[3:4], NUMBERS[:1], WHOLE, TEXTS, DAYS, MOMENTS),
    )
]
SAME = {
    "ROUND(x, 2)": "round(x, 2)",
    "ROUND(x, 0)": "round(x)",
    "ROUND(x, -2)": "round(x, -2)",
    "ROUND(i, 1)": "round(i, 1)",
    "ROUND(i, -1)": "round(i, -1)",
    "TRUNC(x)": "trunc(x)",
    "x IS DISTINCT FROM y": "x IS DISTINCT FROM y",
    "x IS NOT DISTINCT FROM y": "x IS NOT DISTINCT FROM y",
    "i IS DISTINCT FROM 7": "i IS DISTINCT FROM 7",
    "NVL(x, y)": "coalesce(x, y)",
    "IIF(x > y, 1, 0)": "CASE WHEN x > y THEN 1 ELSE 0 END",
    "LEFT(t, 2)": "left(t, 2)",
    "DATE_PART('month', d)": "date_part('month', d)",
    "HOUR(s)": "hour(s)",
    "NULLIF(x, 0.5)": "nullif(x, 0.5)",
}


@pytest.fixture(scope="module")
def table():
    names = {Type.FLOAT: "DOUBLE", Type.INTEGER: "BIGINT", Type.TEXT: "VARCHAR"}
    columns = ", ".join(f"{name} {names.get(kind, kind.value)}" for name, kind in TYPES.items())
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t (place INTEGER, {columns})")
    marks = ", ".join("?" * (len(TYPES) + 1))
    rows = [[at, *row.values()] for at, row in enumerate(ROWS)]
    connection.executemany(f"INSERT INTO t VALUES ({marks})", rows)  # noqa: S608 (written here)
    return connection


def computed(table, sql):
    return [row[0] for row in table.execute(f"SELECT {sql} FROM t ORDER BY place").fetchall()]  # noqa: S608


@pytest.mark.parametrize("written", SAME)
def test_it_is_what_the_database_has(written, table):
    node = read(written)
    wanted = computed(table, SAME[written])
    printed = computed(table, DUCKDB.printed(Expressions(DUCKDB, TYPES).node(node)))
    rule = compiled(node, TYPES)
    for row, native, ours in zip(ROWS, wanted, printed, strict=True):
        assert equal(ours, native), (written, row)
        assert equal(rule(row), native), (written, row)


def equal(one, other):
    if one is None or other is None:
        return one is other
    if isinstance(one, str):
        return one == other
    return math.isclose(one, other, rel_tol=1e-15, abs_tol=0.0)


def test_halves_the_other_way_are_noticed(table):
    """A rounding to even is not the one that databases have."""
    wanted = computed(table, "round(x, 0)")
    even = [None if row["x"] is None else float(round(row["x"])) for row in ROWS]
    assert not all(map(equal, even, wanted))
