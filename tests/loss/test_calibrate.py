from fractions import Fraction

import pytest

from discreet.errors import OutOfRange
from discreet.loss import (
    GaussianDP,
    Pure,
    ZeroConcentrated,
    gaussian_sigma,
    laplace_scale,
    least_scale,
    most_queries,
    most_repeats,
)
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


def test_what_no_noise_can_do_is_refused():
    with pytest.raises(OutOfRange):
        gaussian_sigma(epsilon=1, delta=0)
    with pytest.raises(OutOfRange):
        least_scale(lambda _: Pure(epsilon=2), epsilon=1)
    with pytest.raises(OutOfRange):
        least_scale(lambda _: Pure(epsilon=0), epsilon=1)
    with pytest.raises(OutOfRange):
        laplace_scale(epsilon=0)


def test_repeats():
    assert most_repeats(Pure(epsilon=0.1), epsilon=1) == 10
    assert most_repeats(Pure(epsilon=2), epsilon=1) == 0
    count = most_repeats(Pure(epsilon="0.01"), epsilon=1, delta=1e-6)
    assert Pure(epsilon="0.01").power(count).delta(epsilon=1) <= 1e-6
    assert Pure(epsilon="0.01").power(count + 1).delta(epsilon=1) > 1e-6
    assert most_repeats(Pure(epsilon=0), epsilon=1) == 10**9


def test_how_many_queries_an_error_allows():
    """Pure privacy allows about sqrt(n) queries at error sqrt(n), approximate privacy about n."""
    for root in (10, 100, 1000):
        pure = most_queries(error=root, epsilon=1)
        approximate = most_queries(error=root, epsilon=1, delta=1e-6)
        assert pure == root
        assert approximate >= pure
        assert approximate == pytest.approx(max(root, root**2 / 17.85), rel=0.02)
