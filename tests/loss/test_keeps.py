"""Whether a loss keeps a price: the answer of its delta, which for a rho has no float margins."""

from fractions import Fraction

import mpmath
import pytest

from discreet.loss import Pure, ZeroConcentrated
from discreet.mechanisms import Gaussian, Laplace

LOSSES = [
    Pure(epsilon=1),
    Laplace(scale=2).loss().power(3),
    Gaussian(variance=700).loss().compose(Gaussian(variance=10**12).loss(distance=10**5)),
    Gaussian(variance=2000).loss().compose(Laplace(scale=40).loss()),
]
FACTORS = ("1/1000", "0.99999", "1", "1.00001", "1000")


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("epsilon", ["0", "0.1", "1", "3"])
def test_it_is_decided_as_by_delta(loss, epsilon):
    exact = Fraction(loss.delta(epsilon=epsilon))
    for factor in FACTORS:
        delta = min(exact * Fraction(factor), Fraction(1))
        assert loss.keeps(epsilon=epsilon, delta=delta) == (exact <= delta)


@pytest.mark.theorem("renyi-to-approximate")
@pytest.mark.parametrize(
    ("rho", "epsilon"), [("0.01", "0.5"), ("0.05508", "2"), ("1", "2"), ("1", "9"), ("30", "20")]
)
def test_the_delta_of_a_rho_is_exact_to_the_last_digit(rho, epsilon):
    with mpmath.workdps(40):
        r, eps = mpmath.mpf(rho), mpmath.mpf(epsilon)
        low, high = mpmath.mpf(10) ** -9, mpmath.mpf(10) ** 7
        for _ in range(200):
            t = mpmath.sqrt(low * high)
            low, high = (t, high) if r * (2 * t + 1) + mpmath.log(t / (1 + t)) < eps else (low, t)
        value = r * t * (t + 1) - t * eps + t * mpmath.log(t) - (1 + t) * mpmath.log1p(t)
        least = mpmath.exp(value)
        found = ZeroConcentrated(rho=rho).delta(epsilon=epsilon)
        assert least <= found <= least * (1 + mpmath.mpf(2) ** -51)


@pytest.mark.parametrize("rho", ["0", "1e-9", "1e6"])
@pytest.mark.parametrize("epsilon", [0, 10**6])
def test_extreme_limits_are_decided(rho, epsilon):
    loss = ZeroConcentrated(rho=rho)
    assert loss.keeps(epsilon=epsilon, delta=1)
    assert loss.keeps(epsilon=epsilon, delta=0) == (rho == "0")
