"""Credible intervals of slopes: those that know about the noise cover, and naive ones do not."""

import numpy as np
import pytest
from scipy.stats import binomtest, norm

import discreet as dp
from discreet.errors import OutOfRange
from discreet.models.linear_posterior import NoisyMoments, _is_possible, _Sampler, _slopes
from discreet.models.public_randomness import PublicDraws, public_stream
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
        model = dp.models.LinearRegression(
            epsilon=epsilon, delta="1e-6", bounds=(-1, 1), target_bounds=(-2, 2), ledger=Rehearsal()
        ).fit(x, y)
        half, middle = model.encoding_.scales
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


def possible_moments(draw, width):
    """Draw second moments of one row, flat among those of entries from -1 to 1."""
    upper = np.triu_indices(width)
    while True:
        found = np.zeros((width, width))
        found[upper] = draw.uniform(-1, 1, len(upper[0]))
        found += np.triu(found, 1).T
        found[-1, -1] = 1
        if np.diag(found).min() > 0 and _is_possible(100 * found[None])[0]:
            return found


def held_over_the_prior(deviation, runs, *, believed=1.0, draws=64, seed=3, sizes=(90, 110)):
    """How often 90 % intervals hold a slope whose moments are drawn from the prior.

    The prior has every number of rows, so it is cut to releases that say about 100 of them:
    numbers have the weight of such a release, and then the release is drawn among these.
    """
    draw = np.random.default_rng(seed)
    low, high = sizes
    grid = np.linspace(max(2.0, low - 9 * deviation), high + 9 * deviation, 4001)
    weight = norm.cdf((high - grid) / deviation) - norm.cdf((low - grid) / deviation)
    upper = np.triu_indices(3)
    wide = np.where(upper[0] == upper[1], deviation, deviation * 29 / 41)
    hits = 0
    for _ in range(runs):
        size = draw.choice(grid, p=weight / weight.sum())
        truth = size * possible_moments(draw, 3)
        seen = np.zeros((3, 3))
        seen[upper] = truth[upper] + draw.normal(size=6) * wide
        ends = norm.cdf([(low - size) / deviation, (high - size) / deviation])
        seen[-1, -1] = size + deviation * norm.ppf(draw.uniform(*ends))
        noisy = NoisyMoments(matrix=seen + np.triu(seen, 1).T, deviation=deviation * believed)
        model = _Sampler(noisy, PublicDraws(public_stream(draw.bytes(16), "truth")), aware=True)
        slope = _slopes(*model._parameters(truth[None]))[0, 0]
        one, zero = np.ones(2), np.zeros(2)
        ((least, most),) = noisy.posterior(half=one, middle=zero, draws=draws).interval("0.9")
        hits += least <= slope <= most
    return hits


@pytest.mark.theorem("noise-aware-moments")
def test_intervals_hold_what_they_say_over_the_prior():
    """Noise nearly as wide as the number of rows, and an analyst who believes in less of it."""
    assert binomtest(held_over_the_prior(60.0, 60, draws=100), 60, 0.9).pvalue > ALPHA
    wrong = held_over_the_prior(60.0, 30, believed=0.1)
    assert binomtest(wrong, 30, 0.9).pvalue < ALPHA


@pytest.mark.slow
@pytest.mark.theorem("noise-aware-moments")
@pytest.mark.parametrize("deviation", [3.0, 30.0, 100.0, 400.0])
def test_coverage_over_the_prior_is_within_three_standard_errors(deviation):
    runs = 400
    share = held_over_the_prior(deviation, runs, draws=600) / runs
    assert abs(share - 0.9) < 3 * (0.9 * 0.1 / runs) ** 0.5 + 1 / 450  # and of 450 draws


@pytest.mark.theorem("noise-aware-moments")
def test_moments_have_the_density_of_flat_numbers_and_moments_of_a_row():
    """One entry, the number of rows: the law of a draw is the normal one, times a power."""
    noisy = NoisyMoments(matrix=np.array([[40.0]]), deviation=15.0)
    sampler = _Sampler(noisy, PublicDraws(public_stream(b"density", "test")), aware=True)
    assert sampler._log_prior(np.array([[7.0]])) == 0.0
    wider = NoisyMoments(matrix=np.diag([1.0, 1.0, 40.0]), deviation=15.0)
    three = _Sampler(wider, PublicDraws(public_stream(b"density", "test")), aware=True)
    ratio = three._log_prior(np.diag([1.0, 1.0, 80.0])) - three._log_prior(wider.matrix)
    assert ratio == pytest.approx(-5 * np.log(2))  # six numbers are 40 times five shares


@pytest.mark.slow
@pytest.mark.parametrize(("people", "epsilon"), [(1000, 1), (5000, "0.5")])
def test_slopes_of_made_up_people_are_held_at_least_as_often_as_promised(people, epsilon):
    """Their moments lie in the middle of all possible ones, so intervals hold them more often."""
    runs = 200
    found = binomtest(hits(people, epsilon, runs), 2 * runs, 0.9, alternative="less")
    assert found.pvalue > ALPHA


def test_without_noise_it_is_the_usual_posterior():
    draw = np.random.default_rng(2)
    x = draw.uniform(-1, 1, (4000, 1))
    y = 0.7 * x[:, 0] + 0.3 * draw.normal(size=4000)
    model = dp.models.LinearRegression(
        rho=10**9, bounds=(-1, 1), target_bounds=(-3, 3), ledger=Rehearsal()
    ).fit(x, y)
    posterior = model.posterior(draws=1500)
    usual = 0.3 / np.sqrt((x**2).sum())
    assert abs(posterior.slopes.std() / usual - 1) < 0.15
    assert abs(posterior.mean[0] - 0.7) < 5 * usual


def test_too_wide_a_table_is_refused():
    model = dp.models.LinearRegression(
        rho=1, bounds=(-1, 1), target_bounds=(-3, 3), ledger=Rehearsal()
    ).fit(np.zeros((5, 40)), np.zeros(5))
    with pytest.raises(OutOfRange, match="entries"):
        model.posterior()
    with pytest.raises(OutOfRange, match="confidence"):
        dp.models.LinearPosterior(slopes=np.zeros((2, 1)), offsets=np.zeros(2)).interval(2)
