"""What is refused, with its way out, before anything is spent; and how evidence is read back."""

import json
import re
from datetime import date
from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import (
    DiscreetError,
    MissingBounds,
    OutOfRange,
    TooLarge,
    UnknownName,
    WrongKind,
)
from discreet.plan.binding.value_facts import Facts
from discreet.query.types import Type
from discreet.synthetic.domain import coded_column, periods
from discreet.synthetic.evidence import read, written
from tests.synthetic import clinic

S = dp.synthetic


@pytest.fixture(scope="module")
def session():
    with clinic.opened() as opened:
        yield opened


def undeclared():
    table = clinic.arrow(clinic.crowd())
    noted = table.append_column("note", pa.array(["x"] * len(table)))
    counted = noted.append_column("dose", pa.array([1.5] * len(table)))
    return dp.open({"visits": counted}, policy=clinic.POLICY, test_mode=True)


@pytest.mark.parametrize("column", ["note", "dose"])
def test_columns_without_public_limits_are_refused(column):
    with undeclared() as session, pytest.raises(MissingBounds) as caught:
        clinic.planned(session, columns=["ward", column])
    assert caught.value.code == "E505"
    assert column in str(caught.value)
    assert "columns=" in str(caught.value)


EVERYTHING = [
    S.determines("paid", "ward", {True: "A", False: "A"}),
    *(S.forbid({"ward": "A", "paid": paid}) for paid in (False, True)),
]
CASES = [
    ({"method": S.AIM(), "epsilon": 1}, WrongKind, "MWEM"),
    ({"method": S.MST(), "epsilon": 1}, WrongKind, "MWEM"),
    ({"method": S.DualQuery(), "epsilon": 1}, WrongKind, "MWEM"),
    ({"columns": ["ward", "weight"]}, UnknownName, "weight"),
    ({"columns": ["ward", "patient"]}, WrongKind, "names the unit"),
    ({"columns": ["ward", "Ward"]}, WrongKind, "twice"),
    ({"columns": []}, WrongKind, "no columns"),
    ({"workload": S.marginals(2), "max_cells": 3}, TooLarge, "max_cells"),
    ({"workload": S.marginals_of([("ward", "age", "paid")]), "max_cells": 19}, TooLarge, "cells"),
    ({"workload": S.marginals_of([("ward", "weight")])}, UnknownName, "weight"),
    ({"size": 3, "rho": "0.0001"}, OutOfRange, "anyway=True"),
    ({"bins": "many"}, WrongKind, "bins"),
    ({"bins": {"weight": 3}}, OutOfRange, "weight"),
    ({"constraints": [S.forbid({"ward": "Z", "paid": True})]}, OutOfRange, "ward"),
    ({"constraints": [S.determines("ward", "paid", {"A": 7})]}, OutOfRange, "paid"),
    ({"epsilon": 1, "rho": 1}, WrongKind, "rho"),
    ({"method": S.DualQuery(queries=9, width=8)}, OutOfRange, "different bits"),
    ({"constraints": EVERYTHING}, OutOfRange, "no row possible"),
    ({"constraints": S.forbid({"ward": "A", "paid": True})}, WrongKind, "constraint"),
    ({"columns": [1]}, WrongKind, "names"),
    ({"limits": 3}, WrongKind, "limits"),
    ({"max_cells": None}, WrongKind, "max_cells"),
    (
        {"method": S.DualQuery(), "constraints": [S.forbid({"ward": "A", "paid": True})]},
        WrongKind,
        "AIM()",
    ),
    (
        {
            "bins": {"age": S.quantile_bins(epsilon=1)},
            "constraints": [S.forbid({"ward": "A", "age": 30})],
        },
        WrongKind,
        "public bins",
    ),
    (
        {
            "bins": {"age": S.quantile_bins(epsilon=1)},
            "constraints": [S.forbid({"ward": "Z", "paid": True})],
        },
        OutOfRange,
        "ward",
    ),
]


@pytest.mark.parametrize(("change", "error", "words"), CASES)
def test_what_cannot_be_made_is_refused_with_a_way_out(session, change, error, words):
    if "rho" in change and "epsilon" in change:
        with pytest.raises(error, match=words):
            dp.plan_synthesis(session, "visits", **change)
        return
    with pytest.raises(error) as caught:
        clinic.planned(session, **change)
    assert words in str(caught.value)
    assert caught.value.do


def test_a_plan_says_how_many_marginals_are_too_large(session):
    asked = {"columns": ["ward", "age", "paid"], "workload": S.marginals(2)}
    assert "leaves out" not in str(clinic.planned(session, **asked))
    plan = clinic.planned(session, **asked, max_cells=6)
    assert "leaves out 2 marginals with too many cells" in str(plan)


