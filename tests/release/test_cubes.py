"""Answers about several levels: an engine's values, totals that add up, intervals that hold."""

import math
from statistics import NormalDist

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.engine import HashOrder
from discreet.errors import OutOfRange, UnsupportedSQL, WrongKind
from discreet.noise import KeyedEntropy
from discreet.plan.pricing.cube_strategy import least_error
from discreet.release.answer import answer
from tests.reference.engine import Reference

ALPHA = 1e-6
POLICY = """
format = 1
unit = "patient"
[limits]
max_groups = 1
max_rows = 2
ceilings = []
[tables.visits.columns]
patient = { type = "integer" }
ward = { type = "text", categories = ["East", "North", "South"], nullable = true }
sex = { type = "text", categories = ["f", "m"], nullable = false }
age = { type = "integer", low = 0, high = 4, nullable = false }
wait = { type = "integer", low = -10, high = 240, nullable = false }
cost = { type = "float", low = 0, high = 1000, nullable = false }
"""
SIZE = 600
VISITS = {
    "patient": list(range(SIZE)),
    "ward": [["East", "North", None][i % 3] for i in range(SIZE)],
    "sex": ["fm"[i % 7 % 2] for i in range(SIZE)],
    "age": [i % 5 for i in range(SIZE)],
    "wait": [i * 31 % 251 - 10 for i in range(SIZE)],
    "cost": [float(i * 17 % 1000) for i in range(SIZE)],
}
TEXT = (
    "SELECT ward, sex, GROUPING(ward, sex) AS level, COUNT(*) AS n, SUM(cost) AS cost, "
    "AVG(wait) AS wait FROM visits GROUP BY {}"
)
TOTALS = "SELECT COUNT(*) AS n FROM visits GROUP BY CUBE(ward, sex)"


@pytest.fixture
def clinic(tmp_path):
    budget = dp.Budget(epsilon=10**6, delta="1e-6")
    opened = {"visits": pa.table(VISITS)}
    with dp.open(opened, policy=POLICY, budget=budget, ledger=tmp_path / "ledger") as session:
        yield session


def truth(text):
    """Return what DuckDB says: the groups that are there, and NULL that is totaled apart."""
    visits = pa.table(VISITS)  # noqa: F841 (DuckDB finds it by its name)
    rows = duckdb.sql(text).fetchall()
    return {row[:3]: row[3:] for row in rows}


@pytest.mark.parametrize(
    "sets", ["CUBE(ward, sex)", "ROLLUP(ward, sex)", "GROUPING SETS ((ward), (sex))"]
)
@pytest.mark.parametrize("price", [{"epsilon": 5000}, {"rho": 5000}], ids=str)
def test_levels_are_those_of_an_engine(clinic, sets, price):
    """At a price that hides nobody: the misses of noise are then below one in a thousand."""
    text = TEXT.format(sets)
    rows = clinic.ask(text, confirm=True, confidence="0.999999", **price).rows()
    expected = truth(text)
    assert len(rows) == {"C": 15, "R": 13, "G": 6}[sets[0]]
    for row in rows:
        group = row["ward"], row["sex"], row["level"]
        n, cost, wait = expected.get(group, (0, 0.0, None))
        assert row["n_low"] <= n <= row["n_high"]
        assert abs(row["n"] - n) < 0.5
        assert row["cost_low"] <= cost <= row["cost_high"]
        assert wait is None or abs(row["wait"] - wait) < 1
    found = {(row["ward"], row["sex"], row["level"]) for row in rows}
    assert set(expected) <= found
    assert len(found) == len(rows)


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": "0.1"}], ids=str)
def test_levels_add_up(clinic, price):
    release = clinic.ask(TEXT.format("CUBE(ward, sex)"), **price)
    tables = release.tables()
    assert set(tables) == {(), ("ward",), ("sex",), ("ward", "sex")}
    whole = np.array(tables["ward", "sex"]["n"]).reshape(4, 2)
    cost = np.array(tables["ward", "sex"]["cost"]).reshape(4, 2)
    assert np.allclose(whole.sum(axis=1), tables["ward",]["n"], atol=1e-3)
    assert np.allclose(whole.sum(axis=0), tables["sex",]["n"], atol=1e-3)
    assert np.allclose(cost.sum(), tables[()]["cost"], atol=1)
    assert tables["ward",]["ward"].to_pylist() == ["East", "North", "South", None]
    rounded = release.tables(whole=True)
    for names, table in rounded.items():
        counts = np.array(table["n"])
        assert counts.min() >= 0
        assert counts.sum() == max(0, round(sum(tables[names]["n"].to_pylist())))
        assert b"biased" in table.schema.field("n").metadata
        assert "n_low" not in table.column_names


def test_two_spellings_cost_once(clinic):
    first = clinic.ask(TEXT.format("CUBE(ward, sex)"), epsilon=1)
    spelled = "GROUPING SETS ((ward, sex), (sex), ROLLUP(ward))"
    again = clinic.ask(TEXT.format(spelled), epsilon=1)
    assert again.replayed
    assert again.rows() == first.rows()
    built = clinic.table("visits").cube("ward", "sex").count(name="n")
    assert not built.ask(epsilon=1).replayed
    text = "SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY CUBE(ward, sex)"
    assert clinic.ask(text, epsilon=1).replayed


