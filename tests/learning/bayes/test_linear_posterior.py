"""Credible intervals of slopes: those that know about the noise cover, and naive ones do not."""

import numpy as np
import pytest
from scipy.stats import binomtest

import discreet as dp
from discreet.errors import OutOfRange
from discreet.learning.models.linear import _scales
from discreet.session import Rehearsal

ALPHA = 1e-6


def hits(people, epsilon, runs, *, aware=True, factor=1.0, seed=5):
    """How many of two slopes 90 % intervals hold, over data sets and noise."""
    draw = np.random.default_rng(seed)
    found = 0
    for _ in range(runs):
        slopes = draw.uniform(-0.6, 0.6, 2)
        x = draw.uniform(-1, 1, (people, 2))
        y = x @ slopes + 0.2 * draw.normal(size=people)
        model = dp.learning.LinearRegression(
            epsilon=epsilon, delta="1e-6", bounds=(-1, 1), target_bounds=(-2, 2), ledger=Rehearsal()
        ).fit(x, y)
        half, middle = _scales(model._encoding_)
        moments = type(model.moments_)(
            matrix=model.moments_.matrix, deviation=model.moments_.deviation * factor
        )
        posterior = moments.posterior(half=half, middle=middle, draws=120, aware=aware)
        low, high = posterior.interval("0.9").T
        found += int(((low <= slopes) & (slopes <= high)).sum())
    return found


def test_aware_intervals_cover_and_naive_ones_do_not():
    runs = 30
    aware = hits(2000, 1, runs)
    naive = hits(2000, 1, runs, aware=False)
    assert binomtest(aware, 2 * runs, 0.9).pvalue > ALPHA
    assert binomtest(naive, 2 * runs, 0.9).pvalue < ALPHA


@pytest.mark.parametrize("factor", [0.2])
def test_an_analyst_who_believes_in_less_noise_is_caught(factor):
    runs = 30
    assert binomtest(hits(2000, 1, runs, factor=factor), 2 * runs, 0.9).pvalue < ALPHA


def test_an_analyst_who_believes_in_more_noise_gets_wider_intervals():
    draw = np.random.default_rng(1)
    x = draw.uniform(-1, 1, (2000, 1))
    model = dp.learning.LinearRegression(
        rho=1, bounds=(-1, 1), target_bounds=(-2, 2), ledger=Rehearsal()
    ).fit(x, x[:, 0] / 2)
    half, middle = _scales(model._encoding_)
    widths = []
    for factor in (1, 4):
        noisy = type(model.moments_)(
            matrix=model.moments_.matrix, deviation=model.moments_.deviation * factor
        )
        (ends,) = noisy.posterior(half=half, middle=middle, draws=1200).interval()
        widths.append(ends[1] - ends[0])
    assert widths[1] > 2 * widths[0]


@pytest.mark.slow
@pytest.mark.parametrize(("people", "epsilon"), [(1000, 1), (5000, "0.5")])
def test_coverage_is_within_three_standard_errors(people, epsilon):
    runs = 400
    share = hits(people, epsilon, runs) / (2 * runs)
    assert abs(share - 0.9) < 3 * (0.9 * 0.1 / (2 * runs)) ** 0.5


def test_without_noise_it_is_the_usual_posterior():
    draw = np.random.default_rng(2)
    x = draw.uniform(-1, 1, (4000, 1))
    y = 0.7 * x[:, 0] + 0.3 * draw.normal(size=4000)
    model = dp.learning.LinearRegression(
        rho=10**9, bounds=(-1, 1), target_bounds=(-3, 3), ledger=Rehearsal()
    ).fit(x, y)
    posterior = model.posterior(draws=1500)
    usual = 0.3 / np.sqrt((x**2).sum())
    assert abs(posterior.slopes.std() / usual - 1) < 0.15
    assert abs(posterior.mean[0] - 0.7) < 5 * usual


def test_too_wide_a_table_is_refused():
    model = dp.learning.LinearRegression(
        rho=1, bounds=(-1, 1), target_bounds=(-3, 3), ledger=Rehearsal()
    ).fit(np.zeros((5, 40)), np.zeros(5))
    with pytest.raises(OutOfRange, match="entries"):
        model.posterior()
    with pytest.raises(OutOfRange, match="confidence"):
        dp.learning.bayes.LinearPosterior(slopes=np.zeros((2, 1)), offsets=np.zeros(2)).interval(2)
