"""The bottom of a valley, and the orders that are found with it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.loss.moments import MomentBound, log_constant, minimizer


@given(bottom=st.floats(-20, 20), tilt=st.floats(0.01, 100), ends=st.floats(0.1, 50))
def test_the_bottom_is_found_wherever_it_lies(bottom, tilt, ends):
    def valley(x):
        return math.exp(tilt * (x - bottom) / 10) - tilt * (x - bottom) / 10

    found = minimizer(valley, -ends, ends)
    best = min(max(bottom, -ends), ends)
    assert valley(found) <= valley(best) * (1 + 1e-9)


def test_what_is_infinite_on_the_right_is_left_alone():
    found = minimizer(lambda x: math.inf if x > -3 else (x + 5) ** 2, -20.0, 20.0)
    assert abs(found + 5) < 1e-6
    edge = minimizer(lambda x: math.inf if x > -3 else -x, -20.0, 20.0)
    assert -3.1 < edge <= -3


@pytest.mark.theorem("renyi-to-approximate")
@given(rho=st.floats(1e-6, 1e3), eps=st.floats(1e-4, 1e4), delta=st.floats(1e-250, 0.5))
def test_no_order_of_a_fine_grid_is_better(rho, eps, delta):
    bound = MomentBound(lambda t: rho * t * (t + 1))
    orders = [math.exp(x / 50) for x in range(-450, 800)]
    best = min(bound.log_delta(eps, t) for t in orders)
    assert math.log(max(bound.delta(eps), 5e-324)) <= max(best, -744.0) + 1e-9
    needs = [(rho * t * (t + 1) + log_constant(t) - math.log(delta)) / t for t in orders]
    assert bound.epsilon(delta) <= max(0.0, min(needs)) * (1 + 1e-9) + 1e-12
