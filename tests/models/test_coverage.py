"""Every interval that a model prints holds what it says as often as it says."""

from functools import partial

import numpy as np
import pytest
from scipy.stats import binomtest

import discreet as dp
from discreet.mechanisms import Laplace
from discreet.models.tuning import Evaluation
from discreet.session import Rehearsal

ALPHA = 1e-6
models = dp.models
PRICES = [{"epsilon": "0.02"}, {"rho": "0.0005"}]
"""So wide that whole numbers hold at most 0.2 % more than is asked for."""
CLASSES = tuple(range(200))


def class_errors(price, seed):
    """How far noisy counts of 200 classes are off, and the half-width that is printed."""
    draw = np.random.default_rng(seed)
    x, y = draw.uniform(-1, 1, (2000, 1)), draw.integers(0, 200, 2000)
    model = models.GaussianNB(**price, bounds=(-1, 1), classes=CLASSES, ledger=Rehearsal())
    model.fit(x, y)
    return model.class_count_ - np.bincount(y, minlength=200), model.count_half_width("0.9")


def size_errors(price, seed):
    """How far sizes of clusters are off around the centers that are released."""
    x = np.random.default_rng(seed).uniform(-1, 1, (3000, 2))
    model = models.KMeans(100, rounds=2, **price, bounds=(-1, 1), ledger=Rehearsal()).fit(x)
    truth = np.bincount(model.predict(x), minlength=100)
    return model.cluster_sizes_ - truth, model.size_half_width("0.9")


def covered(errors, price, fits, factor=1.0):
    """How many of how many intervals hold the truth, for an analyst who scales half-widths."""
    hits = total = 0
    for seed in range(fits):
        away, half = errors(price, seed)
        hits += int((np.abs(away) <= half * factor).sum())
        total += away.size
    return hits, total


INTERVALS = [
    pytest.param(class_errors, id="classes"),
    pytest.param(size_errors, id="clusters"),
]


@pytest.mark.parametrize("price", PRICES, ids=["laplace", "gaussian"])
@pytest.mark.parametrize("errors", INTERVALS)
def test_counts_are_off_by_no_more_than_is_printed(errors, price):
    seen = covered(errors, price, 3)
    assert binomtest(*seen, 0.9).pvalue > ALPHA
    for factor in (0.5, 2.0):  # noise that is twice as wide as is printed, and half as wide
        assert binomtest(*covered(errors, price, 3, factor), 0.9).pvalue < ALPHA


def means(fits, price, shrunk=1.0):
    """How many intervals of class means hold the mean, of how many."""
    hits = total = 0
    for seed in range(fits):
        draw = np.random.default_rng(seed)
        y = draw.integers(0, 50, 5000)
        x = np.clip(draw.normal(0.3, 0.5, (5000, 2)), -1, 1)
        model = models.GaussianNB(
            **price, bounds=(-1, 1), classes=tuple(range(50)), ledger=Rehearsal()
        ).fit(x, y)
        truth = np.array([x[y == label].mean(axis=0) for label in range(50)])
        low, high = np.moveaxis(model.mean_interval("0.9"), 2, 0)
        middle, half = (low + high) / 2, (high - low) / 2 * shrunk
        hits += int((np.abs(truth - middle) <= half).sum())
        total += truth.size
    return hits, total


def test_intervals_of_class_means_hold_at_least_as_often_as_they_say():
    price = {"rho": "0.5"}
    assert binomtest(*means(3, price), 0.9, alternative="less").pvalue > ALPHA
    assert binomtest(*means(3, price, 0.3), 0.9, alternative="less").pvalue < ALPHA


@pytest.mark.parametrize("truth", [(90, 10), (3, 0), (0, 4), (25, 25)])
@pytest.mark.parametrize("inside", [0.8, 0.95])
def test_accuracies_are_held_by_their_interval_by_exact_enumeration(truth, inside):
    """All noise of two counts that has a chance above 1e-13, with its chance."""
    noise = Laplace(scale=2)
    half = int(noise.error(confidence=str(1 - (1 - inside) / 2)))
    chance = {k: float(noise.law.pmf_bounds(k).low) for k in range(-55, 56)}

    def held(width):
        total = 0.0
        for a, p in chance.items():
            for b, q in chance.items():
                low, high = Evaluation(
                    right=truth[0] + a, wrong=truth[1] + b, half_width=width, confidence=inside
                ).interval
                total += p * q * (low <= truth[0] / sum(truth) <= high)
        return total

    assert held(half) >= inside - 1e-9
    if min(truth) > 20:  # at 0 and 1 an interval may hold by its ends
        assert held(half // 3) < inside


def test_evaluations_print_the_half_width_of_both_counts_at_once():
    x = np.zeros((50, 1))
    model = models.GaussianNB(rho=1, bounds=(-1, 1), classes=(0, 1), ledger=Rehearsal())
    model.fit(x, np.zeros(50, int))
    buy = partial(models.evaluate, model, x, np.zeros(50, int), ledger=Rehearsal())
    bought = buy(epsilon="0.5", confidence="0.9")
    assert bought.half_width == int(Laplace(scale=2).error(confidence="0.95"))