@pytest.mark.parametrize("method", [S.AIM(), S.MST(), S.MWEM(), S.Independent()])
def test_constraints_that_leave_no_row_are_refused_before_the_charge(session, method):
    stated = [S.determines("ward", "paid", {"A": True, "B": True})]
    stated += [S.forbid({"ward": ward, "paid": True}) for ward in "AB"]
    with pytest.raises(OutOfRange, match="no row possible"):
        clinic.planned(session, method=method, constraints=stated)


def test_a_domain_that_is_too_large_for_mwem_is_refused():
    policy, table = clinic.POLICY, clinic.arrow(clinic.crowd(3))
    for number in range(3):
        policy += f'[tables.visits.columns.x{number}]\ntype = "integer"\nlow = 0\nhigh = 99\n'
        table = table.append_column(f"x{number}", table["age"])
    wide = dp.open({"visits": table}, policy=policy, test_mode=True)
    with wide, pytest.raises(TooLarge, match="AIM"):
        clinic.planned(wide, bins=100, method=S.MWEM())


def test_a_run_of_hours_is_refused_and_one_of_minutes_says_so():
    policy, table = clinic.POLICY, clinic.arrow(clinic.crowd(3))
    for number in range(36):
        column = f"x{number:02}"
        policy += f'[tables.visits.columns.{column}]\ntype = "integer"\ncategories = [0, 1, 2]\n'
        table = table.append_column(column, table["age"])
    names = [f"x{number:02}" for number in range(36)]
    with dp.open({"visits": table}, policy=policy, test_mode=True) as wide:
        asked = {"columns": names, "workload": S.marginals(3), "method": S.AIM(), "anyway": True}
        with pytest.raises(TooLarge, match="minutes") as caught:
            clinic.planned(wide, **asked)
        rounds = int(re.search(r"AIM\(rounds=(\d+)\)", str(caught.value))[1])
        plan = clinic.planned(wide, **asked | {"method": S.AIM(rounds=rounds)})
        assert 60 < plan.seconds <= 1800
        assert f"up to {plan.seconds / 60:,.0f} minutes" in str(plan)
        for way_out in ({"workload": S.marginals(2)}, {"method": S.MST()}):
            assert clinic.planned(wide, **asked | way_out).seconds <= 1800


def test_limits_on_people_have_to_be_declared():
    bare = f'format = 1\nunit = "patient"\n{clinic.COLUMNS}'
    with clinic.opened(policy=bare) as session:
        with pytest.raises(MissingBounds, match="groups"):
            clinic.planned(session)
        plan = clinic.planned(session, limits=dp.limits(max_rows=2, max_groups=3))
        assert plan.moves == 6


def test_public_tables_and_other_things_are_refused(session):
    for source in ("nowhere", 7, None):
        with pytest.raises(DiscreetError):
            dp.plan_synthesis(session, source, rho=1)
    with pytest.raises(WrongKind, match="columns"):
        dp.plan_synthesis(session, dp.query.table("visits"), rho=1)


def test_the_rows_of_a_condition_can_be_asked_for(session):
    rows = dp.query.table("visits").where("age >= 50")
    plan = dp.plan_synthesis(
        session, rows, columns=["ward", "paid"], rho=10, method=S.Independent()
    )
    release = dp.synthesize(session, plan)
    (total,) = {int(m.values.sum() / 20) for m in release.evidence.measured[:1]}
    assert 1 <= total <= 4  # about half of 120 rows


def test_an_error_is_hopeless_only_where_a_size_says_so(session):
    assert clinic.planned(session, rho="0.0001").one_way is None
    assert clinic.planned(session, rho="0.0001", size=3, anyway=True).one_way is not None


# --- domain ---------------------------------------------------------------------------------------


def test_null_is_a_code_where_it_may_be(session):
    ward, age, paid = clinic.planned(session).domain.columns
    assert (ward.size, ward.nullable) == (2, False)
    assert (age.size, age.label(4)) == (5, "NULL")
    assert paid.size == 2


@pytest.mark.parametrize(
    ("last", "bins", "found"),
    [
        (date(2020, 1, 20), 32, 20),
        (date(2020, 12, 31), 32, 12),
        (date(2024, 12, 31), 32, 20),
        (date(2045, 6, 30), 32, 26),
        (date(2199, 12, 31), 32, 30),
        (date(2020, 12, 31), 1, 1),
    ],
)
def test_periods_are_the_finest_that_are_few_enough(last, bins, found):
    edges = periods(date(2020, 1, 1), last, bins)
    assert len(edges) - 1 == found <= bins


