import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.loss.moments import (
    concentrated_delta,
    concentrated_epsilon,
    renyi_delta,
    renyi_epsilon,
)
from tests.loss.oracles import gaussian, real, single_order_delta

ORDERS = st.fractions(min_value=Fraction(101, 100), max_value=200, max_denominator=1000)
VALUES = st.fractions(min_value=0, max_value=5, max_denominator=1000)
DELTAS = st.integers(1, 15).map(lambda k: Fraction(1, 10**k))


@pytest.mark.theorem("renyi-to-approximate")
@given(ORDERS, VALUES, DELTAS)
def test_one_order_is_rounded_up_and_close(order, value, delta):
    a, r, d = real(order), real(value), real(delta)
    truth = max(mpmath.mpf(0), r + mpmath.log((a - 1) / a) - (mpmath.log(d * a)) / (a - 1))
    bound = renyi_epsilon(order=order, value=value, delta=delta)
    assert truth - mpmath.mpf(10) ** -40 <= bound <= truth * (1 + 1e-15) + 1e-15
    back = min(mpmath.mpf(1), single_order_delta(order, value, Fraction(bound)))
    bound = renyi_delta(order=order, value=value, epsilon=Fraction(bound))
    assert back * (1 - mpmath.mpf(10) ** -40) <= bound <= back * (1 + 1e-14) + 1e-45


@given(VALUES, DELTAS)
def test_the_best_order_of_a_concentrated_loss(rho, delta):
    bound = concentrated_epsilon(rho=rho, delta=delta)
    if rho:
        tenths = range(1, 300)
        assert all(
            bound
            <= renyi_epsilon(
                order=1 + Fraction(t, 10), value=rho * (1 + Fraction(t, 10)), delta=delta
            )
            + 1e-12
            for t in tenths
        )
        again = concentrated_delta(rho=rho, epsilon=Fraction(bound))
        assert again <= float(delta) * (1 + 1e-6)
    else:
        assert bound == 0.0


@pytest.mark.parametrize(
    ("rho", "delta", "value"),
    [("0.5", 1e-5, 4.728386985), ("0.1", 1e-6, 2.141938928), ("1.25", 1e-6, 8.845889348)],
)
def test_golden_values_of_concentrated_losses(rho, delta, value):
    assert concentrated_epsilon(rho=rho, delta=delta) == pytest.approx(value, abs=1e-9)


def test_the_golden_value_of_one_order():
    assert renyi_epsilon(order=10, value="0.5", delta=1e-5) == pytest.approx(
        1.418010636784, rel=1e-11
    )


@given(
    st.fractions(min_value=Fraction(1, 10), max_value=3, max_denominator=50),
    st.fractions(min_value=0, max_value=6, max_denominator=50),
)
def test_a_concentrated_bound_is_never_below_the_gaussian_that_attains_it(mu, epsilon):
    assert concentrated_delta(rho=mu * mu / 2, epsilon=epsilon) >= gaussian(mu, epsilon)


def test_the_ends():
    assert renyi_epsilon(order=2, value=1, delta=0) == math.inf
    assert renyi_epsilon(order=2, value=1, delta=1) == 0.0
    assert concentrated_epsilon(rho=1, delta=0) == math.inf
    assert concentrated_epsilon(rho=1, delta=1) == 0.0
    assert concentrated_delta(rho=0, epsilon=0) == 0.0
    assert renyi_delta(order=2, value=100, epsilon=0) == 1.0
    assert 0 < renyi_delta(order=2, value=0, epsilon=1000) < 1e-40