def test_a_plan_says_the_error_of_each_level(clinic):
    plan = clinic.plan(TOTALS, rho="0.1")
    words = plan.predicted[0].words
    for name in ("the total ±", "ward ±", "sex ±", "ward x sex ±", "at most"):
        assert name in words
    assert "15 public groups of ward, sex, on 4 levels" in str(plan)
    aimed = clinic.plan(TOTALS, error={"n": 30})
    assert 29 < aimed.predicted[0].half_width <= 30


def test_having_and_order_are_about_released_numbers(clinic):
    rows = clinic.ask(
        f"{TEXT.format('CUBE(ward, sex)')} HAVING n > 90 ORDER BY level DESC, n DESC LIMIT 3",
        epsilon=50,
        confirm=True,
    ).rows()
    assert [row["level"] for row in rows] == [3, 2, 2]
    assert all(row["n"] > 90 for row in rows)


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        (TEXT.replace("FROM", ", MEDIAN(wait) AS m FROM"), UnsupportedSQL, "several levels"),
        (
            TEXT.replace("FROM", ", SUM(COUNT(*)) OVER () AS m FROM"),
            UnsupportedSQL,
            "a window looks at several levels",
        ),
        (
            TOTALS.replace("sex", "cost"),
            UnsupportedSQL,
            "not public",
        ),
    ],
)
def test_what_no_level_can_hold_is_refused_before_it_is_paid(clinic, text, error, words):
    left = clinic.remaining
    with pytest.raises(error, match=words):
        clinic.ask(text.format("CUBE(ward, sex)"), epsilon=1)
    assert clinic.remaining == left


def test_people_in_several_groups_are_not_added_up(tmp_path):
    policy = POLICY.replace("max_groups = 1", "max_groups = 2")
    opened = {"visits": pa.table(VISITS)}
    with dp.open(opened, policy=policy, budget=dp.Budget(rho=1), ledger=tmp_path / "l") as clinic:
        people = "SELECT COUNT(DISTINCT patient) AS p FROM visits GROUP BY CUBE(ward, sex)"
        with pytest.raises(UnsupportedSQL, match="several levels"):
            clinic.plan(people, rho="0.1")
        rows = clinic.plan(people.replace("DISTINCT patient", "*"), rho="0.1")
        (noise,) = rows.noises
        assert noise.distances.high == 2


def test_all_tables_of_so_many_columns(clinic):
    release = clinic.marginals("visits", "ward", "sex", "age", ways=2, rho="0.1")
    assert set(release.tables()) == {("ward", "sex"), ("ward", "age"), ("sex", "age")}
    table = release.tables()["sex", "age"]
    assert table.column_names == ["sex", "age", "count", "count_low", "count_high"]
    assert table.num_rows == 10
    assert clinic.marginals("visits", "ward", "sex", "age", ways=2, rho="0.1").replayed
    with pytest.raises(OutOfRange, match="ways"):
        clinic.marginals("visits", "ward", ways=2, rho="0.1")
    ordered = clinic.ask(TEXT.format("CUBE(ward, sex)") + " LIMIT 3", rho="0.1")
    with pytest.raises(WrongKind, match="does not hold all rows"):
        ordered.tables()


@pytest.mark.theorem("residual-basis")
@pytest.mark.parametrize("price", [{"rho": "0.5"}, {"epsilon": 1}], ids=str)
def test_intervals_hold_the_truth_as_often_as_they_say(clinic, price):
    """Many draws of one plan: the share of misses, and the squared error, at ALPHA."""
    plan = clinic.plan(TOTALS, **price)
    types = {"visits": {name: each.type for name, each in _columns(clinic).items()}}
    rows = [dict(zip(VISITS, row, strict=True)) for row in zip(*VISITS.values(), strict=True)]
    raw = Reference({"visits": rows}, types).run(
        plan.request, order=HashOrder(salt=0, portable=True)
    )
    exact = truth(TEXT.format("CUBE(ward, sex)"))
    draws, inside, squares = 200, [], []
    for draw in range(draws):
        entropy = KeyedEntropy(key=bytes(32), label=f"cubes {draw}")
        tables = answer(plan, raw, entropy=entropy).tables()
        for names, table in tables.items():
            level = 2 * ("ward" not in names) + ("sex" not in names)
            for row in table.to_pylist():
                group = row.get("ward"), row.get("sex"), level
                n = exact.get(group, (0,))[0]
                if n > 40:  # intervals of small counts end at zero
                    inside.append(row["n_low"] <= n <= row["n_high"])
                squares.append((row["n"] - n) ** 2)
    # entries of one draw may miss together: a draw counts once, with its mean
    share = np.array(inside).reshape(draws, -1).mean(axis=1)
    spread = math.sqrt(0.05 * 0.95 / draws)  # at most, if all entries of a draw miss together
    far = NormalDist().inv_cdf(1 - ALPHA / 2) * spread
    assert 0.95 - far < share.mean() < 0.95 + far
    errors = np.array(squares).reshape(draws, -1).mean(axis=1)
    noise = plan.noises[0]
    expected = noise.distances.cells.spread * float(noise.mechanism.law.moments().variance.high)
    far = NormalDist().inv_cdf(1 - ALPHA / 2) * errors.std() / math.sqrt(draws)
    assert abs(errors.mean() - expected) < far
    if "rho" in price:  # two rows of each person
        assert math.sqrt(expected) == pytest.approx(2 * least_error(plan.cube), rel=0.001)


def _columns(clinic):
    (table,) = clinic.tables.values()
    return {column.name: column for column in table.columns}
