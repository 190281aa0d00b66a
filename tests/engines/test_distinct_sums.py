"""Sums of different values: the law by enumeration, and SQL's own answer where nothing is cut."""

from itertools import combinations, product

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
import discreet.session as sessions
from discreet.engines.engine import HashOrder
from discreet.errors import DiscreetError, MissingBounds, UnsupportedSQL
from discreet.query.expressions import Column
from discreet.query.relations import Scan
from discreet.query.types import Type
from discreet.requests.engine_request import DistinctSum, EngineRequest
from tests.reference.engine import Reference

X = Column("x")
TYPES = {"u": Type.INTEGER, "x": Type.INTEGER}


def measure(low, high, most):
    return DistinctSum(name="s", row=X, low=low, high=high, most=most)


@pytest.mark.theorem("distinct-sum")
@pytest.mark.parametrize(("low", "high"), [(-3, 4), (0, 5), (2, 6), (-6, -2), (0, 0), (3, 3)])
def test_the_ends_are_the_largest_sums_of_so_many_different_numbers(low, high):
    numbers = range(low, high + 1)
    for most in range(1, 8):
        sums = [sum(chosen) for size in range(most + 1) for chosen in combinations(numbers, size)]
        assert measure(low, high, most).ends == (min(sums), max(sums))


@pytest.mark.theorem("distinct-sum")
@pytest.mark.parametrize(("low", "high", "most"), [(-1, 2, 1), (-1, 2, 2), (1, 3, 2), (-2, 0, 3)])
def test_one_unit_moves_the_sum_within_its_ends_and_up_to_them(low, high, most):
    """All tables of two units with three values each, some of them outside the bounds."""
    least, largest = measure(low, high, most).ends
    request = EngineRequest(
        relation=Scan("t", tuple(TYPES.items())),
        unit=(Column("u"),),
        keys=(),
        groups=1,
        measures=(measure(low, high, most),),
    )
    order, values = HashOrder(salt=3), (None, low - 1, *range(low, high + 2))

    def answer(*people):
        rows = [{"u": who, "x": x} for who, cells in enumerate(people) for x in cells]
        raw = Reference({"t": rows}, {"t": TYPES}).run(request, order=order)
        return int(raw.totals["s"][0]) if len(raw.totals["s"]) else 0

    others = [(), (low, high), (0, None, high - 1)]
    moved = [
        answer(other, cells) - answer(other)
        for other in others
        for cells in product(values, repeat=3)
    ]
    assert all(least <= each <= largest for each in moved)
    assert (min(moved), max(moved)) == (least, largest)


POLICY = """
format = 1
unit = "id"
[limits]
max_rows = 9
max_groups = 9
[tables.visits.columns]
id = {type = "integer"}
ward = {type = "text", categories = ["a", "b", "c"]}
beds = {type = "integer", categories = [1, 2, 3, 5]}
cost = {type = "float", low = -5, high = 10}
free = {type = "float"}
"""
SIZE = 60
VISITS = pa.table(
    {
        "id": [number % 17 for number in range(SIZE)],
        "ward": ["abc"[number % 3] for number in range(SIZE)],
        "beds": [[1, 2, 3, 5][number * number % 4] for number in range(SIZE)],
        "cost": [None if number % 9 == 4 else number % 7 - 2.5 for number in range(SIZE)],
        "free": [float(number) for number in range(SIZE)],
    }
)
ASKED = (
    "SELECT SUM(DISTINCT beds) AS s FROM visits",
    "SELECT SUM(DISTINCT cost) AS s, COUNT(DISTINCT cost) AS n, SUM(cost) AS t FROM visits",
    "SELECT ward, SUM(DISTINCT beds) AS s FROM visits GROUP BY ward ORDER BY ward",
    "SELECT SUM(DISTINCT beds) FILTER (WHERE cost > 0) AS s FROM visits",
    "SELECT SUM(DISTINCT cost) / COUNT(DISTINCT cost) AS m FROM visits",
    "SELECT SUM(s) AS t FROM (SELECT id, SUM(DISTINCT beds) AS s FROM visits GROUP BY id) AS v",
)


@pytest.fixture(scope="module")
def session():
    with sessions.open({"visits": VISITS}, policy=POLICY, test_mode=True) as opened:
        yield opened


