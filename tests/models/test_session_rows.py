"""Models of a session's table: bounds from the policy, one price, and units that break limits."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import BadArrays, MissingBounds, OutOfRange, WrongKind
from discreet.models.row_sums import moments
from discreet.models.session_rows import rows_of
from discreet.models.tuning import TunedDraw
from discreet.requests.raw_totals import RawTotals
from discreet.session import Rehearsal

POLICY = """
format = 1
unit = "patient"
[limits]
max_groups = 2
max_rows = 3
[tables.visits.columns.ward]
type = "text"
categories = ["A", "B"]
[tables.visits.columns.age]
type = "integer"
low = 0
high = 99
[tables.visits.columns.ill]
type = "boolean"
nullable = false
"""


def visits(patients=2000, extra=()):
    """A table in which age and ward tell who is ill."""
    rows = [
        (who, "AB"[who % 2], 7 * who % 100, (7 * who % 100) + 20 * (who % 2) > 60)
        for who in range(patients)
    ]
    rows.extend(extra)
    names, kinds = (
        ("patient", "ward", "age", "ill"),
        (pa.int64(), pa.string(), pa.int64(), pa.bool_()),
    )
    columns = zip(*rows, strict=True)
    return pa.table({n: pa.array(c, k) for n, c, k in zip(names, columns, kinds, strict=True)})


def opened(folder=None, table=None):
    """A session of the clinic: with a ledger in a folder, or in test mode."""
    place = {"test_mode": True} if folder is None else {"ledger": folder / "clinic.ledger"}
    more = {} if folder is None else {"budget": dp.Budget(epsilon=3, delta="1e-4")}
    return dp.open({"visits": table or visits()}, policy=POLICY, **place, **more)


def test_a_model_of_a_session(tmp_path):
    with opened(tmp_path) as clinic:
        model = dp.models.LogisticRegression(epsilon=2, delta="1e-6")
        plan = model.plan(clinic.table("visits"), label="ill")
        assert plan.schedule.rows == 6
        assert plan.encoding.classes == (False, True)
        before = clinic.ledger.receipt
        model.fit(clinic.table("visits"), label="ill")
        assert clinic.ledger.receipt != before
        asked = {"ward": ["A", "B", "A"], "age": [95, 5, 5]}
        assert model.predict(pa.table(asked)).tolist() == [True, False, False]
        with pytest.raises(BadArrays, match="ward holds no text"):
            model.predict(pa.table(asked | {"ward": [1, 2, 1]}))
        first = model.coef_.copy()
        after = clinic.ledger.receipt
        again = dp.models.LogisticRegression(epsilon=2, delta="1e-6")
        again.fit(clinic.table("visits"), label="ill")
        assert (again.coef_ == first).all()
        assert clinic.ledger.receipt == after


def test_all_models_fit_tables():
    with opened() as clinic:
        visits_of = clinic.table("visits")
        price = {"rho": 5}
        model = dp.models.LogisticRegression(**price).fit(visits_of, label="ill")
        bayes = dp.models.GaussianNB(**price).fit(visits_of, label="ill", columns=["age"])
        wards = dp.models.CategoricalNB(**price).fit(visits_of, label="ill", columns=["ward"])
        line = dp.models.Ridge(**price).fit(visits_of, label="age")
        parts = dp.models.PCA(1, **price).fit(visits_of, columns=["age"])
        assert model.score(pa.table({"ward": ["A"], "age": [90]}), [True]) == 1
        assert bayes.classes_.tolist() == wards.classes_.tolist() == [False, True]
        assert line.coef_.shape == (4,)
        assert parts.components_.shape == (1, 1)
        older = clinic.table("visits").where("age >= 50")
        assert dp.models.GaussianNB(**price).fit(older, label="ill", columns=["age"])


def test_what_is_refused():
    table = visits().append_column("note", pa.array(["x"] * 2000))
    with opened(table=table) as clinic:
        rows = clinic.table("visits")
        model = dp.models.LogisticRegression(rho=1)
        with pytest.raises(MissingBounds, match="note"):
            model.fit(rows, label="ill")
        with pytest.raises(WrongKind, match="label"):
            model.fit(rows)
        with pytest.raises(WrongKind, match="categories"):
            model.fit(rows, label="age", columns=["ward"])
        with pytest.raises(WrongKind, match="no rows"):
            model.fit(rows.count(name="n"), label="ill")


@pytest.mark.theorem("session-rows")
def test_a_unit_beyond_all_limits_moves_sums_by_no_more_than_is_priced():
    """Somebody with hundreds of rows, in and out of all bounds, is added."""
    greedy = [(9999, "A", 10**6 + k % 7, True) for k in range(400)]
    greedy += [(9999, "C", -(10**6), False), (9999, None, None, True)]
    sums = []
    for extra in ((), greedy):
        with opened(table=visits(50, extra)) as clinic:
            model = dp.models.Ridge(rho=1)
            plan = model.plan(clinic.table("visits"), label="age")
            (request,) = plan.program.reads
            raw = clinic._engine.run(request, order=clinic._pipeline.order())
            sums.append(moments(rows_of(raw, plan.encoding)).values)
    moved = sums[1] - sums[0]
    (planned,) = plan.schedule.sums
    assert 0 < (moved.astype(object) ** 2).sum() <= plan.schedule.rows**2 * planned.squared


def test_a_wrong_inference_costs_accuracy_alone():
    """Planted: an engine that returns values beyond bounds, and categories that are none."""
    with opened() as clinic:
        plan = dp.models.Ridge(rho=1).plan(clinic.table("visits"), label="age")
    raw = RawTotals(
        keys=(
            pa.array(["A", "Z", None, "B"]),
            pa.array([True, True, False, None]),
            pa.array([10**9, 5, None, -3]),
        ),
        units=np.ones(4, np.int64),
        totals={"rows": np.array([1, 1, 1, 1])},
        leaves={},
    )
    rows = rows_of(raw, plan.encoding)
    assert len(rows.cells) == 1
    assert (rows.cells**2).sum() <= plan.encoding.squared


def test_a_plan_for_fewer_rows_than_the_request_has_is_refused():
    with opened() as clinic:
        plan = dp.models.Ridge(rho=1).plan(clinic.table("visits"), label="age")
        draw = plan.program.draw
        forged = replace(draw, noise=replace(draw.noise, rows=1))
        with pytest.raises(OutOfRange, match="other bounds"):
            forged.charged(plan.program.reads, clinic.unit)
        with pytest.raises(WrongKind):
            clinic.perform(replace(plan.program, unit=dp.row()))


def test_accuracy_is_bought_from_the_same_session(tmp_path):
    with opened(tmp_path) as clinic:
        visits_of = clinic.table("visits")
        model = dp.models.LogisticRegression(epsilon=1, delta="1e-6")
        model.fit(visits_of, label="ill")
        before = clinic.ledger.receipt
        price = {"label": "ill", "epsilon": "0.5", "confidence": "0.999999999"}
        bought = dp.models.evaluate(model, visits_of, **price)
        assert clinic.ledger.receipt != before
        asked = visits()
        truth = np.array(asked.column("ill").to_pylist())
        right = int((model.predict(asked) == truth).sum())
        low, high = bought.interval
        assert low <= right / 2000 <= high
        assert high - low < 0.5
        after = clinic.ledger.receipt
        assert dp.models.evaluate(model, visits_of, **price) == bought
        assert clinic.ledger.receipt == after


def test_a_model_of_other_declarations_is_not_evaluated(tmp_path):
    model = dp.models.GaussianNB(
        rho=1, bounds=(0, 50), classes=(False, True), ledger=Rehearsal()
    ).fit(np.zeros((4, 1)), np.array([True, False, True, False]))
    with opened(tmp_path) as clinic:
        before = clinic.ledger.receipt
        with pytest.raises(WrongKind, match="other bounds"):
            dp.models.evaluate(
                model, clinic.table("visits"), label="ill", columns=["age"], epsilon=1
            )
        assert clinic.ledger.receipt == before


def test_tuning_in_a_session_is_charged_once_and_comes_back_for_free(tmp_path):
    with opened(tmp_path) as clinic:
        visits_of = clinic.table("visits")
        candidates = [
            dp.models.LogisticRegression(rho="0.05", steps=16),
            dp.models.GaussianNB(rho="0.05"),
        ]
        price = {"delta": "1e-6", "score_rho": "0.01", "mean": 3}
        columns = {"label": "ill", "columns": ["age"]}
        found = dp.models.tune(candidates, visits_of, **columns, **price)
        after = clinic.ledger.receipt
        again = dp.models.tune(candidates, visits_of, **columns, **price)
        assert (again.candidate, again.right) == (found.candidate, found.right)
        assert clinic.ledger.receipt == after
        assert found.model.predict(pa.table({"age": [99]})).tolist() == [True]
        assert clinic.ledger.verify()


def test_a_candidate_that_is_planned_for_fewer_rows_is_refused():
    with opened() as clinic:
        model = dp.models.GaussianNB(rho="0.05")
        plan = model.plan(clinic.table("visits"), label="ill", columns=["age"])
        forged = replace(plan, schedule=replace(plan.schedule, rows=1))
        draw = TunedDraw.of([model], [forged], (Fraction(1, 100), Fraction(1, 10**6), 3))
        with pytest.raises(OutOfRange, match="other bounds"):
            draw.charged(plan.program.reads, clinic.unit)


@pytest.mark.parametrize("ignored", [{"y": [True]}, {"ledger": "other.ledger"}])
def test_what_a_table_leaves_no_use_for_is_refused(ignored):
    """The label is a column, and the session's ledger pays: nothing else is taken in silence."""
    with opened() as clinic:
        table = clinic.table("visits")
        model = dp.models.LogisticRegression(rho=1).fit(table, label="ill")
        with pytest.raises(WrongKind, match="beside a table"):
            dp.models.evaluate(model, table, label="ill", rho=1, **ignored)
        with pytest.raises(WrongKind, match="beside a table"):
            dp.models.tune([model], table, label="ill", delta="1e-6", score_rho="0.1", **ignored)
    with pytest.raises(WrongKind, match="beside a table"):
        model.fit(table, [True], label="ill")


def test_what_arrays_leave_no_use_for_is_refused():
    price = {"rho": 1, "bounds": (0, 1), "classes": (0, 1), "ledger": Rehearsal()}
    model = dp.models.LogisticRegression(**price)
    x, y = np.zeros((4, 1)), np.zeros(4, int)
    with pytest.raises(WrongKind, match="beside arrays"):
        model.fit(x, y, label="ill")
    model.fit(x, y)
    with pytest.raises(WrongKind, match="beside arrays"):
        dp.models.evaluate(model, x, y, rho=1, ledger=Rehearsal(), columns=["age"])
    with pytest.raises(WrongKind, match="beside arrays"):
        dp.models.tune([model], x, y, delta="1e-6", score_rho=1, ledger=Rehearsal(), label="ill")
