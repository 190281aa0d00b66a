"""Poisson regression finds slopes, keeps residuals bounded, and covers what it is asked."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import OutOfRange, WrongKind
from discreet.models import PoissonRegression
from discreet.session import Rehearsal
from tests.models.test_session_rows import opened


def counts_of(people, seed=4):
    draw = np.random.default_rng(seed)
    x = draw.uniform(-1, 1, (people, 3))
    return x, draw.poisson(np.exp(0.7 + x @ [1.0, -0.5, 0.0]))


def fitted(x, y, **more):
    usual = {"bounds": (-1, 1), "target_bounds": (0, 30), "ledger": Rehearsal()}
    return PoissonRegression(**usual | more).fit(x, y)


def test_slopes_are_those_of_the_law_where_there_is_little_noise():
    x, y = counts_of(20_000)
    model = fitted(x, y, rho=1000)
    assert np.allclose(model.coef_, [1.0, -0.5, 0.0], atol=0.05)
    assert abs(model.intercept_ - 0.7) < 0.05
    assert abs(model.size_ - 20_000) < 50


def test_other_units_of_columns_are_other_units_of_slopes():
    x, y = counts_of(5000)
    model = fitted(10 * x + 3, y, rho=10**6, bounds=(-7, 13), steps=40)
    plain = fitted(x, y, rho=10**6, steps=40)
    assert np.allclose(model.coef_, plain.coef_ / 10, atol=1e-3)
    assert np.allclose(model.predict(10 * x + 3), plain.predict(x), rtol=0.01)


def test_predictions_stay_within_the_declared_bounds_of_the_target():
    x, y = counts_of(4000)
    model = fitted(x, y, rho=10, target_bounds=(1, 3))
    assert set(np.clip(model.predict(100 * x), 1, 3) - model.predict(100 * x)) == {0.0}


@pytest.mark.theorem("integer-rows")
@pytest.mark.parametrize("target", [-(10.0**300), 0.0, 7.5, 10.0**300, np.nan, np.inf])
def test_one_row_moves_each_gradient_by_no_more_than_is_planned(target, monkeypatch):
    """Sums without noise, at the same weights, of neighbors that differ in an extreme row."""
    x, y = counts_of(40)
    seen = []

    def without_noise(self, name, total):
        seen[-1].append((name, total))
        return np.zeros(total.values.size, np.int64)  # so that neighbors take the same way

    monkeypatch.setattr("discreet.extend.measurement.Measurer.measure", without_noise)
    for rows in (slice(0, 39), slice(0, 40)):
        seen.append([])
        fitted(x[rows], np.append(y[:39], target)[rows], rho=1, target_bounds=(0, 5))
    for (name, less), (_, more) in zip(*seen, strict=True):
        moved = [int(a) - int(b) for a, b in zip(more.values, less.values, strict=True)]
        assert sum(m * m for m in moved) <= more.squared, name
        assert sum(map(abs, moved)) <= more.linear, name


def test_a_table_of_a_session():
    """Bounds come from the policy: ages in two wards, of which neither is older."""
    with opened() as session:
        model = PoissonRegression(rho=50).fit(
            session.table("visits"), label="age", columns=["ward"]
        )
    assert model.coef_.shape == (2,)
    assert np.allclose(model.predict(pa.table({"ward": ["A", "B"]})), 49.5, atol=5)


def test_mistakes():
    x, y = counts_of(10)
    with pytest.raises(OutOfRange, match="below zero"):
        fitted(x, y, rho=1, target_bounds=(-1, 5))
    with pytest.raises(WrongKind, match="bounds"):
        fitted(x, y, rho=1, target_bounds=None)
    with pytest.raises(OutOfRange, match="learning rate"):
        fitted(x, y, rho=1, learning_rate=0)
