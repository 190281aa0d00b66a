"""How far sums of noise reach: against laws that are convolved or enumerated."""

import functools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.continual import BinaryTreeCounter, FactorizedCounter
from discreet.continual.sum_tails import (
    plain_sum_half_width,
    sum_half_width,
)
from discreet.mechanisms import Gaussian, Laplace
from discreet.noise import DiscreteGaussian, DiscreteLaplace
from discreet_course.counters import NoisyBits, NoisyPrefixes
from discreet_course.refined_tree import RefinedTreeCounter, weighted_sum_half_width
from tests.noise.laws import stream

LAWS = [
    DiscreteLaplace(scale="1/2"),
    DiscreteLaplace(scale=3),
    DiscreteGaussian(variance="1/3"),
    DiscreteGaussian(variance=4),
    DiscreteGaussian(variance=40),
]
TAILS = [Fraction(1, 3), Fraction(1, 20), Fraction(1, 1000), Fraction(1, 10**7)]
by_law = pytest.mark.parametrize("law", LAWS, ids=repr)


@functools.cache
def pmf(law):
    """Return the law of one draw as a table around zero, with all but 1e-20 of it."""
    radius = law.quantile(1 - Fraction(1, 10**20))
    half = [law.pmf(k) for k in range(radius + 1)]
    return np.array([*half[:0:-1], *half])


def blended(law, steps):
    """Return the law of a sum of draws times whole steps, as a table around zero."""
    total, one = np.ones(1), pmf(law)
    for step in steps:
        wide = np.zeros(step * (len(one) - 1) + 1)
        wide[::step] = one
        total = np.convolve(total, wide)
    return total


def beyond(table, reach):
    """Return the chance that a sum is further away than a reach."""
    far = np.abs(np.arange(len(table)) - len(table) // 2) > reach
    return table[far].sum()


@by_law
@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_reach_of_a_plain_sum_is_the_smallest(law, count):
    table = blended(law, [1] * count)
    for tail in TAILS:
        reach = plain_sum_half_width(law, count, tail)
        assert beyond(table, reach) <= tail + 1e-12
        assert reach == 0 or beyond(table, reach - 1) > float(tail) - 1e-10


@pytest.mark.theorem("chernoff-sum")
@by_law
def test_bounds_by_the_spread_hold(law):
    for steps in ([4], [4, 4, 4], [4, 2, 2, 1], [3, 1]):
        table = blended(law, steps)  # in quarters
        spread = sum(Fraction(step, 4) ** 2 for step in steps)
        for tail in TAILS:
            reach = sum_half_width(
                law, spread=spread, draws=len(steps), tail=tail, most=max(steps) / 4
            )
            assert beyond(table, 4 * reach) <= tail


@pytest.mark.theorem("smoothed-sum")
@by_law
def test_bounds_by_the_weights_hold_and_are_close(law):
    for steps in ([4], [4, 4, 4], [4, 2, 2, 1], [3, 1]):
        table = blended(law, steps)
        weights = [(step / 4, steps.count(step)) for step in sorted(set(steps))]
        deviation = math.sqrt(sum((s / 4) ** 2 for s in steps) * law.moments().variance.nearest())
        for tail in TAILS[:3]:
            reach = weighted_sum_half_width(law, weights=weights, tail=tail)
            assert beyond(table, 4 * reach) <= tail
            close = 4 * (reach - 0.09 * deviation) - 1  # twice four hundredths, and one quarter
            assert reach < 0.1 or beyond(table, close) >= 0.99 * float(tail)


@pytest.mark.theorem("smoothed-sum")
def test_wide_gaussian_noise_is_as_good_as_normal():
    law = DiscreteGaussian(variance=10**8)
    for tail, normal in [(Fraction(1, 20), 1.959964), (Fraction(1, 10**6), 4.891638)]:
        reach = sum_half_width(law, spread=Fraction(9), draws=10**4, tail=tail)
        assert normal <= reach / 3e4 <= normal * 1.001


@by_law
def test_wide_or_rare_sums_fall_back_to_a_bound(law):
    rare = Fraction(1, 10**12)
    assert plain_sum_half_width(law, 3, rare) >= plain_sum_half_width(law, 3, TAILS[-1])
    wide = DiscreteLaplace(scale=2**40)
    assert 2**40 * 5 < plain_sum_half_width(wide, 3, TAILS[1]) < 2**40 * 30


@pytest.mark.parametrize("noise", [Laplace(scale=6), Gaussian(sigma=8)], ids=["laplace", "gauss"])
@pytest.mark.parametrize(
    "kind", [NoisyPrefixes, NoisyBits, BinaryTreeCounter, RefinedTreeCounter, FactorizedCounter]
)
def test_errors_hold_and_are_not_much_too_large(kind, noise):
    if kind is FactorizedCounter:
        noise = Gaussian(sigma=8)
    counter, runs, tail = kind(length=13, noise=noise), 4000, 0.1
    draws = counter.law.sample(runs * counter.draws, stream(f"{kind} {noise}"))
    off = np.abs(counter.errors(draws.reshape(runs, -1)))
    slip = 5 * math.sqrt(tail * (1 - tail) / runs)  # exceeded with a chance of less than 1e-6
    for prefix in (1, 7, 13):
        reach = float(counter.error(confidence=1 - tail, prefix=prefix))
        assert (off[:, prefix - 1] > reach).mean() <= tail + slip
        assert (off[:, prefix - 1] >= 0.85 * reach - 1).mean() > tail
    every, largest = float(counter.error(confidence=1 - tail)), off.max(axis=1)
    assert (largest > every).mean() <= tail + slip
    assert (largest > every / 2).mean() > tail