def test_codes_of_engines_are_codes_of_the_domain():
    """Every value lands in the cell that the domain names, and others in none."""
    ages = [*range(-3, 103, 7), None]
    rows = [clinic.visit(who, "AB"[who % 2], age, True) for who, age in enumerate(ages)]
    rows += [clinic.visit(99, "Z", 5, True), clinic.visit(98, None, 5, True)]
    with clinic.opened(rows=rows) as session:
        plan = clinic.planned(session, method=S.Independent(), rho=10**12)
        values = dp.synthesize(session, plan).evidence.measured
        expected = [0] * plan.domain.columns[1].size
        for age in ages:
            expected[plan.domain.columns[1].code(age)] += 1
    assert values[1].values.tolist() == expected
    assert values[0].values.sum() == len(ages)


def test_bought_bins_hold_about_as_many_rows_each(session):
    bins = {"age": S.quantile_bins(epsilon=100, count=4)}
    plan = clinic.planned(session, bins=bins, method=S.Independent(), rho=10**6)
    assert plan.price.rho > 10**6
    evidence = dp.synthesize(session, plan).evidence
    counts = evidence.measured[1].values[:4]
    assert counts.min() >= 15
    assert counts.sum() == 120
    assert coded_column("x", Facts(type=Type.FLOAT, low=Fraction(0), high=Fraction(1)), 4).size == 5


def test_constraints_are_cells_without_mass(session):
    stated = [S.forbid({"ward": "A", "paid": True}), S.determines("ward", "paid", {"B": False})]
    plan = clinic.planned(session, constraints=stated, method=S.AIM(rounds=9), rho=10)
    model = S.model_of(dp.synthesize(session, plan).evidence)
    table = model.marginal((0, 2))
    assert table[0, 1] == pytest.approx(0)
    assert table[1, 1] == pytest.approx(0)


# --- evidence -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stored(session):
    stated = [S.forbid({"ward": "A", "age": 3}), S.determines("ward", "paid", {"B": False})]
    plan = clinic.planned(session, constraints=stated)
    return written(dp.synthesize(session, plan).evidence)


def test_evidence_is_read_as_it_was_written(stored):
    assert written(read(stored)) == stored


def spoiled(document):
    """Documents that differ in one place, each in a way that a reader must not take."""
    first = document["measured"][0]
    yield "format", {**document, "format": 2}
    yield "answer", {**document, "answer": "table"}
    yield "more", {**document, "rows_in_data": 120}
    yield "missing", {name: value for name, value in document.items() if name != "spent"}
    yield "float", {**document, "measured": [{**first, "values": [1.5] * len(first["values"])}]}
    yield "short", {**document, "measured": [{**first, "values": first["values"][:-1]}]}
    yield "law", {**document, "measured": [{**first, "law": "none"}]}
    yield "scale", {**document, "measured": [{**first, "scale": "0"}]}
    yield "column", {**document, "measured": [{**first, "marginal": [9]}]}
    yield "cell", {**document, "measured": [{**first, "cell": 99, "values": [1]}]}
    yield "rows", {**document, "rows": [[0, 0, 7]]}
    yield "true", {**document, "pure": 0}


def test_anything_else_is_refused(stored):
    for name, document in spoiled(json.loads(stored)):
        data = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
        with pytest.raises(WrongKind):
            read(data)
        assert name
    for data in (b"", b"{}", b"[]", b"\xff", stored + b" ", stored.replace(b",", b", ", 1)):
        with pytest.raises(WrongKind):
            read(data)


def test_no_true_count_is_stored(session, stored):
    """The number of rows in the evidence is that of noisy counts."""
    totals = {sum(m["values"]) for m in json.loads(stored)["measured"]}
    assert totals != {120}


@pytest.mark.parametrize("bins", [1, 3, 40, 20_000])
def test_the_last_days_of_the_calendar_have_periods(bins):
    edges = periods(date(1, 1, 1), date.max, bins)
    assert (edges[0], edges[-1]) == (date(1, 1, 1), date.max)
    assert list(edges) == sorted(set(edges))
    assert len(edges) - 1 <= bins + 1


def test_whole_numbers_of_any_size_come_back():
    policy = POLICY_OF_EVERYTHING
    table = pa.table({"id": range(50), "x": pa.array([-(2**63), 2**63 - 1] * 25, pa.int64())})
    with dp.open({"t": table}, policy=policy, test_mode=True) as session:
        for bins in (1, 4):
            plan = dp.plan_synthesis(
                session, "t", method=S.Independent(), epsilon=9, delta="1e-9", bins=bins, size=50
            )
            made = dp.synthesize(session, plan, confirm=True).table(rows=200)["x"].to_pylist()
            assert any(x < -(2**61) for x in made)
            assert any(x > 2**61 for x in made)


POLICY_OF_EVERYTHING = """
format = 1
unit = "id"
[limits]
max_rows = 1
max_groups = 1
[tables.t.columns]
id = { type = "integer" }
x = { type = "integer", low = -9223372036854775808, high = 9223372036854775807, nullable = false }
"""
