"""Two models that answer differently have different digests, and so have their scores on record."""

import inspect
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet import models
from discreet.errors import WrongKind
from discreet.models.estimator import PrivateModel
from discreet.models.fitting import drawn_bytes
from discreet.models.tuning import CLASSIFIERS, ScoreRecipe, TunedDraw
from discreet.noise import KeyedEntropy
from discreet.session import Rehearsal
from discreet.units import row
from tests.models.test_session_rows import opened

KINDS = [
    kind
    for kind in (getattr(models, name) for name in models.__all__)
    if isinstance(kind, type) and issubclass(kind, PrivateModel)
]
WIDTH = 3
DRAW = np.random.default_rng(5)
CODES = DRAW.integers(0, 3, (300, WIDTH))
LABELS = (CODES[:, 0] + DRAW.integers(0, 2, 300)) % 2

BASE = {"rho": "0.5", "bounds": (0, 2), "classes": (0, 1), "target_bounds": (0, 1), "categories": 3}
PAID = {"rho": None, "epsilon": 1, "delta": "1e-5"}
CHANGES = {
    "epsilon": (PAID, PAID | {"epsilon": 2}),
    "delta": (PAID, PAID | {"delta": "1e-6"}),
    "rho": ({}, {"rho": "0.6"}),
    "ledger": ({}, {"ledger": Rehearsal()}),
    "key": ({}, {"key": "a name"}),
    "bounds": ({}, {"bounds": (0, 4)}),
    "classes": ({}, {"classes": (1, 0)}),
    "target_bounds": ({}, {"target_bounds": (0, 2)}),
    "categories": ({}, {"categories": 4}),
    "alpha": ({}, {"alpha": "1e9"}),
    "n_components": ({}, {"n_components": 2}),
    "n_estimators": ({}, {"n_estimators": 4}),
    "max_depth": ({}, {"max_depth": 2}),
    "random_state": ({}, {"random_state": 1}),
    "n_clusters": ({}, {"n_clusters": 3}),
    "rounds": ({}, {"rounds": 2}),
    "steps": ({}, {"steps": 5}),
    "learning_rate": ({}, {"learning_rate": "0.5"}),
    "penalty": ({}, {"penalty": "0.5"}),
    "clip": ({}, {"clip": "0.75"}),
}
"""Two settings for each parameter that a model may have; a new parameter needs a line here."""
NOTHING = {"ledger", "key"}
"""Parameters that change neither what is fitted nor what is predicted."""


def parameters(kind):
    return [name for name in inspect.signature(kind.__init__).parameters if name != "self"]


CASES = [(kind, name) for kind in KINDS for name in parameters(kind)]


def fitted(kind, changes):
    """A model, fitted with noise that depends on its release alone."""
    given = {n: v for n, v in (BASE | changes).items() if n in parameters(kind)}
    model = kind(**given)
    plan = model.plan_for(WIDTH, row())
    values = CODES if kind is models.CategoricalNB else CODES.astype(float)
    rows = plan.encoding.rows(values, LABELS)
    entropy = KeyedEntropy(key=bytes(32), label="one noise for all")
    stored = drawn_bytes(plan.recipe, plan.encoding, plan.schedule, rows, entropy)
    model.take(plan, stored)
    return model, plan, stored


def learned(model):
    """All that a fitted model is made of, but for its plan and its digest."""
    own = set(parameters(type(model))) | {"plan_", "digest_"}
    return {name: repr(value) for name, value in vars(model).items() if name not in own}


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_every_parameter_is_in_the_digest_or_changes_nothing(kind, name):
    (one, _, _), (other, _, _) = (fitted(kind, changes) for changes in CHANGES[name])
    if name in NOTHING:
        assert learned(one) == learned(other)
        assert one.digest_ == other.digest_
    else:
        assert learned(one) != learned(other)  # otherwise these settings show nothing
        assert one.digest_ != other.digest_


@pytest.mark.parametrize(("kind", "name"), [c for c in CASES if c[0] in CLASSIFIERS])
def test_every_parameter_is_in_the_digest_of_a_score_and_of_tuning(kind, name):
    pairs = [fitted(kind, changes) for changes in CHANGES[name]]
    promise = Fraction(1, 100), Fraction(1, 10**6), Fraction(3)
    scores = [ScoreRecipe(model).document() for model, _, _ in pairs]
    tuned = [TunedDraw.of([model], [plan], promise).document() for model, plan, _ in pairs]
    assert (scores[0] == scores[1]) is (name in NOTHING)
    assert (tuned[0] == tuned[1]) is (name in NOTHING)


SAME = [
    (models.CategoricalNB, "alpha", (1, "1", 1.0, "1.00", Fraction(1))),
    (models.CategoricalNB, "alpha", (2, "2", 2.0)),
    (models.Ridge, "alpha", (1, "1", 1.0)),
    (models.PCA, "n_components", (None, 3)),
]


@pytest.mark.parametrize(("kind", "name", "spellings"), SAME)
def test_one_number_has_one_digest_however_it_is_written(kind, name, spellings):
    assert len({fitted(kind, {name: value})[0].digest_ for value in spellings}) == 1


def test_another_alpha_is_another_model_of_the_same_release():
    """What is added to noisy counts is chosen afterward, so it costs nothing to change it."""
    one, other = (fitted(models.CategoricalNB, {"alpha": alpha}) for alpha in (1, 5))
    assert one[1].digest == other[1].digest
    assert one[2] == other[2]
    assert one[0].digest_ != other[0].digest_


def test_a_score_of_another_model_is_not_replayed():
    with opened() as clinic:
        visits = clinic.table("visits")
        given = {"label": "ill", "columns": ["ward"]}
        kinds = [dp.models.CategoricalNB(rho=50, alpha=alpha) for alpha in (1, "1e9")]
        usual, flat = (model.fit(visits, **given) for model in kinds)
        asked = pa.table({"ward": ["A", "B"]})
        assert usual.predict(asked).tolist() != flat.predict(asked).tolist()
        scores = [dp.models.evaluate(m, visits, label="ill", rho=50) for m in (usual, flat)]
        assert abs(scores[0].right - scores[1].right) > 100
        again = dp.models.evaluate(usual, visits, label="ill", rho=50)
        assert again == scores[0]


def test_tuning_of_other_candidates_is_not_replayed():
    price = {"delta": "1e-6", "score_rho": 1, "label": "ill", "columns": ["ward"]}

    def found(visits, *alphas, mean=3):
        candidates = [dp.models.CategoricalNB(rho=1, alpha=alpha) for alpha in alphas]
        return dp.models.tune(candidates, visits, mean=mean, **price)

    with opened() as clinic:
        visits = clinic.table("visits")
        first = found(visits, 1, 2)
        assert found(visits, "1e9", "2e9").right != first.right
        spelled = [found(visits, 1.0, "2", mean=mean) for mean in ("3.0", 3.0, Fraction(3))]
        for again in spelled:
            assert again.right == first.right
            assert again.model.digest_ == first.model.digest_


def test_a_foreign_candidate_is_refused():
    class Looking(dp.models.GaussianNB):
        def codes(self, cells):
            return np.full(len(cells), int(cells.sum() > 0))

    with opened() as clinic, pytest.raises(WrongKind):
        dp.models.tune(
            [Looking(rho="0.1")],
            clinic.table("visits"),
            label="ill",
            columns=["age"],
            delta="1e-6",
            score_rho="0.01",
        )
