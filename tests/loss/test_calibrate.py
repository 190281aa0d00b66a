import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.loss import (
    GaussianDP,
    Profile,
    Pure,
    ZeroConcentrated,
    gaussian_sigma,
    laplace_scale,
    least_scale,
    most_repeats,
)
from discreet.loss.calibration import least_fitting
from discreet.loss.pure_pairs import LaplacePair
from tests.loss.oracles import gaussian


def test_pure_scales_are_exact():
    assert laplace_scale(epsilon="0.1", distance=5) == 50
    assert laplace_scale(epsilon=4, distance=5) == Fraction(5, 4)
    assert laplace_scale(epsilon=1, count=8) == 8


def test_the_gaussian_scale_is_certified_and_least():
    sigma = gaussian_sigma(epsilon=1, delta=1e-6)
    assert gaussian(1 / sigma, 1) <= 1e-6
    assert gaussian(1 / (sigma * Fraction(999999, 1000000)), 1) > 1e-6
    assert sigma.denominator & (sigma.denominator - 1) == 0
    many = gaussian_sigma(epsilon=1, delta=1e-6, count=100, distance=2)
    assert float(many / sigma) == pytest.approx(20, rel=1e-6)


@pytest.mark.parametrize("target", ["0.001", "0.1", "30"])
def test_scales_far_from_one(target):
    sigma = gaussian_sigma(epsilon=target, delta=1e-6)
    assert GaussianDP(mu=1 / sigma).delta(epsilon=target) <= 1e-6
    smaller = sigma * Fraction(9999, 10000)
    assert GaussianDP(mu=1 / smaller).delta(epsilon=target) > 1e-6


def test_a_composition_can_be_calibrated():
    def loss(scale):
        return Pure(epsilon=1 / scale).power(20)

    scale = least_scale(loss, epsilon=1, delta=1e-6, bits=12)
    assert loss(scale).delta(epsilon=1) <= 1e-6
    assert loss(scale * Fraction(99, 100)).delta(epsilon=1) > 1e-6
    assert scale < 20  # less noise than pure privacy needs


def test_laplace_noise_never_needs_more_than_the_pure_scale():
    assert laplace_scale(epsilon=1, delta=1e-6, count=2) <= 2


def test_concentrated_losses_can_be_calibrated():
    scale = least_scale(lambda s: ZeroConcentrated(rho=1 / s), epsilon=1, delta=1e-6)
    assert ZeroConcentrated(rho=1 / scale).epsilon(delta=1e-6) <= 1 + 1e-9


def sampled_gaussians(sigma):
    return GaussianDP(mu=1 / sigma).sampled(rate="0.01").power(10_000)


def counted(loss_at):
    """Count how often a family of losses is asked."""
    asked = []

    def loss(scale):
        asked.append(scale)
        return loss_at(scale)

    return loss, asked


@pytest.mark.parametrize(
    ("loss_at", "epsilon", "bits"),
    [
        (sampled_gaussians, 3, 24),
        (lambda s: GaussianDP(mu=1 / s), "0.01", 24),
        (lambda s: GaussianDP(mu=1 / s), "20", 30),
        (lambda s: Profile.of(LaplacePair(1 / s)).power(100), 1, 24),
        (lambda s: Pure(epsilon=1 / s).power(20), 1, 16),
        (lambda s: ZeroConcentrated(rho=1 / s), 1, 24),
    ],
)
def test_the_returned_scale_is_certified_and_its_predecessor_is_not(loss_at, epsilon, bits):
    loss, asked = counted(loss_at)
    scale = least_scale(loss, epsilon=epsilon, delta=1e-6, bits=bits)
    assert loss_at(scale).delta(epsilon=epsilon) <= Fraction(1, 10**6)
    top = scale.numerator
    step = scale / top * Fraction(2) ** (top.bit_length() - bits)
    smaller = scale - step if top & (top - 1) else scale - step / 2  # a power of two: finer below
    assert smaller in asked
    assert loss_at(smaller).delta(epsilon=epsilon) > Fraction(1, 10**6)
    assert len(asked) <= 16  # bisection takes more than the number of bits


def test_private_gradient_descent_can_be_calibrated():
    sigma = least_scale(sampled_gaussians, epsilon=3, delta=1e-6)
    assert float(sigma) == pytest.approx(1.708275, abs=1e-6)
    assert sampled_gaussians(sigma).epsilon(delta=1e-6) <= 3 + 1e-8


def test_scales_of_families_with_jumps_are_found():
    """An excess that tells nothing but its sign leaves bisection."""

    def loss(scale):
        return Pure(epsilon=2 if scale < Fraction(7, 3) else Fraction(1, 2))

    scale = least_scale(loss, epsilon=1, delta=1e-6, bits=20)
    assert 0 <= scale - Fraction(7, 3) < Fraction(1, 2**18)
    assert least_scale(loss, epsilon=1, bits=20) == scale


def test_repeats():
    assert most_repeats(Pure(epsilon=0.1), epsilon=1) == 10
    assert most_repeats(Pure(epsilon=2), epsilon=1) == 0
    count = most_repeats(Pure(epsilon="0.01"), epsilon=1, delta=1e-6)
    assert Pure(epsilon="0.01").power(count).delta(epsilon=1) <= 1e-6
    assert Pure(epsilon="0.01").power(count + 1).delta(epsilon=1) > 1e-6
    assert most_repeats(Pure(epsilon=0), epsilon=1) == 10**9


@settings(max_examples=200)
@given(
    epsilon=st.floats(1e-3, 30),
    delta=st.floats(1e-14, 0.5),
    guess=st.floats(1e-4, 1e4),
    bits=st.sampled_from([8, 14, 24]),
)
def test_a_search_from_any_guess_ends_where_the_other_does(epsilon, delta, guess, bits):
    def excess(square):
        width = math.sqrt(square)
        far, near = epsilon * width + 0.5 / width, epsilon * width - 0.5 / width
        found = math.erfc(near / 2**0.5) - math.exp(epsilon) * math.erfc(far / 2**0.5)
        if found <= 0:
            return -math.inf
        return math.sqrt(-math.log(delta)) - math.sqrt(max(0.0, -math.log(found / 2)))

    wanted = least_fitting(lambda square: excess(float(square)), bits)
    assert least_fitting(lambda square: excess(float(square)), bits, guess=guess) == wanted
