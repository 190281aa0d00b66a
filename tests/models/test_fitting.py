"""Fits of arrays: what they cost, what they keep, and what is refused before anything is spent."""

import pickle
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import discreet as dp
from discreet.errors import (
    BadArrays,
    DiscreetError,
    EngineFailed,
    OverBudget,
    WrongKind,
)
from discreet.ledger import Ledger
from discreet.models.bounded_rows import NumberColumn
from discreet.models.given import labels_of
from discreet.release.serialization import recorded_question
from discreet.session import Rehearsal

models = dp.models
DRAW = np.random.default_rng(7)
X = DRAW.normal(size=(3000, 3)).clip(-3, 3)
SCORE = X @ [1.5, -1, 0.5] + 0.3 * DRAW.normal(size=3000)
Y = np.where(SCORE > 0, "ill", "well")
PRICE = {"epsilon": 1, "delta": "1e-6", "bounds": (-3, 3)}
CLASSIFIERS = [
    models.LogisticRegression(**PRICE, classes=("well", "ill")),
    models.SoftmaxRegression(**PRICE, classes=("well", "ill")),
    models.GaussianNB(**PRICE, classes=("well", "ill")),
]


@pytest.fixture
def ledger(tmp_path):
    """A ledger with room for two fits."""
    budget = dp.Budget(epsilon=2, delta="1e-4")
    with Ledger.open(tmp_path / "study.ledger", unit=dp.row(), budget=budget) as found:
        yield found


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_classifiers_learn(model):
    fitted = model.set_params(ledger=Rehearsal()).fit(X, Y)
    assert fitted.score(X, Y) > 0.75
    assert np.allclose(fitted.predict_proba(X).sum(axis=1), 1)


def test_categories_are_counted():
    codes = (X > 0).astype(int)
    model = models.CategoricalNB(
        epsilon=1, categories=2, classes=("well", "ill"), ledger=Rehearsal()
    ).fit(codes, Y)
    assert model.score(codes, Y) > 0.75
    truth = np.array([(Y == "well").sum(), (Y == "ill").sum()])
    assert np.abs(model.class_count_ - truth).max() < model.count_half_width("0.999999999")


def test_regression_and_components():
    y = np.clip(X @ [0.5, -0.2, 0.0] + 1, -4, 4)
    for kind in (models.LinearRegression, models.Ridge):
        model = kind(**PRICE, target_bounds=(-4, 4), ledger=Rehearsal()).fit(X, y)
        assert np.abs(model.coef_ - [0.5, -0.2, 0.0]).max() < 0.25
        assert abs(model.intercept_ - 1) < 0.25
        assert model.score(X, y) > 0.5
    turned = X * [1, 0.2, 0.1]
    parts = models.PCA(1, **PRICE, ledger=Rehearsal()).fit(turned)
    assert abs(parts.components_[0, 0]) > 0.9
    assert parts.inverse_transform(parts.transform(turned)).shape == turned.shape


def test_clusters_have_sizes_with_intervals():
    points = np.vstack([DRAW.normal(c, 0.05, (800, 2)) for c in ((0.2, 0.2), (0.8, 0.8))])
    model = models.KMeans(2, epsilon=1, delta="1e-6", bounds=(0, 1), ledger=Rehearsal()).fit(points)
    assert np.abs(np.sort(model.cluster_sizes_) - 800).max() < model.size_half_width("0.999999999")
    assert np.abs(np.sort(model.cluster_centers_[:, 0]) - [0.2, 0.8]).max() < 0.1


def test_each_fit_of_arrays_is_paid_for(ledger):
    model = models.GaussianNB(**PRICE, classes=("well", "ill"), ledger=ledger)
    plan = model.plan(X)
    assert plan.price.epsilon <= 1
    assert "epsilon 1" in str(plan)
    heads = [ledger.receipt]
    with pytest.raises(OverBudget):  # noqa: PT012  it may be any of these fits
        for _ in range(20):
            model.fit(X, Y)
            heads.append(ledger.receipt)
    assert 3 <= len({str(head) for head in heads}) == len(heads) <= 12
    assert ledger.verify()


def test_every_fold_and_every_candidate_of_a_search_is_paid_for(tmp_path):
    """As was said before: as many times the price of a plan as there are fits."""
    budget = dp.Budget(rho=1)
    model = models.LogisticRegression(rho="0.01", bounds=(-3, 3), classes=("well", "ill"))
    steps = make_pipeline(FunctionTransformer(), model)
    search = GridSearchCV(steps, {"logisticregression__steps": [4, 8]}, cv=2, error_score="raise")
    with Ledger.open(tmp_path / "a.ledger", unit=dp.row(), budget=budget) as ledger:
        assert model.set_params(ledger=ledger).plan(X).price.rho == Fraction(1, 100)
        assert min(cross_val_score(steps, X, Y, cv=3, error_score="raise")) > 0.75
        assert ledger.left().loss.rho == 1 - Fraction(3, 100)
        search.fit(X, Y)  # two candidates, two folds, and the best one again
        assert ledger.left().loss.rho == 1 - Fraction(8, 100)


