"""The queries of TPC-H, word by word: planned and equal to DuckDB's answers, or refused in words.

The unit is the customer; parts, suppliers, what these offer, nations and regions are public.  The
truth is DuckDB's own answer to the same text.  Ours is computed from the totals of the plan before
noise is added, with every group shown, within limits that cut nothing; sums are rounded to the grid
of their noise, which costs less than one part in 10,000.
"""

import tomllib
from datetime import date
from functools import cache
from pathlib import Path

import duckdb
import pytest

import discreet.session as sessions
from discreet.engines.engine import HashOrder
from discreet.errors import DiscreetError
from tests.tpch.exact import exact_rows
from tests.tpch.tables import POLICY, tables

QUERIES = {
    each["number"]: each
    for each in tomllib.loads((Path(__file__).parent / "queries.toml").read_text(encoding="utf-8"))[
        "query"
    ]
}
ANSWERED = [number for number, each in QUERIES.items() if "refused" not in each]
TABLES = cache(tables)


@pytest.fixture(scope="module")
def session():
    with sessions.open(TABLES(), policy=POLICY, test_mode=True) as opened:
        yield opened


def truth(sql):
    """Ask DuckDB itself, which does not say how many digits an interval has."""
    with duckdb.connect() as connection:
        for name, rows in TABLES().items():
            connection.register(name, rows)
        found = connection.execute(sql.replace("day (3)", "day"))
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def test_eighteen_of_them_are_answered():
    assert sorted(QUERIES) == list(range(1, 23))
    assert sorted(QUERIES.keys() - set(ANSWERED)) == [15, 17, 20, 22]


@pytest.mark.parametrize("number", [number for number in ANSWERED if number != 2])
def test_answers_are_those_of_the_engine(number, session):
    sql = QUERIES[number]["sql"]
    plan = session.plan(sql, epsilon=1, delta="1e-6")
    raw = session._engine.run(plan.request, order=HashOrder(salt=7))
    found, expected = exact_rows(plan, raw), truth(sql)
    assert expected
    shown = {key.name for key in plan.request.keys}
    if number == 18:  # an aggregate without a name
        expected = [
            {_OURS.get(name, name): value for name, value in row.items()} for row in expected
        ]
    keys = [
        name for name, value in expected[0].items() if name in shown or not isinstance(value, float)
    ]
    for row in expected:
        (same,) = (each for each in found if all(each[name] == row[name] for name in keys))
        for name in row.keys() - set(keys):
            assert same[name] == pytest.approx(row[name], rel=1e-4, abs=1e-4), (name, row)
    order = [[row[name] for name in keys] for row in expected]
    shown = [[row[name] for name in keys] for row in found]
    assert [row for row in shown if row in order] == order
    empty = [row for row in found if [row[name] for name in keys] not in order]
    assert all(0 in row.values() for row in empty)  # public groups that nobody is in


_OURS = {"sum(l_quantity)": "sum_l_quantity"}


@pytest.mark.parametrize("number", [2, 11, 16])
def test_public_tables_are_answered_exactly_and_for_nothing(number, session):
    sql = QUERIES[number]["sql"]
    plan = session.plan(sql, epsilon=1, delta="1e-6")
    assert plan.exact
    assert plan.price.epsilon == 0
    if number == 2:  # at this scale nothing is of that size and type
        assert session.ask(plan).rows() == truth(sql) == []
        sql = sql.replace("p_size = 15", "p_size > 1").replace("%BRASS", "%")
        plan = session.plan(sql, epsilon=1, delta="1e-6")
    found, expected = session.ask(plan).rows(), truth(sql)
    assert expected
    assert len(found) == len(expected)
    for row, other in zip(found, expected, strict=True):
        assert row == pytest.approx(other)


REASONS = {
    "single rows": ("this asks for single rows", "GROUP BY"),
    "a private value": ("a value of the rows of different people", "ask for the value first"),
}


@pytest.mark.parametrize("number", sorted(QUERIES.keys() - set(ANSWERED)))
def test_the_rest_is_refused_for_a_reason_and_unpaid(number, session):
    before = session.remaining
    with pytest.raises(DiscreetError) as error:
        session.plan(QUERIES[number]["sql"], epsilon=1, delta="1e-6")
    what, do = error.value.what, error.value.do
    reason = REASONS[QUERIES[number]["refused"]]
    assert all(words in f"{what} {do}" for words in reason)
    assert error.value.do
    assert session.remaining == before


def test_the_tables_are_those_of_the_specification():
    made = TABLES()
    assert {name: rows.num_rows for name, rows in made.items()} == {
        "region": 5,
        "nation": 25,
        "supplier": 10,
        "part": 40,
        "partsupp": 120,
        "customer": 50,
        "orders": 300,
        "lineitem": made["lineitem"].num_rows,
    }
    assert tables(24)["lineitem"].equals(made["lineitem"])
    assert not tables(25)["lineitem"].equals(made["lineitem"])
    assert min(made["orders"]["o_orderdate"].to_pylist()) >= date(1992, 1, 1)
