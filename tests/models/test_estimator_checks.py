"""scikit-learn's own checks of estimators, with a real ledger."""

import warnings
from functools import partial

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

import discreet as dp

models = dp.models

PRICE = {"rho": 10**9, "ledger": None}
WIDE = {**PRICE, "bounds": (-10, 10)}
THREE = {**WIDE, "classes": (0, 1, 2)}

MODELS = [
    models.LinearRegression(**WIDE, target_bounds=(-1000, 1000)),
    models.Ridge(**WIDE, target_bounds=(-1000, 1000)),
    models.PoissonRegression(**WIDE, target_bounds=(0, 1000)),
    models.LogisticRegression(**WIDE, classes=(0, 1), steps=8),
    models.SoftmaxRegression(**THREE, steps=8),
    models.GaussianNB(**THREE),
    models.CategoricalNB(**PRICE, categories=3, classes=(0, 1, 2)),
    models.KMeans(3, **WIDE),
    models.PCA(1, **WIDE),
]


EMPTY = "an empty table is a table: to refuse it would tell that nobody is in it"
MISSING = "a row with a missing label is left out without a word about it"
DECLARED = "classes are declared: labels that are none of them are left out without a word"
FRESH = "every fit draws noise of its own, so that no two of them agree to the last digit"
CELLS = "a cell that is no number leaves its row out without a word about it"
CONTRADICTED = {
    "check_dtype_object": CELLS,
    "check_estimators_empty_data_messages": EMPTY,
    "check_supervised_y_no_nan": MISSING,
    "check_classifiers_classes": DECLARED,
    "check_classifiers_regression_target": DECLARED,
    "check_classifier_not_supporting_multiclass": DECLARED,
    "check_classifiers_one_label": DECLARED,
    "check_fit_idempotent": FRESH,
    "check_regressor_data_not_an_array": FRESH,
    "check_classifier_data_not_an_array": FRESH,
    "check_transformer_data_not_an_array": FRESH,
    "check_transformer_general": FRESH,
    "check_regressors_int": FRESH,
    "check_supervised_y_2d": FRESH,
}
"""Checks that contradict a promise, each with its reason."""
THREE_CLASSES = {
    "check_classifiers_train": "it has two classes, and three are declared",
    "check_decision_proba_consistency": "it has two classes, and three are declared",
}


def contradicted(model, name):
    """Whether a check asks for something that is promised not to happen."""
    return name in CONTRADICTED or (
        name in THREE_CLASSES and len(model.get_params().get("classes") or ()) == 3
    )


def all_checks():
    """Each check of each model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # models do not inherit from scikit-learn's base class
        for model in MODELS:
            for estimator, check in estimator_checks_generator(model):
                name = check.func.__name__ if isinstance(check, partial) else check.__name__
                if contradicted(model, name):
                    continue
                yield pytest.param(estimator, check, id=f"{type(model).__name__}-{name}")


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    """One ledger pays for all fits."""
    place = tmp_path_factory.mktemp("checks") / "checks.ledger"
    dp.ledger.Ledger.open(place, unit=dp.row(), budget=dp.Budget(rho=10**15)).close()
    return str(place)


@pytest.mark.parametrize(("estimator", "check"), list(all_checks()))
@pytest.mark.filterwarnings("ignore")
def test_estimator(estimator, check, ledger):
    """Every check passes but those that contradict a promise."""
    check(estimator.set_params(ledger=ledger))
