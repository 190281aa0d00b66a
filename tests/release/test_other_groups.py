"""The other groups: their noise hides one unit, their sums are exact, and no value is like them."""

import itertools

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.engine import HashOrder
from discreet.errors import UnsupportedSQL
from discreet.mechanisms import Gaussian
from discreet.plan.workload.other_groups import other_noise
from discreet.query.question import with_other
from discreet.query.sql.parse import read
from discreet.release.answer import noised
from discreet.units import person
from tests.plan.clinic import TYPES, answers, planned
from tests.plan.test_workload import visits_of
from tests.reference.engine import Reference

QUESTION = (
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_per_group = 2) city, COUNT(*) AS n, "
    "SUM(stay) AS s, AVG(cost) AS m FROM visits GROUP BY city"
)
SMALL = [
    {"patient": 1, "ward": "A", "age": 1, "city": city, "stay": stay, "cost": cost}
    for city, stay, cost in [("x", 10, 100.0), ("y", -3, 0.0), ("z", 10, 7.0), (None, 2, 50.0)]
]
OTHERS = [
    {"patient": who, "ward": "A", "age": 1, "city": city, "stay": 10, "cost": 100.0}
    for who, city in [(7, "x"), (8, "z"), (9, None)]
]


@pytest.mark.theorem("other-groups")
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": 1}], ids=str)
def test_whatever_is_shown_small_neighbors_stay_within_the_price(relation, price):
    """Up to four rows of a person, alone or in the place of any others: all sets of groups."""
    unit = person("patient", relation=relation)
    plan = planned(with_other(read(QUESTION)), unit=unit, delta="1e-6", **price)
    found = [
        answers(plan.request, visits_of([*OTHERS, *rows]))[0]
        for count in range(5)
        for rows in itertools.combinations_with_replacement(SMALL, count)
    ]
    pairs = (
        itertools.combinations(found, 2)
        if unit.relation.replaces
        else [(each, found[0]) for each in found]
    )
    groups = [("x",), ("y",), ("z",), (None,)]
    subsets = [set(some) for size in range(5) for some in itertools.combinations(groups, size)]
    reached = []
    for (one, two), shown, noise in itertools.product(pairs, subsets, plan.noises):
        gaps = {g: one[noise.measure].get(g, 0) - two[noise.measure].get(g, 0) for g in groups}
        rest = sum(gap for group, gap in gaps.items() if group not in shown)
        law, other = noise.mechanism, other_noise(noise, unit).mechanism
        if isinstance(law, Gaussian):
            lost = sum(gaps[group] ** 2 for group in shown) / law.variance
            lost += rest**2 / other.variance
            most = noise.distances.moved_squared(unit.relation) / law.variance
        else:
            lost = sum(abs(gaps[group]) for group in shown) / law.scale + abs(rest) / other.scale
            most = noise.distances.moved(unit.relation) / law.scale
        assert lost <= most
        reached.append(lost / most)
    assert max(reached) == 1  # and no less is priced than some unit does


