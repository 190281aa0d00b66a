"""Tuning: its price, the law of the number of runs, and what is released."""

import dataclasses
import functools
import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.errors import DiscreetError
from discreet.ledger import Ledger
from discreet.loss import ZeroConcentrated
from discreet.mechanisms import Gaussian
from discreet.models.tuning import TunedDraw, TuningPrice, logarithmic, rho_of, tune
from discreet.noise import KeyedEntropy
from discreet.plan.pricing.calibration import price_of

DRAW = np.random.default_rng(3)
X = DRAW.uniform(-1, 1, (1500, 2))
Y = (X[:, 0] > 0).astype(int)


@pytest.mark.theorem("random-stopping")
@pytest.mark.parametrize(("mean", "golden"), [(10, 1.418), (50, 1.619), (100, 1.695)])
def test_golden_prices(mean, golden):
    price = TuningPrice(rho=Fraction(1, 50), mean=mean)
    assert abs(price.epsilon(Fraction(1, 10**5)) - golden) < 0.0011
    one = ZeroConcentrated(rho=Fraction(1, 50)).epsilon(delta=1e-5)
    assert one < price.epsilon(Fraction(1, 10**5))


@pytest.mark.theorem("random-stopping")
def test_the_bound_holds_for_a_worst_case_by_enumeration():
    """The best of K geometric randomized responses, against the bound at many orders."""
    rho, price = Fraction(1, 8), TuningPrice(rho=Fraction(1, 8), mean=3)
    stop = float(price.stop)
    epsilon = float(rho * 2) ** 0.5  # pure epsilon is epsilon**2/2-zCDP
    high = math.exp(epsilon) / (1 + math.exp(epsilon))

    def best(chance):  # of the better outcome being among K runs: 1 - E[(1-chance)**K]
        return 1 - math.log1p(-(1 - chance) * (1 - stop)) / math.log(stop)

    for p, q in ((high, 1 - high), (1 - high, high)):
        for order in (1.5, 2, 5, 20, 100):
            one, other = best(p), best(q)
            terms = one**order * other ** (1 - order) + (1 - one) ** order * (1 - other) ** (
                1 - order
            )
            assert math.log(terms) / (order - 1) <= price.divergence(order)


@functools.cache
def drawn_runs():
    """Numbers of runs, from a fixed stream."""
    entropy = KeyedEntropy(key=bytes(32), label="number of runs")
    return np.array([logarithmic(Fraction(1, 4), entropy) for _ in range(4000)])


@pytest.mark.theorem("logarithmic-draw")
@pytest.mark.parametrize(("factor", "holds"), [(1, True), (1.5, False), (0.67, False)])
def test_the_number_of_runs_has_the_logarithmic_law(factor, holds):
    runs, drawn = 4000, drawn_runs()
    claimed = 0.25 * factor
    cells = [(1 - claimed) ** k / k / -math.log(claimed) for k in range(1, 6)]
    expected = runs * np.array([*cells, 1 - sum(cells)])
    seen = np.bincount(np.minimum(drawn, 6), minlength=7)[1:]
    statistic = ((seen - expected) ** 2 / expected).sum()
    limit = 37.0  # the 1 - 1e-6 quantile of chi-squared with five degrees of freedom is 35.9
    assert bool(statistic < limit) is holds


def test_the_best_model_is_released_and_paid_for_once(tmp_path):
    models = [
        dp.models.LogisticRegression(rho="0.05", bounds=(-1, 1), classes=(0, 1), steps=steps)
        for steps in (2, 24)
    ]
    budget = dp.Budget(epsilon=4, delta="1e-4")
    with Ledger.open(tmp_path / "study.ledger", unit=dp.row(), budget=budget) as ledger:
        found = tune(models, X, Y, ledger=ledger, delta="1e-5", score_rho="0.01", mean=4)
        assert ledger.verify()
        left = ledger.left()
    assert found.model.score(X, Y) > 0.8
    assert found.epsilon == TuningPrice(rho=Fraction(6, 100), mean=4).epsilon(Fraction(1, 10**5))
    assert left.share < 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"candidates": []},
        {"candidates": [dp.models.GaussianNB(epsilon=1, bounds=(-1, 1), classes=(0, 1))]},
        {"mean": 1},
        {"delta": 0},
        {"score_rho": 0},
        {"ledger": None},
    ],
)
def test_mistakes_are_refused(wrong, tmp_path):
    model = dp.models.GaussianNB(rho="0.1", bounds=(-1, 1), classes=(0, 1))
    usual = {"candidates": [model], "delta": "1e-5", "score_rho": "0.1", "mean": 3}
    with Ledger.open(
        tmp_path / "a.ledger", unit=dp.row(), budget=dp.Budget(epsilon=50, delta="1e-3")
    ) as ledger:
        given = {"ledger": ledger, **usual, **wrong}
        before = ledger.receipt
        with pytest.raises(DiscreetError):
            tune(given.pop("candidates"), X, Y, **given)
        assert ledger.receipt == before


@pytest.mark.theorem("random-stopping")
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_a_price_in_rho_holds_outside_the_delta_of_tuning(relation):
    """A mixture of a loss of at most epsilon and a chance of delta, by its worst pair."""
    unit, delta = dp.row(relation=relation), Fraction(1, 10**5)
    leaf = TuningPrice(rho=Fraction(1, 50), mean=10).leaf(delta, unit)
    price = price_of(leaf, unit, None)
    epsilon = float(leaf.source.epsilon_bound)
    assert price.beside == price.delta == delta
    assert 1.41 < epsilon < 1.43
    high = math.exp(epsilon) / (1 + math.exp(epsilon))
    for order in (1.01, 2, 7, 50):
        terms = high**order * (1 - high) ** (1 - order) + (1 - high) ** order * high ** (1 - order)
        assert math.log(terms) / (order - 1) <= float(price.rho) * order
    assert float(price.rho) <= epsilon**2 / 2


@pytest.mark.theorem("random-stopping")
@pytest.mark.parametrize("unit", [dp.row(), dp.row(relation="replace")])
def test_the_price_is_that_of_the_noise_and_not_of_what_was_asked(unit):
    """A schedule with half the noise costs twice as much, whatever price stands on it."""
    model = dp.models.LogisticRegression(rho="0.01", bounds=(-1, 1), classes=(0, 1))
    plan = model.plan_for(3, unit)
    assert rho_of(plan.schedule) == Fraction(1, 100)
    noises = tuple(Gaussian(variance=noise.variance / 2) for noise in plan.schedule.noises)
    planted = dataclasses.replace(plan.schedule, noises=noises)
    promise = (Fraction(1, 1000), Fraction(1, 10**6), Fraction(10))
    draws = [
        TunedDraw.of([model], [dataclasses.replace(plan, schedule=schedule)], promise)
        for schedule in (plan.schedule, planted)
    ]
    assert [draw.price.rho for draw in draws] == [Fraction(11, 1000), Fraction(21, 1000)]
    pure = dp.models.LogisticRegression(epsilon=1, bounds=(-1, 1), classes=(0, 1))
    with pytest.raises(DiscreetError, match="law"):
        rho_of(pure.plan_for(3, unit).schedule)
