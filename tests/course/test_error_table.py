"""The table of errors: predictions against published numbers, and measurements against predictions.

A mean square of Gaussian noise is a quadratic form, whose law is known up to eigenvalues; so
Chernoff's bound gives limits that a true measurement leaves with a chance below ALPHA.
"""

import functools
import math

import numpy as np
import pytest

from discreet.continual import BinaryTreeCounter, FactorizedCounter
from discreet.errors import OutOfRange, WrongKind
from discreet.loss import GaussianDP
from discreet.mechanisms import Gaussian
from discreet_course.counters import NoisyBits, NoisyPrefixes, error_table, planned
from discreet_course.refined_tree import RefinedTreeCounter
from tests.noise.laws import ALPHA, stream

KINDS = [NoisyPrefixes, NoisyBits, BinaryTreeCounter, RefinedTreeCounter, FactorizedCounter]
RUNS = 200


@functools.cache
def eigenvalues(kind, length):
    """Return those of the mean square error, for noise of variance 1."""
    counter = kind(length=length, noise=Gaussian(sigma=1))
    weights = counter.errors(np.eye(counter.draws, dtype=np.int64)).astype(float)
    found = np.linalg.eigvalsh(weights.T @ weights) / length
    return found[found > 0] * 4 ** getattr(counter, "bits", 0)


def limits(counter, runs):
    """Return between what the mean square error of so many runs lies, but for a chance ALPHA."""
    parts = eigenvalues(type(counter), counter.length) * float(counter.noise.variance)
    need = math.log(2 / ALPHA) / runs

    def rate(tilt):  # the cumulant of the mean square, over its tilt
        return -0.5 * np.log1p(-2 * tilt * parts).sum()

    ups = np.geomspace(1e-4, 0.999, 200) / (2 * parts.max())
    downs = np.geomspace(1e-4, 1e3, 200) / (2 * parts.max())
    high = min((rate(tilt) + need) / tilt for tilt in ups)
    low = max(-(rate(-tilt) + need) / tilt for tilt in downs)
    return low, high


@pytest.mark.parametrize(
    ("length", "published"),
    [
        (8, [(2.83, 2.83), (2.12, 2.83), (2.55, 3.46), (2.18, 2.99), (1.586, 1.718)]),
        (64, [(8, 8), (5.70, 8), (4.59, 6.48), (3.65, 5.15), (2.230, 2.389)]),
        (256, [(16, 16), (11.34, 16), (6.00, 8.49), (4.65, 6.57), (2.669, 2.831)]),
        (1024, [(32, 32), (22.64, 32), (7.42, 10.49), None, (3.110, 3.273)]),
    ],
)
def test_predicted_errors_are_the_published_ones(length, published):
    rows = error_table(length=length, rho="1/20000", runs=1)  # noise of standard deviation 100
    assert [type(row.counter) for row in rows] == KINDS
    for row, figures in zip(rows, published, strict=True):
        if figures is not None:
            assert row.predicted.typical / 100 == pytest.approx(figures[0], abs=0.006)
            assert row.predicted.largest / 100 == pytest.approx(figures[1], abs=0.006)


def test_with_pure_privacy_noisy_bits_beat_the_tree_up_to_a_thousand():
    for length, published in [(64, (90.5, 8.1, 17.2)), (1024, (1448, 32.0, 34.8))]:
        rows = error_table(length=length, epsilon="1/100", runs=1)
        assert [type(row.counter) for row in rows] == KINDS[:4]
        found = [row.predicted.typical / 100 for row in rows[:3]]
        assert found == pytest.approx(published, rel=0.005)


@pytest.mark.parametrize(
    ("length", "price"), [(1024, {"rho": "1/50"}), (512, {"epsilon": 1, "delta": "1e-6"})]
)
def test_measured_errors_are_the_predicted_ones_and_in_order(length, price):
    rows = error_table(length=length, runs=RUNS, entropy=stream("errors"), **price)
    for row in rows:
        low, high = limits(row.counter, RUNS)
        assert low < row.predicted.typical**2 < high < 3 * low
        assert low < row.measured.typical**2 < high
    naive, bits, tree, refined, factorized = (row.measured.typical for row in rows)
    assert naive > 1.2 * bits
    assert bits > 2 * tree
    assert tree > 1.2 * refined
    assert refined > 1.5 * factorized


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("factor", ["2/3", "3/2"])
def test_less_or_more_noise_is_seen(kind, factor):
    counter = next(c for c in planned(length=64, rho="1/50") if type(c) is kind)
    low, high = limits(counter, 3 * RUNS)
    other = Gaussian(variance=counter.noise.variance * type(counter.noise.variance)(factor) ** 2)
    twin = kind(length=64, noise=other)
    noise = twin.law.sample(3 * RUNS * twin.draws, stream("twin")).reshape(3 * RUNS, -1)
    square = (twin.errors(noise).astype(float) ** 2).mean()
    assert not low < square < high


def test_all_counters_cost_the_same():
    rho = 1 / 50
    for counter in planned(length=100, rho="1/50"):
        exact = GaussianDP(mu_squared="1/25").epsilon(delta=1e-6)
        assert counter.loss().epsilon(delta=1e-6) == pytest.approx(exact, rel=2e-3)
    *_, factorized = planned(length=100, rho="1/50")
    assert float(factorized.concentrated().rho) == pytest.approx(rho)
    for counter in planned(length=20, epsilon="1/3"):
        assert counter.loss().epsilon(delta=0) == pytest.approx(1 / 3)


def test_a_price_is_named_in_one_way():
    for price in ({}, {"epsilon": 1, "rho": 1}, {"delta": "1e-6"}, {"rho": 1, "delta": "1e-6"}):
        with pytest.raises(WrongKind):
            error_table(length=4, **price)
    for price in ({"epsilon": 0}, {"rho": -1}):
        with pytest.raises(OutOfRange):
            error_table(length=4, **price)
    with pytest.raises(OutOfRange):
        error_table(length=4, rho=1, runs=0)
