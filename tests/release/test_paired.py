"""How far the difference of two weighted noises reaches: against sums over all outcomes."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.mechanisms import Gaussian, Laplace
from discreet.plan.noise_errors import (
    exact_tail_quantile,
    paired_half_widths,
    tail_bounds,
    tail_quantile,
)
from tests.release.test_reach import law_of, masses

NOISES = [Laplace(scale=1), Laplace(scale=3), Gaussian(variance=1), Gaussian(sigma=4)]
WEIGHTS = np.array([0.25, 1.0, 2.5, 7.0])


def missed(step, first, second, weight, far):
    """Return P[|s Z - t Y| > far], by all outcomes."""
    values, chances = masses(first, 90)
    others, more = masses(second, 90)
    error = np.abs(np.subtract.outer(step * values, weight * others))
    return float(np.multiply.outer(chances, more)[error > far * (1 + 1e-12)].sum())


@pytest.mark.theorem("paired-reach")
@pytest.mark.parametrize("first", NOISES)
@pytest.mark.parametrize("second", NOISES)
@pytest.mark.parametrize("chance", [0.5, 0.05, 0.001])
def test_no_more_is_missed_at_any_smaller_weight(first, second, chance):
    for step in (Fraction(1), Fraction(1, 3), Fraction(5, 2)):
        widths = paired_half_widths((step, first), second, WEIGHTS, chance)
        for weight, far in zip(WEIGHTS, widths, strict=True):
            for part in (0.0, 0.3, 0.8, 0.99, 1.0):
                assert missed(float(step), first, second, part * weight, far) <= chance
            nearer = 0.97 * far - 2 * float(step) - weight  # steps of both noises, and little more
            if nearer > 0:
                assert missed(float(step), first, second, weight, nearer) > chance


@pytest.mark.theorem("paired-reach")
@pytest.mark.parametrize(
    "noise", [*NOISES, Laplace(scale="1/3"), Gaussian(variance="3/2"), Gaussian(sigma=60)]
)
def test_continuous_noise_of_the_same_size_is_at_most_one_step_nearer(noise):
    """P[Z >= k] <= P[C >= k - 1], the lemma on which the theorem rests."""
    law = law_of(noise)
    if isinstance(noise, Laplace):
        continuous = stats.laplace(scale=float(noise.scale))
    else:
        continuous = stats.norm(scale=math.sqrt(noise.variance))
    size = max(1, law.quantile("0.9"))
    for k in sorted({k * size // 4 for k in range(-20, 21)} | {-2, -1, 0, 1, 2}):
        assert law.survival(k - 1) <= continuous.sf(k - 1) * (1 + 1e-12)
    assert law.survival(0) > continuous.sf(1)  # and not much less


@pytest.mark.theorem("paired-reach")
@pytest.mark.parametrize(
    ("fine", "coarse", "weight"),
    [
        ((Fraction(1, 2**22), Gaussian(sigma=2**34)), Gaussian(sigma=140), 50.0),
        ((Fraction(1, 2**24), Laplace(scale=2**31)), Laplace(scale=2), 50.0),
        ((Fraction(1, 16), Laplace(scale=4000)), Laplace(scale=10**6), 3.0),
    ],
)
def test_little_is_wasted_where_noise_is_wide(fine, coarse, weight):
    """Both laws are as good as continuous: draws of them tell what is missed."""
    (widths,) = paired_half_widths(fine, coarse, np.array([weight]), 0.05)
    source = np.random.default_rng(1)

    def draws(noise):
        if isinstance(noise, Laplace):
            return source.laplace(scale=float(noise.scale), size=10**6)
        return source.normal(scale=math.sqrt(noise.variance), size=10**6)

    error = np.abs(float(fine[0]) * draws(fine[1]) - weight * np.rint(draws(coarse)))
    exact = float(np.quantile(error, 0.95))
    assert 0.995 * exact < widths < 1.015 * exact


def test_what_is_not_known_is_left_to_others():
    narrow, noise = Gaussian(variance="1/2"), Laplace(scale=2)
    assert paired_half_widths((Fraction(1), narrow), noise, WEIGHTS, 0.05) is None
    assert paired_half_widths((Fraction(1), noise), noise, WEIGHTS, 1e-12) is None


@pytest.mark.parametrize("noise", [*NOISES, Gaussian(sigma=300), Laplace(scale=1000)])
@pytest.mark.parametrize("chance", [Fraction(1, 2), Fraction(1, 20), Fraction(1, 1000)])
def test_single_reaches_agree_with_the_exact_ones(noise, chance):
    exact = noise.error(confidence=1 - chance)
    assert exact <= tail_quantile(noise, float(chance)) <= exact + 2
    quantile = exact_tail_quantile(noise, float(chance))
    assert quantile == exact if isinstance(noise, Gaussian) and exact else quantile in (None, exact)


@pytest.mark.parametrize("noise", [*NOISES, Gaussian(sigma=2000)])
def test_tails_are_enclosed(noise):
    law = law_of(noise)
    places = [0, 3, -3, 1, -1, 20, 7, -20]
    low, high = tail_bounds(noise, np.array(places, float))
    for place, below, above in zip(places, low, high, strict=True):
        exact = law.survival_bounds(place - 1)
        assert below <= exact.high
        assert above >= exact.low
        assert above - below <= law.pmf(max(abs(place) - 1, 0)) + 1e-8