POLICY = """
format = 1
unit = "patient"
[limits]
max_groups = 2
max_rows = 3
ceilings = []
[tables.visits.columns]
patient = { type = "integer" }
drug = { type = "text", nullable = true }
ward = { type = "text", categories = ["A", "B"] }
wait = { type = "integer", low = -10, high = 240, nullable = false }
"""
DRUGS = ["common", None, *(f"rare {i}" for i in range(200))]
VISITS = {
    "patient": [i // 2 for i in range(1200)],
    "drug": [DRUGS[i % 2] if i < 1000 else DRUGS[2 + i % 200] for i in range(1200)],
    "ward": ["A"] * 1200,
    "wait": [i * 31 % 251 - 10 for i in range(1200)],
}
TEXT = "SELECT drug, COUNT(*) AS n, SUM(wait) AS s, AVG(wait) AS m FROM visits GROUP BY drug"


@pytest.fixture
def clinic(tmp_path):
    budget = dp.Budget(epsilon=10**6, delta="1e-6")
    opened = {"visits": pa.table(VISITS)}
    with dp.open(opened, policy=POLICY, budget=budget, ledger=tmp_path / "ledger") as session:
        yield session


@pytest.mark.parametrize("price", [{"epsilon": 5000}, {"rho": 5000}], ids=str)
def test_the_last_row_is_all_that_is_not_shown(clinic, price):
    """At a price that hides sums; whether a group is shown has a delta of its own all the same."""
    asked = {**price, "delta": "1e-9", "confirm": True, "confidence": "0.999999"}
    text = f"{TEXT.replace('GROUP', 'WHERE wait > -10 GROUP')} ORDER BY n"
    release = clinic.ask(text, other=True, **asked)
    *shown, other = release.rows()
    assert {row["drug"] for row in shown} == {"common", None}
    assert [row["is_other"] for row in shown] == [False, False]
    assert (other["drug"], other["is_other"]) == (None, True)
    visits = pa.table(VISITS)  # noqa: F841 (DuckDB finds it by its name)
    n, s, m = duckdb.sql(
        "SELECT COUNT(*), SUM(wait), AVG(wait) FROM visits WHERE wait > -10 AND drug LIKE 'rare%'"
    ).fetchall()[0]
    for name, value, near in (("n", n, 0.5), ("s", s, 60), ("m", m, 1)):
        assert other[f"{name}_low"] <= value <= other[f"{name}_high"]
        assert abs(other[name] - value) < near
    again = clinic.ask(text, other=True, **asked)
    assert again.replayed
    assert again.rows() == release.rows()
    assert not clinic.ask(text, **asked).replayed  # without it, it is another question


def test_it_is_free_beside_groups_that_are_selected_apart(clinic):
    text = (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(group_selection_strategy = OPTIMAL) "
        "drug, COUNT(*) AS n FROM visits GROUP BY drug"
    )
    price = {"epsilon": 1, "delta": "1e-9"}
    plain, other = clinic.plan(text, **price), clinic.plan(text, other=True, **price)
    assert (other.tree, other.noises) == (plain.tree, plain.noises)
    assert other.digest != plain.digest
    assert "all others as one" in other.details


def test_noise_on_the_rest_is_as_planned():
    plan = planned(with_other(read(QUESTION)), rho=1, delta="1e-9")
    raw = Reference(visits_of(OTHERS), TYPES).run(plan.request, order=HashOrder(salt=1))
    for noise in plan.noises:
        drawn = [noised(plan, raw).other[noise.measure].runs[0].values[0] for _ in range(40)]
        assert other_noise(noise, plan.unit).mechanism.variance == 2 * noise.mechanism.variance
        spread = np.var(np.array(drawn, float)) / (2 * float(noise.mechanism.variance))
        assert 0.15 < spread < 3.6  # chi-squared with 39 degrees: missed with 1e-6 each side


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT COUNT(*) AS n FROM visits", "needs GROUP BY"),
        (f"{TEXT} LIMIT 3", "allows no HAVING"),
        (f"{TEXT} HAVING COUNT(*) > 3", "allows no HAVING"),
        ("SELECT drug AS is_other, COUNT(*) AS n FROM visits GROUP BY drug", "is called is_other"),
        ("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", "all groups of this question"),
        ("SELECT drug, MEDIAN(wait) AS n FROM visits GROUP BY drug", "of the other groups"),
        (
            "SELECT drug, COUNT(DISTINCT patient) AS n FROM visits GROUP BY drug",
            "one person counts in several groups",
        ),
    ],
)
def test_what_has_no_remainder_is_refused_for_nothing(clinic, text, words):
    before = clinic.remaining
    with pytest.raises(UnsupportedSQL, match=words):
        clinic.ask(text, epsilon=1, other=True)
    assert clinic.remaining == before


def test_intervals_hold_for_people_in_one_group(tmp_path):
    """95 % intervals of the remainder, 200 times: fewer than 171 hits have a chance below 1e-6."""
    policy = POLICY.replace("max_groups = 2", "max_groups = 1").replace("= 3", "= 1")
    table = {"visits": pa.table({**VISITS, "patient": list(range(1200))})}
    budget = dp.Budget(epsilon=10**6, delta="0.1")
    hits = 0
    with dp.open(table, policy=policy, budget=budget, ledger=tmp_path / "ledger") as session:
        for turn in range(200):
            price = {"epsilon": f"0.9{turn:04}1", "delta": "1e-9", "other": True}
            text = "SELECT drug, COUNT(DISTINCT patient) AS n FROM visits GROUP BY drug"
            *shown, last = session.ask(text, **price).rows()
            rest = 1200 - sum(500 for row in shown)
            hits += last["n_low"] <= rest <= last["n_high"]
    assert hits >= 171