def test_a_fit_with_a_key_is_paid_for_once(ledger):
    model = models.GaussianNB(**PRICE, classes=("well", "ill"), ledger=ledger, key="first")
    first = model.fit(X, Y).theta_
    for _ in range(3):
        assert (model.fit(X[:5], Y[:5]).theta_ == first).all()


def test_plans_do_not_look_at_values():
    model = models.GaussianNB(**PRICE, classes=("well", "ill"))
    assert model.plan(X).digest == model.plan(X[:1]).digest == model.plan(3).digest


@pytest.mark.parametrize(
    ("params", "data"),
    [
        ({"bounds": None}, (X, Y)),
        ({"bounds": (3, -3)}, (X, Y)),
        ({"bounds": ([0, 0], 1)}, (X, Y)),
        ({"classes": None}, (X, Y)),
        ({"classes": ("ill",)}, (X, Y)),
        ({"epsilon": None}, (X, Y)),
        ({"rho": 1}, (X, Y)),
        ({"epsilon": -1}, (X, Y)),
        ({"delta": 2}, (X, Y)),
        ({"steps": 0}, (X, Y)),
        ({"learning_rate": 0}, (X, Y)),
        ({"clip": 2}, (X, Y)),
        ({}, (X, Y[:-1])),
        ({}, (X, None)),
        ({}, (X[:, 0], Y)),
        ({}, (X.astype(complex), Y)),
        ({"key": 7}, (X, Y)),
    ],
)
def test_mistakes_are_refused_before_anything_is_spent(ledger, params, data):
    model = models.LogisticRegression(**PRICE, classes=("well", "ill"), ledger=ledger)
    before = ledger.receipt
    with pytest.raises(DiscreetError):
        model.set_params(**params).fit(*data)
    assert ledger.receipt == before


def test_a_ledger_is_needed_and_rows_must_be_its_unit(tmp_path):
    model = models.GaussianNB(**PRICE, classes=("well", "ill"))
    with pytest.raises(WrongKind, match="`ledger` must"):
        model.fit(X, Y)
    place = tmp_path / "people.ledger"
    Ledger.open(place, unit=dp.person("patient"), budget=dp.Budget(rho=1)).close()
    with pytest.raises(WrongKind, match="whose rows"):
        model.set_params(ledger=str(place)).fit(X, Y)


@pytest.mark.parametrize("planted", [np.nan, np.inf, -np.inf, 1e300])
def test_no_value_is_told_of(planted, ledger):
    model = models.GaussianNB(**PRICE, classes=("well", "ill"), ledger=ledger)
    odd = X.copy()
    odd[0, 0] = planted
    labels = Y.astype(object)
    labels[1] = None
    shown = repr(model.fit(odd, labels)) + str(model.plan_) + repr(model.plan_)
    assert not re.search(r"3000|2999|2998", shown)


def test_a_failure_after_the_charge_says_nothing(ledger, monkeypatch):
    model = models.GaussianNB(**PRICE, classes=("well", "ill"), ledger=ledger)

    def broken(*_):
        raise RuntimeError("patient 17")

    monkeypatch.setattr("discreet.models.naive_bayes.table", broken)
    with pytest.raises(EngineFailed) as caught:
        model.fit(X, Y)
    assert "17" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_stored_models_leave_their_ledger_behind():
    model = models.GaussianNB(**PRICE, classes=("well", "ill"), ledger=Rehearsal()).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301  our own
    assert again.ledger is None
    assert (again.predict(X) == model.predict(X)).all()


def test_evaluations_cover_the_truth(ledger):
    model = models.LogisticRegression(**PRICE, classes=("well", "ill"), ledger=Rehearsal()).fit(
        X, Y
    )
    bought = models.evaluate(model, X, Y, epsilon="0.5", ledger=ledger, confidence="0.999999999")
    low, high = bought.interval
    assert low <= model.score(X, Y) <= high
    assert high - low < 0.1
    assert 0 < bought.accuracy < 1
    with pytest.raises(BadArrays):
        models.evaluate(model, X, Y[:5], epsilon="0.5", ledger=ledger)