@pytest.mark.parametrize("sql", ASKED)
def test_without_noise_it_is_what_sql_says(sql, session):
    bounds = {"bounds": sessions_estimate()} if "FROM (" in sql else {}
    answer = session.ask(sql, epsilon=10**9, **bounds)
    with duckdb.connect() as connection:
        connection.register("visits", VISITS)
        found = connection.execute(sql)
        names = [column[0] for column in found.description]
        expected = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    shown = [{name: row[name] for name in names} for row in answer.rows()]
    for row, other in zip(shown, expected, strict=True):
        for name, value in other.items():
            close = value if isinstance(value, str) else pytest.approx(float(value), rel=1e-5)
            assert row[name] == close


def sessions_estimate():
    from discreet.plan.pricing.requested_price import estimate  # noqa: PLC0415

    return estimate(epsilon=10**9)


def test_listed_values_bound_what_one_person_shows(session):
    """Four values are listed: 5 + 3 + 2 + 1, and not nine rows of 5."""
    plan = session.plan("SELECT SUM(DISTINCT beds) AS s FROM visits", epsilon=1)
    assert plan.noises[0].distances.high == 5 + 4 + 3 + 2  # of whole numbers, whichever are listed
    counted = session.plan("SELECT COUNT(DISTINCT beds) AS n FROM visits", epsilon=1)
    assert counted.noises[0].distances.high == 4
    floats = session.plan("SELECT COUNT(DISTINCT cost) AS n FROM visits", epsilon=1)
    assert floats.noises[0].distances.high == 9


def test_bounds_may_be_found_for_it(session):
    sql = "SELECT SUM(DISTINCT free) AS s FROM visits"
    with pytest.raises(MissingBounds):
        session.plan(sql, epsilon=1)
    answer = session.ask(sql, epsilon=10**6, bounds=sessions_estimate())
    assert answer["s"][0].as_py() == pytest.approx(sum(range(SIZE)), rel=1e-3)


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        (
            "SELECT SUM(DISTINCT beds, contribution_bounds_per_group => (0, 9)) AS s FROM visits",
            "contribution_bounds_per_row",
        ),
        ("SELECT AVG(DISTINCT cost) AS m FROM visits", "SUM(DISTINCT x) / COUNT(DISTINCT x)"),
        ("SELECT MEDIAN(DISTINCT cost) AS m FROM visits", "SUM(DISTINCT x)"),
    ],
)
def test_what_has_no_share_of_a_person_is_refused_with_a_way_out(sql, words, session):
    with pytest.raises(UnsupportedSQL) as caught:
        session.plan(sql, epsilon=1)
    assert words in caught.value.do


def test_extremes_are_those_of_all_values(session):
    plans = [
        session.plan(f"SELECT MAX({distinct}cost) AS m FROM visits", epsilon=1)  # noqa: S608
        for distinct in ("", "DISTINCT ")
    ]
    assert plans[0].digest == plans[1].digest


def test_without_any_limit_it_is_refused():
    policy = POLICY.replace("max_rows = 9", "")
    with sessions.open({"visits": VISITS}, policy=policy, test_mode=True) as opened:
        assert opened.plan("SELECT SUM(DISTINCT beds) AS s FROM visits", epsilon=1)
        with pytest.raises(DiscreetError, match="no limit on the values of cost"):
            opened.plan("SELECT SUM(DISTINCT cost) AS s FROM visits", epsilon=1)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("bought", [None, 1])
def test_a_constant_has_bounds_of_its_own(tmp_path, relation, bought):
    """Its bounds are equal, and no interval; between it and zero, no total moves further."""
    rows = pa.table({"id": [number % 50 for number in range(300)]})
    with dp.open(
        {"visits": rows},
        unit=dp.person("id", relation=relation),
        budget=dp.Budget(epsilon=500),
        policy="format = 1\n[limits]\nmax_rows = 3\nmax_groups = 1\n",
        ledger=tmp_path / "visits.ledger",
    ) as session:
        price = {"bounds": None if bought is None else dp.estimate(epsilon=bought)}
        for text, true in (("SUM(DISTINCT 3)", 3), ("SUM(DISTINCT -2)", -2), ("SUM(3)", 450)):
            question = f"SELECT {text} AS s FROM visits"  # noqa: S608
            (row,) = session.ask(question, epsilon=30, confirm=True, **price).rows()
            assert abs(row["s"] - true) <= 5
