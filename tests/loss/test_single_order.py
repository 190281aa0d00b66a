"""What Rényi orders prove at an epsilon or a delta: rounded up, the best of them, and golden."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.loss import RenyiDP, ZeroConcentrated
from tests.loss.oracles import gaussian, real, single_order_delta

ORDERS = st.fractions(min_value=Fraction(101, 100), max_value=200, max_denominator=1000)
VALUES = st.fractions(min_value=0, max_value=5, max_denominator=1000)
DELTAS = st.integers(1, 15).map(lambda k: Fraction(1, 10**k))


def single_order_epsilon(order, value, delta):
    a, r, d = real(order), real(value), real(delta)
    return max(mpmath.mpf(0), r + mpmath.log((a - 1) / a) - (mpmath.log(d * a)) / (a - 1))


@pytest.mark.theorem("renyi-to-approximate")
@given(ORDERS, VALUES, DELTAS)
def test_one_order_proves_as_much_as_its_formula(order, value, delta):
    loss = RenyiDP(orders=(order,), values=(value,))
    assert (
        loss.epsilon(delta=delta) <= single_order_epsilon(order, value, delta) * (1 + 1e-9) + 1e-9
    )
    truth = min(mpmath.mpf(1), single_order_delta(order, value, Fraction(1, 2)))
    assert loss.delta(epsilon=Fraction(1, 2)) <= truth * (1 + 1e-9) + 1e-45


@pytest.mark.theorem("renyi-to-approximate")
@given(VALUES, DELTAS)
def test_the_best_order_of_a_concentrated_loss(rho, delta):
    loss = ZeroConcentrated(rho=rho)
    bound = loss.epsilon(delta=delta)
    if not rho:
        assert bound == 0.0
        return
    orders = (1 + Fraction(t, 10) for t in range(1, 300))
    assert all(bound <= single_order_epsilon(a, rho * a, delta) + 1e-9 for a in orders)
    assert loss.delta(epsilon=Fraction(bound)) <= float(delta) * (1 + 1e-6)


@pytest.mark.parametrize(
    ("rho", "delta", "value"),
    [("0.5", 1e-5, 4.728386985), ("0.1", 1e-6, 2.141938928), ("1.25", 1e-6, 8.845889348)],
)
def test_golden_values_of_concentrated_losses(rho, delta, value):
    assert ZeroConcentrated(rho=rho).epsilon(delta=delta) == pytest.approx(value, abs=1e-9)


def test_a_golden_value_of_one_order():
    loss = RenyiDP(orders=(10,), values=("0.5",))
    assert loss.epsilon(delta=1e-5) == pytest.approx(1.418010636784, abs=1e-9)


@given(
    st.fractions(min_value=Fraction(1, 100), max_value=4, max_denominator=100),
    st.fractions(min_value=0, max_value=8, max_denominator=100),
)
def test_what_rho_proves_is_above_the_gaussian(mu, epsilon):
    assert ZeroConcentrated(rho=mu * mu / 2).delta(epsilon=epsilon) >= gaussian(mu, epsilon)


def test_ends():
    loss = RenyiDP(orders=(2,), values=(1,))
    assert loss.epsilon(delta=0) == math.inf
    assert loss.epsilon(delta=1) == 0.0
    assert ZeroConcentrated(rho=1).epsilon(delta=0) == math.inf
    assert ZeroConcentrated(rho=1).epsilon(delta=1) == 0.0
    assert ZeroConcentrated(rho=0).delta(epsilon=0) == 0.0
    assert RenyiDP(orders=(2,), values=(100,)).delta(epsilon=0) == 1.0