@pytest.mark.parametrize(
    "cell", ["HIV+ since 2019", 10**400, None, {"a": 1}], ids=["text", "huge", "none", "object"]
)
@pytest.mark.parametrize("form", ["array", "list"])
def test_cells_that_are_no_numbers_leave_their_row_out_after_the_charge(ledger, cell, form):
    cells = X[:50].astype(object)
    cells[7, 1] = cell
    given = cells if form == "array" else cells.tolist()
    model = models.KMeans(2, epsilon="0.5", bounds=(-3, 3), ledger=ledger)
    assert model.plan(given).digest == model.plan(X).digest
    model.fit(given)
    target = X[:50, 0].astype(object)
    target[3] = cell
    line = models.LinearRegression(
        rho="0.001", bounds=(-3, 3), target_bounds=(-3, 3), ledger=ledger
    )
    line.fit(X[:50], target if form == "array" else target.tolist())


def test_arrays_of_text_are_refused_by_their_type_alone(ledger):
    model = models.KMeans(2, epsilon=1, bounds=(-3, 3), ledger=ledger)
    for text in (np.array([["1", "2"]]), np.array([["HIV+", "2"]])):
        with pytest.raises(BadArrays, match="something else than numbers"):
            model.fit(text)


@pytest.mark.parametrize("method", ["codes", "_best", "check_width"])
def test_a_model_whose_methods_were_replaced_is_not_evaluated(ledger, method):
    model = models.GaussianNB(**PRICE, classes=("well", "ill"), ledger=ledger).fit(X, Y)
    before = ledger.receipt
    setattr(model, method, lambda cells: np.full(len(cells), int((cells == 123).any())))
    with pytest.raises(WrongKind, match=f"method '{method}' of this GaussianNB was replaced"):
        models.evaluate(model, X, Y, epsilon=1, ledger=ledger)
    assert ledger.receipt == before


def test_a_label_that_is_missing_is_missing_alone():
    """Integers turned into floats where one was NULL, and large ones were no class any more."""
    large = 2**53 + 1
    labels = pa.array([7, large] * 50)
    missing = pa.array([None, *labels.to_pylist()[1:]])
    for given in (labels, pa.chunked_array([labels])):
        assert labels_of(given, 100, "classifier").tolist() == labels.to_pylist()
    assert labels_of(missing, 100, "classifier").tolist() == missing.to_pylist()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("huge", [1e306, -1e308, np.inf, np.nan, np.longdouble("1e400")])
def test_no_warning_tells_of_one_value(huge):
    column = NumberColumn(Fraction(18), Fraction(90))
    values = np.array([20.0, huge], type(huge) if isinstance(huge, np.longdouble) else float)
    assert column.cells(values)[0, 0] == column.cells(np.array([20.0]))[0, 0]


FRAMES = {
    "pandas": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "polars": pl.DataFrame,
    "arrow": pa.table,
}


@pytest.mark.parametrize("frame", FRAMES)
def test_a_column_of_text_is_named_before_anything_is_spent(ledger, frame):
    """Its type is public; each of its rows would be left out after the charge."""
    numbers = {"age": X[:, 0], "weight": X[:, 1]}
    model = models.LogisticRegression(**PRICE, classes=("well", "ill"), ledger=ledger)
    before = ledger.receipt
    with pytest.raises(BadArrays, match="the column 'ward' holds text"):
        model.fit(FRAMES[frame](numbers | {"ward": ["A"] * len(X)}), Y)
    assert ledger.receipt == before
    assert model.fit(FRAMES[frame](numbers), Y).coef_.shape == (1, 2)


@pytest.mark.parametrize(("rho", "most"), [(1, 1.3), (1000, 1.15)])
@pytest.mark.parametrize("columns", [2, 6])
def test_clusters_are_found_wherever_they_are(columns, rho, most):
    """From a start that knows nothing of the rows, centers stayed where no rows are."""
    draw = np.random.default_rng(columns)
    truth = draw.uniform(-0.3, 0.3, (5, columns)) + 0.5
    rows = np.clip(
        truth[draw.integers(0, 5, 6000)] + 0.03 * draw.normal(size=(6000, columns)), 0, 1
    )
    model = models.KMeans(5, rho=rho, bounds=(0, 1), ledger=Rehearsal()).fit(rows)

    def spread(centers):
        return ((rows[:, None] - centers) ** 2).sum(axis=2).min(axis=1).mean()

    assert spread(model.cluster_centers_) < most * spread(truth)
    assert (model.predict(rows) == model.transform(rows).argmin(axis=1)).mean() > 0.999


def test_the_ledger_lists_what_was_measured(ledger):
    models.LogisticRegression(**PRICE, classes=("well", "ill"), ledger=ledger).fit(X, Y)
    keys = [entry["key"] for entry in ledger.entries() if entry["kind"] == "charge"]
    (found,) = ledger.answers_of(keys)
    assert recorded_question(found.answer) == "model: gradient"
